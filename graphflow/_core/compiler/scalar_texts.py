"""The scalar texts of ops, with what an instruction puts into them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError, parse
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction


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
