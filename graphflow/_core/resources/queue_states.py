"""The elements of a queue as a checkpoint holds them: arrays by name, "0", "1", ... for the components.

A component whose elements have one shape is one array; otherwise its values are "0/0", "0/1", ... Beside them stand
"size" (how many elements), "waiting" (how many of these did not lie in the queue) and "closed".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.dtypes import DType
from graphflow._core.resources.queue_config import Element, QueueConfig
from graphflow._core.resources.queue_values import filled, rows


def packed(elements: Sequence[Element], dtypes: Sequence[DType]) -> dict[str, Any]:
    """The components of some elements."""
    state: dict[str, Any] = {}
    for position, dtype in enumerate(dtypes):
        values = [e[position] for e in elements]
        found = {v.shape for v in values}
        if len(found) == 1:
            state[str(position)] = filled(values, dtype, found.pop())
        else:
            state |= {f"{position}/{number}": value for number, value in enumerate(values)}
    return state


def components(state: Mapping[str, Any], config: QueueConfig, title: str) -> list[list[Any]]:
    """The values of each component, one for each element; ValueError, with the queue's title, if it is no state."""
    size, closed = np.asarray(state.get("size")), np.asarray(state.get("closed"))
    limit = config.capacity
    if size.shape != () or size.dtype.kind != "i" or size < 0 or closed.dtype != bool or closed.shape:
        raise ValueError(f"This is no state of {title}: it has no size, or does not say if it is closed.")
    count, waiting = int(size), np.asarray(state.get("waiting", 0))
    counted = waiting.shape == () and waiting.dtype.kind == "i"
    found: list[list[Any]] = []
    for position, dtype in enumerate(config.dtypes):
        if str(position) in state:
            values = rows(np.asarray(state[str(position)]), dtype)
        elif count <= len(state):
            values = [state.get(f"{position}/{number}") for number in range(count)]
        else:
            values = []
        if len(values) != count or any(getattr(v, "dtype", None) != dtype.native for v in values):
            raise ValueError(
                f"This is no state of {title}: component {position} should be {count} values of {dtype.name}."
            )
        found.append(values)
    if not counted or not 0 <= waiting <= count or 0 <= limit < count - waiting:
        raise ValueError(f"{count} elements do not fit into {title}, which holds {limit}.")
    return found
