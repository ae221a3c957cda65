"""Samples of normalisation, softmax and its cross entropies, and biases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tests.ops.op_samples.networks import FLOATS, channels_back, channels_last
from tests.ops.op_samples.sample import INT, SHAPES, Draw, Random, Sample, differentiable, draw, over

EPSILON = 0.01
IMAGES = ((2, 2, 2, 2), (1, 1, 3, 1), (3, 2, 1, 2))


def _normalized(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    return (x - mean) / np.sqrt(variance + EPSILON) * scale + offset


def _statistics(x: Any) -> tuple[Any, Any]:
    flat = x.reshape(-1, x.shape[-1])
    mean = flat.sum(0) / len(flat)
    return mean, ((flat - mean) ** 2).sum(0) / len(flat)


def _batch_norm_attrs(layout: str, training: bool) -> dict[str, Any]:
    return {"epsilon": EPSILON, "data_format": layout, "is_training": training}


def _batch_norm(random: Random) -> Iterable[Sample]:
    for (dtype, shape), (layout, training) in zip(
        over(FLOATS, IMAGES * 2), itertools.cycle(itertools.product(("NHWC", "NCHW"), (True, False)))
    ):
        attrs = _batch_norm_attrs(layout, training)

        def reference(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, attrs: Any = attrs) -> Any:
            x = channels_last(x, attrs)
            reported = variance
            if attrs["is_training"]:
                mean, variance = _statistics(x)
                count = x.size // x.shape[-1]
                reported = variance * count / max(count - 1, 1)
            return channels_back(_normalized(x, scale, offset, mean, variance), attrs), mean, reported

        x = channels_back(draw(random, dtype, shape), attrs).copy()
        scale, offset, mean = (draw(random, dtype, shape[-1:]) for _ in range(3))
        variance = draw(random, dtype, shape[-1:], 0.5, 2)
        if training:
            mean, variance = np.zeros(0, dtype), np.zeros(0, dtype)
        # As in TensorFlow, gradients flow through the normalised images only, not through the statistics.
        yield Sample(
            (x, scale, offset, mean, variance), attrs, reference, through=lambda *all: all[:3], varied=(0, 1, 2),
            results=(0,), tolerance=50,
        )  # fmt: skip


def _batch_norm_grad(random: Random) -> Iterable[Sample]:
    for (dtype, shape), (layout, training) in zip(
        over(FLOATS, IMAGES * 2), itertools.cycle(itertools.product(("NHWC", "NCHW"), (True, False)))
    ):
        attrs = _batch_norm_attrs(layout, training)
        x = draw(random, dtype, shape)
        mean, variance = _statistics(x)
        if not training:
            mean, variance = draw(random, dtype, shape[-1:]), draw(random, dtype, shape[-1:], 0.5, 2)
        g, scale = draw(random, dtype, shape), draw(random, dtype, shape[-1:])

        def reference(
            g: Any, x: Any, scale: Any, mean: Any, variance: Any, _: Any, attrs: Any = attrs
        ) -> Any:
            g, x = channels_last(g, attrs), channels_last(x, attrs)
            axes = (0, 1, 2)
            inverse = 1 / np.sqrt(variance + EPSILON)
            normal = (x - mean) * inverse
            dx = g * scale * inverse
            if attrs["is_training"]:
                dx = dx - scale * inverse * (g.mean(axes) + normal * (g * normal).mean(axes))
            return channels_back(dx, attrs), (g * normal).sum(axes), g.sum(axes)

        inputs = (
            channels_back(g, attrs).copy(),
            channels_back(x, attrs).copy(),
            scale,
            mean,
            variance,
            np.zeros(0, dtype),
        )
        # In training, the statistics are those of the images: differences by x alone would not be its gradient.
        varied = (0, 2) if training else (0, 1, 2)
        yield Sample(
            inputs,
            attrs,
            reference,
            through=lambda *all: all[:3],
            varied=varied,
            results=(0, 1, 2),
            tolerance=50,
        )


LRN_ATTRS = {"depth_radius": 1, "bias": 1.0, "alpha": 0.5, "beta": 0.75}


def _lrn_sums(x: Any) -> Any:
    """bias + alpha * the sum of squares of the neighbours."""
    result = np.empty_like(x)
    for c in range(x.shape[-1]):
        near = x[..., max(c - 1, 0) : c + 2]
        result[..., c] = 1.0 + 0.5 * (near**2).sum(-1)
    return result


def _lrn_response(x: Any) -> Any:
    return x / _lrn_sums(x) ** 0.75


def _lrn(random: Random) -> Iterable[Sample]:
    for dtype, shape in over(FLOATS, ((1, 2, 1, 4), (2, 1, 1, 1), (0, 1, 1, 3), (1, 1, 2, 2))):
        yield Sample((draw(random, dtype, shape),), LRN_ATTRS, _lrn_response, tolerance=4)


def _lrn_grad(random: Random) -> Iterable[Sample]:
    def reference(g: Any, x: Any, y: Any) -> Any:
        sums = _lrn_sums(x)
        result = g / sums**0.75
        for c, other in itertools.product(range(x.shape[-1]), repeat=2):
            if abs(c - other) <= 1:
                slope = -2 * 0.5 * 0.75 * x[..., other] * sums[..., other] ** -1.75 * x[..., c]
                result[..., c] += g[..., other] * slope
        return result

    for dtype, shape in over(FLOATS, ((1, 2, 1, 4), (2, 1, 1, 1), (0, 1, 1, 3), (1, 1, 2, 2))):
        x = draw(random, dtype, shape)
        inputs = (draw(random, dtype, shape), x, _lrn_response(x))
        yield Sample(inputs, LRN_ATTRS, reference, varied=(0, 1), tolerance=4)


# ---- the last axis --------------------------------------------------------------------------------------------------


def _rows(function: Callable[[list[float]], list[float]]) -> Callable[..., Any]:
    def compute(x: Any) -> Any:
        result = np.empty_like(x)
        for at in np.ndindex(x.shape[:-1]):
            result[at] = function(x[at].tolist())
        return result

    return compute


def _softmax_of(row: list[float]) -> list[float]:
    total = sum(math.exp(v) for v in row)
    return [math.exp(v) / total for v in row]


def _softmax(logarithm: bool) -> Draw:
    def function(row: list[float]) -> list[float]:
        return [math.log(p) for p in _softmax_of(row)] if logarithm else _softmax_of(row)

    def generate(random: Random) -> Iterable[Sample]:
        shapes = [s for s in SHAPES if s and s[-1]]
        for dtype, shape in over([*FLOATS, np.dtype(np.float16)], shapes):
            yield Sample((draw(random, dtype, shape),), {}, _rows(function), tolerance=4)
        yield Sample((np.array([[1000.0, 0.0, -1000.0], [-1e4, -1e4, 1e4]]),), {}, smooth=False)

    return generate


def _cross_entropy(random: Random) -> Iterable[Sample]:
    def reference(logits: Any, labels: Any) -> Any:
        chances = _rows(_softmax_of)(logits)
        return -(labels * np.log(chances)).sum(-1), chances - labels

    for dtype, (shape, given) in over(
        FLOATS, (((2, 3), (2, 3)), ((1, 1), (1, 1)), ((0, 3), (0, 3)), ((3, 2), (3, 2)))
    ):
        weights = draw(random, dtype, given, 0.1, 1)
        labels = (weights / weights.sum(-1, keepdims=True)).astype(dtype)
        yield Sample(
            (draw(random, dtype, shape), labels), {}, reference, results=(0,), varied=(0,), tolerance=4
        )


def _sparse_cross_entropy(random: Random) -> Iterable[Sample]:
    def reference(logits: Any, labels: Any) -> Any:
        chances = _rows(_softmax_of)(logits)
        chosen = np.array([row[label] for row, label in zip(chances, labels)], logits.dtype)
        hot = np.zeros_like(chances)
        for row, label in enumerate(labels):
            hot[row, label] = 1
        return -np.log(chosen), chances - hot

    for number, (dtype, (rows, classes)) in enumerate(over(FLOATS, ((2, 3), (1, 1), (0, 3), (4, 2)))):
        labels = random.integers(0, classes, rows).astype((np.int32, np.int64)[number % 2])
        yield Sample((draw(random, dtype, (rows, classes)), labels), {}, reference, results=(0,), tolerance=4)


def _l2_loss(random: Random) -> Iterable[Sample]:
    def reference(x: Any) -> Any:
        return np.array(sum(v * v for v in x.ravel().tolist()) / 2, x.dtype)

    for dtype, shape in over([*FLOATS, np.dtype(np.float16)], SHAPES):
        yield Sample((draw(random, dtype, shape),), {}, reference)


def _bias_add(random: Random) -> Iterable[Sample]:
    for dtype, shape in over(
        [*FLOATS, INT, np.dtype(np.complex128)], ((2, 3), (2, 2, 3), (0, 2), (1, 2, 2, 1))
    ):
        for layout in ("NHWC", "NCHW")[: len(shape) - 1]:
            attrs = {"data_format": layout}

            def reference(x: Any, bias: Any, attrs: Any = attrs) -> Any:
                return channels_back(channels_last(x, attrs) + bias, attrs)

            channels = shape[1] if layout == "NCHW" else shape[-1]
            inputs = (draw(random, dtype, shape), draw(random, dtype, (channels,)))
            yield Sample(inputs, attrs, reference, smooth=differentiable(dtype))


def _bias_add_grad(random: Random) -> Iterable[Sample]:
    for dtype, shape in over([*FLOATS, INT], ((2, 3), (2, 2, 3), (0, 2), (1, 2, 2, 1))):
        for layout in ("NHWC", "NCHW")[: len(shape) - 1]:
            attrs = {"data_format": layout}

            def reference(g: Any, attrs: Any = attrs) -> Any:
                last = channels_last(g, attrs)
                return np.array([last[..., c].sum() for c in range(last.shape[-1])], g.dtype)

            yield Sample((draw(random, dtype, shape),), attrs, reference, smooth=differentiable(dtype))


TABLE: dict[str, Draw] = {
    "FusedBatchNormV3": _batch_norm,
    "FusedBatchNormGradV3": _batch_norm_grad,
    "LRN": _lrn,
    "LRNGrad": _lrn_grad,
    "Softmax": _softmax(False),
    "LogSoftmax": _softmax(True),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_cross_entropy,
    "L2Loss": _l2_loss,
    "BiasAdd": _bias_add,
    "BiasAddGrad": _bias_add_grad,
}
