"""Plans as files: JSON that holds a plan's tree, as `encode` makes it, and its arrays.

A file may come from anybody. Nothing in it is code: a plan with a Python function, as py_func has, is not written, and
one that brings any is not read.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.ops import load_all
from graphflow._core.plan.encode import BadPlan, PlanReader, PlanWriter
from graphflow._core.plan.ir import Plan

_FORMAT: Final = 1
_HEAD: Final = "graphflow plan"


def save(path: str, plan: Plan) -> None:
    """Writes a plan to a file; ValueError if it has a Python function, OSError if the file cannot be written."""
    text = to_text(plan)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def load(path: str) -> Plan:
    """The plan that `save` wrote; BadPlan, a ValueError, for anything else. Runs nothing that the file brings."""
    with open(path, "rb") as file:
        data = file.read()
    return from_text(data)


def to_text(plan: Plan) -> str:
    """A plan as the text of a file; ValueError if it has a Python function."""
    writer = PlanWriter(functions=False)
    tree = writer.plan(plan)
    arrays = [_array_tree(array) for array in writer.arrays]
    return json.dumps({"file": _HEAD, "format": _FORMAT, "plan": tree, "arrays": arrays}, indent=1) + "\n"


def from_text(text: str | bytes) -> Plan:
    """The plan of a file's text; BadPlan for anything else."""
    load_all()
    try:
        tree = json.loads(text)
        if not isinstance(tree, dict) or tree.get("file") != _HEAD:
            raise BadPlan("it does not say that it is one")
        if tree.get("format") != _FORMAT:
            raise BadPlan(f"its format is {tree.get('format')!r:.50}, not {_FORMAT}")
        return PlanReader([_array(array) for array in tree["arrays"]]).plan(tree["plan"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadPlan(f"This is no file of a plan: {error!s:.300}".replace("\n", " ")) from error


def _array_tree(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype == object:
        elements = [base64.b64encode(element).decode() for element in array.ravel().tolist()]
        return {"dtype": "string", "shape": list(array.shape), "elements": elements}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": dtypes.as_dtype(array.dtype).name, "shape": list(array.shape), "data": data}


def _array(tree: Any) -> np.ndarray[Any, Any]:
    dtype, shape = dtypes.BY_NAME[tree["dtype"]], [int(n) for n in tree["shape"]]
    if dtype is dtypes.string:
        found = np.empty(len(tree["elements"]), object)
        found[:] = [base64.b64decode(element, validate=True) for element in tree["elements"]]
    else:
        found = np.frombuffer(base64.b64decode(tree["data"], validate=True), dtype.as_numpy_dtype)
    if min(shape, default=0) < 0 or math.prod(shape) != found.size:
        raise BadPlan(f"an array of shape {shape!r:.100} has {found.size} elements")
    return found.reshape(shape)
