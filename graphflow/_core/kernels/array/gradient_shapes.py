"""NumPy kernels of the ops on shapes that TensorFlow's gradients use."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def _arguments(s0: Any, s1: Any) -> tuple[Any, Any]:
    first, second = [int(d) for d in s0], [int(d) for d in s1]
    rank = max(len(first), len(second))
    first, second = [1] * (rank - len(first)) + first, [1] * (rank - len(second)) + second
    if any(a != b and 1 not in (a, b) for a, b in zip(first, second, strict=True)):
        raise errors.InvalidArgumentError(
            None, None, f"Incompatible shapes: {s0.tolist()} vs. {s1.tolist()}: they do not broadcast."
        )
    # An axis of size 1 in both is summed in both, which changes nothing; TensorFlow lists it too.
    summed = [[i for i in range(rank) if shape[i] == 1] for shape in (first, second)]
    if s0.tolist() == s1.tolist():
        summed = [[], []]
    return np.array(summed[0], s0.dtype), np.array(summed[1], s0.dtype)


simple("BroadcastGradientArgs", _arguments)


def _wrong(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _vector(values: Any) -> str:
    """A vector as TensorFlow writes it: [2 3 5]."""
    return f"[{' '.join(map(str, values.tolist()))}]"


@kernel("ConcatOffset")
def _concat_offset(node: Node) -> Kernel:
    single = len(node.dtypes) == 1

    def offsets(axis: Any, *shapes: Any) -> Any:
        position, place, rank = 0, int(axis), shapes[0].size
        if not -rank <= place < rank:
            raise _wrong(f"Concat dim is out of range: {place} vs. {rank}")
        results = []
        for number, shape in enumerate(shapes):
            if shape.ndim != 1:
                raise _wrong(f"input {number} should be a vector, got shape {list(shape.shape)}.")
            if shape.size != rank:
                raise _wrong(f"input {number} should contain {rank} elements, but got {shape.size}")
            unlike = shape != shapes[0]
            unlike[place] = False
            if unlike.any():
                raise _wrong(
                    f"All dimensions except {place % rank} must match. Input {number} has shape {_vector(shape)} and "
                    f"doesn't match input 0 with shape {_vector(shapes[0])}."
                )
            offset = np.zeros_like(shape)
            offset[place] = position
            position += int(shape[place])
            results.append(offset)
        return results[0] if single else tuple(results)

    return offsets
