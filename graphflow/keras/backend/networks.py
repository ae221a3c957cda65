"""What layers are made of: activations, dropout, phases and normalisation (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow.keras import activations, ops
from graphflow.keras.backend.state import learning_phase
from graphflow.keras.typing import Phase


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """See tf.keras.activations.relu (tf.keras.backend.relu).

    Args:
        x: A tensor, or what becomes one, of any shape.
        alpha: The slope below the threshold.
        max_value: The largest value of the result; None for no limit.
        threshold: The value up to which `x` counts as small.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return activations.relu(x, alpha, max_value, threshold)


def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """See tf.keras.activations.elu (tf.keras.backend.elu).

    Args:
        x: A tensor, or what becomes one, of any shape.
        alpha: What values below 0 tend to, with its sign turned.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return activations.elu(x, alpha)


def softmax(x: TensorLike, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) (tf.keras.backend.softmax).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis whose elements add up to 1.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softmax(x, axis=axis)


def softplus(x: TensorLike) -> Any:
    """log(exp(x) + 1) (tf.keras.backend.softplus).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softplus(x)


def softsign(x: TensorLike) -> Any:
    """x / (|x| + 1) (tf.keras.backend.softsign).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softsign(x)


def sigmoid(x: TensorLike) -> Any:
    """1 / (1 + exp(-x)) (tf.keras.backend.sigmoid).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sigmoid(x)


def hard_sigmoid(x: TensorLike) -> Any:
    """0.2 * x + 0.5, between 0 and 1 (tf.keras.backend.hard_sigmoid).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return activations.hard_sigmoid(x)


def tanh(x: TensorLike) -> Any:
    """The hyperbolic tangent (tf.keras.backend.tanh).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.tanh(x)


def dropout(
    x: TensorLike, level: float, noise_shape: IntTensorLike | None = None, seed: int | None = None
) -> Any:
    """Zeros for a share of the elements, the others larger (tf.keras.backend.dropout).

    Args:
        x: A tensor, or what becomes one, of any shape.
        level: The share that becomes 0, from 0 to 1; the others are divided by 1 - level.
        noise_shape: The shape of the draws, which are broadcast to that of `x`; by default that of `x`.
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


def l2_normalize(x: TensorLike, axis: int | None = None) -> Any:
    """x divided by its norm (tf.keras.backend.l2_normalize).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis along which the norm is taken; all if None.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.l2_normalize(x, axis=axis)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Any:
    """Whether the target is among the k largest (tf.keras.backend.in_top_k).

    Args:
        predictions: The scores, floats [batch, classes].
        targets: The numbers of the classes, ints [batch].
        k: How many of the largest count.

    Returns:
        A bool tensor [batch].
    """
    return ops.in_top_k(predictions, targets, k)


def _either(x: Any) -> Callable[[], Any]:
    return x if callable(x) else lambda: ops.identity(x)


def in_train_phase(x: Any, alt: Any, training: Phase = None) -> Any:
    """x in training, else alt (tf.keras.backend.in_train_phase).

    Args:
        x: What holds in training: a tensor, or a function without arguments that makes one.
        alt: What holds otherwise, of the same kind.
        training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

    Returns:
        One of the two if the phase is known while the graph is built, else a tensor that chooses when it runs.
    """
    phase = learning_phase() if training is None else training
    if isinstance(phase, Tensor):
        return smart_cond(phase, _either(x), _either(alt))
    chosen = x if phase else alt
    return chosen() if callable(chosen) else chosen


def in_test_phase(x: Any, alt: Any, training: Phase = None) -> Any:
    """alt in training, else x (tf.keras.backend.in_test_phase).

    Args:
        x: What holds outside of training: a tensor, or a function without arguments that makes one.
        alt: What holds in training, of the same kind.
        training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

    Returns:
        One of the two if the phase is known while the graph is built, else a tensor that chooses when it runs.
    """
    return in_train_phase(alt, x, training)


def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """One of two tensors, or for each element the one or the other (tf.keras.backend.switch).

    Args:
        condition: A scalar, or a tensor whose axes are the first ones of the expressions.
        then_expression: A tensor, or a function without arguments that makes one, for where the condition holds.
        else_expression: The same for where it does not hold.

    Returns:
        A tensor of the shape and dtype of the expressions.
    """
    chooses = ops.cast(condition, "bool")
    if chooses.shape.dims == []:
        return ops.cond(chooses, _either(then_expression), _either(else_expression))
    first, second = (
        e() if callable(e) else ops.convert_to_tensor(e) for e in (then_expression, else_expression)
    )
    for _ in range(len(first.shape.as_list()) - len(chooses.shape.as_list())):
        chooses = ops.expand_dims(chooses, -1)
    return ops.where(ops.logical_and(chooses, ops.ones_like(first, dtype="bool")), first, second)


def batch_normalization(
    x: TensorLike, mean: NumberLike, var: NumberLike, beta: NumberLike | None, gamma: NumberLike | None,
    axis: int = -1, epsilon: float = 1e-3,
) -> Any:  # fmt: skip
    """x normalised by a mean and a variance (tf.keras.backend.batch_normalization).

    Args:
        x: Floats, of any shape.
        mean: The mean, of a shape that broadcasts to that of `x`.
        var: The variance, likewise.
        beta: What is added, likewise; None for nothing.
        gamma: What the result is multiplied by, likewise; None for 1.
        axis: Changes nothing: the shapes say which axis they are of.
        epsilon: What is added to the variance.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.batch_normalization(x, mean, var, beta, gamma, epsilon)


def normalize_batch_in_training(
    x: TensorLike, gamma: NumberLike | None, beta: NumberLike | None, reduction_axes: Sequence[int],
    epsilon: float = 1e-3,
) -> Any:  # fmt: skip
    """x normalised by its mean and variance, and these (tf.keras.backend.normalize_batch_in_training).

    Args:
        x: Floats, of any shape.
        gamma: What the result is multiplied by, of the shape of the axes that stay; None for 1.
        beta: What is added, likewise; None for nothing.
        reduction_axes: The axes over which mean and variance are taken.
        epsilon: What is added to the variance.

    Returns:
        The normalised tensor, the mean and the variance.
    """
    tensor = ops.convert_to_tensor(x)
    mean, variance = ops.moments(tensor, list(reduction_axes))
    spread = [
        1 if i in [a % len(tensor.shape) for a in reduction_axes] else n
        for i, n in enumerate(tensor.shape.as_list())
    ]

    def broadcast(v: Any) -> Any:
        return None if v is None else ops.reshape(v, spread)

    center, width, offset, scale = (broadcast(v) for v in (mean, variance, beta, gamma))
    return ops.batch_normalization(tensor, center, width, offset, scale, epsilon), mean, variance
