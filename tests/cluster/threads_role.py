"""A process of test_shared_sessions.py: a ps, a master, or a program whose threads share one monitored session.

Each run of a thread has a tag of its own, which two ledgers count, one on each ps task; once the run has returned the
thread writes the tag down as acknowledged.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import graphflow as gf
from graphflow._core.transport import zeromq

TAGS = 1 << 17
"""Tags that a program has."""


def run(folder: str, name: str, role: str, **arguments: Any) -> None:
    """One process."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    zeromq.HEARTBEAT_MS, zeromq.HEARTBEAT_TIMEOUT_MS = 200, 1000  # type: ignore[misc]
    (train if role == "program" else serve)(Path(folder), name, role, **arguments)


def serve(folder: Path, name: str, role: str, spec: Any, index: int, life: int) -> None:
    """A task without a program."""
    gf.train.Server(spec, role, index).join()


def train(
    folder: Path, name: str, role: str, spec: Any, index: int, life: int,
    threads: int, runs_a_call: int = 0, save_steps: int = 0, with_queue: bool = False, ends_by: str = "",
) -> None:  # fmt: skip
    """Trains in threads until there is a file "finish", and writes down the ledgers.

    runs_a_call: with how many runs with hooks a step function is called; 0 for plain runs. save_steps: how often a
    checkpoint is saved, 0 for never. with_queue: whether the tags' marks go through a queue that runners fill. ends_by:
    "close", where the session is closed while the threads run.
    """
    with gf.device(gf.train.replica_device_setter(cluster=gf.train.ClusterSpec(spec))):
        step = gf.train.get_or_create_global_step()
        ledgers = [
            gf.get_variable(f"ledger_{i}", shape=[TAGS], initializer=gf.zeros_initializer()) for i in range(2)
        ]
    tag = gf.placeholder(gf.int32, [], name="tag")
    one: Any = gf.constant(1.0)
    if with_queue:
        with gf.device("/job:worker/task:0"):
            queue = gf.FIFOQueue(64, ["float32"], [[]])
            gf.train.add_queue_runner(gf.train.QueueRunner(queue, [queue.enqueue(1.0)] * 2))
            one = queue.dequeue()
    rows = gf.reshape(tag, [1])
    marks = [gf.scatter_add(ledger, rows, gf.reshape(one, [1])) for ledger in ledgers]
    with gf.control_dependencies(marks):
        train_op = gf.assign_add(step, 1)
    failed: list[str] = []
    lock = threading.Lock()
    acknowledged = (folder / f"acknowledged_{name}").open("a")
    first = TAGS // threads
    config = gf.ConfigProto(device_filters=["/job:ps", "/job:worker"])
    session = gf.train.MonitoredTrainingSession(
        f"zmq://{spec['worker'][0]}", True, str(folder / "model") if save_steps else None, config=config,
        save_checkpoint_steps=save_steps or None, save_checkpoint_secs=None, save_summaries_steps=None,
        progress=False, max_wait_secs=60, stop_grace_period_secs=5,
        hooks=[gf.train.StopAtStepHook(last_step=100_000_000), gf.train.LoggingTensorHook([step], every_n_iter=3)],
    )  # fmt: skip

    def work(number: int) -> None:
        tags = iter(range(number * first, (number + 1) * first))
        try:
            while not (folder / "finish").exists() and not session.should_stop():
                given = [next(tags) for _ in range(runs_a_call or 1)]
                if runs_a_call:
                    session.run_step_fn(
                        lambda context, given=given: [
                            context.run_with_hooks(train_op, {tag: n}) for n in given
                        ]
                    )
                else:
                    session.run(train_op, {tag: given[0]})
                with lock:
                    acknowledged.writelines(f"{n}\n" for n in given)
                    acknowledged.flush()
        except BaseException as error:
            failed.append(f"{type(error).__name__}: {error}")
            traceback.print_exc()

    workers = [threading.Thread(target=work, args=[n]) for n in range(threads)]
    for worker in workers:
        worker.start()
    if ends_by == "close":
        while not (folder / "close").exists():
            time.sleep(0.01)
        session.close()
        print("CLOSED", flush=True)
    for worker in workers:
        worker.join()
    print("FAILED", json.dumps(failed), flush=True)
    print("RECOVERIES", len(session.recoveries), flush=True)
    if ends_by == "close":
        os._exit(0)
    values = session.run(ledgers)
    found = {
        "step": int(session.run(step)),
        "ledgers": [{int(i): float(v[i]) for i in v.nonzero()[0]} for v in values],
    }
    (folder / "part").write_text(json.dumps(found))
    (folder / "part").rename(folder / "result")
    session.close()
    print("THREADS", [t.name for t in threading.enumerate() if "QueueRunner" in t.name], flush=True)
    os._exit(0)
