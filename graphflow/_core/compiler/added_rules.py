"""Lowering rules of ops that are defined outside of graphflow; those of its own stand in `cpu` and `gpu`.

An extension is imported before anything is compiled, so this imports none of the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphflow._core.graph.op_def import is_extension

TARGETS: Final = ("cpu", "gpu")

_RULES: Final[Mapping[str, dict[str, Any]]] = {target: {} for target in TARGETS}
"""By target, the rule of each op type: a `compiler.lower.Rule`."""


def add_rule(op_types: Sequence[str], rule: Any, targets: Sequence[str]) -> None:
    """Registers a rule for op types of extensions.

    KeyError for an op type that is not defined, ValueError for one of graphflow's own or one that has a rule.
    """
    for op_type in op_types:
        if not is_extension(op_type):
            raise ValueError(f"{op_type} is an op of graphflow's own: its lowering is not to be changed.")
        for target in targets:
            if op_type in _RULES[target]:
                raise ValueError(f"{op_type} has a lowering rule for {target} already.")
            _RULES[target][op_type] = rule


def added_rules(target: str) -> Mapping[str, Any]:
    """The rules for a target by op type."""
    return _RULES[target]
