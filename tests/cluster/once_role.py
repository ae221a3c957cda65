"""A process of test_exactly_once.py and test_recovery.py: a task that only serves, or a program that trains.

A "client" has a session whose master is such a task; a "trainer" is a task itself. Each run of a program has a tag: its
gradients count it up in two ledgers, one on each ps task, and once the run has returned it writes the tag down as
acknowledged. The gradient of the second ledger takes its time, so that many a step is cut off when one ledger has its
update and the other has not. No two processes of a folder have the same tags, however many lives a task has and however
long one lasts.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import graphflow as gf

TAGS, BLOCK = 1 << 17, 128
"""Tags that there are, and so many a process takes at a time: two workers need minutes for all of them."""
CLIENTS = 2


def run(folder: str, name: str, role: str, **arguments: Any) -> None:
    """One process."""
    logging.basicConfig(level=logging.INFO)
    {"ps": serve, "worker": serve, "client": client, "trainer": trainer}[role](
        Path(folder), name, role, **arguments
    )


def serve(folder: Path, name: str, role: str, spec: Any, index: int, life: int) -> None:
    """A task without a program."""
    gf.train.Server(spec, role, index).join()


def tags(folder: Path) -> Iterator[int]:
    """Tags that no other process of the folder has."""
    for block in count():
        try:
            (folder / f"tags_{block}").touch(exist_ok=False)
        except FileExistsError:
            continue
        assert (block + 1) * BLOCK <= TAGS, f"all of {TAGS} tags are taken"
        yield from range(block * BLOCK, (block + 1) * BLOCK)


def pause(tag: Any) -> Any:
    """Some time passes."""
    time.sleep(0.004)
    return tag


class Training:
    """The graph of a client."""

    def __init__(self, optimizer: Any) -> None:
        self.step = gf.train.get_or_create_global_step()
        self.ledgers = [
            gf.get_variable(f"ledger_{i}", shape=[TAGS], initializer=gf.zeros_initializer()) for i in range(2)
        ]
        self.tag = gf.placeholder(gf.int32, [], name="tag")
        late = gf.reshape(gf.py_func(pause, [self.tag], gf.int32), [1])
        pairs = []
        for ledger, rows in zip(self.ledgers, (gf.reshape(self.tag, [1]), late), strict=True):
            mark = -gf.ones_like(gf.gather(ledger, rows))
            pairs.append((gf.IndexedSlices(mark, rows), ledger))
        self.train_op = optimizer.apply_gradients(pairs, self.step)


def client(
    folder: Path, name: str, role: str, spec: Any, index: int, life: int, steps: int, replicas: int
) -> None:
    """Trains; where `replicas` is not 0, in rounds of so many. Client 0 is the chief, and writes down the end."""
    setter = gf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=gf.train.ClusterSpec(spec)
    )
    with gf.device(setter):
        optimizer: Any = gf.train.GradientDescentOptimizer(float(replicas or 1))
        if replicas:
            optimizer = gf.train.SyncReplicasOptimizer(optimizer, replicas)
        training = Training(optimizer)
    config = gf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with (
        (folder / f"acknowledged_{name}").open("a") as acknowledged,
        gf.train.MonitoredTrainingSession(
            f"zmq://{spec['worker'][index]}", index == 0, config=config, log_step_count_steps=None,
            save_summaries_steps=None, progress=False, max_wait_secs=60, stop_grace_period_secs=5,
            hooks=[gf.train.StopAtStepHook(last_step=1_000_000)],
        ) as session,
    ):  # fmt: skip
        for tag in islice(tags(folder), steps):
            session.run(training.train_op, {training.tag: tag})
            acknowledged.write(f"{tag}\n")
            acknowledged.flush()
        (folder / f"done_{index}").touch()
        while not all((folder / f"done_{i}").exists() for i in range(CLIENTS)):
            time.sleep(0.02)
        if index == 0:
            write_result(folder, session, training)
        (folder / f"recoveries_{index}").write_text(str(len(session.recoveries)))
    os._exit(0)


def write_result(folder: Path, session: Any, training: Training) -> None:
    """Writes down what the training ended with."""
    step, ledgers = session.run([training.step, training.ledgers])
    found = {
        "step": int(step),
        "ledgers": [{int(i): float(v[i]) for i in v.nonzero()[0]} for v in ledgers],
    }
    (folder / "part").write_text(json.dumps(found))
    (folder / "part").rename(folder / "result")


def trainer(folder: Path, name: str, role: str, spec: Any, index: int, life: int, save_steps: int) -> None:
    """A worker that trains until there is a file "finish"; trainer 0 is the chief, and writes down the end.

    save_steps: how often the chief saves; 0 for a training without checkpoints.
    """
    train(folder, name, gf.train.Server(spec, "worker", index), index, save_steps)
    os._exit(0)


def train(folder: Path, name: str, server: gf.train.Server, index: int, save_steps: int) -> None:
    """What a trainer does once its server is there."""
    setter = gf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=gf.train.ClusterSpec(server.server_def.cluster)
    )
    with gf.device(setter):
        training = Training(gf.train.GradientDescentOptimizer(1.0))
    config = gf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with (
        (folder / f"acknowledged_{name}").open("a") as acknowledged,
        gf.train.MonitoredTrainingSession(
            server.target, index == 0, str(folder / "model") if save_steps else None, config=config,
            save_checkpoint_steps=save_steps or None, save_checkpoint_secs=None, save_summaries_steps=None,
            log_step_count_steps=None, progress=False, max_wait_secs=60, stop_grace_period_secs=5,
            hooks=[gf.train.StopAtStepHook(last_step=1_000_000)],
        ) as session,
    ):  # fmt: skip
        for tag in tags(folder):
            if (folder / "finish").exists():
                break
            session.run(training.train_op, {training.tag: tag})
            acknowledged.write(f"{tag}\n")
            acknowledged.flush()
        (folder / f"done_{index}").touch()
        while index == 0 and not (folder / "done_1").exists():
            time.sleep(0.02)
        for recovery in session.recoveries:
            print("RECOVERY", recovery.from_step, recovery.to_step, recovery.reason, flush=True)
        if index == 0:
            write_result(folder, session, training)
