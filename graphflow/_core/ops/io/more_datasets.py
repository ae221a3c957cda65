"""The ops of the datasets that tf.data.experimental adds: with a state, of a choice of datasets, and others."""

from __future__ import annotations

from graphflow._core.ops.io.datasets import dataset_op

_INPUT = "input_dataset: variant"
_ARGUMENTS = "other_arguments*: any"

SCAN = dataset_op("ScanDataset", _INPUT, "initial_state*: any", _ARGUMENTS)
TAKE_WHILE = dataset_op("TakeWhileDataset", _INPUT, _ARGUMENTS)
UNIQUE = dataset_op("UniqueDataset", _INPUT)
IGNORE_ERRORS = dataset_op("IgnoreErrorsDataset", _INPUT)
DIRECTED_INTERLEAVE = dataset_op(
    "DirectedInterleaveDataset", "selector_input_dataset: variant", "data_input_datasets*: variant"
)
SPARSE_TENSOR_SLICE = dataset_op(
    "SparseTensorSliceDataset", "indices: int64", "values: Tvalues=any", "dense_shape: int64"
)
RANDOM = dataset_op("RandomDataset", "seed: int64", "seed2: int64")
GROUP_BY_REDUCER = dataset_op(
    "GroupByReducerDataset",
    _INPUT,
    "key_func_other_arguments*: any",
    "init_func_other_arguments*: any",
    "reduce_func_other_arguments*: any",
    "finalize_func_other_arguments*: any",
)
