"""The procedure behind gf.gradients.

Going back from the results, every operation's gradient rule turns the gradients of its outputs into those of its
inputs. A cond and a loop are one step each, taken by `flow`: their gradient is a cond on the same predicate and a loop
that runs as often, inside which the same procedure goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import NotDifferentiable, registered_gradient
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import concat, zeros_like
from graphflow._core.ops.control_flow.contexts import ENTER, EXIT, MERGE, SWITCH, BranchContext, chain
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.math import add_n, cast


@dataclass(frozen=True)
class Task:
    """The arguments of one call of gf.gradients, which all its parts share.

    stops: tensors taken as constants. colocate: whether gradients are placed with the operations they are of.
    constructs: how a cond and a loop are differentiated; `flow` calls back into this module.
    """

    graph: Graph
    stops: frozenset[Tensor]
    colocate: bool
    constructs: Mapping[type, Callable[[Task, Sums, Any, list[Operation]], None]]


def as_tensor(value: Any) -> Tensor:
    """The tensor that a tensor or a variable is in the graph; others are converted."""
    if isinstance(value, Tensor):
        return value
    reference = getattr(value, "_ref", None)
    if reference is not None:
        tensor: Tensor = reference()
        return tensor
    return convert_to_tensor(value)


def trainable(tensor: Tensor) -> bool:
    """Whether a gradient can be had with respect to it."""
    return tensor.dtype.is_floating or tensor.dtype.is_complex


class Sums:
    """The gradients that came in so far for each tensor."""

    def __init__(self) -> None:
        self._parts: dict[Tensor, list[Any]] = {}

    def add(self, tensor: Tensor, gradient: Any) -> None:
        """Adds a gradient; None is none."""
        if gradient is not None:
            self._parts.setdefault(tensor, []).append(gradient)

    def total(self, tensor: Tensor) -> Any:
        """The sum, or None if there is nothing."""
        parts = self._parts.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            self._parts[tensor] = parts = [added(parts)]
        return parts[0]


def added(parts: Sequence[Any]) -> Any:
    """The sum of gradients: of rows only, if all are."""
    if len(parts) == 1:
        return parts[0]
    if not all(isinstance(p, IndexedSlices) for p in parts):
        return add_n([convert_to_tensor(p) for p in parts])
    wide = any(p.indices.dtype is dtypes.int64 for p in parts)
    indices = [cast(p.indices, dtypes.int64) if wide else p.indices for p in parts]
    return IndexedSlices(concat([p.values for p in parts], 0), concat(indices, 0), parts[0].dense_shape)


def backpropagate(
    task: Task,
    ys: Sequence[Tensor],
    seeds: Sequence[Any],
    xs: Sequence[Tensor],
    level: Any,
    nested: bool = False,
) -> list[Any]:
    """The gradients of xs, given those of ys, as seen from one level: a branch, a loop, or None for the outermost.

    A `nested` call stays inside its level and goes back as far as its xs: what comes from outside is among them.
    """
    stops = task.stops | set(xs) if nested else task.stops
    wanted = _leading(ys, _reached(xs, stops), stops)
    if nested:
        wanted = {op for op in wanted if level.holds(op)}
    sums = Sums()
    for y, seed in zip(ys, seeds, strict=True):
        sums.add(y, seed)
    members: dict[Any, list[Operation]] = {}
    for op in sorted(wanted, key=lambda op: op._id):
        members.setdefault(_unit(op, level), []).append(op)
    for unit in _reverse_order(members, level, stops):
        if isinstance(unit, Operation):
            _differentiate(task, sums, unit, level)
        else:
            task.constructs[type(unit)](task, sums, unit, members[unit])
    return [sums.total(x) for x in xs]


def _reached(xs: Iterable[Tensor], stops: frozenset[Tensor]) -> set[Operation]:
    """The operations that depend on `xs`, but for what is behind integers, truth values and strings."""
    reached: set[Operation] = set()
    todo = [op for x in xs if _passes(x) for op in x._consumers]
    while todo:
        op = todo.pop()
        if op not in reached:
            reached.add(op)
            todo += [c for t in op.outputs if t not in stops and _passes(t) for c in t._consumers]
    return reached


def _passes(tensor: Tensor) -> bool:
    """Whether gradients go through it: handles pass them on to what they stand for."""
    return trainable(tensor) or tensor.dtype is dtypes.resource or tensor.dtype is dtypes.variant


def _leading(ys: Iterable[Tensor], reached: set[Operation], stops: frozenset[Tensor]) -> set[Operation]:
    """Those of the reached operations that `ys` depend on."""
    found: set[Operation] = set()
    todo = [y.op for y in ys if y not in stops]
    while todo:
        op = todo.pop()
        if op in reached and op not in found:
            found.add(op)
            todo += [t.op for t in op.inputs if t not in stops]
    return found


def _unit(op: Operation, level: Any) -> Any:
    """The operation itself, or the cond or loop that holds it or whose result it is.

    It is the outermost of those that do not hold `level` too.
    """
    around = chain(op._context)
    while level is not None and level not in around:
        level = level.outer_context
    owned = level is not None and level.owns_merge(op)
    if op._context is level and (op.op_def is EXIT or op.op_def is MERGE and not owned):
        op = op.inputs[0].op
    context, found = op._context, None
    while context is not level and context is not None:
        found, context = context, context.outer_context
    return found.construct if found is not None and context is level else op


def _reverse_order(
    members: dict[Any, list[Operation]], level: Any, stops: frozenset[Tensor]
) -> Iterable[Any]:
    """The units so that each comes after all that use its results; the latest built first among those that may come."""
    users: dict[Any, int] = dict.fromkeys(members, 0)
    before: dict[Any, set[Any]] = {unit: set() for unit in members}
    for unit, ops in members.items():
        for op in ops:
            for tensor in op.inputs:
                source = _unit(tensor.op, level)
                if tensor not in stops and source in members and source is not unit:
                    before[unit].add(source)
    for sources in before.values():
        for source in sources:
            users[source] += 1
    ready = sorted((u for u, n in users.items() if n == 0), key=lambda u: members[u][-1]._id)
    left = len(members)
    while ready:
        unit = ready.pop()
        left -= 1
        yield unit
        for source in sorted(before[unit], key=lambda u: members[u][-1]._id):
            users[source] -= 1
            if not users[source]:
                ready.append(source)
    if left:
        circle = sorted(ops[0].name for unit, ops in members.items() if users[unit])
        raise RuntimeError(
            f"No order to go back through these operations was found; please report it: {circle}"
        )


# ---- one operation ------------------------------------------------------------------------------------------------

_TAKES_SLICES = frozenset(
    {"AccumulateNV2", "AddN", "Cast", "ConcatV2", "Identity", "IdentityN", "Neg", "Print"}
)
"""Op types whose gradient makes IndexedSlices of IndexedSlices, as TensorFlow's do; the others are given dense ones.

It shows: an optimizer with momentum leaves the rows alone that are not there, and a norm is that of the rows.
"""


def _rule(op: Operation) -> Callable[..., Any] | NotDifferentiable:
    own = op.attrs.get("_gradient_function")
    if own is not None:
        return own  # type: ignore[no-any-return]
    override = op.attrs.get("_gradient_op_type")
    return op.op_def.gradient if override is None else registered_gradient(override)


def _differentiate(task: Task, sums: Sums, op: Operation, level: Any) -> None:
    incoming = [sums.total(t) for t in op.outputs]
    if all(g is None for g in incoming):
        return
    if op._context is not None and op._context in chain(level) and op.op_def in (ENTER, SWITCH):
        _leave(sums, op, incoming)
        return
    rule = _rule(op)
    if isinstance(rule, NotDifferentiable):
        if rule.refused:
            raise LookupError(f"No gradient defined for operation {op.name!r} (op type: {op.type}).")
        return
    place = task.graph.colocate_with(op) if task.colocate else nullcontext()
    with place, task.graph.name_scope(op.name + "_grad"):
        filled = [
            zeros_like(t) if g is None and trainable(t) else g
            for g, t in zip(incoming, op.outputs, strict=True)
        ]
        if op.type not in _TAKES_SLICES:
            filled = [convert_to_tensor(g) if isinstance(g, IndexedSlices) else g for g in filled]
        before = task.graph.version
        result = rule(op, *filled)
        if not isinstance(result, list | tuple):
            result = [result]
        if len(result) != len(op.inputs):
            raise ValueError(
                f"The gradient of {op.describe()} has {len(result)} parts, but the operation has "
                f"{len(op.inputs)} inputs."
            )
        found = [_checked(gradient, tensor) for tensor, gradient in zip(op.inputs, result, strict=True)]
        _put_beside([g for g in found if g is not None], before)
        for tensor, gradient in zip(op.inputs, found, strict=True):
            sums.add(tensor, gradient)


def _put_beside(gradients: Sequence[Any], before: int) -> None:
    """Notes that each gradient of an operation waits for the others, as it does in TensorFlow.

    before: how many operations there were before they were built.
    """
    ops = {(g.values if isinstance(g, IndexedSlices) else g).op for g in gradients}
    made = [op for op in ops if op._id >= before]
    if len(made) > 1:
        for op in made:
            op._beside = tuple(other for other in made if other is not op)


def _checked(gradient: Any, tensor: Tensor) -> Any:
    """What a rule gave for an input, as a gradient of that input."""
    if gradient is None or isinstance(gradient, IndexedSlices):
        return gradient
    gradient = convert_to_tensor(gradient, dtype=None if isinstance(gradient, Tensor) else tensor.dtype)
    if gradient.dims is None and tensor.dims is not None:
        gradient.set_shape(tensor.dims)
    return gradient


def _leave(sums: Sums, op: Operation, incoming: Sequence[Any]) -> None:
    """A gradient taken inside a branch or a loop goes on to what the branch or loop took from outside.

    A loop variable of an iteration is where the iteration starts, and no function of what the loop began with.
    """
    context = op._context
    if isinstance(context, BranchContext):
        sums.add(op.inputs[0], incoming[context.side])
    elif op.attrs.get("is_constant"):
        sums.add(op.inputs[0], incoming[0])
