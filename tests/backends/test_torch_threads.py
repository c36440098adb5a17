"""The CPU threads of a call by torch: its own number, unless this process has fewer by default."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sweep_torch import threads as module  # noqa: E402


@pytest.mark.parametrize(
    ("at_import", "own", "limit", "expected"),
    [
        (8, 8, 2, 2),  # torch knows no quota
        (8, 8, 64, 8),  # torch leaves out the second thread of each core
        (8, 5, 2, 5),  # the script's own number
        (4, 5, 5, 5),
        (1, 1, 2, 1),
    ],
)
def test_a_number_of_the_script_comes_before_the_default(at_import, own, limit, expected, monkeypatch):
    monkeypatch.setattr(module, "_BY_DEFAULT", at_import)
    monkeypatch.setattr(module, "thread_count", lambda: limit)
    monkeypatch.setattr(torch, "get_num_threads", lambda: own)
    assert module.cpu_threads() == expected
    assert module.has_own_number() == (own != at_import)


def test_a_compiled_call_uses_these_threads(monkeypatch):
    from sweep_core import Acoustic, ricker
    from sweep_core.native import CompiledCall
    from sweep_torch import PropTorch

    used, run = [], CompiledCall.run

    def recorded(self, operation, buffers, threads=1, **options):
        used.append(threads)
        return run(self, operation, buffers, threads=threads, **options)

    monkeypatch.setattr(CompiledCall, "run", recorded)
    monkeypatch.setattr("sweep_torch.operators.cpu_threads", lambda: 3)
    solver = PropTorch(Acoustic(), (20, 30), 10.0, 0.001, impl="c", pml_width=4)
    vp = torch.full((20, 30), 2000.0)
    wavelet = torch.as_tensor(ricker(10.0, 20, 0.001), dtype=torch.float32)
    solver(wavelet, np.array([[9, 9]]), np.array([[[12, 9]]]), models=[vp])
    assert used == [3]
