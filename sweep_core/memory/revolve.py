"""The binomial schedule of checkpoints, which recomputes the fewest steps of a run.

Griewank & Walther (2000), Algorithm 799: Revolve, ACM TOMS 26(1). Let c states be saved, including that before the
first step, and let no step run forward more than r times. The longest run that can be reversed has
beta(c, r) = (c + r)! / (c! r!) steps.
"""

from math import comb


def reach(states: int, repeats: int) -> int:
    """Return the number of steps that `states` can reverse if no step runs forward more than `repeats` times."""
    return comb(states + repeats, states) if states >= 0 and repeats >= 0 else 0


def repeats(steps: int, states: int) -> int:
    """Return the least r with which `states` can reverse the steps."""
    r = 0
    while reach(states, r) < steps:
        r += 1
    return r


def fewest_advances(steps: int, states: int) -> int:
    """Return the fewest forward steps that reverse a run with `states`, including that before the first step.

    The one forward run that records the history is not counted.
    """
    r = repeats(steps, states)
    return r * steps - reach(states + 1, r - 1)


def saves(first: int, last: int, free: int) -> list[int]:
    """Return the steps before which a state is saved on the way to `last` - 1, the next step to be reversed.

    The state before `first` is saved already; `free` slots are left.
    """
    steps_to_save: list[int] = []
    while free and last - first > 2:  # the state before last - 1 is the current one and needs no slot
        steps, states = last - first, free + 1
        r = repeats(steps, states)
        first += max(1, reach(states, r - 2), steps - reach(states - 1, r))
        if first < last - 1:
            steps_to_save.append(first)
        free -= 1
    return steps_to_save
