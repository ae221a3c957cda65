"""Protects what recordings do not show of operations that write: graphs, closed writers, numbers of memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow.as_tensorflow.events import EventsWriter

summary = gf.contrib.summary


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as graph:
        yield graph


def events(folder: Path) -> list[Any]:
    """All events of a folder, in the order of its files."""
    return [event for path in sorted(folder.iterdir()) for event in gf.train.summary_iterator(path)]


def test_a_graph_and_events_are_written(tmp_path: Path, graph: gf.Graph) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    given = gf.Event(step=9, summary=gf.Summary(value=[gf.Summary.Value(tag="given", simple_value=1.0)]))
    with writer.as_default(), gf.Session() as session:
        gf.train.create_global_step()
        done = summary.import_event(gf.constant(given.SerializeToString()))
        summary.initialize(graph, session)
        session.run(done)
        session.run(writer.close())
    found = events(tmp_path)
    assert [event.WhichOneof("what") for event in found] == ["file_version", "graph_def", "summary"]
    assert b"CreateSummaryFileWriter" in found[1].graph_def
    assert (found[2].step, found[2].summary.value[0].tag) == (9, "given")


def test_a_closed_writer_writes_to_a_new_file(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(), summary.always_record_summaries(), gf.Session() as session:
        write = summary.scalar("x", gf.constant(2.0), step=gf.constant(1, gf.int64))
        close, opened = writer.close(), writer.init()
        session.run(opened)
        session.run(write)
        session.run(close)
        with pytest.raises(gf.errors.FailedPreconditionError, match="summary_writer_initializer_op"):
            session.run(write)
        session.run(opened)
        session.run([write, write])
        session.run(close)
    assert len(list(tmp_path.iterdir())) == 2
    assert [event.step for event in events(tmp_path) if event.HasField("summary")] == [1, 1]


def test_without_a_writer_nothing_is_done() -> None:
    with gf.Session() as session:
        gf.train.create_global_step()
        with summary.create_file_writer(None).as_default(), summary.always_record_summaries():
            assert session.run(summary.scalar("x", gf.constant(2.0))) is None
            assert session.run(summary.flush()) is None
    assert summary.all_summary_ops() == []
    with pytest.raises(RuntimeError, match="No default summary writer"):
        summary.initialize()


def test_a_compiled_step_writes_each_summary_once(tmp_path: Path) -> None:
    step = gf.train.create_global_step()
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(), summary.always_record_summaries():
        v = gf.Variable(1.0)
        write = summary.scalar("x", gf.reduce_sum(v * gf.ones([3])), step=step)
        with gf.control_dependencies([write]):
            train = gf.group(v.assign_add(1.0), step.assign_add(1))
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run([gf.global_variables_initializer(), *summary.summary_writer_initializer_op()])
        for _ in range(5):
            session.run(train)
        session.run(writer.flush())
    found = [(e.step, e.summary.value[0].simple_value) for e in events(tmp_path) if e.HasField("summary")]
    assert found == [(k, 3.0 * (k + 1)) for k in range(5)]


def test_the_inside_writers_files_begin_as_they_are_told(tmp_path: Path) -> None:
    writer = EventsWriter(str(tmp_path / "run").encode())
    writer.WriteEvent(gf.Event(step=3, wall_time=1.0))
    assert writer.Flush() and writer.Close()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("run.out.tfevents.")
    assert [event.step for event in events(tmp_path)] == [0, 3]


def test_memory_is_told_in_bytes() -> None:
    memory = gf.contrib.memory_stats
    with gf.Session() as session:
        now, most, limit = session.run([memory.BytesInUse(), memory.MaxBytesInUse(), memory.BytesLimit()])
    assert 1 << 20 < now <= 1.1 * most < limit
