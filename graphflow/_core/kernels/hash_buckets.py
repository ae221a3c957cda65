"""Kernels of hashed buckets: fingerprints in Python, over arrays of bytes objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphflow._core.common.fingerprint import fingerprint64, keyed_fingerprint64, old_fingerprint64
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel


def _buckets(node: Node, fingerprint: Callable[[bytes], int]) -> Kernel:
    count = node.attrs["num_buckets"]

    def run(x: Any) -> Any:
        array = np.asarray(x, object)
        found = [fingerprint(text) % count for text in array.reshape(-1)]
        return np.array(found, np.int64).reshape(array.shape)

    return run


@kernel("StringToHashBucket")
def _old(node: Node) -> Kernel:
    return _buckets(node, old_fingerprint64)


@kernel("StringToHashBucketFast")
def _fast(node: Node) -> Kernel:
    return _buckets(node, fingerprint64)


@kernel("StringToHashBucketStrong")
def _strong(node: Node) -> Kernel:
    key = tuple(node.attrs["key"])
    if len(key) != 2:
        raise invalid(f"Key must have 2 elements, got {len(key)}")
    return _buckets(node, partial(keyed_fingerprint64, key))
