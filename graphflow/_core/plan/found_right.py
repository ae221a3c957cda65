"""Remembers which types of results were found right, so that verification infers equal instructions once a process.

Programs are made of instructions that are alike: a shape rule that looks at nothing but the dtypes and shapes of its
inputs and at attributes says the same of all that are equal in these. So does one that looks at the values of constant
inputs, if these are equal too. A rule that looks further is asked each time.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Final

import numpy as np

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.op_def import OpDef
from graphflow._core.plan.inference import Makers, Type
from graphflow._core.plan.ir import Instruction

_MOST: Final = 4096
"""Keys that are kept, of some kilobytes at most. Then all are forgotten: names among attributes make ever new ones."""
_LONGEST: Final = 64
"""Elements of a constant, or of a list or tuple among attributes, that may be part of a key."""
_PLAIN: Final = frozenset({bool, int, float, str, bytes, type(None)})
"""Types of attributes that are compared by value. Their types are part of a key, as 1 and True are equal."""


class FoundRight:
    """The instructions whose results have the types that their definitions infer, by all that this depends on.

    For several threads: what one forgets, another infers again.
    """

    def __init__(self) -> None:
        self._keys: set[Hashable] = set()
        self._looking: set[OpDef] = set()
        """The definitions whose rules have looked at what makes an input: their keys have the constants among these."""

    def key(self, definition: OpDef, i: Instruction, types: Sequence[Type], level: Makers) -> Hashable | None:
        """All that a rule may see of an instruction of a level, but for inputs that are no constants, and what the
        instruction says of its results; None if an attribute cannot be part of a key.
        """
        attributes = _attributes(i)
        if attributes is None:
            return None
        key = definition, *types, attributes, i.dtypes, i.shapes
        if definition in self._looking:
            return (*key, *[_constant(level, name) for name in i.inputs])
        return key

    def __contains__(self, key: Hashable) -> bool:
        return key in self._keys

    def add(
        self, key: Hashable, definition: OpDef, i: Instruction, level: Makers, looked: Collection[str]
    ) -> None:
        """Remembers what was found right, if the values whose makers the rule has looked at are part of the key."""
        if looked:
            if definition not in self._looking:
                self._looking.add(definition)
                return
            if any(name not in i.inputs or _constant(level, name) is None for name in looked):
                return
        if len(self._keys) >= _MOST:
            self._keys.clear()
        self._keys.add(key)

    def forget(self) -> None:
        """Forgets everything."""
        self._keys.clear()
        self._looking.clear()


def _attributes(i: Instruction) -> Hashable | None:
    """The attributes by value; None if one cannot be told so, as a function or an array of many numbers."""
    parts: list[object] = []
    for name, value in i.attrs.items():
        kind = type(value)
        if kind is DType:
            parts += (name, value.name)
        elif kind in _PLAIN:
            parts += (name, kind, value)
        elif (kind is tuple or kind is list) and len(value) <= _LONGEST:
            kinds = [type(v) for v in value]
            if not _PLAIN.issuperset(kinds):
                return None
            parts += (name, kind, *kinds, *value)
        elif kind is np.ndarray and i.is_constant:
            parts += (name, value.dtype, value.shape)  # Its values say nothing of its type.
        else:
            return None
    return tuple(parts)


def _constant(level: Makers, name: str) -> Hashable | None:
    """The value of an input that is a small constant."""
    made = level.made(name)
    if made is None or not made[0].is_constant:
        return None
    value = made[0].attrs["value"]
    if value.size > _LONGEST or value.dtype.hasobject:
        return None
    return value.dtype, value.shape, value.tobytes()


RIGHT: Final = FoundRight()
"""What was found right in this process."""
