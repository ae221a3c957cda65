"""A module of PTX as C: constant arrays, functions, and the table of kernels that the driver finds in the library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tests.emulated_gpu.translation.function import Function
from tests.emulated_gpu.translation.instruction import Untranslated
from tests.emulated_gpu.translation.types import C_TYPES, c_name, size_of

_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_HEADER: Final = re.compile(r"^\s*\.(version|target|address_size)[^\n]*$", re.M)
_HEAD: Final = re.compile(r"\s*([^{};]*?)\s*([{;])")
_BRACE: Final = re.compile(r"[{}]")
_FUNCTION: Final = re.compile(r"[^(]*\.(entry|func)\s*(?:\(([^)]*)\))?\s*([\w$]+)\s*(?:\(([^)]*)\))?")
_ARRAY: Final = re.compile(
    r"(?:\.visible |\.weak |\.extern )*\.(?:global|const) (?:\.align (\d+) )?\.(\w+) ([\w$]+)(?:\[(\d*)\])?"
    r"(?: ?= ?(.*))?"
)


class _Part(NamedTuple):
    """A function of a module: "entry" or "func", and its texts."""

    kind: str
    name: str
    result: str
    parameters: str
    body: str


def translated(ptx: str, text: str = "") -> str:
    """The module as C, which includes kernel.h. text: the file that messages name instead of the kernels."""
    symbols: dict[str, str] = {}
    declarations: list[str] = []
    functions: list[str] = []
    rows: list[str] = []
    source = _HEADER.sub("", _COMMENT.sub("", ptx)).replace("\0", "")
    for part in _parts(source):
        if isinstance(part, str):
            name, line = _array(part)
            symbols[name] = f"(u64)(uintptr_t){c_name(name)}"
            declarations.append(line)
            continue
        kind, name, result, parameters, body = part
        function = Function(kind, name, result, parameters, symbols)
        functions.append(function.text(body))
        declarations.append(f"{function.declaration};")
        if kind == "entry":
            rows.append(_row(function, text or name))
    table = ["const Kernel emulated_kernels[] = {", *rows, "  {0}", "};", ""]
    return "\n".join(['#include "kernel.h"', *declarations, *functions, *table])


def _row(function: Function, text: str) -> str:
    """A kernel's line of the table."""
    offsets = ", ".join(f"{{{offset}, {size}}}" for offset, size in function.parameters) or "{0}"
    return (
        f'  {{"{function.name}", {json.dumps(text)}, {c_name(function.name)}, {function.shared}, '
        f"{int(function.meets)}, {len(function.parameters)}, (const Parameter[]){{{offsets}}}}},"
    )


def _parts(source: str) -> Iterator[_Part | str]:
    """The functions of a module, and the declarations of its arrays."""
    place = 0
    while match := _HEAD.match(source, place):
        head, end = match.groups()
        if end == ";" or "=" in head:
            stop = source.index(";", match.start(2))
            if not re.search(r"\.(func|entry)\b", head):
                yield source[match.start(1) : stop]
            place = stop + 1
            continue
        depth, place = 1, match.end(2)
        while depth:
            brace = _BRACE.search(source, place)
            if brace is None:
                raise Untranslated(f"{head}: a brace is not closed")
            depth += 1 if brace[0] == "{" else -1
            place = brace.end()
        function = _FUNCTION.match(head)
        if function is None:
            raise Untranslated(head)
        kind, result, name, parameters = function.groups()
        yield _Part(kind, name, result or "", parameters or "", source[match.end(2) : place - 1])


def _array(statement: str) -> tuple[str, str]:
    """The name and the C of an array, `.global .align 8 .b8 name[n] = {…}`."""
    match = _ARRAY.fullmatch(" ".join(statement.split()))
    if match is None:
        raise Untranslated(statement)
    align, kind, name, count, values = match.groups()
    values = values or "{0}"
    values = values if values.startswith("{") else f"{{{values}}}"
    aligned = f"__attribute__((aligned({align or size_of(kind)})))"
    return name, f"static {C_TYPES[kind]} {c_name(name)}[{count or 1}] {aligned} = {values};"
