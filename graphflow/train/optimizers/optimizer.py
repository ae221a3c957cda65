"""Optimizer: from a loss to an operation that trains.

minimize() is compute_gradients() and apply_gradients(). A subclass says which slots it keeps beside each variable and
how one step changes them; the hooks have TensorFlow 1's names, so that optimizers written for it work. The classes of
gf.train stand directly below this one, as there: programs look at that. So what several of them share, an UpdateRule,
is a part of this class and not a class between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike, VariableLike
from graphflow._core.ops import variable_reads
from graphflow._core.ops.array.array import fill, shape, zeros
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.state.state import assign_add
from graphflow._core.ops.state.training import apply_update, sparse_apply_update
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow.distribute.context import get_distribution_strategy, get_tower_context
from graphflow.distribute.values import DistributedValues, whole
from graphflow.train.optimizers.pairs import (
    flat_variables,
    is_known,
    part_of_mean,
    present_gradients,
    trained_by_towers,
    unrepeated,
)
from graphflow.train.optimizers.slots import make_slot


@dataclass(frozen=True)
class UpdateRule:
    """A step that is one op of ops.training.

    name: the op's. slots: the number that each slot is filled with at first. numbers: the hyperparameters. Both are in
    the order in which the op takes them.
    """

    name: str
    slots: Mapping[str, float]
    numbers: Mapping[str, Any]


class Optimizer:
    """Base of all optimizers (tf.train.Optimizer). `name` is the default name of what apply_gradients builds.

    Args:
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slots: dict[tuple[str, Graph], Any] = {}
        self._update_rule: UpdateRule | None = None
        self._rule_tensors: dict[str, Tensor] = {}

    def get_name(self) -> str:
        """The name given to the constructor."""
        return self._name

    # ---- for users ------------------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        global_step: VariableLike | None = None,
        var_list: Iterable[VariableLike] | VariableLike | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Operation:
        """The operation that does one step to make `loss` smaller; `global_step` is counted up by it.

        Args:
            loss: A scalar tensor.
            global_step: A variable that grows by one with each update, or None.
            var_list: The variables; by default those of GraphKeys.TRAINABLE_VARIABLES.
            gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH: what waits until all gradients are there.
            aggregation_method: How gradients of several uses are added, of gf.AggregationMethod.
            colocate_gradients_with_ops: Whether gradients are placed with the operations they belong to.
            name: A name for the operation.
            grad_loss: The gradient that is begun with; by default 1.

        Returns:
            The operation of a step.

        Raises:
            ValueError: If no variable has a gradient.
        """
        pairs = self.compute_gradients(  # By name, as subclasses of programs take them.
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if not any(g is not None for g, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v.name) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        var_list: Iterable[VariableLike] | VariableLike | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Tensor | Any, Variable]]:
        """(gradient, variable) for each variable of `var_list`, by default the trainable ones; None if it has none.

        Args:
            loss: A tensor, or a function without arguments that makes one.
            var_list: The variables; by default those of GraphKeys.TRAINABLE_VARIABLES.
            gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH: what waits until all gradients are there.
            aggregation_method: How gradients of several uses are added, of gf.AggregationMethod.
            colocate_gradients_with_ops: Whether gradients are placed with the operations they belong to.
            grad_loss: The gradient that is begun with; by default 1.

        Raises:
            ValueError: If there are no variables.
        """
        if callable(loss) and not isinstance(loss, Tensor):
            loss = loss()
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH. "
                f"Not {gate_gradients}"
            )
        loss = convert_to_tensor(loss)
        self._check_dtypes([loss])
        if var_list is None:
            graph = get_default_graph()
            variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        else:
            variables = flat_variables(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        found = gradients(
            part_of_mean(loss),
            variables,
            grad_ys=grad_loss,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            aggregation_method=aggregation_method,
        )
        self._check_dtypes([v for g, v in zip(found, variables, strict=True) if g is not None])
        return list(zip(found, variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that applies gradients to variables, and then counts `global_step` up.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, or None.
            name: A name for the operation.

        Raises:
            ValueError: If there is no pair, or none with a gradient.
        """
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        for gradient, _ in pairs:
            if gradient is not None and not isinstance(gradient, Tensor | IndexedSlices):
                try:
                    convert_to_tensor(gradient)
                except TypeError:
                    raise TypeError(
                        f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {gradient}"
                    ) from None
        present = present_gradients(pairs)
        if not present:
            raise ValueError(f"No gradients provided for any variable: {[str(v.name) for _, v in pairs]}.")
        strategy = get_distribution_strategy()
        optimizer = strategy.training_optimizer(self)
        if optimizer is not self:
            together: Operation = optimizer.apply_gradients(present, global_step=global_step, name=name)
            return together
        context = get_tower_context()
        if context is None:
            raise RuntimeError(
                f"apply_gradients() of {type(self).__name__} was called in the scope of {type(strategy).__name__} but "
                "in no tower: call minimize() or apply_gradients() in the function given to call_for_each_tower()."
            )
        train_op: Operation = context.merge_call(self._apply_across, self, present, global_step, name)
        return train_op

    def _apply_across(
        self, strategy: Any, optimizers: Any, pairs: Any, global_step: Any, name: str | None
    ) -> Operation:
        """Applies the gradients of all towers, reduced, to every copy of the variables."""
        if isinstance(pairs, DistributedValues) or any(isinstance(v, DistributedValues) for _, v in pairs):
            raise ValueError(
                f"{type(self).__name__}: the towers have gradients for different variables: "
                f"{trained_by_towers(pairs)}. Every tower has to train the same, in the same order."
            )
        graph = get_default_graph()
        variables = [v for _, v in pairs]
        reduced = strategy.batch_reduce(VariableAggregation.SUM, pairs)
        with graph.control_dependencies(None):
            self._create_slots(variables)
        for other in optimizers.values if isinstance(optimizers, DistributedValues) else ():
            other._slots, other._non_slots = self._slots, self._non_slots
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            updates = [
                strategy.update(v, self._update_in_scope, g) for g, v in zip(reduced, variables, strict=True)
            ]
            places = strategy.non_slot_devices(variables)
            several = isinstance(places, list) and len(places) > 1
            last = "update" if several or global_step is not None else scope
            finished = strategy.update_non_slot(places, self._finish, updates, last)
            if global_step is not None:
                train_op = self._count(strategy, global_step, finished, scope)
            else:
                train_op = strategy.group(finished, name=scope) if several else strategy.group(finished)
        collection = graph.get_collection_ref(GraphKeys.TRAIN_OP)
        if train_op not in collection:
            collection.append(train_op)
        return train_op

    def _update_in_scope(self, variable: Any, gradient: Any) -> Any:
        with get_default_graph().name_scope("update_" + variable.op.name):
            return self._update(gradient, variable)

    @staticmethod
    def _count(strategy: Any, global_step: Any, finished: Any, scope: str) -> Operation:
        """Counts the global step up when the updates are done."""
        copies, waits = strategy.unwrap(global_step), strategy.unwrap(finished)
        if len(copies) != len(waits):
            finished = group(*waits)

        def count(step: Any, done: Any) -> Any:
            with get_default_graph().control_dependencies([done]):
                one = convert_to_tensor(1, dtype=step.dtype)
                return assign_add(step, one, name=scope if len(copies) == 1 else None)

        counted = strategy.update(global_step, count, finished)
        operation: Operation = strategy.group(counted, name=None if len(copies) == 1 else scope)
        return operation.op if isinstance(operation, Tensor) else operation

    def get_slot(self, var: VariableLike, name: str) -> Variable | Any:
        """The slot of a name beside a variable, or None.

        Args:
            var: The variable.
            name: The slot's name.

        Returns:
            The variable that holds it, or None.
        """
        return self._slots.get(name, {}).get(whole(var))

    def get_slot_names(self) -> list[str]:
        """The names of the slots, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """All variables of the optimizer's own in the current graph, sorted by name."""
        graph = get_default_graph()
        found = [v for (_, g), v in self._non_slots.items() if g is graph]
        found += [v for slots in self._slots.values() for v in slots.values() if v.graph is graph]
        return sorted(found, key=lambda v: str(v.name))

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it besides slots: its other variables of the default graph, by name."""
        graph = get_default_graph()
        return sorted(
            ((name, v) for (name, g), v in self._non_slots.items() if g is graph), key=lambda named: named[0]
        )

    def in_rounds(self, replicas: int) -> Any:
        """The optimizer that applies the mean of the gradients of so many programs: a SyncReplicasOptimizer.

        Args:
            replicas: How many gradients make a step.
        """
        from graphflow.train.optimizers.sync_replicas import SyncReplicasOptimizer

        return SyncReplicasOptimizer(self, replicas)

    def bounded(self, max_staleness: int, mode: str) -> Any:
        """The optimizer that limits how stale gradients are: a BoundedStalenessOptimizer.

        Args:
            max_staleness: How many steps old a gradient may be.
            mode: What becomes of one that is older.
        """
        from graphflow.train.optimizers.bounded_staleness import BoundedStalenessOptimizer

        return BoundedStalenessOptimizer(self, max_staleness, mode)

    # ---- hooks for subclasses -------------------------------------------------------------------------------------

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Makes the slots of the variables; those of its rule, unless the class says otherwise."""
        for var in var_list:
            for slot, number in self._rule_slots().items():
                op_name = self._slot_op_name(slot)
                if number == 0:
                    self._zeros_slot(var, slot, op_name)
                else:
                    value = self._filled(var, number)
                    self._get_or_make_slot_with_initializer(var, value, None, None, slot, op_name)

    def _prepare(self) -> None:
        """Makes tensors of the hyperparameters; those of its rule, unless the class says otherwise."""
        if self._update_rule is not None:
            self._rule_tensors = {
                name: convert_to_tensor(
                    self._call_if_callable(value), preferred_dtype=dtypes.float32, name=name
                )
                for name, value in self._update_rule.numbers.items()
            }

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        if self._update_rule is not None:
            return apply_update(
                self._update_rule.name,
                self._rule_variables(var),
                self._rule_numbers(var),
                grad,
                self._use_locking,
            )
        raise TypeError(
            f"{type(self).__name__} does not say how to apply a dense gradient: implement _apply_dense(grad, var)."
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        if self._update_rule is not None:
            return sparse_apply_update(
                self._update_rule.name,
                self._rule_variables(var),
                self._rule_numbers(var),
                grad.values,
                grad.indices,
                self._use_locking,
            )
        raise TypeError(
            f"{type(self).__name__} does not say how to apply a sparse gradient: implement _apply_sparse(grad, var)."
        )

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        """Applies a sparse gradient in which rows may repeat, by adding up the repeated ones first."""
        return self._apply_sparse(unrepeated(grad), var)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        return group(*update_ops, name=name_scope)

    def _valid_dtypes(self) -> set[dtypes.DType]:
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    # ---- hooks for those that follow a rule -----------------------------------------------------------------------

    def _rule_slots(self) -> Mapping[str, float]:
        return {} if self._update_rule is None else self._update_rule.slots

    def _slot_op_name(self, slot: str) -> str:
        """The name of the slot's variable, after that of the variable it belongs to."""
        return self._name

    def _rule_numbers(self, var: Any) -> list[Tensor]:
        return [cast(tensor, var.dtype) for tensor in self._rule_tensors.values()]

    def _rule_variables(self, var: Any) -> list[Any]:
        return [var, *[self.get_slot(var, slot) for slot in self._rule_slots()]]

    # ---- helpers for subclasses -----------------------------------------------------------------------------------

    def _update(self, gradient: Any, variable: Any) -> Any:
        if isinstance(variable, Tensor):
            raise NotImplementedError(
                f"Trying to update a Tensor {variable}: gradients can be applied to variables only."
            )
        if isinstance(gradient, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return self._apply_sparse_duplicate_indices(gradient, variable)
        update = self._apply_dense(gradient, variable)
        if variable.constraint is None:
            return update
        with get_default_graph().control_dependencies([update]):
            return variable.assign(variable.constraint(variable.read_value()))

    def _check_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                raise ValueError(
                    f"Invalid type {tensor.dtype.name} for {tensor.name}, expected: {sorted(d.name for d in valid)}."
                )

    @staticmethod
    def _call_if_callable(param: Any) -> Any:
        return param() if callable(param) and not isinstance(param, Tensor) else param

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        value = (lambda: zeros(var.shape, dtype=var.dtype)) if is_known(var.shape) else self._filled(var, 0.0)
        return self._get_or_make_slot_with_initializer(var, value, None, None, slot_name, op_name)

    @staticmethod
    def _filled(var: Any, number: float) -> Callable[[], Tensor]:
        """The first value of a slot, as large as the variable, whose own first value says how large that is."""

        def value() -> Tensor:
            size = [int(d) for d in var.shape] if is_known(var.shape) else shape(var.initialized_value())
            return fill(size, convert_to_tensor(number, dtype=var.dtype))

        return value

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        slots = self._slot_dict(slot_name)
        var = whole(var)
        if var not in slots:
            slots[var] = make_slot(var, val, op_name)
        return slots[var]

    def _get_or_make_slot_with_initializer(
        self, var: Any, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Any:
        slots = self._slot_dict(slot_name)
        var = whole(var)
        if var not in slots:
            value = initializer if shape is None else lambda: initializer(shape, dtype=dtype)
            slots[var] = make_slot(var, value, op_name)
        return slots[var]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        graph = get_default_graph()
        key = (name, graph)
        if key not in self._non_slots:
            with get_distribution_strategy().colocate_vars_with(colocate_with):
                # Of the kind of the variable beside which it is.
                is_resource = variable_reads.is_resource(colocate_with.op.outputs[0])
                self._non_slots[key] = Variable(
                    initial_value, name=name, trainable=False, use_resource=is_resource
                )
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Any:
        return self._non_slots.get((name, graph or get_default_graph()))
