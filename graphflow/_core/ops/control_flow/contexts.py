"""Control-flow contexts: what an operation built inside a branch or a loop takes from outside, and how.

In the graph a branch takes a value through a Switch and a loop through an Enter, as in TensorFlow 1. A variable is
taken as it is: it is a place, not a value. The contexts say which operation belongs to which branch or loop; the plan
is lifted from that. A gradient is built in contexts of its own that mirror those of the forward pass: a branch's
gradient sees the branch's values, a loop's gradient pops what the loop pushed, in reverse order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.ops.array.shaping import IDENTITY
from graphflow._core.ops.variable_reads import read, variable_read_by

_RENAMES = frozenset({"Switch", "Enter"})


def _switch_infer(op: Operation) -> Signature:
    data = op.inputs[0]
    return [(data.dtype, data.dims), (data.dtype, data.dims)]


def _merge_infer(op: Operation) -> Signature:
    dims = op.inputs[0].dims
    for tensor in op.inputs[1:]:
        if tensor.dtype is not op.inputs[0].dtype:
            raise TypeError(
                f"the branches give {op.inputs[0].dtype.name} and {tensor.dtype.name}: they must have the same type."
            )
        dims = shapes.relax(dims, tensor.dims)
    return [(op.inputs[0].dtype, op.attrs.get("_dims", dims)), (dtypes.int32, ())]


def _same(op: Operation) -> Signature:
    return [(op.inputs[0].dtype, op.inputs[0].dims)]


SWITCH = op_def(
    "Switch",
    ("data: T", "pred: bool"),
    infer=_switch_infer,
    gradient=NOT_DIFFERENTIABLE,
    outputs=("false", "true"),
    forwards=True,
)
MERGE = op_def(
    "Merge",
    ("inputs*: T",),
    infer=_merge_infer,
    gradient=NOT_DIFFERENTIABLE,
    outputs=("output", "index"),
    forwards=True,
)
ENTER = op_def("Enter", ("data: T",), infer=_same, gradient=NOT_DIFFERENTIABLE, forwards=True)
EXIT = op_def("Exit", ("data: T",), infer=_same, gradient=NOT_DIFFERENTIABLE, forwards=True)
NEXT_ITERATION = op_def(
    "NextIteration", ("data: T",), infer=_same, gradient=NOT_DIFFERENTIABLE, forwards=True
)
LOOP_COND = op_def("LoopCond", ("input: bool",), infer=_same, gradient=NOT_DIFFERENTIABLE)
STACK_PUSH = op_def("StackPushV2", ("elem: T",), infer=_same, gradient=NOT_DIFFERENTIABLE, stateful=True)
STACK_POP = op_def(
    "StackPopV2",
    (),
    infer=lambda op: [(op.attrs["elem_type"], op.attrs["_dims"])],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


class Context:
    """The common parts of a branch and a loop.

    forward: the context whose gradient is built in this one, or None.
    """

    def __init__(self, graph: Graph, construct: Any, forward: Context | None) -> None:
        self.graph = graph
        self.outer_context: Context | None = graph.context
        self.outer_control = graph.control
        self.construct = construct
        self.forward = forward
        self.ops: list[Operation] = []
        self.captured: dict[Tensor, Tensor] = {}
        self.popped: dict[Tensor, Tensor] = {}
        self._variables: set[tuple[Operation, bool]] = set()

    def add_op(self, op: Operation) -> None:
        """Notes that an operation was built inside."""
        self.ops.append(op)

    def owns_merge(self, op: Operation) -> bool:
        """Whether the operation is a loop variable of this context."""
        return False

    def deciders(self) -> list[Operation]:
        """The operations that decide whether what is inside runs: needed wherever something inside is."""
        raise AssertionError("a context is a branch or a loop")

    def refusal(self, tensor: Tensor, by: str, outside: Context | None = None) -> str:
        """Why a value from inside cannot be used outside, by an operation or loop of some name."""
        loop, name = _loop_around(tensor.op, outside), tensor.op.name
        what, where = ("branch", self.construct.name) if loop is None else ("loop", loop.name)
        if loop is None:
            why = f"it was built in the branch {where!r}"
        elif any(isinstance(c, LoopContext) for c in chain(outside)):
            why = "they are in different while loops"
        else:
            why = f"{name!r} is in a while loop"
        return (
            f"Cannot use {name!r}{f' as input to {by!r}' if by else ''} because {why}. It has a value only while the "
            f"{what} {where!r} runs. Return it from the {what}, and use that result."
        )

    def holds(self, op: Operation) -> bool:
        """Whether the operation is inside, at any depth."""
        return self in chain(op._context)

    def capture(self, definition: OpDef, inputs: Sequence[Tensor], name: str) -> list[Tensor]:
        """The inputs as an operation of this name, built inside, takes them."""
        if definition in (SWITCH, ENTER, MERGE, NEXT_ITERATION, EXIT, LOOP_COND):
            return list(inputs)
        written = definition.takes_refs
        return [self.add_value(t, written and n == 0, name) for n, t in enumerate(inputs)]

    def add_value(
        self, tensor: Tensor, as_ref: bool = False, by: str = "", user: Context | None = None
    ) -> Tensor:
        """The tensor as it is seen inside.

        as_ref: whether it is taken as a place to write to. by, user: the name of the operation that takes it, and its
        context if that is not this one, for messages.
        """
        if tensor.op.op_def.is_variable:
            self._count_variable(tensor.op, as_ref)
            return tensor
        if tensor.op._context is self:
            return tensor
        if self.holds(tensor.op):
            if _loop_around(tensor.op, self) is not None:
                raise ValueError(self.refusal(tensor, by, user or self))
            return tensor
        tensor = self._forward_value(tensor)
        if tensor.op.op_def.is_variable or self.holds(tensor.op) or self._sees(tensor):
            return tensor
        found = self.captured.get(tensor)
        if found is None:
            with self.graph.context_scope(self.outer_context):
                if self.outer_context is not None:
                    outside = self.outer_context.add_value(tensor, by=by, user=user or self)
                elif tensor.op._context is not None:
                    raise ValueError(tensor.op._context.refusal(tensor, by, user or self))
                else:
                    outside = tensor
            found = self._take(outside)
            self.captured[tensor] = found
        return found

    def _count_variable(self, variable: Operation, as_ref: bool) -> None:
        """Counts, for seeds, the Enter or Switch by which TensorFlow takes a variable or its value."""
        if (variable, as_ref) in self._variables or self.holds(variable):
            return
        self._variables.add((variable, as_ref))
        if self.outer_context is not None:
            self.outer_context._count_variable(variable, as_ref)
        self.graph.unmade += 1

    def _take(self, tensor: Tensor) -> Tensor:
        raise AssertionError("a context is a branch or a loop")

    def _sees(self, tensor: Tensor) -> bool:
        """Whether a value of another context exists here as it is."""
        return False

    def _forward_value(self, tensor: Tensor) -> Tensor:
        """A value of the forward pass as this gradient has it: popped from where each iteration pushed it."""
        loops = {c.forward: c for c in chain(self) if isinstance(c, LoopContext) and c.forward is not None}
        if not loops:
            return tensor
        while tensor.op.type in _RENAMES and any(c in loops for c in chain(tensor.op._context)):
            tensor = tensor.op.inputs[0]
        if not any(c in loops for c in chain(tensor.op._context)):
            return tensor
        if tensor.op.op_def.is_constant:
            return _again(self.graph, tensor)
        read = _read_before(self.graph, tensor)
        if read is not None:
            return self._forward_value(read)
        mirror = next((c for c in chain(self) if c.forward is tensor.op._context), None)
        if mirror is None:
            return tensor
        found = mirror.popped.get(tensor)
        if found is None:
            found = mirror.popped[tensor] = _push_and_pop(self.graph, tensor, mirror)
        return found


def _again(graph: Graph, constant: Tensor) -> Tensor:
    """The same constant, built in the current context."""
    return graph.add(
        constant.op.op_def, (), dict(constant.op.attrs), constant.op.name.rsplit("/", 1)[-1]
    ).outputs[0]


def _read_before(graph: Graph, tensor: Tensor) -> Tensor | None:
    """What a loop reads of a resource variable that it does not write, as it was before the loop.

    TensorFlow keeps what each turn has read. None if the tensor is no such read.
    """
    variable = variable_read_by(tensor.op)
    loop = tensor.op._context
    if variable is None or not isinstance(loop, LoopContext) or _writes(loop, variable):
        return None
    while isinstance(loop.outer_context, LoopContext) and not _writes(loop.outer_context, variable):
        loop = loop.outer_context
    found = loop.read_before.get(variable)
    if found is None:
        enters = [merge.inputs[0].op for merge in loop.merges]
        with graph.context_scope(loop.outer_context, loop.outer_control), graph.name_scope(None):
            found = loop.read_before[variable] = read(variable)
        found.op.add_control_inputs([e.inputs[0].op for e in enters])
        for enter in enters:
            enter.add_control_inputs([found.op])
    return found


def _writes(loop: LoopContext, variable: Tensor) -> bool:
    """Whether an operation in a loop writes a variable."""
    todo = [variable]
    for reference in todo:
        for op in reference._consumers:
            if op.op_def.writes and loop.holds(op):
                return True
            if op.op_def.forwards or op.op_def.gives_ref is not None:
                todo += [t for t in op.outputs[:1] if t not in todo]
    return False


def _push_and_pop(graph: Graph, tensor: Tensor, mirror: Context) -> Tensor:
    """Pushes a value whenever it is made, and pops it in the mirror context; what is last in is first out."""
    name = graph.unique_name("stack")
    with graph.context_scope(tensor.op._context), graph.name_scope(None), graph.colocate_with(tensor.op):
        push = graph.add(STACK_PUSH, (tensor,), {"stack": name, "T": tensor.dtype}, f"{name}/push/")
    with graph.context_scope(mirror), graph.name_scope(None):
        attrs = {"stack": name, "elem_type": tensor.dtype, "_dims": tensor.dims}
        pop = graph.add(STACK_POP, (), attrs, f"{name}/pop/")
    pop.add_control_inputs([push])
    return pop.outputs[0]


def chain(context: Context | None) -> list[Context]:
    """A context and those around it, innermost first."""
    result = []
    while context is not None:
        result.append(context)
        context = context.outer_context
    return result


def _loop_around(op: Operation, outside: Context | None) -> LoopContext | None:
    """The outermost loop that an operation is in, but for those that a context is in, too; None if there is none."""
    around = chain(outside)
    loops = [c for c in chain(op._context) if isinstance(c, LoopContext) and c not in around]
    return loops[-1] if loops else None


class BranchPair:
    """Both branches of one cond: the construct that becomes an If."""

    kind = "If"

    def __init__(self, graph: Graph, name: str, predicate: Tensor, forward: BranchPair | None = None) -> None:
        self.graph = graph
        self.name = name
        self.predicate = predicate
        self.forward = forward
        self.merges: list[Operation] = []
        self.pivots: list[Operation] = []
        """The identities of the predicate that run in the branch taken if false, and if true; none in a gradient."""
        self.branches: list[BranchContext] = [
            BranchContext(graph, self, side, None if forward is None else forward.branches[side])
            for side in (0, 1)
        ]

    def side_of(self, op: Operation) -> int:
        """1 if the operation is in the branch taken if true, 0 if it is in the other."""
        return next(
            c.side for c in chain(op._context) if isinstance(c, BranchContext) and c.construct is self
        )

    def lineage(self) -> set[BranchPair]:
        """This pair and those whose gradient it is, directly or not: all decided by the same predicate."""
        result, pair = set(), self
        while pair is not None:
            result.add(pair)
            pair = pair.forward  # type: ignore[assignment]
        return result


class BranchContext(Context):
    """One branch of a cond."""

    def __init__(self, graph: Graph, construct: BranchPair, side: int, forward: BranchContext | None) -> None:
        super().__init__(graph, construct, forward)
        self.side = side

    def deciders(self) -> list[Operation]:
        """The operation that makes the predicate."""
        return [self.construct.predicate.op]

    def _sees(self, tensor: Tensor) -> bool:
        """A gradient's branch runs exactly if the forward branch of the same side ran, and has its values."""
        lineage = self.construct.lineage()
        return any(
            isinstance(c, BranchContext) and c.side == self.side and c.construct in lineage
            for c in chain(tensor.op._context)
        )

    def _take(self, tensor: Tensor) -> Tensor:
        attrs = {"T": tensor.dtype}
        with self.graph.context_scope(self), self.graph.colocate_with(tensor.op, ignore_existing=True):
            return self.graph.add(SWITCH, (tensor, self.construct.predicate), attrs, "Switch").outputs[
                self.side
            ]


class LoopContext(Context):
    """The body and condition of one while loop: the construct that becomes a While."""

    kind = "While"

    def __init__(self, graph: Graph, name: str, forward: LoopContext | None = None) -> None:
        super().__init__(graph, self, forward)
        self.name = name
        self.merges: list[Operation] = []
        self.exits: list[Operation] = []
        self.pivot: Tensor | None = None
        self.count: Tensor | None = None
        self.in_body: list[Tensor] = []
        self.read_before: dict[Tensor, Tensor] = {}
        """By variable what was read of it before the loop, for a gradient."""
        self.back_prop = True

    def deciders(self) -> list[Operation]:
        """The operation that says whether there is another iteration."""
        return [] if self.pivot is None else [self.pivot.op]

    def owns_merge(self, op: Operation) -> bool:
        """Whether the operation is a loop variable."""
        return op in self.merges

    def _take(self, tensor: Tensor) -> Tensor:
        attrs = {"T": tensor.dtype, "frame_name": self.name, "is_constant": True, "parallel_iterations": 10}
        with self.graph.context_scope(self), self.graph.colocate_with(tensor.op, ignore_existing=True):
            return self.graph.add(ENTER, (tensor,), attrs, "Enter").outputs[0]

    def start(self, initial: Tensor, dims: shapes.Dims) -> Tensor:
        """Makes a loop variable; its value at the start of each iteration."""
        graph = self.graph
        outside = initial if self.outer_context is None else self.outer_context.add_value(initial)
        attrs = {"T": initial.dtype, "frame_name": self.name, "is_constant": False, "parallel_iterations": 10}
        with graph.context_scope(self):
            enter = graph.add(ENTER, (outside,), attrs, "Enter").outputs[0]
            enter._dims = dims
            merge = graph.add(MERGE, (enter, enter), {"T": initial.dtype, "_dims": dims}, "Merge")
        self.merges.append(merge)
        return merge.outputs[0]

    def into_body(self, variable: Tensor, pivot: Tensor) -> tuple[Operation, Tensor]:
        """The Switch of a loop variable, and its value inside the body."""
        graph = self.graph
        with graph.context_scope(self):
            switch = graph.add(SWITCH, (variable, pivot), {"T": variable.dtype}, "Switch")
            inside = graph.add(IDENTITY, (switch.outputs[1],), {"T": variable.dtype}, "Identity").outputs[0]
        self.in_body.append(inside)
        return switch, inside

    def finish(self, merge: Operation, switch: Operation, result: Tensor) -> Tensor:
        """Closes the cycle of a loop variable; its value after the loop."""
        graph = self.graph
        with graph.context_scope(self):
            result = self.add_value(result)
            following = graph.add(NEXT_ITERATION, (result,), {"T": result.dtype}, "NextIteration").outputs[0]
            merge.update_input(1, following)
        with graph.context_scope(self.outer_context, self.outer_control):
            exit_ = graph.add(EXIT, (switch.outputs[0],), {"T": result.dtype}, "Exit")
        self.exits.append(exit_)
        return exit_.outputs[0]
