"""Protects the writer of tests, which keeps what it is given, and what event files hold."""

from __future__ import annotations

import unittest
from pathlib import Path

import pytest

import graphflow as gf
from graphflow.contrib import testing
from graphflow.summary import FileWriterCache


def test_hooks_write_to_it(tmp_path: Path) -> None:
    testing.FakeSummaryWriter.install()
    try:
        FileWriterCache.clear()
        with gf.Graph().as_default() as graph:
            train = gf.train.get_or_create_global_step().assign_add(1)
            gf.summary.scalar("two", 2.0)
            with gf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), save_summaries_steps=1
            ) as session:
                session.run(train)
        writer = FileWriterCache.get(str(tmp_path))
        case = unittest.TestCase()
        writer.assert_summaries(
            case,
            expected_logdir=str(tmp_path),
            expected_summaries={1: {"two": 2.0}},
            expected_added_graphs=[graph],
        )
        with pytest.raises(AssertionError):
            writer.assert_summaries(case, expected_summaries={1: {"two": 3.0}})
        with pytest.raises(ValueError, match="already installed"):
            testing.FakeSummaryWriter.install()
    finally:
        testing.FakeSummaryWriter.uninstall()
        FileWriterCache.clear()
    with pytest.raises(ValueError, match="not installed"):
        testing.FakeSummaryWriter.uninstall()


def test_what_event_files_hold(tmp_path: Path) -> None:
    assert testing.latest_event_file(str(tmp_path)) is None and testing.latest_events(str(tmp_path)) == []
    with gf.Graph().as_default(), gf.Session() as session, gf.summary.FileWriter(str(tmp_path)) as writer:
        written = session.run(gf.summary.scalar("two", 2.0))
        writer.add_summary(written, 1)
        writer.flush()
    testing.assert_summary(["two"], {"two": 2.0}, testing.to_summary_proto(written))
    with pytest.raises(AssertionError, match=r"3\.0 is expected"):
        testing.assert_summary(["two"], {"two": 3.0}, testing.to_summary_proto(written))
    events = testing.latest_summaries(str(tmp_path))
    assert testing.simple_values_from_events(events, ["two"]) == {"two": 2.0}
