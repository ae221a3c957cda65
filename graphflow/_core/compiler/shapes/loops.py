"""Which values of a plan have the same shape whenever the feeds have theirs, what loops and lists give among them.

The shape of most results follows from those of what an operation takes. Shapes of what a loop gives, and of the rows of
lists (TensorArrays, and the stacks on which a loop keeps what its gradient needs), follow by induction. It is assumed
that each variable of a loop keeps the shape that it starts with, and that all rows of a list have one shape. If the
bodies then hand on, and all writes write, what was assumed, it holds in every turn, since each value is computed from
earlier ones. What does not is assumed no longer, and all is looked at again.

How many rows a list has that grows follows in the same way: it is assumed that each variable of a loop is a counter,
which in every run goes through the same values, and that all rows are written by loops that take as many turns in every
run, at indices that counters say. Then there are as many in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.shapes.fixed import OF_SHAPES, Known, has_fixed_shape
from graphflow._core.compiler.shapes.partial import PartialShapes
from graphflow._core.ops.control_flow.contexts import STACK_POP, STACK_PUSH
from graphflow._core.ops.control_flow.tensor_array import (
    ARRAY,
    CONCAT,
    GATHER,
    GRADIENT,
    SCATTER,
    SIZE,
    SPLIT,
    WRITE,
)
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan, producers, walk

_MADE: Final = "TensorArrayV3"
_GRADIENT: Final = "TensorArrayGradV3"
_ROW_WRITERS: Final = {
    "TensorArrayWriteV3": 2,
    "TensorArrayScatterV3": 2,
    "TensorArraySplitV3": 1,
    "StackPushV2": 0,
}
"""What writes rows, and which of its inputs these are."""
_ROW_READERS: Final = frozenset(
    {"TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayConcatV3", "StackPopV2"}
)
_OF_LISTS: Final = frozenset({_MADE, _GRADIENT, "TensorArraySizeV3", *_ROW_WRITERS, *_ROW_READERS})

List: TypeAlias = "tuple[str, ...]"
"""A list: the value that its handle is, or the name of a stack; before it "gradient" for all gradients of one."""
Row: TypeAlias = "tuple[int, ...]"


@dataclass(frozen=True, eq=False)
class FixedShapes:
    """Names of values.

    fixed: those that have the shape that is known of them. settled: those that are the same altogether.
    """

    fixed: set[str]
    settled: set[str]


def fixed_shapes(plan: Plan, known: Known) -> FixedShapes:
    """The values of a plan that are fixed whenever the feeds have the shapes of a run, in which these were seen."""
    if any(i.bodies or i.type in _OF_LISTS for i in plan.instructions):
        return _Induction(plan, known).found()
    found = FixedShapes({name for name in plan.feeds if name in known}, set())
    partial = PartialShapes(known, found.fixed, producers(plan))
    for i in plan.instructions:
        _follow(i, known, found, partial)
    return found


def _follow(i: Instruction, known: Known, found: FixedShapes, partial: PartialShapes) -> None:
    """Adds the results of an instruction without bodies."""
    plain = i.definition is not None and not i.bodies
    of_shapes = found.settled.issuperset(i.inputs) or (
        i.type in OF_SHAPES and found.fixed.issuperset(i.inputs)
    )
    if i.is_constant or (plain and not i.stateful and of_shapes):
        found.settled.update(i.outputs)
    for position, output in enumerate(i.outputs):
        if output in known and (
            output in found.settled or has_fixed_shape(i, position, known, found.fixed, found.settled)
        ):
            found.fixed.add(output)
    if not found.fixed.issuperset(i.outputs):
        found.fixed.update(partial.add(i))


@dataclass(frozen=True, eq=False)
class _Following:
    """What follows from what is assumed, as far as it was looked at.

    counted: the counters, and what is computed from them alone. growing: the lists that get other rows in other runs.
    """

    found: FixedShapes
    partial: PartialShapes
    counted: set[str]
    growing: set[List]

    def is_same(self, names: Sequence[str]) -> bool:
        """Whether values are the same in every run, in each turn of the loops that they are in."""
        return all(name in self.found.settled or name in self.counted for name in names)


class _Induction:
    """What is assumed of the loops and lists of a plan, and what follows."""

    def __init__(self, plan: Plan, known: Known) -> None:
        self._plan = plan
        self._known = dict(known)
        self._lists: dict[str, List] = {}
        """The list of each handle."""
        self._makers: dict[List, Instruction] = {}
        self._rows: dict[List, Row] = {}
        """The shape of the rows of each list of which it is assumed that they have one."""
        self._variables: dict[str, tuple[str, str]] = {}
        """For each variable of a loop of which it is assumed that it keeps its shape the values that it starts with
        and goes on with."""
        self._writes: list[tuple[List, Row | None, str]] = []
        self._joins: dict[str, Instruction] = {}
        """What joins the rows of a list, by the name of their lengths."""
        self._alike: list[tuple[List, List]] = []
        """Lists that are written rows of the lengths of another one's, and that other one."""
        self._counters: dict[str, tuple[str, str]] = {}
        """For each variable of a loop that is assumed to be a counter what it starts with and goes on with."""
        self._growing: set[List] = set()
        """The lists of which it is not assumed that they have as many rows in every run; () if it is of none."""
        self._assume(plan)
        for i in walk(plan):
            self._note(i)
        if all(
            of for of, _, _ in self._writes
        ):  # What is written into one that is not known may go into any.
            self._rows = {of: row for of, row, _ in self._writes if row is not None}

    def found(self) -> FixedShapes:
        """What holds for every turn."""
        while True:
            found = FixedShapes({name for name in self._plan.feeds if name in self._known}, set())
            makers = {output: i for i in walk(self._plan) for output in i.outputs}
            partial = PartialShapes(self._known, found.fixed, makers)
            following = _Following(found, partial, set(self._counters), set(self._growing))
            self._walk(self._plan, following, steady=True, once=True)
            others = {name for name, ends in self._counters.items() if not following.is_same(ends)}
            wrong = {name for name, ends in self._variables.items() if not self._keeps(name, ends, found)}
            bad = {
                of for of, row, value in self._writes if self._rows.get(of) != row or value not in found.fixed
            }
            bad |= {
                of for of in self._rows if of[0] == "gradient" and self._rows.get(of[1:]) != self._rows[of]
            }
            bad |= {of for of, other in self._alike if self._rows.get(of) != self._rows.get(other)}
            bad &= self._rows.keys()
            if not (wrong or bad or others or following.growing - self._growing):
                return found
            self._growing = following.growing
            for name in others:
                del self._counters[name]
            for name in wrong:
                del self._variables[name]
            for of in bad:
                del self._rows[of]

    # ---- what there is --------------------------------------------------------------------------------------------

    def _assume(self, plan: Plan) -> None:
        """Adds the shapes of what no run observes, and the variables of loops."""
        for i in plan.instructions:
            if i.is_constant:
                self._known[i.outputs[0]] = (i.attrs["value"].shape, i.attrs["value"].dtype.name)
            elif i.type in PASS_THROUGH and i.inputs[0] in self._known:
                self._known.setdefault(i.outputs[0], self._known[i.inputs[0]])
            if i.type == kinds.WHILE:
                for name, start, end in zip(i.bodies[1].feeds, i.inputs, i.bodies[1].fetches, strict=False):
                    self._counters[name] = (start, end)
                    if start in self._known:
                        self._known[name] = self._known[start]
                        self._variables[name] = (start, end)
            for body in i.bodies:
                self._assume(body)

    def _note(self, i: Instruction) -> None:
        """Adds the lists that an instruction makes, and what it writes into one."""
        if i.definition is ARRAY:
            self._lists[i.outputs[0]] = (i.outputs[0],)
        elif i.definition is GRADIENT:
            self._lists[i.outputs[0]] = ("gradient", *self._list(i))
        elif i.definition is CONCAT:
            self._joins[i.outputs[1]] = i
        elif i.type in _ROW_WRITERS:
            value = i.inputs[_ROW_WRITERS[i.type]]
            row = self._known[value][0] if value in self._known else None
            if i.definition is SCATTER:
                row = row[1:] if row else None
            elif i.definition is SPLIT:
                row = self._split(i)
            self._writes.append((self._list(i), row, value))
        if i.definition in (ARRAY, GRADIENT):
            self._makers[self._lists[i.outputs[0]]] = i

    def _split(self, i: Instruction) -> Row | None:
        """The shape of the rows that a split writes; their lengths are values, but for those that a concat gives."""
        maker = self._joins.get(i.inputs[2])
        value, lengths = (self._known.get(name) for name in i.inputs[1:3])
        if maker is None or value is None or lengths is None or not value[0] or not lengths[0][0]:
            return None
        self._alike.append((self._list(i), self._list(maker)))
        return (value[0][0] // lengths[0][0], *value[0][1:])

    def _list(self, i: Instruction) -> List:
        """The list that an instruction reads or writes; () for one of which it is not known which it is."""
        if i.definition in (STACK_PUSH, STACK_POP):
            return (i.attrs["stack"],)
        return self._lists.get(i.inputs[0], ())

    def _row(self, i: Instruction) -> Row | None:
        """The shape of the rows of the list of an instruction; None if they may have several."""
        return self._rows.get(self._list(i))

    # ---- what follows ---------------------------------------------------------------------------------------------

    def _walk(self, plan: Plan, following: _Following, steady: bool, once: bool) -> None:
        """Adds what follows for the values of a plan.

        steady: whether the plan is computed as often in every run. once: whether it is in no loop, so that a list which
        grows has one size there.
        """
        found = following.found
        for i in plan.instructions:
            loops = i.type == kinds.WHILE
            if loops:
                feeds = i.bodies[1].feeds
                found.fixed.update(name for name in feeds if name in self._variables)
            inner = steady and loops
            for body in i.bodies:
                self._walk(body, following, inner, once and not loops)
                inner = inner and following.is_same(body.fetches[:1])
            _follow(i, self._known, found, following.partial)
            found.fixed.update(
                o for k, o in enumerate(i.outputs) if o in self._known and self._gives(i, k, found, once)
            )
            if i.definition is SIZE and self._has_settled_size(self._list(i), found, once):
                found.settled.update(i.outputs)
            if i.type in _ROW_WRITERS and i.definition is not STACK_PUSH:
                if not (steady and i.definition is WRITE and self._has_same_index(i, plan, following)):
                    following.growing.add(self._list(i))
            elif i.definition is not None and not (i.bodies or i.stateful) and following.is_same(i.inputs):
                following.counted.update(i.outputs)

    def _has_same_index(self, write: Instruction, plan: Plan, following: _Following) -> bool:
        """Whether a row is written where it is in every run, or behind the last one."""
        if following.is_same(write.inputs[1:2]):
            return True
        index = next((i for i in plan.instructions if write.inputs[1] in i.outputs), None)
        return index is not None and index.definition is SIZE and self._list(index) == self._list(write) != ()

    def _gives(self, i: Instruction, position: int, found: FixedShapes, once: bool) -> bool:
        """Whether a loop or branch, or what reads a list, gives a result of the shape that is known."""
        shape = self._known[i.outputs[position]]
        if i.type == kinds.WHILE:
            name = i.bodies[1].feeds[position]
            return name in self._variables and self._known[name] == shape
        if i.type == kinds.IF:
            ends = [body.fetches[position] for body in i.bodies]
            return all(end in found.fixed and self._known[end] == shape for end in ends)
        if i.type not in _ROW_READERS:
            return False
        row = self._row(i)
        if i.definition is CONCAT:
            return bool(row) and self._has_settled_size(self._list(i), found, once)
        if i.definition is GATHER:
            indices = i.inputs[1]
            return row is not None and indices in found.fixed and (*self._known[indices][0], *row) == shape[0]
        return row == shape[0]

    def _keeps(self, name: str, ends: tuple[str, str], found: FixedShapes) -> bool:
        """Whether a variable of a loop starts and goes on with the shape that is assumed."""
        return all(end in found.fixed and self._known[end] == self._known[name] for end in ends)

    def _has_settled_size(self, of: List, found: FixedShapes, once: bool) -> bool:
        """Whether a list has the same number of rows in every run, and in every turn of a loop that asks for it."""
        maker = self._makers.get(of[-1:])
        if maker is None or maker.definition is not ARRAY or maker.inputs[0] not in found.settled:
            return False
        return not maker.attrs.get("dynamic_size") or (once and self._growing.isdisjoint({of[-1:], ()}))
