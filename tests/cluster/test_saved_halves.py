"""Protects updates that a checkpoint has in part: a step that was under way while it was written counts once after it.

Two ps tasks with a ledger each, a chief that saves after each step, and a worker whose step is held at a moment: when
one ledger has its update and the other has not, or when both have it and nobody was told. Meanwhile the chief saves,
and a ps is killed with SIGKILL and started again. The chief restores what it has saved; the worker repeats its step.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from tests.cluster.processes import Processes
from tests.cluster.serving import serve

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

TAGS = 8
HELD = 5
"""The tag of the step that is held."""


class Hold:
    """Where the first attempt of a step waits."""

    def __init__(self) -> None:
        self.reached, self.released = threading.Event(), threading.Event()

    def wait(self) -> None:
        if not self.reached.is_set():
            self.reached.set()
            assert self.released.wait(120)


_HOLDS: dict[str, Hold] = {}
"""The one of the present test: a function that a task calls is known to it by name."""


def _pass(tag: Any) -> Any:
    if tag == HELD:
        _HOLDS["now"].wait()
    return tag


def _saver_of_everything() -> Any:
    return gf.train.Saver()


def _saver_of_variables() -> Any:
    return gf.train.Saver(gf.global_variables())


def _saver_on_a_ps() -> Any:
    with gf.device("/job:ps/task:0"):
        return gf.train.Saver()


class Training:
    """A worker: its graph, its task and its session. where: "between" the ledgers or "after" both."""

    def __init__(
        self, stack: ExitStack, spec: Any, index: int, folder: Path, where: str, saver: Callable[[], Any]
    ) -> None:
        server = serve(stack, spec, "worker", index)
        setter = gf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=spec)
        config = gf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
        self.graph = gf.Graph()
        with self.graph.as_default(), gf.device(setter):
            self.step = gf.train.get_or_create_global_step()
            self.ledgers = [
                gf.get_variable(f"ledger_{i}", shape=[TAGS], initializer=gf.zeros_initializer())
                for i in range(2)
            ]
            assert len({ledger.device for ledger in self.ledgers}) == 2
            self.tag = gf.placeholder(gf.int32, [], name="tag")
            now = gf.one_hot(self.tag, TAGS)
            first = self.ledgers[0].assign_add(now)
            with gf.control_dependencies([first]):
                then = gf.py_func(_pass, [self.tag], gf.int32) if where == "between" else self.tag
                second = self.ledgers[1].assign_add(gf.one_hot(then, TAGS))
            with gf.control_dependencies([second]):
                counted = gf.assign_add(self.step, 1)
            with gf.control_dependencies([counted]):
                self.train_op = gf.py_func(_pass, [self.tag], gf.int32) if where == "after" else counted.op
            scaffold = gf.train.Scaffold(saver=saver())
            self.session = gf.train.MonitoredTrainingSession(
                server.target, index == 0, str(folder), scaffold, config=config, save_checkpoint_steps=1,
                save_checkpoint_secs=None, save_summaries_steps=None, log_step_count_steps=None, progress=False,
                max_wait_secs=60, stop_grace_period_secs=5,
            )  # fmt: skip
        stack.callback(self.session.close)

    def run(self, tag: int) -> None:
        self.session.run(self.train_op, {self.tag: tag})

    def counted(self) -> list[list[float]]:
        return [ledger.tolist() for ledger in self.session.run(self.ledgers)]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path / "run", "tests.cluster.once_role", {"ps": 2, "worker": 2}) as found:
        for index in range(2):
            found.start("ps", index)
        yield found


SAVERS = [_saver_of_everything, _saver_of_variables, _saver_on_a_ps]


@pytest.mark.parametrize("killed", [0, 1])
@pytest.mark.parametrize(
    ("where", "saver"),
    [("between", SAVERS[0]), ("between", SAVERS[1]), ("between", SAVERS[2]), ("after", SAVERS[0])],
)
def test_promise_8_a_step_that_a_checkpoint_has_in_part_counts_once(
    where: str, saver: Callable[[], Any], killed: int, run: Processes, tmp_path: Path
) -> None:
    hold = _HOLDS["now"] = Hold()
    with ExitStack() as stack:
        chief = Training(stack, run.spec, 0, tmp_path / "model", where, saver)
        worker = Training(stack, run.spec, 1, tmp_path / "model", where, saver)
        held = threading.Thread(target=worker.run, args=(HELD,))
        held.start()
        stack.callback(held.join, 60)
        stack.callback(hold.released.set)
        assert hold.reached.wait(60)
        chief.run(1)  # And saves.
        run.signal("ps", killed, signal.SIGKILL)
        run.start("ps", killed)
        chief.run(2)
        hold.released.set()
        held.join(60)
        assert not held.is_alive()
        chief.run(3)
        worker.run(6)
        expected = [0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
        assert chief.counted() == [expected, expected]
        assert len(chief.session.recoveries) == 1
