"""Kernels of values that may be missing."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.kernels.io.datasets import fixed
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.datasets.iterators import IteratorResource
from graphflow._core.resources.datasets.optionals import NOTHING, OptionalValue


@kernel("OptionalFromValue")
def _from_value(node: Node) -> Kernel:
    return lambda *components: OptionalValue(tuple([fixed(value) for value in components]))


@kernel("OptionalNone")
def _none(node: Node) -> Kernel:
    return lambda: NOTHING


@kernel("OptionalHasValue")
def _has_value(node: Node) -> Kernel:
    return lambda optional: np.bool_(optional.components is not None)


@kernel("OptionalGetValue")
def _get_value(node: Node) -> Kernel:
    def get(optional: OptionalValue) -> Any:
        if optional.components is None:
            raise errors.InvalidArgumentError(None, None, "The given optional does not have a value.")
        found = tuple([fixed(value) for value in optional.components])
        return found[0] if len(found) == 1 else found

    return get


@kernel("IteratorGetNextAsOptional", stateful=True)
def _get_next(node: Node) -> Kernel:
    def get_next(run: Any, iterator: IteratorResource) -> OptionalValue:
        try:
            return OptionalValue(tuple(iterator.get_next(run)))
        except errors.OutOfRangeError:
            return NOTHING

    return get_next
