"""What the tasks of a cluster say of themselves as Prometheus reads it: its text format, 0.0.4, and a page that has it.

Names and units are as Prometheus' conventions have them: seconds and bytes, counters that end with "_total".
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Final, NamedTuple

import graphflow.errors as errors
from graphflow._core.common.printable import printable
from graphflow._core.common.timeouts import METRICS_REQUEST_SECONDS

_LOG: Final = logging.getLogger("graphflow")
MOST_CONNECTIONS: Final = 16
"""So many connections to a page are served at once; more are closed."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PATH: Final = "/metrics"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})

Task = Mapping[str, Any]


class _Metric(NamedTuple):
    name: str
    kind: str
    meaning: str
    value: Callable[[Task], float]


def _of(*path: str) -> Callable[[Task], float]:
    def value(task: Task) -> float:
        found: Any = task
        for part in path:
            found = found[part]
        return float(found)

    return value


_METRICS: Final = (
    _Metric("uptime_seconds", "gauge", "For how long the task has been there.", _of("uptime_seconds")),
    _Metric("sessions", "gauge", "Sessions that the task takes part in.", lambda t: len(t["sessions"])),
    _Metric("variables", "gauge", "Variables that the task holds.", lambda t: len(t["variables"])),
    _Metric(
        "variables_bytes", "gauge", "Bytes of the variables that the task holds.",
        lambda t: sum(v["bytes"] for v in t["variables"]),
    ),
    _Metric("steps_total", "counter", "Steps that the task began as master.", _of("steps", "begun_as_master")),
    _Metric(
        "steps_in_flight", "gauge", "Steps that the task began and that have not ended.",
        _of("steps", "in_flight_as_master"),
    ),
    _Metric("step_parts_total", "counter", "Steps that the task took part in.", _of("steps", "taken_part_in")),
    _Metric(
        "step_parts_in_flight", "gauge", "Steps that the task takes part in now.", _of("steps", "in_flight")
    ),
    _Metric("received_bytes_total", "counter", "Bytes that came from peers.", _of("traffic", "bytes_in")),
    _Metric("received_messages_total", "counter", "Messages from peers.", _of("traffic", "messages_in")),
    _Metric("sent_bytes_total", "counter", "Bytes that went to peers.", _of("traffic", "bytes_out")),
    _Metric("sent_messages_total", "counter", "Messages to peers.", _of("traffic", "messages_out")),
    _Metric(
        "dropped_messages_total", "counter", "Messages that no peer was there for.",
        _of("traffic", "messages_dropped"),
    ),
    _Metric(
        "strangers", "gauge", "Connections that have not shown yet that they may connect.",
        _of("strangers", "connected"),
    ),
    _Metric(
        "refused_connections_total", "counter", "Connections that were refused.", _of("strangers", "refused")
    ),
    _Metric(
        "lost_tasks_total", "counter", "Tasks that the task has lost as master.", _of("recovery", "tasks_lost")
    ),
    _Metric(
        "repeated_runs_total", "counter", "Runs that the task has repeated as master.",
        _of("recovery", "runs_repeated"),
    ),
)  # fmt: skip


def prometheus_text(tasks: Sequence[Task]) -> str:
    """The answers of tasks, as `cluster_status` gives them, as Prometheus' text.

    One that does not answer has graphflow_up 0 and nothing else.
    """
    there = [task for task in tasks if task["state"] != "unreachable"]
    lines = _block(
        "up", "gauge", "Whether the task answers.", [(_labels(t), float(t in there)) for t in tasks]
    )
    lines += _block(
        "task_info", "gauge", "Where the task is, and which of those that began there.",
        [(_labels(t, "address", "host", "incarnation", "state"), 1.0) for t in there],
    )  # fmt: skip
    for metric in _METRICS:
        lines += _block(
            metric.name, metric.kind, metric.meaning, [(_labels(t), metric.value(t)) for t in there]
        )
    return "".join(f"{line}\n" for line in lines)


def _block(name: str, kind: str, meaning: str, samples: Sequence[tuple[str, float]]) -> list[str]:
    if not samples:
        return []
    name = f"graphflow_{name}"
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"] + [
        f"{name}{{{labels}}} {int(value) if value == int(value) else value!r}" for labels, value in samples
    ]


def _labels(task: Task, *more: str) -> str:
    """The task, and more of what is known of it; what another machine says is printed as `printable` has it."""
    named = {name: printable(str(task[name])).translate(_ESCAPES) for name in ("task", *more)}
    return ",".join(f'{name}="{text}"' for name, text in named.items())


class _Listener(ThreadingMixIn, TCPServer):
    """Serves strangers: a few at once, each for some seconds, however they ask. Looks no name up."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._open: dict[Any, float] = {}
        """The connections, and when each began."""
        self._changing = threading.Lock()
        super().__init__((host, port), handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for one more connection."""
        with self._changing:
            if len(self._open) >= MOST_CONNECTIONS:
                return False
            self._open[request] = time.monotonic()
            return True

    def service_actions(self) -> None:
        """Ends the connections that have lasted too long; called twice a second."""
        limit = time.monotonic() - METRICS_REQUEST_SECONDS
        with self._changing:
            for request, began in self._open.items():
                if began < limit:
                    with suppress(OSError):  # It has ended.
                        request.shutdown(socket.SHUT_RDWR)

    def close_request(self, request: Any) -> None:
        with self._changing:
            self._open.pop(request, None)
            super().close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what is wrong here; what goes wrong with a connection is a matter of who has made it."""
        if not isinstance(sys.exception(), OSError):
            _LOG.exception("The page of metrics has failed.")


class MetricsPage:
    """Serves http://HOST:PORT/metrics until `close`; every request asks for what is true then.

    Args:
        ask: Returns the tasks to show, or raises an OpError, which the page says with status 503.
        host: Where it listens; who reaches that reads without any key.
        port: 0 takes a free one.

    Raises:
        OSError: It cannot listen there.
    """

    def __init__(self, ask: Callable[[], Sequence[Task]], host: str, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _answer(self, ask)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing: Prometheus asks every few seconds."""

        self._server = _Listener(host, port, Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="graphflow-metrics", daemon=True
        )
        self._thread.start()
        named = f"[{host}]" if ":" in host else host
        self.url = f"http://{named}:{self._server.server_address[1]}{PATH}"

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _answer(request: BaseHTTPRequestHandler, ask: Callable[[], Sequence[Task]]) -> None:
    if request.path.partition("?")[0] != PATH:
        request.send_error(404, f"only {PATH} is here")
        return
    try:
        text = prometheus_text(ask())
    except (errors.OpError, OSError) as error:
        request.send_error(503, printable(str(error)))
        return
    data = text.encode()
    request.send_response(200)
    request.send_header("Content-Type", CONTENT_TYPE)
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)
