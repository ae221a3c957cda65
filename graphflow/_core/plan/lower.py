"""The first pass: what a run needs of a graph, with branches and loops as nested plans.

Pruning walks back from the fetches and stops at what is fed. The graph keeps TensorFlow's flat operations (Switch and
Merge; Enter, Merge, Switch, Exit and NextIteration), because programs look at them. Lifting turns them into "If" and
"While" instructions. The contexts in which the operations were built say what belongs to which branch or loop.

Nothing in the plan leads back to the graph: operations are described by an origin, functions of datasets become plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final
from weakref import WeakKeyDictionary

import graphflow.errors as errors
from graphflow._core.graph.dtypes import bfloat16
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.function import GraphFunction, effects, has_effect
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.op_def import InputSpec, variable_for
from graphflow._core.graph.random_seed import gives_the_same
from graphflow._core.ops.control_flow.checking import ASSERT
from graphflow._core.ops.control_flow.contexts import ENTER, EXIT, LOOP_COND, MERGE, NEXT_ITERATION, SWITCH
from graphflow._core.plan import build, kinds
from graphflow._core.plan.bfloat16 import in_float32
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.ir import LOCAL, Instruction, Plan

_RENAMES = frozenset({SWITCH, ENTER, NEXT_ITERATION, LOOP_COND})
"""Operations that give a value another name inside a branch or a loop."""
_FOR_BUILDING: Final = "_gradient_function"
"""An attribute that only the building of a graph looks at: a function of the program, which may hold the graph."""
_LOWERED: Final[WeakKeyDictionary[GraphFunction, LoweredFunction]] = WeakKeyDictionary()
"""What functions have become. A function is the same one in all plans, as its random state outlives a plan."""


def lower(fetches: Sequence[Tensor], targets: Sequence[Operation], feeds: Sequence[Tensor]) -> Plan:
    """The unplaced, unordered plan that computes `fetches` and runs `targets`, given `feeds` in that order."""
    fed = frozenset(feeds)
    needed = _prune([t.op for t in fetches if t not in fed] + list(targets), fed, set())
    needed = _with_effects_beside(needed, fed)
    lowering = _Lowering(needed, fed, _local_variables(needed))
    return Plan(
        lowering.instructions(None, sorted(needed, key=lambda op: op._id)),
        feeds=tuple(t.name for t in feeds),
        fetches=tuple(lowering.value(t) for t in fetches),
        targets=tuple(dict.fromkeys(lowering.representative(op, None) or op.name for op in targets)),
        feed_types=tuple((t.dtype, t.dims) for t in feeds),
    )


def lowered(function: GraphFunction) -> LoweredFunction:
    """A function as a plan."""
    found, seeded = _LOWERED.get(function), gives_the_same(function.graph)
    if found is None or found.seeded != seeded:
        plan = lower(function.outputs, effects(function.graph), function.inputs)
        arguments = len(function.inputs) - len(function.captures)
        found = _LOWERED[function] = LoweredFunction(function.name, plan, arguments, seeded)
    return found


def _local_variables(ops: set[Operation]) -> frozenset[Operation]:
    """The operations of the variables that the graph calls its session's own."""
    graph = next((op.graph for op in ops if op.op_def.is_variable), None)
    local = () if graph is None else graph.get_collection(GraphKeys.LOCAL_VARIABLES)
    return frozenset(op for op in (getattr(variable, "op", None) for variable in local) if op is not None)


def _attributes(op: Operation, is_local: bool) -> dict[str, Any]:
    """The attributes of an operation without what leads back to its graph: functions are plans."""
    attrs = op.attrs.copy()
    attrs.pop(_FOR_BUILDING, None)
    for name, value in op.attrs.items():
        kind = type(value)
        if kind is GraphFunction:
            attrs[name] = lowered(value)
        elif (kind is list or kind is tuple) and value and type(value[0]) is GraphFunction:
            attrs[name] = kind(map(lowered, value))
    if is_local:
        attrs[LOCAL] = True
    return attrs


def _with_effects_beside(needed: set[Operation], stops: frozenset[Tensor]) -> set[Operation]:
    """The needed operations, and those that gradients wait for in TensorFlow and that do something.

    There the gradients of one operation all wait for one another, so that a step changes what is changed before a value
    that only a gradient takes which nobody needs. Here such a gradient is not computed, but the change is made.
    """
    beside = {other for op in needed for other in op._beside} - needed
    if beside:
        # An assertion changes nothing, and would fail of a side of a switch that is not taken and has no value.
        waited = _prune(beside, stops, needed) - needed
        doing = [op for op in waited if has_effect(op) and op.op_def is not ASSERT]
        needed = _prune(doing, stops, needed)
    return needed


def _prune(roots: Iterable[Operation], stops: frozenset[Tensor], there: set[Operation]) -> set[Operation]:
    """The operations that are there, the roots, and all that they need."""
    needed = set(there)
    todo = list(roots)
    while todo:
        op = todo.pop()
        if op in needed:
            continue
        needed.add(op)
        todo += [t.op for t in op.inputs if t not in stops]
        todo += [c for c in op.control_inputs if not any(t in stops for t in c.outputs)]
        if op._context is not None:
            todo += [d for d in op._context.deciders() if not any(t in stops for t in d.outputs)]
    return needed


def _device_of(construct: Any, results: Sequence[Operation], inner: Sequence[Operation]) -> str:
    """Where a branch pair or loop runs as a whole: where its results ask to be, or else what is inside."""
    work = [op for op in inner if op.op_def not in _RENAMES]
    places = [op.device for op in (*results, *sorted(work, key=lambda op: op._id)) if op.device]
    if construct.kind == "If":
        places.append(construct.predicate.op.device)
    return places[0] if places else ""


def _construct_under(op: Operation, level: Any) -> Any:
    """The branch pair or loop directly inside `level` that holds the operation, or None if none does."""
    context, found = op._context, None
    while context is not level:
        if context is None:
            return None
        found, context = context, context.outer_context
    return None if found is None else found.construct


class _Lowering:
    def __init__(
        self, needed: set[Operation], fed: frozenset[Tensor], local_variables: frozenset[Operation]
    ) -> None:
        self._needed = needed
        self._fed = fed
        self._local_variables = local_variables

    def resolve(self, tensor: Tensor) -> Tensor:
        """The tensor itself, or the one that it is another name of."""
        while tensor not in self._fed and tensor.op._context is not None and tensor.op.op_def in _RENAMES:
            tensor = tensor.op.inputs[0]
        return tensor

    def value(self, tensor: Tensor) -> str:
        """The name of the value that a tensor is."""
        return self.resolve(tensor).name

    def _users(self, tensor: Tensor) -> Iterator[Operation]:
        """The operations that take a tensor, by whatever name.

        The gradient of a branch takes what the branch has as it is, also under the names that a cond inside gave it.
        """
        todo = [tensor]
        while todo:
            source = todo.pop()
            for user in source._consumers:
                yield user
                if user._context is not None and user.op_def in _RENAMES and user.inputs[0] is source:
                    todo += [t for t in user.outputs if t not in self._fed]

    def construct_of(self, op: Operation, level: Any) -> Any:
        """The construct that an operation of, or inside, a level belongs to; None if it stands for itself."""
        if (
            op._context is level
            and op.op_def in (MERGE, EXIT)
            and not (level is not None and level.owns_merge(op))
        ):
            op = op.inputs[0].op
        return _construct_under(op, level)

    def representative(self, op: Operation, level: Any) -> str | None:
        """The name of the instruction of a level that an operation is, or is inside of; None if it is outside."""
        construct = self.construct_of(op, level)
        if construct is not None:
            return str(construct.name)
        return op.name if op._context is level else None

    def instructions(self, level: Any, ops: Sequence[Operation]) -> tuple[Instruction, ...]:
        """The instructions for the operations of one context, its inner constructs nested."""
        constructs: dict[Any, list[Operation]] = {}
        result: list[Instruction] = []
        for op in ops:
            construct = self.construct_of(op, level)
            if construct is not None:
                constructs.setdefault(construct, []).append(op)
            elif op.op_def not in _RENAMES or op._context is None:
                result += self._instructions_of(op, level)
        result += [self._lift(construct, members, level) for construct, members in constructs.items()]
        return tuple(result)

    def _instructions_of(self, op: Operation, level: Any) -> list[Instruction]:
        instruction = self._instruction(op, level)
        if not any(t.dtype is bfloat16 for t in op.inputs):
            return [instruction]
        return in_float32(
            instruction, [(t.dtype, t.dims, self._read_behind(op, t, level)) for t in op.inputs]
        )

    def _read_behind(self, op: Operation, tensor: Tensor, level: Any) -> tuple[str, ...]:
        """What comes before an operation, besides its control inputs, if it takes a variable: what makes the rest."""
        if not self.resolve(tensor).op.op_def.is_variable:
            return ()
        others = [t.op for t in map(self.resolve, op.inputs) if not t.op.op_def.is_variable]
        others = [other for other in others if other.control_inputs or not other.op_def.is_constant]
        names = [self.representative(other, level) for other in others]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def _instruction(self, op: Operation, level: Any) -> Instruction:
        attrs = _attributes(op, op in self._local_variables)
        waits = op.control_inputs or op.op_def.takes_refs
        control = self._control([op], level, op.name) if waits else ()
        return build.of_operation(op, [t.name for t in self._inputs(op)], attrs, control)

    def _inputs(self, op: Operation) -> list[Tensor]:
        """What an operation takes: values, and the variable itself where it needs that, whatever passed it on."""
        if not op.op_def.takes_refs:
            return [self.resolve(t) for t in op.inputs]
        return [
            self._variable(op, spec, t) if spec.ref else self.resolve(t)
            for spec, t in zip(op.op_def.inputs, op.inputs, strict=True)
        ]

    def _variable(self, op: Operation, spec: InputSpec, tensor: Tensor) -> Tensor:
        try:
            variable = variable_for(op.op_def, spec, tensor)
        except TypeError as error:
            raise errors.InvalidArgumentError(None, op, f"{op.describe()}: {error}") from None
        fed = next((t for t in (tensor, self.resolve(tensor), variable) if t in self._fed), None)
        if spec.written and fed is not None:
            raise errors.InvalidArgumentError(
                None,
                op,
                f"{op.describe()} writes the variable {variable.op.name!r}, which is fed in the same run, as "
                f"{fed.name!r}. Feed its value() instead, or what is assigned to it.",
            )
        return variable

    def _passed_on(self, op: Operation) -> Iterator[Operation]:
        """What an operation must come after, since it takes from there the variable that it needs itself."""
        for spec, tensor in zip(op.op_def.inputs, op.inputs, strict=False):
            if spec.ref and not tensor.op.op_def.is_variable:
                maker = self.resolve(tensor).op
                if maker._context is None or not maker._context.owns_merge(maker):
                    yield maker

    def _control(self, ops: Iterable[Operation], level: Any, own_name: str) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for op in ops:
            for control in chain(op.control_inputs, self._passed_on(op) if op.op_def.takes_refs else ()):
                name = self.representative(control, level)
                if not control.op_def.is_variable and name is not None and name != own_name:
                    names[name] = None
        return tuple(names)

    def _lift(self, construct: Any, members: list[Operation], level: Any) -> Instruction:
        results = [op for op in members if op._context is level]
        inner = [op for op in members if op._context is not level]
        if construct.kind == kinds.IF:
            bodies, outputs, inputs = self._branches(construct, inner, results)
        else:
            bodies, outputs, inputs = self._loop(construct, inner, results)
        inside = set(inner)
        captured = dict.fromkeys(self.value(t) for t in inputs)
        parameters = {n for body in bodies for n in body.feeds}
        names = [self.value(t) for t in inputs]
        for op in inner:
            for source in self._inputs(op):
                if source.op not in inside and source.name not in parameters and source.name not in captured:
                    captured[source.name] = None
                    names.append(source.name)
        return build.construct(
            construct.kind,
            construct.name,
            bodies,
            names,
            outputs,
            control=self._control(members, level, construct.name),
            device=_device_of(construct, results, inner),
            index=max(op._id for op in members),
            origin=build.origin_of(results[0] if results else inner[0]),
        )

    def _branches(
        self, construct: Any, inner: list[Operation], merges: list[Operation]
    ) -> tuple[tuple[Plan, ...], list[Tensor], list[Tensor]]:
        """Bodies (taken if true, if false), outputs and leading inputs of an If.

        What an operation outside takes from inside a branch, as gradients do, is an output too, dead if the other
        branch is taken.
        """
        members = set(inner) | set(merges)
        outputs = [merge.outputs[0] for merge in merges]
        yields = [[self.value(merge.inputs[side]) for merge in merges] for side in (0, 1)]
        for op in inner:
            if op.op_def in _RENAMES:
                continue
            for tensor in op.outputs:
                if any(user in self._needed and user not in members for user in self._users(tensor)):
                    side = construct.side_of(op)
                    outputs.append(tensor)
                    yields[side].append(tensor.name)
                    yields[1 - side].append("")
        bodies = []
        for side in (1, 0):
            ops = [op for op in inner if construct.side_of(op) == side]
            bodies.append(Plan(self.instructions(construct.branches[side], ops), fetches=tuple(yields[side])))
        return tuple(bodies), outputs, [construct.predicate]

    def _loop(
        self, loop: Any, inner: list[Operation], exits: list[Operation]
    ) -> tuple[tuple[Plan, ...], list[Tensor], list[Tensor]]:
        """Bodies (condition, body), outputs and initial values of a While."""
        merges = [op for op in inner if loop.owns_merge(op)]
        variables = frozenset(m.outputs[0] for m in merges)
        predicate = next(op for op in inner if op.op_def is LOOP_COND and op._context is loop).inputs[0]
        in_condition = _prune([predicate.op], variables, set())
        work = [op for op in inner if not loop.owns_merge(op)]
        condition = self.instructions(loop, [op for op in work if op in in_condition])
        body = self.instructions(loop, [op for op in work if op not in in_condition])
        parameters = tuple(m.outputs[0].name for m in merges)
        exit_of = {exit_.inputs[0].op.inputs[0].op: exit_ for exit_ in exits}
        outputs = [exit_of.get(m, m).outputs[0] for m in merges]
        plans = (
            Plan(condition, parameters, (self.value(predicate),)),
            Plan(body, parameters, tuple(self.value(m.inputs[1]) for m in merges)),
        )
        return plans, outputs, [m.inputs[0] for m in merges]
