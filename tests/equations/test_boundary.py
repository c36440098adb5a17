"""How far a gradient from boundary strips is from that of the whole history: in single precision, after long runs."""

import pytest
from laws import error, executors
from long_runs import CASES, gradient, long_run


def differences(entry, name, edge, nt, exact="full") -> dict[str, float]:
    made = long_run(*CASES[name][:3], edge, nt)
    full, found = (gradient(entry, made.remembering(memory)) for memory in (exact, "boundary"))
    return {
        parameter: error(*pair) for parameter, pair in zip(CASES[name][3], zip(found, full, strict=True), strict=True)
    }


@pytest.mark.parametrize("edge", ["exact", "interior"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_rounding_stays_small_over_2000_steps(entry, name, edge):
    for parameter, found in differences(entry, name, edge, 2000).items():
        assert 0 < found < CASES[name][3][parameter], parameter


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acoustic, free surface", "elastic, free surface"])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-c-cuda"))
def test_rounding_does_not_grow_with_the_steps(entry, name):
    for parameter, found in differences(entry, name, "exact", 8000, exact="ckpt").items():
        assert 0 < found < CASES[name][3][parameter], parameter
