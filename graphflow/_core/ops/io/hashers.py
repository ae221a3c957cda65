"""How keys that a table has not are dealt out to buckets (tf.contrib.lookup.HasherSpec and its kin)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Final, NamedTuple

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.hash_buckets import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)


class HasherSpec(NamedTuple):
    """How keys that a table has not are dealt out to buckets (tf.contrib.lookup.HasherSpec).

    hasher: "fasthash", "stronghash", or "legacy". key: of "stronghash", two integers.
    """

    hasher: str
    key: Any


FastHashSpec: Final = HasherSpec("fasthash", None)
"""By their fingerprints."""


def StrongHashSpec(key: Sequence[int]) -> HasherSpec:
    """By fingerprints that nobody foresees without the key (tf.contrib.lookup.StrongHashSpec).

    Args:
        key: Two integers.

    Returns:
        The way.

    Raises:
        ValueError: If there are not two.
        TypeError: If they are no integers.
    """
    if len(key) != 2:
        raise ValueError(f"key must be of two integers, got {len(key)}.")
    if not all(isinstance(part, Integral) for part in key):
        raise TypeError(f"key must be of integers, got {key!r}.")
    return HasherSpec("stronghash", key)


def dealt_out(spec: HasherSpec, texts: Tensor, buckets: int) -> Tensor:
    """The bucket of each text; ValueError for a way that is not known."""
    if spec.hasher == "fasthash":
        return string_to_hash_bucket_fast(texts, buckets, name="hash_bucket")
    if spec.hasher == "stronghash":
        return string_to_hash_bucket_strong(texts, buckets, spec.key, name="hash_bucket")
    if spec.hasher == "legacy":
        return string_to_hash_bucket(texts, buckets, name="hash_bucket")
    raise ValueError(
        f'Keys are dealt out by "fasthash", "stronghash" or "legacy", got the hasher {spec.hasher!r}.'
    )
