"""Scripts of sweep-solver with changed imports give the same results through sweep_compat."""

import importlib.util

import numpy as np
import pytest
from compat_scripts import SCRIPTS, figures, outcome, stored

TOLERANCE = {"acoustic": 5e-4, "elastic": 5e-5, "lsrtm": 2e-3, "ddp": 1e-3, "pmap": 1e-3}
"""Tolerances over the maximum; the difference is the reflection of the two PMLs."""


@pytest.fixture(scope="module", params=SCRIPTS)
def script(request, tmp_path_factory):
    """Return the name of a script and its results through sweep_compat."""
    name = request.param
    pytest.importorskip("jax" if name == "pmap" else "torch")
    return name, outcome(name, "sweep_compat", tmp_path_factory.mktemp(name))


def test_a_script_gives_the_stored_results_of_sweep_solver(script):
    name, arrays = script
    for (key, (norm, *products)), now in zip(stored(name).items(), figures(arrays).values(), strict=True):
        assert norm > 0 and np.abs(np.subtract((norm, *products), now)).max() < 4 * TOLERANCE[name] * norm, key


def test_a_script_gives_the_results_of_an_installed_sweep_solver(script, tmp_path):
    if not importlib.util.find_spec("sweep"):
        pytest.skip("sweep-solver is not installed")
    name, arrays = script
    expected = outcome(name, "sweep", tmp_path)
    for key in ("record", "gradient"):
        error = np.abs(arrays[key] - expected[key]).max() / np.abs(expected[key]).max()
        assert arrays[key].shape == expected[key].shape and error < TOLERANCE[name], key
