"""torchrun on two hosts: network namespaces with host names and addresses of their own, and a cable between them."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from laws import error
from ranks import ROOT, SCRIPTS

pytest.importorskip("torch")
UNSHARE = ["unshare", "--map-root-user", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child"]


def on_two_hosts(folder, *command: str) -> subprocess.CompletedProcess:
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n10.77.0.1 host0\n10.77.0.2 host1\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    whole = [*UNSHARE, "bash", str(SCRIPTS / "two_hosts.sh"), str(hosts), *command]
    return subprocess.run(whole, capture_output=True, text=True, env=environment, timeout=600)


@pytest.fixture
def namespaces(tmp_path):
    """Skip where no network namespace or no cable can be made."""
    if missing := [name for name in ("unshare", "ip", "mount", "hostname") if not shutil.which(name)]:
        pytest.skip(f"needs {' and '.join(missing)}")
    done = on_two_hosts(tmp_path, "true")
    if done.returncode:
        pytest.skip(f"network namespaces are not allowed here: {done.stderr.strip()[-200:]}")


def test_the_hosts_reach_each_other_and_nothing_else(namespaces, tmp_path):
    program = """import pathlib, socket, sys
host = socket.gethostname()
pathlib.Path(sys.argv[1], host).write_text(" ".join(sorted(name for _, name in socket.if_nameindex())))"""
    done = on_two_hosts(tmp_path, sys.executable, "-c", program, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / f"host{k}").read_text() for k in range(2)] == ["cable0 lo", "cable1 lo"]


@pytest.mark.slow
def test_the_command_of_the_page_runs_on_two_hosts(namespaces, tmp_path, monkeypatch):
    """Three shots on two ranks of each host give the serial gradient."""
    monkeypatch.syspath_prepend(SCRIPTS)
    import torch_ranks

    page = (ROOT / "docs/howto/torchrun.md").read_text()
    (line,) = [line for line in page.splitlines() if "torchrun" in line and "--rdzv-endpoint=" in line]
    options = [word for word in shlex.split(line) if word.startswith("--") and word != "--device"]
    path = tmp_path / "results.json"
    torchrun = [sys.executable, "-m", "torch.distributed.run", *options]
    done = on_two_hosts(tmp_path, *torchrun, str(SCRIPTS / "torch_ranks.py"), str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(path.read_text())
    assert results["size"] == 4 and results["broken"] == 0
    for equation in torch_ranks.RECEIVERS:
        _, expected = torch_ranks.gradient(*torch_ranks.problem(equation), range(torch_ranks.SHOTS))
        for a, b in zip(results[equation.name]["gradient"], expected, strict=True):
            assert error(np.array(a), b.numpy()) < 1e-12
