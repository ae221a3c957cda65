"""Sizes of results that are fed as values: dense shapes, and ids of segments, of which the last is the most.

A plan on a GPU knows all shapes. So there is one for each combination of such sizes, as there is one for each
combination of fed shapes. The host finds them in what is fed, by the plan's own instructions
(runtime/gpu/fed_sizes.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.compiler.shared.repeated_rows import constant
from graphflow._core.graph import shapes
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.sizes import DENSE_SHAPES, FOLLOWED, SEGMENT_IDS

SEGMENTS: Final = "segments"
"""The attribute of an instruction whose ids are known to name so many segments."""

Sizes = tuple[tuple[int, ...], ...]


def _segments(ids: Any) -> tuple[int, ...]:
    """How many segments some ids name."""
    return (int(np.reshape(ids, -1)[-1]) + 1 if np.size(ids) else 0,)


class FedSizes:
    """What of a plan has sizes that follow from its feeds."""

    def __init__(self, plan: Plan) -> None:
        self._makers = {o: i for i in plan.instructions for o in i.outputs if o not in plan.feeds}
        self._feeds = frozenset(plan.feeds)
        self._names: dict[str, str] = {}
        work: set[str] = set()
        for i in plan.instructions:
            position = DENSE_SHAPES.get(i.type, SEGMENT_IDS.get(i.type))
            found = None if position is None else self._from_feeds(i.inputs[position])
            if position is not None and found is not None:
                self._names[i.name] = i.inputs[position]
                work |= found
        self._values = tuple(dict.fromkeys(self._names.values()))
        instructions = [i for i in plan.instructions if i.name in work]
        needed = {n for i in instructions for n in i.inputs} | set(self._values)
        self.taken = [k for k, name in enumerate(plan.feeds) if name in needed]
        """The positions of the feeds that decide."""
        part = Plan(tuple(instructions), tuple(plan.feeds[k] for k in self.taken), self._values)
        self.part = part if self._values else None
        """Makes the values that say the sizes from those feeds; None if no size follows from a feed."""
        self._ids = {
            self._names[i.name] for i in plan.instructions if i.type in SEGMENT_IDS and i.name in self._names
        }

    def _from_feeds(self, name: str) -> set[str] | None:
        """The instructions that make a value of what is fed and of constants; None if there are others."""
        if name in self._feeds:
            return set()
        maker = self._makers.get(name)
        if maker is None or maker.type not in FOLLOWED:
            return None
        found = {maker.name}
        for before in map(self._from_feeds, maker.inputs):
            if before is None:
                return None
            found |= before
        return found

    def sizes(self, values: Sequence[Any]) -> Sizes:
        """The sizes that the values of `part` say, as `settled` takes them."""
        pairs = zip(self._values, values, strict=True)
        return tuple(
            [_segments(v) if name in self._ids else tuple(np.reshape(v, -1).tolist()) for name, v in pairs]
        )

    def settled(self, plan: Plan, sizes: Sizes) -> Plan | None:
        """The plan in which these sizes are known, all unknown for (); None if the graph says other shapes."""
        known = dict(zip(self._values, sizes, strict=False))
        instructions: list[Instruction] = []
        for i in plan.instructions:
            size = known.get(self._names.get(i.name, ""))
            if size is None:
                instructions.append(i)
                continue
            if not _agree(i, size):
                return None
            if i.type in SEGMENT_IDS:
                dims = i.shapes[0]
                fixed = i.shapes if dims is None else ((*size, *dims[1:]),)
                instructions.append(replace(i, shapes=fixed, attrs={**i.attrs, SEGMENTS: size[0]}))
                continue
            position = DENSE_SHAPES[i.type]
            made = constant(i, f"{i.name}/dense_shape", np.array(size, np.int64))
            inputs = (*i.inputs[:position], made.outputs[0], *i.inputs[position + 1 :])
            instructions += [made, replace(i, inputs=inputs)]
        return plan.with_instructions(instructions)


def _agree(i: Instruction, size: tuple[int, ...]) -> bool:
    """Whether a size gives the shape that the graph says of a result."""
    dims = i.shapes[0]
    if i.type != "SparseToDense":
        row = int(bool(i.attrs.get("adjoint_a")))
        dims, size = None if dims is None else dims[:1], size[row : row + 1]
    return dims is None or shapes.compatible(dims, size)
