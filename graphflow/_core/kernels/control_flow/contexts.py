"""NumPy kernels of the stacks that keep what the rounds of a loop have computed, for the loop of its gradient."""

from __future__ import annotations

from typing import Any

from graphflow._core.kernels.registry import Kernel, Node, kernel


@kernel("StackPushV2", stateful=True)
def _push(node: Node) -> Kernel:
    name = node.attrs["stack"]

    def push(run: Any, value: Any) -> Any:
        run.per_run.setdefault(name, []).append(value)
        return value

    return push


@kernel("StackPopV2", stateful=True)
def _pop(node: Node) -> Kernel:
    name = node.attrs["stack"]
    return lambda run: run.per_run[name].pop()
