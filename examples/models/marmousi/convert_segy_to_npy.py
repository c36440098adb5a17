"""Convert the three SEG-Y models to NumPy files: npy/vp_1p25m.npy, vs_1p25m.npy, rho_1p25m.npy.

The arrays are (nz, nx) float32, depth first, C order, in SI units: m/s, m/s and kg/m3. SEG-Y does not state
the unit of its samples, so their size decides: velocities of at most 20 are in km/s, densities of at most 20
in g/cm3. The script prints its decision, and refuses values that no rock has in either unit.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from sweep_core.errors import CheckpointError, DomainError, ShapeError, SweepError, UnsupportedError
from sweep_core.io import replacing

HERE = Path(__file__).resolve().parent
SHAPE = (2801, 13601)


@frozen
class Quantity:
    """One file: its names here and in the archive, and the range of its values in SI units."""

    name: str
    pattern: str
    unit: str
    thousandth: str  # the unit a thousand times larger, which the file may use
    low: float
    high: float


QUANTITIES = (
    Quantity("vp", "MODEL_P-WAVE_VELOCITY*.segy", "m/s", "km/s", 300.0, 9000.0),
    Quantity("vs", "MODEL_S-WAVE_VELOCITY*.segy", "m/s", "km/s", 0.0, 6000.0),
    Quantity("rho", "MODEL_DENSITY*.segy", "kg/m3", "g/cm3", 500.0, 8000.0),
)


def read_traces(path: Path) -> NDArray[np.float32]:
    """Return all samples of a SEG-Y file, each trace a column: (samples, traces)."""
    try:
        import segyio
    except ImportError:
        raise UnsupportedError("reading SEG-Y needs segyio, which is not installed: pip install segyio") from None
    try:
        with segyio.open(path, "r", ignore_geometry=True) as file:
            stated = set(file.attributes(segyio.TraceField.TRACE_SAMPLE_COUNT)[:].tolist()) - {0}
            if stated - {len(file.samples)}:
                raise ValueError(f"its traces state {sorted(stated)} samples, its header {len(file.samples)}")
            return np.ascontiguousarray(file.trace.raw[:].T, dtype=np.float32)
    except Exception as error:  # segyio raises many kinds on damaged bytes
        raise CheckpointError(
            f"{path} cannot be read as SEG-Y ({type(error).__name__}: {error}); unpack it again with "
            "extract_model_segy.py"
        ) from error


def to_si(values: NDArray[np.float32], quantity: Quantity, path: Path) -> tuple[NDArray[np.float32], str]:
    """Return the values in SI units, and the unit of the file."""
    low, high = float(values.min()), float(values.max())
    unit = quantity.thousandth if high <= 20.0 else quantity.unit
    scale = 1000.0 if high <= 20.0 else 1.0
    if not (quantity.low <= scale * low and scale * high <= quantity.high):  # false for NaN, too
        raise DomainError(
            f"{path.name} runs from {low:g} to {high:g}, which is no {quantity.name} in {quantity.unit} or "
            f"{quantity.thousandth} (expected {quantity.low:g} to {quantity.high:g} {quantity.unit}); "
            "check the sample format code in its binary header, IBM and IEEE floats may be confused"
        )
    return values * np.float32(scale), unit


def convert(quantity: Quantity, segy: Path, npy: Path, any_shape: bool) -> Path:
    """Convert one file and return the path of the array."""
    paths = sorted(segy.rglob(quantity.pattern))
    if len(paths) != 1:
        names = ", ".join(str(path) for path in paths) or "none"
        raise CheckpointError(
            f"expected exactly one {quantity.pattern} under {segy}, found {names}; run extract_model_segy.py"
        )
    values: NDArray[Any] = read_traces(paths[0])
    if values.shape != SHAPE and not any_shape:
        raise ShapeError(
            f"{paths[0].name} has {values.shape[0]} samples x {values.shape[1]} traces, Marmousi-II has "
            f"{SHAPE[0]} x {SHAPE[1]}; unpack it again, or pass --any-shape if it is another model"
        )
    values, unit = to_si(values, quantity, paths[0])
    target = npy / f"{quantity.name}_1p25m.npy"
    with replacing(target) as stream:
        np.save(stream, values)
    note = "" if unit == quantity.unit else f" (the file has {unit}: multiplied by 1000)"
    print(f"{target}: {values.shape} float32, {values.min():g} to {values.max():g} {quantity.unit}{note}")
    return target


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segy", type=Path, default=HERE / "segy", help="where the SEG-Y files are (%(default)s)")
    parser.add_argument("--npy", type=Path, default=HERE / "npy", help="where the arrays go (%(default)s)")
    parser.add_argument("--any-shape", action="store_true", help=f"accept other sizes than {SHAPE[0]} x {SHAPE[1]}")
    args = parser.parse_args(argv)
    try:
        for quantity in QUANTITIES:
            convert(quantity, args.segy, args.npy, args.any_shape)
    except (SweepError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("next: prepare_fwi_models.py")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
