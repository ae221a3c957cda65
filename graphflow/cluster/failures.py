"""Errors on their way from the task where they happened to the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphflow import errors

_CLASSES: Final = {
    kind.default_code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.OpError) and kind is not errors.OpError
}


def as_details(error: BaseException) -> dict[str, Any]:
    """An error as data: its code, its text, and the name of the operation that failed."""
    if isinstance(error, errors.OpError):
        name = getattr(error.op, "name", None)
        return {"code": error.error_code, "message": error.message, "op": name}
    return {"code": errors.INTERNAL, "message": f"{type(error).__name__}: {error}", "op": None}


def from_details(details: Mapping[str, Any], graph: Any) -> errors.OpError:
    """The error that data tells of, with the operation of this graph where it has one of that name."""
    name, op = details.get("op"), None
    if isinstance(name, str) and graph is not None:
        try:
            op = graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            op = None
    code = details.get("code")
    kind = _CLASSES.get(code, errors.UnknownError) if isinstance(code, int) else errors.UnknownError
    return kind(None, op, str(details.get("message", "")))
