"""Takes a plan with known shapes apart into nodes: what can be native, and what stays with the NumPy tier."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

import numpy as np

from graphflow._core.codegen.cpu.regions.scalar_text import integer_divisors, parse
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.nodes import Binding, Node, PythonNode, Statements
from graphflow._core.compiler.scalar_texts import expressible, scalar_text, with_roots
from graphflow._core.compiler.shapes.fixed import Known, has_fixed_shape
from graphflow._core.compiler.traced.layouts import TracedConstants, like, traced_view_of
from graphflow._core.compiler.values import Value, spreads, view_of, whole
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan

NATIVE_DTYPES = frozenset(
    ("float32", "float64", "int32", "int64", "int8", "int16", "uint8", "uint16", "bool")
)
Rule: TypeAlias = "Callable[[Lowering, Instruction], bool]"

_DIVISION = re.compile(r"//|%|floor(div|mod)|truncate(div|mod)")
_SHAPE_ONLY = frozenset({"BroadcastLike", "RestoreReducedAxes", "SumToShape"})
"""Types of which the second input is looked at for its shape alone."""
_WITH_EMPTY_PARTS = frozenset({"AssertBroadcastable", "FusedBatchNormV3", "FusedBatchNormGradV3"})
"""Types of which some inputs and results are empty; their rules look at them themselves."""


class DisagreementError(Exception):
    """What a run is fed does not fit the rest. NumPy's kernels say what is wrong."""


@dataclass
class Around:
    """What a lowering is a part of, and which lists and stacks it uses there (compiler/nested.py).

    nested: lowers a loop or branch as a node, if all of it is native. inside: whether it is a part of one. hosted:
    whether somebody finds the lists and stacks of the outermost loop in each run. bindings: those that it uses, by the
    roots of their descriptors. gradients: for the root of the descriptor of a list of gradients that of the list whose
    they are, and their source. last: the number of the last node that has used each. fixed: values of fixed shapes.
    """

    nested: Rule | None = None
    inside: bool = False
    hosted: bool = False
    bindings: dict[str, Binding] = field(default_factory=dict)
    gradients: dict[str, tuple[str, str]] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    fixed: Container[str] = ()


class Lowering:
    """The nodes of a plan, while they are being made."""

    def __init__(
        self,
        plan: Plan,
        known: Known,
        kernels: KernelTable,
        rules: Mapping[str, Rule],
        beside: Callable[[Lowering, Instruction, Value], Value] | None = None,
        around: Around | None = None,
    ) -> None:
        """beside: gives a value that a statement takes, or a copy of it that is walked through faster.

        around: what it is a part of, by default a plan by itself, of which loops over arrays are not native.
        """
        self.around = Around() if around is None else around
        self.known = known
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}
        self.constants: dict[str, Any] = {}
        self.objects: set[str] = set()
        self.blocks: dict[str, int] = {}
        self.clusters: dict[str, tuple[str, ...]] = {}
        """For a block that lies beside others, all of them in their order."""
        self.checked: set[tuple[str, int, int, int]] = set()
        """Indices of which a node sees to it that they are of rows that there are: root, offset, count, rows."""
        self.beside = beside
        self._in_orders: dict[tuple[Value, tuple[int, ...]], Value] = {}
        self._kernels = kernels
        self._rules = rules
        self.plan = plan
        self._makers: dict[str, list[int]] = {}
        self._written: set[str] = set()
        self._readers: dict[str, list[int]] = {}
        self._writers: dict[str, int] = {}
        self._last_effect: int | None = None
        self._fallible: list[int] = []
        self._named: dict[str, int] = {}
        self._handed_on: dict[str, set[int]] = {}
        self._fresh = 0
        self.variables = {i.outputs[0]: i for i in plan.instructions if i.is_variable}
        self.ever_written = {n for i in plan.instructions for n in i.writes()}

    # ---- what rules use -------------------------------------------------------------------------------------------

    def value(self, name: str) -> Value | None:
        """Where a value lies in native memory; None if it is an object of the NumPy tier."""
        return self.values.get(name)

    def constant(self, name: str) -> Any:
        """The array of a constant, or None."""
        return self.constants.get(name)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape that a value has."""
        return self.known[name][0]

    def fresh(self, label: str) -> str:
        """A new root's name."""
        self._fresh += 1
        return f"{label}#{self._fresh}"

    def define(self, name: str, value: Value) -> None:
        """Says where a value lies."""
        self.values[name] = value

    def result(self, instruction: Instruction, position: int = 0) -> Value:
        """A new block for a result of an instruction, and where it lies."""
        name = instruction.outputs[position]
        shape, dtype = self.known[name]
        value = self._block(whole(name, dtype, shape))
        self.values[name] = value
        return value

    def temporary(self, label: str, dtype: str, shape: tuple[int, ...]) -> Value:
        """A new block that is no result of an instruction."""
        return self._block(whole(self.fresh(label), dtype, shape))

    def _block(self, value: Value) -> Value:
        self.blocks[value.root] = value.size * np.dtype(value.dtype).itemsize
        return value

    def add(self, node: Node) -> None:
        """Adds a node after everything that it depends on."""
        if isinstance(node, Statements):
            if not all(spreads(v.shape, node.space) for v in node.reads):
                raise DisagreementError(node.instruction.describe())
            node.reads = [self.in_order(node.instruction, v) for v in node.reads]
        number = len(self.nodes)
        before = set(node.after)
        for value in node.reads:
            before.update(self._makers.get(value.root, ()))
            if value.root in self.variables:
                if value.root in self._writers:
                    before.add(self._writers[value.root])
                self._readers.setdefault(value.root, []).append(number)
        for root in node.variables:
            before.update(r for r in self._readers.get(root, ()) if r != number)
            if root in self._writers:
                before.add(self._writers[root])
            self._writers[root] = number
            self._readers[root] = []
        for root in node.makes:
            before.update(self._makers.get(root, ()))
            self._makers.setdefault(root, []).append(number)
        before |= self._ordered_after(node.instruction)
        if node.variables:
            before.update(self._fallible)
        node.fallible = node.fallible or isinstance(node, Statements) and self._may_divide_by_zero(node)
        if node.fallible:
            self._fallible.append(number)
        node.after = sorted(before - {number})
        self._named[node.instruction.name] = number
        self.nodes.append(node)

    def add_effect(self, node: Node, roots: Collection[str]) -> None:
        """Adds a node after all that has used the same lists and stacks, by the roots of their descriptors."""
        last = self.around.last
        node.after = [*node.after, *(last[root] for root in roots if root in last)]
        self.add(node)
        last.update(dict.fromkeys(roots, len(self.nodes) - 1))

    def in_order(self, i: Instruction, value: Value) -> Value:
        """A value as a statement takes it: the copy of it that an earlier one has taken, if it is the same still."""
        if self.beside is None:
            return value
        key = value, tuple(self._makers.get(value.root, ()))
        if key not in self._in_orders:
            self._in_orders[key] = self.beside(self, i, value)
        return self._in_orders[key]

    def _may_divide_by_zero(self, node: Statements) -> bool:
        """Whether statements divide integers by anything but constants."""
        dtypes = {f"p{k}": value.dtype for k, value in enumerate(node.reads)}
        named = {f"p{k}": value.root for k, value in enumerate(node.reads)}
        for target, dtype, text in node.lines:
            if _DIVISION.search(text):
                for divisor in integer_divisors(parse(re.sub(r"\{(\d+)\}", r"p\1", text), dtype, dtypes)):
                    root = named.get(divisor.name, "")
                    number = divisor.value if divisor.op == "literal" else self.constants.get(root)
                    if number is None or not np.all(number):
                        return True
            dtypes[target] = dtype
        return False

    def _ordered_after(self, i: Instruction) -> set[int]:
        """The nodes that control dependencies put before an instruction, its own or of what it takes.

        What has no node, such as a constant or a group of operations, hands those that are put before it on.
        """
        found = {self._named[c] for c in i.control if c in self._named}
        for name in (*i.control, *i.inputs):
            found |= self._handed_on.get(name, set())
        return found

    def elementwise(
        self,
        instruction: Instruction,
        text: str,
        reads: Sequence[Value],
        target: Value,
        *,
        forced: bool = False,
    ) -> None:
        """Adds target = text over the shape of the target; {0}, {1}, ... in the text are the reads."""
        self.add(
            Statements(
                instruction,
                list(reads),
                [target.root],
                space=target.shape,
                lines=[("out", target.dtype, text)],
                results=[("out", target)],
                forced=forced,
            )
        )

    def reduction(
        self,
        instruction: Instruction,
        kind: str,
        axes: tuple[int, ...],
        value: Value,
        text: str = "{0}",
        target: Value | None = None,
    ) -> None:
        """Adds the reduction of a text of one value over axes, by default as the instruction's result."""
        target = self.result(instruction) if target is None else target
        if not axes or all(value.shape[a] == 1 for a in axes):
            flat = whole(target.root, target.dtype, value.shape)
            self.elementwise(instruction, text, [value], flat)
            return
        self.add(
            Statements(
                instruction,
                [value],
                [target.root],
                space=value.shape,
                lines=[("out", target.dtype, text)],
                results=[("out", target)],
                reduce=(kind, axes),
            )
        )

    def compact(self, instruction: Instruction, value: Value) -> Value:
        """The value with its elements side by side: itself, or a copy."""
        value = self.in_order(instruction, value)
        return value if value.contiguous else self._copied(instruction, value)

    def apart(self, instruction: Instruction, value: Value, other: Value) -> Value:
        """The value, or a copy if it lies in the memory of another one, which is about to change."""
        return value if value.root != other.root else self._copied(instruction, value)

    def _copied(self, instruction: Instruction, value: Value) -> Value:
        copy = self.temporary(value.root, value.dtype, value.shape)
        self.elementwise(instruction, "{0}", [value], copy)
        return copy

    def hand_on(self, instruction: Instruction) -> None:
        """Has what takes a result of an instruction come after its node, also if the result lies in another's."""
        number = self._named[instruction.name]
        self._handed_on.update((name, {number}) for name in instruction.outputs)

    def kernel_of(self, op_type: str, i: Instruction) -> Callable[..., Any]:
        """The NumPy kernel of another op type with the attributes of an instruction."""
        return self._kernels.make(replace(i, type=op_type))

    def may_be_native(self, i: Instruction) -> bool:
        """Whether there is a native form for instructions of this kind, for some shapes of what they take."""
        scalar = i.definition is not None and i.definition.scalar is not None
        return scalar or i.type in self._rules or i.type in PASS_THROUGH or self._kernels.may_view(i.type)

    # ---- the plan -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Makes the nodes of the whole plan."""
        for name in self.plan.feeds:
            shape, dtype = self.known[name]
            if dtype in NATIVE_DTYPES and 0 not in shape:
                self.values[name] = whole(name, dtype, shape)
            else:
                self.objects.add(name)
        for instruction in self.plan.instructions:
            count = len(self.nodes)
            if not self._lower(instruction):
                self._python(instruction)
            if len(self.nodes) == count and (before := self._ordered_after(instruction)):
                for name in (instruction.name, *instruction.outputs):
                    self._handed_on[name] = before

    def _lower(self, i: Instruction) -> bool:
        if i.is_variable:
            shape, dtype = self.known[i.outputs[0]]
            if dtype in NATIVE_DTYPES and 0 not in shape:
                self.values[i.outputs[0]] = whole(i.outputs[0], dtype, shape)
            return True
        if i.type == kinds.NO_OP:
            return True
        if i.is_constant:
            return self._constant(i)
        if i.type in _WITH_EMPTY_PARTS:
            return self._rules[i.type](self, i)
        # A constant without elements lies nowhere, but rules know it: it may be a shape, axes, or the like.
        if not all(n in self.values or n in self.constants for n in i.inputs):
            return False
        if not i.outputs and i.type not in self._rules:
            return False
        if i.bodies and self.around.nested is not None:
            return self._rules[i.type](self, i) or self.around.nested(self, i)
        if any(
            self.known[o][1] not in NATIVE_DTYPES or 0 in self.known[o][0] if o in self.known else used
            for o, used in zip(i.outputs, i.used or (True,) * len(i.outputs), strict=True)
        ):
            return False
        if i.type in PASS_THROUGH:
            return self._pass_through(i)
        rule = self._rules.get(i.type)
        if rule is not None:
            return rule(self, i)
        if i.definition is not None and i.definition.scalar is not None:
            return scalar_rule(self, i)
        if self._kernels.may_view(i.type) and not i.stateful:
            return self.view(i)
        return False

    def _constant(self, i: Instruction) -> bool:
        array = i.attrs["value"]
        name = i.outputs[0]
        self.constants[name] = array
        if array.dtype.name in NATIVE_DTYPES and array.size:
            self.values[name] = whole(name, array.dtype.name, self.known[name][0])
        else:
            self.objects.add(name)
        return True

    def _pass_through(self, i: Instruction) -> bool:
        value = self.values.get(i.inputs[0])
        if value is None:
            return False
        if value.root in self.ever_written or any(c in self._named for c in i.control):
            self.elementwise(i, "{0}", [value], self.result(i))
        else:
            self.values[i.outputs[0]] = value
        return True

    def view(self, i: Instruction) -> bool:
        """Lowers an instruction whose results are views of one of its inputs."""
        arguments = []
        position = None
        contents = self.constants.contents if isinstance(self.constants, TracedConstants) else None
        for index, name in enumerate(i.inputs):
            constant = None if contents is None else contents.get(name)
            if constant is None:
                constant = self.constants.get(name)
            if (
                constant is not None
                and constant.dtype.kind in "iuO"
                and (i.definition is None or index or len(i.inputs) > 1)
            ):
                arguments.append(constant[()] if constant.ndim == 0 else constant)
            elif position is None:
                position = index
                arguments.append(None)
            elif index == 1 and i.type in _SHAPE_ONLY:
                shape, dtype = self.known[name]
                arguments.append(
                    like(shape, dtype)
                    if contents is not None
                    else np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, (0,) * len(shape))
                )
            else:
                return False
        value = None if position is None else self.values.get(i.inputs[position])
        if position is None or value is None:
            return False
        if value.root in self.ever_written:
            copy = self.temporary(value.root, value.dtype, value.shape)
            self.elementwise(i, "{0}", [value], copy)
            value = copy
        kernel = self._kernels.make(i)
        look = view_of if contents is None else traced_view_of
        found = look(value, kernel, arguments, position)
        if found is None and not value.contiguous:
            found = look(self.compact(i, value), kernel, arguments, position)
        if found is None or len(found) != len(i.outputs):
            return False
        if any(v.shape != self.known[o][0] for v, o in zip(found, i.outputs, strict=True)):
            return False
        self.values.update(zip(i.outputs, found, strict=True))
        return True

    def _python(self, i: Instruction) -> None:
        reads = [self.values[name] for name in dict.fromkeys(i.inputs) if name in self.values]
        node = PythonNode(i, reads, [], list(dict.fromkeys(i.writes())), fallible=True)
        number = len(self.nodes)
        node.after = [n for name in i.inputs if name in self.objects for n in self._makers.get(name, ())]
        if i.stateful and self._last_effect is not None:
            node.after.append(self._last_effect)
        for output in i.outputs:
            if output in self.known and self._fixed(i, output):
                self.result(i, i.outputs.index(output))
                node.makes.append(output)
            else:
                self.objects.add(output)
                self._makers.setdefault(output, []).append(number)
        self.add(node)
        if i.stateful:
            self._last_effect = number

    def _fixed(self, i: Instruction, output: str) -> bool:
        """Whether a result has the same shape whenever the feeds have the same shapes, and fits native memory."""
        position = i.outputs.index(output)
        if self.known[output][1] not in NATIVE_DTYPES or 0 in self.known[output][0]:
            return False
        if i.type == kinds.IF and not all(body.fetches[position] for body in i.bodies):
            return False  # There is nothing if the other branch is taken.
        return output in self.around.fixed or has_fixed_shape(
            i, position, self.known, self.values, self.constants
        )


def scalar_rule(lowering: Lowering, i: Instruction) -> bool:
    """Lowers an op by its `scalar` text: an elementwise statement, or an update of variables."""
    definition = i.definition
    assert definition is not None and definition.scalar is not None
    reads = [v for v in map(lowering.value, i.inputs) if v is not None]
    if len(reads) != len(i.inputs):
        return False
    names = {spec.name: f"{{{position}}}" for position, spec in enumerate(definition.inputs)}
    if definition.writes:
        return _update(lowering, i, reads, names)
    if not isinstance(definition.scalar, str):
        return False
    text = scalar_text(i, definition.scalar, names)
    if not expressible(text, reads, lowering.known[i.outputs[0]][1]):
        return False
    lowering.elementwise(i, text, reads, lowering.result(i))
    return True


def _update(lowering: Lowering, i: Instruction, reads: list[Value], names: dict[str, str]) -> bool:
    definition = i.definition
    assert definition is not None and definition.scalar is not None
    written = [
        (spec.name, value) for spec, value in zip(definition.inputs, reads, strict=True) if spec.written
    ]
    space = written[0][1].shape
    if any(value.shape != space for _, value in written):
        return False
    if any(v.shape not in (space, ()) for v in reads) or (i.type == kinds.ASSIGN and reads[1].shape != space):
        return False
    roots = [value.root for _, value in written]
    if len(set(roots)) != len(roots) or any(v.root in roots for v in reads[len(written) :]):
        return False
    dtype = written[0][1].dtype
    if dtype not in ("float32", "float64", "int32", "int64"):
        return False
    texts = (definition.scalar,) if isinstance(definition.scalar, str) else definition.scalar
    texts = with_roots(i, texts, lowering.constant)
    lines = []
    for text in texts:
        target, _, expression = text.rpartition(" = ")
        lines.append((target or definition.inputs[0].name, dtype, scalar_text(i, expression, names)))
    results = list(written)
    used = bool(i.outputs) and (not i.used or i.used[0])
    if used:
        results.append((written[0][0], lowering.result(i)))
    lowering.add(
        Statements(
            i,
            reads,
            [i.outputs[0]] if used else [],
            roots,
            space=space,
            lines=lines,
            results=results,
            forced=True,
        )
    )
    return True
