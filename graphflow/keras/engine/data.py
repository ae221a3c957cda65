"""Arrays as a model takes them: in the order of its inputs and outputs, of the shapes that these have, with weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor


def as_array(value: Any) -> Any:
    """An array of what data may be: an array, a list of numbers, a table of pandas."""
    if value is None or isinstance(value, np.ndarray | Tensor):
        return value
    if hasattr(value, "tocsr"):
        return value.toarray()
    return np.asarray(value)


def _is_table(data: Any) -> bool:
    return hasattr(data, "iloc") or hasattr(data, "tocsr")


def in_order(data: Any, names: Sequence[str], what: str, model: str) -> list[Any]:
    """The arrays of inputs or targets, in the order of their names.

    Raises:
        ValueError: There are others than the model has.
    """
    if data is None:
        return [None] * len(names) if not names else []
    if isinstance(data, Mapping):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(
                f"No data provided for {missing[0]!r} of the model {model!r}. Need data for each key in: {list(names)}"
            )
        return [as_array(data[name]) for name in names]
    if isinstance(data, list | tuple):
        several = len(names) > 1 or (len(data) == 1 and isinstance(data[0], np.ndarray | Tensor))
        if several and (len(names) > 1 or np.ndim(data[0]) > 0):
            found = [as_array(one) for one in data]
        elif len(data) and isinstance(data[0], np.ndarray) and len(names) == 1 and len(data) > 1:
            found = [as_array(one) for one in data] if data[0].ndim > 1 else [np.asarray(data)]
        else:
            found = [np.asarray(data)]
    else:
        found = [as_array(data.values if _is_table(data) and hasattr(data, "values") else data)]
    if len(found) != len(names):
        raise ValueError(
            f"Error when checking model {what}: the model {model!r} expects {len(names)} arrays ({', '.join(names)}), "
            f"but got {len(found)}, of shapes {[np.shape(one) for one in found]}."
        )
    return found


def shaped(arrays: Sequence[Any], names: Sequence[str], wanted: Sequence[Any], what: str) -> list[Any]:
    """Arrays with a last axis of 1 where that is missing, of the shapes that are asked for.

    wanted: shapes with None for any size, or None for any shape.

    Raises:
        ValueError: One has another shape; says which, and what was expected.
    """
    found = []
    for array, name, shape in zip(arrays, names, wanted, strict=True):
        if array is not None and not isinstance(array, Tensor):
            if array.ndim == 1 and (shape is None or len(shape) != 1):
                array = array[:, None]
            if shape is not None and not _fits(array.shape, shape):
                if array.ndim != len(shape):
                    raise ValueError(
                        f"Error when checking {what}: expected {name} to have {len(shape)} dimensions, but got array "
                        f"with shape {array.shape}"
                    )
                raise ValueError(
                    f"Error when checking {what}: expected {name} to have shape {tuple(shape[1:])} but got array with "
                    f"shape {array.shape[1:]}"
                )
        found.append(array)
    return found


def _fits(shape: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(
        w is None or s == w for s, w in zip(shape[1:], list(wanted)[1:], strict=True)
    )


def check_lengths(arrays: Sequence[Any]) -> int:
    """The number of examples; ValueError if arrays have different ones."""
    sizes = sorted({len(a) for a in arrays if a is not None and not isinstance(a, Tensor)})
    if len(sizes) > 1:
        raise ValueError(
            f"All input, target and weight arrays should have the same number of samples. Got: {sizes}"
        )
    return sizes[0] if sizes else 0


def class_weights(target: Any, weights: Mapping[Any, float]) -> Any:
    """The weight of each example by its class; ValueError for a class without a weight."""
    if target.ndim > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    classes = target.argmax(axis=1) if target.ndim == 2 and target.shape[1] > 1 else target.reshape(-1)
    missing = {c.item() for c in np.unique(classes)} - set(weights)
    if missing:
        raise ValueError(
            f"`class_weight` must contain all classes in the data. The classes {missing} exist in the data but not in "
            "`class_weight`."
        )
    return np.asarray([weights[c.item()] for c in classes], dtype=np.float32)


def weights_of(target: Any, weight: Any, by_class: Any, mode: str | None) -> Any:
    """The weights of examples, or of their steps; those by class times those given; None if there are none."""
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float32)
        ranks = 2 if mode == "temporal" else 1
        if weight.ndim != ranks:
            raise ValueError(
                f"Found a sample_weight array with shape {weight.shape}; expected {ranks} dimensions. For weights of "
                'steps, compile with sample_weight_mode="temporal".'
            )
        if target.shape[:ranks] != weight.shape:
            raise ValueError(
                f"Found a sample_weight array with shape {weight.shape} for an input with shape {target.shape}."
            )
    if by_class is None:
        return weight
    found = class_weights(target, by_class)
    return found if weight is None else found * weight


def split(arrays: Sequence[Any], share: float) -> tuple[list[Any], list[Any]]:
    """The first examples, and the last ones that are kept for validation; ValueError if either would be none."""
    if not 0.0 < share < 1.0:
        raise ValueError(f"validation_split must be between 0 and 1, got {share}.")
    count = check_lengths(arrays)
    at = int(count * (1.0 - share))
    if at in (0, count):
        raise ValueError(
            f"validation_split={share} of {count} samples leaves none to train on, or to validate."
        )
    return [None if a is None else a[:at] for a in arrays], [None if a is None else a[at:] for a in arrays]
