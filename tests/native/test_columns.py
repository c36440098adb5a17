"""Columns of a sample with points in several fields, such as derived quantities."""

import numpy as np
import pytest
from abi import Run, cpu_library
from columns import Merged, columns_add, driven_everywhere
from laws import case, variant

from sweep_core import AcousticVariableDensity, Elastic, NativeError


@pytest.fixture(scope="module", autouse=True)
def library():
    return cpu_library()


@pytest.mark.parametrize("name", ["an earth each", "free surface, between nodes", "3-D"])
@pytest.mark.parametrize("equation", [AcousticVariableDensity, Elastic])
def test_a_column_adds_the_values_at_its_points(equation, name):
    columns_add(variant(name, equation))


@pytest.mark.parametrize("shape", [(60, 90), (24, 26, 28)], ids=str)
def test_columns_have_the_same_bits_for_any_threads_and_slices(shape):
    example = driven_everywhere(case(Elastic, nt=24, nshots=2, shape=shape))
    expected = Merged(example).go(np.random.default_rng(2))
    for threads in (2, 3):
        for name, actual in Merged(example, threads=threads).go(np.random.default_rng(2)).items():
            np.testing.assert_array_equal(actual, expected[name], err_msg=name)
    runs = [Merged(example, first=first, last=last).run for first, last in ((0, 5), (5, 6), (6, 24))]
    whole = Merged(example)
    whole.go(np.random.default_rng(2))
    for operation, order in (("forward", runs), ("born", runs), ("adjoint", runs[::-1])):
        for run, before in zip(order, (None, *order), strict=False):
            for name in ("wavelet", "tangent_wavelet", "cotangent", "tangent_coefficients"):
                run[name][...] = whole.run[name]
            outputs = [b.name for b in run.call.outputs(operation) if b.dtype != "uint8"]
            for name in () if before is None else (*outputs, "state"):
                run[name][...] = before[name]
            run.run(operation)
        for name in outputs:
            actual = order[-1][name]
            if actual.dtype.kind == "f":
                np.testing.assert_array_equal(actual, expected[f"{operation} {name}"], err_msg=f"{operation} {name}")


@pytest.mark.parametrize("kind", ["receiver", "source"])
@pytest.mark.parametrize("defect", ["another trace", "unsorted"])
def test_unsorted_points_to_gather_are_refused(kind, defect):
    example = driven_everywhere(case(Elastic))
    run = Run(example, chunk=7)
    column = run[f"{kind}_gather_column"]
    if defect == "another trace":
        column[1, 1] = column[1, 0]
    else:
        setattr(run.struct, f"{kind}_traces", 1)  # all columns are of one trace
        column[1, :2] = column[1, 1::-1]
    with pytest.raises(NativeError, match=r"to gather at are not sorted by trace and column \(shot 1\)"):
        run.run("forward")
        run.run("adjoint")


def test_the_record_has_the_requested_columns():
    """The fields from which a derived quantity is computed are no output."""
    example = case(Elastic, nrec=4)
    example = type(example)(example.arguments | {"receiver_type": ["p", "vx"]}, example.shots, example.models)
    run = Run(example)
    assert run["record"].shape[2:] == run["cotangent"].shape[2:] == (4, 2)
    assert run.struct.receiver_columns == 8 and run["receiver_gather_cell"].shape[1] == 4 * 3
