"""The Levenshtein distances of many pairs of sequences, one row of each one's table of prefixes at a time.

Within a row each entry depends on the one before it through an insertion of cost one, so the row is a running minimum
of (entry - position), which NumPy accumulates.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.array.indexing import linear
from graphflow._core.kernels.registry import Kernel, Node, kernel

_AT_ONCE: Final = 1 << 16
"""Entries of rows that are computed together."""


def levenshtein(hypotheses: Any, sizes: Any, truths: Any, truth_sizes: Any) -> Any:
    """The least number of insertions, deletions and replacements that make one sequence of the other, for each pair.

    Args:
        hypotheses: Sequences, [pairs, longest], of which what is beyond their sizes is not looked at.
        sizes: How long each is, [pairs].
        truths: What they are compared with, [pairs, longest of these].
        truth_sizes: How long each of these is, [pairs].

    Returns:
        The numbers, [pairs].
    """
    positions = np.arange(truths.shape[1] + 1)
    found = np.empty(len(sizes), np.int64)
    count = max(1, _AT_ONCE // positions.size)
    for first in range(0, len(sizes), count):
        pairs = slice(first, first + count)
        truth, longest = truths[pairs], sizes[pairs]
        rows = np.broadcast_to(positions, (len(truth), positions.size))
        for place in range(longest.max()):
            best = rows + 1
            best[:, 1:] = np.minimum(best[:, 1:], rows[:, :-1] + (truth != hypotheses[pairs, place, None]))
            best = np.minimum.accumulate(best - positions, axis=1) + positions
            rows = np.where((place < longest)[:, None], best, rows)
        found[pairs] = rows[np.arange(len(truth)), truth_sizes[pairs]]
    return found


def _numbers(indices: Any, values: Any, shape: tuple[int, ...], groups: tuple[int, ...]) -> Any:
    """The number, among `groups`, of the sequence that each value is of.

    Where in its sequence a value lies is not looked at, as TensorFlow does not: the values are in their order.
    """
    if indices.ndim != 2 or indices.shape != (len(values), len(shape)):
        raise invalid(
            f"indices of shape {indices.shape} do not fit {len(values)} values and shape {list(shape)}"
        )
    return linear(indices[:, :-1], groups)


def _sequences(values: Any, owners: Any, count: int) -> tuple[Any, Any]:
    """The values of each sequence, in their order, side by side in a matrix; and how many it has."""
    sizes = np.bincount(owners, minlength=count)
    order = np.argsort(owners, kind="stable")
    places = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found = np.zeros((count, sizes.max(initial=0)), values.dtype)
    found[owners[order], places] = values[order]
    return found, sizes


@kernel("EditDistance")
def _edit_distance(node: Node) -> Kernel:
    normalize = node.attrs["normalize"]

    def run(hi: Any, hv: Any, hs: Any, ti: Any, tv: Any, ts: Any) -> Any:
        first, second = tuple(hs.tolist()), tuple(ts.tolist())
        if len(first) != len(second) or len(first) < 2:
            raise invalid(
                f"hypothesis and truth must have the same rank, at least 2, but have the shapes {list(first)} and "
                f"{list(second)}"
            )
        groups = tuple(max(pair) for pair in zip(first[:-1], second[:-1], strict=True))
        hypotheses, truths = _numbers(hi, hv, first, groups), _numbers(ti, tv, second, groups)
        there, owners = np.unique(np.concatenate([hypotheses, truths]), return_inverse=True)
        owners = owners.reshape(-1)
        truth, sizes = _sequences(tv, owners[len(hv) :], len(there))
        steps = levenshtein(*_sequences(hv, owners[: len(hv)], len(there)), truth, sizes)
        result = np.zeros(math.prod(groups), np.float32)
        if normalize:
            result[there] = np.where(sizes, steps / np.maximum(sizes, 1), math.inf)
        else:
            result[there] = steps
        return result.reshape(groups)

    return run
