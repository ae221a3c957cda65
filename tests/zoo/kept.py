"""What a recording keeps of an array, its file, and how far a result may lie from it.

Of a large array are kept some elements at places that its name decides, and what every element enters: its norm and its
product with a random vector, or the checksum of whole numbers, which must agree exactly. Everything is kept in float32,
what is computed in float64 and whole numbers in float64.

The tolerances are stated here, once. Rounding errors grow with the number of layers they go through, and with the
steps, so each is a multiple of the dtype's epsilon, of the root of the number of weights' arrays, and for what comes of
steps of STEP_GROWTH. An error is measured against the largest element of its array, since sums of numbers of both signs
leave small elements with the error of the large ones; and what is zero but for rounding, such as the gradient of a bias
before a normalization, against the largest of its kind: of all gradients of the loss, or of the changes of all
variables that end in the same name. A change is known to one rounding of the variable that is changed.

This file must stay valid under Python 3.7 and import neither TensorFlow nor graphflow.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_ELEMENTS = 48
"""Larger arrays are sampled."""

MULTIPLES = {"recorded": 64.0, "tiers": 32.0}
"""How many epsilons a result may lie from a recording, and those of two tiers from one another."""
STEP_GROWTH = 8.0
WEIGHTS = "weights/"
"""What the keys begin with that say how large a variable was: they are no results, and in no recording."""
ZERO = 4.0
"""How many epsilons of the largest of its kind what is zero but for rounding may lie apart."""


def keep(key: str, value: Any) -> dict[str, Any]:
    """What is kept of an array: its shape and dtype, elements, and what all elements enter."""
    value = np.asarray(value)
    kept = {"shape": list(value.shape), "dtype": value.dtype.name, "whole": value.size <= MOST_ELEMENTS}
    wide = value.astype(np.float64).ravel()
    if kept["whole"]:
        return dict(kept, elements=wide, norm=np.zeros(0))
    random = np.random.RandomState(zlib.crc32(key.encode()))
    places = np.sort(random.permutation(value.size)[:MOST_ELEMENTS])
    if value.dtype.kind == "f":
        product = np.dot(wide, random.standard_normal(value.size))
        norm = [np.linalg.norm(wide), product, np.abs(wide).max()]
    else:
        norm = [zlib.crc32(value.astype("<i8").tobytes()), wide.min(), wide.max()]
    return dict(kept, elements=wide[places], norm=np.array(norm, np.float64))


def keep_all(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is kept of each array."""
    return {key: keep(key, value) for key, value in found.items()}


# ---- the file -------------------------------------------------------------------------------------------------------


def path(name: str) -> str:
    """The file of a model's recording."""
    return os.path.join(HERE, "recordings", name + ".npz")


def save(name: str, kept: dict[str, dict[str, Any]]) -> None:
    """Writes a recording: an index as JSON, and all numbers one after the other."""
    index, single, double = [], [], []
    for key, entry in kept.items():
        index.append([key, entry["shape"], entry["dtype"]])
        numbers = np.concatenate([entry["elements"], entry["norm"]])
        (single if entry["dtype"] in ("float32", "float16") else double).append(numbers)
    text = np.frombuffer(json.dumps(index, separators=(",", ":")).encode(), np.uint8)
    none = [np.zeros(0)]
    np.savez_compressed(
        path(name),
        index=text,
        single=np.concatenate(single or none).astype(np.float32),
        double=np.concatenate(double or none),
    )


def load(name: str) -> dict[str, dict[str, Any]]:
    """Reads a recording."""
    with np.load(path(name)) as file:
        index = json.loads(file["index"].tobytes().decode())
        numbers = {"single": file["single"].astype(np.float64), "double": file["double"]}
    kept, places = {}, {"single": 0, "double": 0}
    for key, shape, dtype in index:
        size = int(np.prod(shape, dtype=np.int64))
        whole = size <= MOST_ELEMENTS
        width = "single" if dtype in ("float32", "float16") else "double"
        first = places[width]
        middle = first + (size if whole else MOST_ELEMENTS)
        places[width] = middle + (0 if whole else 3)
        kept[key] = {
            "shape": shape,
            "dtype": dtype,
            "whole": whole,
            "elements": numbers[width][first:middle],
            "norm": numbers[width][middle : places[width]],
        }
    return kept


# ---- comparing ------------------------------------------------------------------------------------------------------


def largest(entry: dict[str, Any]) -> float:
    """The largest absolute element of an array, 0.0 where there is none or not all are finite numbers."""
    found = entry["norm"][2] if not entry["whole"] else np.abs(entry["elements"]).max(initial=0.0)
    return float(found) if np.isfinite(found) else 0.0


def differences(
    expected: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]], against: str = "recorded"
) -> list[str]:
    """Every respect in which `found` is not `expected`, in words, the worst first; nothing if they agree.

    against: a key of MULTIPLES.
    """
    weights = {key: entry for key, entry in found.items() if key.startswith(WEIGHTS)}
    expected, found = ({k: e for k, e in given.items() if k not in weights} for given in (expected, found))
    if sorted(expected) != sorted(found):
        missing, more = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
        return [f"missing: {missing}; not expected: {more}"]
    ratios = excesses(expected, {**found, **weights}, against)
    wrong = sorted((-ratio, key) for key, ratio in ratios.items() if not ratio <= 1.0)
    return [
        f"{key}: {-ratio:.3g} times the tolerance"
        f"\n    expected {_summary(expected[key])}\n    found    {_summary(found[key])}"
        for ratio, key in wrong
    ]


def excesses(
    expected: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]], against: str = "recorded"
) -> dict[str, float]:
    """For each array its error as a share of what is allowed; infinite for another shape or dtype."""
    layers = max(1, sum(key.startswith("gradient/") for key in expected))
    multiple = MULTIPLES[against] * np.sqrt(layers)
    kinds: dict[Any, float] = {}
    for key, entry in expected.items():
        kinds[_kind(key)] = max(kinds.get(_kind(key), 0.0), largest(entry))
    result = {}
    for key, entry in expected.items():
        growth = STEP_GROWTH if key.startswith(("losses/", "change/")) else 1.0
        zero = ZERO * kinds[_kind(key)] if key.startswith(("gradient/", "change/")) else 0.0
        weights = found.get(key.replace("change/", WEIGHTS, 1)) if key.startswith("change/") else None
        rounding = 0.0 if weights is None else largest(weights)
        result[key] = _excess(entry, found[key], multiple * growth, zero * growth + rounding)
    return result


def _kind(key: str) -> tuple[str, str]:
    """What the errors of an array may be measured against: the arrays of the same kind."""
    parts = key.split("/")
    return parts[0], parts[1] if parts[0] == "gradient" else parts[-1]


def _excess(expected: dict[str, Any], found: dict[str, Any], multiple: float, zero: float) -> float:
    if expected["shape"] != found["shape"] or expected["dtype"] != found["dtype"]:
        return float("inf")
    exact = not expected["dtype"].startswith("float")
    numbers = np.concatenate([expected["elements"], expected["norm"]])
    others = np.concatenate([found["elements"], found["norm"]])
    if exact:
        return 0.0 if np.array_equal(numbers, others) else float("inf")
    if not np.array_equal(np.isfinite(numbers), np.isfinite(others)):
        return float("inf")
    epsilon = float(np.finfo(expected["dtype"]).eps)
    size = len(expected["elements"])
    allowed = np.full(len(numbers), epsilon * (multiple * largest(expected) + zero))
    if not expected["whole"]:
        # The errors of elements are no larger than those above, and independent in the product.
        count = np.sqrt(np.prod(expected["shape"]))
        allowed[size] = allowed[size + 1] = epsilon * (multiple * numbers[size] + zero * count)
    with np.errstate(invalid="ignore"):
        errors = np.where(np.isfinite(numbers), np.abs(numbers - others), 0.0)
    worst = np.where(errors > 0.0, errors / np.maximum(allowed, np.finfo(np.float64).tiny), 0.0)
    return float(worst.max(initial=0.0))


def _summary(entry: dict[str, Any]) -> str:
    elements = np.array2string(entry["elements"][:8], precision=8)
    return f"{entry['dtype']}{entry['shape']} {elements}"
