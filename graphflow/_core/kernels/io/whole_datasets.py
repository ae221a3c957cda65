"""Kernels that go through a dataset within one run, without an iterator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.files.paths import user_path
from graphflow._core.kernels.io.datasets import compression_of, file_text
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.compressed import open_to_write
from graphflow._core.resources.datasets.base import Context, DatasetBase, Elements, owned
from graphflow._core.resources.datasets.mapping import MapDataset
from graphflow._core.resources.records import write_record


@kernel("ReduceDataset", stateful=True)
def _reduce(node: Node) -> Kernel:
    attrs = node.attrs
    origin = node.origin or Origin(node.name, node.type, ("<unknown>", 0))
    count = len(attrs["Tstate"])

    def reduce(run: Any, source: Any, *rest: Any) -> Any:
        state = tuple(rest[:count])
        step = MapDataset(origin, source, attrs["f"], rest[count:])
        context = Context(run.store)
        try:
            runner, walk = context.function(step.function), source.walk(context)
            while (element := walk.next(run)) is not None:
                run.check()
                state = step.call(runner, (*state, *element))
        finally:
            context.close()
        return state[0] if count == 1 else state

    return reduce


@kernel("DatasetToSingleElement", stateful=True)
def _single_element(node: Node) -> Kernel:
    def take(run: Any, source: DatasetBase) -> Any:
        with _elements(run, source) as walk:
            found, more = walk.next(run), walk.next(run)
        if found is None or more is not None:
            what = "was empty" if found is None else "had more than one element"
            raise errors.InvalidArgumentError(None, None, f"Dataset {what}, expected one element.")
        found = tuple([owned(value) for value in found])
        return found[0] if len(found) == 1 else found

    return take


@kernel("DatasetCardinality", stateful=True)
def _cardinality(node: Node) -> Kernel:
    return lambda run, source: np.int64(source.cardinality())


@kernel("DatasetToTFRecord", stateful=True)
def _to_tf_record(node: Node) -> Kernel:
    def write(run: Any, source: DatasetBase, filename: Any, compression: Any) -> None:
        path = user_path(file_text(filename))
        with _elements(run, source) as walk, open_to_write(path, compression_of(compression), -1) as file:
            while (element := walk.next(run)) is not None:
                run.check()
                write_record(file, np.asarray(element[0]).item())

    return write


@contextmanager
def _elements(run: Any, source: DatasetBase) -> Iterator[Elements]:
    """A walk over a dataset, whose threads end with it."""
    context = Context(run.store)
    try:
        yield source.walk(context)
    finally:
        context.close()
