"""The state of a session's resources (random states, iterators, queues) as one vector of bytes, and back.

The bytes have the layout of a checkpoint file, so that they need no pickle and are checked like one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.reader import HIDDEN, CheckpointData
from graphflow._core.checkpoint.writer import Entry, pack

STATE: Final = HIDDEN + "state/"
"""The beginning of the names of such vectors in a checkpoint, one for each task."""
RUNS: Final = HIDDEN + "runs"
"""The resource, in such a vector, that says which runs that may be repeated have changed the variables beside it."""
_RESOURCES: Final = "resources"
_PROGRAM: Final = "program"
_UNKNOWN: Final = "unknown"
"""The program of a state that says none, as those written before there were identities: it is nobody's."""
States = Mapping[str, Mapping[str, Any]]


def pack_state(states: States, program: str) -> Any:
    """A uint8 vector of {resource: {name: array}}, and of the identity of the program whose state it is."""
    entries = [
        Entry(json.dumps([owner, key]), value)
        for owner, state in states.items()
        for key, value in state.items()
    ]
    metadata = {_RESOURCES: json.dumps(list(states)), _PROGRAM: program}
    return np.frombuffer(pack(entries, metadata), np.uint8)


def unpack_state(data: Any) -> tuple[str, dict[str, dict[str, Any]]]:
    """The program and the states that pack_state was given; DataLossError if the bytes are not whole."""
    file = CheckpointData(np.ascontiguousarray(data).data, "The saved state of resources")
    names = file.names(hidden=True)
    try:
        states: dict[str, dict[str, Any]] = {owner: {} for owner in json.loads(file.metadata[_RESOURCES])}
        for name, value in zip(names, file.read([(name, None) for name in names]), strict=True):
            owner, key = json.loads(name)
            states[owner][key] = np.array(value)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise errors.DataLossError(
            None, None, f"The saved state of resources makes no sense: {type(error).__name__}: {error}."
        ) from None
    return file.metadata.get(_PROGRAM, _UNKNOWN), states
