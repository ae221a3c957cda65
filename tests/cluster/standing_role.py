"""A process of test_standing_still.py: a ps, or a worker that trains with others and may have to stand still.

Each run's gradients carry a tag that no other run has: they count it up in a ledger. What has returned is written down
with the time.monotonic() of that, which all processes of a machine share.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import graphflow as gf
from graphflow._core.cluster.protocol import membership
from graphflow._core.resources.rounds import sync_rounds
from graphflow._core.transport import zeromq
from tests.cluster import once_role

PAUSE_SECONDS = 0.01


def run(folder: str, name: str, role: str, **arguments: Any) -> None:
    """One process."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("graphflow").setLevel(logging.INFO)
    if arguments.pop("quick", False):  # What takes seconds takes tenths of that.
        zeromq.HEARTBEAT_MS, zeromq.HEARTBEAT_TIMEOUT_MS = 200, 1000  # type: ignore[misc]
        sync_rounds.ROUND_GRACE_SECONDS = 0.3  # type: ignore[misc]
        membership.GREET_GONE_SECONDS = 0.5  # type: ignore[misc]
    (serve if role == "ps" else work)(Path(folder), name, **arguments)


def serve(folder: Path, name: str, index: int, life: int, spec: Any) -> None:
    """A parameter server."""
    gf.train.Server(spec, "ps", index).join()


def work(
    folder: Path,
    name: str,
    index: int,
    life: int,
    spec: Any,
    needed: int,
    kind: str = "monitored",
    wait_ms: int = 0,
    recoveries: int = 10,
    pause_at: str = "",
) -> None:
    """Trains until the global step is what the file "finish" says; worker 0 is the chief, and writes down the end.

    kind: what looks after the session. wait_ms: see ConfigProto.replica_wait_in_ms. recoveries: the most that there may
    be. pause_at: "start" or "close", where it waits for the file "go", and has said so by the file "paused".
    """
    count = len(spec["worker"])
    server = gf.train.Server(spec, "worker", index)
    if pause_at == "start":
        pause(folder)
    device = gf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=gf.train.ClusterSpec(spec)
    )
    with gf.device(device):
        step = gf.train.get_or_create_global_step()
        ledger = gf.get_variable("ledger", shape=[once_role.TAGS], initializer=gf.zeros_initializer())
        tag = gf.placeholder(gf.int32, [])
        together = gf.train.SyncReplicasOptimizer(gf.train.GradientDescentOptimizer(1.0), needed, count)
        mark = gf.ones_like(gf.gather(ledger, [tag])) * -float(needed)
        train_op = together.apply_gradients([(gf.IndexedSlices(mark, gf.reshape(tag, [1])), ledger)], step)
    config = gf.ConfigProto(
        device_filters=["/job:ps", f"/job:worker/task:{index}"], replica_wait_in_ms=wait_ms
    )
    tags = once_role.tags(folder)
    with ExitStack() as stack:
        acknowledged = stack.enter_context((folder / f"acknowledged_{name}").open("a"))
        times = stack.enter_context((folder / f"times_{name}").open("a"))
        if kind == "monitored":
            session: Any = stack.enter_context(
                gf.train.MonitoredTrainingSession(
                    server.target, index == 0, str(folder / "model") if index == 0 else None, config=config,
                    hooks=[together.make_session_run_hook(index == 0)], save_checkpoint_secs=None,
                    save_checkpoint_steps=100_000, save_summaries_steps=None, log_step_count_steps=None,
                    stop_grace_period_secs=5, max_recoveries=recoveries,
                )
            )  # fmt: skip
        else:
            supervisor = gf.train.Supervisor(is_chief=index == 0, recovery_wait_secs=0.2, stop_grace_secs=5)
            session = stack.enter_context(supervisor.managed_session(server.target, config))
        reached = 0
        while not (goal := finish(folder)) or reached < goal:
            number = next(tags)
            # At the end a backup replica may begin a round for which nobody is there any more.
            options = gf.RunOptions(timeout_in_ms=3000) if goal and needed < count else None
            try:
                _, counted = session.run([train_op, together.counted], {tag: number}, options)
            except gf.errors.DeadlineExceededError:
                if options is None:
                    raise
                reached = int(session.run(step))
                continue
            reached = int(
                session.run(step)
            )  # After the round: fetched along with it it may be that of before.
            if counted:  # With backup replicas it may have come too late.
                acknowledged.write(f"{number}\n")
                acknowledged.flush()
            times.write(f"{time.monotonic()} {reached}\n")
            times.flush()
            time.sleep(PAUSE_SECONDS)
        if kind == "monitored":
            print("RECOVERIES", len(session.recoveries), flush=True)
        if pause_at == "close":
            pause(folder)
        (folder / f"done_{index}").touch()
        if index == 0:
            while not all((folder / f"done_{i}").exists() for i in range(count)):
                time.sleep(0.02)
            marked = session.run(ledger)
            (folder / "part").write_text(json.dumps({int(i): float(marked[i]) for i in marked.nonzero()[0]}))
            (folder / "part").rename(folder / "result")
    os._exit(0)


def finish(folder: Path) -> int:
    """The global step at which all are to end, 0 as long as that is not known."""
    try:
        return int((folder / "finish").read_text())
    except (OSError, ValueError):
        return 0


def pause(folder: Path) -> None:
    """Waits until it may go on."""
    (folder / "paused").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
