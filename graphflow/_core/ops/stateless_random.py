"""Random numbers that follow from their seeds alone, without a state (tf.random.stateless_*)."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops import rules
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.math.math import add
from graphflow._core.ops.random import UNIFORM_TYPES, shape_tensor


def _check_seed(seed: Tensor) -> None:
    if seed.dims not in (None, (2,), (None,)):
        raise ValueError(f"seed must have the shape [2], got {seed.shape}.")


def _drawn_infer(op: Operation) -> Signature:
    shape, seed = op.inputs[:2]
    rules.require_rank(shape.dims, 1, "shape")
    _check_seed(seed)
    for bound, name in zip(op.inputs[2:], ("minval", "maxval"), strict=False):
        rules.require_rank(bound.dims, 0, name)
    return [(op.attrs["dtype"], partial_shape(shape))]


def _drawn(name: str) -> OpDef:
    return op_def(
        name, ("shape: T=index", "seed: Tseed=index"), infer=_drawn_infer, gradient=NOT_DIFFERENTIABLE
    )


STATELESS_RANDOM_UNIFORM = _drawn("StatelessRandomUniform")
STATELESS_RANDOM_NORMAL = _drawn("StatelessRandomNormal")
STATELESS_TRUNCATED_NORMAL = _drawn("StatelessTruncatedNormal")
STATELESS_RANDOM_UNIFORM_INT = op_def(
    "StatelessRandomUniformInt",
    ("shape: T=index", "seed: Tseed=index", "minval: Tout=int32|int64", "maxval: Tout"),
    infer=_drawn_infer,
    gradient=NOT_DIFFERENTIABLE,
)


def _infer(op: Operation) -> Signature:
    logits, samples, seed = op.inputs
    rows, _ = rules.require_rank(logits.dims, 2, "logits") or (None, None)
    rules.require_rank(samples.dims, 0, "num_samples")
    _check_seed(seed)
    count = constant_value(samples)
    if count is not None and count < 0:
        raise ValueError(f"num_samples must be >= 0, got {int(count)}.")
    return [(op.attrs["output_dtype"], (rows, None if count is None else int(count)))]


STATELESS_MULTINOMIAL = op_def(
    "StatelessMultinomial",
    ("logits: T=real", "num_samples: int32", "seed: Tseed=index"),
    infer=_infer,
    gradient=NOT_DIFFERENTIABLE,
)


def stateless_multinomial(
    logits: TensorLike,
    num_samples: IntTensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Classes drawn with the unnormalised log-probabilities `logits`, the same for the same seeds.

    Args:
        logits: (batch, classes); the result is (batch, num_samples) of `output_dtype`.
        num_samples: How many are drawn of each row, an int32 scalar.
        seed: Two integers.
        output_dtype: gf.int32 or gf.int64.
        name: A name for the operation.
    """
    attrs = {"output_dtype": dtypes.as_dtype(output_dtype)}
    return apply(
        STATELESS_MULTINOMIAL, (logits, num_samples, seed), attrs, name or "stateless_multinomial"
    ).outputs[0]


def stateless_categorical(
    logits: TensorLike,
    num_samples: IntTensorLike,
    seed: TensorLike,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Classes drawn with the unnormalised log-probabilities `logits`, the same for the same seeds.

    Args:
        logits: (batch, classes); the result is (batch, num_samples) of `dtype`.
        num_samples: How many are drawn of each row, an int32 scalar.
        seed: Two integers.
        dtype: gf.int32 or gf.int64.
        name: A name for the operation.
    """
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


def stateless_random_uniform(
    shape: IntTensorLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Uniform draws from [minval, maxval), the same for the same seeds (tf.random.stateless_uniform).

    Args:
        shape: The shape, as a list of ints or an integer vector.
        seed: Two integers.
        minval: The lower bound, which may be drawn.
        maxval: The upper bound, which is not drawn: 1 by default for floats; integers need it.
        dtype: float16, float32, float64, int32 or int64.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Raises:
        ValueError: The dtype is another, or `maxval` is not given for integers.
    """
    element_type = dtypes.as_dtype(dtype)
    if element_type not in UNIFORM_TYPES:
        allowed = ", ".join(d.name for d in UNIFORM_TYPES)
        raise ValueError(
            f"Invalid dtype {element_type.name} of stateless_uniform, expected one of {allowed}."
        )
    if maxval is None:
        if element_type.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {element_type.name}")
        maxval = 1
    with op_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        low = convert_to_tensor(minval, dtype=element_type, name="min")
        high = convert_to_tensor(maxval, dtype=element_type, name="max")
        attrs = {"dtype": element_type}
        if element_type.is_integer:
            return apply(STATELESS_RANDOM_UNIFORM_INT, (sizes, seed, low, high), attrs, scope).outputs[0]
        drawn = apply(STATELESS_RANDOM_UNIFORM, (sizes, seed), attrs).outputs[0]
        return add(drawn * (high - low), low, name=scope)


def _scaled(
    definition: OpDef,
    default: str,
    shape: IntTensorLike,
    seed: TensorLike,
    mean: TensorLike,
    stddev: TensorLike,
    dtype: DTypeLike,
    name: str | None,
) -> Tensor:
    element_type = dtypes.as_dtype(dtype)
    with op_scope(name, default, [shape, seed, mean, stddev]) as scope:
        sizes = shape_tensor(shape)
        center = convert_to_tensor(mean, dtype=element_type, name="mean")
        width = convert_to_tensor(stddev, dtype=element_type, name="stddev")
        drawn = apply(definition, (sizes, seed), {"dtype": element_type}).outputs[0]
        return add(drawn * width, center, name=scope)


def stateless_random_normal(
    shape: IntTensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Draws from a normal distribution, the same for the same seeds (tf.random.stateless_normal).

    Args:
        shape: The shape, as a list of ints or an integer vector.
        seed: Two integers.
        mean: The mean, which broadcasts to the shape.
        stddev: The standard deviation, likewise.
        dtype: float16, float32 or float64.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.
    """
    return _scaled(STATELESS_RANDOM_NORMAL, "stateless_random_normal", shape, seed, mean, stddev, dtype, name)


def stateless_truncated_normal(
    shape: IntTensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Normal draws within two standard deviations, the same for the same seeds (tf.random.stateless_truncated_normal).

    Args:
        shape: The shape, as a list of ints or an integer vector.
        seed: Two integers.
        mean: The mean before the cut, which broadcasts to the shape.
        stddev: The standard deviation before the cut, likewise.
        dtype: float16, float32 or float64.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.
    """
    return _scaled(
        STATELESS_TRUNCATED_NORMAL, "stateless_truncated_normal", shape, seed, mean, stddev, dtype, name
    )
