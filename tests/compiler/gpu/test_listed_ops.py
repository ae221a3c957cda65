"""Protects that docs/gpu.md says which ops have a kernel on a GPU and which have none."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

from graphflow._core.compiler.gpu.rules import has_kernel
from graphflow._core.graph.op_def import registry
from tests.ops import op_samples

PAGE = (Path(__file__).parents[3] / "docs" / "gpu.md").read_text()


def rows(heading: str) -> list[str]:
    """The lines of the table under a heading."""
    section = re.split(r"\n##+ ", PAGE.split(f"{heading}\n", 1)[1])[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]


def matching(patterns: str) -> set[str]:
    """The op types that a cell names: "`Tile`, `Sparse*` but for `SparseApply*`"."""
    wanted, _, others = patterns.partition("but for")
    names, left_out = (re.findall(r"`([\w*]+)`", text) for text in (wanted, others))
    for name in names:
        assert any(fnmatchcase(t, name) for t in registry()), f"{name}: there is no such op"
    return {
        t
        for t in registry()
        if any(fnmatchcase(t, n) for n in names) and not any(fnmatchcase(t, n) for n in left_out)
    }


def test_the_table_of_ops_without_a_kernel_is_complete() -> None:
    assert op_samples.TABLE  # With it the modules of all ops are loaded.
    listed = [matching(row.split(" | ")[1]) for row in rows("### Ops without a kernel")]
    everything = set().union(*listed)
    assert everything == {t for t in registry() if not has_kernel(t)}
    assert sum(map(len, listed)) == len(everything), "an op is listed twice"


def test_what_the_table_of_kernels_names_has_one() -> None:
    for row in rows("## Kernels"):
        for op_type in matching(row.removeprefix("| ").split(" | ")[0]):
            assert has_kernel(op_type), op_type
