"""The ops of tables that change. A table lives in the store, as those of kernels/io/lookup.py do."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.tables import DenseTable, MutableTable


def _held(run: Any, node: Node, make: Any) -> MutableTable:
    name = node.attrs["shared_name"] or node.name
    wanted = (node.attrs["key_dtype"], node.attrs["value_dtype"])
    table: MutableTable = run.store.other(
        resource_name(node.attrs, node.name, "table/"), lambda: make(name, *wanted)
    )
    if table.dtypes != wanted:
        found = [d.name for d in table.dtypes]
        raise invalid(f"Table {name!r} is of {found}, but is wanted of {[d.name for d in wanted]}")
    return table


def _value_dims(node: Node) -> tuple[int, ...]:
    return tuple(node.attrs["value_shape"].as_list())


@kernel("MutableHashTableV2", stateful=True)
def _mutable(node: Node) -> Kernel:
    return lambda run: _held(run, node, MutableTable)


@kernel("MutableHashTableOfTensorsV2", stateful=True)
def _mutable_of_tensors(node: Node) -> Kernel:
    dims = _value_dims(node)

    def run(run: Any) -> MutableTable:
        if len(dims) != 1:
            raise invalid(f"Default value must be a vector or a scalar, got shape {list(dims)}")
        return _held(run, node, lambda name, keys, values: MutableTable(name, keys, values, (), dims))

    return run


@kernel("MutableDenseHashTableV2", stateful=True)
def _dense(node: Node) -> Kernel:
    dims, attrs = _value_dims(node), node.attrs
    buckets, load = attrs["initial_num_buckets"], attrs["max_load_factor"]

    def run(run: Any, empty: Any, deleted: Any) -> MutableTable:
        if buckets < 4 or buckets & (buckets - 1):
            raise invalid(f"Number of buckets must be at least 4 and a power of 2, got: {buckets}")
        if np.array_equal(empty, deleted):
            raise invalid("Empty and deleted keys cannot be equal")
        return _held(
            run,
            node,
            lambda name, keys, values: DenseTable(name, keys, values, empty, deleted, dims, buckets, load),
        )

    return run


@kernel("LookupTableInsertV2", stateful=True)
def _insert(node: Node) -> Kernel:
    return lambda run, table, keys, values: table.insert(keys, values)


@kernel("LookupTableImportV2", stateful=True)
def _import(node: Node) -> Kernel:
    return lambda run, table, keys, values: table.replace(keys, values)


@kernel("LookupTableRemoveV2", stateful=True)
def _remove(node: Node) -> Kernel:
    return lambda run, table, keys: table.remove(keys)
