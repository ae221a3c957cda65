"""Protects what Prometheus reads of a cluster: its own parser takes it, with the numbers of the status."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import prometheus_client.parser
import pytest

import graphflow as gf
from graphflow._core.cluster import metrics
from graphflow.cli.main import main
from tests.cli.test_clusters import Served
from tests.cluster.serving import serve_all, spec_of


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def parsed(text: str) -> dict[tuple[str, str], float]:
    """The samples by name and task; every family has a help text and a kind, and a name as the conventions have it."""
    found = {}
    for family in prometheus_client.parser.text_string_to_metric_families(text):
        assert family.documentation and family.type in ("gauge", "counter")
        assert family.name.startswith("graphflow_")
        for sample in family.samples:
            assert sample.name.endswith("_total") is (family.type == "counter")
            found[sample.name, sample.labels["task"]] = sample.value
    return found


def test_the_status_of_a_cluster(stack: ExitStack, capsys: pytest.CaptureFixture[str]) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    _, worker = serve_all(stack, spec)
    with gf.Graph().as_default(), gf.device("/job:ps/task:0"):
        v = gf.get_variable("v", initializer=np.ones(1000, np.float32))
        with gf.Session(worker.target) as session:
            session.run(v.initializer)
            for _ in range(3):
                session.run(v.assign_add(np.ones(1000, np.float32)))
            assert main(["status", worker.target, "--prometheus"]) == 0
            samples = parsed(capsys.readouterr().out)
            assert main(["status", worker.target, "--json"]) == 0
            tasks = json.loads(capsys.readouterr().out)["tasks"]
    ps, other = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
    assert samples["graphflow_up", ps] == samples["graphflow_up", other] == 1
    assert samples["graphflow_task_info", ps] == 1
    assert samples["graphflow_variables_bytes", ps] == 4000 and samples["graphflow_variables", other] == 0
    assert samples["graphflow_steps_total", other] == tasks[1]["steps"]["begun_as_master"] == 4
    assert samples["graphflow_step_parts_total", ps] == tasks[0]["steps"]["taken_part_in"]
    assert 0 < samples["graphflow_received_bytes_total", ps] <= tasks[0]["traffic"]["bytes_in"]
    assert samples["graphflow_uptime_seconds", ps] <= tasks[0]["uptime_seconds"]


def test_a_task_that_does_not_answer_is_down() -> None:
    text = metrics.prometheus_text(
        [{"task": 'a"b\\c\n', "address": "localhost:1", "state": "unreachable", "reason": "gone"}]
    )
    assert list(parsed(text).values()) == [0]


def test_served_by_a_task_itself(stack: ExitStack) -> None:
    (address,) = spec_of(stack, worker=1)["worker"]
    served = Served("--cluster", f"worker={address}", "--metrics-port", "0")
    stack.callback(served.process.communicate)
    stack.callback(served.process.kill)
    assert served.process.stdout is not None
    url = served.process.stdout.readline().split()[-1]
    assert url.startswith("http://127.0.0.1:") and url.endswith("/metrics")
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        samples = parsed(answer.read().decode())
    assert samples["graphflow_up", "/job:worker/replica:0/task:0"] == 1
    with pytest.raises(urllib.error.HTTPError, match="404: only /metrics is here") as caught:
        urllib.request.urlopen(url.removesuffix("metrics") + "other", timeout=60)
    caught.value.close()
    served.process.terminate()
    assert served.end() == (0, "")


def test_a_task_that_does_not_answer_is_an_error_of_the_page() -> None:
    def ask() -> list[dict[str, Any]]:
        raise gf.errors.UnavailableError(None, None, "No server answers.")

    page = metrics.MetricsPage(ask, "127.0.0.1", 0)
    try:
        with pytest.raises(urllib.error.HTTPError, match="503: No server answers") as caught:
            urllib.request.urlopen(page.url, timeout=60)
        caught.value.close()
    finally:
        page.close()


@pytest.mark.parametrize("given", ["nine", "localhost:99999", "203.0.113.1:0"])
def test_where_it_cannot_listen_the_command_says_so(
    given: str, stack: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    (address,) = spec_of(stack, worker=1)["worker"]
    assert main(["serve", "--cluster", f"worker={address}", "--metrics-port", given]) == 2
    assert "--metrics-port" in capsys.readouterr().err


def test_strangers_that_do_not_ask_are_few_and_end(
    monkeypatch: pytest.MonkeyPatch, stack: ExitStack, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor does one that asks slowly, or that goes away, or the name service, keep others from the page."""

    def no_names(*_: Any) -> None:
        raise AssertionError("A name is looked up.")

    monkeypatch.setattr(metrics.socket, "getfqdn", no_names)
    monkeypatch.setattr(metrics, "METRICS_REQUEST_SECONDS", 1e6)
    page = metrics.MetricsPage(lambda: [], "127.0.0.1", 0)
    stack.callback(page.close)
    where = ("127.0.0.1", urllib.parse.urlsplit(page.url).port)
    held = [stack.enter_context(socket.create_connection(where, 60)) for _ in range(metrics.MOST_CONNECTIONS)]
    for connection in held:
        connection.sendall(b"GET /metrics HTTP/1.0\r\nX: ")
    with socket.create_connection(where, 60) as one_more:
        assert one_more.recv(1) == b"", "there are too many"
    monkeypatch.setattr(metrics, "METRICS_REQUEST_SECONDS", 0.0)
    for connection in held:
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    monkeypatch.setattr(metrics, "METRICS_REQUEST_SECONDS", 1e6)
    while True:  # The threads of those may still be on their way out.
        with suppress(OSError), urllib.request.urlopen(page.url, timeout=60) as answer:
            assert answer.status == 200
            break
    assert capfd.readouterr().err == ""
