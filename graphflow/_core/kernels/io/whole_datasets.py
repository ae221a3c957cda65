"""Kernels that go through a dataset within one run, without an iterator."""

from __future__ import annotations

from typing import Any

from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets.base import Context
from graphflow._core.resources.datasets.mapping import MapDataset


@kernel("ReduceDataset", stateful=True)
def _reduce(node: Node) -> Kernel:
    attrs = node.attrs
    origin = node.origin or Origin(node.name, node.type, ("<unknown>", 0))
    count = len(attrs["Tstate"])

    def reduce(run: Any, source: Any, *rest: Any) -> Any:
        state = tuple(rest[:count])
        step = MapDataset(origin, source, attrs["f"], rest[count:])
        context = Context(run.store)
        try:
            runner, walk = context.function(step.function), source.walk(context)
            while (element := walk.next(run)) is not None:
                run.check()
                state = step.call(runner, (*state, *element))
        finally:
            context.close()
        return state[0] if count == 1 else state

    return reduce
