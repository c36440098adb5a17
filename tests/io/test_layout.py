"""Functions that return models return them in C order: the conventions state it and torch's optimisers need it."""

import runpy
from argparse import Namespace
from pathlib import Path

import attrs
import numpy as np
import pytest

from sweep_core import io

COMMAND = Path(__file__).parents[2] / "examples/models/marmousi/prepare_fwi_models.py"
CLASSES = {"ElasticModel", "Gathers", "Line", "Misfit", "ObservedStore", "PreparedModel", "SegyFile"}
WRITERS = {"write_gathers", "write_prepared", "write_segy", "write_segy_section"}
WITHOUT_ARRAYS = {*CLASSES, *WRITERS, "fit_line", "part_of", "replacing", "storing"}
"""Functions that return no array, and classes, which the functions that return them test."""


def earth():
    return io.faulted_model((20, 30), 25.0)


def in_fortran_order(array):
    return np.asarray(array, order="F")


def save_elastic(folder):
    """Save the arrays of an elastic earth in Fortran order."""
    result = io.elastic_from_vp(earth())
    for kind, values in (("true", result.true), ("smooth", result.initial)):
        for name, part in zip(("vp", "vs", "rho"), values, strict=True):
            np.save(folder / f"m_25m_{name}_{kind}.npy", in_fortran_order(part))
    return folder


def write_fortran_model(folder):
    """Write a prepared model in Fortran order, like older files."""
    model = io.write_prepared(folder / "m.npz", earth())
    with np.load(model) as file:
        np.savez(folder / "f.npz", **{key: in_fortran_order(file[key]) for key in file.files})
    return folder / "f.npz"


def prepare(folder):
    """Return the model that the command prepares from an array."""
    command = Namespace(**runpy.run_path(str(COMMAND)))
    np.save(folder / "vp.npy", in_fortran_order(earth().true))
    arguments = ["--input", str(folder / "vp.npy"), "--source-dh", "25", "--target-dh", "50", "--crop", "2:,3:"]
    return command.prepare(command.build_parser().parse_args(arguments))


def gathers():
    """Return two shots with arrays in Fortran order."""
    observed = np.random.default_rng(0).standard_normal((2, 20, 3, 1))
    return io.Gathers(*map(in_fortran_order, (np.ones((2, 2)), np.ones((2, 3, 2)), observed)), dt=0.001, dh=5.0)


def shots(folder):
    pytest.importorskip("segyio", reason="segyio is not installed")
    return io.write_segy(folder / "shots.sgy", gathers())


def segy(path):
    file = io.open_segy(path)
    positions = (file.sources, file.receivers, file.delay, *file.shots())
    return (file.traces(), file.section(), file.traces(np.array([2, 1])), file.header("SourceX"), *positions)


def stored(folder):
    """Return all shots of a store of gathers."""
    pytest.importorskip("zarr", reason="zarr is not installed")
    store = io.ObservedStore.create(folder / "shots.zarr", (2, 20, 3, 1), 0.001)
    io.store_gathers(store, gathers())
    return store[:]


MAKERS = {
    "Gathers": lambda _: gathers(),
    "open_segy": lambda folder: segy(shots(folder)),
    "read_gathers": lambda folder: io.read_gathers(io.write_gathers(folder / "g.npz", gathers())),
    "read_segy": lambda folder: io.read_segy(shots(folder), dh=5.0),
    "read_segy, coarser": lambda folder: io.read_segy(shots(folder), dh=5.0, dt=0.002, shots=[1]),
    "weights and offsets of Gathers": lambda _: (gathers().weights(0.005), gathers().offsets, gathers().times),
    "downsample": lambda _: io.downsample(in_fortran_order(earth().true), 25.0, 50.0, in_fortran_order(earth().water)),
    "elastic_from_vp": lambda _: io.elastic_from_vp(earth()),
    "faulted_model": lambda _: earth(),
    "find_water": lambda _: io.find_water(in_fortran_order(earth().true)),
    "read_array": lambda folder: io.read_array(save_elastic(folder) / "m_25m_vp_true.npy"),
    "read_array, an archive": lambda folder: io.read_array(write_fortran_model(folder), "true"),
    "read_elastic": lambda folder: io.read_elastic(save_elastic(folder)),
    "read_elastic, coarser": lambda folder: io.read_elastic(save_elastic(folder), 50.0),
    "read_prepared": lambda folder: io.read_prepared(write_fortran_model(folder)),
    "store_gathers": stored,
    "smooth": lambda _: io.smooth(in_fortran_order(earth().true), earth().water, (2, 2)),
    "prepare_fwi_models": prepare,
}


def arrays(example):
    if attrs.has(type(example)):
        example = attrs.astuple(example, recurse=False)
    return [x for x in (example if isinstance(example, tuple) else (example,)) if isinstance(x, np.ndarray)]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_models_are_returned_in_c_order(make, tmp_path):
    result = arrays(make(tmp_path))
    assert result and all(x.flags.c_contiguous and x.flags.writeable for x in result)


def test_every_function_of_io_is_tested():
    tested = {name.split(",")[0] for name in MAKERS} - {"Gathers", "weights and offsets of Gathers"}
    assert tested == set(io.__all__) - WITHOUT_ARRAYS | {"prepare_fwi_models"}
