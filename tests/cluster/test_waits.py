"""Protects what is said of a step that waits on a cluster: in the error of a deadline, in the status, in the log."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.server import waits
from graphflow._core.common.timeouts import STEP_SHOWN_SECONDS
from graphflow._core.resources import store
from graphflow.cli.main import main
from graphflow.cli.status import shown
from tests.cluster.serving import spec_of
from tests.overdue import overdue

PS = "/job:ps/replica:0/task:0"
WORKER = "/job:worker/replica:0/task:0"
EMPTY = "an element of FIFOQueue 'work', which holds 0 of at most 10 elements"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found, gf.Graph().as_default():
        yield found


@pytest.fixture
def servers(stack: ExitStack) -> dict[str, gf.train.Server]:
    """A ps and a worker."""
    cluster = spec_of(stack, ps=1, worker=1)
    found = {job: gf.train.Server(cluster, job, 0) for job in cluster}
    for server in found.values():
        stack.callback(server.stop)
    return found


def _queue() -> Any:
    with gf.device("/job:ps/task:0"):
        return gf.FIFOQueue(10, gf.float32, [[]], name="work")


def _says(session: gf.Session, fetch: Any, *texts: str) -> None:
    """A deadline of a run that waits says all of that."""
    said = "".join(f"(?=.*{re.escape(text)})" for text in texts)
    overdue(lambda options: session.run(fetch, options=options), rf"\A{said}", 500)


@pytest.mark.parametrize("master", ["ps", "worker"])
def test_a_deadline_says_what_the_task_waits_for(servers: dict[str, gf.train.Server], master: str) -> None:
    taken = _queue().dequeue(name="take")
    with gf.device("/job:worker/task:0"):
        further = gf.negative(taken, name="further")
    with gf.Session(servers[master].target) as session:
        own = f"{PS} waits for {EMPTY} (QueueDequeueV2 'take'"
        _says(session, taken, own)
        _says(session, further, own, f"{WORKER} waits for the value 'take:0', which another task makes.")


def test_a_deadline_says_it_of_any_resource(servers: dict[str, gf.train.Server]) -> None:
    with gf.device("/job:ps/task:0"):
        names = gf.FIFOQueue(3, gf.string, [[]], name="names")
        full = gf.FIFOQueue(1, gf.float32, [[]], name="full")
        put = full.enqueue(1.0, name="put")
        line = gf.TextLineReader().read(names, name="line")
    with gf.Session(servers["worker"].target) as session:
        session.run(put)
        _says(session, put, f"{PS} waits for room in FIFOQueue 'full', which holds 1 of at most 1")
        _says(session, line, f"{PS} waits for an element of FIFOQueue 'names'")
        assert session.run(full.size()) == 1


def test_a_deadline_says_it_of_collectives_and_rounds(servers: dict[str, gf.train.Server]) -> None:
    with gf.device("/job:ps/task:0"):
        total = gf.distribute.all_reduce(gf.constant(1.0), 2, 5, 1, name="total")
        value = gf.Variable(1.0, use_resource=True)
        step = gf.train.get_or_create_global_step()
        sync = gf.train.SyncReplicasOptimizer(gf.train.GradientDescentOptimizer(0.1), 2)
        train = sync.minimize(value * value, global_step=step)
    with gf.Session(servers["worker"].target) as session:
        _says(session, total, f"{PS} waits for the other members: ")
        session.run(gf.global_variables_initializer())
        session.run(sync.local_step_init_op)
        said = rf" {PS} waits for .*1 of 2 gradients have arrived \("
        overdue(lambda options: session.run(train, options=options), said, 500)


def test_a_deadline_says_it_although_another_task_of_the_step_hangs(
    servers: dict[str, gf.train.Server], tmp_path: Path
) -> None:
    go_on, ended = str(tmp_path / "go on"), str(tmp_path / "ended")

    def hang() -> None:
        limit = time.monotonic() + 100
        while not os.path.exists(go_on) and time.monotonic() < limit:
            time.sleep(0.01)
        open(ended, "w").close()

    taken = _queue().dequeue(name="take")
    with gf.device("/job:worker/task:0"):
        slow = gf.py_func(hang, [], [], stateful=True)
    with gf.Session(servers["ps"].target) as session:
        own = f"{PS} waits for {EMPTY} (QueueDequeueV2 'take'"
        _says(session, [taken, slow], own, f"it waits for {PS}, {WORKER}")
        assert not os.path.exists(ended)
        Path(go_on).touch()


def _waiting(stack: ExitStack, session: gf.Session, fetch: Any) -> None:
    """Runs it in a thread, which ends with the session."""

    def run() -> None:
        with suppress(gf.errors.OpError):
            session.run(fetch)

    thread = threading.Thread(target=run)
    thread.start()
    stack.callback(thread.join, 30)
    stack.callback(session.close)


def test_the_status_shows_the_steps_that_last_and_what_they_wait_for(
    stack: ExitStack, servers: dict[str, gf.train.Server], capsys: pytest.CaptureFixture[str]
) -> None:
    assert STEP_SHOWN_SECONDS < 5
    taken = _queue().dequeue(name="take")
    with gf.device("/job:worker/task:0"):
        further = gf.negative(taken, name="further")
    session = gf.Session(servers["worker"].target)
    begun = time.monotonic()
    _waiting(stack, session, further)
    target = servers["ps"].target
    text, limit = "", time.monotonic() + 60
    assert main(["status", target]) == 0
    text = capsys.readouterr().out
    assert "has lasted for" not in text or time.monotonic() - begun > STEP_SHOWN_SECONDS
    while "has lasted for" not in text and time.monotonic() < limit:
        time.sleep(0.2)
        assert main(["status", target]) == 0
        text = capsys.readouterr().out
    lines = [line for line in text.splitlines() if "has lasted" in line or " waits for " in line]
    assert len(lines) == 3
    assert (
        lines[0].startswith("a step of session ") and "whose master is worker 0, has lasted for" in lines[0]
    )
    assert lines[1].startswith(f"  ps 0 waits for {EMPTY} (QueueDequeueV2 'take', built at ")
    assert lines[2] == "  worker 0 waits for the value 'take:0', which another task makes"


def test_the_journal_of_all_tasks_goes_beyond_the_first_hop(
    stack: ExitStack, servers: dict[str, gf.train.Server], capsys: pytest.CaptureFixture[str]
) -> None:
    taken = _queue().dequeue(name="take")
    with gf.device("/job:worker/task:0"):
        further = gf.negative(taken, name="further")
    _waiting(stack, gf.Session(servers["worker"].target), further)
    text, limit = "", time.monotonic() + 60
    while "'take:0'" not in text and time.monotonic() < limit:
        time.sleep(0.2)
        assert main(["status", servers["ps"].target, "--journal", "--all"]) == 0
        text = capsys.readouterr().out
    head, *hops = text.strip().split("\n\n")[-1].splitlines()
    assert head.startswith("worker 0: step ") and head.endswith(f"waits for {PS}, {WORKER}")
    assert hops[0].startswith(f"  ps 0 waits for {EMPTY} (QueueDequeueV2 'take', built at ")
    assert hops[1:] == ["  worker 0 waits for the value 'take:0', which another task makes"]
    found = [line.split() for line in text.splitlines() if re.match(r"(ps|worker) 0: -?[\d.]+ s: ", line)]
    ages = [round(float(words[2]), 3) for words in found]
    assert ages == sorted(ages) and {words[0] for words in found} == {"ps", "worker"}
    assert main(["status", servers["ps"].target, "--all"]) == 2


def test_a_wait_that_lasts_is_logged_on_its_task_now_and_then(
    stack: ExitStack, servers: dict[str, gf.train.Server], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for module in (store, waits):
        monkeypatch.setattr(module, "ROUND_SLOW_SECONDS", 0.6)
    queue = _queue()
    begun = time.monotonic()
    _waiting(stack, gf.Session(servers["worker"].target), queue.dequeue(name="take"))
    local = gf.Session()
    with gf.device(None):
        own = gf.FIFOQueue(1, gf.float32, [[]], name="own").dequeue()

    def said() -> list[str]:
        return [r.getMessage() for r in caplog.records if "Still waiting" in r.getMessage()]

    with pytest.raises(gf.errors.DeadlineExceededError):
        local.run(own, options=gf.RunOptions(timeout_in_ms=8000))  # A session's program may mean to wait.
    local.close()
    while not said():
        assert time.monotonic() < begun + 100
        time.sleep(0.01)
    found = said()
    assert len(found) <= 1 + math.log(
        (time.monotonic() - begun) / 0.6, 3
    )  # After 0.6, 2, 6 seconds and so on.
    assert all(text.startswith(f"{PS}: Still waiting for {EMPTY} (QueueDequeueV2 'take'") for text in found)


def test_an_operation_that_waits_long_in_every_step_is_logged_ever_less_often(
    servers: dict[str, gf.train.Server], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (store, waits):
        monkeypatch.setattr(module, "ROUND_SLOW_SECONDS", 0.2)
    taken = _queue().dequeue(name="take")
    with gf.Session(servers["worker"].target) as session:
        for _ in range(8):
            with pytest.raises(gf.errors.DeadlineExceededError):  # Each looks again after that time.
                session.run(taken, options=gf.RunOptions(timeout_in_ms=500))
        said = [r for r in caplog.records if "Still waiting" in r.getMessage()]
        assert len(said) <= 6
        milliseconds = 500
        while (
            "Still waiting" not in caplog.text
        ):  # On a busy machine half a second may be over before the wait.
            assert milliseconds < 60_000
            milliseconds *= 2
            with pytest.raises(gf.errors.DeadlineExceededError):
                session.run(taken, options=gf.RunOptions(timeout_in_ms=milliseconds))


def test_the_status_says_who_computes_and_who_does_not_answer() -> None:
    under_way = {"step": 3, "session": "s", "seconds": 31.0, "awaited": [PS, WORKER, f"{WORKER[:-1]}1"]}
    served = {
        "state": "serving", "pid": 1, "uptime_seconds": 40.0, "sessions": [], "incarnation": "a", "variables": [],
        "steps": {"taken_part_in": 3, "per_second": 0.1},
        "traffic": {"bytes_in": 1, "messages_in": 1, "bytes_out": 1, "messages_out": 1},
    }  # fmt: skip
    text = shown([
        {**served, "task": PS, "address": "a:1", "incarnation": "b", "under_way": [],
         "waiting": [{"master": "a", "step": 2, "for": ["another"]}]},
        {**served, "task": WORKER, "address": "a:2", "under_way": [under_way],
         "waiting": [{"master": "a", "step": 3, "for": ["the turn\x1b"]}]},
        {"task": f"{WORKER[:-1]}1", "address": "a:3", "state": "unreachable"},
    ])  # fmt: skip
    assert "has lasted for 31 s\n  ps 0 computes\n  worker 0 waits for the turn" in text
    assert "\n  worker 1 does not answer" in text and "\x1b" not in text
