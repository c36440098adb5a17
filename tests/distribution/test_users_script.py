"""A typical script of a user: two ranks, one shot at a time, boundary strips, and the sum of the gradients."""

import pytest
from laws import error
from ranks import SCRIPTS, launch

from sweep_core import MemoryOptions


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_sum_over_ranks_equals_the_full_history_gradient(device, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    import users_script

    result = launch("users_script.py", tmp_path / "found.json", 2, device)
    assert result["shots"] == [3, 2], "five shots on two ranks"
    assert "impl='c'" in result["about"] and "MemoryOptions(strategy='boundary'" in result["about"]
    solver = users_script.make_solver(device, MemoryOptions("full"))
    expected = users_script.gradient(solver, range(users_script.SHOTS), device).cpu().numpy()
    assert error(result["gradient"], expected) < 1e-11
