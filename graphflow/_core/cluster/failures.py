"""Errors on their way from the task where they happened to the client.

Where a Python function of the user's has failed, its traceback goes with the error: at the client it is the cause.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.common.modules import exhausted

_CLASSES: Final = {
    kind.default_code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.OpError) and kind is not errors.OpError
}


_MOST_TRACEBACK: Final = 16 << 10
"""Characters of a traceback that travel, its last."""


class RemoteTraceback(Exception):
    """Where a Python function failed that ran on another task: its traceback, as text."""

    def __str__(self) -> str:
        return f"on the task\n{self.args[0]}"


def as_details(error: BaseException) -> dict[str, Any]:
    """An error as data: its code, text, the name of the operation that failed, the traceback of a function in it."""
    if isinstance(error, errors.OpError):
        name = getattr(error.op, "name", None)
        details = {"code": error.error_code, "message": error.message, "op": name}
        text = _traceback(error)
        return details | {"traceback": text} if text else details
    text = f"{type(error).__name__}: {error}"
    what = exhausted(error)
    if what:
        return {"code": errors.RESOURCE_EXHAUSTED, "message": f"On the task {what}. ({text})", "op": None}
    return {"code": errors.INTERNAL, "message": text, "op": None}


def details_of(code: int, message: str) -> dict[str, Any]:
    """An error of no operation's as data; code is one of graphflow.errors."""
    return {"code": code, "message": message, "op": None}


def from_details(details: Mapping[str, Any], graph: Any) -> errors.OpError:
    """The error that data tells of, with the operation of this graph if it has one of that name."""
    name, op = details.get("op"), None
    if isinstance(name, str) and graph is not None:
        try:
            op = graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            op = None
    code = details.get("code")
    kind = _CLASSES.get(code, errors.UnknownError) if isinstance(code, int) else errors.UnknownError
    error = kind(None, op, str(details.get("message", "")))
    journal = details.get("journal")
    if isinstance(error, errors.UnavailableError) and isinstance(journal, list):
        error.journal = tuple(str(line) for line in journal)
    text = details.get("traceback")
    if isinstance(text, str):
        error.__cause__ = RemoteTraceback(text)
    return error


def _traceback(error: errors.OpError) -> str:
    """The traceback of what is no error of graphflow's and has caused this one; "" if there is none."""
    cause: BaseException | None = error
    passed: set[int] = set()
    while isinstance(cause, errors.OpError):
        passed.add(id(cause))
        cause = cause.__cause__
        if id(cause) in passed:  # A function of the user's may raise an error from itself.
            return ""
    if isinstance(cause, RemoteTraceback):
        return str(cause.args[0])
    return "" if cause is None else "".join(traceback.format_exception(cause))[-_MOST_TRACEBACK:]
