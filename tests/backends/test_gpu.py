"""Laws of a GPU beyond those of a CPU: streams, graphs, threads, several cards, and JAX on a GPU."""

import threading

import numpy as np
import pytest
from laws import case, error, forget, known_equations, reference_record

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch  # noqa: E402

pytestmark = pytest.mark.gpu
equation = pytest.mark.parametrize("equation", known_equations())


class Side:
    """A case on a card: its record and the gradient of half the sum of its squares."""

    def __init__(self, example, device="cuda"):
        self.solver = PropTorch(**example.arguments, impl="c", dev=device)
        self.survey = {"sources": example.shots.sources, "receivers": example.shots.receivers}
        self.wavelet = torch.tensor(example.shots.wavelet, device=device)
        self.models = [torch.tensor(m, device=device, requires_grad=True) for m in example.models]

    def record(self):
        with torch.no_grad():
            return self.solver(self.wavelet, **self.survey, models=self.models)

    def results(self):
        record = self.solver(self.wavelet, **self.survey, models=self.models)
        return [record.detach(), *torch.autograd.grad(record, self.models, record.detach())]


def assert_same(results, expected):
    for a, b in zip(results, expected, strict=True):
        assert np.array_equal(a.cpu().numpy(), b.cpu().numpy())


@equation
def test_any_stream_gives_the_same_bits(equation):
    side = Side(case(equation))
    expected = side.results()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        outputs = side.results()
    stream.synchronize()
    assert_same(outputs, expected)


@equation
def test_a_graph_replays_a_call_on_other_values(equation):
    side = Side(case(equation))
    expected = side.record()
    wavelet = side.wavelet.clone()
    side.wavelet.zero_()
    side.record()  # allocate tables of the problem and the survey outside of the graph
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        record = side.record()
    graph.replay()
    assert not record.any()
    side.wavelet.copy_(wavelet)
    graph.replay()
    assert_same([record], [expected])


@equation
def test_threads_on_streams_of_their_own_give_the_same_bits(equation):
    sides = [Side(case(equation, nshots=n)) for n in (1, 3, 5)]
    expected = [side.results() for side in sides]
    torch.cuda.synchronize()
    outputs = [None] * len(sides)

    def work(i):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            outputs[i] = sides[i].results()
        stream.synchronize()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(sides))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results, reference in zip(outputs, expected, strict=True):
        assert_same(results, reference)


@equation
def test_any_card_gives_the_same_bits(equation):
    """Another card may be current."""
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one CUDA device")
    setup = case(equation)
    expected = Side(setup, "cuda:0").results()
    for card in range(1, torch.cuda.device_count()):
        outputs = Side(setup, f"cuda:{card}").results()
        assert {x.device.index for x in outputs} == {card} and torch.cuda.current_device() == 0
        assert_same(outputs, expected)


@equation
@pytest.mark.parametrize("impl", ["c", "eager"])
def test_jax_on_a_gpu_equals_the_reference(equation, impl):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip(f"JAX's device is a {jax.default_backend()}")
    from sweep_jax import PropJax

    setup = case(equation)
    forget()
    solver = PropJax(**setup.arguments, impl=impl)
    record = solver(setup.shots.wavelet, setup.shots.sources, setup.shots.receivers, models=setup.models)
    assert {d.platform for d in record.devices()} == {"gpu"}
    assert error(np.asarray(record), reference_record(setup)) < 1e-12
