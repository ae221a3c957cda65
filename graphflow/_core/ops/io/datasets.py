"""The ops that datasets and their iterators are made of; gf.data builds them.

A dataset is a value, a description that the run passes on as a variant: its source, its parameters and the functions
it applies. An iterator is state, which lives in the store under its shared_name or its op's name. Functions are
attributes (GraphFunction); what they capture comes as inputs.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.ops.rules import no_outputs


def _variant(op: Operation) -> Signature:
    return [(dtypes.variant, ())]


def _resource(op: Operation) -> Signature:
    return [(dtypes.resource, ())]


def _handle(op: Operation) -> Signature:
    return [(dtypes.string, ())]


def elements(op: Operation) -> Signature:
    """The types and shapes of an element, as the attributes say."""
    types, shapes = op.attrs["output_types"], op.attrs["output_shapes"]
    return [(dtype, shape.raw) for dtype, shape in zip(types, shapes, strict=True)]


def dataset_op(name: str, *inputs: str) -> OpDef:
    """A dataset op. It counts as stateful so that it is made anew in each run, and never folded into a constant."""
    return op_def(name, inputs, infer=_variant, gradient=NOT_DIFFERENTIABLE, stateful=True)


def _iterator(name: str, *inputs: str, infer: Any = _resource, dynamic: bool = False) -> OpDef:
    """An op of an iterator; `dynamic` is the one that may wait, for elements whose shapes are not known."""
    return op_def(
        name,
        inputs,
        infer=infer,
        gradient=NOT_DIFFERENTIABLE,
        stateful=True,
        dynamic_shape=dynamic,
        blocks=dynamic,
    )


_INPUT = "input_dataset: variant"
_ARGUMENTS = "other_arguments*: any"

TENSOR = dataset_op("TensorDataset", "components*: any")
TENSOR_SLICE = dataset_op("TensorSliceDataset", "components*: any")
RANGE = dataset_op("RangeDataset", "start: int64", "stop: int64", "step: int64")
GENERATOR = dataset_op("GeneratorDataset", "init_func_other_args*: any")
TEXT_LINE = dataset_op(
    "TextLineDataset", "filenames: string", "compression_type: string", "buffer_size: int64"
)
CSV = dataset_op(
    "CSVDataset",
    "filenames: string",
    "compression_type: string",
    "buffer_size: int64",
    "header: bool",
    "field_delim: string",
    "use_quote_delim: bool",
    "na_value: string",
    "select_cols: int64",
    "record_defaults*: float32|float64|int32|int64|string",
)
TF_RECORD = dataset_op(
    "TFRecordDataset", "filenames: string", "compression_type: string", "buffer_size: int64"
)
FIXED_LENGTH_RECORD = dataset_op(
    "FixedLengthRecordDatasetV2",
    "filenames: string",
    "header_bytes: int64",
    "record_bytes: int64",
    "footer_bytes: int64",
    "buffer_size: int64",
    "compression_type: string",
)
ZIP = dataset_op("ZipDataset", "input_datasets*: variant")
CONCATENATE = dataset_op("ConcatenateDataset", _INPUT, "another_dataset: variant")
MAP = dataset_op("MapDataset", _INPUT, _ARGUMENTS)
PARALLEL_MAP = dataset_op("ParallelMapDataset", _INPUT, _ARGUMENTS, "num_parallel_calls: int32")
FLAT_MAP = dataset_op("FlatMapDataset", _INPUT, _ARGUMENTS)
INTERLEAVE = dataset_op("InterleaveDataset", _INPUT, _ARGUMENTS, "cycle_length: int64", "block_length: int64")
PARALLEL_INTERLEAVE = dataset_op(
    "ParallelInterleaveDatasetV2",
    _INPUT,
    _ARGUMENTS,
    "cycle_length: int64",
    "block_length: int64",
    "num_parallel_calls: int64",
)
GROUP_BY_WINDOW = dataset_op(
    "GroupByWindowDataset",
    _INPUT,
    "key_func_other_arguments*: any",
    "reduce_func_other_arguments*: any",
    "window_size_func_other_arguments*: any",
)
WINDOW = dataset_op(
    "WindowDataset", _INPUT, "size: int64", "shift: int64", "stride: int64", "drop_remainder: bool"
)
FILTER = dataset_op("FilterDataset", _INPUT, _ARGUMENTS)
BATCH = dataset_op("BatchDatasetV2", _INPUT, "batch_size: int64", "drop_remainder: bool")
PADDED_BATCH = dataset_op(
    "PaddedBatchDatasetV2",
    _INPUT,
    "batch_size: int64",
    "padded_shapes*: int64",
    "padding_values*: any",
    "drop_remainder: bool",
)
SHUFFLE = dataset_op("ShuffleDataset", _INPUT, "buffer_size: int64", "seed: int64", "seed2: int64")
REPEAT = dataset_op("RepeatDataset", _INPUT, "count: int64")
TAKE = dataset_op("TakeDataset", _INPUT, "count: int64")
SKIP = dataset_op("SkipDataset", _INPUT, "count: int64")
SHARD = dataset_op("ShardDataset", _INPUT, "num_shards: int64", "index: int64")
PREFETCH = dataset_op("PrefetchDataset", _INPUT, "buffer_size: int64")
CACHE = dataset_op("CacheDataset", _INPUT, "filename: string")
ITERATOR = _iterator("IteratorV2")
ONE_SHOT_ITERATOR = _iterator("OneShotIterator")
MAKE_ITERATOR = _iterator("MakeIterator", "dataset: variant", "iterator: resource", infer=no_outputs)
GET_NEXT = _iterator("IteratorGetNext", "iterator: resource", infer=elements, dynamic=True)
TO_STRING_HANDLE = _iterator("IteratorToStringHandle", "resource_handle: resource", infer=_handle)
FROM_STRING_HANDLE = _iterator("IteratorFromStringHandleV2", "string_handle: string")
