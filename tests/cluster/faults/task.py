"""What the processes of the lab do: a parameter server, a chief, a worker, and a client with a bare session.

Each tells the lab where it is, a line for each event, and where the lab has armed a moment it stops there until the lab
says "go". Every gradient has a tag of its own, which it keeps where the session repeats the step after a recovery: the
variable `counts` has, for each tag, how often it was applied.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

import graphflow as gf

Cluster = dict[str, list[str]]

TAGS = 1 << 17
LIFE = 1 << 13
"""Tags that one process has."""


class Line:
    """The connection to the lab."""

    def __init__(self, path: str, name: str, moments: Sequence[str]) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._armed = set(moments)
        self._lock = threading.Lock()
        self._go = threading.Event()
        self.finish = threading.Event()
        self.say(name)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._socket.makefile():
            {"go": self._go, "finish": self.finish}[line.strip()].set()

    def say(self, *words: Any) -> None:
        """Tells the lab something."""
        text = " ".join(str(word) for word in words).replace("\n", " | ")
        with self._lock:
            self._socket.sendall(f"{text}\n".encode())

    def at(self, moment: str) -> None:
        """The process is at a moment; where that is armed it goes on when the lab says so."""
        if moment in self._armed:
            self._armed.remove(moment)
            self.say("AT", moment)
            self._go.wait()


_LINES: list[Line] = []
"""The one of this process: the function in the graph travels by name, so it finds the line here."""


def at_step(tag: Any) -> Any:
    """The moment within a step."""
    if tag % LIFE > 8:
        _LINES[0].at("step")
    return tag


class _ToLab(logging.Handler):
    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        self._line.say("LOG", record.getMessage())


def run(folder: str, name: str, role: str, **arguments: Any) -> None:
    """One process; `moments` are those it stops at. Roles are ps, chief, worker (1), client; "ps:1" is another ps."""
    line = Line(f"{folder}/lab", name, arguments.pop("moments"))
    _LINES.append(line)
    logger = logging.getLogger("graphflow")
    logger.setLevel(logging.INFO)
    logger.addHandler(_ToLab(line))
    _stop_inside_saves(line)
    roles = {"ps": ps, "chief": train, "worker": train, "client": client, "stopper": stopper}
    config = gf.ConfigProto(tcp_only=arguments.pop("tcp_only", False))
    kind, _, index = role.partition(":")
    roles[kind](line, folder, int(index or kind == "worker"), config=config, **arguments)
    line.say("END")


def _stop_inside_saves(line: Line) -> None:
    """The moment within a save: its temporary file is there and whole, and has not got its name yet."""
    rename = os.rename

    def stopping(source: Any, target: Any) -> None:
        step = re.search(r"-(\d+)\.", str(target))
        if int(step[1]) > 6 if step else "client.ckpt" in str(target):
            line.at("rename")
        rename(source, target)

    os.rename = stopping


def stopper(line: Line, folder: str, index: int, cluster: Cluster, life: int, config: gf.ConfigProto) -> None:
    """Ends what is left of the cluster; the workers have ended already, and do not answer."""
    for wait in (1.0, 10.0):
        with suppress(gf.errors.UnavailableError):
            gf.train.stop_cluster("zmq://" + cluster["ps"][0], wait)
            return


def ps(line: Line, folder: str, index: int, cluster: Cluster, life: int, config: gf.ConfigProto) -> None:
    """A parameter server."""
    server = gf.train.Server(cluster, "ps", index, config=config)
    line.say("SERVES")
    server.join()


class _Told(gf.train.SessionRunHook):  # type: ignore[misc]
    """Tells the lab of each session, and stops at the moment of the end."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._step = gf.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._line.say("SESSION", session.run(self._step))

    def end(self, session: Any) -> None:
        self._line.at("shutdown")


def train(
    line: Line, folder: str, index: int, cluster: Cluster, life: int, config: gf.ConfigProto, save_steps: int = 5,
    size: int = TAGS, tags: Sequence[int] = (), pause: float = 0.005, max_recoveries: int = 10,
) -> None:  # fmt: skip
    """The chief (worker 0) or a worker of between-graph training; of `size` tags it has tags[0] to tags[1]."""
    chief = not index
    first, end = tags or (LIFE * (2 * life + index), TAGS)

    class Listener(gf.train.CheckpointSaverListener):  # type: ignore[misc]
        def before_save(self, session: Any, step: int) -> None:
            if step > 6:
                line.at("save")

        def after_save(self, session: Any, step: int) -> None:
            line.say("SAVED", step)

    class Saver(gf.train.Saver):  # type: ignore[misc]
        def restore(self, session: Any, path: str) -> None:
            line.at("restore")
            super().restore(session, path)
            line.say("RESTORED", path.rpartition("-")[2])

    def init_fn(scaffold: Any, session: Any) -> None:
        line.say("INITIALIZED")
        line.at("init")

    server = gf.train.Server(cluster, "worker", index, config=config)
    setter = gf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{index}")
    with gf.device(setter):
        step = gf.train.get_or_create_global_step()
        counts = gf.get_variable("counts", shape=[size], initializer=gf.zeros_initializer())
        weights = gf.get_variable("weights", shape=[16], initializer=gf.zeros_initializer())
        tag = gf.placeholder(gf.int64, [], name="tag")
        seen = gf.reshape(gf.py_func(at_step, [tag], gf.int64), [1])
        gradient = gf.IndexedSlices(gf.constant([-1.0]), seen, gf.constant([size], gf.int64))
        with gf.control_dependencies([seen]):
            ones = -gf.ones([16])
        optimizer = gf.train.GradientDescentOptimizer(1.0)
        update = optimizer.apply_gradients([(gradient, counts), (ones, weights)], step)
    hooks = [gf.train.StopAtStepHook(last_step=1_000_000), _Told(line)]
    scaffold = gf.train.Scaffold(saver=Saver(sharded=False), init_fn=init_fn)
    only: list[Any] = []
    if chief:
        saves = gf.train.CheckpointSaverHook(
            f"{folder}/model", save_steps=save_steps, scaffold=scaffold, listeners=[Listener()]
        )
        only = [hooks.pop(), saves]  # So that the moment of the end is before the last checkpoint.
    line.at("connect")
    line.say("CONNECTS")
    with gf.train.MonitoredTrainingSession(
        server.target, chief, f"{folder}/model", scaffold, hooks, only, save_checkpoint_secs=None,
        save_checkpoint_steps=None, save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
        stop_grace_period_secs=5, max_wait_secs=60, progress=False, config=config,
        max_recoveries=max_recoveries,
    ) as session:  # fmt: skip
        numbers = iter(range(first + 1, end))
        while not session.should_stop() and not line.finish.is_set():
            number = next(numbers)
            line.say("ACK", number, session.run((step, update), {tag: number})[0])
            time.sleep(pause)
    for recovery in session.recoveries:
        line.say("RECOVERY", recovery.from_step, recovery.to_step, recovery.reason)
    server.stop()


def client(
    line: Line,
    folder: str,
    index: int,
    cluster: Cluster,
    life: int,
    config: gf.ConfigProto,
    pause: float = 0.01,
) -> None:
    """A program without a server: a bare session on the parameter server, made anew after an error."""
    line.at("connect")
    with gf.device("/job:ps/task:0"):
        count = gf.get_variable("client/count", shape=[], initializer=gf.zeros_initializer())
        more = count.assign_add(1.0)
    ready = gf.is_variable_initialized(count)
    saver = gf.train.Saver([count])
    path = f"{folder}/client.ckpt"
    done = 0
    config = replace(config, device_filters=["/job:ps"])
    while not line.finish.is_set() or done < 10:
        try:
            with gf.Session("zmq://" + cluster["ps"][0], config=config) as session:
                line.say("CONNECTED")
                if not session.run(ready):
                    if gf.train.checkpoint_exists(path):
                        line.at("restore")
                        saver.restore(session, path)
                        line.say("RESTORED")
                    else:
                        session.run(count.initializer)
                        line.say("INITIALIZED")
                        line.at("init")
                while not line.finish.is_set() or done < 10:
                    if done == 6:
                        line.at("step")
                    line.say("ACK", done, session.run(more))
                    done += 1
                    if done % 8 == 0:
                        line.at("save")
                        saver.save(session, path, write_meta_graph=False)
                        line.say("SAVED")
                    time.sleep(pause)
                line.at("shutdown")
        except (
            gf.errors.UnavailableError,
            gf.errors.AbortedError,
            gf.errors.FailedPreconditionError,
        ) as error:
            line.say("ERROR", type(error).__name__, error)
            time.sleep(0.2)
    assert np.isfinite(done)
