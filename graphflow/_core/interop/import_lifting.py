"""The contexts of an imported graph: its conds and loops as cond and while_loop would have noted them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.interop.import_contexts import Body, Construct
from graphflow._core.interop.import_nodes import Refused
from graphflow._core.ops.control_flow.contexts import (
    ENTER,
    EXIT,
    LOOP_COND,
    MERGE,
    NEXT_ITERATION,
    STACK_POP,
    STACK_PUSH,
    SWITCH,
    BranchContext,
    BranchPair,
    LoopContext,
)

_SCOPED: Final = ("pred_id", "Switch", "switch_t", "switch_f")


def lift(
    graph: Graph,
    bodies: Mapping[Operation, Body],
    made: Sequence[Operation],
    value: Callable[[tuple[str, int]], Tensor],
) -> None:
    """Gives the operations that were made their contexts.

    bodies: of those in a branch or a loop. value: the tensor that a node's result became. ValueError if a loop does
    not hold together.
    """
    if bodies:
        _Lifting(graph, bodies, made, value).lift()


class _Lifting:
    def __init__(
        self,
        graph: Graph,
        bodies: Mapping[Operation, Body],
        made: Sequence[Operation],
        value: Callable[[tuple[str, int]], Tensor],
    ) -> None:
        self._graph = graph
        self._bodies = bodies
        self._made = made
        self._value = value
        self._constructs: dict[Construct, Any] = {}
        self._names: set[str] = set()
        self._members: dict[Construct, list[Operation]] = {}
        self._pairs: dict[Tensor, list[BranchPair]] = {}

    def lift(self) -> None:
        for op, body in self._bodies.items():
            for around in body.chain():
                self._members.setdefault(around.construct, []).append(op)
        for op in self._made:
            inside = self._bodies.get(op)
            context = self._graph.context if inside is None else self._context(inside)
            op._context = context
            if context is not None:
                context.add_op(op)
        for construct, context in self._constructs.items():
            if construct.loop:
                self._fill_loop(context)
            else:
                self._fill_pair(construct, context)
        self._link_gradients()

    def _context(self, body: Body) -> Any:
        """The context of a body, made with those around it when it is first met."""
        for around in reversed(body.chain()):
            construct = around.construct
            if construct in self._constructs:
                continue
            outer = construct.outer
            outer_context = self._graph.context if outer is None else self._side(outer)
            self._constructs[construct] = made = self._made_construct(construct)
            for context in [made] if construct.loop else made.branches:
                context.outer_context, context.outer_control = outer_context, ()
        return self._side(body)

    def _side(self, body: Body) -> Any:
        made = self._constructs[body.construct]
        return made if body.construct.loop else made.branches[body.side]

    def _made_construct(self, construct: Construct) -> Any:
        if construct.loop:
            enter = next((op for op in self._members[construct] if op.op_def is ENTER), None)
            base = construct.name if enter is None else enter.name.rpartition("/")[0] or construct.name
            return LoopContext(self._graph, self._name(base))
        assert construct.predicate is not None
        predicate = self._value(construct.predicate)
        scope, _, last = predicate.op.name.rpartition("/")
        if not scope or last not in _SCOPED:
            scope = f"{predicate.op.name}/cond"
        earlier = self._pairs.setdefault(predicate, [])
        name = self._name(f"{scope}_grad" if earlier else scope)
        pair = BranchPair(self._graph, name, predicate, earlier[-1] if earlier else None)
        earlier.append(pair)
        return pair

    def _name(self, wanted: str) -> str:
        """A name that no operation and no other cond or loop of the graph has."""
        name, count = wanted, 0
        known = {c.construct.name for c in self._other_contexts()} if not self._names else self._names
        self._names |= known
        while name in self._graph._by_name or name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        return name

    def _other_contexts(self) -> list[Any]:
        return [op._context for op in self._graph.get_operations() if op._context is not None]

    # ---- what is inside ---------------------------------------------------------------------------------------------

    def _fill_pair(self, construct: Construct, pair: BranchPair) -> None:
        for node in construct.merges:
            pair.merges.append(self._value((node.name, 0)).op)
        pivots: dict[int, Operation] = {}
        pivot_switches = {self._value((node.name, 0)).op for node in construct.pivots}
        for op in self._members.get(construct, ()):
            source = op.inputs[0] if op.inputs else None
            if op.type == "Identity" and source is not None and source.op in pivot_switches:
                pivots.setdefault(source.value_index, op)
            elif op.op_def is SWITCH and op not in pivot_switches and self._bodies[op].construct is construct:
                self._note_captured(pair, op)
        if len(pivots) == 2:
            pair.pivots = [pivots[0], pivots[1]]

    def _note_captured(self, pair: BranchPair, switch: Operation) -> None:
        for context, inside in zip(pair.branches, switch.outputs, strict=True):
            if inside._consumers:
                taken = switch.inputs[0]
                context.captured[inside if taken in context.captured else taken] = inside

    def _fill_loop(self, loop: LoopContext) -> None:
        inside = [op for op in loop.ops if op._context is loop]
        conditions = [op for op in inside if op.op_def is LOOP_COND]
        if len(conditions) != 1:
            raise Refused(f"The loop {loop.name!r} has {len(conditions)} LoopCond operations, it needs one.")
        loop.pivot = conditions[0].outputs[0]
        for op in inside:
            if op.op_def is MERGE and op.inputs[1].op.op_def is NEXT_ITERATION:
                loop.merges.append(op)
            elif op.op_def is ENTER:
                op.attrs["frame_name"] = loop.name
                if op.attrs.get("is_constant"):
                    taken = op.inputs[0]
                    loop.captured[op.outputs[0] if taken in loop.captured else taken] = op.outputs[0]
        for merge in loop.merges:
            switch = next(
                (c for c in merge.outputs[0]._consumers if c.op_def is SWITCH and c.inputs[1] is loop.pivot),
                None,
            )
            if switch is None or switch.inputs[0] is not merge.outputs[0]:
                raise Refused(f"The loop variable {merge.name!r} has no Switch.")
            value = switch.outputs[1]
            loop.in_body.append(next((c.outputs[0] for c in value._consumers if c.type == "Identity"), value))
            loop.exits += [c for c in switch.outputs[0]._consumers if c.op_def is EXIT]
        self._check_exits(loop)

    def _check_exits(self, loop: LoopContext) -> None:
        exits = set(loop.exits)
        for op in self._made:
            if op.op_def is EXIT and op not in exits:
                source = op.inputs[0].op
                if source._context is loop and (source.op_def is not SWITCH or op.inputs[0].value_index):
                    raise Refused(
                        f"{op.describe()} does not take the value of a loop variable from its Switch."
                    )

    def _link_gradients(self) -> None:
        """A loop that pops what another pushed is its gradient."""
        pushed = {op.attrs["stack"]: op for op in self._made if op.op_def is STACK_PUSH}
        for op in self._made:
            if op.op_def is STACK_POP:
                push = pushed.get(op.attrs["stack"])
                if push is None:
                    raise Refused(f"{op.describe()} takes values from a stack onto which nothing is put.")
                op.add_control_inputs([push])
                backward, forward = _loop_of(op._context), _loop_of(push._context)
                if backward is not None and forward is not None and backward.forward is None:
                    backward.forward = forward


def _loop_of(context: Any) -> LoopContext | None:
    while isinstance(context, BranchContext):
        context = context.outer_context
    return context if isinstance(context, LoopContext) else None
