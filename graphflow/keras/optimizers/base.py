"""Optimizer: gradients of a loss, clipped, and what they change (tf.keras.optimizers.Optimizer)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import graphflow.nest as nest
from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import DTypeLike, InitializerLike, ShapeLike, TensorLike
from graphflow._core.ops.state.variable import Variable
from graphflow.keras import initializers, ops
from graphflow.keras.backend.state import track_variable
from graphflow.keras.backend.values import batch_get_value, batch_set_value, get_value
from graphflow.keras.optimizers.schedules import LearningRateSchedule
from graphflow.keras.typing import Config, Objects


class Optimizer:
    """What optimizers are derived from: `_change` gives the writes of one variable's step.

    Args:
        name: The name scope of its variables and operations.
        **kwargs: clipnorm or clipvalue, the norm or value that gradients are clipped to; lr, learning_rate's old name;
            decay, by which the rate falls as rate / (1 + decay * step).
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        known = {"clipnorm", "clipvalue", "lr", "decay"}
        for key, value in kwargs.items():
            if key not in known:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if value is not None and key != "lr" and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self._name = name
        self._hyper: dict[str, Any] = {}
        self._hypers_made: dict[Any, dict[str, Any]] = {}
        self._slots: dict[Any, dict[str, Any]] = {}
        self._weights: list[Any] = []
        self._iterations: Any = None
        self._decay = kwargs.pop("decay", 0.0) or 0.0
        self.clipnorm: Any | None = kwargs.get("clipnorm")
        self.clipvalue: Any | None = kwargs.get("clipvalue")

    # ---- hyperparameters ------------------------------------------------------------------------------------------

    def _set_hyper(self, name: str, value: Any) -> None:
        previous = self._hyper.get(name)
        if isinstance(previous, Variable) and not isinstance(value, LearningRateSchedule | Tensor | Variable):
            batch_set_value([(previous, value)])
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: DTypeLike | None = None) -> Any:
        self._make_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        value = value() if callable(value) else value
        return ops.cast(value, dtype) if dtype is not None else value

    def __getattr__(self, name: str) -> Any:
        wanted = "learning_rate" if name == "lr" else name
        if not name.startswith("_") and wanted in self.__dict__.get("_hyper", ()):
            return self._get_hyper(wanted)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        wanted = "learning_rate" if name == "lr" else name
        if wanted in self.__dict__.get("_hyper", ()):
            self._set_hyper(wanted, value)
        else:
            super().__setattr__(name, value)

    def _make_hypers(self) -> None:
        for name, value in sorted(self._hyper.items()):
            if not (isinstance(value, Tensor | Variable) or callable(value)):
                self._hyper[name] = self.add_weight(name, (), initializer=value)

    def _said(self, name: str) -> Any:
        """A hyperparameter as a configuration has it."""
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return {"class_name": type(value).__name__, "config": value.get_config()}
        if callable(value):
            return value()
        if isinstance(value, Tensor | Variable):
            return float(get_value(value))
        return value

    def _rate(self, dtype: Any) -> Any:
        """The learning rate of the step."""
        rate = self._get_hyper("learning_rate")
        step = ops.cast(self.iterations, dtype)
        rate = ops.cast(rate(step) if isinstance(rate, LearningRateSchedule) else rate, dtype)
        return rate / (1.0 + self._get_hyper("decay", dtype) * step) if self._decay > 0.0 else rate

    # ---- variables ------------------------------------------------------------------------------------------------

    def add_weight(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | str = "zeros",
        trainable: bool = False,
    ) -> Variable:
        """A variable of the optimizer.

        Args:
            name: The name.
            shape: The shape.
            dtype: The dtype; float32 by default.
            initializer: An initializer, its name, or the initial value.
            trainable: Whether it is in the collection of what is trained.

        Returns:
            The variable.
        """
        kind = ops.as_dtype(dtype or "float32")
        if isinstance(initializer, str) or callable(initializer):
            make = partial(initializers.initial_value, initializers.get(initializer), list(shape or ()), kind)  # type: ignore[arg-type]
        else:
            make = partial(ops.constant, initializer, dtype=kind)
        with get_default_graph().control_dependencies(None):
            variable = Variable(make, name=name, trainable=trainable, dtype=kind, use_resource=True)
        track_variable(variable)
        return variable

    def add_slot(
        self, var: Variable, slot_name: str, initializer: InitializerLike | str = "zeros"
    ) -> Variable:
        """A variable of the shape of another, made once.

        Args:
            var: The variable that it is for.
            slot_name: What is kept, such as "m".
            initializer: An initializer or its name.

        Returns:
            The slot.
        """
        slots = self._slots.setdefault(var, {})
        if slot_name not in slots:
            slots[slot_name] = self.add_weight(
                f"{var.op.name}/{slot_name}", var.shape, var.dtype, initializer
            )
            self._weights.append(slots[slot_name])
        found: Variable = slots[slot_name]
        return found

    def get_slot(self, var: Variable, slot_name: str) -> Variable:
        """The slot of a variable.

        Args:
            var: A variable.
            slot_name: What is kept, such as "m".

        Returns:
            The slot.

        Raises:
            KeyError: There is none.
        """
        found: Variable = self._slots[var][slot_name]
        return found

    def get_slot_names(self) -> list[str]:
        """The names of the slots."""
        return list(dict.fromkeys(name for slots in self._slots.values() for name in slots))

    def _fill_slots(self, variables: Sequence[Any], **slots: Any) -> None:
        """Makes slots, each for all variables before the next: {name: initializer}."""
        for name, initializer in slots.items():
            for variable in variables:
                self.add_slot(variable, name, initializer)

    @property
    def iterations(self) -> Any:
        """The variable that counts steps."""
        if self._iterations is None:
            self._iterations = self.add_weight("iter", (), "int64")
            self._weights.insert(0, self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Variable) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been created"
            )
        self._iterations = variable
        self._weights.append(variable)

    @property
    def weights(self) -> list[Any]:
        """Its variables: the number of steps, then the slots."""
        return self._weights

    def variables(self) -> list[Any]:
        """Its variables: the number of steps, then the slots."""
        return self._weights

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it besides slots: the steps and the hyperparameters, by name."""
        found = [("iter", self._iterations), *sorted(self._hyper.items(), key=lambda named: named[0])]
        return [(name, value) for name, value in found if isinstance(value, Variable)]

    def get_weights(self) -> list[Any]:
        """The values of its variables."""
        return batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets its variables.

        Args:
            weights: Arrays in the order of `weights`.

        Raises:
            ValueError: There is another number of arrays, or one has another shape than its variable.
        """
        if len(weights) != len(self.weights):
            raise ValueError(
                f"The optimizer {self._name} has {len(self.weights)} weights, set_weights() was given {len(weights)}."
            )
        batch_set_value(zip(self.weights, weights, strict=True))

    # ---- steps ----------------------------------------------------------------------------------------------------

    def get_gradients(self, loss: Tensor, params: Sequence[Variable]) -> list[Any]:
        """The gradients of a loss, clipped.

        Args:
            loss: A tensor, usually a scalar.
            params: Variables.

        Returns:
            The gradient by each.

        Raises:
            ValueError: The loss does not depend on a variable.
        """
        params = nest.flatten(params)
        with get_default_graph().name_scope(f"{self._name}/gradients"):
            found = gradients(loss, params)
            for gradient, variable in zip(found, params, strict=True):
                if gradient is None:
                    raise ValueError(
                        f"Variable {variable.name} has `None` for gradient: the loss does not depend on it, or an "
                        "operation between them has no gradient, such as K.argmax or K.round."
                    )
            return self._clipped(found)

    def _clipped(self, found: Sequence[Any]) -> list[Any]:
        if self.clipnorm is not None:
            found = [ops.clip_by_norm(g, self.clipnorm) for g in found]
        if self.clipvalue is not None:
            found = [ops.clip_by_value(g, -self.clipvalue, self.clipvalue) for g in found]
        return list(found)

    def get_updates(self, loss: Tensor, params: Sequence[Variable]) -> list[Operation]:
        """The operations of one step.

        Args:
            loss: A tensor, usually a scalar.
            params: Variables.

        Returns:
            A list of one operation.

        Raises:
            ValueError: The loss does not depend on a variable.
        """
        return [self.apply_gradients(zip(self.get_gradients(loss, params), params, strict=True))]

    def minimize(
        self,
        loss: TensorLike | Callable[[], Any],
        var_list: Any,
        grad_loss: TensorLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation of one step.

        Args:
            loss: A tensor, or a function that makes one.
            var_list: Variables, or a function that gives them.
            grad_loss: The gradient of what is minimised by the loss; 1 by default.
            name: The name of the operation.

        Returns:
            The operation.

        Raises:
            ValueError: The loss depends on no variable.
        """
        value = loss() if callable(loss) else loss
        variables = nest.flatten(var_list() if callable(var_list) else var_list)
        with get_default_graph().name_scope(f"{self._name}/gradients"):
            found = gradients(value, variables, grad_ys=grad_loss)
            found = [g if g is None else self._clipped([g])[0] for g in found]
        return self.apply_gradients(zip(found, variables, strict=True), name)

    def apply_gradients(self, grads_and_vars: Iterable[Any], name: str | None = None) -> Operation:
        """The operation that changes variables by gradients.

        Args:
            grads_and_vars: Pairs (gradient, variable); those whose gradient is None are left out.
            name: The name of the operation.

        Returns:
            The operation, which adds 1 to `iterations`, too.

        Raises:
            ValueError: No variable has a gradient.
        """
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        graph = get_default_graph()
        with graph.name_scope(self._name):
            _ = self.iterations
            self._make_hypers()
            self._create_slots([v for _, v in pairs])
            self._prepare(pairs[0][1].dtype)
            updates = []
            for gradient, variable in pairs:
                with graph.name_scope(f"update_{variable.op.name}"):
                    updates.append(self._update(gradient, variable))
            with graph.control_dependencies(updates):
                return ops.assign_add(self.iterations, 1, name=name).op

    def _update(self, gradient: Any, variable: Any) -> Operation:
        if isinstance(gradient, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if type(self)._resource_apply_sparse is Optimizer._resource_apply_sparse:
                made = ops.group(*self._change_rows(gradient, variable))
            else:
                rows, place = ops.unique(gradient.indices)
                values = ops.unsorted_segment_sum(gradient.values, place, ops.shape(rows)[0])
                made = self._resource_apply_sparse(values, variable, rows)
        else:
            made = self._resource_apply_dense(gradient, variable)
        done: Operation = ops.group(made)
        if variable.constraint is None:
            return done
        with get_default_graph().control_dependencies([done]):
            return ops.assign(variable, variable.constraint(variable.read_value())).op

    # What optimizers of a program's own override and call, by TensorFlow's names.

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        """The operation that changes a variable by its gradient."""
        return ops.group(*self._change(grad, var))

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        """The operation that changes rows of a variable, each named once, by their gradients."""
        return ops.group(*self._change_rows(IndexedSlices(grad, indices, ops.shape(var)), var))

    def _resource_scatter_add(self, x: Any, i: Any, v: Any) -> Any:
        """What a variable is after values were added to rows of it."""
        return ops.scatter_add(x, i, v)

    def _decayed_lr(self, var_dtype: DTypeLike) -> Any:
        """The learning rate of the step."""
        return self._rate(ops.as_dtype(var_dtype))

    def _serialize_hyperparameter(self, hyperparameter_name: str) -> Any:
        """A hyperparameter as a configuration has it."""
        return self._said(hyperparameter_name)

    @property
    def _initial_decay(self) -> float:
        """The decay that it was made with."""
        return self._decay

    @property
    def _use_locking(self) -> bool:
        """Whether writes exclude each other, which they do."""
        return True

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Makes the slots; none by default."""

    def _prepare(self, dtype: Any) -> None:
        """Computes what the changes of all variables have in common."""

    def _change(self, gradient: Any, variable: Any) -> list[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not say how it changes a variable.")

    def _change_rows(self, gradient: IndexedSlices, variable: Any) -> list[Any]:
        """The change for a gradient of some rows; those of most optimizers change all rows."""
        return self._change(ops.convert_to_tensor(gradient), variable)

    # ---- configurations -------------------------------------------------------------------------------------------

    def get_config(self) -> Config:
        """The arguments that make an optimizer like it."""
        config: dict[str, Any] = {"name": self._name}
        config |= {k: getattr(self, k) for k in ("clipnorm", "clipvalue") if getattr(self, k) is not None}
        return config

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The optimizer of a configuration that get_config gave.

        Args:
            config: What get_config gave.
            custom_objects: Classes of schedules of the program's own, by name.

        Returns:
            A new optimizer.
        """
        given = dict(config)
        if "lr" in given:
            given["learning_rate"] = given.pop("lr")
        rate = given.get("learning_rate")
        if isinstance(rate, dict):
            from_schedules = {c.__name__: c for c in LearningRateSchedule.__subclasses__()}
            owner = (custom_objects or {}).get(rate["class_name"]) or from_schedules[rate["class_name"]]
            given["learning_rate"] = owner.from_config(rate["config"])
        return cls(**given)
