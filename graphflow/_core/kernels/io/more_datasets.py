"""Kernels of the datasets that tf.data.experimental adds."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.io.datasets import dataset_kernel, fixed, functions_of, nesting
from graphflow._core.kernels.registry import Node
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets.base import DatasetBase
from graphflow._core.resources.datasets.choosing import DirectedInterleaveDataset, RandomDataset
from graphflow._core.resources.datasets.grouping import GroupByReducerDataset
from graphflow._core.resources.datasets.scanning import (
    IgnoreErrorsDataset,
    ScanDataset,
    TakeWhileDataset,
    UniqueDataset,
)
from graphflow._core.resources.datasets.sources import SparseRowsDataset


@dataset_kernel("ScanDataset")
def _scan(node: Node, origin: Origin, source: Any, *rest: Any) -> DatasetBase:
    given, count = [fixed(value) for value in rest], len(node.attrs["Tstate"])
    dataset = ScanDataset(origin, source, node.attrs["f"], given[count:], state=tuple(given[:count]))
    return nesting(node, dataset)


@dataset_kernel("TakeWhileDataset")
def _take_while(node: Node, origin: Origin, source: Any, *captured: Any) -> DatasetBase:
    return TakeWhileDataset(origin, source, node.attrs["predicate"], [fixed(c) for c in captured])


@dataset_kernel("UniqueDataset")
def _unique(node: Node, origin: Origin, source: Any) -> DatasetBase:
    return UniqueDataset(origin, source)


@dataset_kernel("IgnoreErrorsDataset")
def _ignore_errors(node: Node, origin: Origin, source: Any) -> DatasetBase:
    return IgnoreErrorsDataset(origin, source)


@dataset_kernel("DirectedInterleaveDataset")
def _directed_interleave(node: Node, origin: Origin, selector: Any, *sources: Any) -> DatasetBase:
    return DirectedInterleaveDataset(origin, selector, sources)


@dataset_kernel("SparseTensorSliceDataset")
def _sparse_slices(node: Node, origin: Origin, indices: Any, values: Any, dense_shape: Any) -> DatasetBase:
    return SparseRowsDataset(origin, *(np.array(part) for part in (indices, values, dense_shape)))


@dataset_kernel("RandomDataset")
def _random(node: Node, origin: Origin, seed: Any, seed2: Any) -> DatasetBase:
    return RandomDataset(origin, (int(seed), int(seed2)))


@dataset_kernel("GroupByReducerDataset")
def _group_by_reducer(node: Node, origin: Origin, source: Any, *captured: Any) -> DatasetBase:
    names = ("key_func", "init_func", "reduce_func", "finalize_func")
    return GroupByReducerDataset(origin, source, functions_of(node, names, captured))
