"""The optimizers, each a rule of how a gradient changes a variable and its slots (tf.keras.optimizers)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.state.training import apply_update, sparse_apply_update
from graphflow._core.ops.state.variable import Variable
from graphflow.keras import ops
from graphflow.keras.backend import settings
from graphflow.keras.backend.state import track_variable
from graphflow.keras.initializers import Constant
from graphflow.keras.optimizers.base import Optimizer
from graphflow.keras.optimizers.schedules import LearningRateSchedule
from graphflow.keras.typing import Config, Objects

Rate = float | LearningRateSchedule | Any
"""A learning rate: a number, a schedule, a tensor, or a function that gives one."""


def _applied(rule: str, slots: Sequence[Any], numbers: Sequence[Any], gradient: Any) -> Any:
    """One update rule of the engine, for the rows of a gradient that has rows."""
    if not isinstance(gradient, IndexedSlices):
        return apply_update(rule, slots, numbers, gradient)
    rows, place = ops.unique(gradient.indices)
    values = ops.unsorted_segment_sum(gradient.values, place, ops.shape(rows)[0])
    return sparse_apply_update(rule, slots, numbers, values, rows)


class _Ruled(Optimizer):
    """An optimizer with numbers of its own, which are variables."""

    def __init__(self, name: str, learning_rate: Any, given: dict[str, Any], **hyper: Any) -> None:
        super().__init__(name, **given)
        self._set_hyper("learning_rate", given.get("lr", learning_rate))
        self._set_hyper("decay", self._decay)
        for key, value in hyper.items():
            self._set_hyper(key, value)
        self._said_besides: dict[str, Any] = {}

    def get_config(self) -> Config:
        """The arguments that make an optimizer like it."""
        hyper = {key: self._said(key) for key in self._hyper}
        return {**super().get_config(), **hyper, **self._said_besides}

    def _number(self, name: str, variable: Any) -> Any:
        return self._get_hyper(name, variable.dtype)

    def _step(self, dtype: Any) -> Any:
        """The number of this step, from 1 on."""
        return ops.cast(self.iterations + 1, dtype)


class SGD(_Ruled):
    """variable -= rate * gradient, with momentum if there is any (tf.keras.optimizers.SGD).

    Args:
        learning_rate: The rate: a number, or a schedule of it.
        momentum: How much of the last step is added to the next, from 0 to 1.
        nesterov: Whether the momentum is Nesterov's.
        name: The name of the name scope.
        **kwargs: `clipnorm` and `clipvalue`: the largest norm or value of a gradient; `decay`: the rate is divided by
            1 + decay * step; `lr`: an older name of `learning_rate`.

    Raises:
        ValueError: The momentum is not from 0 to 1.
    """

    def __init__(
        self, learning_rate: Rate = 0.01, momentum: float = 0.0, nesterov: bool = False, name: str = "SGD",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if isinstance(momentum, int | float) and not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be between [0, 1], got {momentum}.")
        super().__init__(name, learning_rate, kwargs, momentum=momentum)
        self._has_momentum = bool(callable(momentum) or not isinstance(momentum, int | float) or momentum)
        self.nesterov = nesterov
        self._said_besides = {"nesterov": nesterov}

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        if self._has_momentum:
            self._fill_slots(var_list, momentum="zeros")

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        rate = self._rate(variable.dtype)
        if not self._has_momentum:
            return [_applied("GradientDescent", [variable], [rate], gradient)]
        momentum, slot = self._number("momentum", variable), self.get_slot(variable, "momentum")
        moved = slot.assign(momentum * slot - rate * gradient)
        return [variable.assign_add(momentum * moved - rate * gradient if self.nesterov else moved)]

    def _change_rows(self, gradient: IndexedSlices, variable: Any) -> list[Any]:
        rate, rows, values = self._rate(variable.dtype), gradient.indices, gradient.values
        if not self._has_momentum:
            return [ops.scatter_sub(variable, rows, rate * values)]
        rows, place = ops.unique(rows)
        values = ops.unsorted_segment_sum(values, place, ops.shape(rows)[0])
        momentum, slot = self._number("momentum", variable), self.get_slot(variable, "momentum")
        moved = momentum * ops.gather(slot, rows) - rate * values
        change = momentum * moved - rate * values if self.nesterov else moved
        return [ops.scatter_update(slot, rows, moved), ops.scatter_add(variable, rows, change)]


class Adam(_Ruled):
    """Steps by averages of gradients and their squares (tf.keras.optimizers.Adam; Kingma and Ba 2014).

    Args:
        learning_rate: The rate: a number, or a schedule of it.
        beta_1: How much of the average of gradients stays at each step.
        beta_2: How much of the average of squares stays at each step.
        epsilon: What is added to the divisor; K.epsilon() if None.
        amsgrad: Whether the largest average of squares so far counts (Reddi et al. 2018).
        name: The name of the name scope.
        **kwargs: `clipnorm` and `clipvalue`: the largest norm or value of a gradient; `decay`: the rate is divided by
            1 + decay * step; `lr`: an older name of `learning_rate`.
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float | None = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, kwargs, beta_1=beta_1, beta_2=beta_2)
        self.epsilon: float = epsilon or settings.epsilon()
        self.amsgrad = amsgrad
        self._said_besides = {"epsilon": self.epsilon, "amsgrad": amsgrad}

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        self._fill_slots(var_list, m="zeros", v="zeros", **({"vhat": "zeros"} if self.amsgrad else {}))

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets its variables; those of an amsgrad that this one does not have are left out.

        Args:
            weights: Arrays in the order of `weights`.
        """
        if len(weights) > len(self.weights):
            weights = weights[: len(self.weights)]
        super().set_weights(weights)

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        dtype = variable.dtype
        step, first, second = (
            self._step(dtype),
            self._number("beta_1", variable),
            self._number("beta_2", variable),
        )
        m, v = self.get_slot(variable, "m"), self.get_slot(variable, "v")
        powers = ops.pow(first, step), ops.pow(second, step)
        rate, small = self._rate(dtype), ops.cast(self.epsilon, dtype)
        if not self.amsgrad:
            return [_applied("Adam", [variable, m, v], [*powers, rate, first, second, small], gradient)]
        rate = rate * ops.sqrt(1.0 - powers[1]) / (1.0 - powers[0])
        mean = m.assign(m + (gradient - m) * (1.0 - first))
        squares = v.assign(v + (ops.square(gradient) - v) * (1.0 - second))
        largest = self.get_slot(variable, "vhat")
        most = largest.assign(ops.maximum(largest, squares))
        return [variable.assign_sub(rate * mean / (ops.sqrt(most) + small))]


class RMSprop(_Ruled):
    """Gradients divided by the root of their average square (tf.keras.optimizers.RMSprop; Tieleman, Hinton 2012).

    Args:
        learning_rate: The rate: a number, or a schedule of it.
        rho: How much of the average of squares stays at each step.
        momentum: How much of the last step is added to the next.
        epsilon: What is added to the divisor; K.epsilon() if None.
        centered: Whether gradients are divided by the root of their variance.
        name: The name of the name scope.
        **kwargs: `clipnorm` and `clipvalue`: the largest norm or value of a gradient; `decay`: the rate is divided by
            1 + decay * step; `lr`: an older name of `learning_rate`.
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float | None = 1e-7,
        centered: bool = False,
        name: str = "RMSprop",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, learning_rate, kwargs, rho=rho, momentum=momentum)
        self._has_momentum = bool(callable(momentum) or not isinstance(momentum, int | float) or momentum)
        self.epsilon: float = epsilon or settings.epsilon()
        self.centered = centered
        self._said_besides = {"epsilon": self.epsilon, "centered": centered}

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        slots = {"rms": "zeros"}
        slots |= {"momentum": "zeros"} if self._has_momentum else {}
        slots |= {"mg": "zeros"} if self.centered else {}
        self._fill_slots(var_list, **slots)

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        dtype = variable.dtype
        rate, rho, small = self._rate(dtype), self._number("rho", variable), ops.cast(self.epsilon, dtype)
        rms = self.get_slot(variable, "rms")
        if self._has_momentum:
            numbers = [rate, rho, self._number("momentum", variable), small]
            momentum = self.get_slot(variable, "momentum")
            if self.centered:
                slots = [variable, self.get_slot(variable, "mg"), rms, momentum]
                return [_applied("CenteredRMSProp", slots, numbers, gradient)]
            return [_applied("RMSProp", [variable, rms, momentum], numbers, gradient)]
        squares: Any = rms.assign(rho * rms + (1.0 - rho) * ops.square(gradient))
        if self.centered:
            mean = self.get_slot(variable, "mg")
            squares = squares - ops.square(mean.assign(rho * mean + (1.0 - rho) * gradient))
        return [variable.assign_sub(rate * gradient / (ops.sqrt(squares) + small))]

    def _change_rows(self, gradient: IndexedSlices, variable: Any) -> list[Any]:
        whole = gradient if self._has_momentum else ops.convert_to_tensor(gradient)
        return self._change(whole, variable)


class Adagrad(_Ruled):
    """Gradients divided by the root of the sum of their squares (tf.keras.optimizers.Adagrad; Duchi et al. 2011).

    Args:
        learning_rate: The rate: a number, or a schedule of it.
        initial_accumulator_value: What the sums of squares begin with, at least 0.
        epsilon: What is added to the divisor; K.epsilon() if None.
        name: The name of the name scope.
        **kwargs: `clipnorm` and `clipvalue`: the largest norm or value of a gradient; `decay`: the rate is divided by
            1 + decay * step; `lr`: an older name of `learning_rate`.

    Raises:
        ValueError: `initial_accumulator_value` is negative.
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float | None = 1e-7,
        name: str = "Adagrad",
        **kwargs: Any,
    ) -> None:
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, learning_rate, kwargs)
        self.epsilon: float = epsilon or settings.epsilon()
        self._initial = initial_accumulator_value
        self._said_besides = {"initial_accumulator_value": self._initial, "epsilon": self.epsilon}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The optimizer of a configuration; one without initial_accumulator_value, as of "adagrad", begins at 0.

        Args:
            config: What get_config gave.
            custom_objects: Classes of the program's own, by name.

        Returns:
            A new optimizer.
        """
        return super().from_config({"initial_accumulator_value": 0.0, **config}, custom_objects)

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        self._fill_slots(var_list, accumulator=Constant(self._initial))

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        slot = self.get_slot(variable, "accumulator")
        squares = slot.assign_add(ops.square(gradient))
        return [
            variable.assign_sub(self._rate(variable.dtype) * gradient / (ops.sqrt(squares) + self.epsilon))
        ]


class Adadelta(_Ruled):
    """Steps by averages of squares of gradients and of steps (tf.keras.optimizers.Adadelta; Zeiler 2012).

    Args:
        learning_rate: The rate: a number, or a schedule of it.
        rho: How much of the averages stays at each step.
        epsilon: What is added to the divisor; K.epsilon() if None.
        name: The name of the name scope.
        **kwargs: `clipnorm` and `clipvalue`: the largest norm or value of a gradient; `decay`: the rate is divided by
            1 + decay * step; `lr`: an older name of `learning_rate`.
    """

    def __init__(
        self, learning_rate: Rate = 0.001, rho: float = 0.95, epsilon: float | None = 1e-7, name: str = "Adadelta",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, learning_rate, kwargs, rho=rho)
        self.epsilon: float = epsilon or settings.epsilon()
        self._said_besides = {"epsilon": self.epsilon}

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        self._fill_slots(var_list, accum_grad="zeros", accum_var="zeros")

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        slots = [variable, self.get_slot(variable, "accum_grad"), self.get_slot(variable, "accum_var")]
        numbers = [
            self._rate(variable.dtype),
            self._number("rho", variable),
            ops.cast(self.epsilon, variable.dtype),
        ]
        return [_applied("Adadelta", slots, numbers, gradient)]

    def _change_rows(self, gradient: IndexedSlices, variable: Any) -> list[Any]:
        return self._change(gradient, variable)


class Adamax(_Ruled):
    """Adam by the largest gradient in place of squares (tf.keras.optimizers.Adamax; Kingma and Ba 2014).

    Args:
        learning_rate: The rate: a number, or a schedule of it.
        beta_1: How much of the average of gradients stays at each step.
        beta_2: How much of the largest gradient stays at each step.
        epsilon: What is added to the divisor; K.epsilon() if None.
        name: The name of the name scope.
        **kwargs: `clipnorm` and `clipvalue`: the largest norm or value of a gradient; `decay`: the rate is divided by
            1 + decay * step; `lr`: an older name of `learning_rate`.
    """

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float | None = 1e-7,
        name: str = "Adamax", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, learning_rate, kwargs, beta_1=beta_1, beta_2=beta_2)
        self.epsilon: float = epsilon or settings.epsilon()
        self._said_besides = {"epsilon": self.epsilon}

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        self._fill_slots(var_list, m="zeros", v="zeros")

    def _moved(self, gradient: Any, variable: Any) -> Any:
        """The change of the variable, whose slots are written."""
        first, second = self._number("beta_1", variable), self._number("beta_2", variable)
        m, v = self.get_slot(variable, "m"), self.get_slot(variable, "v")
        mean = m.assign(m + (gradient - m) * (1.0 - first))
        largest = v.assign(ops.maximum(second * v, ops.abs(gradient)))
        rate = self._rate(variable.dtype) / (1.0 - ops.pow(first, self._step(variable.dtype)))
        return rate * mean / (largest + self.epsilon)

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        return [variable.assign_sub(self._moved(gradient, variable))]

    def _change_rows(self, gradient: IndexedSlices, variable: Any) -> list[Any]:
        change = self._moved(ops.convert_to_tensor(gradient), variable)
        rows, _ = ops.unique(gradient.indices)
        return [ops.scatter_sub(variable, rows, ops.gather(change, rows))]


class Nadam(_Ruled):
    """Adam with Nesterov's momentum (tf.keras.optimizers.Nadam; Dozat 2015).

    Args:
        learning_rate: The rate, a number.
        beta_1: How much of the average of gradients stays at each step.
        beta_2: How much of the average of squares stays at each step.
        epsilon: What is added to the divisor; K.epsilon() if None.
        name: The name of the name scope.
        **kwargs: `schedule_decay`: how fast the momentum grows; `clipnorm` and `clipvalue`: the largest norm or value
            of a gradient; `lr`: an older name of `learning_rate`.

    Raises:
        ValueError: The rate is a schedule.
    """

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float | None = 1e-7,
        name: str = "Nadam", **kwargs: Any,
    ) -> None:  # fmt: skip
        decay = kwargs.pop("schedule_decay", 0.004)
        if isinstance(kwargs.get("lr", learning_rate), LearningRateSchedule):
            raise ValueError(
                "The Nadam optimizer does not support LearningRateSchedules as the learning rate."
            )
        super().__init__(name, learning_rate, {**kwargs, "decay": decay}, beta_1=beta_1, beta_2=beta_2)
        self.epsilon: float = epsilon or settings.epsilon()
        self._cache: Any = None
        self._said_besides = {"epsilon": self.epsilon}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Any = None) -> Any:
        """The optimizer of a configuration that get_config gave.

        Args:
            config: What get_config gave.
            custom_objects: Changes nothing.

        Returns:
            A new optimizer.
        """
        given = dict(config)
        if "decay" in given:
            given["schedule_decay"] = given.pop("decay")
        return cls(**given)

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        if self._cache is None:
            self._cache = self.add_weight("momentum_cache", (), var_list[0].dtype, "ones")
            self._weights.append(self._cache)
        self._fill_slots(var_list, m="zeros", v="zeros")

    def _prepare(self, dtype: Any) -> None:
        step, first = self._step(dtype), self._get_hyper("beta_1", dtype)
        falls = self._get_hyper("decay", dtype)

        def momentum(at: Any) -> Any:
            return first * (1.0 - 0.5 * ops.pow(ops.cast(0.96, dtype), falls * at))

        self._now, self._next = momentum(step), momentum(step + 1.0)
        self._schedule = self._cache.assign(self._cache * self._now)

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        dtype = variable.dtype
        first, second = self._number("beta_1", variable), self._number("beta_2", variable)
        m, v = self.get_slot(variable, "m"), self.get_slot(variable, "v")
        ahead = gradient / (1.0 - self._schedule)
        mean = m.assign(first * m + (1.0 - first) * gradient) / (1.0 - self._schedule * self._next)
        squares = v.assign(second * v + (1.0 - second) * ops.square(gradient))
        root = ops.sqrt(squares / (1.0 - ops.pow(second, self._step(dtype))))
        bar = (1.0 - self._now) * ahead + self._next * mean
        return [
            variable.assign_sub(
                ops.cast(self._get_hyper("learning_rate"), dtype) * bar / (root + self.epsilon)
            )
        ]


class Ftrl(_Ruled):
    """Follow the regularized leader (tf.keras.optimizers.Ftrl; McMahan et al. 2013).

    Args:
        learning_rate: The rate: a number, or a schedule of it.
        learning_rate_power: The power of the sums of squares that gradients are multiplied by, at most 0.
        initial_accumulator_value: What the sums of squares begin with.
        l1_regularization_strength: What the sum of the absolute values is multiplied by in the loss.
        l2_regularization_strength: What the sum of the squares is multiplied by in the loss.
        name: The name of the name scope.
        l2_shrinkage_regularization_strength: The same, but of the values before the step.
        **kwargs: `clipnorm` and `clipvalue`: the largest norm or value of a gradient; `decay`: the rate is divided by
            1 + decay * step; `lr`: an older name of `learning_rate`.
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str = "Ftrl",
        l2_shrinkage_regularization_strength: float = 0.0,
        **kwargs: Any,
    ) -> None:
        self._numbers_given = {
            "learning_rate_power": learning_rate_power,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        super().__init__(name, learning_rate, kwargs, **self._numbers_given)
        self._initial = initial_accumulator_value
        self._shrinkage = l2_shrinkage_regularization_strength
        self._said_besides = {
            "initial_accumulator_value": self._initial, "l2_shrinkage_regularization_strength": self._shrinkage,
        }  # fmt: skip

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for variable in var_list:
            self.add_slot(variable, "accumulator", Constant(self._initial))
            self.add_slot(variable, "linear", "zeros")

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        power, one, two = (self._number(name, variable) for name in self._numbers_given)
        shrinkage = [ops.cast(self._shrinkage, variable.dtype)] if self._shrinkage > 0 else []
        slots = [variable, self.get_slot(variable, "accumulator"), self.get_slot(variable, "linear")]
        numbers = [self._rate(variable.dtype), one, two, *shrinkage, power]
        return [_applied("FtrlV2" if shrinkage else "Ftrl", slots, numbers, gradient)]

    def _change_rows(self, gradient: IndexedSlices, variable: Any) -> list[Any]:
        return self._change(gradient, variable)


class TFOptimizer(Optimizer):
    """An optimizer of gf.train, as `compile` takes it.

    Args:
        optimizer: An optimizer of gf.train.
        iterations: The variable that counts the steps; by default one is made.
    """

    def __init__(self, optimizer: Any, iterations: Any = None) -> None:
        super().__init__(type(optimizer).__name__)
        self.optimizer = optimizer
        if iterations is not None:
            self.iterations = iterations

    def get_updates(self, loss: Any, params: Sequence[Variable]) -> list[Any]:
        """The operations of one step.

        Args:
            loss: A scalar.
            params: Variables.

        Returns:
            A list of one operation.
        """
        pairs = self.optimizer.compute_gradients(loss, list(params))
        with ops.name_scope("TFOptimizer"):
            step = self.iterations
        update = self.optimizer.apply_gradients(pairs, global_step=step)
        for variable in self.optimizer.variables():
            track_variable(variable)
        return [update]

    def get_config(self) -> Config:
        """Raises NotImplementedError: gf.train's optimizers have no configuration."""
        raise NotImplementedError(
            "An optimizer of tf.train has no configuration: compile with one of tf.keras's."
        )
