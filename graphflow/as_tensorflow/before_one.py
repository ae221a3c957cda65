"""Functions that TensorFlow had before 1.0 and whose arguments are others than those of what there is now.

TensorFlow 1.15 has none of them. Functions that had another name alone are in the table of single names, modules.py.
The tags of summaries are names as they are now: the scope stands before them.
"""

from __future__ import annotations

import graphflow.summary as summary
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.math.linalg import matmul


def scalar_summary(
    tags: str, values: TensorLike, collections: CollectionNames | None = None, name: str | None = None
) -> Tensor:
    """A summary of a number (tf.scalar_summary); `name` has no effect. ValueError if there are several tags."""
    if not isinstance(tags, str):
        raise ValueError(f"scalar_summary takes one tag here, a string, got {tags!r}: write one for each.")
    return summary.scalar(tags, values, collections)


def histogram_summary(
    tag: str, values: TensorLike, collections: CollectionNames | None = None, name: str | None = None
) -> Tensor:
    """A summary of a distribution (tf.histogram_summary); `name` has no effect."""
    return summary.histogram(tag, values, collections)


def image_summary(
    tag: str, tensor: TensorLike, max_images: int = 3, collections: CollectionNames | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A summary of pictures (tf.image_summary); `name` has no effect."""
    return summary.image(tag, tensor, max_images, collections)


def audio_summary(
    tag: str, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int = 3,
    collections: CollectionNames | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """A summary of sounds (tf.audio_summary); `name` has no effect."""
    return summary.audio(tag, tensor, sample_rate, max_outputs, collections)


def select(condition: TensorLike, t: TensorLike, e: TensorLike, name: str | None = None) -> Tensor:
    """The elements of `t` if the condition holds, of `e` if not (tf.select)."""
    return where(condition, t, e, name)


def batch_matmul(
    x: TensorLike, y: TensorLike, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Tensor:
    """The products of stacks of matrices (tf.batch_matmul)."""
    return matmul(x, y, adjoint_a=bool(adj_x), adjoint_b=bool(adj_y), name=name)
