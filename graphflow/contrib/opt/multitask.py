"""What keeps an optimizer from taking a gradient that is zero throughout for one, where tasks come and go by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike, VariableLike
from graphflow._core.ops.array.array import zeros
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.clip import clip_by_global_norm, global_norm
from graphflow._core.ops.math.math import equal
from graphflow._core.ops.math.reductions import count_nonzero
from graphflow.train.optimizers.optimizer import Optimizer


def _is_zero(gradient: Tensor | IndexedSlices) -> Tensor:
    values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
    return equal(count_nonzero(values), 0)


def _if_not_zero(apply: Callable[..., Any]) -> Callable[..., Any]:
    """A step that is not taken if its gradient is zero throughout."""

    def apply_or_wait(gradient: Any, *args: Any, **kwargs: Any) -> Any:
        def applied() -> Any:
            with get_default_graph().control_dependencies([apply(gradient, *args, **kwargs)]):
                return no_op()

        return cond(_is_zero(gradient), no_op, applied)

    return apply_or_wait


class MultitaskOptimizerWrapper:
    """An optimizer that leaves a variable, and what it keeps for it, alone if all of its gradient is zero.

    A task that is not in a batch gives such gradients, by which averages would decay. Norms of gradients are then those
    of `clip_gradients_by_global_norm` (tf.contrib.opt.MultitaskOptimizerWrapper).

    Args:
        opt: The optimizer, which becomes such a one; all else is asked of it.

    Raises:
        TypeError: If `opt` is no optimizer.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> momentum = gf.train.MomentumOptimizer(0.1, momentum=0.9)
        >>> step = gf.contrib.opt.MultitaskOptimizerWrapper(momentum).minimize(x * 0.0)
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(session.run(x))
        1.0
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError(
                f"Supplied optimizer must be an instance of gf.train.Optimizer, not {type(opt).__name__}."
            )
        self._opt = opt
        for name in ("_apply_dense", "_apply_sparse"):
            setattr(opt, name, _if_not_zero(getattr(opt, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def clip_gradients_by_global_norm(
    gradients_variables: Iterable[tuple[TensorLike | None, VariableLike]], clip_norm: TensorLike = 20.0
) -> tuple[list[tuple[Tensor | Any, Any]], Tensor]:
    """Gradients scaled down together if their norm is beyond `clip_norm`; those that are zero throughout do not count.

    TensorFlow: tf.contrib.opt.clip_gradients_by_global_norm.

    Args:
        gradients_variables: Pairs (gradient, variable), as compute_gradients gives them.
        clip_norm: The largest norm, a scalar.

    Returns:
        The pairs with the new gradients, and the norm, a scalar.
    """
    pairs = list(gradients_variables)
    given = [
        g if g is None or isinstance(g, Tensor | IndexedSlices) else convert_to_tensor(g) for g, _ in pairs
    ]

    def counted(gradient: Any) -> Any:
        if gradient is None:
            return None
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        return cond(_is_zero(gradient), lambda: zeros([], values.dtype), lambda: values)

    norm = global_norm([counted(gradient) for gradient in given])
    clipped, _ = clip_by_global_norm(given, clip_norm, use_norm=norm)
    return list(zip(clipped, [variable for _, variable in pairs], strict=True)), norm
