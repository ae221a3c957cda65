"""Learning rates that depend on the step (tf.keras.optimizers.schedules)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.typing import Config, Objects
from graphflow.keras.utils import registry
from graphflow.train import decays

__all__ = [
    "ExponentialDecay", "InverseTimeDecay", "LearningRateSchedule", "PiecewiseConstantDecay", "PolynomialDecay",
    "deserialize", "serialize",
]  # fmt: skip


class LearningRateSchedule:
    """What schedules are derived from: __call__ gives the rate of a step."""

    def __call__(self, step: TensorLike) -> Any:
        """The rate of a step.

        Args:
            step: The number of the step, a tensor.

        Returns:
            The rate, a scalar.

        Raises:
            NotImplementedError: The class does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say the rate of a step.")

    def get_config(self) -> Config:
        """The arguments that make a schedule like it."""
        return {}

    @classmethod
    def from_config(cls, config: Config) -> Any:
        """The schedule of a configuration that get_config gave.

        Args:
            config: What get_config gave.

        Returns:
            A new schedule.
        """
        return cls(**config)


class ExponentialDecay(LearningRateSchedule):
    """initial * decay_rate ** (step / decay_steps) (tf.keras.optimizers.schedules.ExponentialDecay).

    Args:
        initial_learning_rate: The rate of step 0.
        decay_steps: The number of steps of the formula.
        decay_rate: What the rate is multiplied by in so many steps.
        staircase: Whether it changes only after each `decay_steps`.
        name: The name of the name scope.
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._config: dict[str, Any] = {
            "initial_learning_rate": initial_learning_rate, "decay_steps": decay_steps, "decay_rate": decay_rate,
            "staircase": staircase, "name": name,
        }  # fmt: skip

    def __call__(self, step: TensorLike) -> Any:
        """The rate of a step.

        Args:
            step: The number of the step, a tensor.

        Returns:
            The rate, a scalar.
        """
        return decays.exponential_decay(
            self._config["initial_learning_rate"], step, self._config["decay_steps"], self._config["decay_rate"],
            self._config["staircase"],
        )  # fmt: skip

    def get_config(self) -> Config:
        """The arguments that make a schedule like it."""
        return dict(self._config)


class InverseTimeDecay(ExponentialDecay):
    """initial / (1 + decay_rate * step / decay_steps) (tf.keras.optimizers.schedules.InverseTimeDecay)."""

    def __call__(self, step: TensorLike) -> Any:
        """The rate of a step.

        Args:
            step: The number of the step, a tensor.

        Returns:
            The rate, a scalar.
        """
        return decays.inverse_time_decay(
            self._config["initial_learning_rate"], step, self._config["decay_steps"], self._config["decay_rate"],
            self._config["staircase"],
        )  # fmt: skip


class PiecewiseConstantDecay(LearningRateSchedule):
    """A rate for each stretch of steps (tf.keras.optimizers.schedules.PiecewiseConstantDecay).

    Args:
        boundaries: The last step of each stretch but the last one, rising.
        values: The rates, one more than there are boundaries.
        name: The name of the name scope.

    Raises:
        ValueError: There is another number of rates.
    """

    def __init__(self, boundaries: Sequence[float], values: Sequence[float], name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries: list[float] = list(boundaries)
        self.values: list[float] = list(values)
        self.name = name

    def __call__(self, step: TensorLike) -> Any:
        """The rate of a step.

        Args:
            step: The number of the step, a tensor.

        Returns:
            The rate, a scalar.
        """
        # An optimizer gives the step as a float32, and programs write whole numbers.
        counted = ops.convert_to_tensor(step)
        edges = [ops.cast(b, counted.dtype) for b in self.boundaries]
        return decays.piecewise_constant(counted, edges, self.values)

    def get_config(self) -> Config:
        """The arguments that make a schedule like it."""
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


class PolynomialDecay(LearningRateSchedule):
    """From initial to end rate as a power of the steps left (tf.keras.optimizers.schedules.PolynomialDecay).

    Args:
        initial_learning_rate: The rate of step 0.
        decay_steps: After how many steps the end is reached.
        end_learning_rate: The rate at the end.
        power: The power.
        cycle: Whether it begins anew, with a longer stretch, rather than staying at the end.
        name: The name of the name scope.
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001, power: float = 1.0,
        cycle: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        self._config: dict[str, Any] = {
            "initial_learning_rate": initial_learning_rate, "decay_steps": decay_steps,
            "end_learning_rate": end_learning_rate, "power": power, "cycle": cycle, "name": name,
        }  # fmt: skip

    def __call__(self, step: TensorLike) -> Any:
        """The rate of a step.

        Args:
            step: The number of the step, a tensor.

        Returns:
            The rate, a scalar.
        """
        given = self._config
        return decays.polynomial_decay(
            given["initial_learning_rate"], step, given["decay_steps"], given["end_learning_rate"], given["power"],
            given["cycle"],
        )  # fmt: skip

    def get_config(self) -> Config:
        """The arguments that make a schedule like it."""
        return dict(self._config)


def serialize(learning_rate_schedule: LearningRateSchedule) -> Config:
    """The configuration of a schedule (tf.keras.optimizers.schedules.serialize).

    Args:
        learning_rate_schedule: A schedule.

    Returns:
        {"class_name": ..., "config": ...}.
    """
    return registry.serialize_keras_object(learning_rate_schedule)


def deserialize(config: Config, custom_objects: Objects = None) -> Any:
    """The schedule of a configuration (tf.keras.optimizers.schedules.deserialize).

    Args:
        config: {"class_name": ..., "config": ...}.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The schedule.

    Raises:
        ValueError: The class is not known.
    """
    return registry.deserialize(config, __name__, "decay", custom_objects)
