"""What a strategy does by the names of tf.distribute, where a tower is a replica; all of it is said by towers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow.distribute.context import Strategy

_AGGREGATIONS: Mapping[str, int] = {"SUM": VariableAggregation.SUM, "MEAN": VariableAggregation.MEAN}


def _aggregation(reduce_op: Any) -> int:
    """How values go together, as SUM, "sum" or tf.distribute.ReduceOp.SUM say; ValueError for anything else."""
    name = getattr(reduce_op, "name", reduce_op)
    if isinstance(name, str) and name.upper() in _AGGREGATIONS:
        return _AGGREGATIONS[name.upper()]
    if reduce_op in _AGGREGATIONS.values():
        return int(reduce_op)
    raise ValueError(f'reduce_op is "SUM" or "MEAN", got {reduce_op!r}.')


class StrategyExtended:
    """What library code asks of a strategy (tf.distribute.StrategyExtended), which has it by the names of towers.

    Args:
        strategy: The strategy.
    """

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of this program's replicas."""
        return tuple(self._strategy.worker_devices)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that have variables."""
        return tuple(self._strategy.parameter_devices)

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """fn(*args, **kwargs) once in each replica, which gets its own part of values by replica.

        Args:
            fn: The function.
            args: Its arguments.
            kwargs: Its arguments by name.

        Returns:
            The results as one structure, whose leaves are values by replica where they differ.

        Raises:
            RuntimeError: Outside of the strategy's scope.
        """
        return self._strategy.call_for_each_tower(fn, *args, **(kwargs or {}))

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The replicas' values put together.

        Args:
            reduce_op: "SUM" or "MEAN".
            value: A value by replica.
            destinations: A device, devices or a variable, where the result shall be.

        Returns:
            The result, by device.

        Raises:
            ValueError: For another reduction.
        """
        return self._strategy.reduce(_aggregation(reduce_op), value, destinations)

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """As reduce_to for several values, which the strategy may reduce together.

        Args:
            reduce_op: "SUM" or "MEAN".
            value_destination_pairs: Pairs of a value by replica and where it is wanted.

        Returns:
            The results.

        Raises:
            ValueError: For another reduction.
        """
        return self._strategy.batch_reduce(_aggregation(reduce_op), value_destination_pairs)

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """The tensor on all devices of `destinations`.

        Args:
            tensor: The tensor.
            destinations: Where it is wanted.

        Returns:
            The tensor by device.
        """
        return self._strategy.broadcast(tensor, destinations)

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """fn(copy, *args, **kwargs) for each copy of a variable, on its device.

        Args:
            var: The variable.
            fn: A function of a copy.
            args: Its arguments, of which each copy gets its part.
            kwargs: Its arguments by name.
            group: Whether the results become one operation.

        Returns:
            That operation, or the results by copy.
        """
        found = self._strategy.update(var, fn, *args, **(kwargs or {}))
        return self._strategy.group(found) if group else self._strategy.unwrap(found)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """fn(*args, **kwargs) on each of the devices that non_slot_devices() gave.

        Args:
            colocate_with: Where.
            fn: The function.
            args: Its arguments.
            kwargs: Its arguments by name.
            group: Whether the results become one operation.

        Returns:
            That operation, or the results by device.
        """
        found = self._strategy.update_non_slot(colocate_with, fn, *args, **(kwargs or {}))
        return self._strategy.group(found) if group else self._strategy.unwrap(found)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Where variables are that belong to all of the given ones.

        Args:
            var_list: The variables.

        Returns:
            Devices, or one of the variables.
        """
        return self._strategy.non_slot_devices(var_list)

    def value_container(self, value: Any) -> Any:
        """The variable that a copy belongs to; the value itself if it is none.

        Args:
            value: A copy of a variable.

        Returns:
            The variable.
        """
        return self._strategy.value_container(value)

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[None]:
        """Puts variables made inside on the device, or the devices, of another variable.

        Args:
            colocate_with_variable: The variable.

        Returns:
            A context manager.
        """
        return self._strategy.colocate_vars_with(colocate_with_variable)


class ReplicaNames:
    """The methods of a strategy that have the names of tf.distribute."""

    @property
    def extended(self) -> StrategyExtended:
        """What library code asks of the strategy, by the names of tf.distribute."""
        return StrategyExtended(self._by_towers)

    @property
    def _by_towers(self) -> Strategy:
        return cast(Strategy, self)

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """fn(*args, **kwargs) once in each replica, in the strategy's scope.

        Args:
            fn: The function.
            args: Its arguments, of which each replica gets its part.
            kwargs: Its arguments by name.

        Returns:
            The results as one structure, whose leaves are values by replica where they differ.
        """
        with self._by_towers.scope():
            return self._by_towers.call_for_each_tower(fn, *args, **(kwargs or {}))

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """fn(element) once in each replica, in the strategy's scope.

        Args:
            fn: The function; of no argument if there is no iterator.
            input_iterator: What make_input_fn_iterator gave, or None.

        Returns:
            The results as one structure, whose leaves are values by replica where they differ.
        """
        with self._by_towers.scope():
            args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of a distributed value, one a replica of this program; of anything else itself alone.

        Args:
            value: A value by replica.

        Returns:
            The values.
        """
        return tuple(self._by_towers.unwrap(value))
