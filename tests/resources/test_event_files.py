"""Event files: nothing that was added is lost when a program ends, whatever ends it; failures reach the caller."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
import graphflow._core.resources.event_files as event_file
from graphflow._core.resources.records import read_records


def steps(folder: Path) -> list[int]:
    """The steps of the summaries in a folder's only event file."""
    (path,) = folder.iterdir()
    return [e.step for e in gf.train.summary_iterator(path) if e.HasField("summary")]


def point(value: float = 1.0) -> Any:
    return gf.Summary(value=[gf.Summary.Value(tag="curve", simple_value=value)])


def program(folder: Path, end: str) -> Any:
    """Runs a program that adds 50 points and ends so."""
    text = f"""
import os, signal, sys, time
import graphflow as gf
writer = gf.summary.FileWriter({str(folder)!r}, max_queue=1000, flush_secs=1000)
for step in range(50):
    writer.add_summary(gf.Summary(value=[gf.Summary.Value(tag="curve", simple_value=1.0)]), step)
{end}
"""
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)


ALL_WRITTEN = """
(path,) = os.scandir(os.path.dirname(writer.get_logdir() + "/"))
while sum(event.HasField("summary") for event in gf.train.summary_iterator(path.path)) < 50:
    time.sleep(0.01)
"""
"""Nobody flushes: it is written within a second, or later on a busy machine."""


def test_name_and_first_event(tmp_path: Path) -> None:
    import socket

    before = int(time.time())
    with gf.summary.FileWriter(tmp_path, filename_suffix=".mine") as writer:
        assert writer.get_logdir() == str(tmp_path)
    (path,) = tmp_path.iterdir()
    parts = path.name.split(".", 4)
    assert parts[:3] == ["events", "out", "tfevents"] and before <= int(parts[3]) <= time.time()
    assert parts[4] == socket.gethostname() + ".mine"
    with path.open("rb") as file:
        (record,) = read_records(file)
    event = gf.Event.FromString(record)
    assert event.file_version == "brain.Event:2" and event.wall_time >= before


def test_a_later_file_sorts_behind_the_others(tmp_path: Path) -> None:
    (tmp_path / f"events.out.tfevents.{int(time.time()) + 1000}.other").touch()
    seen = {p.name for p in tmp_path.iterdir()}
    created = []
    for _ in range(3):
        gf.summary.FileWriter(tmp_path).close()
        (new,) = {p.name for p in tmp_path.iterdir()} - seen
        seen.add(new)
        created.append(new)
    assert sorted(seen)[1:] == created


def test_flush_close_and_reopen(tmp_path: Path) -> None:
    writer = gf.summary.FileWriter(tmp_path, flush_secs=1000)
    writer.add_summary(point(), 1)
    writer.flush()
    assert steps(tmp_path) == [1]
    writer.add_summary(point(), 2)
    writer.close()
    writer.close()
    assert steps(tmp_path) == [1, 2]
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(point(), 3)
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.flush()
    writer.reopen()
    writer.reopen()
    writer.add_summary(point(), 4)
    writer.close()
    _, second = sorted(tmp_path.iterdir())
    assert [e.step for e in gf.train.summary_iterator(second)] == [0, 4]


@pytest.mark.parametrize("flush_secs", [0.05, 120.0])
def test_written_within_a_second_without_a_flush(flush_secs: float, tmp_path: Path) -> None:
    writer = gf.summary.FileWriter(tmp_path, flush_secs=flush_secs)
    writer.add_summary(point(), 7)
    end = time.monotonic() + 60
    while steps(tmp_path) != [7] and time.monotonic() < end:
        time.sleep(0.01)
    assert steps(tmp_path) == [7]
    writer.close()


def test_a_writer_that_is_dropped_is_written_to_its_end(tmp_path: Path) -> None:
    writer = gf.summary.FileWriter(tmp_path, flush_secs=1000)
    for step in range(20):
        writer.add_summary(point(), step)
    del writer
    gc.collect()
    assert steps(tmp_path) == list(range(20))
    assert not [t for t in threading.enumerate() if str(tmp_path) in t.name]


@pytest.mark.parametrize(
    "end, code",
    [
        ("", 0),
        ("raise ValueError('as it happens')", 1),
        ("sys.exit(3)", 3),
        (ALL_WRITTEN + "os.kill(os.getpid(), signal.SIGKILL)", -9),
    ],
)
def test_promise_39_whatever_ends_the_program_the_file_is_whole(tmp_path: Path, end: str, code: int) -> None:
    done = program(tmp_path, end)
    assert done.returncode == code, done.stderr
    assert steps(tmp_path) == list(range(50))


def test_a_full_disk_reaches_the_next_call(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    writer = gf.summary.FileWriter(tmp_path, flush_secs=1000)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._file._state._file._descriptor)
    os.close(full)
    writer.add_summary(point(), 1)
    with pytest.raises(gf.errors.ResourceExhaustedError, match=f"{tmp_path}.*No space left"):
        writer.flush()
    with pytest.raises(gf.errors.ResourceExhaustedError):
        writer.add_summary(point(), 2)
    with pytest.raises(gf.errors.ResourceExhaustedError):
        writer.close()
    writer.reopen()
    writer.add_summary(point(), 3)
    writer.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(gf.errors.OpError, match=r"file.*Summaries cannot be written there"):
        gf.summary.FileWriter(tmp_path / "file" / "logs")


def test_a_slow_disk_stops_the_caller_when_the_queue_is_full(tmp_path: Path) -> None:
    target = event_file.EventFile(str(tmp_path), capacity=2, delay=1000)
    reader, pipe = os.pipe()  # Takes 64 KiB, then waits for the reader.
    os.dup2(pipe, target._state._file._descriptor)
    os.close(pipe)
    added = []

    def add() -> None:
        for number in range(8):
            target.write(bytes([number]) * 600_000)
            added.append(number)
        target.close()

    thread = threading.Thread(target=add)
    thread.start()
    time.sleep(0.3)
    waiting = len(added)
    with os.fdopen(reader, "rb") as file:
        records = list(read_records(file))
    thread.join()
    assert waiting <= 5  # What is being written, and what may wait.
    assert [r[0] for r in records] == list(range(8)) and len(added) == 8


def test_threads_add_to_one_file(tmp_path: Path) -> None:
    writer = gf.summary.FileWriter(tmp_path)

    def add(first: int) -> None:
        for step in range(first, first + 200):
            writer.add_summary(point(), step)
            if step % 50 == 0:
                writer.flush()

    threads = [threading.Thread(target=add, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    found = steps(tmp_path)
    assert sorted(found) == sorted(1000 * i + j for i in range(4) for j in range(200))
    for i in range(4):
        mine = [s for s in found if s // 1000 == i]
        assert mine == sorted(mine)


def _child(writer: Any, queue: Any) -> None:
    try:
        writer.add_summary(point(), 99)
        queue.put("added")
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_the_file_is_the_parents(tmp_path: Path) -> None:
    writer = gf.summary.FileWriter(tmp_path, flush_secs=1000)
    writer.add_summary(point(), 1)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_child, args=(writer, queue))
    child.start()
    assert "opened before a fork" in queue.get()
    child.join()
    writer.close()
    assert steps(tmp_path) == [1]


@pytest.mark.parametrize("asked", [True, False])
def test_a_full_disk_is_told_of_at_the_end_only_if_no_call_has_told(asked: bool, tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    writer = gf.summary.FileWriter(tmp_path, flush_secs=1000)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._file._state._file._descriptor)
    os.close(full)
    writer.add_summary(point(), 1)
    if asked:
        with pytest.raises(gf.errors.ResourceExhaustedError):
            writer.flush()
    told = nullcontext() if asked else pytest.raises(gf.errors.ResourceExhaustedError)
    with told:
        writer._file._finalizer()  # As at the end of the program.
