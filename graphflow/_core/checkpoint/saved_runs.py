"""What a task remembers of runs that may be repeated, as a checkpoint holds it: arrays, which are JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from graphflow._core.common.request_ids import RequestId, RunId

_TEXT: Final = "json"

SavedChanges = Mapping[str, list[tuple[RunId, str]]]
"""By the name of a variable the runs that have changed it, each with the instruction that did."""


def pack_runs(runs: Iterable[tuple[RunId, Mapping[str, str]]]) -> dict[str, np.ndarray[Any, Any]]:
    """From the runs, each with the variables that it has changed, by instruction.

    Most runs are those of the same plan, and have changed the same: that is written once.
    """
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    found = [
        [run.line, run.call, run.index, numbers.setdefault(tuple(sorted(changed.items())), len(numbers))]
        for run, changed in runs
    ]
    text = json.dumps({"runs": found, "changes": list(numbers)}, separators=(",", ":"))
    return {_TEXT: np.frombuffer(text.encode(), np.uint8)}


def unpack_runs(state: Mapping[str, np.ndarray[Any, Any]]) -> SavedChanges:
    """What pack_runs was given, by variable; ValueError for what it cannot have returned."""
    found: dict[str, list[tuple[RunId, str]]] = {}
    if not state:
        return found
    try:
        tree = json.loads(state[_TEXT].tobytes())
        changes = [[(str(name), str(variable)) for name, variable in changed] for changed in tree["changes"]]
        for line, call, index, number in tree["runs"]:
            run = RequestId.of([line, call, index, 0]).run
            for name, variable in changes[number]:
                found.setdefault(variable, []).append((run, name))
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(
            f"What it says of runs that may be repeated makes no sense: {type(error).__name__}: {error}."
        ) from None
    return found
