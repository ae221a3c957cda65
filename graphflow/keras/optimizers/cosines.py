"""Learning rates that fall as a cosine does (tf.keras.experimental)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras.optimizers.schedules import LearningRateSchedule
from graphflow.keras.typing import Config
from graphflow.train import decays


class _OfFunction(LearningRateSchedule):
    """A function of gf.train, whose arguments are the configuration."""

    _function: Callable[..., Any]

    def __init__(self, **config: Any) -> None:
        self._config = config

    def __call__(self, step: TensorLike) -> Any:
        """The rate of a step.

        Args:
            step: The number of the step, a tensor.

        Returns:
            The rate, a scalar.
        """
        given = dict(self._config)
        return self._function(given.pop("initial_learning_rate"), step, **given)

    def get_config(self) -> Config:
        """The arguments that make a schedule like it."""
        return dict(self._config)


class CosineDecay(_OfFunction):
    """Half a cosine, from the first rate down (tf.keras.experimental.CosineDecay).

    Args:
        initial_learning_rate: The rate of step 0.
        decay_steps: After how many steps the end is reached.
        alpha: The rate at the end, as a share of the first one.
        name: The name of the name scope.
    """

    _function = staticmethod(decays.cosine_decay)

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, alpha: float = 0.0, name: str | None = None
    ) -> None:
        super().__init__(
            initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, alpha=alpha, name=name
        )


class CosineDecayRestarts(_OfFunction):
    """Half cosines, one behind the other (tf.keras.experimental.CosineDecayRestarts).

    Args:
        initial_learning_rate: The rate of step 0.
        first_decay_steps: How long the first one is.
        t_mul: How much longer each is than the one before.
        m_mul: What the first rate of each is multiplied by.
        alpha: The rate at their ends, as a share of the first one.
        name: The name of the name scope.
    """

    _function = staticmethod(decays.cosine_decay_restarts)

    def __init__(
        self, initial_learning_rate: float, first_decay_steps: int, t_mul: float = 2.0, m_mul: float = 1.0,
        alpha: float = 0.0, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            initial_learning_rate=initial_learning_rate, first_decay_steps=first_decay_steps, t_mul=t_mul,
            m_mul=m_mul, alpha=alpha, name=name,
        )  # fmt: skip


class LinearCosineDecay(_OfFunction):
    """A line down times a cosine (tf.keras.experimental.LinearCosineDecay).

    Args:
        initial_learning_rate: The rate of step 0.
        decay_steps: After how many steps the end is reached.
        num_periods: How many periods of the cosine there are.
        alpha: What is added to the line, as a share of the first rate.
        beta: What is added to the product.
        name: The name of the name scope.
    """

    _function = staticmethod(decays.linear_cosine_decay)

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, num_periods: float = 0.5, alpha: float = 0.0,
        beta: float = 0.001, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, num_periods=num_periods,
            alpha=alpha, beta=beta, name=name,
        )  # fmt: skip
