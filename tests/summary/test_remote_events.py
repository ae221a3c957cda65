"""Protects event files of other file systems, which cannot add to a file: what others see of them, and when."""

from __future__ import annotations

import time
from collections.abc import Iterator

import fsspec
import pytest

import graphflow as gf
import graphflow._core.resources.event_files as event_file

FOLDER = "memory://events"


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    yield
    system = fsspec.filesystem("memory")
    if system.exists("/events"):
        system.rm("/events", recursive=True)


def steps() -> list[int]:
    """The steps that others see, of all event files."""
    return [
        event.step
        for path in gf.gfile.Glob(f"{FOLDER}/*")
        for event in gf.train.summary_iterator(path)
        if event.summary.value
    ]


def point() -> gf.Summary:
    return gf.Summary(value=[gf.Summary.Value(tag="x", simple_value=1.0)])


def test_a_flush_shows_what_was_added_and_the_end_the_rest() -> None:
    with gf.summary.FileWriter(FOLDER, flush_secs=1000) as writer:
        writer.add_summary(point(), 1)
        writer.flush()
        assert steps() == [1]
        writer.add_summary(point(), 2)
        writer.flush()
        writer.flush()
        assert steps() == [1, 2]
        writer.add_summary(point(), 3)
    assert steps() == [1, 2, 3]


def test_what_is_not_flushed_comes_there_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "REMOTE_EVENTS_SECONDS", 0.05)
    with gf.summary.FileWriter(FOLDER) as writer:
        writer.add_summary(point(), 7)
        end = time.monotonic() + 60
        while steps() != [7]:
            assert time.monotonic() < end
            time.sleep(0.01)


def test_a_later_file_sorts_behind_the_others() -> None:
    for step in (1, 2, 3):
        with gf.summary.FileWriter(FOLDER) as writer:
            writer.add_summary(point(), step)
    assert steps() == [1, 2, 3]
    assert len(gf.gfile.ListDirectory(FOLDER)) == 3


def test_where_it_cannot_be_brought_the_next_call_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = gf.summary.FileWriter(FOLDER)

    def put(source: str, path: str) -> None:
        raise PermissionError(13, "no rights", path)

    monkeypatch.setattr(event_file.storage, "put", put)
    writer.add_summary(point(), 1)
    with pytest.raises(gf.errors.PermissionDeniedError, match=r"memory://events/.*no rights"):
        writer.flush()
    with pytest.raises(gf.errors.PermissionDeniedError, match="no rights"):
        writer.close()
