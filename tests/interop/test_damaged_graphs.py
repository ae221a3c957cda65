"""Protects the reader of graphs from files that are damaged or hostile.

Each input is a graph that TensorFlow or graphflow wrote, changed at random: bytes, or fields of the message. It must be
refused with an error that says so, or give a graph that runs or refuses to. Nothing may crash, hang, run code or take
memory that the file does not pay for.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError

import graphflow as gf

RECORDED = Path(__file__).parent / "recorded"
REFUSALS = (ValueError, TypeError, gf.errors.OpError, DecodeError)
SECONDS = 100.0
"""Far more than any of them needs."""


def originals() -> list[bytes]:
    names = ("branches.pb", "loops.pb", "kinds.pb", "pipeline.pb")
    return [(RECORDED / name).read_bytes() for name in names]


def of_bytes(data: bytes, random: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        place = int(random.integers(len(changed)))
        kind = random.integers(5)
        if kind == 0:
            changed[place] ^= 1 << int(random.integers(8))
        elif kind == 1:
            changed[place] = int(random.choice([0, 1, 0x7F, 0x80, 0xFF]))
        elif kind == 2:
            del changed[place : place + int(random.integers(1, 9))]
        elif kind == 3:
            changed[place:place] = random.bytes(int(random.integers(1, 9)))
        else:
            start = int(random.integers(len(data)))
            changed[place : place + 8] = data[start : start + 8]
    return bytes(changed)


HUGE = (0, -1, 1, 2, 7, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63))


def of_fields(data: bytes, random: np.random.Generator) -> bytes:
    graph_def = gf.GraphDef.FromString(data)
    for _ in range(int(random.integers(1, 3))):
        node = graph_def.node[int(random.integers(len(graph_def.node)))]
        other = graph_def.node[int(random.integers(len(graph_def.node)))]
        kind = random.integers(9)
        if kind == 0:
            node.op = other.op
        elif kind == 1:
            node.name = str(random.choice(["", other.name, "a b", "x:0", "/", "^" + other.name, "n" * 5000]))
        elif kind == 2 and node.input:
            place = int(random.integers(len(node.input)))
            suffixes = ["", ":1", ":99999999", ":-1"]
            node.input[place] = str(random.choice(["", "^"])) + other.name + str(random.choice(suffixes))
        elif kind == 3:
            node.input.append(other.name)
        elif kind == 4 and node.input:
            del node.input[int(random.integers(len(node.input)))]
        elif kind == 5 and node.attr:
            del node.attr[str(random.choice(sorted(node.attr)))]
        elif kind == 6 and node.attr and other.attr:
            source = other.attr[str(random.choice(sorted(other.attr)))]
            node.attr[str(random.choice(sorted(node.attr)))].CopyFrom(source)
        elif kind == 7:
            for value in node.attr.values():
                huge_numbers(value, random)
        else:
            graph_def.node.add().CopyFrom(node)
    return bytes(graph_def.SerializeToString())


def huge_numbers(value: Any, random: np.random.Generator) -> None:
    number = int(random.choice(HUGE))
    field = value.WhichOneof("value")
    if field == "i":
        value.i = number
    elif field == "type":
        value.type = max(min(number, 2**31 - 1), -(2**31))
    elif field in ("tensor", "shape"):
        shape = value.shape if field == "shape" else value.tensor.tensor_shape
        shape.dim.add(size=number)
    elif field == "list":
        value.list.i.append(number)


def attempt(data: bytes) -> str:
    """Imports a graph and runs all that it can; what came of it."""
    try:
        graph_def = gf.GraphDef.FromString(data)
        with gf.Graph().as_default() as graph:
            gf.import_graph_def(graph_def, name="")
            assert len(graph.get_operations()) >= len({n.name for n in graph_def.node}) // 2
            graph.as_graph_def(add_shapes=True)
            session = gf.Session(config=gf.ConfigProto(compiled="never", operation_timeout_in_ms=2000))
            with session:
                run_all(session, graph)
    except REFUSALS as error:
        assert str(error)
        return "refused"
    return "accepted"


def run_all(session: Any, graph: Any) -> None:
    feeds: dict[str, Any] = {}
    for op in graph.get_operations():
        if op.type == "Placeholder" and op.outputs[0].dtype.is_numpy_compatible:
            dims = op.outputs[0].dims or ()
            if any(d is not None and d > 64 for d in dims):
                return
            shape = [2 if d is None else d for d in dims]
            feeds[op.outputs[0].name] = np.ones(shape, op.outputs[0].dtype.as_numpy_dtype)
    for op in graph.get_operations()[-6:]:
        if op.outputs and op.type not in ("Enter", "Switch", "Merge", "NextIteration"):
            try:
                session.run(op.outputs[0], feeds)
            except REFUSALS:
                continue


def mutations(count: int, seed: int) -> Iterator[tuple[int, bytes]]:
    random = np.random.default_rng(seed)
    files = originals()
    for number in range(count):
        data = files[number % len(files)]
        yield number, (of_bytes if random.random() < 0.3 else of_fields)(data, random)


def check(count: int, seed: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes = []
    for number, data in mutations(count, seed):
        start = time.monotonic()
        try:
            outcomes.append(attempt(data))
        except BaseException as error:
            raise AssertionError(f"input {number} of seed {seed}: {type(error).__name__}: {error}") from error
        assert time.monotonic() - start < SECONDS, f"input {number} of seed {seed} took too long"
    assert outcomes.count("refused") > count // 10
    assert outcomes.count("accepted") > count // 40
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 1536, f"{grown:.0f} MB were taken"


def test_some_damaged_graphs() -> None:
    check(120, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_graphs(seed: int) -> None:
    check(200, seed)
