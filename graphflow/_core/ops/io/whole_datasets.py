"""The ops that go through a dataset within one run, without an iterator."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.ops.io.datasets import elements
from graphflow._core.ops.rules import no_outputs

REDUCE = op_def(
    "ReduceDataset",
    ("input_dataset: variant", "initial_state*: any", "other_arguments*: any"),
    infer=elements,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic_shape=True,
    blocks=True,
)
SINGLE_ELEMENT = op_def(
    "DatasetToSingleElement",
    ("dataset: variant",),
    infer=elements,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic_shape=True,
    blocks=True,
)
CARDINALITY = op_def(
    "DatasetCardinality",
    ("input_dataset: variant",),
    infer=lambda op: [(dtypes.int64, ())],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)
TO_TF_RECORD = op_def(
    "DatasetToTFRecord",
    ("input_dataset: variant", "filename: string", "compression_type: string"),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    blocks=True,
)
