"""What differs between a recorded result and graphflow's, in words, within the tolerance of the dtype.

Bits need not be equal: TensorFlow's own kernels differ from machine to machine. Everything else must be as recorded,
apart from what a case states that it does not compare.
"""

from __future__ import annotations

import json
import math
from typing import Any, Dict, List

import numpy as np
from harness import Case

TOLERANCES = {
    "float64": (1e-9, 1e-11),
    "float32": (2e-5, 2e-6),
    "float16": (4e-3, 1e-3),
    "bfloat16": (8e-3, 1e-3),
}


def _same_name(case: Case, expected: str, got: str) -> bool:
    """Whole names, or those of the enclosing scopes: how a composite function is built inside is its own business."""
    scope = expected.rpartition("/")[0]
    if case.names == "full" or not scope:
        return expected == got
    if expected.startswith("gradients"):
        return scope.partition("/")[0] == got.partition("/")[0]
    return scope in (got.rpartition("/")[0], got.partition(":")[0])


def _differing_arrays(path: str, case: Case, expected: Dict[str, Any], got: Dict[str, Any]) -> List[str]:
    if expected["shape"] != got["shape"]:
        return ["%s: value of shape %s, expected %s" % (path, got["shape"], expected["shape"])]
    if expected["dtype"] != got["dtype"]:
        return ["%s: value of dtype %s, expected %s" % (path, got["dtype"], expected["dtype"])]
    if expected["dtype"] not in TOLERANCES:
        same = expected["values"] == got["values"]
    else:
        usual = TOLERANCES[expected["dtype"]]
        rtol, atol = (max(pair) for pair in zip(usual, case.tolerance or usual))
        wanted, found = np.array(expected["values"], np.float64), np.array(got["values"], np.float64)
        same = bool(np.allclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True))
    if same:
        return []
    return ["%s: value\n    expected %s\n    got      %s" % (path, expected["values"], got["values"])]


def _refines(got: Any, expected: Any) -> bool:
    if expected is None:
        return True
    return (
        got is not None and len(got) == len(expected) and all(e in (None, g) for g, e in zip(got, expected))
    )


def _as_plain(record: Dict[str, Any]) -> Dict[str, Any]:
    """A NumPy scalar as the Python number it stands for."""
    if record["kind"] == "array" and record["runs"][0]["shape"] == []:
        return {"kind": "plain", "value": record["runs"][0]["values"][0]}
    return record


def _in_order(record: Dict[str, Any]) -> Dict[str, Any]:
    """Indexed slices sorted by index, then value: the order in which gradients are joined is not theirs to promise."""
    parts = dict(record["parts"])
    if any(len(parts[name]["runs"]) != 1 for name in ("indices", "values")):
        return record
    indices, values = (parts[name]["runs"][0] for name in ("indices", "values"))
    count = len(indices["values"])
    if indices["shape"] != [count] or values["shape"][:1] != [count] or not count:
        return record
    width = len(values["values"]) // count
    rows = sorted(
        (index, values["values"][k * width : (k + 1) * width]) for k, index in enumerate(indices["values"])
    )
    parts["indices"] = dict(parts["indices"], runs=[dict(indices, values=[index for index, _ in rows])])
    parts["values"] = dict(parts["values"], runs=[dict(values, values=[v for _, row in rows for v in row])])
    return dict(record, parts=parts)


def differences(case: Case, expected: Any, got: Any, path: str = "result") -> List[str]:
    """Every respect in which `got` is not as recorded, in words; nothing if they agree."""
    kind = expected["kind"]
    if kind == "error" and got["kind"] == "error":
        if "error" in case.ignore:
            return []
        if expected["class"] in got["classes"]:
            late = expected["stage"] == "build" and got["stage"] == "run"
            return ["%s: %s raised at run, expected at build" % (path, got["class"])] if late else []
        # What TensorFlow finds only while running may be found while building, as it finds what it knows of shapes.
        early = expected["stage"] == "run" and got["stage"] == "build"
        if early and expected["class"] == "InvalidArgumentError" and "ValueError" in got["classes"]:
            return []
        return ["%s: raised %s, expected %s" % (path, got["class"], expected["class"])]
    if {kind, got["kind"]} == {"plain", "array"}:
        expected, got = _as_plain(expected), _as_plain(got)
        kind = expected["kind"]
    if kind != got["kind"]:
        return ["%s: is %s, expected %s" % (path, summary(got), summary(expected))]
    found: List[str] = []
    if kind == "IndexedSlices":
        expected, got = _in_order(expected), _in_order(got)
    if "parts" in expected:
        if list(expected["parts"]) != list(got["parts"]):
            return ["%s: has %s, expected %s" % (path, list(got["parts"]), list(expected["parts"]))]
        for key in expected["parts"]:
            found += differences(case, expected["parts"][key], got["parts"][key], "%s[%s]" % (path, key))
        return found
    if kind == "plain":
        return _differing_plain(path, case, expected["value"], got["value"])
    named = "name" in expected and case.names != "none" and "name" not in case.ignore
    if named and not _same_name(case, expected["name"], got["name"]):
        found.append("%s: name %r, expected %r" % (path, got["name"], expected["name"]))
    if kind == "operation" and case.names == "full" and expected["type"] != got["type"]:
        found.append("%s: op type %r, expected %r" % (path, got["type"], expected["type"]))
    if "static" in expected:
        if "dtype" not in case.ignore and expected["dtype"] != got["dtype"]:
            found.append("%s: dtype %s, expected %s" % (path, got["dtype"], expected["dtype"]))
        fits = (
            _refines(got["static"], expected["static"])
            if case.refined
            else got["static"] == expected["static"]
        )
        if "shape" not in case.ignore and not fits:
            found.append("%s: static shape %s, expected %s" % (path, got["static"], expected["static"]))
    if "value" not in case.ignore:
        for number, (one, other) in enumerate(zip(expected.get("runs", []), got.get("runs", []))):
            found += _differing_arrays("%s run %d" % (path, number), case, one, other)
    return found


def _differing_plain(path: str, case: Case, expected: Any, got: Any) -> List[str]:
    if "value" in case.ignore:
        return []
    if isinstance(expected, float) and isinstance(got, float):
        rtol, atol = case.tolerance or TOLERANCES["float32"]
        if math.isclose(expected, got, rel_tol=rtol, abs_tol=atol):
            return []
    elif isinstance(expected, str) and case.differs:
        words = [word.partition(":") for word in expected.split()]
        expected = " ".join("%s:%s" % (key, case.differs.get(key, value)) for key, _, value in words)
    if expected == got and type(expected) is type(got):
        return []
    return ["%s: %r, expected %r" % (path, got, expected)]


def summary(record: Any) -> str:
    """A record in one line."""
    if record["kind"] == "error":
        return "%s raised at %s" % (record["class"], record["stage"])
    return json.dumps(record)[:300]
