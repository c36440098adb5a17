"""The build: its files, the exports of the libraries, and the behaviour when a compiler fails."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import attrs
import numpy as np
import pytest

from sweep_core import native
from sweep_core.native import sources
from sweep_core.native.codegen import shipped

ROOT = Path(__file__).parents[2]
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
LIMITS = {"cpu": 15e6, "cuda": 40e6, "xla": 5e6}
INSISTENT = ("SWEEP_REQUIRE_NATIVE", "SWEEP_CUDA", "SWEEP_WERROR", "SWEEP_ISAS")
THIS_PYTHON = f"-DPython_EXECUTABLE={sys.executable}"
"""The option by which CMake writes headers with the packages of this environment."""
X86 = platform.machine() in ("x86_64", "AMD64")

pytestmark = pytest.mark.skipif(not (ROOT / "CMakeLists.txt").exists(), reason="not a source tree")


def installed() -> Path:
    try:
        return Path(str(distribution("seismic-sweep").locate_file("sweep_core/native")))
    except PackageNotFoundError:
        pytest.skip("seismic-sweep is not installed")


def library(kind: str) -> Path:
    path = installed() / f"libsweep_{kind}{SUFFIX}"
    if not path.exists():
        pytest.skip(f"{path.name} was not built: {report(path.with_name('build_report.txt').read_text())[kind]}")
    return path


def report(text: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in text.splitlines())


def run(*command, **variables) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in INSISTENT} | variables
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def tool(name: str) -> str:
    """Return the path of a program in this environment (even if it is not activated) or on the machine."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if not path:
        pytest.skip(f"there is no {name}")
    return path


def test_the_build_report_is_installed():
    entries = report((installed() / "build_report.txt").read_text())
    assert {"seismic-sweep", "cpu", "cuda", "xla"} <= set(entries)
    for kind in LIMITS:
        built = (installed() / f"libsweep_{kind}{SUFFIX}").exists()
        assert entries[kind].startswith("yes (" if built else "no ("), entries[kind]


def test_native_sources_are_installed():
    """Other packages build their libraries from these sources, as tests/plugins does."""
    library("cpu")
    for path in (ROOT / "native").rglob("*.*"):
        copy = installed() / path.relative_to(ROOT / "native")
        assert copy.read_bytes() == path.read_bytes(), f"{copy} is stale: make setup"
    assert sources().samefile(installed())


def test_a_relative_folder_of_libraries_is_relative_to_the_current_folder(tmp_path):
    """The dynamic linker does not search LD_LIBRARY_PATH for the name of the library."""
    (tmp_path / "own").mkdir()
    (tmp_path / "planted").mkdir()
    shutil.copy(native.library.find("cpu"), tmp_path / "own")
    (tmp_path / "planted" / f"libsweep_cpu{SUFFIX}").write_text("not a library")
    code = "from sweep_core import native; print(native.load('cpu').path)"
    environment = os.environ | {"SWEEP_NATIVE_DIR": ".", "LD_LIBRARY_PATH": str(tmp_path / "planted")}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, cwd=tmp_path / "own", env=environment, capture_output=True, text=True)
    assert process.stdout.strip() == str(tmp_path / "own" / f"libsweep_cpu{SUFFIX}"), process.stderr


def test_one_command_is_installed():
    installed()
    entries = {(entry.group, entry.name) for entry in distribution("seismic-sweep").entry_points}
    assert entries == {("sweep", "torch"), ("sweep", "jax"), ("console_scripts", "seismic-sweep")}


@pytest.mark.parametrize("kind", LIMITS)
def test_libraries_are_small(kind):
    assert library(kind).stat().st_size <= LIMITS[kind]


@pytest.mark.parametrize("kind", LIMITS)
def test_libraries_export_only_sweep_names(kind):
    path = library(kind)
    flags = ["-gU"] if sys.platform == "darwin" else ["-D", "--defined-only"]
    names = [line.split()[-1].removeprefix("_") for line in run(tool("nm"), *flags, str(path)).splitlines()]
    assert names and all(name.startswith("sweep_") for name in names), names


@pytest.mark.skipif(sys.platform != "linux", reason="readelf")
def test_cpu_library_needs_no_cpp_runtime():
    needed = [line for line in run(tool("readelf"), "-d", str(library("cpu"))).splitlines() if "NEEDED" in line]
    assert needed and not any("libstdc++" in line or "libc++" in line for line in needed), needed


def test_the_report_lists_variants_and_equations():
    library("cpu")
    entries = report((installed() / "build_report.txt").read_text())["cpu"].removeprefix("yes (").rstrip(")")
    variants, _, _, equations = (part.split() for part in entries.split("; "))
    assert variants[:1] == ["portable"]
    assert variants == sorted(variants, key=["portable", "avx2", "avx512"].index)
    assert equations == sorted(equation.name for equation in shipped())


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_the_build_id_is_the_hash_of_the_sources(kind):
    native = ROOT / "native"
    suffixes = (".h", ".cpp", ".cu", ".cuh")
    paths = [p for part in ("include", "src") for p in (native / part).rglob("*") if p.suffix in suffixes]
    lines = ""
    for name in sorted(path.relative_to(native).as_posix() for path in paths):
        lines += f"{name}\n{hashlib.sha256((native / name).read_bytes()).hexdigest()}\n"
    build_id = ctypes.CDLL(str(library(kind))).sweep_build_id
    build_id.restype = ctypes.c_char_p
    assert build_id().decode() == hashlib.sha256(lines.encode()).hexdigest(), "stale: make setup"


def build(folder: Path, **variables) -> dict[str, str]:
    """Build the tree with other environment variables, and return the build report."""
    options = [f"-D{name}={variables[name]}" for name in ("SWEEP_CUDA",) if name in variables]
    run(tool("cmake"), "-S", str(ROOT), "-B", str(folder), THIS_PYTHON, *options, **variables)
    run(tool("cmake"), "--build", str(folder), **variables)
    run(tool("cmake"), "--install", str(folder), "--prefix", str(folder / "installed"))
    return report((folder / "installed/sweep_core/native/build_report.txt").read_text())


def failing_compiler(folder: Path) -> str:
    """Return a compiler that fails only on the kernels and the XLA shim."""
    path = folder / "c++"
    script = 'case "$*" in *kernels.c*|*xla_shim*) echo "error: not today" >&2; exit 1 ;; esac'
    path.write_text(f'#!/bin/sh\n{script}\nexec {tool("c++")} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_a_build_without_compiler_reports_no_library(tmp_path):
    entries = build(tmp_path, CXX="/bin/false", SWEEP_CUDA="OFF")
    assert all(entries[kind].startswith("no (") for kind in LIMITS)
    assert "/bin/false" in entries["cpu"]


def test_a_required_compiler_must_exist(tmp_path):
    with pytest.raises(AssertionError, match="SWEEP_REQUIRE_NATIVE=1"):
        build(tmp_path, CXX="/bin/false", SWEEP_REQUIRE_NATIVE="1")


def test_a_failed_library_does_not_stop_the_others(tmp_path):
    entries = build(tmp_path, CXX=failing_compiler(tmp_path), CUDACXX="/bin/false")
    assert "not today" in entries["cpu"]
    assert entries["cuda"].startswith("no (") and "/bin/false" in entries["cuda"]


def test_the_report_says_why_cuda_is_missing(tmp_path):
    """The reason is known after the configuration."""
    ninja = tool("ninja")
    for number, (options, reason) in enumerate([(["-DSWEEP_CUDA=OFF"], "SWEEP_CUDA=OFF"), ([], "no nvcc")]):
        command = [tool("cmake"), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", *options]
        run(
            *command,
            "-S",
            str(ROOT),
            "-B",
            str(tmp_path / f"{number}"),
            PATH="/",
            CUDACXX="",
            CUDA_PATH="",
            CUDA_HOME="",
        )
        assert reason in (tmp_path / f"{number}/attempt.cmake").read_text()


def test_a_wheel_is_pure_python_if_cmake_fails(tmp_path):
    pytest.importorskip("scikit_build_core")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index"]
    run(*pip, "--wheel-dir", str(tmp_path), "--config-settings=cmake.args=--no-such-option", str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entries = report(archive.read("sweep_core/native/build_report.txt").decode())
    assert "sweep_core/__init__.py" in names and not any(name.endswith(SUFFIX) for name in names)
    assert entries["cpu"].startswith("no (") and entries["native"].startswith("no (")


@pytest.mark.slow
def test_a_wheel_installs_in_an_empty_environment(tmp_path):
    """The wheel contains libraries and the command; dependencies come from this environment."""
    pytest.importorskip("scikit_build_core")
    options = "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DSWEEP_EQUATIONS=sweep_core:Acoustic"
    quick = {"CMAKE_ARGS": options, "SWEEP_ISAS": "portable", "SWEEP_CUDA": "OFF"}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SWEEP_", "PYTHON"))}
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index"]
    build_environment = {**clean, **quick, "SWEEP_REQUIRE_NATIVE": "1"}
    subprocess.run(
        [*pip, "--wheel-dir", str(tmp_path), str(ROOT)], env=build_environment, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("seismic_sweep-") and "-py3-none-" in wheel.name
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "empty")], check=True)
    binaries = tmp_path / "empty/bin"
    installs = [str(binaries / "python"), "-m", "pip", "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(installs, env=clean, check=True, capture_output=True)
    code = "from sweep_core import native; print(native.load('cpu').path)"
    environment = {**clean, "PYTHONPATH": str(Path(attrs.__file__).parents[1])}
    for command in ([binaries / "seismic-sweep", "info"], [binaries / "python", "-c", code]):
        process = subprocess.run(
            [str(word) for word in command], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert process.returncode == 0 and str(tmp_path / "empty") in process.stdout, process.stdout + process.stderr


KNOWN = "sm_75\nsm_80\nsm_86\nsm_89\nsm_90\nsm_100\nsm_120\n"
ARCHITECTURES = {
    ("", None): "75-virtual",
    ("", ""): "75-virtual",
    ("", "9.0\n9.0\n8.9\n"): "90-real;89-real",
    ("", "13.0\n9.0\n"): "75-virtual;90-real",
    ("", "No devices were found\n"): "75-virtual",
    ("80-real;90", "9.0\n"): "80-real;90",
    ("all", "9.0\n"): "75-real;80-real;86-real;89-real;90-real;100-real;120-real;120-virtual",
}


@pytest.mark.parametrize(("requested", "gpus"), ARCHITECTURES, ids=str)
def test_cuda_is_built_for_the_present_or_requested_gpus(tmp_path, requested, gpus):
    """`gpus` is the output of nvidia-smi; None if there is no nvidia-smi."""
    if gpus is not None:
        smi = tmp_path / "nvidia-smi"
        smi.write_text(f"#!/bin/sh\nprintf '%s' '{gpus}'\n")
        smi.chmod(0o755)
    script = tmp_path / "choose.cmake"
    script.write_text(
        f'include("{ROOT}/native/architectures.cmake")\n'
        f'sweep_choose_architectures(chosen "{requested}" "{KNOWN}")\nfile(WRITE "{tmp_path}/chosen" "${{chosen}}")\n'
    )
    subprocess.run([tool("cmake"), "-P", script], check=True, env={**os.environ, "PATH": str(tmp_path)})
    assert (tmp_path / "chosen").read_text() == ARCHITECTURES[requested, gpus]


@pytest.mark.skipif(not X86, reason="another processor has one instruction set")
@pytest.mark.parametrize("requested", ["", "all", "avx2", "portable;avx512"])
def test_the_requested_instruction_sets_are_built(tmp_path, requested):
    """The default is `portable` and the best of this processor, known after the configuration."""
    has = np._core._multiarray_umath.__cpu_features__
    best = ["avx512"] if has["AVX512_SKX"] else ["avx2"] if has["AVX2"] and has["FMA3"] else []
    expected = {"": ["portable", *best], "all": ["portable", "avx2", "avx512"]}.get(requested, requested.split(";"))
    run(tool("cmake"), "-S", str(ROOT / "native"), "-B", str(tmp_path), THIS_PYTHON, f"-DSWEEP_ISAS={requested}")
    assert (tmp_path / "report.txt").read_text().split(";")[0].split() == expected


@pytest.mark.skipif(not X86, reason="another processor has one instruction set")
def test_an_unknown_instruction_set_is_refused_by_name(tmp_path):
    with pytest.raises(AssertionError, match=r"SWEEP_ISAS has mmx; expected all, or some of portable;avx2;avx512"):
        run(tool("cmake"), "-S", str(ROOT / "native"), "-B", str(tmp_path), THIS_PYTHON, "-DSWEEP_ISAS=mmx")


@pytest.mark.parametrize(("cores", "gigabytes", "limit", "expected"), [
    (64, 8, "max", 1), (64, 3, "max", 1), (2, 300, "max", 2), (64, 100, "max", 20), (64, 100, 12 * 10**9, 2), (8, 20, None, 4),
])  # fmt: skip
def test_the_number_of_compilers_fits_memory_and_cores(cores, gigabytes, limit, expected, tmp_path):
    """A control group may have less memory than the machine."""
    if limit:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
    script = tmp_path / "choose.cmake"
    script.write_text(
        f'include("{ROOT}/native/jobs.cmake")\n'
        f"macro(cmake_host_system_information)\nset(memory {gigabytes * 10**9 // 2**20})\nendmacro()\n"
        f'sweep_available_memory(memory "{tmp_path}")\nsweep_choose_jobs(jobs {cores} ${{memory}})\n'
        f'file(WRITE "{tmp_path}/jobs" "${{jobs}}")\n'
    )
    run(tool("cmake"), "-P", str(script))
    assert (tmp_path / "jobs").read_text() == str(expected)
