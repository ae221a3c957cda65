"""The file that reproduces a disagreement: a plan, its feeds, its variables and its tape, as plain arrays.

The file holds no code: Python functions are left out, since their results are on the tape. `graphflow replay FILE` runs
it.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.common.files import numpy_files
from graphflow._core.common.philox.generator import Philox
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.ops import load_all
from graphflow._core.plan.encode import BadPlan, PlanReader, PlanWriter
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.runtime.agreement.rounding import Replay
from graphflow._core.runtime.agreement.tape import is_repeatable

_FORMAT: Final = 2
_MOST_BYTES: Final = 256 << 20
_MOST_FILES: Final = 4
"""The most files that one process writes, since a fault often comes again and again."""
_written = 0
_lock = threading.Lock()


@dataclass(frozen=True)
class Recorded:
    """The contents of a file. variables: values before the run, by the name of the variable's value in the plan.

    random: the states of random operations before the run, as in Replay.
    """

    plan: Plan
    known: Known
    feeds: Sequence[Any]
    variables: Mapping[str, Any]
    tape: Mapping[str, list[Any]]
    random: Mapping[str, Any]


def report(found: Replay | None, known: Known | None) -> str:
    """Writes the file for a disagreement; a sentence that says where it is, or why there is none."""
    global _written
    if found is None:
        return ""
    with _lock:
        if _written >= _MOST_FILES:
            return "It is not written to a file, since there are several already"
        _written += 1
    try:
        handle, path = tempfile.mkstemp(prefix="graphflow-disagreement-", suffix=".npz")
        with os.fdopen(handle, "wb") as file:
            save(file, found, known or {})
    except Exception as error:
        return f"It could not be written to a file: {type(error).__name__}: {error}"
    return f"To reproduce it: graphflow replay {path} (it holds the values of this run)"


def save(file: Any, found: Replay, known: Known) -> None:
    """Writes a file with which the run can be done again; ValueError if that is too large, or no plain data."""
    writer = PlanWriter()
    objects = _Objects(writer.arrays)
    tree: dict[str, Any] = {
        "format": _FORMAT,
        "plan": writer.plan(plain_plan(found.plan)),
        "known": {name: [list(shape), dtype] for name, (shape, dtype) in known.items()},
        "feeds": [objects.tree(value) for value in found.left.feeds],
        "variables": {name: objects.tree(value) for name, value in found.variables.before.items()},
        "tape": {name: [objects.tree(r) for r in results] for name, results in found.tape.results.items()},
        "random": {
            name: {part: objects.tree(words) for part, words in state.items()}
            for name, state in found.random.items()
        },
    }
    if sum(array.nbytes for array in writer.arrays) > _MOST_BYTES:
        raise ValueError(f"it would be larger than {_MOST_BYTES >> 20} MiB")
    texts = {k: array for k, array in enumerate(writer.arrays) if array.dtype == object}
    tree["texts"] = [[k, objects.tree(array)] for k, array in texts.items()]
    plain = [np.zeros(0) if k in texts else array for k, array in enumerate(writer.arrays)]
    arrays = {f"a{number}": array for number, array in enumerate(plain)}
    text = np.frombuffer(json.dumps(tree).encode(), np.uint8)
    np.savez_compressed(file, allow_pickle=False, tree=text, **arrays)


def load(path: str) -> Recorded:
    """Reads a file that save() wrote; ValueError for anything else. Runs no code from the file."""
    load_all()
    try:
        file = numpy_files.load(path)
        tree = json.loads(file["tree"].tobytes())
        arrays = [file[f"a{number}"] for number in range(len(file) - 1)]
        if tree["format"] != _FORMAT:
            raise ValueError(f"its format is {tree['format']!r:.50}, not {_FORMAT}")
        read = _Objects(arrays).value
        for number, texts in tree["texts"]:
            arrays[number] = read(texts)
        return Recorded(
            PlanReader(arrays).plan(tree["plan"]),
            {
                str(n): (tuple(int(k) for k in shape), str(dtype))
                for n, (shape, dtype) in tree["known"].items()
            },
            [read(value) for value in tree["feeds"]],
            {str(name): read(value) for name, value in tree["variables"].items()},
            {str(name): [read(value) for value in results] for name, results in tree["tape"].items()},
            {str(name): _random_state(state, read) for name, state in tree["random"].items()},
        )
    except (
        BadPlan,
        *numpy_files.reading_errors,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        RecursionError,
    ) as error:
        raise ValueError(f"{path} is no file of a disagreement: {error}") from error


def _random_state(tree: Any, read: Callable[[Any], Any]) -> dict[str, Any]:
    """The state of a random operation; ValueError for that of anything else."""
    state = {str(part): read(words) for part, words in tree.items()}
    Philox(0, 0).set_state(state)
    return state


def plain_plan(plan: Plan) -> Plan:
    """The plan without the attributes of instructions that are not run again, such as Python functions."""

    def plain(i: Instruction) -> Instruction:
        i = replace(i, bodies=tuple(plain_plan(body) for body in i.bodies))
        return i if is_repeatable(i) else replace(i, attrs={})

    return plan.with_instructions([plain(i) for i in plan.instructions])


class _Objects:
    """Values as trees of plain data; arrays go into a list of their own."""

    def __init__(self, arrays: list[Any]) -> None:
        self._arrays = arrays

    def tree(self, value: Any) -> Any:
        """The tree of a value; a handle, which only instructions take that are not run again, is nothing."""
        if isinstance(value, tuple | list):
            return {"list": [self.tree(part) for part in value]}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.ndarray) and value.dtype == object:
            return {
                "shape": list(value.shape),
                "strings": [self.tree(part) for part in value.ravel().tolist()],
            }
        if isinstance(value, np.ndarray | np.generic | bool | int | float):
            self._arrays.append(np.asarray(value))
            return {"array": len(self._arrays) - 1, "scalar": not isinstance(value, np.ndarray)}
        return None

    def value(self, tree: Any) -> Any:
        """The value of a tree."""
        if tree is None:
            return None
        if "list" in tree:
            return tuple([self.value(part) for part in tree["list"]])
        if "bytes" in tree:
            return base64.b64decode(tree["bytes"], validate=True)
        if "strings" in tree:
            strings = np.empty(len(tree["strings"]), object)
            strings[:] = [self.value(part) for part in tree["strings"]]
            return strings.reshape(tree["shape"])
        array = self._arrays[int(tree["array"])]
        return array[()] if tree["scalar"] else array
