"""Reading the fields of a message's details: ValueError for what another process garbled, or made too long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

_MOST_NAME: Final = 256


def text_of(value: Any) -> str:
    """A text that is not too long."""
    if not isinstance(value, str) or len(value) > _MOST_NAME:
        raise ValueError(f"A name is {value!r:.100}.")
    return value


def name_of(details: Mapping[str, Any], field: str) -> str:
    """A text that is there."""
    found = text_of(details.get(field))
    if not found:
        raise ValueError(f"{field} is missing.")
    return found


def seconds_of(details: Mapping[str, Any], default: float, most: float) -> float:
    """The field "seconds", from 0 to `most`."""
    value = details.get("seconds", default)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ValueError(f"seconds is {value!r:.100}.")
    return max(0.0, min(value, most))
