"""Lengths of Fourier transforms that are quick."""


def fast_length(least: int) -> int:
    """Return the smallest number from `least` on without prime factors above 5."""
    for length in range(least, 2 * least):
        rest = length
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
    return least


def padded(nt: int) -> int:
    """Return an even length for transforms of `nt` samples that keeps the end of a trace from its beginning."""
    return 2 * fast_length(nt)
