"""Libraries that are compiled on first use: their bits, their cache, and a compiler or a disk that fails."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import attrs
import numpy as np
import pytest
from abi import Run
from building import COMPILER
from laws import case, reference_record

from sweep_core import Acoustic, NativeError, UnsupportedError, native
from sweep_core.cli import main
from sweep_core.execution.answers import record_error
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.native import compiler, on_demand, selection

pytest.importorskip("torch")
from sweep_torch import PropTorch, TorchExecutor

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


class Sound(Acoustic):
    """An equation that no installed library holds."""

    name = "sound"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return a new folder of compiled libraries; nothing that this process has opened or found counts."""
    monkeypatch.setenv("SWEEP_CACHE_DIR", str(tmp_path / "cache"))

    def forget():
        for function in (on_demand.prospect, on_demand.cached, on_demand.compiled):
            function.cache_clear()
        for function in (compiler.find_compiler, compiler.check_compiler):
            function.cache_clear()
        native.compiled_call.cache_clear()

    forget()
    yield tmp_path / "cache"
    forget()


@pytest.fixture
def quick(monkeypatch):
    """Compile without optimisation, which takes a second."""
    flags = compiler.flags
    monkeypatch.setattr(compiler, "flags", lambda *arguments: [f if f != "-O3" else "-O0" for f in flags(*arguments)])


def library_of(**options):
    return selection.library_of(Sound(**options), 2, "float64", "cpu")


def test_an_equation_is_compiled_on_first_use_and_opened_on_the_next(cache, capfd):
    """Its record is that of the reference, and explain() says where the code comes from."""
    setup = case(Sound)
    solver = PropTorch(setup.problem.equation, (20, 20), 10.0, 1e-3)
    assert solver.impl == "c" and "on first use" in solver.explain() and not [*cache.glob("*/entry.json")]
    record = TorchExecutor("c").forward(setup.problem, setup.shots, setup.models)
    assert record_error(record.numpy(), reference_record(setup)) < 1e-12
    assert capfd.readouterr().err.count("sweep: compiling sound 2-D float64") == 1
    (entry,) = on_demand.entries()
    assert (entry.equation, entry.ndim, entry.order, entry.dtype) == ("sound", 2, 0, "float64")
    assert f"compiled sound in {entry.seconds:.1f} s" in PropTorch(Sound(), (20, 20), 10.0, 1e-3).explain()
    on_demand.compiled.cache_clear()
    assert library_of(spatial_order=8).path.parent.name == entry.key and not capfd.readouterr().err


def test_strips_need_no_library_of_another_precision(cache, quick, capfd):
    """The tables of a library say whether the equation runs backward in time, in any precision."""
    solver = PropTorch(Sound(), (20, 20), 10.0, 1e-3, impl="c")
    assert "boundary" in str(solver.estimate(nshots=1, nt=20, dtype="float64"))
    selection.library_of(Sound(), 2, "float64", "cpu")
    assert PropTorch(Sound(), (20, 20), 10.0, 1e-3, memory="boundary").impl == "c"
    assert capfd.readouterr().err.count("sweep: compiling") == 1


def test_the_cache_belongs_to_the_user_alone(cache, quick):
    library_of()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    cache.chmod(0o777)
    on_demand.compiled.cache_clear()
    with pytest.raises(NativeError, match="expected a folder that you alone can write to; set SWEEP_CACHE_DIR"):
        library_of()


@pytest.mark.parametrize(("memory", "compilers"), [(0, 1), (3 << 30, 3), (1 << 40, 8), (None, 8)])
def test_as_many_compilers_run_as_have_a_core_and_memory(cache, quick, monkeypatch, memory, compilers):
    """The parts of a library are compiled at the same time; a count of the compilers says so."""
    call, running, most, guard = compiler._call, [0], [0], threading.Lock()

    def counted(command):
        with guard:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.2)
        call(command)
        with guard:
            running[0] -= 1

    monkeypatch.setattr(compiler, "_call", counted)
    monkeypatch.setattr(compiler, "available", lambda: memory)
    monkeypatch.setattr(compiler, "processor_count", lambda: 8)
    assert library_of().describe(2)[0].name == b"sound"
    assert most == [min(compilers, 3 + 3)]


def test_a_damaged_library_is_compiled_again(cache, quick, capfd):
    path = library_of().path
    half = path.read_bytes()[:100_000]
    path.unlink()  # this process has mapped the file itself
    path.write_bytes(half)
    on_demand.compiled.cache_clear()
    assert library_of().describe(2)[0].name == b"sound"
    assert capfd.readouterr().err.count("sweep: compiling") == 2


def test_two_processes_at_once_compile_once(cache):
    code = f"""
import sys; sys.path[:0] = {sys.path!r}
from test_on_demand import Sound
from sweep_core.native import selection
print(selection.library_of(Sound(), 2, "float64", "cpu").path)
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    both = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=-1, stderr=-1, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate() for process in both]
    assert answers[0][0] and answers[0][0] == answers[1][0], answers
    assert sum(error.count("sweep: compiling") for _, error in answers) == 1


FAILURES = {
    "missing": ("no-such-compiler", "the compiler no-such-compiler does not run"),
    "broken": ("false", "answers --version with"),
    "lying": ("echo", "expected a compiler that makes a library"),
}


@pytest.mark.parametrize(("command", "reason"), FAILURES.values(), ids=FAILURES)
def test_without_a_working_compiler_auto_runs_eager_and_c_says_why(cache, monkeypatch, command, reason):
    monkeypatch.setenv("CXX", command)
    solver = PropTorch(Sound(), (20, 20), 10.0, 1e-3)
    assert solver.impl == "eager" and reason in solver.explain()
    with pytest.raises(UnsupportedError, match="sound has no compiled kernel in libsweep_cpu") as refusal:
        PropTorch(Sound(), (20, 20), 10.0, 1e-3, impl="c")
    assert reason in str(refusal.value)


def test_a_full_disk_is_named_and_auto_runs_eager(cache, monkeypatch):
    """/dev/full is a disk without room; a folder that cannot be made stands for a cache on it."""
    monkeypatch.setenv("SWEEP_CACHE_DIR", "/dev/full/cache")
    solver = PropTorch(Sound(), (20, 20), 10.0, 1e-3)
    assert solver.impl == "eager" and "the cache folder /dev/full/cache cannot be made" in solver.explain()


def test_an_error_of_the_compiler_is_shown_and_leaves_nothing(cache, monkeypatch):
    monkeypatch.setattr(compiler, "flags", lambda *arguments: ["-std=c++17", "-include", "no_such_header.h"])
    with pytest.raises(NativeError, match=r"failed with exit status 1: .*no_such_header"):
        library_of()
    assert not [path for path in cache.iterdir() if path.is_dir()]


def test_the_cache_is_bounded(cache, quick, monkeypatch):
    """The libraries that were not used for the longest time go first; the one in use stays."""
    first = library_of().path
    monkeypatch.setattr(on_demand, "MOST_BYTES", 1)

    class Louder(Sound):
        name = "louder"

    second = selection.library_of(Louder(), 2, "float64", "cpu").path
    assert second.exists() and not first.exists()


def test_the_command_lists_and_clears_the_cache(cache, quick, capsys):
    library_of()
    assert main(["cache"]) == 0
    printed = capsys.readouterr().out
    assert "sound" in printed and "every order" in printed and "1 library, " in printed and str(cache) in printed
    assert main(["cache", "--clear"]) == 0 and "removed 1 library" in capsys.readouterr().out
    assert not on_demand.entries() and main(["cache"]) == 0 and "0 libraries" in capsys.readouterr().out


def test_an_unreadable_entry_is_left_out(cache, quick):
    library_of()
    (entry,) = cache.glob("*/entry.json")
    entry.write_text(json.dumps({"equation": "sound"}))
    assert on_demand.entries() == [] and library_of().isa


def test_the_code_has_the_bits_of_the_installed_library(cache, monkeypatch):
    """The sources, tables and flags are the same. In float64 the loop over every order rounds in another order."""
    setup = case(Acoustic)
    models = [m.astype("float32") for m in setup.models]
    shots = attrs.evolve(setup.shots, wavelet=setup.shots.wavelet.astype("float32"))
    executor = TorchExecutor("c")
    observed = 0 * executor.forward(setup.problem, shots, models)
    expected, (gradient,) = executor.misfit_and_gradient(setup.problem, shots, models, observed)
    monkeypatch.setattr(selection, "installed", lambda *_: (None, "not asked"))
    native.compiled_call.cache_clear()
    misfit, (other,) = executor.misfit_and_gradient(setup.problem, shots, models, observed)
    assert on_demand.entries()[0].equation == "acoustic"
    assert misfit == expected and np.array_equal(other.numpy(), gradient.numpy())


def compilations(capfd) -> list[str]:
    """Return the operations of each library that was compiled since the last call."""
    return re.findall(r"compiling .*\(([a-z, ]+)\) with", capfd.readouterr().err)


@pytest.fixture
def any_scattering(cache, quick):
    """Return (problem, shots, models, direction) of an equation that no library holds."""
    setup = case(Sound)
    return setup.problem, setup.shots, setup.models, [np.full_like(setup.models[0], 7.0)]


def test_born_runs_are_compiled_when_they_are_first_asked_for(any_scattering, cache, capfd):
    """A gradient compiles no Born run, and a Born run then only itself."""
    *setup, direction = any_scattering
    TorchExecutor("c").misfit_and_gradient(*setup, np.zeros(ReferenceExecutor().forward(*setup).shape))
    assert compilations(capfd) == ["forward, adjoint"]
    scattered = TorchExecutor("c").born(*setup, direction)
    assert compilations(capfd) == ["born"]
    assert record_error(scattered.numpy(), ReferenceExecutor().born(*setup, direction)) < 1e-12
    assert sorted(entry.operations for entry in on_demand.entries()) == [["born"], ["forward", "adjoint"]]
    on_demand.compiled.cache_clear()
    TorchExecutor("c").born(*setup, direction)
    assert not compilations(capfd)


def test_jax_compiles_born_runs_for_tangents_and_not_for_gradients(any_scattering, capfd):
    jax = pytest.importorskip("jax")
    from sweep_jax import PropJax, shim

    problem, shots, (vp,), (direction,) = any_scattering
    if not shim.supports(problem.equation, 2, "cpu"):
        pytest.skip(shim.supports(problem.equation, 2, "cpu").reason)
    with jax.enable_x64(True):
        solver = PropJax(**case(Sound).arguments, impl="c")

        def energy(vp):
            return (solver(shots.wavelet, shots.sources, shots.receivers, [vp]) ** 2).sum()

        gradient = jax.jit(jax.grad(energy))(vp)
        assert compilations(capfd) == ["forward, adjoint"]
        _, slope = jax.jvp(energy, (vp,), (direction,))
    assert compilations(capfd) == ["born"]
    assert float(slope) == pytest.approx(float((gradient * direction).sum()), rel=1e-10)


@pytest.mark.parametrize(
    ("operations", "absent"), [(on_demand.GRADIENT, ["born"]), (on_demand.BORN, ["forward", "adjoint"])]
)
def test_a_library_refuses_the_operations_that_it_was_compiled_without(any_scattering, operations, absent):
    run = Run(case(Sound))
    library = on_demand.compiled(Sound(), 2, "float64", "cpu", operations)
    for operation in native.structs.OPERATIONS:
        buffers = run.addresses(operation)
        if operation in absent:
            with pytest.raises(UnsupportedError, match="this library was compiled without it"):
                library.call(operation, run.struct, buffers)
        else:
            library.call(operation, run.struct, buffers)


def test_born_without_a_compiler_says_why(any_scattering, monkeypatch):
    """The library of the gradient is in the cache; a machine without a compiler runs it."""
    *setup, direction = any_scattering
    executor = TorchExecutor("c")
    executor.forward(*setup)

    def gone(*_):
        raise NativeError("the compiler is gone")

    with monkeypatch.context() as patch:
        patch.setattr(on_demand, "compile_library", gone)
        executor.forward(*setup)
        with pytest.raises(NativeError, match="Born runs of sound cannot be compiled: .* gone; use impl='eager'"):
            executor.born(*setup, direction)
    assert np.isfinite(executor.born(*setup, direction).numpy()).all()
