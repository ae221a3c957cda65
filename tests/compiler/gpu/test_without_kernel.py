"""Protects the list of ops without a kernel on a GPU: complete, each op once; and what docs/gpu.md names has one."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from graphflow._core.compiler.gpu.rules import has_kernel
from graphflow._core.compiler.gpu.without_kernel import REASONS, reason_without_kernel
from graphflow._core.compiler.support import op_types
from graphflow._core.graph.op_def import is_extension

OWN = [t for t in op_types() if not is_extension(t)]
PAGE = (Path(__file__).parents[3] / "docs" / "gpu.md").read_text()


def matching(patterns: list[str] | tuple[str, ...]) -> set[str]:
    """The op types that patterns name, each of which names one."""
    found = [{t for t in OWN if fnmatchcase(t, pattern)} for pattern in patterns]
    for pattern, types in zip(patterns, found, strict=True):
        assert types, f"{pattern}: there is no such op"
    return set().union(*found)


def test_the_list_is_complete_and_names_each_op_once() -> None:
    listed = [matching(tuple(patterns)) - matching(tuple(others)) for _, patterns, others in REASONS]
    everything = set().union(*listed)
    assert everything == {t for t in OWN if not has_kernel(t)}
    assert sum(map(len, listed)) == len(everything), "an op is listed twice"
    assert all((reason_without_kernel(t) is None) == has_kernel(t) for t in OWN)


def test_what_the_table_of_kernels_names_has_one() -> None:
    section = re.split(r"\n##+ ", PAGE.split("## Kernels\n", 1)[1])[0]
    for row in [line for line in section.splitlines() if line.startswith("| ")][1:]:
        for op_type in matching(re.findall(r"`([\w*]+)`", row.removeprefix("| ").split(" | ")[0])):
            assert has_kernel(op_type), op_type
