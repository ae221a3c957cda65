"""The Levenshtein distance, one row of the table of prefixes at a time.

Within a row each entry depends on the one before it through an insertion of cost one, so the row is a running minimum
of (entry - position), which NumPy accumulates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.array.indexing import linear
from graphflow._core.kernels.registry import Kernel, Node, kernel


def levenshtein(hypothesis: Any, truth: Any) -> int:
    """The least number of insertions, deletions and replacements that make one sequence of the other."""
    positions = np.arange(len(truth) + 1)
    row = positions
    for item in hypothesis:
        best = row + 1
        best[1:] = np.minimum(best[1:], row[:-1] + (truth != item))
        row = np.minimum.accumulate(best - positions) + positions
    return int(row[-1])


def _sequences(indices: Any, values: Any, shape: tuple[int, ...], groups: tuple[int, ...]) -> dict[int, Any]:
    """The values of each group, in their order, by the group's number among `groups`."""
    if indices.ndim != 2 or indices.shape != (len(values), len(shape)):
        raise invalid(
            f"indices of shape {indices.shape} do not fit {len(values)} values and shape {list(shape)}"
        )
    linear(indices, shape)
    numbers = linear(indices[:, :-1], groups)
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    return dict(zip(found.tolist(), np.split(values[order], starts[1:]), strict=True)) if len(found) else {}


@kernel("EditDistance")
def _edit_distance(node: Node) -> Kernel:
    normalize = node.attrs["normalize"]

    def distance(hypothesis: Any, truth: Any) -> float:
        steps = levenshtein(hypothesis, truth)
        if not normalize:
            return steps
        return steps / len(truth) if len(truth) else math.inf if steps else 0.0

    def run(hi: Any, hv: Any, hs: Any, ti: Any, tv: Any, ts: Any) -> Any:
        first, second = tuple(hs.tolist()), tuple(ts.tolist())
        if len(first) != len(second) or len(first) < 2:
            raise invalid(
                f"hypothesis and truth must have the same rank, at least 2, but have the shapes {list(first)} and "
                f"{list(second)}"
            )
        groups = tuple(max(pair) for pair in zip(first[:-1], second[:-1], strict=True))
        hypotheses, truths = _sequences(hi, hv, first, groups), _sequences(ti, tv, second, groups)
        result = np.zeros(math.prod(groups), np.float32)
        for group in hypotheses.keys() | truths.keys():
            result[group] = distance(hypotheses.get(group, hv[:0]), truths.get(group, tv[:0]))
        return result.reshape(groups)

    return run
