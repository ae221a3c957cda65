"""Checks what every pass must leave true, so that a mistake in a pass is told by its name and not by a wrong number.

    session.plan(fetches, feeds, watch=Verifier())

A run pays for this with `ConfigProto(verify_plans=True)` alone, or where the environment variable
GRAPHFLOW_VERIFY_PLANS is set, as the test suite sets it for all its processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

import graphflow.errors as errors
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import Dims, compatible, text
from graphflow._core.plan import inference, kinds
from graphflow._core.plan.ir import Instruction, Plan, line_of, walk

VARIABLE: Final = "GRAPHFLOW_VERIFY_PLANS"
"""The environment variable that has every plan of a process verified."""
_NEIGHBOURS: Final = 6
"""Makers, and users, of a wrong instruction that a message shows."""


def asked_by_environment() -> bool:
    """Whether all plans of this process are to be verified."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def verify(plan: Plan, after: str = "") -> None:
    """Raises InternalError where a plan cannot be right; `after` is the name of the pass that made it.

    Names of instructions are unique, those of values in their level; every input, fetch and target is there; an
    input that must be a variable is one; branches and loops hand out as many values as they take over, of the same
    dtypes, and name as inputs all that their bodies use. What each instruction says of the dtypes and shapes of its
    results does not contradict what its definition infers from its inputs. After "order" everything also stands
    behind what it needs.
    """
    Verifier()(after, plan)


class Verifier:
    """Verifies one plan after each of its passes: as verify(), and that no shape becomes less exact, or another.

    An instruction is inferred again only where it, or what makes its inputs, is another than after the pass before.
    Not for several threads.
    """

    def __init__(self) -> None:
        self._described: dict[str, tuple[Instruction, inference.DescribedOperation]] = {}
        self._said: dict[tuple[str, str], Dims] = {}
        self._first: dict[str, Dims] = {}
        self._last: Plan | None = None
        self._fed: tuple[object, object] | None = None

    def __call__(self, after: str, plan: Plan) -> None:
        """Checks the plan after the pass of that name; InternalError where it is wrong."""
        if plan is self._last and after != "order":
            return
        self._last = plan
        check = _Check(self, plan, after)
        check.names()
        if self._fed not in (None, (plan.feeds, plan.feed_types)):
            check.fail("its feeds, or what is said of them, are others than before it")
        self._fed = plan.feeds, plan.feed_types
        feeds: dict[str, Tensor | None] = dict.fromkeys(plan.feeds)
        for name, kind in zip(plan.feeds, plan.feed_types, strict=False):
            feeds[name] = inference.given(name, *kind)
        check.level(plan, _Level(), feeds)
        self._said = {
            (i.name, output): dims
            for i in walk(plan)
            for output, dims in zip(i.outputs, i.shapes, strict=True)
        }
        for (_, output), dims in self._said.items():
            self._first.setdefault(output, dims)

    def described(self, i: Instruction) -> tuple[inference.DescribedOperation, bool]:
        """The instruction as an operation, and whether it is another than after the pass before."""
        if i.name in self._described:
            before, op = self._described[i.name]
            if before is i or _says_the_same(before, i):
                return op, False
        op = inference.described(i)
        self._described[i.name] = i, op
        return op, True

    def said(self, i: Instruction, output: str) -> tuple[Dims] | None:
        """The shape that the instruction said of a result after the pass before; None where it was not there."""
        key = i.name, output
        return (self._said[key],) if key in self._said else None

    def first(self, tensor: Tensor, name: str) -> Tensor:
        """A value as it was first said to be, with nothing known of what makes it."""
        return inference.given(name, tensor.dtype, self._first.get(name, tensor.dims))


def _says_the_same(a: Instruction, b: Instruction) -> bool:
    return (
        a.type == b.type
        and a.attrs is b.attrs
        and a.inputs == b.inputs
        and a.outputs == b.outputs
        and a.dtypes == b.dtypes
        and a.shapes == b.shapes
        and a.definition is b.definition
    )


@dataclass(frozen=True)
class _Level:
    """What the instructions of a level may take, by name: its `makers`, None for what is fed, and its `values`, None
    where nobody says their type.
    """

    makers: Mapping[str, Instruction | None] = field(default_factory=dict)
    values: Mapping[str, Tensor | None] = field(default_factory=dict)


class _Check:
    """One check of one plan."""

    def __init__(self, verifier: Verifier, plan: Plan, after: str) -> None:
        self._verifier = verifier
        self._plan = plan
        self._after = after

    def fail(self, what: str, instruction: Instruction | None = None) -> NoReturn:
        """Raises the error that names the pass and the instruction, and shows what is around that."""
        origin = None if instruction is None else instruction.origin
        where = "" if instruction is None else f"{instruction.describe()}: "
        built = "" if origin is None else f" Built at {origin.built}."
        passed = f" after the pass {self._after!r}" if self._after else ""
        around = "" if instruction is None else _neighbourhood(self._plan, instruction)
        raise errors.InternalError(None, origin, f"The plan is wrong{passed}: {where}{what}.{built}{around}")

    def names(self) -> None:
        """Checks that no two instructions have one name."""
        names: set[str] = set()
        for instruction in walk(self._plan):
            if instruction.name in names:
                self.fail("a second instruction has this name", instruction)
            names.add(instruction.name)

    def _outputs(self, instructions: Sequence[Instruction]) -> None:
        made: set[str] = set()
        for i in instructions:
            if not len(i.outputs) == len(i.dtypes) == len(i.shapes):
                counts = f"{len(i.outputs)} outputs, {len(i.dtypes)} dtypes and {len(i.shapes)} shapes"
                self.fail(f"it has {counts}", i)
            for output in i.outputs:
                if output in made:
                    self.fail(f"a second instruction makes {output!r}", i)
                made.add(output)

    def level(self, plan: Plan, around: _Level, feeds: Mapping[str, Tensor | None]) -> _Level:
        """Checks one level; `around` are the values of the levels outside. Returns all that is known at its end."""
        self._outputs(plan.instructions)
        described = {i.name: self._verifier.described(i) for i in plan.instructions}
        values: dict[str, Tensor | None] = {**around.values, **feeds}
        for i in plan.instructions:
            outputs = described[i.name][0].outputs
            values.update((o, t) for o, t in zip(i.outputs, outputs, strict=True) if o not in feeds)
        # All know their inputs before one is inferred: a rule may look at what makes its inputs.
        changed = {
            i.name for i in plan.instructions if described[i.name][0].take([values.get(n) for n in i.inputs])
        }
        known: dict[str, Instruction | None] = {**around.makers, **dict.fromkeys(plan.feeds)}
        whole = {**known, **{o: i for i in plan.instructions for o in i.outputs if o not in feeds}}
        names = {i.name for i in plan.instructions}
        done: set[str] = set()
        ordered = self._after == "order"
        there = known if ordered else whole
        for i in plan.instructions:
            op, is_new = described[i.name]
            self._inputs(i, there, whole)
            if ordered:
                late = [c for c in i.control if c in names and c not in done]
                if late:
                    self.fail(f"it stands before {late[0]!r}, which it must come after", i)
            if is_new:
                self._said_before(i)
            if is_new or i.name in changed:
                self._types(i, op)
            self._bodies(i, _Level(there, values))
            done.add(i.name)
            known.update((o, i) for o in i.outputs if o not in feeds)
        for value in plan.fetches:
            if value and value not in whole:
                self.fail(f"{value!r} is fetched, but nothing makes it")
        for target in plan.targets:
            if target not in names:
                self.fail(f"{target!r} is to run, but is not there")
        return _Level(whole, values)

    def _inputs(
        self, i: Instruction, there: Mapping[str, Instruction | None], whole: Mapping[str, Instruction | None]
    ) -> None:
        for name, ref in zip(i.inputs, i.ref_mask(), strict=False):
            if name not in there:
                self.fail(
                    f"it takes {name!r}, which " + ("is made later" if name in whole else "nothing makes"), i
                )
            maker = there[name]
            if ref and (maker is None or not maker.is_variable):
                self.fail(f"its input {name!r} must be a variable", i)

    # ---- dtypes and shapes ------------------------------------------------------------------------------------------

    def _said_before(self, i: Instruction) -> None:
        """Compares what an instruction says of its results with what it said after the pass before."""
        for output, dims in zip(i.outputs, i.shapes, strict=True):
            before = self._verifier.said(i, output)
            if before is not None and not _keeps(before[0], dims):
                self.fail(f"it said that {output!r} has the shape {text(before[0])}, and now {text(dims)}", i)

    def _types(self, i: Instruction, op: inference.DescribedOperation) -> None:
        """Compares what an instruction says of its results with what its definition infers from its inputs."""
        if op.is_given:
            return
        wrong = inference.wrong_dtype(op)
        if wrong:
            self.fail(wrong, i)
        try:
            signature = inference.inferred(op, op.inputs)
        except Exception:
            # A rule may raise anything where an input or attribute that it reads is not there. And what a pass computed
            # may show that the program is wrong, which is for its run to say: the graph took the instruction with what
            # was known of its inputs at first.
            weaker = [self._verifier.first(t, n) for t, n in zip(op.inputs, i.inputs, strict=True)]
            try:
                signature = inference.inferred(op, weaker)
            except (ValueError, TypeError, errors.InvalidArgumentError) as error:
                self.fail(f"its definition refuses its inputs: {error}", i)
            except Exception as error:
                taken = f"its {len(op.inputs)} inputs and attributes"
                self.fail(f"its definition cannot do with {taken}: {type(error).__name__}: {error}", i)
        if len(signature) != len(i.outputs):
            self.fail(f"its definition gives {len(signature)} results, and it has {len(i.outputs)}", i)
        for output, dtype, dims, (right, rule) in zip(i.outputs, i.dtypes, i.shapes, signature, strict=True):
            if dtype is not right:
                self.fail(f"it says that {output!r} is {dtype.name}, and its definition {right.name}", i)
            if not compatible(dims, rule):
                self.fail(
                    f"it says that {output!r} has the shape {text(dims)}, and its definition {text(rule)}", i
                )

    def _hands_out(self, i: Instruction, body: Plan, inside: _Level) -> None:
        """Compares what a body fetches with what its instruction hands out."""
        for output, dtype, dims, fetch in zip(i.outputs, i.dtypes, i.shapes, body.fetches, strict=True):
            found = inside.values.get(fetch)
            if found is None:
                continue
            if found.dtype is not dtype:
                self.fail(
                    f"it says that {output!r} is {dtype.name}, and hands out {fetch!r}, {found.dtype.name}", i
                )
            if not compatible(found.dims, dims):
                said = f"it says that {output!r} has the shape {text(dims)}"
                self.fail(f"{said}, and hands out {fetch!r}, {text(found.dims)}", i)

    # ---- branches and loops -----------------------------------------------------------------------------------------

    def _bodies(self, i: Instruction, around: _Level) -> None:
        beside = [name for name in i.taken() if name not in i.inputs]
        if beside:
            self.fail(f"its bodies use {beside[0]!r}, which is not among its inputs", i)
        if i.type == kinds.IF and [len(b.fetches) for b in i.bodies] != [len(i.outputs)] * 2:
            self.fail(f"each branch must hand out {len(i.outputs)} values", i)
        if i.type == kinds.WHILE:
            self._loop(i, around)
            return
        for inner in i.bodies:
            self._hands_out(i, inner, self.level(inner, around, {}))

    def _loop(self, i: Instruction, around: _Level) -> None:
        condition, body = i.bodies
        if len(condition.fetches) != 1 or condition.feeds != body.feeds:
            self.fail("its condition must hand out one value, and take what its body takes", i)
        if not len(body.feeds) == len(body.fetches) == len(i.outputs):
            self.fail("its body must hand out as many values as it takes", i)
        feeds = {
            name: inference.given(name, dtype, dims)
            for name, dtype, dims in zip(body.feeds, i.dtypes, i.shapes, strict=True)
        }
        inside = self.level(condition, around, feeds)
        makers = {**around.makers, **{o: m for m in condition.instructions for o in m.outputs}}
        self._hands_out(i, body, self.level(body, _Level(makers, inside.values), feeds))


def _keeps(before: Dims, after: Dims) -> bool:
    """Whether a shape says all that one before it said."""
    if before is None:
        return True
    return (
        after is not None
        and len(before) == len(after)
        and all(a is None or a == b for a, b in zip(before, after, strict=True))
    )


def _neighbourhood(plan: Plan, wrong: Instruction) -> str:
    """The instruction, what makes its inputs and what uses its results, a line each."""
    everything = list(walk(plan))
    makers = {o: i for i in everything for o in i.outputs}
    needs = dict.fromkeys(makers[n] for n in wrong.taken() if n in makers and makers[n] is not wrong)
    users = [i for i in everything if i is not wrong and not set(wrong.outputs).isdisjoint(i.taken())]
    return "".join([_lines("made by", needs), _lines("it is", [wrong]), _lines("used by", users)])


def _lines(title: str, instructions: Iterable[Instruction]) -> str:
    lines = [line_of(i) for i in instructions]
    if len(lines) > _NEIGHBOURS:
        lines[_NEIGHBOURS:] = [f"and {len(lines) - _NEIGHBOURS} more"]
    return "".join(f"\n  {title:<8} {line:.300}" for line in lines)
