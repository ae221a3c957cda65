"""Protects promise 36 over a cluster: a feed, what one task sends to another, and a fetch of 3 GB."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf
from tests.cluster.serving import spec_of

PROJECT = Path(__file__).resolve().parents[2]
SIZE = 3 << 30
ENDS = (0, (1 << 31) - 1, 1 << 31, SIZE - 1)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(params=[False, True], ids=["shared memory", "tcp"])
def tasks(request: pytest.FixtureRequest) -> Iterator[str]:
    """Two tasks, each a process, whose memory goes with them; the target of the second."""
    pages = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if pages < 5 * SIZE:
        pytest.skip(f"needs {5 * SIZE >> 30} GB of free memory, there are {pages >> 30}")
    program = (
        "import sys, graphflow as gf\n"
        "spec, index, tcp = eval(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == 'True'\n"
        "server = gf.train.Server(spec, 'part', index, config=gf.ConfigProto(tcp_only=tcp))\n"
        "print('there', flush=True)\n"
        "server.join()\n"
    )
    with ExitStack() as stack:
        spec = spec_of(stack, part=2)
        for i in range(2):
            process = subprocess.Popen(
                [sys.executable, "-c", program, repr(spec), str(i), str(request.param)],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=PROJECT,
            )  # fmt: skip
            stack.enter_context(process)
            stack.callback(process.send_signal, signal.SIGKILL)
            assert process.stdout is not None and process.stdout.readline() == b"there\n"
        yield f"zmq://{spec['part'][1]}"


def test_promise_36_a_message_of_3_gb(tasks: str, request: pytest.FixtureRequest) -> None:
    array = np.zeros(SIZE, np.uint8)
    array[list(ENDS)] = range(1, len(ENDS) + 1)
    config = gf.ConfigProto(tcp_only="tcp" in request.node.name)
    with gf.Graph().as_default():
        fed = gf.placeholder(gf.uint8, [None])
        length = gf.placeholder(gf.int64, [1])
        with gf.device("/job:part/task:0"):
            there = gf.identity(fed)
        with gf.device("/job:part/task:1"):
            ends = gf.stack([there[place] for place in ENDS]), gf.size(there, out_type=gf.int64)
            made = gf.fill(length, gf.constant(7, gf.uint8))
        with gf.Session(tasks, config=config) as session:
            found, size = session.run(ends, {fed: array})  # To one task, which sends it to the other.
            assert found.tolist() == list(range(1, len(ENDS) + 1)) and size == SIZE
            del array
            fetched = session.run(made, {length: [SIZE - 1]})
    assert fetched.shape == (SIZE - 1,) and fetched[list(ENDS[:-1])].tolist() == [7] * 3
