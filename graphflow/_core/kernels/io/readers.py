"""The ops of readers. A reader lives in the store, under its shared name or its op's; its handle is the reader."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.io.queues import check_runners, source_of
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources import readers
from graphflow._core.resources.queues import Queue
from graphflow._core.resources.readers import Reader, Split
from graphflow._core.resources.staged.reservoirs import RecordReservoir, ReservoirConfig
from graphflow.errors import InvalidArgumentError


def _split(node: Node) -> Split:
    attrs = node.attrs
    match node.type:
        case "TextLineReaderV2":
            return readers.lines(attrs["skip_header_lines"])
        case "TFRecordReaderV2":
            return readers.records(attrs["compression_type"])
        case "FixedLengthRecordReaderV2":
            return readers.blocks(
                attrs["header_bytes"], attrs["record_bytes"], attrs["footer_bytes"], attrs["hop_bytes"],
                attrs["encoding"],
            )  # fmt: skip
        case "WholeFileReaderV2":
            return readers.whole
        case _:
            return readers.identity


@kernel(
    "TextLineReaderV2",
    "TFRecordReaderV2",
    "FixedLengthRecordReaderV2",
    "WholeFileReaderV2",
    "IdentityReaderV2",
    stateful=True,
)
def _reader(node: Node) -> Kernel:
    name = node.attrs["shared_name"] or node.name
    key = resource_name(node.attrs, node.name, "reader/")
    split = _split(node)
    return lambda run: run.store.other(key, lambda: Reader(name, split))


def _check_queue(queue: Queue) -> None:
    if queue.config.dtypes != (dtypes.string,):
        raise InvalidArgumentError(
            None,
            None,
            f"A reader takes names of files from a queue of strings, but {queue.name!r} holds "
            f"{[d.name for d in queue.config.dtypes]}.",
        )


@kernel("ReaderReadV2", stateful=True)
def _read(node: Node) -> Kernel:
    source = source_of(node, 1)

    def read(run: Any, reader: Reader, queue: Queue) -> Any:
        _check_queue(queue)
        ((key, value),) = reader.read(run, queue, 1, lambda: check_runners(source, run.store))
        return np.array(key, object), np.array(value, object)

    return read


@kernel("ReaderReadUpToV2", stateful=True)
def _read_up_to(node: Node) -> Kernel:
    source = source_of(node, 1)

    def read(run: Any, reader: Reader, queue: Queue, most: Any) -> Any:
        _check_queue(queue)
        if most < 1:
            raise InvalidArgumentError(None, None, f"num_records must be > 0, got {int(most)}.")
        return readers.arrays(reader.read(run, queue, int(most), lambda: check_runners(source, run.store)))

    return read


@kernel("ReaderNumRecordsProducedV2")
def _produced(node: Node) -> Kernel:
    return lambda reader: np.int64(reader.produced)


@kernel("ReaderNumWorkUnitsCompletedV2")
def _completed(node: Node) -> Kernel:
    return lambda reader: np.int64(reader.completed)


@kernel("ReaderResetV2")
def _reset(node: Node) -> Kernel:
    return lambda reader: reader.reset()


@kernel("RecordInput", stateful=True)
def _record_input(node: Node) -> Kernel:
    attrs = node.attrs
    shift, size, count = attrs["file_shuffle_shift_ratio"], attrs["file_buffer_size"], attrs["batch_size"]
    config = ReservoirConfig(
        attrs["file_pattern"], attrs["file_random_seed"], shift, size, attrs["compression_type"]
    )

    def take(run: Any) -> Any:
        reservoir: RecordReservoir = run.mine(f"{node.name}/records", lambda: RecordReservoir(config))
        found = np.empty(count, object)
        found[:] = reservoir.take(run, count)
        return found

    return take
