"""Several elementwise kernels as one launch: each gets some of the blocks.

An optimizer's step over twenty parameters is twenty short kernels, and starting them takes longer than running them.
Their texts become branches of one kernel, with names of their own; kernels with the same text stay apart all the same,
since each has its own arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import Final

from graphflow.kernels.cuda.toolkit import Launch

START: Final = "    i = cuda.grid(1)\n    step = cuda.gridsize(1)\n"
"""The lines of an elementwise kernel that say which elements a thread takes."""
_MOST_BYTES: Final = 4000
"""Arguments of a kernel may take 4096 bytes on every GPU."""
_ARRAY_BYTES: Final = 56


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
def _parts(source: str, number: int) -> tuple[list[str], str]:
    """The parameters of a kernel and the text of its body, with every name marked by a number."""
    text = source.replace(
        START,
        "    i = (cuda.blockIdx.x - first) * cuda.blockDim.x + cuda.threadIdx.x\n"
        "    step = blocks * cuda.blockDim.x\n",
    )
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    parameters = ["first", "blocks", *(a.arg for a in function.args.args)]
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    renaming = _Renaming({*parameters, *stored}, f"__{number}")
    body = [ast.unparse(ast.fix_missing_locations(renaming.visit(line))) for line in function.body]
    return [f"{p}__{number}" for p in parameters], "\n".join(body)


@cache
def merged_source(sources: tuple[str, ...]) -> str:
    """The text of one kernel that does what several do."""
    parameters: list[str] = []
    lines: list[str] = []
    for number, source in enumerate(sources):
        names, body = _parts(source, number)
        parameters += names
        keyword = "if" if number == 0 else "elif"
        lines.append(f"    {keyword} cuda.blockIdx.x < first__{number} + blocks__{number}:")
        lines += [f"        {line}" for line in body.splitlines()]
    return "\n".join([f"def kernel({', '.join(parameters)}):", *lines, ""])


def merged(launches: Sequence[Launch]) -> list[Launch]:
    """The same work in as few launches as arguments allow; all are elementwise and none needs another."""
    result: list[Launch] = []
    batch: list[Launch] = []
    size = 0
    for launch in launches:
        added = argument_bytes(launch) + 16
        if batch and size + added > _MOST_BYTES:
            result.append(_merge(batch))
            batch, size = [], 0
        batch.append(launch)
        size += added
    return [*result, _merge(batch)] if batch else result


def _merge(launches: Sequence[Launch]) -> Launch:
    if len(launches) == 1:
        return launches[0]
    arguments: list[object] = []
    first = 0
    for launch in launches:
        assert isinstance(launch.blocks, int)
        arguments += [first, launch.blocks, *launch.arguments]
        first += launch.blocks
    source = merged_source(tuple(launch.source for launch in launches))
    return Launch(source, first, launches[0].threads, tuple(arguments))
