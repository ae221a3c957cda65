"""DeviceNode: a node of a plan whose kernels are launches on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from graphflow._core.codegen.gpu.toolkit import Work
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.nodes import KernelNode
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction


@dataclass(frozen=True)
class Buffers:
    """Where things lie on the device.

    device: the number of the GPU. array: the elements of a value's block, from the value's lowest on.
    status: where kernels say what went wrong, as codegen/gpu/status has it.
    number: the node's, for the status. words: the words that `before` of the node returns, None if it has none.
    """

    device: int
    array: Callable[[Value], Any]
    status: Any
    number: int
    words: Any = None


Build: TypeAlias = "Callable[[Buffers], Sequence[Work]]"
Messages: TypeAlias = "Mapping[int, str]"
Before: TypeAlias = "Callable[[Any], Any]"
"""Given the run, the words (an int64 array of fixed size) that the node's kernels take this time."""


@dataclass(eq=False)
class DeviceNode(KernelNode):
    """What is no fused region: `build` gives its launches, in order.

    before: if it is given, a run first asks it for `words` words from the host, such as the counter of a random
    state; they reach the device with the feeds. messages: what codes in the status mean, but for
    what the plan says of itself.
    """

    build: Build | None = None
    messages: Messages | None = None
    before: Before | None = None
    words: int = 0


def device_node(
    i: Instruction,
    reads: Sequence[Value],
    targets: Sequence[Value],
    build: Build,
    variables: Sequence[str] = (),
    before: Before | None = None,
    words: int = 0,
    messages: Messages | None = None,
    fallible: bool = False,
) -> DeviceNode:
    """A node that reads some values and fills others."""
    return DeviceNode(
        i,
        list(reads),
        [t.root for t in targets],
        list(variables),
        build=build,
        messages=messages,
        fallible=fallible,
        before=before,
        words=words,
    )
