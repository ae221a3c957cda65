"""An optimizer whose gradients are scaled down together before another applies them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphflow._core.ops.math.clip import clip_by_global_norm
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.wrapping import wraps_optimizer


@wraps_optimizer
class _Clipped(Optimizer):
    def __init__(self, opt: Optimizer, clip_norm: float) -> None:
        super().__init__(False, f"ClipByNorm{opt.get_name()}")
        self._opt = opt
        self._clip_norm = clip_norm

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> Any:
        """The other optimizer applies them, scaled down to the norm."""
        gradients, variables = zip(*grads_and_vars, strict=True)
        clipped, _ = clip_by_global_norm(gradients, self._clip_norm)
        return self._opt.apply_gradients(zip(clipped, variables, strict=True), global_step, name)


def clip_gradients_by_norm(optimizer: Optimizer, clip_norm: float) -> Optimizer:
    """An optimizer that scales gradients down together (tf.contrib.estimator.clip_gradients_by_norm).

    Args:
        optimizer: Applies them.
        clip_norm: The norm of all gradients together that larger ones are scaled down to.

    Returns:
        The optimizer.
    """
    return _Clipped(optimizer, clip_norm)
