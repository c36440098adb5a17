"""Law 5: the echo of layers whose width a target chose is below the target."""

import pytest

pytest.importorskip("torch")

from benchmarks.pml_width import EARTHS, WAVELENGTHS, Echo
from sweep_core.numerics.pml_width import width_for

TARGETS = {"cpmlr": (-40, -60), "cpmls": (-40, -60, -80), "mpmls": (-25, -40), "sponge": (-14, -20)}


@pytest.mark.parametrize(
    ("earth", "wavelength", "layer", "target"),
    [
        ("acoustic, slow", 80, "cpmlr", -40),
        ("variable density, fast", 20, "cpmls", -60),
        ("variable density, fast", 80, "mpmls", -40),
        ("variable density, fast", 80, "sponge", -20),
        ("elastic, force", 20, "cpmls", -60),
    ],
)
def test_law5_the_echo_is_below_the_target_that_chose_the_width(earth, wavelength, layer, target):
    """A quarter of the cells leaves more than the target."""
    echo, width = Echo(earth, 4, wavelength), width_for(target, layer, 4)
    assert echo.worst(width, layer) <= target < echo.worst(width // 4, layer)


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
