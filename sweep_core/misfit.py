"""Misfits between modelled and observed records."""


def least_squares(synthetic, observed):
    """0.5 sum (synthetic - observed)^2 and its derivative in `synthetic`, for arrays of any library.

    A sum, not a mean: the misfits of the ranks that share out some shots add up to that of all (Tarantola 1984).
    """
    residual = synthetic - observed
    return 0.5 * (residual * residual).sum(), residual
