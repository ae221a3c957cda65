"""The NumPy kernel of crosses: the last feature's value changes first, as in TensorFlow."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import numpy as np

from graphflow._core.common.fingerprint import KEPT, fingerprint64, joined_fingerprint
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel

_LARGEST = 0x7FFFFFFFFFFFFFFF


def _rows_of(indices: Any, values: Any, shape: Any) -> list[list[Any]]:
    """The values of each row of a sparse matrix, whose indices are in order."""
    if indices.ndim != 2 or indices.shape[1] != 2 or shape.shape != (2,) or len(indices) != len(values):
        raise invalid(f"Crosses are of matrices, got indices of shape {indices.shape}")
    rows = indices[:, 0]
    if len(rows) and (rows[0] < 0 or rows[-1] >= shape[0] or (rows[1:] < rows[:-1]).any()):
        raise invalid(f"The rows of the indices are not in order, or not below {int(shape[0])}")
    ends = np.searchsorted(rows, np.arange(int(shape[0])), "right").tolist()
    items = values.tolist()
    return [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _number(value: Any) -> int:
    return fingerprint64(value) if isinstance(value, bytes) else value


@kernel("SparseCross")
def _sparse_cross(node: Node) -> Kernel:
    count, hashed = node.attrs["N"], node.attrs["hashed_output"]
    buckets, key = node.attrs["num_buckets"], node.attrs["hash_key"]

    @lru_cache(KEPT)
    def joined(values: tuple[Any, ...]) -> Any:
        if not hashed:
            return b"_X_".join(values)
        found = key
        for value in values:
            found = joined_fingerprint(found, value)
        return found % (buckets or _LARGEST)

    def run(*parts: Any) -> Any:
        indices, values, shapes = (parts[i * count : (i + 1) * count] for i in range(3))
        columns = [_rows_of(*column) for column in zip(indices, values, shapes, strict=True)]
        columns += [np.asarray(dense).tolist() for dense in parts[3 * count :]]
        sizes = {len(column) for column in columns}
        if len(sizes) != 1:
            raise invalid(f"All features of a cross have as many rows, got {sorted(sizes)}")
        convert = _number if hashed else _text
        found = [
            [joined(chosen) for chosen in itertools.product(*([convert(v) for v in row] for row in rows))]
            for rows in zip(*columns, strict=True)
        ]
        lengths = [len(row) for row in found]
        flat = [value for row in found for value in row]
        result = np.empty(len(flat), np.int64 if hashed else object)
        result[:] = flat
        places = [(row, at) for row, length in enumerate(lengths) for at in range(length)]
        shape = np.array([len(found), max(lengths, default=0)], np.int64)
        return np.array(places, np.int64).reshape(-1, 2), result, shape

    return run
