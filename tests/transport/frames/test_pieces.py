"""Protects large values on their way through the network: they come whole, their memory is used again but never while
an array is on it, the C library keeps that of their pieces, and pieces that do not fit together are refused."""

from __future__ import annotations

import platform
import random
import resource
import subprocess
import sys
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.transport import zeromq
from graphflow._core.transport.frames import pieces
from graphflow._core.transport.frames.pieces import Pieces, Pool, cut, is_cut
from graphflow._core.transport.frames.tensors import BadMessage
from tests.cluster.serving import serve_all, spec_of


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_WHOLE_BYTES", 64)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 32)


def _sent(frames: list[bytes]) -> list[list[Any]]:
    """What goes through a socket for a message."""
    rest = [frames[0], *(b"" if is_cut(f) else f for f in frames[1:])]
    return [*([head, bytes(piece)] for head, piece in cut(frames)), rest]


@pytest.mark.usefixtures("small")
def test_messages_come_whole() -> None:
    chance = random.Random(1)
    taking = Pieces(Pool())
    for _ in range(200):
        sizes = [chance.choice((5, 64, 65, 96, 97, 1000)) for _ in range(chance.randrange(5))]
        frames = [chance.randbytes(50), *(chance.randbytes(size) for size in sizes)]
        *before, found = [taking.take(list(parts)) for parts in _sent(frames)]
        assert found is not None and [bytes(f) for f in found] == frames
        assert not any(before)


def test_promise_36_a_long_frame_goes_in_short_messages_between_which_heartbeats_pass() -> None:
    class Socket:
        lengths: ClassVar[list[int]] = []

        def send(self, part: Any, flags: int, copy: bool = True) -> None:
            self.lengths.append(len(part))

    zeromq.send(Socket(), [b"x" * 50, memoryview(bytearray(50_000_000)), b"y" * 5000], b"a sender")  # type: ignore[arg-type]
    assert max(Socket.lengths) <= zeromq.MOST_WHOLE and sum(Socket.lengths) > 50_005_050


@pytest.mark.usefixtures("small")
def test_garbage_is_refused_and_what_follows_is_taken(everything: bool) -> None:
    chance = random.Random(2)
    taking = Pieces(Pool())
    refused = 0
    for _ in range(100_000 if everything else 3000):
        sent = _sent([b"x" * 50, chance.randbytes(200), chance.randbytes(10)])
        for _ in range(chance.choice((0, 1, 2))):
            place = chance.randrange(len(sent))
            way = chance.randrange(5)
            if way == 0:
                del sent[place]
            elif way == 1:
                sent.insert(place, sent[chance.randrange(len(sent))])
            elif way == 2:
                sent[place] = sent[place][: chance.randrange(1, 3)]
            elif way == 3:
                data = bytearray(sent[place][0])
                data[chance.randrange(len(data))] = chance.randrange(256)
                sent[place] = [bytes(data), *sent[place][1:]]
            else:
                sent[place] = [*sent[place][:-1], chance.randbytes(chance.choice((0, 1, 31, 33, 500)))]
            if not sent:
                break
        for parts in sent:
            try:
                found = taking.take(list(parts))
                assert found is None or len(found) <= 3
            except BadMessage:
                refused += 1
        hello, whole = [b"z" * 50], [b"y" * 50, chance.randbytes(100)]
        assert taking.take(hello) == hello  # What was left of the one before ends with it.
        *_, found = [taking.take(list(parts)) for parts in _sent(whole)]
        assert found is not None and [bytes(f) for f in found] == whole
    assert refused > 500


def test_memory_is_used_again_when_no_array_is_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool()
    first = pool.empty(5_000_000)
    first[:] = 7
    kept = first[10:20]
    place = first.ctypes.data
    del first
    second = pool.empty(5_000_000)
    second[:] = 8
    assert second.ctypes.data != place and kept.tolist() == [7] * 10
    del kept
    third = pool.empty(4_500_000)
    assert third.ctypes.data == place and len(third) == 4_500_000
    del third, second
    monkeypatch.setattr(pieces, "IDLE_PIECES_SECONDS", -1.0)
    pool.trim()
    assert not pool._idle and not pool._used


def test_large_values_go_over_tcp_both_ways() -> None:
    config = gf.ConfigProto(tcp_only=True)
    with ExitStack() as stack:
        _, worker = serve_all(stack, spec_of(stack, ps=1, worker=1), config=config)
        with gf.Graph().as_default():
            fed = gf.placeholder(gf.float32, [None])
            with gf.device("/job:ps"):
                v = gf.get_variable("v", initializer=gf.zeros([1_000_000]))
            with gf.device("/job:worker"):
                more = v + fed
            with gf.device("/job:ps"):
                step = gf.assign(v, more)
            with gf.Session(worker.target, config=config) as session:
                session.run(v.initializer)
                value = np.arange(1_000_000, dtype=np.float32)
                seen = []
                for n in range(1, 4):
                    seen.append(session.run(step, {fed: value}))
                    np.testing.assert_array_equal(session.run(v), n * value)
                for n, found in enumerate(seen, 1):
                    np.testing.assert_array_equal(found, n * value)


_PILE = """
import resource, threading
from graphflow._core.transport.frames.pieces import PIECE_BYTES, Pool

def work():  # In a thread of its own, as in ZeroMQ.
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        pile = [bytearray(PIECE_BYTES) for _ in range(40)]
        del pile
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

pool = Pool()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other C libraries keep freed memory by other rules"
)
def test_memory_of_pieces_that_have_piled_up_is_kept() -> None:
    run = subprocess.run([sys.executable, "-c", _PILE], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 40 * pieces.PIECE_BYTES // resource.getpagesize() // 10
