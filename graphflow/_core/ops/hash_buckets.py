"""Buckets of strings: numbers below a given one, by fingerprints that are TensorFlow's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import deprecated, same_shape


def _define(name: str, strings: str) -> OpDef:
    return op_def(name, (strings,), infer=same_shape(dtypes.int64), gradient=NOT_DIFFERENTIABLE)


TO_HASH_BUCKET = _define("StringToHashBucket", "string_tensor: string")
TO_HASH_BUCKET_FAST = _define("StringToHashBucketFast", "input: string")
TO_HASH_BUCKET_STRONG = _define("StringToHashBucketStrong", "input: string")


def _buckets(definition: OpDef, strings: Any, num_buckets: int, name: str | None, **attrs: Any) -> Tensor:
    if num_buckets < 1:
        raise ValueError(f"num_buckets must be at least 1, got {num_buckets}.")
    return apply(definition, (strings,), {"num_buckets": int(num_buckets), **attrs}, name).outputs[0]


def string_to_hash_bucket(
    string_tensor: TensorLike | None = None, num_buckets: int | None = None, name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """A number for each string by the fingerprint of TensorFlow's first versions (tf.string_to_hash_bucket).

    Args:
        string_tensor: Strings, of any shape.
        num_buckets: How many numbers there are.
        name: A name for the operation.
        input: A newer name of `string_tensor`.

    Returns:
        An int64 tensor of the same shape, from 0 to num_buckets - 1.

    Raises:
        ValueError: If there is no bucket.
    """
    strings = deprecated(string_tensor, input, "string_tensor", "input")
    if num_buckets is None:
        raise ValueError("string_to_hash_bucket() needs num_buckets.")
    return _buckets(TO_HASH_BUCKET, strings, num_buckets, name)


def string_to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """A number for each string by its fingerprint, the same ones as TensorFlow's (tf.strings.to_hash_bucket_fast).

    Args:
        input: Strings, of any shape.
        num_buckets: How many numbers there are.
        name: A name for the operation.

    Returns:
        An int64 tensor of the same shape, from 0 to num_buckets - 1.

    Raises:
        ValueError: If there is no bucket.
    """
    return _buckets(TO_HASH_BUCKET_FAST, input, num_buckets, name)


def string_to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """A number for each string that nobody foresees without the key (tf.strings.to_hash_bucket_strong).

    Args:
        input: Strings, of any shape.
        num_buckets: How many numbers there are.
        key: Two integers.
        name: A name for the operation.

    Returns:
        An int64 tensor of the same shape, from 0 to num_buckets - 1.

    Raises:
        ValueError: If there is no bucket.
        InvalidArgumentError: When it runs, if the key is not of two integers.
    """
    return _buckets(TO_HASH_BUCKET_STRONG, input, num_buckets, name, key=[int(part) for part in key])
