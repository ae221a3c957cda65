"""Gradients: reverse-mode differentiation that adds operations to the graph (tf.gradients).

Going back from the results, every operation's gradient rule turns the gradients of its outputs into those of its
inputs. A cond and a loop are one step each: their gradient is a cond on the same predicate and a loop that runs as
often, inside which the same procedure goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from graphflow.graph import dtypes
from graphflow.graph.defaults import get_default_graph
from graphflow.graph.elements import Operation, Tensor
from graphflow.graph.graph import Graph
from graphflow.graph.op_def import NotDifferentiable, registered_gradient
from graphflow.graph.slices import IndexedSlices
from graphflow.ops.array import concat, zeros_like
from graphflow.ops.contexts import MERGE, BranchPair, LoopContext
from graphflow.ops.core import constant, convert_to_tensor
from graphflow.ops.math import add, add_n, greater, subtract


class UnconnectedGradients:
    """What gradients() gives for an x that y does not depend on: "none" or "zero"."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """How gradients of several uses are added; accepted for compatibility, the plan decides."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = UnconnectedGradients.NONE,
) -> list[Any]:
    """The derivative of the sum of `ys` with respect to each of `xs` (tf.gradients).

    Each is a Tensor, an IndexedSlices where x is only gathered from, or None where ys do not depend on x
    (zeros with unconnected_gradients="zero"). grad_ys: the gradient of each y, ones by default. stop_gradients: tensors
    taken as constants. LookupError where an operation on the way has no gradient.
    """
    ys, xs = _as_list(ys), _as_list(xs)
    if unconnected_gradients not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
    graph = get_default_graph()
    with graph.name_scope(name):
        y_tensors = [_tensor(y) for y in ys]
        x_tensors = [_tensor(x) for x in xs]
        stops = [_tensor(s) for s in _as_list(stop_gradients)]
        seeds = _default_gradients(y_tensors, _as_list(grad_ys) if grad_ys is not None else [None] * len(y_tensors))
        found = _backpropagate(graph, y_tensors, seeds, x_tensors, stops, graph.context, colocate_gradients_with_ops)
        if unconnected_gradients == "zero":
            found = [zeros_like(x) if g is None else g for g, x in zip(found, x_tensors, strict=True)]
    return found


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    reference = getattr(value, "_ref", None)
    if reference is not None:
        tensor: Tensor = reference()
        return tensor
    if hasattr(value, "handle") and isinstance(value.handle, Tensor):
        return value.handle
    return convert_to_tensor(value)


def _trainable(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex or tensor.dtype in (dtypes.resource, dtypes.variant)


def _default_gradients(ys: Sequence[Tensor], given: Sequence[Any]) -> list[Any]:
    from graphflow.ops.array import fill, shape

    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    result: list[Any] = []
    for position, (y, g) in enumerate(zip(ys, given, strict=True)):
        if g is None:
            if y.dtype.is_complex:
                raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype.name})")
            result.append(fill(shape(y), constant(1, dtype=y.dtype, name=f"grad_ys_{position}")))
            continue
        if not isinstance(g, IndexedSlices):
            g = convert_to_tensor(g, dtype=y.dtype, name=f"grad_ys_{position}")
        if (g.dtype.is_floating or g.dtype.is_complex) != (y.dtype.is_floating or y.dtype.is_complex):
            raise TypeError(f"Gradient type {g.dtype.name} generated for {y.dtype.name} tensor {y.name}")
        result.append(g)
    return result


# ---- the procedure ------------------------------------------------------------------------------------------------


def _reached(xs: Iterable[Tensor], stops: set[Tensor]) -> set[Operation]:
    """The operations that depend on `xs`."""
    reached: set[Operation] = set()
    todo = [op for x in xs for op in x._consumers]
    while todo:
        op = todo.pop()
        if op not in reached:
            reached.add(op)
            todo += [c for t in op.outputs if t not in stops for c in t._consumers]
    return reached


def _leading(ys: Iterable[Tensor], reached: set[Operation], stops: set[Tensor]) -> set[Operation]:
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
    """The operation itself, or the cond or loop directly inside `level` that holds it or whose result it is."""
    if op._context is level and (
        op.type == "Exit" or op.type == "Merge" and not (level is not None and level.owns_merge(op))
    ):
        op = op.inputs[0].op
        while op._context is level and op.type == "Merge":
            op = op.inputs[0].op
    context, found = op._context, None
    while context is not level and context is not None:
        found, context = context, context.outer_context
    return found.construct if found is not None and context is level else op


class _Sums:
    """The gradients that came in so far for each tensor."""

    def __init__(self) -> None:
        self._parts: dict[Tensor, list[Any]] = {}

    def add(self, tensor: Tensor, gradient: Any) -> None:
        if gradient is not None:
            self._parts.setdefault(tensor, []).append(gradient)

    def total(self, tensor: Tensor) -> Any:
        parts = self._parts.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            self._parts[tensor] = parts = [_added(parts)]
        return parts[0]


def _added(parts: list[Any]) -> Any:
    if all(isinstance(p, IndexedSlices) for p in parts):
        wide = any(p.indices.dtype is dtypes.int64 for p in parts)
        from graphflow.ops.math import cast

        indices = [cast(p.indices, dtypes.int64) if wide else p.indices for p in parts]
        return IndexedSlices(concat([p.values for p in parts], 0), concat(indices, 0), parts[0].dense_shape)
    return add_n([convert_to_tensor(p) for p in parts])


def _backpropagate(
    graph: Graph,
    ys: Sequence[Tensor],
    seeds: Sequence[Any],
    xs: Sequence[Tensor],
    stops: Sequence[Tensor],
    level: Any,
    colocate: bool,
    nested: bool = False,
) -> list[Any]:
    """The gradients of xs, given those of ys, for operations of one level and what is nested in it.

    A `nested` call stays inside its level and goes back as far as its xs: what comes from outside is among them.
    """
    stopped = set(stops) | set(xs) if nested else set(stops)
    wanted = _leading(ys, _reached(xs, stopped), stopped)
    if nested:
        wanted = {op for op in wanted if level.holds(op)}
    sums = _Sums()
    for y, seed in zip(ys, seeds, strict=True):
        sums.add(y, seed)
    members: dict[Any, list[Operation]] = {}
    for op in sorted(wanted, key=lambda op: op._id):
        members.setdefault(_unit(op, level), []).append(op)
    step = _Step(graph, sums, set(xs), colocate)
    for unit in _reverse_order(members, level, stopped):
        if isinstance(unit, BranchPair):
            step.branches(unit, members[unit], stopped)
        elif isinstance(unit, LoopContext):
            step.loop(unit, members[unit], stopped)
        else:
            step.operation(unit)
    return [sums.total(x) for x in xs]


def _reverse_order(members: dict[Any, list[Operation]], level: Any, stops: set[Tensor]) -> Iterable[Any]:
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
    while ready:
        unit = ready.pop()
        yield unit
        for source in sorted(before[unit], key=lambda u: members[u][-1]._id):
            users[source] -= 1
            if not users[source]:
                ready.append(source)


def _rule(op: Operation) -> Callable[..., Any] | NotDifferentiable:
    own = op.attrs.get("_gradient_function")
    if own is not None:
        return own  # type: ignore[no-any-return]
    override = op.attrs.get("_gradient_op_type")
    return op.op_def.gradient if override is None else registered_gradient(override)


class _Step:
    """Differentiates one operation, cond or loop."""

    def __init__(self, graph: Graph, sums: _Sums, xs: set[Tensor], colocate: bool) -> None:
        self._graph = graph
        self._sums = sums
        self._xs = xs
        self._colocate = colocate

    def operation(self, op: Operation) -> None:
        gradients_out = [self._sums.total(t) for t in op.outputs]
        if all(g is None for g in gradients_out):
            return
        rule = _rule(op)
        if isinstance(rule, NotDifferentiable):
            if rule.refused:
                raise LookupError(f"No gradient defined for operation {op.name!r} (op type: {op.type}).")
            return
        place = self._graph.colocate_with(op) if self._colocate else nullcontext()
        with place, self._graph.name_scope(op.name + "_grad"):
            filled = [
                zeros_like(t) if g is None and _trainable(t) else g
                for g, t in zip(gradients_out, op.outputs, strict=True)
            ]
            if op.type not in _TAKES_SLICES:
                filled = [convert_to_tensor(g) if isinstance(g, IndexedSlices) else g for g in filled]
            result = rule(op, *filled)
        if not isinstance(result, list | tuple):
            result = [result]
        if len(result) != len(op.inputs):
            raise ValueError(f"Num gradients {len(result)} generated for op {op.describe()} do not match num inputs {len(op.inputs)}")
        for tensor, gradient in zip(op.inputs, result, strict=True):
            if gradient is None:
                continue
            if isinstance(gradient, Tensor) and gradient.dims is None and tensor.dims is not None and tensor.dtype is not dtypes.resource:
                gradient.set_shape(tensor.dims)
            if not isinstance(gradient, Tensor | IndexedSlices):
                gradient = convert_to_tensor(gradient, dtype=tensor.dtype)
            self._sums.add(tensor, gradient)

    def branches(self, pair: BranchPair, ops: list[Operation], stops: set[Tensor]) -> None:
        """The gradient of a cond: a cond with the gradient of each branch."""
        graph = self._graph
        merges = [m for m in pair.merges if self._sums.total(m.outputs[0]) is not None]
        inner = [op for op in ops if op not in pair.merges]
        outgoing = [(m, convert_to_tensor(self._sums.total(m.outputs[0]))) for m in merges]
        targets = _taken_from_outside(pair.branches, inner, self._xs)
        if not targets:
            return
        with graph.name_scope(f"{pair.name}_grad") as scope:
            predicate = pair.predicate if graph.context is None else graph.context.add_value(pair.predicate)
            mirror = BranchPair(graph, scope.rstrip("/"), predicate, pair)
            sides: list[list[Any]] = []
            for side in (0, 1):
                context = mirror.branches[side]
                names = [(outer, seen[side]) for outer, seen in targets]
                with graph.context_scope(context):
                    seeds = [context.add_value(g) for _, g in outgoing]
                    ys = [m.inputs[side] for m, _ in outgoing]
                    ys, seeds = self._with_escapes(pair, side, inner, ys, seeds)
                    found = _backpropagate(
                        graph, ys, seeds, [t for _, seen in names for t in seen], list(stops), pair.branches[side], self._colocate, True
                    )
                    sides.append(_per_target(names, found))
            self._merge(mirror, targets, sides)

    def _with_escapes(
        self, pair: BranchPair, side: int, inner: list[Operation], ys: list[Tensor], seeds: list[Any]
    ) -> tuple[list[Tensor], list[Any]]:
        """Adds values that left the branch other than through a Merge, as values used by a gradient do."""
        for op in inner:
            if pair.side_of(op) != side:
                continue
            for tensor in op.outputs:
                gradient = self._sums.total(tensor)
                if gradient is not None:
                    ys, seeds = [*ys, tensor], [*seeds, convert_to_tensor(gradient)]
        return ys, seeds

    def _merge(self, mirror: BranchPair, targets: Sequence[tuple[Tensor, Any]], sides: list[list[Any]]) -> None:
        graph = self._graph
        for position, (outer, _) in enumerate(targets):
            pair = [sides[side][position] for side in (0, 1)]
            if pair[0] is None and pair[1] is None:
                continue
            dense = []
            for side in (0, 1):
                context = mirror.branches[side]
                with graph.context_scope(context):
                    gradient = pair[side]
                    dense.append(context.add_value(zeros_like(outer) if gradient is None else convert_to_tensor(gradient)))
            merge = graph.add(MERGE, dense, {"T": dense[0].dtype}, "Merge")
            mirror.merges.append(merge)
            merge.outputs[0]._dims = outer.dims
            self._sums.add(outer, merge.outputs[0])

    def loop(self, loop: LoopContext, ops: list[Operation], stops: set[Tensor]) -> None:
        """The gradient of a loop: a loop of as many iterations, that carries the gradients back."""
        graph = self._graph
        if not loop.back_prop:
            return
        if loop.forward is not None:
            raise TypeError("Second-order gradient for while loops not supported.")
        carried = []
        exit_of = {x.inputs[0].op.inputs[0].op: x for x in loop.exits}
        members = set(ops)
        for position, merge in enumerate(loop.merges[: len(loop.in_body)]):
            variable = loop.in_body[position]
            if _trainable(variable) and variable.op in members or (_trainable(variable) and merge in members):
                carried.append((position, merge, exit_of.get(merge)))
        carried = [c for c in carried if c[2] is not None]
        if not any(self._sums.total(x.outputs[0]) is not None for _, _, x in carried if x is not None):
            return
        targets = [
            (outer, seen[0])
            for outer, seen in _taken_from_outside([loop], [op for op in ops if op not in loop.exits], self._xs)
            if outer.dtype.is_numpy_compatible  # The handle of a TensorArray has no gradient: its flow carries it.
        ]
        with graph.name_scope(f"{loop.name}_grad") as scope:
            _BackwardLoop(graph, loop, scope.rstrip("/"), carried, targets, self._sums, stops, self._colocate).build()


_TAKES_SLICES = frozenset({"Identity", "IdentityN"})
"""Op types whose gradient passes IndexedSlices on as they are."""


def _per_target(names: Sequence[tuple[Tensor, list[Tensor]]], found: Sequence[Any]) -> list[Any]:
    result, position = [], 0
    for _, seen in names:
        parts = [g for g in found[position : position + len(seen)] if g is not None]
        position += len(seen)
        result.append(None if not parts else parts[0] if len(parts) == 1 else _added(parts))
    return result


def _taken_from_outside(contexts: Sequence[Any], ops: Sequence[Operation], xs: set[Tensor]) -> list[tuple[Tensor, list[list[Tensor]]]]:
    """What the contexts take from outside and can be differentiated by: (outer tensor, its names in each context)."""
    members = set(ops)
    result: dict[Tensor, list[list[Tensor]]] = {}
    for number, context in enumerate(contexts):
        for outer, inside in context.captured.items():
            if inside.op in members and _trainable(outer):
                source = inside.op.inputs[0]
                result.setdefault(source, [[] for _ in contexts])[number].append(inside)
    for op in ops:
        for tensor in op.inputs:
            if tensor in result and not any(tensor in seen for names in result.values() for seen in names):
                continue
            outside = not any(context.holds(tensor.op) for context in contexts)
            if outside and _trainable(tensor) and op.type not in ("Switch", "Enter"):
                seen = result.setdefault(tensor, [[] for _ in contexts])
                for number, context in enumerate(contexts):
                    if context.holds(op) and tensor not in seen[number]:
                        seen[number].append(tensor)
    return list(result.items())


class _BackwardLoop:
    """The gradient of one loop, while it is being built."""

    def __init__(
        self,
        graph: Graph,
        forward: LoopContext,
        name: str,
        carried: Sequence[tuple[int, Operation, Any]],
        targets: Sequence[tuple[Tensor, list[Tensor]]],
        sums: _Sums,
        stops: set[Tensor],
        colocate: bool,
    ) -> None:
        self._graph = graph
        self._forward = forward
        self._context = LoopContext(graph, name, forward)
        self._carried = carried
        self._targets = targets
        self._sums = sums
        self._stops = stops
        self._colocate = colocate

    def build(self) -> None:
        graph, context = self._graph, self._context
        count = iteration_count(graph, self._forward)
        starts: list[Tensor] = [count]
        for _, _, exit_ in self._carried:
            total = self._sums.total(exit_.outputs[0])
            starts.append(zeros_like(exit_.outputs[0]) if total is None else convert_to_tensor(total))
        starts += [zeros_like(outer) for outer, _ in self._targets]
        starts = [s if graph.context is None else graph.context.add_value(s) for s in starts]
        variables = [context.start(t, t.dims if i == 0 else None) for i, t in enumerate(starts)]
        with graph.context_scope(context):
            from graphflow.ops.contexts import LOOP_COND

            pivot = graph.add(LOOP_COND, (greater(variables[0], 0),), {}, "LoopCond").outputs[0]
        context.pivot = pivot
        switches, inside = [], []
        for variable in variables:
            switch, value = context.into_body(variable, pivot)
            switches.append(switch)
            inside.append(value)
        with graph.context_scope(context):
            results = self._body(inside)
        merges = list(context.merges)
        exits = [context.finish(m, s, r) for m, s, r in zip(merges, switches, results, strict=True)]
        for (_, merge, _), gradient in zip(self._carried, exits[1:], strict=False):
            initial = merge.inputs[0].op.inputs[0]
            gradient._dims = initial.dims
            self._sums.add(initial, gradient)
        for (outer, _), gradient in zip(self._targets, exits[1 + len(self._carried) :], strict=True):
            gradient._dims = outer.dims
            self._sums.add(outer, gradient)

    def _body(self, inside: Sequence[Tensor]) -> list[Tensor]:
        forward = self._forward
        loop_gradients = list(inside[1 : 1 + len(self._carried)])
        accumulated = inside[1 + len(self._carried) :]
        ys = [merge.inputs[1].op.inputs[0] for _, merge, _ in self._carried]
        for y, gradient in zip(ys, loop_gradients, strict=True):
            gradient._dims = y.dims
        xs = [forward.in_body[position] for position, _, _ in self._carried]
        constants = [tensor for _, seen in self._targets for tensor in seen]
        found = _backpropagate(self._graph, ys, loop_gradients, xs + constants, list(self._stops), forward, self._colocate, True)
        results = [subtract(inside[0], 1)]
        for x, gradient in zip(xs, found, strict=False):
            results.append(zeros_like(x) if gradient is None else convert_to_tensor(gradient))
        per_target = _per_target(self._targets, found[len(xs) :])
        for so_far, gradient in zip(accumulated, per_target, strict=True):
            results.append(so_far if gradient is None else add(so_far, convert_to_tensor(gradient)))
        return results


def iteration_count(graph: Graph, loop: LoopContext) -> Tensor:
    """How often a loop's body ran, counted by a loop variable that is added to it on first use."""
    if loop.count is None:
        assert loop.pivot is not None
        with graph.context_scope(loop.outer_context), graph.name_scope(None), graph.name_scope(f"{loop.name}/"):
            start = constant(0, name="f_count")
            variable = loop.start(start, ())
            body_values = list(loop.in_body)
            switch, inside = loop.into_body(variable, loop.pivot)
            loop.in_body = body_values
            with graph.context_scope(loop):
                following = add(inside, 1)
            loop.count = loop.finish(loop.merges[-1], switch, following)
    return loop.count


EXPORTS: dict[str, Any] = {
    "gradients": gradients,
    "AggregationMethod": AggregationMethod,
    "UnconnectedGradients": UnconnectedGradients,
}
