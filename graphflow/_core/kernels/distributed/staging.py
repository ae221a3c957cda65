"""The ops of staging areas. An area lives in the store, under the name that all its ops have; there is no handle."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.staged.areas import Bounds, StagingBuffer, StagingMap
from graphflow.errors import InvalidArgumentError


def _bounds(node: Node) -> Bounds:
    return Bounds(node.attrs["capacity"], node.attrs["memory_limit"])


def _name(node: Node) -> str:
    return node.attrs["shared_name"] or node.name


def _buffer(node: Node) -> Any:
    """A function from a run to the buffer of an op."""
    key = resource_name(node.attrs, node.name, "staging/")
    return lambda run: run.store.other(key, lambda: StagingBuffer(_name(node), _bounds(node)))


def _map(node: Node) -> Any:
    """A function from a run to the map of an op."""
    ordered = node.type.startswith("Ordered")
    key = resource_name(node.attrs, node.name, "ordered_staging_map/" if ordered else "staging_map/")
    return lambda run: run.store.other(key, lambda: StagingMap(_name(node), _bounds(node), ordered))


def _own(value: Any) -> Any:
    """An array that nobody else changes."""
    return np.array(value)


def _result(values: Sequence[Any]) -> Any:
    """What was staged as a kernel returns it: single numbers are scalars."""
    plain = [value if value.ndim or value.dtype == object else value[()] for value in values]
    return tuple(plain) if len(plain) > 1 else plain[0]


def _places(node: Node, indices: Any, count: int) -> list[int]:
    """The places of components; InvalidArgumentError if they do not rise, or are not there."""
    found: list[int] = np.asarray(indices).ravel().tolist()
    size = len(node.attrs["dtypes"]) if "Unstage" not in node.type and "Peek" not in node.type else None
    if len(found) != count:
        raise InvalidArgumentError(None, None, f"There are {count} tensors, but {len(found)} indices.")
    if any(second <= first for first, second in pairwise(found)):
        raise InvalidArgumentError(None, None, f"Indices are not strictly ordered: {found}.")
    if found and (found[0] < 0 or (size is not None and found[-1] >= size)):
        raise InvalidArgumentError(
            None, None, f"Index '{found[-1]}' for tensors is not in [0, {size}): {found}."
        )
    return found


@kernel("Stage", stateful=True)
def _stage(node: Node) -> Kernel:
    area = _buffer(node)
    return lambda run, *values: area(run).put(run, [_own(value) for value in values])


@kernel("Unstage", stateful=True)
def _unstage(node: Node) -> Kernel:
    area = _buffer(node)
    return lambda run: _result(area(run).take(run))


@kernel("StagePeek", stateful=True)
def _stage_peek(node: Node) -> Kernel:
    area = _buffer(node)
    return lambda run, index: _result(area(run).peek(run, int(index)))


@kernel("StageSize", stateful=True)
def _stage_size(node: Node) -> Kernel:
    area = _buffer(node)
    return lambda run: np.int32(area(run).size)


@kernel("StageClear", stateful=True)
def _stage_clear(node: Node) -> Kernel:
    area = _buffer(node)
    return lambda run: area(run).clear(run)


@kernel("MapStage", "OrderedMapStage", stateful=True)
def _map_stage(node: Node) -> Kernel:
    area = _map(node)
    count = len(node.attrs["dtypes"])

    def put(run: Any, key: Any, indices: Any, *values: Any) -> None:
        places = _places(node, indices, len(values))
        own = [_own(value) for value in values]
        area(run).put(run, int(key), dict(zip(places, own, strict=True)), count)

    return put


@kernel("MapPeek", "OrderedMapPeek", stateful=True)
def _map_peek(node: Node) -> Kernel:
    area = _map(node)
    count = len(node.attrs["dtypes"])
    return lambda run, key, indices: _result(area(run).peek(run, int(key), _places(node, indices, count)))


@kernel("MapUnstage", "OrderedMapUnstage", stateful=True)
def _map_unstage(node: Node) -> Kernel:
    area = _map(node)
    count = len(node.attrs["dtypes"])
    return lambda run, key, indices: _result(area(run).take(run, int(key), _places(node, indices, count))[1])


@kernel("MapUnstageNoKey", "OrderedMapUnstageNoKey", stateful=True)
def _map_unstage_first(node: Node) -> Kernel:
    area = _map(node)
    count = len(node.attrs["dtypes"])

    def take(run: Any, indices: Any) -> Any:
        key, values = area(run).take(run, None, _places(node, indices, count))
        return _result([np.array(key, np.int64), *values])

    return take


@kernel("MapSize", "OrderedMapSize", stateful=True)
def _map_size(node: Node) -> Kernel:
    area = _map(node)
    return lambda run: np.int32(area(run).size)


@kernel("MapIncompleteSize", "OrderedMapIncompleteSize", stateful=True)
def _map_incomplete_size(node: Node) -> Kernel:
    area = _map(node)
    return lambda run: np.int32(area(run).incomplete_size)


@kernel("MapClear", "OrderedMapClear", stateful=True)
def _map_clear(node: Node) -> Kernel:
    area = _map(node)
    return lambda run: area(run).clear(run)
