"""Turns the status that kernels have left into an error."""

from __future__ import annotations

from collections.abc import Sequence

import graphflow.errors as errors
from graphflow._core.codegen.gpu.status import DIVISION
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.gpu.nodes import DeviceNode
from graphflow._core.kernels.math.arithmetic import DIVISION_BY_ZERO
from graphflow._core.runtime.explain import failure


def raise_failure(words: Sequence[int], groups: Sequence[Group]) -> None:
    """Raises the error of a kernel, if one has left a status; `groups` are the plan's."""
    code, number, index, limit = words
    if not code:
        return
    node = groups[number - 1].fallible_node
    messages = node.messages if isinstance(node, DeviceNode) and node.messages is not None else {}
    usual = DIVISION_BY_ZERO if code == DIVISION else f"the index {index} is not in [0, {limit})"
    raise failure(node.instruction, messages.get(code, usual), errors.InvalidArgumentError)
