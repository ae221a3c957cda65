"""A worker's part of a dataset, such that the parts of all workers together have each example once.

Workers that each keep every n-th element of what comes out at the end would differ as soon as examples are shuffled
without a seed. So the dataset is cut before that, at the source, and only what a worker then does with its part alone
is done after the cut: mapping, shuffling, repeating, batching.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.ops.core import apply, constant, constant_value
from graphflow._core.ops.io import datasets as ops

_ELEMENTWISE: Final = frozenset({
    "MapDataset", "ParallelMapDataset", "FilterDataset", "PrefetchDataset", "CacheDataset", "RepeatDataset",
})  # fmt: skip
_AFTER_THE_CUT: Final = _ELEMENTWISE | {"ShuffleDataset", "BatchDatasetV2", "PaddedBatchDatasetV2"}
"""The datasets that may be applied to a part alone. All others count elements or join datasets: they come before the
cut."""


def shard_dataset(dataset: Any, num_shards: int, index: int) -> Any:
    """The part of worker number `index` of `num_shards`: a dataset whose elements are of the same kind.

    Workers' datasets must be built alike. ValueError if examples are shuffled without a seed before the cut, so that
    workers would disagree about the order.
    """
    if num_shards == 1:
        return dataset
    above: list[Operation] = []
    op = dataset._variant_tensor.op
    while op.type in _AFTER_THE_CUT and not _cached_in_a_file(op):
        above.append(op)
        op = _input_of(op).op
    while above and above[-1].type in _ELEMENTWISE and _too_small(op, num_shards):
        op = above.pop()
    _check_order(op)
    parameters = (constant(num_shards, dtypes.int64), constant(index, dtypes.int64))
    made = apply(ops.SHARD, (op.outputs[0], *parameters), _described(op)).outputs[0]
    for upper in reversed(above):
        made = _again(upper, made)
    return type(dataset)(made, dataset._output_types, dataset._output_shapes)


def _input_of(op: Operation) -> Tensor:
    return next(tensor for tensor in op.inputs if tensor.dtype is dtypes.variant)


def _described(op: Operation) -> dict[str, Any]:
    types = op.attrs.get("output_types")
    return {
        "output_types": [t.dtype for t in op.inputs] if types is None else types,
        "output_shapes": op.attrs["output_shapes"],
    }


def _again(op: Operation, below: Tensor) -> Tensor:
    """The operation once more, on another dataset."""
    inputs: list[Tensor] = [below if tensor is _input_of(op) else tensor for tensor in op.inputs]
    attrs = {name: value for name, value in op.attrs.items() if name != "_class"}
    return op.graph.add(op.op_def, inputs, attrs, op.name.rpartition("/")[2]).outputs[0]


def _cached_in_a_file(op: Operation) -> bool:
    return op.type == "CacheDataset" and constant_value(op.inputs[1]) != b""


def _too_small(op: Operation, num_shards: int) -> bool:
    """Whether a source is known to have fewer elements than there are workers, as one that is repeated has."""
    if op.type in _ELEMENTWISE:
        return True
    if op.type == "TensorDataset":
        return True
    if op.type != "TensorSliceDataset":
        return False
    rows = (op.inputs[0].dims or (None,))[0]
    return rows is not None and rows < num_shards


def _check_order(op: Operation) -> None:
    waiting: Sequence[Operation] = [op]
    while waiting:
        for found in waiting:
            seeds = [constant_value(tensor) for tensor in found.inputs[2:4]]
            if found.type == "ShuffleDataset" and all(seed == 0 for seed in seeds):
                raise ValueError(
                    f"{found.name!r} (built at {found.line[0]}:{found.line[1]}) shuffles without a seed before "
                    f"{op.type}, so the workers would not agree which examples are whose. Give shuffle() a seed, or "
                    "shuffle last."
                )
        waiting = [t.op for found in waiting for t in found.inputs if t.dtype is dtypes.variant]
