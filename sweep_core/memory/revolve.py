"""The binomial schedule of checkpoints: where states are saved so that a run is recomputed as little as can be.

Griewank & Walther (2000), Algorithm 799: Revolve, ACM TOMS 26(1). With c states, that before the first step among them,
and no step made forward more than r times, a run of beta(c, r) = (c + r)! / (c! r!) steps is reversed, and none that is
longer.
"""

from math import comb


def reach(states: int, repeats: int) -> int:
    """Steps that so many states reverse without making one forward more than `repeats` times."""
    return comb(states + repeats, states) if states >= 0 and repeats >= 0 else 0


def repeats(steps: int, states: int) -> int:
    """The least r with which `states` reverse so many steps."""
    r = 0
    while reach(states, r) < steps:
        r += 1
    return r


def fewest_advances(steps: int, states: int) -> int:
    """Steps that are made forward, beside one of each that leaves its history, to reverse a run with `states` of them,
    that before the first step among them.
    """
    r = repeats(steps, states)
    return r * steps - reach(states + 1, r - 1)


def saves(first: int, last: int, free: int) -> list[int]:
    """The steps before which a state is saved on the way from `first`, whose state is held, to `last` - 1, which is to
    be reversed next; `free` states may be held beside.
    """
    found: list[int] = []
    while free and last - first > 2:  # the state before last - 1 is at hand as soon as it is made
        steps, states = last - first, free + 1
        r = repeats(steps, states)
        first += max(1, reach(states, r - 2), steps - reach(states - 1, r))
        if first < last - 1:
            found.append(first)
        free -= 1
    return found
