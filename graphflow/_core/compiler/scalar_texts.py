"""The scalar texts of ops, with what an instruction puts into them.

So a power that is -0.5 becomes a root: Ftrl's is a number that is given, and -0.5 as a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError, parse
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction

_NEGATIVE_POWER: Final = re.compile(r"pow\((\w+|\{\w+\}), -\{(\w+)\}\)")


def scalar_text(i: Instruction, text: str, names: Mapping[str, str]) -> str:
    """A scalar text of an op, with operands and attributes put in."""

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name.startswith("@"):
            attribute = i.attrs[name[1:]]
            return str(attribute.name if hasattr(attribute, "as_numpy_dtype") else repr(attribute))
        return names[name]

    return re.sub(r"\{(@?\w+)\}", replace, text)


def expressible(text: str, reads: Sequence[Value], dtype: str) -> bool:
    """Whether a text over reads {0}, {1}, ... is in the scalar language."""
    places = {f"p{k}": value.dtype for k, value in enumerate(reads)}
    try:
        parse(re.sub(r"\{(\d+)\}", r"p\1", text), dtype, places)
    except ScalarTextError:
        return False
    return True


def with_roots(i: Instruction, texts: Sequence[str], constant: Callable[[str], Any]) -> tuple[str, ...]:
    """The texts of an update with sqrt(x) for pow(x, -{number}) if that number is the constant -0.5."""
    assert i.definition is not None
    names = [spec.name for spec in i.definition.inputs]

    def replace(match: re.Match[str]) -> str:
        power = constant(i.inputs[names.index(match.group(2))])
        half = power is not None and np.shape(power) == () and float(power) == -0.5
        return f"sqrt({match.group(1)})" if half else match.group(0)

    return tuple(_NEGATIVE_POWER.sub(replace, text) for text in texts)
