"""The ops of accumulators. One lives in the store, under its shared name or its op's; its handle is itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphflow._core.graph import shapes
from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.accumulators import (
    Accumulator,
    AccumulatorConfig,
    DenseAccumulator,
    SparseAccumulator,
)


def _accumulator(node: Node, kind: Any) -> Kernel:
    attrs = node.attrs
    config = AccumulatorConfig(
        node.type.removeprefix("Resource"),
        attrs["dtype"],
        shapes.as_dims(attrs["shape"]),
        attrs["reduction_type"] == "MEAN",
    )
    name = attrs["shared_name"] or node.name
    key = resource_name(attrs, node.name, "accumulator/")

    def find(run: Any) -> Accumulator[Any]:
        found: Accumulator[Any] = run.store.other(key, lambda: kind(name, config))
        found.check_same(config)
        return found

    return find


kernel("ResourceConditionalAccumulator", stateful=True)(partial(_accumulator, kind=DenseAccumulator))
kernel("SparseConditionalAccumulator", stateful=True)(partial(_accumulator, kind=SparseAccumulator))


@kernel("ResourceAccumulatorApplyGradient", stateful=True)
def _apply(node: Node) -> Kernel:
    return lambda run, held, step, gradient: held.apply(run, int(step), (gradient,))


@kernel("SparseAccumulatorApplyGradient", stateful=True)
def _apply_rows(node: Node) -> Kernel:
    known = node.attrs["has_known_shape"]

    def run(run: Any, held: Any, step: Any, indices: Any, values: Any, dims: Any) -> None:
        held.apply(run, int(step), (indices, values, dims) if known else (indices, values))

    return run


@kernel("ResourceAccumulatorTakeGradient", "SparseAccumulatorTakeGradient", stateful=True)
def _take(node: Node) -> Kernel:
    return lambda run, held, required: held.take(run, int(required))


@kernel("ResourceAccumulatorNumAccumulated", "AccumulatorNumAccumulated")
def _count(node: Node) -> Kernel:
    return lambda held: np.int32(held.count)


@kernel("ResourceAccumulatorSetGlobalStep", "AccumulatorSetGlobalStep", stateful=True)
def _set_step(node: Node) -> Kernel:
    return lambda run, held, step: held.set_step(run, int(step))
