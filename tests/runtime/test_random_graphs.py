"""Protects what fusion and scheduling must not change: the results of graphs nobody thought of.

Graphs are drawn of elementwise, broadcasting, reducing, multiplying, rearranging and variable-writing ops over several
dtypes. The compiled tier gives what the NumPy tier gives, to rounding, and integers and truth values exactly; a second
session, another number of threads, and ops spread over several devices give the same bits.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphflow as gf

FLOATS, INT, BOOL = (gf.float32, gf.float64), gf.int32, gf.bool
SIZES = (1, 2, 3, 7, 16)
RUNS = 3
"""Runs of each session: the first is observed, the later ones run compiled; variables change from run to run."""


@dataclass
class Built:
    """A drawn graph: what is fetched, what is fed, and its variables."""

    graph: Any
    fetches: list[Any] = field(default_factory=list)
    feeds: dict[Any, Any] = field(default_factory=dict)
    writes: list[Any] = field(default_factory=list)


class Builder:
    """Adds random ops; every tensor's values stay of moderate size, so that rounding stays comparable."""

    def __init__(self, draw: Callable[..., Any], built: Built) -> None:
        self.draw, self.built = draw, built
        self.tensors: list[Any] = []
        self.variables: list[Any] = []
        self.random = np.random.default_rng(draw(st.integers(0, 2**32)))

    def choose(self, options: Sequence[Any]) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def some(self, *dtypes: Any) -> Any:
        """An earlier tensor of one of the dtypes."""
        return self.choose([t for t in self.tensors if t.dtype in dtypes])

    def shape(self) -> list[int]:
        return [self.choose(SIZES) for _ in range(self.draw(st.integers(0, 3)))]

    def values(self, dtype: Any, shape: Sequence[int]) -> Any:
        if dtype == BOOL:
            return np.asarray(self.random.integers(0, 2, shape)).astype(bool)
        if dtype == INT:
            return np.asarray(self.random.integers(-9, 10, shape)).astype(np.int32)
        return np.asarray(self.random.uniform(-2, 2, shape)).astype(dtype.as_numpy_dtype)

    def source(self, dtype: Any) -> None:
        """A constant, a placeholder whose shape is or is not known, or a variable."""
        shape, kind = self.shape(), self.draw(st.integers(0, 3))
        value = self.values(dtype, shape)
        if kind == 0:
            self.tensors.append(gf.constant(value, dtype))
        elif kind == 3 and dtype != BOOL:
            variable = gf.Variable(value, dtype=dtype)
            self.variables.append(variable)
            self.tensors.append(gf.identity(variable))
        else:
            fed = gf.placeholder(dtype, shape if kind == 1 else [None] * len(shape))
            fed.set_shape([s if kind == 1 else None for s in shape])
            self.built.feeds[fed] = value
            self.tensors.append(gf.ensure_shape(fed, shape))

    def like(self, x: Any) -> Any:
        """A tensor that broadcasts with x: itself, one of its axes shrunk, a scalar, or another of its shape."""
        kind = self.draw(st.integers(0, 4))
        if kind == 0:
            return x
        if kind == 1 and x.shape.ndims:
            axis = self.draw(st.integers(0, x.shape.ndims - 1))
            return self.reduced(x, axis, True)
        if kind == 2:
            return gf.constant(self.values(x.dtype, ()), x.dtype)
        same = [t for t in self.tensors if t.dtype == x.dtype and t.shape.as_list() == x.shape.as_list()]
        return self.choose(same)

    def reduced(self, x: Any, axis: int, keep: bool) -> Any:
        if x.dtype == BOOL:
            return self.choose((gf.reduce_any, gf.reduce_all))(x, axis, keepdims=keep)
        if x.dtype == INT:
            return self.choose((gf.reduce_max, gf.reduce_min))(x, axis, keepdims=keep)
        return self.choose((gf.reduce_sum, gf.reduce_mean, gf.reduce_max, gf.reduce_min))(
            x, axis, keepdims=keep
        )

    def bounded(self, x: Any) -> Any:
        return (
            gf.clip_by_value(x, gf.constant(-3, x.dtype), gf.constant(3, x.dtype))
            if x.dtype != INT
            else x % 11
        )

    # ---- kinds of steps ---------------------------------------------------------------------------------------------

    def unary(self) -> Any:
        x = self.some(*FLOATS)
        function = self.choose(
            (gf.exp, gf.tanh, gf.sigmoid, gf.square, gf.abs, gf.negative, gf.sin, gf.cos, gf.nn.relu, gf.floor, gf.erf,
             lambda v: gf.sqrt(gf.abs(v)), lambda v: gf.log1p(gf.abs(v)), gf.nn.softplus, gf.sign)
        )  # fmt: skip
        return self.bounded(function(x))

    def binary(self) -> Any:
        x = self.some(*FLOATS)
        y = self.like(x)
        function = self.choose(
            (gf.add, gf.subtract, gf.multiply, gf.maximum, gf.minimum, gf.squared_difference,
             lambda a, b: a / (gf.abs(b) + gf.constant(1, b.dtype)))
        )  # fmt: skip
        return self.bounded(function(x, y))

    def integers(self) -> Any:
        x = self.some(INT)
        function = self.choose((gf.add, gf.subtract, gf.multiply, gf.maximum, gf.minimum))
        return self.bounded(function(x, self.like(x)))

    def comparison(self) -> Any:
        x = self.some(*FLOATS, INT)
        return self.choose((gf.less, gf.less_equal, gf.greater, gf.equal, gf.not_equal))(x, self.like(x))

    def logic(self) -> Any:
        x = self.some(BOOL)
        return self.choose((gf.logical_and, gf.logical_or, gf.logical_xor))(x, self.like(x))

    def selection(self) -> Any:
        x = self.some(*FLOATS, INT)
        other = self.choose(
            [t for t in self.tensors if t.dtype == x.dtype and t.shape.as_list() == x.shape.as_list()]
        )
        return gf.where(gf.less(x, other), x, other)

    def conversion(self) -> Any:
        x = self.some(*FLOATS, INT, BOOL)
        return gf.cast(x, self.choose((*FLOATS, INT)))

    def reduction(self) -> Any:
        x = self.some(*FLOATS, INT, BOOL)
        if not x.shape.ndims:
            return x
        axis = self.draw(st.integers(0, x.shape.ndims - 1))
        found = self.reduced(x, axis, self.draw(st.booleans()))
        return found if x.dtype == BOOL else self.bounded(found)

    def product(self) -> Any:
        x = self.some(*FLOATS)
        flat = gf.reshape(x, [-1, x.shape.as_list()[-1] if x.shape.ndims else 1])
        return self.bounded(gf.matmul(flat, flat, transpose_b=True) / gf.cast(gf.shape(flat)[1], x.dtype))

    def rearrangement(self) -> Any:
        x = self.some(*FLOATS, INT, BOOL)
        kind = self.draw(st.integers(0, 4))
        if kind == 0 or not x.shape.ndims:
            return gf.reshape(x, [-1])
        if kind == 1:
            return gf.transpose(x)
        if kind == 2:
            start = self.draw(st.integers(0, x.shape.as_list()[0] - 1))
            return x[start:]
        if kind == 3:
            return gf.concat([x, x], self.draw(st.integers(0, x.shape.ndims - 1)))
        return gf.expand_dims(x, self.draw(st.integers(0, x.shape.ndims)))

    def write(self) -> Any:
        """A variable moved towards a tensor; in order after the last write."""
        if not self.variables:
            return self.unary()
        variable = self.choose(self.variables)
        value = self.values(variable.dtype.base_dtype, variable.shape.as_list())
        function = self.choose((gf.assign, gf.assign_add, gf.assign_sub))
        delta = gf.constant(value, variable.dtype.base_dtype)
        same = [
            t
            for t in self.tensors
            if t.dtype == delta.dtype and t.shape.as_list() == variable.shape.as_list() and t.dtype != INT
        ]
        if same:
            delta = delta + self.bounded(self.choose(same))
        with gf.control_dependencies(self.built.writes[-1:]):
            written = function(variable, delta)
        self.built.writes.append(written)
        return self.bounded(gf.identity(written))

    def gradient(self) -> Any:
        y = self.some(*FLOATS)
        sources = [x for x in self.tensors if x.dtype == y.dtype]
        found = gf.gradients(gf.reduce_sum(y), self.choose(sources))[0]
        return y if found is None else self.bounded(gf.convert_to_tensor(found))


STEPS = (
    *(("unary",) * 6), *(("binary",) * 6), "integers", "comparison", "logic", "selection", "conversion", "reduction",
    "reduction", "product", "rearrangement", "rearrangement", "write", "gradient",
)  # fmt: skip


def spread(graph: Any, seed: int, together: int) -> Callable[[Any], str]:
    """A device function that puts so many ops that are built one after the other on one of three devices."""

    def device(op: Any) -> str:
        group = len(graph.get_operations()) // together
        return f"/cpu:{zlib.crc32(f'{seed} {group}'.encode()) % 3}"

    return device


@st.composite
def graphs(draw: Callable[..., Any], together: int = 0) -> Built:
    """A graph of 5 to 60 steps; spread over three devices where it is said how many ops stay together."""
    built = Built(gf.Graph())
    device = spread(built.graph, draw(st.integers(0, 9)), together) if together else None
    with built.graph.as_default(), gf.device(device):
        builder = Builder(draw, built)
        for dtype in (*FLOATS, INT, BOOL, gf.float32):
            builder.source(dtype)
        for _ in range(draw(st.integers(5, 60))):
            step = getattr(builder, builder.choose(STEPS))()
            if step.shape.num_elements() is None or step.shape.num_elements() <= 4096:
                builder.tensors.append(step)
        built.fetches = [builder.tensors[-1], *(builder.choose(builder.tensors) for _ in range(6))]
    return built


def results(built: Built, compiled: str, threads: int, devices: int = 1) -> list[Any]:
    """All that a fresh session fetches, run after run, then the variables."""
    config = gf.ConfigProto(
        compiled=compiled, intra_op_parallelism_threads=threads, device_count={"CPU": devices},
        allow_soft_placement=True,
    )  # fmt: skip
    with built.graph.as_default(), gf.Session(config=config) as session:
        session.run(gf.global_variables_initializer())
        found: list[Any] = []
        for _ in range(RUNS):
            found += session.run((built.fetches, built.writes), built.feeds)[0]
        return [np.asarray(v) for v in found + session.run(gf.global_variables())]


def same_bits(some: Sequence[Any], others: Sequence[Any]) -> None:
    for a, b in zip(some, others, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.tobytes() == b.tobytes()


@given(graphs())
def test_numpy_results_do_not_depend_on_session_or_threads(built: Built) -> None:
    first = results(built, "never", 1)
    same_bits(first, results(built, "never", 1))
    same_bits(first, results(built, "never", 2))


@given(graphs(together=3))
def test_devices_change_no_bit(built: Built) -> None:
    alone = results(built, "never", 1)
    same_bits(alone, results(built, "never", 1, devices=3))
    same_bits(alone, results(built, "never", 1, devices=2))


@settings(max_examples=4)
@given(graphs(together=15))
def test_devices_change_no_bit_of_compiled_results(built: Built) -> None:
    same_bits(results(built, "always", 2), results(built, "always", 2, devices=3))


@pytest.mark.slow
@settings(max_examples=40)
@given(graphs(together=8))
def test_devices_change_no_bit_of_more_compiled_results(built: Built) -> None:
    same_bits(results(built, "always", 2), results(built, "always", 2, devices=3))


def check_tiers(built: Built) -> None:
    plain, first = results(built, "never", 1), results(built, "always", 1)
    for value, reference in zip(first, plain, strict=True):
        assert value.dtype == reference.dtype and value.shape == reference.shape
        if value.dtype.kind == "f":
            bound = 1e-4 if value.dtype == np.float32 else 1e-10
            np.testing.assert_allclose(value, reference, bound, bound)
    same_bits(first, results(built, "always", 1))
    same_bits(first, results(built, "always", 2))


@settings(max_examples=8)
@given(graphs())
def test_compiled_results_are_numpys(built: Built) -> None:
    check_tiers(built)


@pytest.mark.slow
@settings(max_examples=60)
@given(graphs())
def test_more_compiled_results_are_numpys(built: Built) -> None:
    check_tiers(built)
