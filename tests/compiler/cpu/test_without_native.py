"""Protects the list of ops without a native form: complete, each op once, no pattern for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from graphflow._core.compiler.cpu.without_native import REASONS, reason_without_native
from graphflow._core.compiler.support import op_types, support
from graphflow._core.graph.op_def import is_extension

OWN = [t for t in op_types() if not is_extension(t)]


def matching(patterns: Sequence[str]) -> set[str]:
    """The op types that patterns name, each of which names one."""
    found = [{t for t in OWN if fnmatchcase(t, pattern)} for pattern in patterns]
    for pattern, types in zip(patterns, found, strict=True):
        assert types, f"{pattern}: there is no such op"
    return set().union(*found)


def test_the_list_is_complete_and_names_each_op_once() -> None:
    listed = [matching(patterns) - matching(others) for _, _, patterns, others in REASONS]
    everything = set().union(*listed)
    assert everything == {t for t in OWN if not support(t).compiled}
    assert sum(map(len, listed)) == len(everything), "an op is listed twice"
    assert all((reason_without_native(t) is None) == bool(support(t).compiled) for t in OWN)
    assert all(reason and cost for reason, cost, _, _ in REASONS)
