"""Graphs by seed: arrays of few and of no elements, scalars, small dtypes, variables that are read around writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import graphflow as gf

FLOATS = (gf.float32, gf.float64)
INTEGERS = (gf.int32, gf.int64, gf.uint8)
SIZES = (0, 1, 1, 2, 3, 5)
MOST = 200
"""Elements of a tensor: the simulator is slow."""


@dataclass
class Drawn:
    """What is fetched, with some of it twice and some of it fed; what runs for its effect; what is fed."""

    fetches: list[Any] = field(default_factory=list)
    targets: list[Any] = field(default_factory=list)
    feeds: dict[Any, Any] = field(default_factory=dict)


class Drawing:
    """Adds operations to the default graph, by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.tensors: list[Any] = []
        self.variables: list[Any] = []
        self.drawn = Drawn()

    def choose(self, options: Sequence[Any]) -> Any:
        return options[int(self.random.integers(len(options)))]

    def some(self, *dtypes: Any) -> Any:
        return self.choose([t for t in self.tensors if t.dtype in dtypes])

    def values(self, dtype: Any, shape: Sequence[int]) -> Any:
        if dtype in FLOATS:
            return self.random.uniform(-2, 2, shape).astype(dtype.as_numpy_dtype)
        low, high = (0, 2) if dtype == gf.bool else (0, 9) if dtype == gf.uint8 else (-9, 9)
        return np.asarray(self.random.integers(low, high, shape)).astype(dtype.as_numpy_dtype)

    def source(self, dtype: Any) -> Any:
        shape = [self.choose(SIZES) for _ in range(self.random.integers(4))]
        value = self.values(dtype, shape)
        kind = self.random.integers(4)
        if kind == 0:
            return gf.constant(value, dtype)
        if kind == 1 and dtype in (*FLOATS, gf.int32, gf.int64):
            self.variables.append(gf.Variable(value, dtype=dtype))
            return gf.identity(self.variables[-1])
        said = self.choose([None, shape, [None if self.random.integers(2) else n for n in shape]])
        fed = gf.placeholder(dtype, said)
        self.drawn.feeds[fed] = value
        return gf.ensure_shape(fed, shape)

    def beside(self, x: Any) -> Any:
        """What broadcasts with a tensor."""
        shape = x.shape.as_list()
        same = [t for t in self.tensors if t.dtype == x.dtype and t.shape.as_list() == shape]
        spread = [1 if self.random.integers(2) else n for n in shape][self.random.integers(len(shape) + 1) :]
        return self.choose([*same, gf.constant(self.values(x.dtype, spread), x.dtype)])

    def bounded(self, x: Any) -> Any:
        if x.dtype in FLOATS:
            return gf.clip_by_value(x, gf.constant(-3, x.dtype), gf.constant(3, x.dtype))
        return x if x.dtype in (gf.bool, gf.uint8) else x % gf.constant(11, x.dtype)

    def axes(self, x: Any) -> list[int]:
        return [k for k in range(x.shape.ndims) if self.random.integers(2)]

    # ---- kinds of steps -------------------------------------------------------------------------------------------

    def unary(self) -> Any:
        functions = (
            gf.exp,
            gf.tanh,
            gf.square,
            gf.negative,
            gf.floor,
            gf.sign,
            gf.nn.relu,
            gf.ones_like,
            gf.sigmoid,
        )
        return self.choose(functions)(self.some(*FLOATS))

    def binary(self) -> Any:
        x = self.some(*FLOATS, *INTEGERS)
        functions = (gf.add, gf.subtract, gf.multiply, gf.maximum, gf.minimum, gf.squared_difference)
        return self.choose(functions if x.dtype != gf.uint8 else functions[:3])(x, self.beside(x))

    def division(self) -> Any:
        x = self.some(gf.int32, gf.int64)
        divisor = gf.abs(self.beside(x)) + gf.constant(1, x.dtype)
        return self.choose((gf.floordiv, gf.floormod, gf.truncatediv))(x, divisor)

    def comparison(self) -> Any:
        x = self.some(*FLOATS, *INTEGERS)
        return self.choose((gf.less, gf.greater_equal, gf.equal, gf.not_equal))(x, self.beside(x))

    def logic(self) -> Any:
        x = self.some(gf.bool)
        return self.choose((gf.logical_and, gf.logical_or, gf.logical_xor))(x, self.beside(x))

    def choice(self) -> Any:
        x = self.some(*FLOATS, *INTEGERS)
        same = [t for t in self.tensors if t.dtype == x.dtype and t.shape.as_list() == x.shape.as_list()]
        return gf.where(gf.less(x, self.choose(same)), x, self.choose(same))

    def conversion(self) -> Any:
        x = self.some(*FLOATS, *INTEGERS, gf.bool)
        target = self.choose((*FLOATS, *INTEGERS, gf.bool))
        return gf.cast(
            gf.abs(x) if target == gf.uint8 and x.dtype in (*FLOATS, gf.int32, gf.int64) else x, target
        )

    def reduction(self) -> Any:
        x = self.some(*FLOATS, gf.int32, gf.int64, gf.bool)
        axes, keep = self.axes(x), bool(self.random.integers(2))
        if x.dtype == gf.bool:
            return self.choose((gf.reduce_any, gf.reduce_all))(x, axes, keepdims=keep)
        functions = [gf.reduce_sum, gf.reduce_prod]
        if all(x.shape.as_list()[a] for a in axes):
            functions += [
                gf.reduce_max,
                gf.reduce_min,
                gf.reduce_mean if x.dtype in FLOATS else gf.reduce_max,
            ]
        return self.choose(functions)(x, axes, keepdims=keep)

    def product(self) -> Any:
        x = self.some(*FLOATS)
        rows = x.shape.as_list()[-1] if x.shape.ndims else 1
        matrix = gf.reshape(x, [x.shape.num_elements() // rows if rows else 2, rows])
        return gf.matmul(matrix, matrix, transpose_b=True)

    def arrangement(self) -> Any:
        x = self.some(*FLOATS, *INTEGERS, gf.bool)
        rank = x.shape.ndims
        if not rank:
            return self.choose(
                (lambda v: gf.reshape(v, [1, 1]), lambda v: gf.fill([2, 0, 1], v), gf.transpose)
            )(x)
        axis, other = int(self.random.integers(rank)), self.choose(self.tensors)
        kinds: list[Callable[[], Any]] = [
            lambda: gf.reshape(x, [-1]) if x.shape.num_elements() else gf.expand_dims(x, axis),
            lambda: gf.transpose(x, self.random.permutation(rank).tolist()),
            lambda: x[..., ::-1],
            lambda: x[: int(self.random.integers(4))],
            lambda: gf.concat([x, x[:1], x[:0]], 0),
            lambda: gf.stack([x, x], axis),
            lambda: gf.pad(x, [[int(self.random.integers(3)), 1]] * rank),
            lambda: gf.tile(x, [int(self.random.integers(3)) for _ in range(rank)]),
            lambda: gf.reverse(x, [axis]),
            lambda: gf.zeros_like(other),
        ]
        return self.choose(kinds)()

    def twice(self) -> Any:
        """A value and another view of it."""
        x = self.unary()
        square = x.shape.ndims == 2 and x.shape.as_list()[0] == x.shape.as_list()[1]
        return x + gf.transpose(x) if square else x - x[::-1] if x.shape.ndims else x + gf.reshape(x, [1])

    def rows(self) -> Any:
        x = self.choose([t for t in self.tensors if t.shape.ndims and t.shape.as_list()[0]])
        ids = self.random.integers(0, x.shape.as_list()[0], [self.choose(SIZES)])
        return gf.gather(x, ids + gf.zeros([], gf.int64))

    def numbers(self) -> Any:
        shape = [self.choose(SIZES) for _ in range(self.random.integers(3))]
        return gf.random_uniform(shape, seed=int(self.random.integers(9)), dtype=self.choose(FLOATS))

    def write(self) -> Any:
        """A variable that is read, written, and read again after that."""
        if not self.variables:
            return self.unary()
        variable = self.choose(self.variables)
        before = variable + gf.constant(0, variable.dtype.base_dtype)
        shape, dtype = variable.shape.as_list(), variable.dtype.base_dtype
        same = [t for t in self.tensors if t.dtype == dtype and t.shape.as_list() == shape]
        value = self.bounded(self.choose([*same, gf.constant(self.values(dtype, shape), dtype)]))
        with gf.control_dependencies([before, *self.drawn.targets[-1:], self.choose(self.tensors)]):
            self.drawn.targets.append(
                self.choose((gf.assign, gf.assign_add, gf.assign_sub))(variable, value).op
            )
        with gf.control_dependencies(self.drawn.targets[-1:]):
            after = gf.identity(variable.read_value())
        return after - before

    def gradient(self) -> Any:
        y = self.some(*FLOATS)
        found = gf.gradients(gf.reduce_sum(y), self.choose([t for t in self.tensors if t.dtype == y.dtype]))[
            0
        ]
        return y if found is None else gf.convert_to_tensor(found)


STEPS = (
    *(
        "unary",
        "unary",
        "binary",
        "binary",
        "binary",
        "division",
        "comparison",
        "logic",
        "choice",
        "conversion",
    ),
    *(
        "conversion",
        "reduction",
        "reduction",
        "product",
        "arrangement",
        "arrangement",
        "arrangement",
        "twice",
    ),
    *("rows", "numbers", "write", "write", "gradient"),
)


def draw(seed: int, steps: int = 25) -> Drawn:
    """A graph, in the default one."""
    drawing = Drawing(seed)
    for dtype in (*FLOATS, *INTEGERS, gf.bool, gf.float32, gf.int32):
        drawing.tensors.append(drawing.source(dtype))
    drawing.tensors.append(gf.constant([1.0, 2.0]))
    for _ in range(steps):
        step = drawing.bounded(getattr(drawing, drawing.choose(STEPS))())
        count = step.shape.num_elements()
        if count is not None and count <= MOST:
            drawing.tensors.append(step)
    drawn = drawing.drawn
    drawn.fetches = [drawing.choose(drawing.tensors) for _ in range(8)]
    drawn.fetches += [drawn.fetches[0], *list(drawn.feeds)[:1], *[v.value() for v in drawing.variables[:2]]]
    return drawn
