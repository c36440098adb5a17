"""Misfits between modelled and observed records."""

from .errors import ShapeError


def least_squares(synthetic, observed):
    """0.5 sum (synthetic - observed)^2 and its derivative in `synthetic`, for arrays of any library.

    A sum, not a mean: the misfits of the ranks that share out some shots add up to that of all (Tarantola 1984).

    Raises
    ------
    ShapeError
        Where the records differ in shape; what would be broadcast is no observed record.
    """
    check_like_record("observed", observed, synthetic)
    residual = synthetic - observed
    return 0.5 * (residual * residual).sum(), residual


def check_like_record(name: str, x, record) -> None:
    """ShapeError unless x has the shape of the record."""
    if tuple(x.shape) != tuple(record.shape):
        raise ShapeError(f"{name} has shape {tuple(x.shape)}; expected that of the record, {tuple(record.shape)}")
