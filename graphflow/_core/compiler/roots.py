"""Square roots in the texts of updates: Ftrl's power is a number that is given, and -0.5 as a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.plan.ir import Instruction

_NEGATIVE_POWER: Final = re.compile(r"pow\((\w+|\{\w+\}), -\{(\w+)\}\)")


def with_roots(i: Instruction, texts: Sequence[str], constant: Callable[[str], Any]) -> tuple[str, ...]:
    """The texts of an update with sqrt(x) for pow(x, -{number}) if that number is the constant -0.5."""
    assert i.definition is not None
    names = [spec.name for spec in i.definition.inputs]

    def replace(match: re.Match[str]) -> str:
        power = constant(i.inputs[names.index(match.group(2))])
        half = power is not None and np.shape(power) == () and float(power) == -0.5
        return f"sqrt({match.group(1)})" if half else match.group(0)

    return tuple(_NEGATIVE_POWER.sub(replace, text) for text in texts)
