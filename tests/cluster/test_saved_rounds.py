"""Protects checkpoints of synchronous training: each has all of a round or nothing, and knows whose gradients it has.

Two ps tasks with a ledger each, and workers that take rounds. A moment is held: within the end of a round, when one
ledger has its change and the other has not; or after it, before a worker is told. Meanwhile a checkpoint is written.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import threading
import time
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

TAGS = 10
HELD = 5


def _wait(folder: bytes) -> None:
    """The first that comes waits until it is released. By files, since a change is made in the process of a ps."""
    reached, released = (Path(folder.decode()) / name for name in ("reached", "released"))
    try:
        reached.touch(exist_ok=False)
    except FileExistsError:
        return
    limit = time.monotonic() + 120
    while not released.exists():
        assert time.monotonic() < limit
        time.sleep(0.005)


def _told(tag: Any, folder: bytes) -> Any:
    if tag == HELD:
        _wait(folder)
    return tag


def _applied(gradient: Any, folder: bytes) -> Any:
    if gradient[HELD]:
        _wait(folder)
    return gradient


class _Held(gf.train.GradientDescentOptimizer):
    """Holds the change of a ledger that has the tag."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1.0)
        self._folder = str(folder)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        if var.op.name == "ledger_1":
            grad = gf.reshape(gf.py_func(_applied, [grad, self._folder], gf.float32), [TAGS])
        return super()._apply_dense(grad, var)


class Training:
    """A worker: its graph, its task and its session. Each run counts its tag in both ledgers."""

    def __init__(
        self, stack: ExitStack, spec: Any, index: int, folder: Path, where: str, total: int, steps: int | None
    ) -> None:
        server = serve(stack, spec, "worker", index)
        task = f"/job:worker/task:{index}"
        setter = gf.train.replica_device_setter(worker_device=task, cluster=spec)
        self.graph = gf.Graph()
        with self.graph.as_default(), gf.device(setter):
            self.step = gf.train.get_or_create_global_step()
            self.ledgers = [
                gf.get_variable(f"ledger_{i}", shape=[TAGS], initializer=gf.zeros_initializer())
                for i in range(2)
            ]
            assert len({ledger.device for ledger in self.ledgers}) == 2
            self.tag = gf.placeholder(gf.int32, [], name="tag")
            inner = _Held(folder.parent) if where == "within" else gf.train.GradientDescentOptimizer(1.0)
            together = gf.train.SyncReplicasOptimizer(inner, 2, total)
            marks = [-2.0 * gf.one_hot(self.tag, TAGS)] * 2
            trained = together.apply_gradients(list(zip(marks, self.ledgers, strict=True)), self.step)
            self.train_op: Any = trained
            if where == "after":
                with gf.control_dependencies([trained]):
                    self.train_op = gf.py_func(_told, [self.tag, str(folder.parent)], gf.int32)
            self.saver = gf.train.Saver()
            config = gf.ConfigProto(device_filters=["/job:ps", task])
            self.session = gf.train.MonitoredTrainingSession(
                server.target, index == 0, str(folder), gf.train.Scaffold(saver=self.saver), config=config,
                save_checkpoint_steps=steps, save_checkpoint_secs=None, save_summaries_steps=None,
                log_step_count_steps=None, progress=False, max_wait_secs=60, stop_grace_period_secs=5,
            )  # fmt: skip
        stack.callback(self.session.close)

    def run(self, tag: int) -> None:
        self.session.run(self.train_op, {self.tag: tag})


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path / "run", "tests.cluster.once_role", {"ps": 2, "worker": 3}) as found:
        for index in range(2):
            found.start("ps", index)
        yield found


@pytest.fixture
def begin(run: Processes, tmp_path: Path) -> Iterator[Callable[..., list[Training]]]:
    with ExitStack() as stack:

        def start(where: str, total: int, steps: int | None = None) -> list[Training]:
            stack.callback((tmp_path / "released").touch)
            return [
                Training(stack, run.spec, i, tmp_path / "model", where, total, steps) for i in range(total)
            ]

        yield start


def in_thread(function: Callable[..., Any], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    return thread


def until_reached(folder: Path) -> None:
    limit = time.monotonic() + 60
    while not (folder / "reached").exists():
        assert time.monotonic() < limit
        time.sleep(0.01)


def together(first: Training, tag: int, second: Training, other: int) -> None:
    """A round of two."""
    thread = in_thread(second.run, other)
    first.run(tag)
    thread.join(60)
    assert not thread.is_alive()


def test_a_checkpoint_that_is_written_while_others_end_a_round_has_all_of_it(
    begin: Callable[..., list[Training]], tmp_path: Path
) -> None:
    chief, one, two = begin("within", 3)
    together(one, 1, two, 2)
    threads = [in_thread(one.run, HELD), in_thread(two.run, 6)]
    until_reached(tmp_path)
    path = str(tmp_path / "saved")
    saving = in_thread(chief.session.run_step_fn, lambda step: chief.saver.save(step.session, path))
    saving.join(1.0)
    (tmp_path / "released").touch()
    for thread in (saving, *threads):
        thread.join(60)
        assert not thread.is_alive()
    reader = gf.train.load_checkpoint(path)
    first, second = (reader.get_tensor(f"ledger_{i}").tolist() for i in range(2))
    assert first == second
    assert reader.get_tensor("global_step") == 2 and sum(first) == 4.0
    together(one, 7, two, 8)  # Rounds go on after it.


def test_gradients_that_a_checkpoint_has_do_not_count_again_where_the_answer_was_lost(
    begin: Callable[..., list[Training]], run: Processes, tmp_path: Path
) -> None:
    chief, worker = begin("after", 2, steps=1)
    held = in_thread(worker.run, HELD)
    chief.run(1)  # And saves.
    until_reached(tmp_path)
    run.signal("ps", 0, signal.SIGKILL)  # The one of the global step.
    run.start("ps", 0)
    thread = in_thread(chief.run, 2)
    (tmp_path / "released").touch()
    held.join(60)
    assert not held.is_alive()
    worker.run(6)
    thread.join(60)
    assert not thread.is_alive()
    found, step = chief.session.run([chief.ledgers, chief.step])
    expected = [float(tag in (1, 2, HELD, 6)) for tag in range(TAGS)]
    assert [ledger.tolist() for ledger in found] == [expected, expected] and step == 2
    assert len(chief.session.recoveries) == 1


@pytest.mark.parametrize("needed", [3, 2])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))])
def test_whoever_is_killed_each_gradient_of_each_round_counts_once(
    seed: int, needed: int, tmp_path: Path
) -> None:
    chance, steps = random.Random(seed), 60
    arguments = {"steps": steps, "needed": needed, "save_steps": 2}
    with Processes(tmp_path / "run", "tests.cluster.sync_role", {"ps": 2, "worker": 3}) as run:
        for index in range(2):
            run.start("ps", index)
        for index in range(3):
            run.start("tagged", index, **arguments)
        for number in range(3):
            run.wait_until(needed * (12 * number + 8))
            time.sleep(chance.random() * 0.05)
            role, index = chance.choice([("ps", 0), ("ps", 1), ("tagged", chance.randrange(3))])
            run.signal(role, index, signal.SIGKILL)
            time.sleep(chance.random() * 0.3)
            run.start(role, index, **(arguments if role == "tagged" else {}))
        for index in range(3):
            assert run.ended("tagged", index) == 0, run.text()
        found = json.loads((run.folder / "result").read_text())
        first, second = found["ledgers"]
        assert first == second, "a round was applied to one variable and not to another"
        assert set(first.values()) == {1.0}, "a gradient was applied twice"
        assert len(first) == needed * found["step"], "a round has other than its gradients"
