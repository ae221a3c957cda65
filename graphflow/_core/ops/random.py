"""Random numbers: TensorFlow's own, bit for bit, if a seed is given.

An op's seed is decided when it is built. With a graph seed alone it is the number of operations built before, so these
functions build their operations in TensorFlow's order and ask for the seed at the same moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow._core.ops.rules as rules
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import FLOATS, NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.random_seed import get_seed
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.array import shape as shape_of
from graphflow._core.ops.array.array import slice_, zeros_like
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.flow_basics import with_dependencies
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.math import special
from graphflow._core.ops.math.broadcasting import unbroadcast
from graphflow._core.ops.math.math import add, cast, exp, log, maximum
from graphflow._core.ops.math.reductions import reduce_all
from graphflow._core.ops.rules import same_as_input

UNIFORM_TYPES = (*FLOATS, dtypes.int32, dtypes.int64)


def _drawn_infer(op: Operation) -> Signature:
    rules.require_rank(op.inputs[0].dims, 1, "shape")
    return [(op.attrs["dtype"], partial_shape(op.inputs[0]))]


def _drawn(name: str) -> OpDef:
    return op_def(name, ("shape: T=index",), infer=_drawn_infer, gradient=NOT_DIFFERENTIABLE, stateful=True)


def _uniform_int_infer(op: Operation) -> Signature:
    shape, low, high = op.inputs
    rules.require_rank(shape.dims, 1, "shape")
    rules.require_rank(low.dims, 0, "minval")
    rules.require_rank(high.dims, 0, "maxval")
    return [(low.dtype, partial_shape(shape))]


def _multinomial_infer(op: Operation) -> Signature:
    logits, samples = op.inputs
    rows, _ = rules.require_rank(logits.dims, 2, "logits") or (None, None)
    rules.require_rank(samples.dims, 0, "num_samples")
    count = constant_value(samples)
    if count is not None and count < 0:
        raise ValueError(f"num_samples must be >= 0, got {int(count)}.")
    return [(op.attrs["output_dtype"], (rows, None if count is None else int(count)))]


def _per_parameter_infer(op: Operation) -> Signature:
    shape, parameter = op.inputs
    rules.require_rank(shape.dims, 1, "shape")
    dtype = op.attrs.get("dtype", parameter.dtype)
    return [(dtype, shapes.concatenated([partial_shape(shape), parameter.dims]))]


def _random_gamma_gradient(op: Operation, g: Tensor) -> tuple[None, Tensor]:
    """How a draw moves with alpha while its cumulative probability stays (Figurnov, Mohamed, Mnih 2018)."""
    alpha = cast(op.inputs[1], dtypes.float64)
    drawn = maximum(cast(op.outputs[0], dtypes.float64), np.finfo(np.float64).tiny)
    slope = special.slope_in_shape(alpha, drawn)
    density = exp((alpha - 1.0) * log(drawn) - drawn - special.lgamma(alpha))
    return None, unbroadcast(g * cast(-slope / density, g.dtype), op.inputs[1])


RANDOM_UNIFORM = _drawn("RandomUniform")
RANDOM_STANDARD_NORMAL = _drawn("RandomStandardNormal")
TRUNCATED_NORMAL = _drawn("TruncatedNormal")
RANDOM_UNIFORM_INT = op_def(
    "RandomUniformInt",
    ("shape: T=index", "minval: Tout=int32|int64", "maxval: Tout"),
    infer=_uniform_int_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)
RANDOM_SHUFFLE = op_def(
    "RandomShuffle", ("value: T",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE, stateful=True
)
MULTINOMIAL = op_def(
    "Multinomial",
    ("logits: T=real", "num_samples: int32"),
    infer=_multinomial_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)
RANDOM_GAMMA = op_def(
    "RandomGamma",
    ("shape: S=index", "alpha: T=float"),
    infer=_per_parameter_infer,
    gradient=_random_gamma_gradient,
    stateful=True,
)
RANDOM_POISSON = op_def(
    "RandomPoissonV2",
    ("shape: S=index", "rate: R=float16|float32|float64|int32|int64(float64)"),
    infer=_per_parameter_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def _sampler_infer(op: Operation) -> Signature:
    rows, _ = rules.require_rank(op.inputs[0].dims, 2, "true_classes") or (None, None)
    sampled = (op.attrs["num_sampled"],)
    return [
        (dtypes.int64, sampled),
        (dtypes.float32, (rows, op.attrs["num_true"])),
        (dtypes.float32, sampled),
    ]


def _sampler(name: str) -> OpDef:
    return op_def(
        name,
        ("true_classes: int64",),
        infer=_sampler_infer,
        gradient=NOT_DIFFERENTIABLE,
        outputs=("sampled_candidates", "true_expected_count", "sampled_expected_count"),
        stateful=True,
    )


LOG_UNIFORM_SAMPLER = _sampler("LogUniformCandidateSampler")
UNIFORM_SAMPLER = _sampler("UniformCandidateSampler")
FIXED_UNIGRAM_SAMPLER = _sampler("FixedUnigramCandidateSampler")
LEARNED_UNIGRAM_SAMPLER = _sampler("LearnedUnigramCandidateSampler")


def _seeds(seed: int | None) -> dict[str, Any]:
    """The two seeds as attributes; both zero if neither the graph nor the op has one."""
    graph_seed, op_seed = get_seed(seed)
    return {"seed": graph_seed or 0, "seed2": op_seed or 0}


def shape_tensor(shape: Any) -> Tensor:
    """A shape as a vector, of int32 if it is empty."""
    if isinstance(shape, list | tuple):
        if not shape:
            return convert_to_tensor(shape, dtype=dtypes.int32, name="shape")
        shape = [int(d) if isinstance(d, shapes.Dimension) else d for d in shape]
    return convert_to_tensor(shape, name="shape")


def _scaled(
    definition: OpDef,
    default: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Tensor:
    """mean + stddev * draws of a standard distribution."""
    element_type = as_dtype(dtype)
    with op_scope(name, default, [shape, mean, stddev]) as scope:
        sizes = shape_tensor(shape)
        mean_tensor = convert_to_tensor(mean, dtype=element_type, name="mean")
        stddev_tensor = convert_to_tensor(stddev, dtype=element_type, name="stddev")
        drawn = apply(definition, (sizes,), {"dtype": element_type, **_seeds(seed)}).outputs[0]
        return add(drawn * stddev_tensor, mean_tensor, name=scope)


def random_normal(
    shape: IntTensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from a normal distribution, anew at each run, by the Box-Muller transform (tf.random_normal).

    Args:
        shape: The shape, as a list of ints and integer scalars or an integer vector.
        mean: The mean, which broadcasts to the shape.
        stddev: The standard deviation, likewise.
        dtype: float16, float32 or float64.
        seed: The op's seed, taken together with that of gf.set_random_seed; without either the draws differ from
            one program to the next.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Raises:
        TypeError: The dtype is no float.

    Examples:
        >>> gf.random_normal([2, 3], mean=1.0, stddev=0.1).shape
        TensorShape([2, 3])
    """
    return _scaled(RANDOM_STANDARD_NORMAL, "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: IntTensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws from a normal distribution, those beyond two standard deviations drawn again (tf.truncated_normal).

    Args:
        shape: The shape, as a list of ints and integer scalars or an integer vector.
        mean: The mean before the cut, which broadcasts to the shape.
        stddev: The standard deviation before the cut, likewise.
        dtype: float16, float32 or float64.
        seed: The op's seed; see gf.random_normal.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Examples:
        >>> gf.truncated_normal([2, 3], stddev=0.1).shape
        TensorShape([2, 3])
    """
    return _scaled(TRUNCATED_NORMAL, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def random_uniform(
    shape: IntTensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniform draws from [minval, maxval), anew at each run (tf.random_uniform).

    Args:
        shape: The shape, as a list of ints and integer scalars or an integer vector.
        minval: The lower bound, which may be drawn.
        maxval: The upper bound, which is not drawn: 1 by default for floats; integers need it.
        dtype: float16, float32, float64, int32 or int64.
        seed: The op's seed, taken together with that of gf.set_random_seed; without either the draws differ from
            one program to the next.
        name: A name for the operation.

    Returns:
        A tensor of that shape and dtype.

    Raises:
        ValueError: The dtype is another, or `maxval` is not given for integers.

    Examples:
        >>> numbers = gf.Session().run(gf.random_uniform([1000], minval=2.0, maxval=3.0))
        >>> bool((numbers >= 2.0).all() and (numbers < 3.0).all())
        True
    """
    element_type = as_dtype(dtype)
    if element_type not in UNIFORM_TYPES:
        allowed = ", ".join(d.name for d in UNIFORM_TYPES)
        raise ValueError(f"random_uniform: invalid dtype {element_type.name}, expected one of {allowed}.")
    if maxval is None:
        if element_type.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {element_type.name}")
        maxval = 1
    with op_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        low = convert_to_tensor(minval, dtype=element_type, name="min")
        high = convert_to_tensor(maxval, dtype=element_type, name="max")
        attrs = _seeds(seed)
        if element_type.is_integer:
            return apply(RANDOM_UNIFORM_INT, (sizes, low, high), attrs, scope).outputs[0]
        drawn = apply(RANDOM_UNIFORM, (sizes,), {"dtype": element_type, **attrs}).outputs[0]
        return add(drawn * (high - low), low, name=scope)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """The slices of the first axis in random order (tf.random_shuffle).

    Args:
        value: A tensor.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.

    Returns:
        A tensor like it.
    """
    return apply(RANDOM_SHUFFLE, (value,), _seeds(seed), name).outputs[0]


def random_crop(
    value: TensorLike, size: IntTensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """A slice of shape `size` at a random place of `value` (tf.random_crop).

    Args:
        value: A tensor.
        size: The shape of the part.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.

    Returns:
        A tensor of that shape.

    Raises:
        InvalidArgumentError: At the run if `value` is smaller.
    """
    with op_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtype=dtypes.int32, name="size")
        whole = shape_of(value)
        check = assert_(
            reduce_all(whole >= size),
            ["Need value.shape >= size, got ", whole, size],
            summarize=1000,
        )
        whole = with_dependencies([check], whole)
        limit = whole - size + 1
        drawn = random_uniform(shape_of(whole), dtype=size.dtype, maxval=size.dtype.max, seed=seed)
        return slice_(value, drawn % limit, size, name=scope)


def _draw_classes(logits: Any, num_samples: Any, dtype: Any, seed: int | None) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    output_type = dtypes.int64 if dtype is None else as_dtype(dtype)
    if output_type not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Classes are drawn as int32 or int64, not {output_type.name}.")
    attrs = {"output_dtype": output_type, **_seeds(seed)}
    return apply(MULTINOMIAL, (logits, num_samples), attrs).outputs[0]


def multinomial(
    logits: TensorLike,
    num_samples: IntTensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Classes drawn with the unnormalised log-probabilities `logits` (tf.multinomial).

    Args:
        logits: (batch, classes); the result is (batch, num_samples) of int64 or `output_dtype`.
        num_samples: How many are drawn of each row, an int32 scalar.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.
        output_dtype: gf.int32 or gf.int64.
    """
    with op_scope(name, "multinomial", [logits]):
        return _draw_classes(logits, num_samples, output_dtype, seed)


def categorical(
    logits: TensorLike,
    num_samples: IntTensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Classes drawn with the unnormalised log-probabilities `logits` (tf.random.categorical); see multinomial.

    Args:
        logits: [batch, classes], unnormalised log-probabilities.
        num_samples: How many are drawn of each row, an int32 scalar.
        dtype: gf.int32 or gf.int64.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.

    Returns:
        [batch, num_samples].
    """
    with op_scope(name, "categorical", [logits]):
        return _draw_classes(logits, num_samples, dtype, seed)


def random_gamma(
    shape: IntTensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Gamma draws (tf.random_gamma): `shape` of them for each pair of `alpha` and the inverse scale `beta`.

    The result has the shape `shape` followed by that of alpha and beta broadcast. By the method of Marsaglia and Tsang.
    Gradients flow to `alpha` and `beta`.

    Args:
        shape: How many of each, a vector of integers.
        alpha: The shapes, a tensor of floats.
        beta: The inverse scales.
        dtype: The dtype.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.

    Returns:
        A tensor of shape [*shape, *alpha.shape].
    """
    element_type = as_dtype(dtype)
    if element_type not in FLOATS:
        raise TypeError(f"random_gamma draws floats, not {element_type.name}.")
    with op_scope(name, "random_gamma", [shape, alpha, beta]):
        sizes = convert_to_tensor(shape, dtype=dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype=element_type, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype=element_type, name="beta")
        alpha = alpha + zeros_like(beta)
        drawn = apply(RANDOM_GAMMA, (sizes, alpha), _seeds(seed)).outputs[0]
        return maximum(element_type.finfo.tiny, drawn / beta)


def random_poisson(
    lam: TensorLike,
    shape: IntTensorLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Poisson draws (tf.random_poisson): `shape` of them for each rate in `lam`.

    The result has the shape `shape` followed by that of `lam`.

    Args:
        lam: The rates, a tensor of floats.
        shape: How many of each.
        dtype: The dtype.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.

    Returns:
        A tensor of shape [*shape, *lam.shape].
    """
    element_type = as_dtype(dtype)
    if element_type not in UNIFORM_TYPES:
        raise TypeError(f"random_poisson draws floats, int32 or int64, not {element_type.name}.")
    with op_scope(name, "random_poisson", [lam, shape]):
        sizes = convert_to_tensor(shape, dtype=dtypes.int32, name="shape")
        return apply(RANDOM_POISSON, (sizes, lam), {"dtype": element_type, **_seeds(seed)}).outputs[0]


def candidate_sampler(
    definition: OpDef,
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    name: str | None,
    **others: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """The classes that a sampler draws, and how often the true and the drawn ones are expected among them."""
    numbers = {"num_true": num_true, "num_sampled": num_sampled, "range_max": range_max}
    attrs = {**{key: int(value) for key, value in numbers.items()}, "unique": bool(unique), **_seeds(seed)}
    attrs |= others
    sampled, of_true, of_sampled = apply(definition, (true_classes,), attrs, name=name).outputs
    return sampled, of_true, of_sampled
