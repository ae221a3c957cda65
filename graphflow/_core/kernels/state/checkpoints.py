"""NumPy kernels of the ops that write and read checkpoints."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.bundle_writer import entries_of
from graphflow._core.checkpoint.opening import open_checkpoint, remove_files, write
from graphflow._core.checkpoint.regions import Region, parse_spec
from graphflow._core.checkpoint.resource_state import RUNS, STATE, pack_state, unpack_state
from graphflow._core.checkpoint.writer import Entry
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes, shapes
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.plan.passes.donation import INTO
from graphflow._core.resources.rounds.sync_rounds import settled_runs

_log = logging.getLogger("graphflow")


def _text(value: Any) -> str:
    text: Any = np.asarray(value, object)[()]
    return str(text.decode())


def _texts(values: Any) -> list[str]:
    return [item.decode() for item in values.tolist()]


@kernel("SaveV2", stateful=True)
def _save(node: Node) -> Kernel:
    form = node.attrs.get("_format", "")

    def save(run: Any, prefix: Any, names: Any, specs: Any, *tensors: Any) -> None:
        run.others_may_change()
        if not len(names) == len(specs) == len(tensors):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{len(names)} names and {len(specs)} slices are given for {len(tensors)} tensors.",
            )
        write(
            user_path(_text(prefix)),
            [_entry(*item) for item in zip(_texts(names), _texts(specs), tensors, strict=True)],
            form,
        )

    return save


def _entry(name: str, spec: str, value: Any) -> Entry:
    if isinstance(value, bytes):
        value = np.array(value, object)
    if not spec:
        return Entry(name, value)
    full_shape, region = parse_spec(spec)
    if np.shape(value) != region.lengths:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The slice {spec!r} of {name!r} has the shape {list(region.lengths)}, the tensor to save "
            f"{list(np.shape(value))}.",
        )
    return Entry(name, value, full_shape, region.text)


@kernel("RestoreV2", stateful=True)
def _restore(node: Node) -> Kernel:
    wanted = [dtypes.as_dtype(dtype) for dtype in node.attrs["dtypes"]]
    expected = node.attrs.get("_expected_shapes") or [None] * len(wanted)
    dims = [shapes.as_dims(shape) for shape in expected]
    into = node.attrs.get(INTO) or [""] * len(wanted)

    def restore(run: Any, prefix: Any, names: Any, specs: Any) -> Any:
        if not len(names) == len(specs) == len(wanted):
            raise errors.InvalidArgumentError(
                None, None, f"{len(names)} names and {len(specs)} slices are given for {len(wanted)} dtypes."
            )
        file = open_checkpoint(user_path(_text(prefix)))
        named = _texts(names)
        optional = {name for name in named if name.startswith(STATE) and name not in file}
        file.missing(name for name in named if name not in optional)
        empty = {cell.name for cell in run.store.variables() if cell.value is None}
        asked: list[tuple[str, Region | None]] = []
        donate: list[int] = []
        wrong: list[str] = []
        for name, spec, dtype, shape, place in zip(named, _texts(specs), wanted, dims, into, strict=True):
            if name in optional:
                continue
            full_shape, region = parse_spec(spec) if spec else (file.shape(name), None)
            if place in empty:
                donate.append(len(asked))
            asked.append((name, region))
            if file.dtype(name) is not dtype:
                wrong.append(
                    f"tensor {name!r} has dtype {file.dtype(name).name} there, {dtype.name} is expected: "
                    "a variable is restored in its original dtype"
                )
            elif file.shape(name) != full_shape or (not spec and not shapes.compatible(shape, full_shape)):
                wanted_shape = shapes.text(full_shape if spec else shape)
                wrong.append(
                    f"tensor {name!r} has shape {shapes.text(file.shape(name))} there, {wanted_shape} is expected"
                )
        if wrong:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The checkpoint {file.where} does not fit, a mismatch between the current graph and the graph that "
                f"was saved: {'; '.join(wrong)}.",
            )
        arrays = iter(file.read(asked, donate))
        values = [np.empty(0, np.uint8) if name in optional else next(arrays) for name in named]
        return values[0] if len(values) == 1 else tuple(values)

    return restore


@kernel("ShardedFilename")
def _sharded_filename(node: Node) -> Kernel:
    return lambda name, shard, count: np.array(f"{_text(name)}-{shard:05d}-of-{count:05d}".encode(), object)


@kernel("MergeV2Checkpoints")
def _merge(node: Node) -> Kernel:
    delete = node.attrs.get("delete_old_dirs", True)

    def run(prefixes: Any, destination: Any) -> None:
        named = [user_path(_text(prefix)) for prefix in np.asarray(prefixes, object).reshape(-1)]
        entries = [entry for file in map(open_checkpoint, named) for entry in entries_of(file)]
        write(user_path(_text(destination)), entries)
        for prefix in named if delete else ():
            with suppress(OSError):  # What cannot be removed is in nobody's way.
                remove_files(prefix)
                os.rmdir(os.path.dirname(prefix))

    return run


@kernel("ReadResourceState", stateful=True)
def _read_state(node: Node) -> Kernel:
    program = node.attrs.get("program", "")

    def read(run: Any) -> Any:
        states = dict(run.store.get_state()) if program else {}
        runs = run.store.home.runs
        if runs is not None:
            states[RUNS] = runs.get_state(settled_runs(run.store.home))
        return pack_state(states, program)

    return read


@kernel("WriteResourceState", stateful=True)
def _write_state(node: Node) -> Kernel:
    program, variables = node.attrs.get("program", ""), node.attrs.get("variables", ())

    def write(run: Any, state: Any) -> None:
        whose, states = unpack_state(state) if len(state) else ("", {})
        changes, runs = states.pop(RUNS, {}), run.store.home.runs
        if runs is not None:
            present = {cell.name for cell in run.store.home.variables()}
            try:
                runs.set_state(changes, variables, present)
            except ValueError as error:
                raise errors.DataLossError(None, None, f"The checkpoint is damaged: {error}") from None
        if not len(state) or not (whose or states):
            return
        if not program or whose != program:
            _log.info(
                "The checkpoint was written by another program, or one with other input: its random states, iterators "
                "and queues are left out, and those of this program stay as they are."
            )
            return
        before = run.store.get_state()
        try:
            run.store.set_state(states)
        except ValueError as error:
            run.store.set_state(before)
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The checkpoint holds the state of a resource (a random state, an iterator, a queue) that does not "
                f"fit this program: {error} To restore the variables alone, use "
                "gf.train.Saver(gf.global_variables()).",
            ) from None

    return write
