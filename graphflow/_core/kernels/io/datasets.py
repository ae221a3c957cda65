"""Kernels of datasets and iterators: a dataset op gives a description, an iterator op a resource."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes
from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.io.csv import record_reader, stand_ins_of
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets.base import DatasetBase
from graphflow._core.resources.datasets.batching import BatchDataset, PaddedBatchDataset
from graphflow._core.resources.datasets.caching import CacheDataset
from graphflow._core.resources.datasets.files import (
    CsvDataset,
    FilesDataset,
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from graphflow._core.resources.datasets.grouping import GroupByWindowDataset
from graphflow._core.resources.datasets.iterators import IteratorResource
from graphflow._core.resources.datasets.lists import WindowDataset
from graphflow._core.resources.datasets.mapping import FilterDataset, InterleaveDataset, MapDataset
from graphflow._core.resources.datasets.shuffling import ShuffleDataset
from graphflow._core.resources.datasets.sources import (
    ArrayTable,
    GeneratorDataset,
    RangeTable,
    SingleDataset,
    TableDataset,
)
from graphflow._core.resources.datasets.threads import ParallelMapDataset, PrefetchDataset
from graphflow._core.resources.datasets.transforms import (
    ConcatenateDataset,
    RepeatDataset,
    SliceDataset,
    ZipDataset,
)


def _origin(node: Node) -> Origin:
    return node.origin or Origin(node.name, node.type, ("<unknown>", 0))


def dataset_kernel(*op_types: str) -> Callable[[Callable[..., DatasetBase]], Callable[..., DatasetBase]]:
    """Registers a function (node, origin, *inputs) that gives the description."""

    def register(make: Callable[..., DatasetBase]) -> Callable[..., DatasetBase]:
        def factory(node: Node) -> Kernel:
            origin = _origin(node)
            return lambda *inputs: make(node, origin, *inputs)

        kernel(*op_types)(factory)
        return make

    return register


def _positive(origin: Origin, what: str, value: Any) -> int:
    number = int(value)
    if number <= 0:
        raise errors.InvalidArgumentError(None, None, f"{what} must be greater than zero, got {number}.")
    return number


def fixed(value: Any) -> Any:
    """An input that outlives the run: a copy if it may be the memory of a variable or a feed."""
    return np.array(value) if isinstance(value, np.ndarray) else value


# ---- sources --------------------------------------------------------------------------------------------------------


@dataset_kernel("TensorDataset")
def _tensor(node: Node, origin: Origin, *components: Any) -> DatasetBase:
    return SingleDataset(origin, tuple(fixed(c) for c in components))


@dataset_kernel("TensorSliceDataset")
def _tensor_slice(node: Node, origin: Origin, *components: Any) -> DatasetBase:
    sizes = {component.shape[0] for component in components}
    if len(sizes) > 1:
        raise errors.InvalidArgumentError(
            None,
            None,
            "All components must have the same size in the first dimension, got "
            f"{', '.join(str(c.shape) for c in components)}.",
        )
    return TableDataset(origin, ArrayTable([fixed(c) for c in components]))


@dataset_kernel("RangeDataset")
def _range(node: Node, origin: Origin, start: Any, stop: Any, step: Any) -> DatasetBase:
    first, last, by = int(start), int(stop), int(step)
    if by == 0:
        raise errors.InvalidArgumentError(None, None, "step must be a non-zero integer.")
    count = max(0, -(-(last - first) // by))  # A range of Python's has no such length beyond 63 bits.
    return TableDataset(origin, RangeTable(first, by, min(count, 2**63 - 1)))


@dataset_kernel("GeneratorDataset")
def _generator(node: Node, origin: Origin, *arguments: Any) -> DatasetBase:
    attrs = node.attrs
    given = [a[()] if isinstance(a, np.ndarray) and a.ndim == 0 else fixed(a) for a in arguments]
    types, shapes = attrs["output_types"], attrs["output_shapes"]
    return GeneratorDataset(origin, attrs["generator"], given, attrs["take_apart"], types, shapes)


def _files(make: Callable[[Origin, list[str], str], FilesDataset]) -> Callable[..., DatasetBase]:
    def from_files(node: Node, origin: Origin, filenames: Any, compression: Any, size: Any) -> DatasetBase:
        return make(origin, [file_text(name) for name in np.ravel(filenames)], compression_of(compression))

    return from_files


@dataset_kernel("CSVDataset")
def _csv(
    node: Node, origin: Origin, filenames: Any, compression: Any, size: Any, header: Any, delimiter: Any,
    quotes: Any, missing: Any, columns: Any, *defaults: Any,
) -> DatasetBase:  # fmt: skip
    types, stand_ins = node.attrs["output_types"], stand_ins_of(defaults)
    if size <= 0:
        raise errors.InvalidArgumentError(None, None, f"buffer_size should be positive, got {int(size)}.")
    attrs = {
        "field_delim": file_text(delimiter), "use_quote_delim": bool(quotes), "na_value": file_text(missing),
        "select_cols": np.ravel(columns).tolist(),
    }  # fmt: skip
    read = record_reader(attrs, types)

    def parse(record: bytes) -> Any:
        values = zip(read(record, None, stand_ins), types, strict=True)
        return tuple(np.array(value, dtype.native) for value, dtype in values)

    paths = [file_text(name) for name in np.ravel(filenames)]
    return CsvDataset(
        origin, paths, compression_of(compression), bool(header), attrs["use_quote_delim"],
        attrs["field_delim"].encode(), parse,
    )  # fmt: skip


def compression_of(value: Any) -> str:
    kind = file_text(value)
    if kind not in ("", "GZIP", "ZLIB"):
        raise errors.InvalidArgumentError(
            None, None, f"compression_type must be '', 'GZIP' or 'ZLIB', got {kind!r}."
        )
    return kind


def file_text(value: Any) -> str:
    found = value[()] if isinstance(value, np.ndarray) else value
    return found.decode() if isinstance(found, bytes) else str(found)


dataset_kernel("TextLineDataset")(_files(TextLineDataset))
dataset_kernel("TFRecordDataset")(_files(TFRecordDataset))


@dataset_kernel("FixedLengthRecordDatasetV2")
def _fixed_length_record(
    node: Node,
    origin: Origin,
    filenames: Any,
    header: Any,
    record: Any,
    footer: Any,
    size: Any,
    compression: Any,
) -> DatasetBase:
    length = _positive(origin, "record_bytes", record)
    if int(header) < 0 or int(footer) < 0:
        raise errors.InvalidArgumentError(
            None, None, f"header_bytes and footer_bytes must be >= 0, got {int(header)} and {int(footer)}."
        )
    paths = [file_text(name) for name in np.ravel(filenames)]
    return FixedLengthRecordDataset(
        origin, paths, compression_of(compression), (int(header), length, int(footer))
    )


# ---- of other datasets ----------------------------------------------------------------------------------------------


@dataset_kernel("ZipDataset")
def _zip(node: Node, origin: Origin, *sources: Any) -> DatasetBase:
    return ZipDataset(origin, sources)


@dataset_kernel("ConcatenateDataset")
def _concatenate(node: Node, origin: Origin, first: Any, second: Any) -> DatasetBase:
    return ConcatenateDataset(origin, first, second)


@dataset_kernel("MapDataset")
def _map(node: Node, origin: Origin, source: Any, *captured: Any) -> DatasetBase:
    return nesting(node, MapDataset(origin, source, node.attrs["f"], [fixed(c) for c in captured]))


_Mapping = TypeVar("_Mapping", bound=MapDataset)


def nesting(node: Node, dataset: _Mapping) -> _Mapping:
    """The dataset, which says whether its function gives datasets, and may end before its source."""
    dataset.nested = dtypes.variant in node.attrs["output_types"]
    dataset.keeps_count = bool(node.attrs.get("preserve_cardinality", False))
    return dataset


@dataset_kernel("ParallelMapDataset")
def _parallel_map(node: Node, origin: Origin, source: Any, *rest: Any) -> DatasetBase:
    *captured, calls = rest
    number = 2 if int(calls) == -1 else _positive(origin, "num_parallel_calls", calls)
    captures = [fixed(c) for c in captured]
    return nesting(node, ParallelMapDataset(origin, source, node.attrs["f"], captures, calls=number))


@dataset_kernel("FilterDataset")
def _filter(node: Node, origin: Origin, source: Any, *captured: Any) -> DatasetBase:
    return FilterDataset(origin, source, node.attrs["predicate"], [fixed(c) for c in captured])


@dataset_kernel("FlatMapDataset")
def _flat_map(node: Node, origin: Origin, source: Any, *captured: Any) -> DatasetBase:
    return InterleaveDataset(origin, source, node.attrs["f"], [fixed(c) for c in captured])


@dataset_kernel("InterleaveDataset")
def _interleave(node: Node, origin: Origin, source: Any, *rest: Any) -> DatasetBase:
    *captured, cycle, length = rest
    sizes = _positive(origin, "cycle_length", cycle), _positive(origin, "block_length", length)
    return InterleaveDataset(origin, source, node.attrs["f"], [fixed(c) for c in captured], *sizes)


@dataset_kernel("ParallelInterleaveDatasetV2")
def _parallel_interleave(node: Node, origin: Origin, source: Any, *rest: Any) -> DatasetBase:
    return _interleave(node, origin, source, *rest[:-1])


@dataset_kernel("GroupByWindowDataset")
def _group_by_window(node: Node, origin: Origin, source: Any, *captured: Any) -> DatasetBase:
    names = ("key_func", "reduce_func", "window_size_func")
    return GroupByWindowDataset(origin, source, functions_of(node, names, captured))


def functions_of(
    node: Node, names: Sequence[str], captured: Sequence[Any]
) -> list[tuple[LoweredFunction, Sequence[Any]]]:
    """The functions of a dataset by the names of their attributes, each with the values that it captured."""
    found: list[tuple[LoweredFunction, Sequence[Any]]] = []
    rest = [fixed(c) for c in captured]
    for name in names:
        count = len(node.attrs[f"T{name}_other_arguments"])
        found.append((node.attrs[name], rest[:count]))
        rest = rest[count:]
    return found


@dataset_kernel("WindowDataset")
def _window(
    node: Node, origin: Origin, source: Any, size: Any, shift: Any, stride: Any, drop: Any
) -> DatasetBase:
    sizes = {"size": size, "shift": shift, "stride": stride}
    found = [_positive(origin, f"Window {what}", value) for what, value in sizes.items()]
    return WindowDataset(origin, source, found, bool(drop))


@dataset_kernel("BatchDatasetV2")
def _batch(node: Node, origin: Origin, source: Any, size: Any, drop: Any) -> DatasetBase:
    whole = bool(node.attrs.get("_fails_whole", False))
    return BatchDataset(origin, source, _positive(origin, "Batch size", size), bool(drop), whole)


@dataset_kernel("PaddedBatchDatasetV2")
def _padded_batch(node: Node, origin: Origin, source: Any, size: Any, *rest: Any) -> DatasetBase:
    *components, drop = rest
    half = len(components) // 2
    shapes = [[int(n) for n in shape] for shape in components[:half]]
    if any(size < -1 for shape in shapes for size in shape):
        raise errors.InvalidArgumentError(
            None, None, f"Sizes of padded_shapes are >= 0, or -1 for the largest of a batch, got {shapes}."
        )
    padding = [fixed(value) for value in components[half:]]
    return PaddedBatchDataset(
        origin, source, _positive(origin, "Batch size", size), bool(drop), shapes, padding
    )


@dataset_kernel("ShuffleDataset")
def _shuffle(node: Node, origin: Origin, source: Any, size: Any, seed: Any, seed2: Any) -> DatasetBase:
    number = _positive(origin, "buffer_size", size)
    again = bool(node.attrs["reshuffle_each_iteration"])
    return ShuffleDataset(origin, source, number, (int(seed), int(seed2)), again)


@dataset_kernel("RepeatDataset")
def _repeat(node: Node, origin: Origin, source: Any, count: Any) -> DatasetBase:
    return RepeatDataset(origin, source, int(count))


@dataset_kernel("TakeDataset")
def _take(node: Node, origin: Origin, source: Any, count: Any) -> DatasetBase:
    return SliceDataset(origin, source, 0, int(count))


@dataset_kernel("SkipDataset")
def _skip(node: Node, origin: Origin, source: Any, count: Any) -> DatasetBase:
    number = int(count)
    return SliceDataset(origin, source, max(number, 0), -1 if number >= 0 else 0)


@dataset_kernel("ShardDataset")
def _shard(node: Node, origin: Origin, source: Any, shards: Any, index: Any) -> DatasetBase:
    count, which = int(shards), int(index)
    if count < 1 or not 0 <= which < count:
        raise errors.InvalidArgumentError(
            None, None, f"index must be between 0 and {count - 1}, got {which} (num_shards = {count})."
        )
    return SliceDataset(origin, source, which, -1, count)


@dataset_kernel("PrefetchDataset")
def _prefetch(node: Node, origin: Origin, source: Any, size: Any) -> DatasetBase:
    if int(size) < -1:
        raise errors.InvalidArgumentError(
            None, None, f"buffer_size must be >= 0 or set to be -1, got {size}."
        )
    return PrefetchDataset(origin, source, int(size))


@dataset_kernel("CacheDataset")
def _cache(node: Node, origin: Origin, source: Any, filename: Any) -> DatasetBase:
    return CacheDataset(origin, source, user_path(file_text(filename)))


# ---- iterators ------------------------------------------------------------------------------------------------------

_PREFIX = "iterator/"


def _elements(node: Node) -> tuple[Any, Any]:
    return node.attrs["output_types"], node.attrs["output_shapes"]


def _resource_of(node: Node) -> str:
    return resource_name(node.attrs, node.name, _PREFIX)


@kernel("IteratorV2", stateful=True)
def _iterator(node: Node) -> Kernel:
    name, origin = _resource_of(node), _origin(node)

    def give(run: Any) -> Any:
        store = run.store

        def make(dataset: str) -> DatasetBase | None:
            return None if store.graph is None or not dataset else _dataset_of(dataset, store, origin)

        return store.other(name, lambda: IteratorResource(origin, store, make, *_elements(node)))

    return give


def _dataset_of(name: str, store: Any, origin: Origin) -> DatasetBase | None:
    """The dataset that the iterator had when it was saved, made again without its initializer."""
    try:
        dataset: DatasetBase = store.graph.evaluate(f"{name}:0", store)
        return dataset
    except (KeyError, errors.InvalidArgumentError, errors.FailedPreconditionError) as error:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"The iterator {origin} was restored, but its dataset cannot be made without its initializer: {error} "
            "Run the initializer with what has to be fed; the iterator then goes on where it was.",
        ) from error


@kernel("OneShotIterator", stateful=True)
def _one_shot_iterator(node: Node) -> Kernel:
    name, origin, factory = _resource_of(node), _origin(node), node.attrs["dataset_factory"]

    def give(run: Any) -> Any:
        store = run.store

        def make(_: str) -> DatasetBase:
            (dataset,) = store.planner.function(factory, store)(())
            made: DatasetBase = dataset
            return made

        return store.other(name, lambda: IteratorResource(origin, store, make, *_elements(node)))

    return give


@kernel("MakeIterator", stateful=True)
def _make_iterator(node: Node) -> Kernel:
    return lambda run, dataset, iterator: iterator.initialize(dataset, run)


@kernel("IteratorGetNext", stateful=True)
def _get_next(node: Node) -> Kernel:
    types = node.attrs["output_types"]

    def get_next(run: Any, iterator: IteratorResource) -> Any:
        element = iterator.get_next(run)
        if len(element) != len(types):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Number of components does not match: expected {len(types)} types but got {len(element)}.",
            )
        return element[0] if len(types) == 1 else element

    return get_next


@kernel("IteratorToStringHandle", stateful=True)
def _to_string_handle(node: Node) -> Kernel:
    def handle(run: Any, iterator: IteratorResource) -> Any:
        names = {id(resource): name for name, resource in run.store.others().items()}
        return np.array(names[id(iterator)].encode(), object)

    return handle


@kernel("IteratorFromStringHandleV2", stateful=True)
def _from_string_handle(node: Node) -> Kernel:
    def find(run: Any, handle: Any) -> Any:
        name = file_text(handle)
        found = run.store.others().get(name) if name.startswith(_PREFIX) else None
        if found is None:
            raise errors.NotFoundError(
                None,
                None,
                f"There is no iterator with the string handle {name!r} in this session: feed what running "
                "iterator.string_handle() in the same session gives.",
            )
        found.check(*_elements(node))
        return found

    return find
