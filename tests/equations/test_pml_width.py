"""Law 5: the echo of layers whose width a target chose is below the target."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from benchmarks.pml_width import EARTHS, WAVELENGTHS, Echo
from sweep_core import Acoustic, Elastic, native, ricker
from sweep_core.numerics.pml_width import width_for
from sweep_torch import PropTorch

PAGE = Path(__file__).parents[2] / "docs/howto/pml-width.md"

TARGETS = {"cpmlr": (-40, -60), "cpmls": (-40, -60, -80), "mpmls": (-25, -40, -60), "sponge": (-14, -20, -30)}
compiled_first = pytest.mark.slow  # its library is compiled on first use


@pytest.mark.parametrize(
    ("earth", "wavelength", "layer", "target"),
    [
        ("acoustic, slow", 80, "cpmlr", -40),
        ("variable density, fast", 20, "cpmls", -60),
        ("variable density, fast", 80, "mpmls", -40),
        ("variable density, fast", 80, "sponge", -20),
        ("elastic, force", 20, "cpmls", -60),
        ("elastic, explosion, surface", 80, "mpmls", -40),
        ("elastic, force, surface", 80, "cpmls", -60),
        pytest.param("SH, slow", 80, "cpmls", -60, marks=compiled_first),
        pytest.param("viscoacoustic", 80, "cpmls", -60, marks=compiled_first),
        pytest.param("viscoelastic", 80, "mpmls", -40, marks=compiled_first),
    ],
)
def test_law5_the_echo_is_below_the_target_that_chose_the_width(earth, wavelength, layer, target):
    """A quarter of the cells leaves more than the target."""
    echo, width = Echo(earth, 4, wavelength), width_for(target, layer, 4)
    assert echo.worst(width, layer) <= target < echo.worst(width // 4, layer)


def echo_along_a_layer(equation, pml_velocity, **fields) -> float:
    """Return the largest echo (dB) of the layer above sources and receivers that are two cells below it."""
    (nz, nx), more, speed, frequency, dh = (60, 200), 150, 3000.0, 15.0, 10.0
    dt = dh / speed / 3
    wavelet = torch.tensor(ricker(frequency, round((1.3 * nx * dh / speed + 2.5 / frequency) / dt), dt))
    receivers = np.stack([np.arange(10, nx, 4), np.full(48, 2)], axis=1)

    def record(above):
        grid = {"shape": (nz + above, nx), "dh": dh, "dt": dt}
        solver = PropTorch(equation, **grid, pml_target_db=-60, pml_velocity=pml_velocity, **fields)
        values = (speed, speed / 1.8, 2000.0)[: len(equation.parameters)]
        models = [torch.full(grid["shape"], value, dtype=torch.float64) for value in values]
        return solver(wavelet, np.array([[5, 2 + above]]), receivers + np.array([0, above]), models=models)[
            0, :, :, 0
        ].numpy()

    near, far = record(0), record(more)
    return 20 * math.log10((abs(near - far).max(0) / abs(far).max(0)).max())


@pytest.mark.parametrize(("row", "pml_velocity"), [("3000, the default", 3000.0), ("4500", 4500.0)])
def test_echoes_along_a_layer_are_those_of_the_page(row, pml_velocity):
    if not native.supports(Acoustic(), 2, "cpu"):
        pytest.skip("takes minutes without compiled code")
    explosion = {"source_type": ["sxx", "szz"], "receiver_type": ["p"]}
    stated = re.search(rf"^\| {row} \| (-\d+) dB \| (-\d+) dB \|$", PAGE.read_text(), re.MULTILINE)
    assert echo_along_a_layer(Acoustic(8), pml_velocity) == pytest.approx(int(stated[1]), abs=0.7)
    assert echo_along_a_layer(Elastic(4), pml_velocity, **explosion) == pytest.approx(int(stated[2]), abs=0.7)


@pytest.mark.slow
@pytest.mark.further  # as long as the measurement of the table
@pytest.mark.parametrize(
    ("earth", "order", "layer"),
    [(name, *case) for name, earth in EARTHS.items() for case in earth.cases()],
)
def test_law5_all_echoes_are_below_the_targets(earth, order, layer):
    for wavelength in WAVELENGTHS:
        echo = Echo(earth, order, wavelength)
        for target in TARGETS[layer]:
            assert echo.worst(width_for(target, layer, order), layer) <= target, (wavelength, target)
