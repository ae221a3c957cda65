"""Several elementwise kernels as one launch: each gets some of the blocks.

An optimizer's step over twenty parameters is twenty short kernels, and starting them takes longer than running them.
Each text becomes a branch of one kernel, with names of its own; of the launches with that text a block picks the
arguments of one, so that the kernel is not longer for twenty parameters than for one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import Final, TypeAlias

from graphflow._core.codegen.gpu.toolkit import Launch
from graphflow._core.common.syntax import parse

START: Final = "    i = cuda.grid(1)\n    step = cuda.gridsize(1)\n"
"""The lines of an elementwise kernel that say which elements a thread takes."""
_MOST_BYTES: Final = 4000
"""Arguments of a kernel may take 4096 bytes on every GPU."""
_ARRAY_BYTES: Final = 56
_MOST_TEXTS: Final = 4
"""Texts in one kernel: the longer it is, the longer it takes to compile."""


_Text: TypeAlias = tuple[str, tuple[str, ...]]


def _text(launch: Launch) -> _Text:
    """A launch's text and the dtypes of its arrays: only launches that are alike in both can share a branch."""
    return launch.source, tuple(str(a.dtype) for a in launch.arguments if hasattr(a, "dtype"))


def argument_bytes(launch: Launch) -> int:
    """The bytes that the arguments of a launch take."""
    return sum(_ARRAY_BYTES if hasattr(a, "dtype") and hasattr(a, "shape") else 8 for a in launch.arguments)


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: set[str], suffix: str) -> None:
        self._names = names
        self._suffix = suffix

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A name of the kernel's own."""
        if node.id in self._names:
            node.id += self._suffix
        return node


@cache
def _branch(source: str, number: int) -> tuple[list[str], str]:
    """The parameters of a kernel and the text of its body, with every name marked by a number."""
    text = source.replace(
        START,
        "    i = (cuda.blockIdx.x - first) * cuda.blockDim.x + cuda.threadIdx.x\n"
        "    step = blocks * cuda.blockDim.x\n",
    )
    function = parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    parameters = ["first", "blocks", *(a.arg for a in function.args.args)]
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    renaming = _Renaming({*parameters, *stored}, f"_{number}")
    body = [ast.unparse(ast.fix_missing_locations(renaming.visit(line))) for line in function.body]
    return [f"{p}_{number}" for p in parameters], "\n".join(body)


@cache
def merged_source(texts: tuple[tuple[str, int], ...]) -> str:
    """The text of one kernel for several texts, with the number of launches of each.

    Its arguments are those of all launches in order, each time after its first block and the number of its blocks.
    """
    parameters: list[str] = []
    lines: list[str] = []
    for number, (source, count) in enumerate(texts):
        names, body = _branch(source, number)
        given = [[f"{name}__{k}" for name in names] for k in range(count)]
        parameters += [name for launch in given for name in launch]
        end = f"{given[-1][0]} + {given[-1][1]}"
        lines.append(f"    {'if' if number == 0 else 'elif'} cuda.blockIdx.x < {end}:")
        for k, launch in enumerate(given):
            condition = f"if cuda.blockIdx.x < {launch[0]} + {launch[1]}:"
            word = (
                "if True:"
                if count == 1
                else condition
                if k == 0
                else f"el{condition}"
                if k < count - 1
                else "else:"
            )
            lines.append(f"        {word}")
            lines += [f"            {name} = {value}" for name, value in zip(names, launch, strict=True)]
        lines += [f"        {line}" for line in body.splitlines()]
    return "\n".join([f"def kernel({', '.join(parameters)}):", *lines, ""])


def merged(launches: Sequence[Launch]) -> list[Launch]:
    """The same work in as few launches as arguments allow; none needs another.

    What does not walk elements with the stride of the grid stays by itself.
    """
    by_text: dict[_Text, list[Launch]] = {}
    for launch in launches:
        by_text.setdefault(_text(launch), []).append(launch)
    result = [launch for launch in launches if START not in launch.source]
    batch: list[Launch] = []
    size = 0
    for launch in (launch for same in by_text.values() for launch in same if START in launch.source):
        added = argument_bytes(launch) + 16
        texts = {_text(other) for other in batch} | {_text(launch)}
        if batch and (size + added > _MOST_BYTES or len(texts) > _MOST_TEXTS):
            result.append(_merge(batch))
            batch, size = [], 0
        batch.append(launch)
        size += added
    return [*result, _merge(batch)] if batch else result


def _merge(launches: Sequence[Launch]) -> Launch:
    if len(launches) == 1:
        return launches[0]
    arguments: list[object] = []
    texts: dict[_Text, int] = {}
    first = 0
    for launch in launches:
        assert isinstance(launch.blocks, int)
        arguments += [first, launch.blocks, *launch.arguments]
        texts[_text(launch)] = texts.get(_text(launch), 0) + 1
        first += launch.blocks
    return Launch(
        merged_source(tuple((source, count) for (source, _), count in texts.items())),
        first,
        launches[0].threads,
        tuple(arguments),
    )
