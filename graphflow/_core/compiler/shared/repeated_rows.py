"""Sparse updates of rows that may repeat, if it is not known beforehand how many different ones there are.

Optimizers sum the gradients of equal rows: `unique`, then a segment for each different row. How many there are would
decide the shapes of all that follows. Here there is a segment for each index instead, that of the first index equal to
it; the others stay empty, their row is marked, and updates leave it out. So all shapes follow from the number of
indices. How equal indices are found and marked is the business of the rules for FIRSTS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.graph import dtypes
from graphflow._core.plan.ir import Instruction, Plan

FIRSTS: Final = "FirstOfEqualRows"
"""Gives for each index its row, marked if an index before is equal, and the place of the first equal one."""
_SCATTERS: Final = frozenset({"ScatterAdd", "ScatterSub"})
_FLOATS: Final = ("float32", "float64")


class _Users:
    """Who takes what in a plan."""

    def __init__(self, plan: Plan) -> None:
        self.fetched = set(plan.fetches)
        self.makers = {o: i for i in plan.instructions for o in i.outputs}
        self.of: dict[str, list[Instruction]] = {}
        for i in plan.instructions:
            for name in dict.fromkeys(i.free_variables()):
                self.of.setdefault(name, []).append(i)


class _Repeated:
    """What follows from one `unique` of row numbers; `fits` if all of it can go by the number of indices."""

    def __init__(self, unique: Instruction, users: _Users, known: Known) -> None:
        self._users = users
        self._known = known
        self.unique = unique
        self.rows, self.positions = unique.outputs[:2]
        self.sums: list[Instruction] = []
        self.sizes: dict[str, Instruction] = {}
        self.updates: dict[str, Instruction] = {}
        self.padded: dict[str, Instruction] = {}
        self.heights: set[int] = set()
        self.fits = self._look()

    def _look(self) -> bool:
        shape, dtype = self._known[self.unique.inputs[0]]
        if len(shape) != 1 or not shape[0] or dtype not in ("int32", "int64"):
            return False
        counts = [o for i in self._users.of.get(self.rows, []) if i.type == "Shape" for o in i.outputs]
        numbers: list[str] = []
        for name in counts:
            for i in self._users.of.get(name, []):
                if i.type != "StridedSlice" or i.inputs[0] != name:
                    return False
                self.sizes[i.name] = i
                numbers += i.outputs
        self.sizes.update({self._users.makers[name].name: self._users.makers[name] for name in counts})
        self.sums = self._users.of.get(self.positions, [])
        for i in self.sums:
            if i.type != "UnsortedSegmentSum" or i.inputs[1] != self.positions or i.inputs[2] not in numbers:
                return False
        names = {i.name for i in self.sums}
        if any(i.name not in names for name in numbers for i in self._users.of.get(name, [])):
            return False
        todo = [o for i in self.sums for o in i.outputs]
        while todo:
            name = todo.pop()
            if name not in self.padded:
                self.padded[name] = self._users.makers[name]
                if not all(self._follows(i, todo) for i in self._users.of.get(name, [])):
                    return False
        others = [i for i in self._users.of.get(self.rows, []) if i.name not in self.sizes]
        taken = {*self.padded, self.rows, self.positions, *counts, *numbers}
        return (
            bool(self.heights)
            and all(i.name in self.updates for i in others)
            and not taken & self._users.fetched
        )

    def _follows(self, i: Instruction, todo: list[str]) -> bool:
        """Whether an instruction can take more rows than there are different ones; adds what it makes of them."""
        definition = i.definition
        sparse = i.type.startswith("SparseApply") and i.inputs[-1] == self.rows
        if sparse or (i.type in _SCATTERS and i.inputs[1] == self.rows):
            shape, dtype = self._known.get(i.inputs[0], ((), ""))
            position = len(i.inputs) - 2 if sparse else 2
            others = [n for k, n in enumerate(i.inputs) if k != position]
            maker = self._users.makers.get(i.inputs[0])
            plain = maker is not None and maker.is_variable and dtype in _FLOATS and len(shape) > 0
            if not plain or 0 in shape or any(n in self.padded for n in others):
                return False
            self.updates[i.name] = i
            self.heights.add(shape[0])
            return True
        if definition is None or definition.scalar is None or definition.writes or len(i.outputs) != 1:
            return False
        shape = self._known[i.outputs[0]][0]
        alike = [self._known[n][0] in ((), shape) for n in i.inputs]
        beside = [n for n in i.inputs if self._known[n][0] != ()]
        made = {o for s in self.sums for o in s.outputs} | set(self.padded) | set(todo)
        if not all(alike) or any(n not in made for n in beside):
            return False
        todo += i.outputs
        return True


def with_repeated_rows(plan: Plan, known: Known) -> tuple[Plan, Known]:
    """The plan, and the shapes of its values, with sparse updates whose shapes follow from the number of indices."""
    users = _Users(plan)
    found = [_Repeated(i, users, known) for i in plan.instructions if i.type == "Unique"]
    found = [f for f in found if f.fits and len(f.heights) == 1]
    if not found:
        return plan, known
    shapes = dict(known)
    changed: dict[str, Sequence[Instruction]] = {}
    for f in found:
        count = known[f.unique.inputs[0]][0][0]
        for name in (f.rows, f.positions):
            shapes[name] = ((count,), known[name][1])
        for name in f.padded:
            shapes[name] = ((count, *known[name][0][1:]), known[name][1])
        rows = next(iter(f.heights))
        changed[f.unique.name] = [replace(f.unique, type=FIRSTS, attrs={**f.unique.attrs, "rows": rows})]
        changed.update((name, []) for name in f.sizes)
        for i in f.sums:
            size = constant(i, f"{i.name}/indices", np.array(count, np.int32))
            shapes[size.outputs[0]] = ((), "int32")
            changed[i.name] = [size, replace(i, inputs=(*i.inputs[:2], size.outputs[0]))]
        for name, i in f.updates.items():
            changed[name] = [replace(i, attrs={**i.attrs, "dropping": True})]
    return plan.with_instructions([n for i in plan.instructions for n in changed.get(i.name, [i])]), shapes


def constant(i: Instruction, name: str, value: Any) -> Instruction:
    """A constant beside an instruction."""
    dtype = dtypes.as_dtype(value.dtype)
    return replace(
        i,
        name=name,
        type="Const",
        inputs=(),
        outputs=(f"{name}:0",),
        dtypes=(dtype,),
        shapes=(value.shape,),
        attrs={"value": value, "dtype": dtype},
        control=(),
        origin=None,
    )
