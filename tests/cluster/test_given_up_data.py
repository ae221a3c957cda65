"""Protects what iterators and readers give from clients that give up or die: it goes back, and comes to who asks next.

Each element comes once, and in order where one client takes them, whether its run ends before an element is there,
between its coming and the sending, or after that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.data import Dataset
from tests.cluster.giving_up import Cluster, dies, gives_up, until, vanish

ELEMENTS = 24
Make = Callable[[Path, int], tuple[Any, int]]
"""Gives a vector of the numbers that a step takes, and how many they are; of files there, with so many numbers."""


def _rows(make: Callable[[Any], Any], rows: int) -> Make:
    def element(folder: Path, count: int) -> tuple[Any, int]:
        value = make(Dataset.range(count)).make_one_shot_iterator().get_next()
        return gf.reshape(value[0] if isinstance(value, tuple) else value, [-1]), rows

    return element


def _texts(folder: Path, count: int) -> list[str]:
    """Files with the numbers up to `count`, a line each; the second has none."""
    parts = [range(count // 3), range(0), range(count // 3, count)]
    found = [folder / f"part{k}.txt" for k in range(3)]
    for path, numbers in zip(found, parts, strict=True):
        path.write_text("".join(f"{number}\n" for number in numbers))
    return [str(path) for path in found]


def _records(folder: Path, count: int) -> list[str]:
    path = str(folder / "numbers.tfrecord")
    with gf.python_io.TFRecordWriter(path) as writer:
        for number in range(count):
            writer.write(str(number).encode())
    return [path]


def _wholes(folder: Path, count: int) -> list[str]:
    found = [folder / f"{number:04}" for number in range(count)]
    for number, path in enumerate(found):
        path.write_text(str(number))
    return [str(path) for path in found]


def _blocks(folder: Path, count: int) -> list[str]:
    path = folder / "blocks"
    path.write_text("".join(f"{number:8}" for number in range(count)))
    return [str(path)]


def _read(files: Callable[[Path, int], list[str]], reader: Callable[[], Any], most: int) -> Make:
    def element(folder: Path, count: int) -> tuple[Any, int]:
        names = gf.FIFOQueue(10_000, gf.string, [[]], shared_name="names")
        gf.add_to_collection("begin", names.enqueue_many(gf.constant(files(folder, count))))
        gf.add_to_collection("close", names.close())
        if most > 1:
            texts = reader().read_up_to(names, most)[1]
        else:
            texts = gf.reshape(reader().read(names)[1], [1])
        return gf.string_to_number(gf.strings.strip(texts), gf.int64), most

    return element


MAKE: dict[str, Make] = {
    "range": _rows(lambda d: d, 1),
    "map": _rows(lambda d: d.map(lambda n: (n, gf.fill([3], n))), 1),
    "batch": _rows(lambda d: d.batch(2), 2),
    "prefetch": _rows(lambda d: d.map(lambda n: n + 0).prefetch(3), 1),
    "batch of prefetch": _rows(lambda d: d.map(lambda n: n + 0).prefetch(1).batch(2), 2),
    "parallel": _rows(lambda d: d.map(lambda n: gf.py_func(lambda k: k, [n], gf.int64), 2).prefetch(1), 1),
    "zip": _rows(lambda d: Dataset.zip((d, d.map(lambda n: n + 0).prefetch(1))), 1),
    "cache": _rows(lambda d: d.cache(), 1),
    "lines": _read(_texts, gf.TextLineReader, 1),
    "some lines": _read(_texts, gf.TextLineReader, 2),
    "records": _read(_records, gf.TFRecordReader, 1),
    "files": _read(_wholes, gf.WholeFileReader, 1),
    "blocks": _read(_blocks, lambda: gf.FixedLengthRecordReader(8), 2),
}


OFTEN = {"map", "batch of prefetch", "parallel", "zip", "some lines", "records"}
"""The kinds that are tried at every moment each time; the others are slow beside them."""


class Program:
    """A graph with a source on the ps."""

    def __init__(self, kind: str, folder: Path, count: int = ELEMENTS) -> None:
        self.count = count
        with gf.Graph().as_default() as self.graph:
            with gf.device("/job:ps/task:0"):
                self.one, self.rows = MAKE[kind](folder, count)
                self.gate = gf.FIFOQueue(1, gf.int64, [[]], shared_name="gate")
                with gf.control_dependencies([self.one]):
                    passed = self.gate.dequeue()
                self.gated = gf.add(self.one, passed)
                self.open = self.gate.enqueue(np.int64(0))
                self.total = gf.Variable(np.int64(0), name="total")
                self.add = self.total.assign_add(gf.reduce_sum(self.one))
            with gf.device("/job:worker/task:0"):
                self.take = gf.identity(self.one)
                self.sum = gf.add(self.one, 100)

    def begin(self, session: Any) -> None:
        for collection in ("begin", "close"):
            for operation in self.graph.get_collection(collection):
                session.run(operation)

    def rest(self, session: Any) -> list[int]:
        found: list[int] = []
        with suppress(gf.errors.OutOfRangeError):
            while True:
                found += [int(number) for number in session.run(self.one)]
        return found


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(stack, monkeypatch)


@pytest.mark.parametrize("kind", MAKE)
def test_what_a_client_did_not_get_in_time_comes_again(cluster: Cluster, kind: str, tmp_path: Path) -> None:
    program = Program(kind, tmp_path)
    with gf.Session(cluster.servers[1].target, program.graph) as session:
        program.begin(session)
        first = [int(n) - 100 for n in session.run(program.sum)]
        assert first == [*range(program.rows)]
        cluster.withheld.set()
        for fetch in (program.sum, program.one, program.take):
            gives_up(session, fetch)
        cluster.withheld.clear()
        assert program.rest(session) == [*range(program.rows, ELEMENTS)]
        assert program.rest(session) == []
    until(cluster.nothing_is_kept)


@pytest.mark.parametrize("kind", MAKE)
def test_what_was_taken_for_a_step_that_waits_for_something_else_comes_again(
    cluster: Cluster, kind: str, tmp_path: Path
) -> None:
    program = Program(kind, tmp_path)
    with gf.Session(cluster.servers[0].target, program.graph) as session:
        program.begin(session)
        gives_up(session, program.gated, 600)
        gives_up(session, program.gated)
        session.run(program.open)
        first = [int(n) for n in session.run(program.gated)]
        assert first + program.rest(session) == [*range(ELEMENTS)]
    until(cluster.nothing_is_kept)


@pytest.mark.parametrize("kind", ["map", "batch of prefetch", "some lines"])
@pytest.mark.parametrize("master", [0, 1], ids=["ps", "worker"])
def test_what_was_taken_for_a_client_that_dies_comes_again(
    cluster: Cluster, kind: str, master: int, tmp_path: Path
) -> None:
    program = Program(kind, tmp_path)
    target = cluster.servers[master].target
    with gf.Session(target, program.graph) as session:
        program.begin(session)
        dying = gf.Session(target, program.graph)
        cluster.withheld.set()
        dies(dying, program.take, cluster)
        cluster.withheld.clear()
        until(lambda: not any(s._service.protocol.master.unsettled for s in cluster.servers))
        assert program.rest(session) == [*range(ELEMENTS)]
        dying.close()
    until(cluster.nothing_is_kept)


@pytest.mark.parametrize("kind", ["range", "lines"])
def test_what_was_taken_for_a_session_that_is_closed_comes_again(
    cluster: Cluster, kind: str, tmp_path: Path
) -> None:
    program = Program(kind, tmp_path)
    target = cluster.servers[1].target
    with gf.Session(target, program.graph) as session:
        program.begin(session)
        other = gf.Session(target, program.graph)
        ended: list[BaseException] = []

        def take() -> None:
            try:
                other.run(program.gated)
            except gf.errors.OpError as error:
                ended.append(error)

        thread = threading.Thread(target=take)
        thread.start()
        until(lambda: any(c.takings for s in cluster.servers for c in [*s._service.steps.contexts.values()]))
        other.close()
        thread.join()
        assert ended
        until(cluster.nothing_is_kept)
        assert program.rest(session) == [*range(ELEMENTS)]


@pytest.mark.parametrize("kind", ["range", "records"])
def test_what_has_changed_a_variable_stays_taken(cluster: Cluster, kind: str, tmp_path: Path) -> None:
    program = Program(kind, tmp_path)
    with gf.Session(cluster.servers[1].target, program.graph) as session:
        session.run(program.total.initializer)
        program.begin(session)
        session.run(program.add)
        cluster.withheld.set()
        gives_up(session, program.add)
        cluster.withheld.clear()
        until(cluster.nothing_is_kept)
        assert int(session.run(program.total)) == 1
        assert program.rest(session) == [*range(2, ELEMENTS)]


@pytest.mark.parametrize(
    "kind",
    [kind if kind in OFTEN else pytest.param(kind, marks=pytest.mark.slow) for kind in MAKE],
)
def test_whatever_the_moment_each_element_comes_once_and_in_order(
    cluster: Cluster, kind: str, tmp_path: Path
) -> None:
    program = Program(kind, tmp_path, 90)
    got: list[int] = []
    with gf.Session(cluster.servers[1].target, program.graph) as session:
        program.begin(session)
        limit = time.monotonic() + 200
        attempt = 0
        while len(got) < 90:
            assert time.monotonic() < limit, got
            attempt += 1
            options = gf.RunOptions(timeout_in_ms=1 + attempt % 9 + attempt // 200)
            with suppress(gf.errors.DeadlineExceededError):
                got += [int(number) - 100 for number in session.run(program.sum, options=options)]
        assert program.rest(session) == []
    assert got == [*range(90)]
    until(cluster.nothing_is_kept)


@pytest.mark.parametrize("kind", ["map", "batch of prefetch", "some lines"])
def test_several_clients_that_give_up_at_any_moment_get_each_element_once(
    cluster: Cluster, kind: str, tmp_path: Path
) -> None:
    program = Program(kind, tmp_path, 120)
    got: list[int] = []
    with gf.Session(cluster.servers[1].target, program.graph) as first:
        program.begin(first)
        limit = time.monotonic() + 200

        def take(number: int) -> None:
            attempt = number
            with gf.Session(cluster.servers[number % 2].target, program.graph) as session:
                while time.monotonic() < limit:
                    attempt += 1
                    options = gf.RunOptions(timeout_in_ms=2 + 3 * (attempt % 7))
                    try:
                        got.extend(int(n) - 100 for n in session.run(program.sum, options=options))
                    except gf.errors.DeadlineExceededError:
                        pass
                    except gf.errors.OutOfRangeError:
                        return

        threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        got += program.rest(first)
    assert sorted(got) == [*range(120)]
    until(cluster.nothing_is_kept)


# ---- pipelines ------------------------------------------------------------------------------------------------------


def _enqueued(folder: Path, count: int) -> tuple[Any, Any, Any]:
    """What enqueues the next record of a text on the ps, what takes one of them, and how many there are."""
    names = gf.FIFOQueue(9, gf.string, [[]], shared_name="names")
    gf.add_to_collection("begin", names.enqueue_many(gf.constant(_texts(folder, count))))
    number = gf.string_to_number(gf.TextLineReader().read(names)[1], gf.int64)
    full = gf.FIFOQueue(2, gf.int64, [[]], shared_name="full")
    return full.enqueue(number), full.dequeue(), full.size()


@pytest.mark.parametrize("end", ["time", "close", "death"])
def test_a_record_that_waits_for_room_in_a_queue_is_read_again(
    cluster: Cluster, end: str, tmp_path: Path
) -> None:
    with gf.Graph().as_default() as graph, gf.device("/job:ps/task:0"):
        put, take, size = _enqueued(tmp_path, ELEMENTS)
    target = cluster.servers[1].target
    with gf.Session(target, graph) as session:
        session.run(graph.get_collection("begin"))
        for _ in range(2):
            session.run(put)
        other = gf.Session(target, graph)
        if end == "time":
            gives_up(other, put)
        else:
            thread = threading.Thread(target=_ended, args=(other, put))
            thread.start()
            until(lambda: any(c.takings for c in [*cluster.servers[0]._service.steps.contexts.values()]))
            if end == "close":
                other.close()
            else:
                vanish(other)
            thread.join()
        until(cluster.nothing_is_kept)
        assert int(session.run(size)) == 2
        got = [int(session.run(take)), int(session.run(take))]
        while len(got) < ELEMENTS:
            session.run(put)
            got.append(int(session.run(take)))
        assert got == [*range(ELEMENTS)]
        other.close()


def _ended(session: Any, fetch: Any) -> None:
    with pytest.raises(gf.errors.OpError):
        session.run(fetch)


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_of_sessions_that_follow_each_other_hold_each_record_once(
    cluster: Cluster, threads: int, tmp_path: Path
) -> None:
    with gf.Graph().as_default() as graph, gf.device("/job:ps/task:0"):
        producer = gf.train.string_input_producer(
            _wholes(tmp_path, 60), num_epochs=1, shuffle=False, capacity=60, shared_name="names"
        )
        number = gf.string_to_number(gf.WholeFileReader().read(producer)[1], gf.int64)
        batch = gf.train.batch([number], 3, num_threads=threads, capacity=6, shared_name="batch")
        begin = gf.local_variables_initializer()
    got: list[int] = []
    with gf.Session(cluster.servers[1].target, graph) as session:
        session.run(begin)
    rounds = 0
    while len(got) < 60:
        rounds += 1
        assert rounds < 60, str(got)
        with gf.Session(cluster.servers[rounds % 2].target, graph) as session:
            runners = [
                thread
                for runner in graph.get_collection(gf.GraphKeys.QUEUE_RUNNERS)
                for thread in runner.create_threads(session, daemon=True, start=True)
            ]
            with suppress(gf.errors.DeadlineExceededError, gf.errors.OutOfRangeError):
                for _ in range(2):
                    options = gf.RunOptions(timeout_in_ms=20_000)
                    got += [int(n) for n in session.run(batch, options=options)]
        for runner in runners:
            runner.join(30)
    assert sorted(got) == [*range(60)]
    assert threads > 1 or got == [*range(60)]
