"""Protects the hooks: the steps at which each acts, the same as TensorFlow's, and the same again after a restart."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.as_tensorflow.inside.hooked_session import HookedSession
from graphflow.protos import event_pb2
from graphflow.train.hooks.timers import ExpectedTimer, ReachedTimer


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made
    gf.summary.FileWriterCache.clear()


class Listener(gf.train.CheckpointSaverListener):
    def __init__(self) -> None:
        self.saved: list[int] = []
        self.ended: list[int] = []

    def before_save(self, session: Any, global_step_value: int) -> None:
        self.saved.append(global_step_value)

    def end(self, session: Any, global_step_value: int) -> None:
        self.ended.append(global_step_value)


def events(folder: Path) -> list[tuple[int, str]]:
    """Step and kind of all events of a folder, of the files in their order."""
    gf.summary.FileWriterCache.clear()
    found = []
    for path in sorted(folder.glob("events*"), key=lambda p: p.stat().st_ctime_ns):
        for event in gf.train.summary_iterator(path):
            kind = event.WhichOneof("what")
            if kind == "session_log":
                kind = event_pb2.SessionLog.SessionStatus.Name(event.session_log.status)
            elif kind == "summary":
                kind = event.summary.value[0].tag
            found.append((event.step, kind))
    return found


class Watched:
    """A training program whose hooks act every `period` steps, and what was fetched at which step."""

    def __init__(self, folder: Path, period: int) -> None:
        self.step = gf.train.get_or_create_global_step()
        self.train = gf.assign_add(self.step, 1)
        self.summarised: list[int] = []
        self.logged: list[int] = []
        probe = self.probe(self.summarised)
        logged = self.probe(self.logged)
        summary = gf.summary.scalar("s", probe)
        saver = gf.train.Saver()
        self.listener = Listener()
        self.scaffold = gf.train.Scaffold(saver=saver)
        self.hooks = [
            gf.train.CheckpointSaverHook(folder, save_steps=period, saver=saver, listeners=[self.listener]),
            gf.train.SummarySaverHook(save_steps=period, output_dir=folder, summary_op=summary),
            gf.train.LoggingTensorHook({"logged": logged}, every_n_iter=period),
            gf.train.StepCounterHook(every_n_steps=period, output_dir=folder),
            gf.train.ProfilerHook(save_steps=period, output_dir=folder),
        ]
        self.folder = folder

    def probe(self, seen: list[int]) -> Any:
        def look(value: Any) -> Any:
            seen.append(int(value))
            return value

        return gf.py_func(look, [self.step], gf.int64)

    def run_to(self, last: int) -> int:
        runs = 0
        hooks = [gf.train.StopAtStepHook(last_step=last), *self.hooks]
        with gf.train.SingularMonitoredSession(
            hooks=hooks, scaffold=self.scaffold, checkpoint_dir=str(self.folder)
        ) as session:
            while not session.should_stop():
                session.run(self.train)
                runs += 1
        return runs


# What TensorFlow 1.15.5 does in this program (with an increment that waits, so that its reads come first).
RECORDED = [
    (4, 11, [0, 4, 8, 11], [0, 4, 8], [5, 9], [4, 8]),
    (1, 3, [0, 1, 2, 3], [0, 1, 2], [2, 3], [2, 3]),
    (3, 9, [0, 3, 6, 9], [0, 3, 6], [4, 7], [3, 6, 9]),
]


@pytest.mark.parametrize(("period", "last", "saved", "fetched", "rates", "timelines"), RECORDED)
def test_hooks_act_at_the_steps_at_which_tensorflows_do(
    tmp_path: Path, period: int, last: int, saved: Any, fetched: Any, rates: Any, timelines: Any
) -> None:
    program = Watched(tmp_path, period)
    assert program.run_to(last) == last
    assert program.listener.saved == saved
    assert program.listener.ended == [last]
    assert program.summarised == fetched
    assert program.logged == fetched
    found = events(tmp_path)
    assert [step for step, kind in found if kind == "s"] == [step + 1 for step in fetched]
    assert [step for step, kind in found if kind == "global_step/sec"] == rates
    assert [step for step, kind in found if kind == "CHECKPOINT"] == saved
    assert [step for step, kind in found if kind == "START"] == [1]
    files = sorted(int(p.stem.split("-")[1]) for p in tmp_path.glob("timeline-*.json"))
    assert files == timelines
    assert json.loads((tmp_path / f"timeline-{files[0]}.json").read_text())["traceEvents"]


@pytest.mark.parametrize("period", [1, 3, 4, 5])
def test_a_restarted_program_fetches_the_same_at_the_same_steps(tmp_path: Path, period: int) -> None:
    def run(folder: Path, stops: list[int]) -> list[list[int]]:
        summarised, logged, timelines = [], [], []
        for stop in stops:
            with gf.Graph().as_default():
                program = Watched(folder, period)
                program.run_to(stop)
                summarised += program.summarised
                logged += program.logged
            gf.summary.FileWriterCache.clear()
        timelines = sorted(os.listdir(folder))
        return [summarised, logged, [name for name in timelines if name.startswith("timeline")]]

    undisturbed = run(tmp_path / "a", [17])
    assert run(tmp_path / "b", [2, 6, 7, 12, 17]) == undisturbed
    assert undisturbed[0] == list(range(0, 17, period))


def test_a_look_at_the_step_before_the_loop_changes_nothing_in_it(tmp_path: Path) -> None:
    program = Watched(tmp_path, 4)
    hooks = [gf.train.StopAtStepHook(last_step=9), *program.hooks]
    with gf.train.SingularMonitoredSession(hooks=hooks, scaffold=program.scaffold) as session:
        assert session.run(program.step) == 0
        assert program.summarised == [0]
        while not session.should_stop():
            session.run(program.train)
    assert program.summarised == [0, 0, 4, 8]


# ---- timers -------------------------------------------------------------------------------------------------------


def test_second_or_step_timer_counts_from_where_it_triggered() -> None:
    timer = gf.train.SecondOrStepTimer(every_steps=10)
    assert timer.should_trigger_for_step(3)
    assert timer.update_last_triggered_step(3) == (None, None)
    assert not timer.should_trigger_for_step(3)
    assert not timer.should_trigger_for_step(12)
    assert timer.should_trigger_for_step(13)
    assert timer.update_last_triggered_step(15)[1] == 12
    assert timer.last_triggered_step() == 15
    timer.reset()
    assert timer.should_trigger_for_step(15)
    assert timer.last_triggered_step() is None
    by_clock = gf.train.SecondOrStepTimer(every_secs=1000.0)
    assert by_clock.should_trigger_for_step(1)
    by_clock.update_last_triggered_step(1)
    assert not by_clock.should_trigger_for_step(2)
    for arguments in ({}, {"every_secs": 1.0, "every_steps": 1}):
        with pytest.raises(ValueError, match="every_secs"):
            gf.train.SecondOrStepTimer(**arguments)


def test_timers_catch_up_with_steps_that_others_make() -> None:
    timer = ReachedTimer(every_steps=10)
    timer.start(0)
    acted = []
    for step in range(0, 60, 7):
        if timer.due(step):
            acted.append(step)
            timer.note(step)
    assert acted == [14, 21, 35, 42, 56]


def test_where_the_step_stays_runs_are_counted() -> None:
    timer = ExpectedTimer(every_steps=5)
    timer.start(100)
    acted = []
    for number in range(20):
        if timer.due(101):
            acted.append(number)
            timer.acted(100, 100)
    assert acted == [0, 1, 6, 11, 16]


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.train.CheckpointSaverHook("d"),
        lambda: gf.train.CheckpointSaverHook("d", save_secs=1, save_steps=1),
        lambda: gf.train.CheckpointSaverHook("d", save_steps=0),
        lambda: gf.train.CheckpointSaverHook("d", save_steps=1, saver=object(), scaffold=gf.train.Scaffold()),
        lambda: gf.train.SummarySaverHook(save_steps=1),
        lambda: gf.train.SummarySaverHook(save_steps=1, save_secs=1, summary_op="s"),
        lambda: gf.train.StepCounterHook(every_n_steps=None),
        lambda: gf.train.StopAtStepHook(),
        lambda: gf.train.StopAtStepHook(num_steps=1, last_step=1),
        lambda: gf.train.LoggingTensorHook([]),
        lambda: gf.train.LoggingTensorHook([], every_n_iter=1, every_n_secs=1),
        lambda: gf.train.LoggingTensorHook([], every_n_iter=0),
        lambda: gf.train.ProfilerHook(),
    ],
)
def test_hooks_refuse_contradictions(make: Any) -> None:
    with pytest.raises(ValueError):
        make()


# ---- one by one ---------------------------------------------------------------------------------------------------


def test_hooks_that_need_a_global_step_say_so() -> None:
    for hook in (gf.train.StopAtStepHook(last_step=1), gf.train.StepCounterHook()):
        with pytest.raises(RuntimeError, match=f"{type(hook).__name__} needs a global step.*get_or_create"):
            gf.train.MonitoredSession(hooks=[hook])


def test_stop_at_step_counts_from_the_begin_of_the_session() -> None:
    step = gf.Variable(7, trainable=False, name="global_step", dtype=gf.int64)
    move = step.assign_add(1)
    with gf.train.MonitoredSession(hooks=[gf.train.StopAtStepHook(num_steps=3)]) as session:
        while not session.should_stop():
            last = session.run(move)
    assert last == 10


def test_stop_at_step_tells_that_nothing_moves_the_step(caplog: pytest.LogCaptureFixture) -> None:
    gf.train.get_or_create_global_step()
    one = gf.constant(1.0)
    with gf.train.MonitoredSession(hooks=[gf.train.StopAtStepHook(last_step=3)]) as session:
        for _ in range(1002):
            session.run(one)
    assert caplog.text.count("The global step stayed at 0 for 1000 runs") == 1
    assert "minimize(loss, global_step=" in caplog.text


def test_logging_hook_writes_values_at_level_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "graphflow")
    a, b = gf.constant([1.0, 2.0], name="a"), gf.constant(3, name="b")
    hooks = [
        gf.train.LoggingTensorHook({"first": a, "second": "b:0"}, every_n_iter=2),
        gf.train.LoggingTensorHook([b], every_n_iter=10, at_end=True),
        gf.train.LoggingTensorHook(
            {"b": b}, at_end=True, formatter=lambda values: f"formatted {values['b']}"
        ),
    ]
    with gf.train.MonitoredSession(hooks=hooks) as session:
        for _ in range(4):
            session.run(a)
    lines = [r.message for r in caplog.records if r.name == "graphflow.train.hooks.basic_hooks"]
    assert lines[0] == "first = [1. 2.], second = 3"
    assert lines[1] == "b:0 = 3"
    assert lines[2].startswith("first = [1. 2.], second = 3 (0.")
    assert lines[2].endswith(" sec)")
    assert lines[3:] == ["b:0 = 3", "formatted 3"]


def test_nan_hook_raises_or_stops(caplog: pytest.LogCaptureFixture) -> None:
    x = gf.placeholder(gf.float32, [])
    loss = gf.log(x, name="loss")
    assert issubclass(gf.train.NanLossDuringTrainingError, RuntimeError)
    assert str(gf.train.NanLossDuringTrainingError()) == "NaN loss during training."
    with (
        pytest.raises(gf.train.NanLossDuringTrainingError, match="'loss:0' is NaN"),
        gf.train.MonitoredSession(hooks=[gf.train.NanTensorHook(loss)]) as session,
    ):
        session.run(x, {x: 1.0})
        session.run(x, {x: -1.0})
    with gf.train.MonitoredSession(hooks=[gf.train.NanTensorHook(loss, fail_on_nan_loss=False)]) as session:
        session.run(x, {x: -1.0})
        assert session.should_stop()
    assert "'loss:0' is NaN" in caplog.text


def test_final_ops_and_feeds() -> None:
    x = gf.placeholder(gf.float32, [])
    v = gf.Variable(1.0)
    final = gf.train.FinalOpsHook({"v": v, "x": x}, final_ops_feed_dict={x: 5.0})
    fed = iter([2.0, 3.0])
    with gf.train.MonitoredSession(hooks=[final, gf.train.FeedFnHook(lambda: {x: next(fed)})]) as session:
        assert session.run(x) == 2.0
        assert session.run(x) == 3.0
        assert final.final_ops_values is None
    assert final.final_ops_values == {"v": 1.0, "x": 5.0}
    with (
        gf.train.MonitoredSession(hooks=[gf.train.FeedFnHook(lambda: {x: 1.0})]) as session,
        pytest.raises(
            RuntimeError, match="Same tensor is fed by a hook and by the run itself: 'Placeholder:0'"
        ),
    ):
        session.run(x, {x: 2.0})
    twice = [gf.train.FeedFnHook(lambda: {x: 1.0}), gf.train.FeedFnHook(lambda: {x: 1.0})]
    with (
        gf.train.MonitoredSession(hooks=twice) as session,
        pytest.raises(RuntimeError, match="fed by two hooks"),
    ):
        session.run(x)


def test_global_step_waiter_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    step = gf.train.get_or_create_global_step()
    move = step.assign_add(2)
    session_of: list[Any] = []
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        session_of[0].run(move)

    monkeypatch.setattr("graphflow.train.hooks.basic_hooks.time.sleep", sleep)
    hook = gf.train.GlobalStepWaiterHook(wait_until_step=5)
    with gf.train.SingularMonitoredSession(hooks=[hook]) as session:
        session_of.append(session.raw_session())
        assert session.run(step) == 6
        assert session.run(step) == 6
    assert len(slept) == 3
    assert max(slept) <= 0.5


def test_a_listener_may_stop_training(tmp_path: Path) -> None:
    class Stop(gf.train.CheckpointSaverListener):
        def after_save(self, session: Any, global_step_value: int) -> bool:
            return global_step_value >= 4

    step = gf.train.get_or_create_global_step()
    move = step.assign_add(1)
    saver = gf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, scaffold=(scaffold := gf.train.Scaffold()), listeners=[Stop()]
    )
    with gf.train.SingularMonitoredSession(hooks=[saver], scaffold=scaffold) as session:
        while not session.should_stop():
            last = session.run(move)
    assert last == 4


def test_a_checkpoint_that_is_there_is_not_saved_again(tmp_path: Path) -> None:
    for expected in ([0, 3], [5]):
        with gf.Graph().as_default():
            step = gf.train.get_or_create_global_step()
            move = step.assign_add(1)
            listener = Listener()
            scaffold = gf.train.Scaffold()
            saver = gf.train.CheckpointSaverHook(
                str(tmp_path), save_steps=100, scaffold=scaffold, listeners=[listener]
            )
            with gf.train.SingularMonitoredSession(
                hooks=[saver], scaffold=scaffold, checkpoint_dir=str(tmp_path)
            ) as session:
                for _ in range(3 if expected[0] == 0 else 2):
                    session.run(move)
            assert listener.saved == expected


def test_a_step_may_be_recorded_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "graphflow")
    move = gf.train.get_or_create_global_step().assign_add(1)
    for _ in range(2):  # the second session begins at step 0 again, with the writer of the first
        hooks = [gf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))]
        with gf.train.SingularMonitoredSession(hooks=hooks) as session:
            for _ in range(3):
                session.run(move)
    assert [path.name for path in tmp_path.glob("timeline*")] == ["timeline-2.json"]
    assert "a recording of step 2 already" in caplog.text


def test_own_hooks_may_ask_for_traces_and_get_what_they_fetch() -> None:
    seen: list[Any] = []

    class Own:  # hooks need not be subclasses
        def begin(self) -> None:
            self.fetched = gf.constant(4.0)

        def after_create_session(self, session: Any, coord: Any) -> None:
            seen.append(coord.should_stop())

        def before_run(self, context: Any) -> Any:
            seen.append(context.original_args.fetches)
            options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
            return gf.train.SessionRunArgs({"f": [self.fetched]}, options=options)

        def after_run(self, context: Any, values: Any) -> None:
            seen.append(
                (values.results, values.options.trace_level, len(values.run_metadata.step_stats.nodes()) > 0)
            )

        def end(self, session: Any) -> None:
            seen.append("end")

    one = gf.constant(np.float32(1))
    metadata = gf.RunMetadata()
    with gf.train.MonitoredSession(hooks=[Own()]) as session:
        options = gf.RunOptions(timeout_in_ms=60_000)
        assert session.run({"a": one}, options=options, run_metadata=metadata) == {"a": 1.0}
    assert seen == [False, {"a": one}, ({"f": [4.0]}, gf.RunOptions.FULL_TRACE, True), "end"]
    assert metadata.step_stats.nodes()


def test_summaries_are_saved_in_a_loop_that_calls_hooks_itself() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        step = gf.train.get_or_create_global_step()
        count = gf.assign_add(step, 1)
        writer = gf.contrib.testing.FakeSummaryWriter("folder")
        hook = gf.train.SummarySaverHook(
            save_steps=8, summary_writer=writer, summary_op=gf.summary.scalar("x", step)
        )
        hook.begin()
        session.run(gf.global_variables_initializer())
        loop = HookedSession(session, [hook])
        for _ in range(20):
            loop.run(count)
        assert sorted(writer.summaries) == [1, 9, 17]


def test_checkpoints_and_rates_are_noted_in_a_loop_that_calls_hooks_itself(tmp_path: Path) -> None:
    with gf.Graph().as_default() as graph, gf.Session() as session:
        step = gf.train.get_or_create_global_step()
        train = step.assign_add(1)
        writer = gf.contrib.testing.FakeSummaryWriter(str(tmp_path))
        saver = gf.train.Saver()
        hooks = [
            gf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, saver=saver),
            gf.train.StepCounterHook(every_n_steps=2, summary_writer=writer),
        ]
        for hook in hooks:
            hook.begin()
        session.run(gf.global_variables_initializer())
        loop = HookedSession(session, hooks)
        saved = []
        for _ in range(6):
            loop.run(train)
            saved.append(gf.train.load_variable(str(tmp_path), step.name))
        assert graph is gf.get_default_graph()
    assert saved == [1, 1, 3, 3, 5, 5]
    assert list(writer.summaries) == [3, 5]


def test_a_session_writes_its_graph_as_a_meta_graph_too(tmp_path: Path) -> None:
    with gf.Graph().as_default() as graph:
        gf.train.get_or_create_global_step()
        gf.add_to_collection("later", gf.train.Saver(defer_build=True))
        with gf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), progress=False):
            nodes = [node.name for node in graph.as_graph_def().node]
    events = [
        event
        for path in sorted(tmp_path.glob("events.out*"))
        for event in gf.train.summary_iterator(str(path))
        if event.WhichOneof("what") == "meta_graph_def"
    ]
    assert len(events) == 1
    meta_graph = gf.MetaGraphDef.FromString(events[0].meta_graph_def)
    assert [node.name for node in meta_graph.graph_def.node] == nodes
    assert meta_graph.saver_def.restore_op_name in nodes
    assert "variables" in meta_graph.collection_def and "later" not in meta_graph.collection_def


def test_the_graph_of_a_training_is_a_text_in_its_folder(tmp_path: Path) -> None:
    """As TensorFlow's hook leaves it: programs freeze graphs from it."""
    from google.protobuf import text_format

    with gf.Graph().as_default() as graph:
        step = gf.train.get_or_create_global_step()
        gf.get_variable("w", initializer=gf.constant([0.1, -1e-20, 3e38]))
        gf.constant(b'a"\xff\n', name="odd")
        with gf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
            session.run(step)
        expected = graph.as_graph_def(add_shapes=True)
    found = text_format.Parse((tmp_path / "graph.pbtxt").read_text(), gf.GraphDef())
    assert found == expected
