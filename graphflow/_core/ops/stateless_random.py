"""Random numbers that follow from their seeds alone, without a state (tf.random.stateless_*)."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops import rules
from graphflow._core.ops.core import apply, constant_value


def _infer(op: Operation) -> Signature:
    logits, samples, seed = op.inputs
    rows, _ = rules.require_rank(logits.dims, 2, "logits") or (None, None)
    rules.require_rank(samples.dims, 0, "num_samples")
    if seed.dims not in (None, (2,), (None,)):
        raise ValueError(f"seed must have the shape [2], got {seed.shape}.")
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
