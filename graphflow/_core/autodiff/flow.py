"""The gradients of a cond and of a loop, as a cond and a loop of their own.

Each is built in contexts that mirror those of the forward pass (see ops.contexts): a branch's gradient sees the
branch's values, a loop's gradient pops what the loop pushed, in reverse order. The gradients of what was taken from
outside are merged after the cond, and summed over the iterations of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from graphflow._core.autodiff import reverse
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import concat, shape, zeros, zeros_like
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.contexts import (
    ENTER,
    LOOP_COND,
    MERGE,
    SWITCH,
    BranchContext,
    BranchPair,
    LoopContext,
    chain,
)
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math.math import add, cast, greater, subtract

Target = tuple[Tensor, list[list[Tensor]]]
"""A tensor outside, and the names it has in each context."""


def differentiate_branches(
    task: reverse.Task, sums: reverse.Sums, pair: BranchPair, ops: list[Operation]
) -> None:
    """Adds the gradients of what a cond took from outside, given those of its results."""
    graph = task.graph
    merges = [m for m in pair.merges if sums.total(m.outputs[0]) is not None]
    inner = [op for op in ops if op not in pair.merges]
    outgoing = [convert_to_tensor(sums.total(m.outputs[0])) for m in merges]
    targets = _taken_from_outside(pair.branches, inner)
    if not targets:
        return
    with graph.name_scope(f"{pair.name}_grad") as scope:
        predicate = pair.predicate if graph.context is None else graph.context.add_value(pair.predicate)
        mirror = BranchPair(graph, scope.rstrip("/"), predicate, pair)
        sides: list[list[Any]] = []
        for side, context in enumerate(mirror.branches):
            names = [seen[side] for _, seen in targets]
            with graph.context_scope(context):
                ys = [m.inputs[side] for m in merges]
                seeds: list[Any] = [context.add_value(g) for g in outgoing]
                for tensor in _escaped(sums, pair, side, inner):
                    ys.append(tensor)
                    seeds.append(convert_to_tensor(sums.total(tensor)))
                xs = [t for seen in names for t in seen]
                found = reverse.backpropagate(task, ys, seeds, xs, pair.branches[side], nested=True)
                sides.append(_per_target(names, found))
        for position, (outer, _) in enumerate(targets):
            sums.add(outer, _merged(mirror, outer, sides[0][position], sides[1][position]))


def _escaped(sums: reverse.Sums, pair: BranchPair, side: int, inner: list[Operation]) -> list[Tensor]:
    """Values that left a branch other than through a Merge, as those used by a gradient do."""
    return [t for op in inner if pair.side_of(op) == side for t in op.outputs if sums.total(t) is not None]


def _merged(mirror: BranchPair, outer: Tensor, *sides: Any) -> Any:
    """The gradient of a tensor outside: of rows if no branch gives more."""
    given = [g for g in sides if g is not None]
    if not given:
        return None
    if not all(isinstance(g, IndexedSlices) and g.dense_shape is not None for g in given):
        return _merge(
            mirror,
            [_zeros_in(mirror.branches[s], outer) if g is None else g for s, g in enumerate(sides)],
            outer,
        )
    wide = any(g.indices.dtype is dtypes.int64 for g in given)
    kind = dtypes.int64 if wide else dtypes.int32
    rows, places = [], []
    for side, gradient in enumerate(sides):
        with mirror.graph.context_scope(mirror.branches[side]):
            slices = _no_rows(outer, kind) if gradient is None else gradient
            rows.append(slices.values)
            places.append(cast(slices.indices, kind))
    values, indices = _merge(mirror, rows), _merge(mirror, places)
    return IndexedSlices(values, indices, shape(outer))


def _zeros_in(context: BranchContext, outer: Tensor) -> Tensor:
    with context.graph.context_scope(context):
        if any(c.construct in context.construct.lineage() for c in chain(outer.op._context)):
            # It is a value of the other branch and does not exist in this one. Nobody takes this gradient, but both
            # branches hand out one of the same shape, so far as that is known.
            return zeros([dim or 0 for dim in outer.dims or ()], dtype=outer.dtype)
        return zeros_like(outer)


def _no_rows(outer: Tensor, kind: dtypes.DType) -> IndexedSlices:
    """A gradient that touches no row."""
    if outer.dims is not None and None not in outer.dims:
        values = zeros([0, *[int(d) for d in outer.dims[1:]]], dtype=outer.dtype)  # type: ignore[arg-type]
    else:
        values = zeros(concat([[0], shape(outer)[1:]], 0), dtype=outer.dtype)
    return IndexedSlices(values, zeros([0], dtype=kind), None)


def _merge(mirror: BranchPair, sides: Sequence[Any], outer: Tensor | None = None) -> Tensor:
    """The value of the branch that was taken."""
    graph, inputs = mirror.graph, []
    for context, value in zip(mirror.branches, sides, strict=True):
        with graph.context_scope(context):
            tensor = context.add_value(convert_to_tensor(value))
            inputs.append(tensor if context.holds(tensor.op) else identity(tensor))
    merge = graph.add(MERGE, inputs, {"T": inputs[0].dtype}, "Merge")
    mirror.merges.append(merge)
    result = merge.outputs[0]
    if outer is not None:
        result._dims = outer.dims
    return result


def differentiate_loop(
    task: reverse.Task, sums: reverse.Sums, loop: LoopContext, ops: list[Operation]
) -> None:
    """Adds the gradients of what a loop started from and took from outside, given those of its results.

    TypeError if the loop is itself a gradient: TensorFlow 1 has no second derivative of loops either.
    """
    if not loop.back_prop:
        return
    exit_of = {exit_.inputs[0].op.inputs[0].op: exit_ for exit_ in loop.exits}
    members = set(ops)
    carried = [
        (merge, inside, exit_of[merge])
        for merge, inside in zip(loop.merges, loop.in_body, strict=False)
        if reverse.trainable(inside) and merge in exit_of and (inside.op in members or merge in members)
    ]
    if all(sums.total(exit_.outputs[0]) is None for _, _, exit_ in carried):
        return
    if loop.forward is not None:
        raise TypeError(
            f"Second-order gradient for while loops not supported: {loop.name!r} is the gradient of a loop. "
            "Unroll the loop if second derivatives are needed."
        )
    inner = [op for op in ops if op not in loop.exits]
    targets = [(outer, seen[0]) for outer, seen in _taken_from_outside([loop], inner)]
    with task.graph.name_scope(f"{loop.name}_grad") as scope:
        _BackwardLoop(task, sums, loop, scope.rstrip("/"), carried, targets).build()


class _BackwardLoop:
    """The gradient of one loop, while it is being built: a loop as long that carries the gradients back."""

    def __init__(
        self,
        task: reverse.Task,
        sums: reverse.Sums,
        forward: LoopContext,
        name: str,
        carried: Sequence[tuple[Operation, Tensor, Operation]],
        targets: Sequence[tuple[Tensor, list[Tensor]]],
    ) -> None:
        self._task = task
        self._sums = sums
        self._forward = forward
        self._carried = carried
        self._targets = targets
        self._count = iteration_count(task.graph, forward)
        self._context = LoopContext(task.graph, name, forward)

    def build(self) -> None:
        """Adds the loop, and its results to the sums."""
        graph, context = self._task.graph, self._context
        left = context.start(self._outside(self._count), ())
        with graph.context_scope(context):
            context.pivot = graph.add(LOOP_COND, (greater(left, 0),), {}, "LoopCond").outputs[0]
        self._counted_down(left)
        variables = [self._variable(self._start_of(exit_)) for _, _, exit_ in self._carried]
        for (_, inside, _), (_, _, gradient) in zip(self._carried, variables, strict=True):
            gradient._dims = inside.dims
        found, per_target = self._through_body([gradient for _, _, gradient in variables])
        for (merge, inside, _), variable, gradient in zip(self._carried, variables, found, strict=True):
            with graph.context_scope(context):
                following = zeros_like(inside) if gradient is None else convert_to_tensor(gradient)
            initial = merge.inputs[0].op.inputs[0]
            result = self._finish(variable, following)
            result._dims = initial.dims
            self._sums.add(initial, result)
        for (outer, _), gradient in zip(self._targets, per_target, strict=True):
            if isinstance(gradient, IndexedSlices) and outer.dims:
                self._sums.add(outer, self._rows_of_all_iterations(outer, gradient))
            elif gradient is not None:
                variable = self._variable(zeros_like(outer))
                with graph.context_scope(context):
                    total = add(variable[2], convert_to_tensor(gradient))
                result = self._finish(variable, total)
                result._dims = outer.dims
                self._sums.add(outer, result)

    def _through_body(self, gradients: Sequence[Tensor]) -> tuple[list[Any], list[Any]]:
        """The gradients of the loop variables and of the targets by one iteration."""
        ys = [merge.inputs[1].op.inputs[0] for merge, _, _ in self._carried]
        xs = [inside for _, inside, _ in self._carried]
        names = [seen for _, seen in self._targets]
        constants = [t for seen in names for t in seen]
        # An iteration begins with all loop variables: through an integer one, too, the way would lead to the iteration
        # before, and round in a circle.
        task = replace(self._task, stops=self._task.stops.union(self._forward.in_body))
        with self._task.graph.context_scope(self._context):
            found = reverse.backpropagate(task, ys, gradients, xs + constants, self._forward, nested=True)
            return found[: len(xs)], _per_target(names, found[len(xs) :])

    def _start_of(self, exit_: Operation) -> Tensor:
        total = self._sums.total(exit_.outputs[0])
        return zeros_like(exit_.outputs[0]) if total is None else convert_to_tensor(total)

    def _outside(self, tensor: Tensor) -> Tensor:
        context = self._task.graph.context
        return tensor if context is None else context.add_value(tensor)

    def _variable(self, start: Tensor, dims: Any = None) -> tuple[Operation, Operation, Tensor]:
        """A loop variable: its Merge, its Switch and its value in the body."""
        context = self._context
        assert context.pivot is not None
        context.start(self._outside(start), dims)
        merge = context.merges[-1]
        switch, value = context.into_body(merge.outputs[0], context.pivot)
        return merge, switch, value

    def _finish(self, variable: tuple[Operation, Operation, Tensor], following: Tensor) -> Tensor:
        return self._context.finish(variable[0], variable[1], following)

    def _counted_down(self, left: Tensor) -> None:
        context = self._context
        assert context.pivot is not None
        switch, value = context.into_body(left, context.pivot)
        with self._task.graph.context_scope(context):
            following = subtract(value, 1)
        context.finish(context.merges[0], switch, following)

    def _rows_of_all_iterations(self, outer: Tensor, gradient: IndexedSlices) -> IndexedSlices:
        """The rows that the iterations give, one after the other."""
        assert outer.dims is not None
        start = _no_rows(outer, gradient.indices.dtype)
        rows = self._variable(start.values, (None, *outer.dims[1:]))
        places = self._variable(start.indices, (None,))
        with self._task.graph.context_scope(self._context):
            all_rows = concat([rows[2], gradient.values], 0)
            all_places = concat([places[2], gradient.indices], 0)
        return IndexedSlices(self._finish(rows, all_rows), self._finish(places, all_places), shape(outer))


def iteration_count(graph: Graph, loop: LoopContext) -> Tensor:
    """How often a loop's body ran, counted by a loop variable that is added to it on first use."""
    if loop.count is None:
        assert loop.pivot is not None
        with (
            graph.context_scope(loop.outer_context),
            graph.name_scope(None),
            graph.name_scope(f"{loop.name}/"),
        ):
            variable = loop.start(constant(0, name="f_count"), ())
            switch, inside = loop.into_body(variable, loop.pivot)
            with graph.context_scope(loop):
                following = add(inside, 1)
            loop.count = loop.finish(loop.merges[-1], switch, following)
    return loop.count


def _per_target(names: Sequence[Sequence[Tensor]], found: Sequence[Any]) -> list[Any]:
    """The sum of the gradients of all names of each target."""
    result, position = [], 0
    for seen in names:
        parts = [g for g in found[position : position + len(seen)] if g is not None]
        position += len(seen)
        result.append(reverse.added(parts) if parts else None)
    return result


def _taken_from_outside(contexts: Sequence[Any], ops: Sequence[Operation]) -> list[Target]:
    """The tensors from outside that the contexts use and that can be differentiated by."""
    members = set(ops)
    result: dict[Tensor, list[list[Tensor]]] = {}
    for number, context in enumerate(contexts):
        for outer, inside in context.captured.items():
            if inside.op in members and reverse.trainable(outer):
                result.setdefault(inside.op.inputs[0], [[] for _ in contexts])[number].append(inside)
    for op in ops:
        if op.op_def in (SWITCH, ENTER):
            continue
        for tensor in op.inputs:
            if reverse.trainable(tensor) and not any(context.holds(tensor.op) for context in contexts):
                names = result.setdefault(tensor, [[] for _ in contexts])
                for seen, context in zip(names, contexts, strict=True):
                    if context.holds(op) and tensor not in seen:
                        seen.append(tensor)
    return list(result.items())


DIFFERENTIATORS: Final[Mapping[type, Callable[..., None]]] = {
    BranchPair: differentiate_branches,
    LoopContext: differentiate_loop,
}
