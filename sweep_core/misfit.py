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
    given, expected = tuple(observed.shape), tuple(synthetic.shape)
    if given != expected:
        raise ShapeError(f"observed has shape {given}; expected that of the record, {expected}")
    residual = synthetic - observed
    return 0.5 * (residual * residual).sum(), residual
