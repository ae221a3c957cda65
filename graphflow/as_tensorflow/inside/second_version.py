"""Functions of tensorflow.python that are TensorFlow 2's forms of version 1's, with its order of arguments."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import IntsLike, IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.nn import embedding, volumes
from graphflow._core.ops.nn import softmax as softmaxes
from graphflow.nn import convolutions, layers, normalization, sampling


def softmax_v2(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """gf.nn.softmax along an axis, the last by default (nn_ops.softmax_v2)."""
    return softmaxes.softmax(logits, -1 if axis is None else axis, name)


def log_softmax_v2(logits: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """gf.nn.log_softmax along an axis, the last by default (nn_ops.log_softmax_v2)."""
    return softmaxes.log_softmax(logits, -1 if axis is None else axis, name)


def dropout_v2(
    x: TensorLike,
    rate: NumberLike,
    noise_shape: IntTensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """gf.nn.dropout with the rate in the second place (nn_ops.dropout_v2)."""
    return layers.dropout(x, None, noise_shape, seed, name, rate)


def l2_normalize_v2(
    x: TensorLike, axis: IntsLike | None = None, epsilon: float = 1e-12, name: str | None = None
) -> Tensor:
    """gf.nn.l2_normalize (nn_impl.l2_normalize_v2)."""
    return normalization.l2_normalize(x, axis, epsilon, name)


def moments_v2(
    x: TensorLike,
    axes: IntsLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """gf.nn.moments with keepdims before the name (nn_impl.moments_v2)."""
    return normalization.moments(x, axes, shift, name, keepdims=keepdims)


def conv2d_transpose_v2(
    input: TensorLike,
    filters: TensorLike,
    output_shape: IntTensorLike,
    strides: IntsLike,
    padding: str = "SAME",
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """gf.nn.conv2d_transpose with dilations before the name (nn_ops.conv2d_transpose_v2)."""
    return convolutions.conv2d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


def conv3d_transpose_v2(
    input: TensorLike,
    filters: TensorLike,
    output_shape: IntTensorLike,
    strides: IntsLike,
    padding: str = "SAME",
    data_format: str | None = "NDHWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """gf.nn.conv3d_transpose with dilations before the name (nn_ops.conv3d_transpose_v2)."""
    return volumes.conv3d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


def nce_loss_v2(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Tensor:
    """gf.nn.nce_loss over weights in parts of neighbouring rows (nn_impl.nce_loss_v2)."""
    return sampling.nce_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
    )


def sampled_softmax_loss_v2(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Tensor:
    """gf.nn.sampled_softmax_loss over weights in parts of neighbouring rows (nn_impl.sampled_softmax_loss_v2)."""
    return sampling.sampled_softmax_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        "div",
        name,
        seed,
    )


def safe_embedding_lookup_sparse_v2(
    embedding_weights: TensorLike,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
) -> Tensor:
    """gf.nn.safe_embedding_lookup_sparse over parts of neighbouring rows (embedding_ops)."""
    return embedding.safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )


class ResizeMethod:
    """The methods of gf.image.resize by their names (image_ops_impl.ResizeMethod)."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"
