"""Protects what people see of steps on a cluster: promise 32 (prints reach the client's sys.stderr, tagged by task)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise

import pytest

import graphflow as gf
from graphflow._core.cluster.client.step_events import StepEvents
from graphflow._core.cluster.server.step_output import BURST, BURST_BYTES, MOST_BYTES, MOST_TEXT, StepOutput
from graphflow._core.transport.frames.message import Kind, Message
from tests.cluster.serving import serve_all, spec_of


@pytest.fixture
def cluster() -> Iterator[list[str]]:
    """A ps and two workers; the targets, the ps first."""
    with ExitStack() as stack:
        yield [server.target for server in serve_all(stack, spec_of(stack, ps=1, worker=2))]


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on sys.stderr that are not the servers' own."""
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("/job:")]


def test_promise_32_what_operations_print_reaches_the_client_tagged_by_task(
    cluster: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with gf.Graph().as_default():
        with gf.device("/job:ps/task:0"):
            here = gf.Print(gf.constant([1, 2]), [gf.constant(3.5)], "first ")
        with gf.device("/job:worker/task:1"):
            there = gf.Print(here * 2, [here], "second ")
            matrix = gf.print("two\nlines", there)
            plain = gf.print("to stdout", output_stream="stdout", end="")
        with gf.Session(cluster[1]) as session:
            capsys.readouterr()
            session.run([matrix, plain])
            out, err = capsys.readouterr()
    assert err.splitlines() == [
        "/job:ps/task:0: first [3.5]",
        "/job:worker/task:1: second [1 2]",
        "/job:worker/task:1: two",
        "/job:worker/task:1: lines [2 4]",
    ]
    assert out == "/job:worker/task:1: to stdout"


def test_promise_32_what_a_function_logs_and_an_assertion_shows_reach_the_client(
    cluster: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def function(x: float) -> float:
        gf.logging.warning("the value is %g", x)
        return x

    with gf.Graph().as_default(), gf.device("/job:worker/task:1"):
        value = gf.py_func(function, [gf.constant(4.0)], gf.float32)
        check = gf.Assert(value < 0.0, [value, gf.constant([5, 6])])
        with gf.Session(cluster[0]) as session:
            capsys.readouterr()
            with pytest.raises(gf.errors.InvalidArgumentError, match=r"\[4\] \[5 6\]"):
                session.run(check)
            (line,) = printed(capsys)
    assert line.startswith("/job:worker/task:1: WARNING") and line.endswith("the value is 4")


def test_promise_32_lines_of_a_task_are_in_order_and_come_while_the_step_runs(
    cluster: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with gf.Graph().as_default(), gf.device("/job:worker/task:1"):
        queue = gf.FIFOQueue(1, [gf.int32], [[]])
        shown = gf.while_loop(lambda i: i < 50, lambda i: gf.Print(i + 1, [i], "count "), [gf.constant(0)])
        with gf.control_dependencies([shown]):
            waits = queue.dequeue()
        enqueue = queue.enqueue(7)

    def client() -> None:
        with gf.Session(cluster[0], graph=waits.graph) as session:
            session.run(waits)

    capsys.readouterr()
    runner = threading.Thread(target=client)
    runner.start()
    lines: list[str] = []
    while len(lines) < 50 and runner.is_alive():  # The step cannot end yet.
        lines += printed(capsys)
        runner.join(0.01)
    with gf.Session(cluster[0], graph=waits.graph) as session:
        session.run(enqueue)
    runner.join()
    assert lines == [f"/job:worker/task:1: count [{i}]" for i in range(50)]


def test_promise_32_each_client_sees_the_output_of_its_own_steps(
    cluster: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, list[str]] = {}

    def show(self: StepEvents, message: Message) -> None:
        seen.setdefault(threading.current_thread().name, []).extend(t for _, t in message.details["lines"])

    monkeypatch.setattr(StepEvents, "__call__", show)

    def client(name: str) -> None:
        with gf.Graph().as_default(), gf.device("/job:ps/task:0"):
            op = gf.print(name)
            with gf.Session(cluster[1]) as session:
                for _ in range(20):
                    session.run(op)

    threads = [threading.Thread(target=client, args=(name,), name=name) for name in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"one": ["one\n"] * 20, "other": ["other\n"] * 20}


def test_promise_32_a_flood_is_cut_and_counted(
    cluster: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with gf.Graph().as_default(), gf.device("/job:worker/task:1"):
        flood = gf.while_loop(lambda i: i < 20_000, lambda i: gf.Print(i + 1, [i]), [gf.constant(0)])
        with gf.Session(cluster[0]) as session:
            capsys.readouterr()
            assert session.run(flood) == 20_000
            lines = printed(capsys)
    shown = [line for line in lines if "not shown" not in line]
    dropped = sum(int(line.split("(")[1].split()[0]) for line in lines if "not shown" in line)
    assert dropped and len(shown) >= BURST and len(shown) + dropped == 20_000


def test_a_step_that_prints_nothing_sends_no_message_more(cluster: list[str]) -> None:
    def sent() -> int:
        return sum(int(t["traffic"]["messages_out"]) for t in gf.train.cluster_status(cluster[0]))

    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [2])
        with gf.device("/job:ps/task:0"):
            doubled = x * 2.0
        with gf.device("/job:worker/task:1"):
            y = gf.exp(doubled)
        with gf.Session(cluster[1]) as session:
            session.run(y, {x: [1, 2]})
            counts = [sent() for _ in range(5)]
            asked = min(
                after - before for before, after in pairwise(counts)
            )  # Hellos may come in between, too.
            for _ in range(100):
                session.run(y, {x: [1, 2]})
            more = sent() - counts[-1] - asked
    # STEP to both, TENSOR from one to the other, DONE of both, RESULT; now and then tasks say hello to each other.
    assert 600 <= more <= 620


def test_what_a_step_prints_is_taken_at_a_rate_and_up_to_a_sum() -> None:
    output = StepOutput(0.0)
    assert [output.add("stderr", "x\n", 0.0) for _ in range(BURST + 5)] == [True] + [False] * (BURST + 4)
    assert output.take(False) == {"lines": [("stderr", "x\n")] * BURST, "dropped": 5}
    assert output.take(True) == {}
    assert not output.add("stderr", "x\n", 0.0) and output.take(False) == {}
    assert output.take(True) == {"lines": [], "dropped": 1}
    assert output.add("stdout", "y" * (MOST_TEXT + 3), 10.0)
    ((stream, text),) = output.take(False)["lines"]
    assert stream == "stdout" and text.endswith("... (3 more characters)\n")
    now, taken = 10.0, 0
    while taken < MOST_BYTES:
        now += 1.0
        for _ in range(BURST_BYTES // MOST_TEXT - 1):
            output.add("stderr", "z" * MOST_TEXT, now)
        found = output.take(False)
        if not found:
            break
        taken += sum(len(text) for _, text in found["lines"])
    assert MOST_BYTES / 2 < taken <= MOST_BYTES


def test_lines_of_several_tasks_do_not_run_into_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    events = StepEvents()

    def tell(task: str, *texts: str, dropped: int = 0) -> None:
        lines = [("stdout", text) for text in texts]
        events(
            Message(
                Kind.OUTPUT,
                1,
                details={"task": f"/job:{task}/replica:0/task:0", "lines": lines, "dropped": dropped},
            )
        )

    tell("a", "begins ")
    tell("a", "ends\n", "again")
    tell("b", "x\n", dropped=2)
    events(Message(Kind.OUTPUT, 1, details={"garbled": True}))
    out, err = capsys.readouterr()
    assert out == "/job:a/task:0: begins ends\n/job:a/task:0: again\n/job:b/task:0: x\n"
    assert err == "/job:b/task:0: (2 lines not shown: more was printed than is sent)\n"


def test_for_whom_a_run_waits_is_one_line_that_goes_with_the_run(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    events = StepEvents()
    for seconds in (4, 5):
        lines = [["awaited", f"step 3: task 1 (gone for {seconds} s)"]]
        events(
            Message(
                Kind.OUTPUT, 1, details={"task": "/job:ps/replica:0/task:0", "lines": lines, "dropped": 0}
            )
        )
    (record,) = caplog.records
    assert record.getMessage() == "Still waiting for step 3: task 1 (gone for 4 s) (0:00)."
    assert capsys.readouterr().err == "" and len(events.waits) == 1
    events.over()
    events.over()
    assert not events.waits
