"""Columns of wavelet and record with points in several fields, in every stage of a step."""

import attrs
import numpy as np
from abi import Run

OPERATIONS = ("forward", "born", "adjoint")


def driven_everywhere(example):
    """Return the example with sources and receivers in all fields."""
    names = [f.name for f in example.problem.equation.waves_in(example.problem.grid.ndim)]
    return attrs.evolve(example, arguments=example.arguments | {"source_type": names, "receiver_type": names})


class Merged:
    """A run whose fields share columns: `into` is the column of each field of a trace."""

    def __init__(self, example, **options):
        self.run, fields = Run(example, chunk=7, **options), len(example.problem.source_type)
        self.into = (
            fields - 2 + np.arange(fields) % 2
        )  # all fields share the last two columns; the others have no points
        for name in ("source_inject", "source_gather", "receiver_inject", "receiver_gather"):
            column = self.run[f"{name}_column"]
            column[...] = column // fields * fields + self.into[column % fields]
        self.fields = fields

    def by_field(self, name):
        array = self.run[name]
        return array.reshape(*array.shape[:2], -1, self.fields)

    def go(self, rng):
        """Run all operations on random signals and return their outputs."""
        for name in ("wavelet", "tangent_wavelet", "cotangent"):
            self.run[name][...] = rng.standard_normal(self.run[name].shape)
        self.run["tangent_coefficients"][...] = rng.standard_normal(self.run["tangent_coefficients"].shape)
        results = {}
        for operation in OPERATIONS:
            self.run.run(operation)
            results |= {f"{operation} {b.name}": self.run[b.name].copy() for b in self.run.call.outputs(operation)}
        return {name: x for name, x in results.items() if x.dtype.kind == "f"}


def columns_add(example, **options) -> None:
    """Check that a column with points in several fields equals the sum of columns with one field each.

    A column without points keeps its values.
    """
    example = driven_everywhere(example)
    merged = Merged(example, **options)
    result, apart, into = merged.go(np.random.default_rng(5)), Run(example, chunk=7), merged.into
    for name in ("wavelet", "tangent_wavelet", "cotangent"):
        signals = merged.by_field(name)
        apart[name][...] = signals[..., into].reshape(apart[name].shape)
    apart["tangent_coefficients"][...] = merged.run["tangent_coefficients"]
    for operation in OPERATIONS:
        apart.run(operation)
        for name in ("record",) if operation != "adjoint" else ("gradient_wavelet", "gradient_coefficients"):
            arguments, expected = result[f"{operation} {name}"], apart[name]
            if name != "gradient_coefficients":
                parts = expected.reshape(*expected.shape[:2], -1, merged.fields)
                arguments = arguments.reshape(parts.shape)
                assert np.isnan(np.delete(arguments, np.unique(into), -1)).all()
                arguments = arguments[..., np.unique(into)]
                expected = np.stack([parts[..., into == column].sum(-1) for column in np.unique(into)], -1)
            np.testing.assert_allclose(arguments, expected, rtol=0, atol=1e-13 * np.abs(expected).max(), err_msg=name)
