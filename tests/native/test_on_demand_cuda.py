"""CUDA libraries that are compiled on first use: for which GPUs, and by nvcc where it is, also without a GPU."""

import shutil

import pytest

from sweep_core import AcousticVTI, ElasticVTI
from sweep_core.native import compiler, on_demand
from sweep_core.native.compiler import PTX, Compiler, gpu_codes

NVCC = "#!/bin/sh\nprintf 'sm_75\\nsm_90\\n'"
MACHINES = {
    "no driver": ("exit 9", (PTX,)),
    "one GPU": ("echo 9.0", ("arch=compute_90,code=sm_90",)),
    "two kinds of GPUs": (
        "printf '9.0\\n7.5\\n9.0\\n'",
        ("arch=compute_75,code=sm_75", "arch=compute_90,code=sm_90"),
    ),
    "a GPU newer than nvcc": ("printf '9.0\\n13.0\\n'", ("arch=compute_90,code=sm_90", PTX)),
}


@pytest.mark.parametrize(("answer", "codes"), MACHINES.values(), ids=MACHINES)
def test_code_is_for_the_gpus_of_this_machine(tmp_path, monkeypatch, answer, codes):
    """Another GPU has other flags, hence another library in the cache."""
    for name, text in (("nvidia-smi", f"#!/bin/sh\n{answer}"), ("nvcc", NVCC)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert gpu_codes(Compiler("cuda", (str(tmp_path / "nvcc"),), str(tmp_path))) == codes


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
@pytest.mark.parametrize(("equation", "number"), [(AcousticVTI, 90), (ElasticVTI, 75)])
def test_nvcc_compiles_further_equations(tmp_path, monkeypatch, equation, number):
    """The library opens without a driver, and states the equation that it was compiled from; sm_75 is the oldest GPU."""
    monkeypatch.setenv("SWEEP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "gpu_codes", lambda _: (f"arch=compute_{number},code=sm_{number}",))
    library = on_demand.compiled.__wrapped__(equation(), 2, "float32", "cuda")
    (described,) = library.describe(2)
    assert described.name.decode() == equation.name
    assert described.statement.decode() == on_demand.statement(equation())
    assert f"sm_{number}".encode() in library.path.read_bytes()
