"""The shapes of all values of a plan, and what integers are made of them, from sizes of its feeds that may be others.

The shape rules of the ops are asked, as when the graph was built, with the sizes in place of what was not known. What
is computed from shapes, such as the shape of a reshape, is computed from the sizes, by the ops' kernels on arrays of
objects.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.traced_sizes import is_traced, number, numbers
from graphflow._core.compiler.shapes.fixed import OF_SHAPES, Known
from graphflow._core.compiler.specialise import apart_from_feeds, complete
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef
from graphflow._core.plan.inference import DescribedOperation, definition_of, given
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.resources.store import ResourceStore

Evaluate = Callable[[Instruction, Sequence[Any]], Sequence[Any]]
_MOST_ELEMENTS: Final = 64
_OF_ELEMENTS: Final[dict[str, Any]] = {
    "Add": operator.add,
    "AddV2": operator.add,
    "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
    "Maximum": max,
    "Minimum": min,
    "Mul": operator.mul,
    "Neg": operator.neg,
    "Sub": operator.sub,
}
_OF_ARRAYS: Final = frozenset(
    {
        "ConcatV2",
        "ExpandDims",
        "GatherV2",
        "Pack",
        "Prod",
        "Reshape",
        "Slice",
        "Squeeze",
        "StridedSlice",
        "Sum",
        "Unpack",
    }
)
"""Types whose kernels compute on arrays of objects as on integers."""
_THE_SAME: Final = frozenset({"Identity", "StopGradient", "Cast"})


def _said(op: Operation) -> Any:
    contents = op._attrs["contents"]
    return contents.tolist()


_KNOWN: Final = OpDef(
    "Given", (), infer=lambda op: [], declared_gradient=NOT_DIFFERENTIABLE, partial_value=_said
)
"""What makes an integer scalar or vector of which the elements are known."""


class NotTraced(Exception):
    """The shapes of a plan do not follow from those of its feeds, or it is not known how."""


class TracedShapes:
    """Shapes and integers of a plan.

    known: shape and dtype of each value. contents: the elements of integer scalars and vectors that are made of shapes,
    as arrays of objects. of_sizes: the values that depend on sizes, though on no other value.
    """

    def __init__(
        self,
        plan: Plan,
        fed: Known,
        seen: Known,
        evaluate: Evaluate | None,
        contents: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """fed: the shapes of the feeds, in sizes that may be others. seen: those of a run, of variables at least.
        contents: the elements of constants that may be others.
        """
        self.known: Known = dict(fed)
        self.contents: dict[str, Any] = dict(contents)
        self.of_sizes: set[str] = set(contents)
        self._seen = seen
        self._evaluate = evaluate
        self._makers: dict[str, Instruction] = {}
        for i in plan.instructions:
            self._add(i)

    def _add(self, i: Instruction) -> None:
        for output in i.outputs:
            if output not in self.contents:
                self._makers[output] = i
        if i.is_variable:
            if i.outputs[0] not in self._seen:
                raise NotTraced(f"{i.describe()} has no value.")
            self.known[i.outputs[0]] = self._seen[i.outputs[0]]
            return
        if i.is_constant:
            self.known[i.outputs[0]] = (i.attrs["value"].shape, i.attrs["value"].dtype.name)
            return
        for output, (dims, dtype) in zip(i.outputs, self._inferred(i), strict=True):
            seen = self._seen.get(output)
            if dims is None or None in dims:
                raise NotTraced(f"{i.describe()} has a shape that does not follow from those of the feeds.")
            self.known[output] = (dims, dtype)
            if seen is not None and (numbers(dims), dtype) != seen:
                raise NotTraced(f"{i.describe()} has the shape {seen[0]}, not {numbers(dims)}.")
        self._compute(i)

    def _inferred(self, i: Instruction) -> list[tuple[Any, str]]:
        """Shape and dtype name of each result."""
        if i.bodies:
            raise NotTraced(f"{i.describe()} has bodies.")
        definition = definition_of(i)
        said = [
            (dims, dtypes.as_dtype(dtype).as_numpy_dtype)
            for dims, dtype in zip(i.shapes, i.dtypes, strict=True)
        ]
        names = [np.dtype(kind).name for _, kind in said]
        if definition is None or any(name not in self.known for name in i.inputs):
            return list(zip([dims for dims, _ in said], names, strict=True))
        attrs = i.attrs if isinstance(i.attrs, dict) else dict(i.attrs)
        tensors = [self._tensor(name) for name in i.inputs]
        op = DescribedOperation(
            i.name, definition, attrs, list(zip(i.dtypes, i.shapes, strict=True)), tensors
        )
        found = []
        for (dims, _), name, (_, rule) in zip(said, names, definition.infer(op), strict=True):
            # A shape that somebody has set says more than the rule.
            whole = dims is not None and None not in dims
            found.append((dims if whole and (rule is None or None in rule) else rule, name))
        return found

    def _tensor(self, name: str) -> Tensor:
        dims, dtype = self.known[name]
        kind = dtypes.as_dtype(dtype)
        maker, contents = self._makers.get(name), self.contents.get(name)
        definition = None if maker is None or not maker.is_constant else definition_of(maker)
        if maker is not None and definition is not None:
            made = DescribedOperation(maker.name, definition, dict(maker.attrs), [(kind, dims)])
            return made.outputs[0]
        if contents is not None:
            return DescribedOperation(name, _KNOWN, {"contents": contents}, [(kind, dims)]).outputs[0]
        return given(name, kind, dims)

    # ---- what is made of shapes ------------------------------------------------------------------------------------

    def _compute(self, i: Instruction) -> None:
        if i.type in OF_SHAPES:
            for name, output in zip(i.inputs, i.outputs, strict=False):
                if name in self.known:
                    self._say(output, _of_shape(i.type, self.known[name][0]))
            return
        if i.bodies or i.stateful or not i.inputs or not all(map(self._is_settled, i.inputs)):
            return
        if self.of_sizes.isdisjoint(i.inputs):
            return
        self.of_sizes.update(i.outputs)
        if any(not self._is_small(output) for output in i.outputs):
            return
        inputs = [self._elements(name) for name in i.inputs]
        if any(contents is None for contents in inputs):
            return
        for output, contents in zip(i.outputs, self._computed(i, inputs) or (), strict=False):
            self._say(output, contents)

    def _is_settled(self, name: str) -> bool:
        """Whether a value is the same whenever the sizes are the same."""
        maker = self._makers.get(name)
        return name in self.of_sizes or (maker is not None and maker.is_constant)

    def _is_small(self, name: str) -> bool:
        if name not in self.known:
            return False
        shape, dtype = self.known[name]
        return (
            dtype in ("int32", "int64")
            and len(shape) < 2
            and not any(map(is_traced, shape))
            and math.prod(shape) <= _MOST_ELEMENTS
        )

    def _elements(self, name: str) -> Any:
        maker = self._makers.get(name)
        if maker is not None and maker.is_constant:
            return maker.attrs["value"]
        return self.contents.get(name)

    def _computed(self, i: Instruction, inputs: Sequence[Any]) -> Sequence[Any] | None:
        if i.type in _THE_SAME:
            return inputs[:1]
        if self._evaluate is None:
            return None
        try:
            plain = self._evaluate(i, [_plain(v) for v in inputs])
            if i.type in _OF_ELEMENTS:
                each = np.frompyfunc(_OF_ELEMENTS[i.type], len(inputs), 1)
                found = [np.asarray(each(*[np.asarray(v, object) for v in inputs]), object)]
            elif i.type in _OF_ARRAYS:
                pairs = zip(i.inputs, inputs, strict=True)
                objects = [np.asarray(v, object) if name in self.contents else v for name, v in pairs]
                found = [np.asarray(v, object) for v in self._evaluate(i, objects)]
            else:
                return None
        except Exception:  # Whatever is wrong is for the run to tell.
            return None
        same = all(np.array_equal(_plain(a), b) for a, b in zip(found, plain, strict=True))
        return found if same else None

    def _say(self, name: str, contents: Any) -> None:
        self.of_sizes.add(name)
        array = np.empty(np.shape(contents), object)
        array[...] = contents
        if array.ndim < 2 and array.size <= _MOST_ELEMENTS:
            self.contents[name] = array


def _of_shape(op_type: str, shape: Sequence[Any]) -> Any:
    if op_type == "Rank":
        return len(shape)
    return math.prod(shape) if op_type == "Size" else np.array([*shape, None], object)[:-1]


def _plain(array: Any) -> Any:
    """The numbers that integers of objects are this time."""
    if not isinstance(array, np.ndarray) or array.dtype != object:
        return array
    return np.array([number(n) for n in array.reshape(-1)], np.int64).reshape(array.shape)


def inferred(plan: Plan, fed: Known, store: ResourceStore, evaluate: Evaluate | None) -> Known:
    """The shapes of all values of a plan for fed shapes, without a run; raises NotTraced if they do not follow."""
    plan, known = apart_from_feeds(plan, fed)
    variables: Known = {}
    complete(Plan(tuple([i for i in plan.instructions if i.is_variable])), variables, store)
    return TracedShapes(plan, known, variables, evaluate).known


def open_axes(plan: Plan, ranks: Sequence[int | None]) -> list[tuple[str, int]]:
    """The axes of feeds of some ranks whose sizes the graph does not say: name and axis."""
    said = plan.feed_types or ((None, None),) * len(plan.feeds)
    found = []
    for name, (_, dims), rank in zip(plan.feeds, said, ranks, strict=True):
        found += [(name, axis) for axis in range(rank or 0) if dims is None or dims[axis] is None]
    return found
