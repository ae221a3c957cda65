"""Building operations from samples, running them in a session, and comparing what came out.

Used by the tests of every op type on every tier and device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphflow as gf
from graphflow._core.graph.op_def import lookup
from graphflow._core.ops.core import apply
from tests.ops.op_samples import Sample

ROUNDING = {"float16": 2e-3, "float32": 4e-6, "complex64": 4e-6, "float64": 1e-12, "complex128": 1e-12}


class Use:
    """An operation built from a sample in one of the forms, with what it is fed."""

    def __init__(self, op_type: str, sample: Sample, form: str, random: np.random.Generator) -> None:
        definition = lookup(op_type)
        self.sample, self.form = sample, form
        self.feeds: dict[Any, Any] = {}
        self.variables: list[Any] = []
        self.flat: list[Any] = []
        values: list[Any] = []
        for position, (spec, value) in enumerate(zip(definition.inputs, sample.inputs, strict=True)):
            if spec.ref or spec.written:
                self.variables.append(gf.Variable(value, trainable=False, dtype=gf.as_dtype(value.dtype)))
                values.append(self.variables[-1]._ref())
                continue
            fixed = form == "constants" or position in sample.constants
            tensors = [self._tensor(v, fixed, random) for v in (value if spec.variadic else [value])]
            self.flat += tensors
            if sample.symmetric and form != "constants":
                tensors = [(t + gf.linalg.adjoint(t)) / 2 for t in tensors]
            values.append(tensors if spec.variadic else tensors[0])
        self.op = apply(definition, values, dict(sample.attrs))

    def _tensor(self, value: Any, fixed: bool, random: np.random.Generator) -> Any:
        dtype = gf.as_dtype(value.dtype) if value.dtype != object else gf.string
        if fixed:
            return gf.constant(value, dtype)
        dims = list(value.shape) if self.form != "unknown" else None
        if self.form == "partly":
            dims = [None if random.random() < 0.5 else size for size in value.shape]
        tensor = gf.placeholder(dtype, dims)
        self.feeds[tensor] = value
        return tensor


def run_uses(
    uses: Sequence[Use], compiled: str, watch: Callable[[Any], None] | None = None
) -> list[tuple[list[Any], list[Any]]]:
    """The outputs, and the variables afterwards, of each use, in a new session. All uses are of the current graph.

    Those of the second run: the first is observed, so that the second can be compiled. `watch` sees the session.
    """
    feeds = {k: v for use in uses for k, v in use.feeds.items()}
    variables = [v for use in uses for v in use.variables]
    fetches = ([list(use.op.outputs) for use in uses], [use.op for use in uses])
    with gf.Session(config=gf.ConfigProto(compiled=compiled, allow_soft_placement=True)) as session:
        for _ in range(2):
            if variables:
                session.run(gf.variables_initializer(variables))
            outputs, _ = session.run(fetches, feeds)
        if watch is not None:
            watch(session)
        after = session.run([[v._ref() for v in use.variables] for use in uses])
    return [
        ([_array(t, v) for t, v in zip(use.op.outputs, values, strict=True)], left)
        for use, values, left in zip(uses, outputs, after, strict=True)
    ]


def _array(tensor: Any, value: Any) -> Any:
    """What was fetched; a scalar string as an array."""
    return np.asarray(value, object) if tensor.dtype == gf.string else value


def assert_close(got: Any, expected: Any, tolerance: float, what: str) -> None:
    got = np.asarray(got)
    expected = np.asarray(expected, object if got.dtype.kind == "O" else None)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, expected {expected.dtype}"
    rounding = ROUNDING.get(got.dtype.name)
    if rounding is None:
        np.testing.assert_array_equal(got, expected, err_msg=what)
    else:
        bound = tolerance * rounding
        np.testing.assert_allclose(got, expected, bound, bound, equal_nan=True, err_msg=what)
