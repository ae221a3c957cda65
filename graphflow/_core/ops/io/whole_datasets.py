"""The ops that go through a dataset within one run, without an iterator."""

from __future__ import annotations

from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.ops.io.datasets import elements

REDUCE = op_def(
    "ReduceDataset",
    ("input_dataset: variant", "initial_state*: any", "other_arguments*: any"),
    infer=elements,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic_shape=True,
    blocks=True,
)
