"""Checks what every pass must leave true, so that a mistake in a pass is told by its name and not by a wrong number.

    session.plan(fetches, feeds, watch=Verifier())

A run pays for this with `ConfigProto(verify_plans=True)` alone, or if the environment variable
GRAPHFLOW_VERIFY_PLANS is set, as the test suite sets it for all its processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NoReturn

import graphflow.errors as errors
from graphflow._core.graph.shapes import Dims, compatible, text
from graphflow._core.plan import inference, kinds
from graphflow._core.plan.found_right import RIGHT
from graphflow._core.plan.ir import Instruction, Plan, line_of, walk

VARIABLE: Final = "GRAPHFLOW_VERIFY_PLANS"
"""The environment variable that has every plan of a process verified."""
_NEIGHBOURS: Final = 6
_ORDERED: Final = ("order", "share_reads")
"""The passes behind which a plan is in order."""
"""Makers, and users, of a wrong instruction that a message shows."""


def asked_by_environment() -> bool:
    """Whether all plans of this process are to be verified."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def verify(plan: Plan, after: str = "") -> None:
    """Raises InternalError if a plan cannot be right; `after` is the name of the pass that made it.

    Names of instructions are unique, those of values in their level; every input, fetch and target is there; an
    input that must be a variable is one; branches and loops hand out as many values as they take over, of the same
    dtypes, and name as inputs all that their bodies use. What each instruction says of the dtypes and shapes of its
    results does not contradict what its definition infers from its inputs. From "order" on everything also stands
    behind what it needs.
    """
    Verifier()(after, plan)


class Verifier:
    """Verifies one plan after each of its passes: as verify(), and that no shape becomes less exact, or another.

    What is known of each level of the plan is kept from pass to pass. An instruction is immutable, so one that is the
    same object as after the pass before is looked at again only if what makes its inputs is another. Not for several
    threads.
    """

    def __init__(self) -> None:
        self._outermost = _Level(None)
        self._first: dict[str, Dims] = {}
        self._last: Plan | None = None

    def __call__(self, after: str, plan: Plan) -> None:
        """Checks the plan after the pass of that name; InternalError if it is wrong."""
        level, check = self._outermost, _Check(self._first, plan, after)
        if self._last is None or not _is_the_same(plan, self._last):
            if self._last is None:
                typed = dict(zip(plan.feeds, plan.feed_types, strict=False))
                level.feeds = {name: typed.get(name) for name in plan.feeds}
            elif (plan.feeds, plan.feed_types) != (self._last.feeds, self._last.feed_types):
                check.fail("its feeds, or what is said of them, are others than before it")
            self._last = plan
            check.level(level, plan, set())
            check.names(level)
        if after in _ORDERED:
            check.order(level)


def _is_the_same(a: Plan, b: Plan) -> bool:
    """Whether two plans have the same instructions, as objects and in the same order, and all else alike."""
    return a is b or (
        a.instructions == b.instructions
        and a.fetches == b.fetches
        and a.targets == b.targets
        and a.feeds == b.feeds
        and a.feed_types == b.feed_types
    )


def _says_the_same(a: Instruction, b: Instruction) -> bool:
    return (
        a.attrs is b.attrs
        and (a.inputs is b.inputs or a.inputs == b.inputs)
        and a.definition is b.definition
        and a.type == b.type
        and (a.outputs is b.outputs or a.outputs == b.outputs)
        and (a.dtypes is b.dtypes or a.dtypes == b.dtypes)
        and (a.shapes is b.shapes or a.shapes == b.shapes)
    )


class _Level:
    """What is known of one level of a plan, by name. `around` is the level whose values it may take as well.

    instructions: those of the pass that was checked last, in their order. makers, types: what makes each value, its
    dtype and shape. feeds: the same of the values from outside; None if nobody says it. inner: the levels of the bodies
    of each branch and loop.
    """

    def __init__(self, around: _Level | None) -> None:
        self.around = around
        self.instructions: dict[str, Instruction] = {}
        self.makers: dict[str, Instruction] = {}
        self.types: dict[str, inference.Type] = {}
        self.feeds: dict[str, inference.Type | None] = {}
        self.inner: dict[str, list[_Level]] = {}

    def has(self, name: str) -> bool:
        """Whether a value of that name can be taken here."""
        level: _Level | None = self
        while level is not None:
            if name in level.makers or name in level.feeds:
                return True
            level = level.around
        return False

    def made(self, name: str) -> tuple[Instruction, _Level] | None:
        """What makes a value, and the level that this is in; None if it is fed."""
        level: _Level | None = self
        while level is not None:
            if name in level.feeds:
                return None
            if name in level.makers:
                return level.makers[name], level
            level = level.around
        return None

    def type_of(self, name: str) -> inference.Type | None:
        """Dtype and shape of a value; None if nobody says them."""
        level: _Level | None = self
        while level is not None:
            if name in level.feeds:
                return level.feeds[name]
            if name in level.types:
                return level.types[name]
            level = level.around
        return None

    def all(self) -> Iterator[_Level]:
        """This level and those inside it."""
        yield self
        for levels in self.inner.values():
            for level in levels:
                yield from level.all()


class _Check:
    """The check of a plan after one pass. `first` has what was first said of the shape of a value, if that was less."""

    def __init__(self, first: dict[str, Dims], plan: Plan, after: str) -> None:
        self._first = first
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

    def names(self, outermost: _Level) -> None:
        """Checks that no two instructions, of any levels, have one name."""
        levels = [level.instructions for level in outermost.all()]
        if len(levels) == 1 or len(set().union(*levels)) == sum(map(len, levels)):
            return
        names: set[str] = set()
        for instruction in walk(self._plan):
            if instruction.name in names:
                self.fail("a second instruction has this name", instruction)
            names.add(instruction.name)

    def level(self, level: _Level, plan: Plan, touched: set[str]) -> set[str]:
        """Checks one level and those inside it. `touched` are the values around it that are others than before; returns
        these with its own.
        """
        before, instructions = level.instructions, {i.name: i for i in plan.instructions}
        if len(instructions) != len(plan.instructions):
            self._fail_for_twins(plan)
        fresh = [i for i in plan.instructions if before.get(i.name) is not i]
        touched = touched | (self._forget(level, instructions, fresh) if before else set())
        level.instructions = instructions
        new = self._take_in(level, before, fresh)
        touched.update(o for name in new for o in instructions[name].outputs)
        if sum([len(i.outputs) for i in plan.instructions]) != len(level.makers):
            self._fail_for_twins(plan)
        affected = [i for i in plan.instructions if i.name in new or not touched.isdisjoint(i.inputs)]
        for i in affected:
            self._types(i, level, self._inputs(i, level))
        for i in {i.name: i for i in (*fresh, *affected) if i.bodies}.values():
            self._bodies(i, level, touched)
        for value in plan.fetches:
            if value and not level.has(value):
                self.fail(f"{value!r} is fetched, but nothing makes it")
        for target in plan.targets:
            if target not in instructions:
                self.fail(f"{target!r} is to run, but is not there")
        return touched

    def _fail_for_twins(self, plan: Plan) -> NoReturn:
        names: set[str] = set()
        made: set[str] = set()
        for i in plan.instructions:
            if i.name in names:
                self.fail("a second instruction has this name", i)
            names.add(i.name)
            for output in i.outputs:
                if output in made:
                    self.fail(f"a second instruction makes {output!r}", i)
                made.add(output)
        raise AssertionError("No name and no value is there twice.")

    def _forget(
        self, level: _Level, instructions: Mapping[str, Instruction], fresh: Sequence[Instruction]
    ) -> set[str]:
        """Drops what is there no more from a level; the values that went with it."""
        gone = [i for name, i in level.instructions.items() if name not in instructions]
        for i in gone:
            level.inner.pop(i.name, None)
        others = [level.instructions[i.name] for i in fresh if i.name in level.instructions]
        outputs = {
            o
            for i in others
            if i.outputs is not (now := instructions[i.name].outputs) and i.outputs != now
            for o in i.outputs
        }
        outputs.update(o for i in gone for o in i.outputs)
        for output in outputs:
            level.makers.pop(output, None)
            level.types.pop(output, None)
        return outputs

    def _take_in(
        self, level: _Level, before: Mapping[str, Instruction], fresh: Sequence[Instruction]
    ) -> set[str]:
        """Describes what is another than before; the names of the instructions that say something else than before."""
        new: set[str] = set()
        types, makers = level.types, level.makers
        for i in fresh:
            was = before.get(i.name)
            if was is None or not _says_the_same(was, i):
                if not len(i.outputs) == len(i.dtypes) == len(i.shapes):
                    counts = f"{len(i.outputs)} outputs, {len(i.dtypes)} dtypes and {len(i.shapes)} shapes"
                    self.fail(f"it has {counts}", i)
                new.add(i.name)
                if was is not None:
                    self._said_before(was, i)
                types.update(zip(i.outputs, zip(i.dtypes, i.shapes, strict=True), strict=True))
            for output in i.outputs:
                makers[output] = i
        return new

    def _inputs(self, i: Instruction, level: _Level) -> list[inference.Type] | None:
        """Dtypes and shapes of the inputs of an instruction, None if nobody says one. Checks that all are there, and
        variables where they must be.
        """
        found = []
        fed, types = level.feeds, level.types
        for name in i.inputs:
            kind = types[name] if name in types and name not in fed else level.type_of(name)
            if kind is not None:
                found.append(kind)
            elif not level.has(name):
                self.fail(f"it takes {name!r}, which nothing makes", i)
        if i.definition is not None and i.definition.takes_refs:
            for name, ref in zip(i.inputs, i.ref_mask(), strict=False):
                made = level.made(name) if ref else None
                if ref and (made is None or not made[0].is_variable):
                    self.fail(f"its input {name!r} must be a variable", i)
        return found if len(found) == len(i.inputs) else None

    def order(self, level: _Level) -> None:
        """Checks that everything stands behind what it needs, in all levels."""
        makers = {o: place for place, i in enumerate(level.instructions.values()) for o in i.outputs}
        names = {name: place for place, name in enumerate(level.instructions)}
        for place, i in enumerate(level.instructions.values()):
            for name in i.inputs:
                if makers.get(name, -1) >= place and name not in level.feeds:
                    self.fail(f"it takes {name!r}, which is made later", i)
            for name in i.control:
                if names.get(name, -1) >= place:
                    self.fail(f"it stands before {name!r}, which it must come after", i)
        for levels in level.inner.values():
            for inner in levels:
                self.order(inner)

    # ---- dtypes and shapes ------------------------------------------------------------------------------------------

    def _said_before(self, was: Instruction, i: Instruction) -> None:
        """Compares what an instruction says of its results with what it said after the pass before."""
        said = dict(zip(was.outputs, was.shapes, strict=True))
        for output, dims in said.items():
            self._first.setdefault(output, dims)
        for output, dims in zip(i.outputs, i.shapes, strict=True):
            if output in said and not _keeps(said[output], dims):
                self.fail(
                    f"it said that {output!r} has the shape {text(said[output])}, and now {text(dims)}", i
                )

    def _types(self, i: Instruction, level: _Level, types: Sequence[inference.Type] | None) -> None:
        """Compares what an instruction says of its results with what its definition infers from its inputs, whose types
        are these.
        """
        definition = inference.definition_of(i)
        if definition is None or types is None:
            return
        key = RIGHT.key(definition, i, types, level)
        if key is not None and key in RIGHT:
            return
        view = inference.View()
        op = view.operation(i, level)
        wrong = inference.wrong_dtype(op)
        if wrong:
            self.fail(wrong, i)
        try:
            signature = inference.inferred(op, op.inputs)
        except Exception:
            # A rule may raise anything if an input or attribute that it reads is not there. And what a pass computed
            # may show that the program is wrong, which is for its run to say: the graph took the instruction with what
            # was known of its inputs at first.
            first = [self._first.get(n, t.dims) for t, n in zip(op.inputs, i.inputs, strict=True)]
            weaker = [
                inference.given(n, t.dtype, d) for t, n, d in zip(op.inputs, i.inputs, first, strict=True)
            ]
            key = None
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
        if key is not None:
            RIGHT.add(key, definition, i, level, view.looked)

    def _hands_out(self, i: Instruction, body: Plan, inside: _Level) -> None:
        """Compares what a body fetches with what its instruction hands out."""
        for output, dtype, dims, fetch in zip(i.outputs, i.dtypes, i.shapes, body.fetches, strict=True):
            found = inside.type_of(fetch)
            if found is None:
                continue
            if found[0] is not dtype:
                self.fail(
                    f"it says that {output!r} is {dtype.name}, and hands out {fetch!r}, {found[0].name}", i
                )
            if not compatible(found[1], dims):
                said = f"it says that {output!r} has the shape {text(dims)}"
                self.fail(f"{said}, and hands out {fetch!r}, {text(found[1])}", i)

    # ---- branches and loops -----------------------------------------------------------------------------------------

    def _bodies(self, i: Instruction, around: _Level, touched: set[str]) -> None:
        beside = [name for name in i.free_variables() if name not in i.inputs]
        if beside:
            self.fail(f"its bodies use {beside[0]!r}, which is not among its inputs", i)
        if i.name not in around.inner:
            first = _Level(around)
            around.inner[i.name] = [first, _Level(first if i.type == kinds.WHILE else around)]
        if i.type == kinds.IF and [len(b.fetches) for b in i.bodies] != [len(i.outputs)] * 2:
            self.fail(f"each branch must hand out {len(i.outputs)} values", i)
        first, second = around.inner[i.name]
        if i.type == kinds.WHILE:
            touched = self.level(first, i.bodies[0], touched | self._loop(i, first, second))
        else:
            self.level(first, i.bodies[0], touched)
            self._hands_out(i, i.bodies[0], first)
        self.level(second, i.bodies[1], touched)
        self._hands_out(i, i.bodies[1], second)

    def _loop(self, i: Instruction, before: _Level, inside: _Level) -> set[str]:
        """Checks what a loop takes over from turn to turn; the loop variables that are others than before."""
        condition, body = i.bodies
        if len(condition.fetches) != 1 or condition.feeds != body.feeds:
            self.fail("its condition must hand out one value, and take what its body takes", i)
        if not len(body.feeds) == len(body.fetches) == len(i.outputs):
            self.fail("its body must hand out as many values as it takes", i)
        said: dict[str, inference.Type | None] = {}
        said.update(zip(body.feeds, zip(i.dtypes, i.shapes, strict=True), strict=True))
        if said == before.feeds:
            return set()
        before.feeds = inside.feeds = said
        return set(body.feeds)


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
    needs = dict.fromkeys(makers[n] for n in wrong.free_variables() if n in makers and makers[n] is not wrong)
    users = [
        i for i in everything if i is not wrong and not set(wrong.outputs).isdisjoint(i.free_variables())
    ]
    return "".join([_lines("made by", needs), _lines("it is", [wrong]), _lines("used by", users)])


def _lines(title: str, instructions: Iterable[Instruction]) -> str:
    lines = [line_of(i) for i in instructions]
    if len(lines) > _NEIGHBOURS:
        lines[_NEIGHBOURS:] = [f"and {len(lines) - _NEIGHBOURS} more"]
    return "".join(f"\n  {title:<8} {line:.300}" for line in lines)
