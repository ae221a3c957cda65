"""What tests of programs use: a writer that keeps what it is given, and what event files hold (tf.contrib.testing)."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import graphflow.protos as protos
from graphflow._core.common.files import storage
from graphflow._core.graph.graph import Graph
from graphflow.summary.writer import FileWriter, FileWriterCache, summary_iterator

__all__ = [
    "FakeSummaryWriter", "assert_summary", "latest_event_file", "latest_events", "latest_summaries",
    "simple_values_from_events", "to_summary_proto",
]  # fmt: skip


class FakeSummaryWriter:
    """A FileWriter that writes nothing and keeps what it is given (tf.contrib.testing.FakeSummaryWriter).

    Args:
        logdir: The folder.
        graph: The graph, or None.
    """

    _installed: ClassVar[bool] = False

    def __init__(self, logdir: str, graph: Graph | None = None) -> None:
        self._logdir, self._graph = logdir, graph
        self._summaries: dict[int, list[Any]] = defaultdict(list)
        self._graphs: list[Graph] = []
        self._meta_graphs: list[Any] = []
        self._session_logs: list[Any] = []
        self._run_metadata: dict[str, Any] = {}

    @classmethod
    def install(cls) -> None:
        """Makes gf.summary.FileWriterCache, and supervisors, use it from now on.

        Raises:
            ValueError: It is installed already.
        """
        if FakeSummaryWriter._installed:
            raise ValueError("FakeSummaryWriter already installed.")
        FakeSummaryWriter._installed = True
        FileWriterCache.maker = FakeSummaryWriter

    @classmethod
    def uninstall(cls) -> None:
        """Ends what install began.

        Raises:
            ValueError: It is not installed.
        """
        if not FakeSummaryWriter._installed:
            raise ValueError("FakeSummaryWriter not installed.")
        FakeSummaryWriter._installed = False
        FileWriterCache.maker = FileWriter

    @property
    def summaries(self) -> Mapping[int, Sequence[Any]]:
        """The Summary messages by step."""
        return self._summaries

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: str | None = None,
        expected_graph: Graph | None = None,
        expected_summaries: Mapping[int, Mapping[str, float]] | None = None,
        expected_added_graphs: Sequence[Graph] | None = None,
        expected_added_meta_graphs: Sequence[Any] | None = None,
        expected_session_logs: Sequence[Any] | None = None,
    ) -> None:
        """Fails the test unless it was given what is expected; None for what is not looked at.

        Args:
            test_case: A unittest.TestCase.
            expected_logdir: The folder.
            expected_graph: The graph that it was made with.
            expected_summaries: {step: {tag: number}}; "global_step/sec" does not count.
            expected_added_graphs: The graphs.
            expected_added_meta_graphs: MetaGraphDef messages.
            expected_session_logs: SessionLog messages.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries)
            values = [value for summary in self._summaries[step] for value in summary.value]
            found = {value.tag: value.simple_value for value in values if value.tag != "global_step/sec"}
            test_case.assertEqual(expected, found)
        for wanted, got in (
            (expected_added_graphs, self._graphs),
            (expected_added_meta_graphs, self._meta_graphs),
            (expected_session_logs, self._session_logs),
        ):
            if wanted is not None:
                test_case.assertEqual(list(wanted), got)

    def add_summary(self, summ: Any, current_global_step: int) -> None:
        """Keeps a summary.

        Args:
            summ: A Summary message, or its bytes.
            current_global_step: The step.
        """
        self._summaries[current_global_step].append(
            to_summary_proto(summ) if isinstance(summ, bytes) else summ
        )

    def add_graph(self, graph: Graph, global_step: int | None = None, graph_def: Any = None) -> None:
        """Keeps a graph.

        Args:
            graph: The graph.
            global_step: The step, or None.
            graph_def: None.

        Raises:
            ValueError: The step is negative, or a GraphDef is given.
        """
        _check(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Keeps a meta graph.

        Args:
            meta_graph_def: The MetaGraphDef message.
            global_step: The step, or None.

        Raises:
            ValueError: The step is negative.
        """
        _check(global_step)
        self._meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Keeps what a session tells of itself.

        Args:
            session_log: The SessionLog message.
            global_step: The step, or None.
        """
        self._session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Keeps what a run tells.

        Args:
            run_metadata: The RunMetadata.
            tag: Its name.
            global_step: The step, or None.

        Raises:
            ValueError: The step is negative.
        """
        _check(global_step)
        self._run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Nothing: nothing is written."""

    def reopen(self) -> None:
        """Nothing: there is no file."""

    def close(self) -> None:
        """Nothing: there is no file."""


def _check(step: int | None) -> None:
    if step is not None and step < 0:
        raise ValueError(f"Invalid global_step {step}.")


def assert_summary(
    expected_tags: Collection[str], expected_simple_values: Mapping[str, float], summary_proto: Any
) -> None:
    """Raises AssertionError unless a summary has the tags and the numbers (tf.contrib.testing.assert_summary).

    Args:
        expected_tags: All tags.
        expected_simple_values: {tag: number} for some of them.
        summary_proto: The Summary message.
    """
    numbers = {value.tag: value.simple_value for value in summary_proto.value}
    if set(expected_tags) != set(numbers):
        raise AssertionError(f"The tags are {sorted(numbers)}, and {sorted(expected_tags)} are expected.")
    for tag, number in expected_simple_values.items():
        if abs(numbers[tag] - number) > 1e-6 * max(1.0, abs(number)):
            raise AssertionError(f"{tag!r} is {numbers[tag]}, and {number} is expected.")


def to_summary_proto(summary_str: bytes) -> Any:
    """The Summary message of its bytes (tf.contrib.testing.to_summary_proto).

    Args:
        summary_str: The bytes.
    """
    return protos.summary_pb2.Summary.FromString(summary_str)


def latest_event_file(base_dir: str) -> str | None:
    """The newest event file of a folder, None if there is none (tf.contrib.testing.latest_event_file).

    Args:
        base_dir: The folder.
    """
    found = [os.path.join(base_dir, name) for name in storage.names(base_dir) if "tfevents" in name]
    return max(found, key=os.path.getctime, default=None)


def latest_events(base_dir: str) -> list[Any]:
    """The Event messages of the newest event file of a folder (tf.contrib.testing.latest_events).

    Args:
        base_dir: The folder.
    """
    path = latest_event_file(base_dir)
    return [] if path is None else list(summary_iterator(path))


def latest_summaries(base_dir: str) -> list[Any]:
    """Those of latest_events that have a summary (tf.contrib.testing.latest_summaries).

    Args:
        base_dir: The folder.
    """
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Collection[str]) -> dict[str, float]:
    """The numbers of summaries, the last for each tag (tf.contrib.testing.simple_values_from_events).

    Args:
        events: Event messages.
        tags: The tags that are wanted.
    """
    return {
        value.tag: value.simple_value
        for event in events
        for value in event.summary.value
        if value.tag in tags and value.HasField("simple_value")
    }
