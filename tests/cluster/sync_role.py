"""A process of test_sync_replicas.py: a ps, a worker, or a "monitored" worker, with a MonitoredTrainingSession.

A worker trains until the global step is `steps`. Each run's gradients carry a tag that no other run has: they count it
up in two ledgers, one on each ps task, and the run that returns writes it down as acknowledged.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import graphflow as gf

WORKERS = 3
TAGS = 4000
"""More than all runs of a worker together."""


def model() -> list[Any]:
    """The variables that are trained."""
    return [
        gf.get_variable("model", initializer=gf.constant([0.1, -0.2, 0.3, 1.7])),
        gf.get_variable("rows", initializer=gf.ones([6, 2])),
    ]


def loss(variables: list[Any], step: Any, worker: int) -> Any:
    """The loss of a worker at a step: the gradients' sum depends on the order in which it is taken."""
    dense, rows = variables
    batch = gf.cast(step, gf.int32) * 7 + worker * 3
    wanted = gf.cast(batch % 11, gf.float32) / 10.0 + 1e-3 * worker
    taken = gf.gather(rows, [batch % 6, (batch + 1) % 6])
    return gf.reduce_sum(gf.square(dense - wanted)) + gf.reduce_sum(gf.square(taken) * wanted)


def optimizer() -> Any:
    """What applies the mean."""
    return gf.train.GradientDescentOptimizer(0.03125)


def bits(values: list[Any]) -> list[list[str]]:
    """Arrays of floats, exactly."""
    return [[number.hex() for number in value.ravel().tolist()] for value in values]


class Training:
    """The graph of a worker: a model, and the ledgers. needed: how many of the workers make a round."""

    def __init__(self, worker: int, needed: int = WORKERS) -> None:
        self.step = gf.train.get_or_create_global_step()
        self.variables = model()
        self.ledgers = [
            gf.get_variable(f"ledger_{i}", shape=[WORKERS * TAGS], initializer=gf.zeros_initializer())
            for i in range(2)
        ]
        self.tag = gf.placeholder(gf.int32, [])
        together = gf.train.SyncReplicasOptimizer(optimizer(), needed, WORKERS)
        pairs = together.compute_gradients(loss(self.variables, self.step, worker), self.variables)
        for ledger in self.ledgers:
            mark = gf.ones_like(gf.gather(ledger, [self.tag])) * -32.0 * needed
            pairs.append((gf.IndexedSlices(mark, gf.reshape(self.tag, [1])), ledger))
        self.train_op = together.apply_gradients(pairs, self.step)
        self.counted = together.counted
        self.init = gf.global_variables_initializer()
        self.ready = gf.report_uninitialized_variables()


def run(folder: str, name: str, role: str, **arguments: Any) -> None:
    """One process."""
    logging.basicConfig(level=logging.INFO)
    kinds = {"ps": serve, "worker": work, "monitored": work_monitored, "tagged": work_tagged}
    kinds[role](Path(folder), name, **arguments)


def serve(folder: Path, name: str, index: int, life: int, spec: Any) -> None:
    """A parameter server."""
    gf.train.Server(spec, "ps", index).join()


def work(folder: Path, name: str, index: int, life: int, spec: Any, steps: int) -> None:
    """A worker with bare sessions, which it makes anew."""
    server = gf.train.Server(spec, "worker", index)
    device = gf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=gf.train.ClusterSpec(spec)
    )
    with gf.Graph().as_default(), gf.device(device):
        training = Training(index)
        config = gf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
        acknowledged = (folder / f"acknowledged_{name}").open("a")
        tags = itertools.count(index * TAGS + life * 400)
        session: Any = None
        step = 0
        while step < steps:
            try:
                if session is None:
                    session = gf.Session(server.target, config=config)
                    while session.run(training.ready).size:
                        if index == 0:
                            session.run(training.init)
                        time.sleep(0.02)
                    print("READY", flush=True)
                step = int(session.run(training.step))
                if step < steps:
                    tag = next(tags)
                    session.run(training.train_op, {training.tag: tag})
                    acknowledged.write(f"{tag}\n")
                    acknowledged.flush()
            except (gf.errors.AbortedError, gf.errors.UnavailableError) as error:
                print("AGAIN", type(error).__name__, str(error).splitlines()[0], flush=True)
                if isinstance(error, gf.errors.UnavailableError) and session is not None:
                    session.close()
                    session = None
        if index == 0:
            trained, ledgers = session.run([training.variables, training.ledgers])
            marked = [{int(i): float(v[i]) for i in v.nonzero()[0]} for v in ledgers]
            found = {"model": bits(trained), "ledgers": marked}
            (folder / "result").write_text(json.dumps(found))
        print("DONE", flush=True)
        os._exit(0)


def work_monitored(folder: Path, name: str, index: int, life: int, spec: Any, steps: int) -> None:
    """The same model, with Adam and under MonitoredTrainingSession; the chief, worker 0, keeps checkpoints."""
    server = gf.train.Server(spec, "worker", index)
    device = gf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=gf.train.ClusterSpec(spec)
    )
    with gf.device(device):
        counter = gf.train.get_or_create_global_step()
        variables = model()
        together = gf.train.SyncReplicasOptimizer(gf.train.AdamOptimizer(0.03125), WORKERS)
        train_op = together.minimize(loss(variables, counter, index), counter)
    with gf.train.MonitoredTrainingSession(
        server.target, index == 0, str(folder / "checkpoints") if index == 0 else None,
        hooks=[together.make_session_run_hook(index == 0)], save_checkpoint_steps=30, save_summaries_steps=None,
        log_step_count_steps=None, config=gf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"]),
    ) as session:  # fmt: skip
        step = 0
        with (folder / f"acknowledged_{name}").open("a") as acknowledged:
            while step < steps:
                session.run(train_op)
                step = int(session.run(counter))
                acknowledged.write(f"{step}\n")
                acknowledged.flush()
        if index == 0:
            found = {"step": step, "model": bits(session.run(variables))}
            (folder / "part").write_text(json.dumps(found))
            (folder / "part").rename(folder / "result")
        while not (folder / "result").exists():
            time.sleep(0.02)
    os._exit(0)


def work_tagged(
    folder: Path, name: str, index: int, life: int, spec: Any, steps: int, needed: int, save_steps: int
) -> None:
    """The model and the ledgers under MonitoredTrainingSession, with workers that stand by if not all are needed."""
    server = gf.train.Server(spec, "worker", index)
    task = f"/job:worker/task:{index}"
    with gf.device(gf.train.replica_device_setter(worker_device=task, cluster=gf.train.ClusterSpec(spec))):
        training = Training(index, needed)
    with gf.train.MonitoredTrainingSession(
        server.target, index == 0, str(folder / "checkpoints") if index == 0 else None,
        save_checkpoint_steps=save_steps, save_checkpoint_secs=None, save_summaries_steps=None,
        log_step_count_steps=None, config=gf.ConfigProto(device_filters=["/job:ps", task]),
    ) as session:  # fmt: skip
        tags, step = itertools.count(index * TAGS + life * 400), 0
        with (folder / f"acknowledged_{name}").open("a") as acknowledged:
            while step < steps:
                tag = next(tags)
                _, counts = session.run([training.train_op, training.counted], {training.tag: tag})
                step = int(session.run(training.step))
                if counts:
                    acknowledged.write(f"{tag}\n")
                    acknowledged.flush()
        if index == 0:
            step, ledgers = session.run([training.step, training.ledgers])
            marked = [{int(i): float(v[i]) for i in v.nonzero()[0]} for v in ledgers]
            (folder / "part").write_text(json.dumps({"step": int(step), "ledgers": marked}))
            (folder / "part").rename(folder / "result")
        while not (folder / "result").exists():
            time.sleep(0.02)
    os._exit(0)
