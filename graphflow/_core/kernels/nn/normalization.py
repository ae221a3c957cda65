"""NumPy kernels of batch normalisation and of normalisation across channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel, takes
from graphflow.errors import InvalidArgumentError


def _layout(node: Node) -> tuple[int, tuple[int, ...], Callable[[Any], Any]]:
    """The channels' axis, the others, and how a vector of channels is laid against the image."""
    if node.attrs["data_format"] == "NCHW":
        return 1, (0, 2, 3), lambda vector: vector.reshape(-1, 1, 1)
    return 3, (0, 1, 2), lambda vector: vector


@kernel("FusedBatchNormV3")
def _batch_norm(node: Node) -> Kernel:
    axis, axes, spread = _layout(node)
    training = node.attrs["is_training"]
    wide = node.dtypes[1].as_numpy_dtype
    epsilon = wide(node.attrs["epsilon"])

    def run(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> tuple[Any, ...]:
        channels = x.shape[axis] if x.ndim == 4 else -1
        if channels != scale.size or not scale.shape == offset.shape == (channels,):
            raise InvalidArgumentError(
                None,
                None,
                f"an image of shape {x.shape} does not fit scale {scale.shape} and offset {offset.shape}",
            )
        image = x.astype(wide, copy=False)
        # What is returned must not be a variable's own memory, which a later update changes.
        mean, variance = mean.copy(), variance.copy()
        unbiased = variance
        if training:
            mean = image.mean(axis=axes, dtype=wide) if image.size else np.full(channels, np.nan, wide)
            variance = np.square(image - spread(mean)).mean(axis=axes, dtype=wide) if image.size else mean
            count = image.size // max(channels, 1)
            unbiased = variance * wide(count / max(count - 1, 1))
        factor = scale / np.sqrt(variance + epsilon)
        y = image * spread(factor) + spread(offset - mean * factor)
        return y.astype(x.dtype, copy=False), mean, unbiased, mean, variance, np.empty(0, wide)

    return run


@kernel("FusedBatchNormGradV3")
def _batch_norm_grad(node: Node) -> Kernel:
    _, axes, spread = _layout(node)
    training = node.attrs["is_training"]
    wide = node.dtypes[1].as_numpy_dtype
    epsilon = wide(node.attrs["epsilon"])

    def run(g: Any, x: Any, scale: Any, mean: Any, variance: Any, reserved: Any) -> tuple[Any, ...]:
        gradient, image = g.astype(wide, copy=False), x.astype(wide, copy=False)
        r = 1 / np.sqrt(variance + epsilon)
        u = (image - spread(mean)) * spread(r)
        to_offset = gradient.sum(axis=axes, dtype=wide)
        to_scale = (gradient * u).sum(axis=axes, dtype=wide)
        if training:
            count = wide(max(gradient.size // max(scale.size, 1), 1))
            gradient = gradient - spread(to_offset / count) - u * spread(to_scale / count)
        to_x = gradient * spread(scale * r)
        return to_x.astype(x.dtype, copy=False), to_scale, to_offset, np.empty(0, wide), np.empty(0, wide)

    return run


def _window_sum(value: Any, radius: int) -> Any:
    total = value.copy()
    for shift in range(1, min(radius, value.shape[-1] - 1) + 1):
        total[..., shift:] += value[..., :-shift]
        total[..., :-shift] += value[..., shift:]
    return total


@kernel("LRN")
def _lrn(node: Node) -> Kernel:
    real = node.dtypes[0].as_numpy_dtype
    radius = node.attrs["depth_radius"]
    bias, alpha, beta = (real(node.attrs[name]) for name in ("bias", "alpha", "beta"))
    return lambda x: x * np.power(bias + alpha * _window_sum(x * x, radius), -beta)


@kernel("LRNGrad")
def _lrn_grad(node: Node) -> Kernel:
    real = node.dtypes[0].as_numpy_dtype
    radius = node.attrs["depth_radius"]
    bias, alpha, beta = (real(node.attrs[name]) for name in ("bias", "alpha", "beta"))

    def run(g: Any, x: Any, y: Any) -> Any:
        n = bias + alpha * _window_sum(x * x, radius)
        share = g * np.power(n, -beta)
        return share - 2 * alpha * beta * x * _window_sum(share * x / n, radius)

    return run


takes(0.0, "LRNGrad", call=50_000.0)
