"""What a user asks a running cluster for, beside sessions: how it is, to forget its state, to stop."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.failures import from_details
from graphflow._core.transport import keys
from graphflow._core.transport.addresses import split
from graphflow._core.transport.frames.message import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphflow._core.transport.client import Connection

_MASTERS_SHARE: Final = 1.5
"""How much more time the master has to answer than it gives the other tasks: it may share a busy machine with them."""


_TARGET: Final = "a target is zmq://host:port, the address of any task of a cluster"


def address_of(target: Any) -> str:
    """host:port of a target such as zmq://host:port; NotFoundError for another kind, as in TensorFlow.

    ValueError if it is of this kind, and no address.
    """
    text = target.decode() if isinstance(target, bytes) else str(target)
    scheme, separator, address = text.partition("://")
    if not separator or scheme not in ("zmq", "grpc"):
        told = f"No session factory registered for the given session options: {_TARGET}, got {target!r}."
        raise errors.NotFoundError(None, None, told)
    try:
        split(address)
    except ValueError as error:
        raise ValueError(f"{_TARGET.capitalize()}, got {target!r}: {error}") from None
    return address


def no_answer(address: str, what: str, seconds: float, trouble: str) -> str:
    """The words for a server that does not answer, and why, as far as that is known."""
    why = f"{trouble}." if trouble else "is it running there?"
    return f"No server answers at {address}{what} within {seconds:g} s: {why}"


@contextmanager
def _asking(target: Any, seconds: float, cluster_keys: str) -> Iterator[Connection]:
    """A connection to one task that does not count as a session of its."""
    from graphflow._core.transport.client import (  # ZeroMQ is imported if there is a cluster.
        Connection,
        Overdue,
        Refused,
    )

    address = address_of(target)
    connection = Connection(address, {"observer": True}, keys.access(cluster_keys))
    try:
        yield connection
    except Overdue as error:
        raise errors.UnavailableError(None, None, no_answer(address, "", seconds, error.trouble)) from error
    except Refused as refused:
        raise from_details(refused.details, None) from None
    finally:
        connection.close()


def _ask_all(
    target: Any, question: Kind, seconds: float, details: Mapping[str, Any], cluster_keys: str
) -> list[dict[str, Any]]:
    with _asking(target, seconds, cluster_keys) as connection:
        answer = connection.ask(
            question,
            details={**details, "seconds": seconds},
            deadline=time.monotonic() + seconds * _MASTERS_SHARE,
        )
    return list(answer.details["tasks"])


def cluster_status(
    target: str, timeout_seconds: float = 2.0, cluster_keys: str = "", alone: bool = False
) -> list[dict[str, Any]]:
    """How each task of a cluster is, as data; `target` is the address of any of them, zmq://host:port.

    A dictionary for each task: task, address, state ("serving" or "unreachable"), and if it serves incarnation,
    uptime_seconds, pid, sessions, variables with their bytes, traffic, steps (those that it began as master, and
    how many it had a part in), those under_way for seconds and what its parts of steps are waiting for.

    Args:
        target: zmq://host:port of any task.
        timeout_seconds: The longest wait.
        cluster_keys: As in ConfigProto.
        alone: Ask the target for itself alone, and not for the others.

    Raises:
        UnavailableError: If the target does not answer.
    """
    details = {"alone": True} if alone else {}
    return _ask_all(target, Kind.STATUS, timeout_seconds, details, cluster_keys)


def cluster_journals(
    target: Any, timeout_seconds: float = 2.0, cluster_keys: str = ""
) -> list[dict[str, Any]]:
    """As `cluster_status`; each task that serves says its `journal` as well, what it has last heard of and done."""
    return _ask_all(target, Kind.STATUS, timeout_seconds, {"journal": True}, cluster_keys)


def stop_cluster(target: str, timeout_seconds: float = 2.0, cluster_keys: str = "") -> list[str]:
    """Stops every task of a cluster in order; `target` is the address of any of them, zmq://host:port.

    `Server.join()` returns in each, within 5 s. Steps that run end with an error. Returns the names of tasks that
    did not answer within timeout_seconds: they were gone, or hang.

    Args:
        target: zmq://host:port of any task.
        timeout_seconds: The longest wait.
        cluster_keys: As in ConfigProto.

    Raises:
        UnavailableError: If the target itself does not answer.
    """
    answers = _ask_all(target, Kind.STOP, timeout_seconds, {}, cluster_keys)
    return [str(answer["task"]) for answer in answers if answer["state"] == "unreachable"]


def stop_task(target: Any, timeout_seconds: float = 2.0) -> None:
    """Stops one task of a cluster; `target` is its address, zmq://host:port. UnavailableError if none answers."""
    _ask_all(target, Kind.STOP, timeout_seconds, {"alone": True}, "")


def reset(
    target: Any,
    containers: Sequence[str] | None = None,
    timeout_seconds: float = 5.0,
    cluster_keys: str = "",
) -> None:
    """Clears the variables and other resources of containers, by default of all, on every task of a cluster.

    The sessions of that master end: their next run raises AbortedError. UnavailableError if a task does not answer.
    """
    if isinstance(containers, str | bytes):
        raise TypeError(f"containers must be a list of names, got {containers!r}.")
    names = None if containers is None else [str(c) for c in containers]
    answers = _ask_all(target, Kind.RESET, timeout_seconds, {"containers": names or None}, cluster_keys)
    missing = [f"{a['task']} at {a['address']}" for a in answers if a["state"] == "unreachable"]
    if missing:
        raise errors.UnavailableError(
            None,
            None,
            f"These tasks did not answer, and keep their state if they are there: {', '.join(missing)}.",
        )
