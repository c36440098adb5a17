"""Run the scripts of tests/compat/scripts with sweep-solver or with changed imports, and reduce results to numbers.

If sweep-solver is installed, ``python tests/support/compat_scripts.py`` rewrites figures.json.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests/compat"
FIGURES = HERE / "figures.json"
SCRIPTS = "acoustic", "elastic", "lsrtm", "ddp", "pmap"


def outcome(name: str, package: str, folder: Path) -> dict[str, np.ndarray]:
    """Return record and gradient of a script with `package` in place of sweep in its imports."""
    text = (HERE / "scripts" / f"{name}.py").read_text()
    script, result = folder / f"{name}_{package}.py", folder / f"{name}_{package}.npz"
    script.write_text(re.sub(r"^from sweep\.", f"from {package}.", text, flags=re.MULTILINE))
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"] if name == "ddp" else []
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if "device_count" not in flag]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "XLA_FLAGS": " ".join(flags),
    }
    command = [sys.executable, "-W", "ignore", *torchrun, str(script), str(result)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    with np.load(result) as arrays:
        return dict(arrays)


def stored(name: str) -> dict[str, list[float]]:
    """Return the stored figures of a script with sweep-solver 0.3.5."""
    return json.loads(FIGURES.read_text())[name]


def figures(arrays: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Return the norm of each array and its products with four fixed random vectors."""
    values = {}
    for name, array in arrays.items():
        flat = array.ravel().astype(np.float64)
        vectors = np.random.default_rng(1).standard_normal((4, flat.size))
        values[name] = [float(np.linalg.norm(flat)), *(float(x) for x in vectors @ flat)]
    return values


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        example = {name: figures(outcome(name, "sweep", Path(folder))) for name in SCRIPTS}
    FIGURES.write_text(json.dumps(example, indent=1) + "\n")
