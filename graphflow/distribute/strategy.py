"""DistributionStrategy: what a strategy offers to model and library code, and the five methods that make one.

The interface is that of TensorFlow 1.10's towers, and so are the names with an underscore, which a strategy written for
it overrides. They are all derived from five methods; a new strategy overrides those of them that it does otherwise:

    tower_devices()                        which devices: one tower is built on each
    variable_devices(arguments)            where a variable lives: one copy on each
    reduce_towers(how, value, where)       how a value of each tower becomes one
    apply_update(copy, function, args)     how an update is applied to a copy of a variable
    split_dataset(dataset)                 how input is split between towers

Strategies build ordinary nodes of the graph: neither the plan nor the runtime knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.devices import name_of
from graphflow._core.graph.elements import Operation
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.flow_basics import group, operation_of
from graphflow._core.ops.math.reductions import reduce_mean, reduce_sum
from graphflow._core.ops.state.variable_creators import variable_creator_scope
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope
from graphflow.distribute.context import cross_tower, current, get_cross_tower_context, update_of
from graphflow.distribute.input import DistributedDataset, DistributedIterator, InputContext, made_by, split
from graphflow.distribute.reducers.base import ReduceOp, Reducer, aggregation_of, spread
from graphflow.distribute.reducers.one_device import ReductionToOneDevice
from graphflow.distribute.replicas import ReplicaNames
from graphflow.distribute.towers import Tower, call_in_towers
from graphflow.distribute.values import (
    DistributedValues,
    Mirrored,
    PerDevice,
    devices_from,
    regroup,
    select,
    whole,
)
from graphflow.distribute.variables import (
    DistributedVariable,
    MirroredVariable,
    TowerLocalVariable,
    make_copies,
)

if TYPE_CHECKING:
    from graphflow._core.cluster.cluster_spec import ClusterSpec
    from graphflow.config import ConfigProto

Device = Any
"""What gf.device takes: a name, a DeviceSpec, or a function of an operation."""

_AGGREGATIONS = (VariableAggregation.SUM, VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_TOWER)


class DistributionStrategy(ReplicaNames):
    """Says where towers and variables are, and how what the towers compute goes together.

    For users (tf.contrib.distribute.DistributionStrategy):

        with strategy.scope():
            iterator = strategy.distribute_dataset(dataset)
            train_ops = strategy.call_for_each_tower(tower_fn, iterator.get_next())
            train_op = gf.group(strategy.unwrap(train_ops))

    To write one, override methods of the first group. `reducer` does the reductions unless reduce_towers is overridden.
    """

    reducer: Reducer = ReductionToOneDevice()

    def __init__(self) -> None:
        """A derived class calls it."""

    # ---- the five methods that make a strategy --------------------------------------------------------------------

    def tower_devices(self) -> Sequence[str]:
        """The device of each tower.

        Returns:
            Names of devices, such as "/cpu:1" or "/job:worker/task:0"; a model is built once on each.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not say which devices it has: override tower_devices()."
        )

    def variable_devices(self, arguments: Mapping[str, Any]) -> Sequence[Device]:
        """The device of each copy of a variable. By default there is one copy, on the first tower's device.

        Args:
            arguments: Those of gf.Variable, by name.

        Returns:
            One device for a variable that all towers share, or as many as there are towers.
        """
        return [self.tower_devices()[0]]

    def reduce_towers(self, aggregation: int, value: PerDevice, destinations: Any) -> Any:
        """Reduces a value of each tower. By default `self.reducer` does.

        Args:
            aggregation: VariableAggregation.SUM or MEAN.
            value: The values, tensors of one dtype and shape or IndexedSlices, and their devices.
            destinations: Where the result is needed: a device, a list of devices, or a variable.

        Returns:
            A Mirrored; a tensor or IndexedSlices if that is one device.
        """
        return self.reducer.reduce(aggregation, value, destinations)

    def apply_update(self, copy: Any, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Applies an update to one copy of a variable. It is called on that copy's device.

        Args:
            copy: The copy.
            function: A function of the copy and `args` that builds the update, such as an assignment.
            args: Tensors for this copy.

        Returns:
            The operation or tensor that the function returns.
        """
        return function(copy, *args)

    def split_dataset(self, dataset: Any) -> Sequence[Any]:
        """Splits input between the towers of this program.

        Args:
            dataset: A gf.data.Dataset.

        Returns:
            A dataset for each tower; or a single one, whose elements go to the towers in turn.
        """
        return [dataset]

    # ---- for users --------------------------------------------------------------------------------------------------

    @contextmanager
    def scope(self) -> Iterator[DistributionStrategy]:
        """Puts the strategy in force: variables are made as it says. RuntimeError inside another strategy."""
        with ExitStack() as stack:
            context = current()
            if context is not None:
                if context.strategy is not self or context.tower is not None:
                    raise RuntimeError(
                        f"{type(self).__name__}.scope() inside the scope of {type(context.strategy).__name__}"
                        f"{'' if context.tower is None else ', in a tower'}: one strategy is in force at a time, so "
                        "leave that scope first. Code in a tower needs none."
                    )
                yield self
                return
            stack.enter_context(cross_tower(self))
            stack.enter_context(variable_creator_scope(self._created))
            if not self.is_single_tower:
                getter = variable_scope(
                    get_variable_scope(), custom_getter=_in_one_part, auxiliary_name_scope=False
                )
                stack.enter_context(getter)
            yield self

    def distribute_dataset(self, dataset: Any) -> DistributedDataset:
        """The dataset, or what a function without arguments makes, split between the towers.

        get_next() of the result, or of an iterator that its make_one_shot_iterator() or make_initializable_iterator()
        makes, gives each tower's element.

        Args:
            dataset: The dataset, or a function that makes it.
        """
        return split(self, dataset() if callable(dataset) else dataset)

    def make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: Any = None
    ) -> DistributedIterator:
        """An iterator over what an input function makes, whose initializer has to run.

        The dataset is taken as it is: its batches are a tower's, and the function itself takes its part of the data,
        such as `dataset.shard(context.num_input_pipelines, context.input_pipeline_id)`.

        Args:
            input_fn: A function of an InputContext that gives a gf.data.Dataset.
            replication_mode: Has no effect: the function is called once in a worker.
        """
        self._check_across("make_input_fn_iterator")
        return made_by(self, input_fn, self.input_contexts()).make_initializable_iterator()

    def input_contexts(self) -> list[InputContext]:
        """For which parts of the input this program calls an input function: one for all its towers, or one each."""
        return [InputContext(num_replicas_in_sync=self.num_towers)]

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """fn(*args, **kwargs) once in each tower, which gets its own part of PerDevice values.

        Gives the results as one structure, whose leaves are PerDevice values if the towers' differ. RuntimeError
        outside of the strategy's scope, and if a tower misses a merge_call that another makes.

        Args:
            fn: The function.
            *args: Its arguments.
            **kwargs: Its arguments by name.
        """
        self._check_across("call_for_each_tower")
        kwargs.pop("run_concurrently", None)
        return self._call_for_each_tower(fn, *args, **kwargs)

    def unwrap(self, value: Any) -> list[Any]:
        """The values of a distributed value or variable, one a tower or copy; a list of itself for anything else.

        Args:
            value: A value by device.
        """
        return list(self._unwrap(value))

    def group(self, value: Any, name: str | None = None) -> Operation:
        """One operation for those of a distributed value.

        Args:
            value: Operations by device.
            name: A name for the operation.
        """
        return self._group(value, name)

    def reduce(
        self, aggregation: int | ReduceOp | str, value: Any, destinations: Any = None, axis: int | None = None
    ) -> Any:
        """The towers' values put together: VariableAggregation.SUM, MEAN or ONLY_FIRST_TOWER.

        Args:
            aggregation: Of gf.VariableAggregation, or a gf.distribute.ReduceOp.
            value: A value by device.
            destinations: a device, devices or a variable, where the result shall be; by default on all
                towers' devices.
            axis: An axis of each value to put together, too, of which all towers have as many; None for none.
        """
        self._check_across("reduce")
        kind = _checked_aggregation(aggregation)
        if axis is not None:
            along = reduce_mean if kind == VariableAggregation.MEAN else reduce_sum
            value = self.call_for_each_tower(along, value, axis)
        return self._reduce(kind, value, destinations)

    def batch_reduce(
        self, aggregation: int | ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """reduce() of several (value, destinations), which the strategy may do together.

        Args:
            aggregation: Of gf.VariableAggregation, or a gf.distribute.ReduceOp.
            value_destination_pairs: Pairs of a value by device and where it is wanted.
        """
        self._check_across("batch_reduce")
        kind = _checked_aggregation(aggregation)
        return list(self._batch_reduce(kind, list(value_destination_pairs)))

    def broadcast(self, tensor: Any, destinations: Any = None) -> Any:
        """The tensor on all devices of `destinations`, by default those of all towers.

        Args:
            tensor: The tensor.
            destinations: Where it is wanted.
        """
        self._check_across("broadcast")
        return self._broadcast(tensor, destinations)

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """fn(copy, *args, **kwargs) for each copy of a variable, on its device, with its part of mirrored arguments.

        Args:
            var: The variable.
            fn: A function of a copy.
            *args: Its arguments.
            **kwargs: Its arguments by name.
        """
        self._check_across("update")
        if any(isinstance(value, PerDevice) for value in args) and not isinstance(var, TowerLocalVariable):
            raise TypeError(
                f"{type(self).__name__}.update() of {var.name!r} was given a value of each tower. These may differ, "
                "and the copies of a variable have to stay equal: reduce() them to the variable first."
            )
        return self._update(var, fn, *args, **kwargs)

    def update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """fn(*args, **kwargs) on each of the devices that non_slot_devices() gave.

        Args:
            colocate_with: Where.
            fn: The function.
            *args: Its arguments.
            **kwargs: Its arguments by name.
        """
        self._check_across("update_non_slot")
        return self._update_non_slot(colocate_with, fn, *args, **kwargs)

    def read_var(self, v: Any) -> Any:
        """A tensor of a variable's value; of a tower-local one across the towers what its copies come to.

        Args:
            v: The variable.
        """
        return v.read_value() if isinstance(v, TowerLocalVariable) else identity(v)

    def value_container(self, value: Any) -> Any:
        """The variable that a copy belongs to; the value itself if it is none.

        Args:
            value: A copy of a variable.
        """
        return whole(value)

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """Puts variables made inside on the device, or the devices, of another variable.

        Args:
            colocate_with_variable: The variable.
        """
        place = partial(_with_place, colocate_with_variable)
        with variable_creator_scope(place):
            yield

    @property
    def num_towers(self) -> int:
        """How many towers take part in a step."""
        return len(self.tower_devices())

    @property
    def num_replicas_in_sync(self) -> int:
        """How many towers take part in a step, by the name of tf.distribute."""
        return self.num_towers

    @property
    def is_single_tower(self) -> bool:
        """Whether one tower alone takes part in a step."""
        return self.num_towers == 1

    @property
    def worker_devices(self) -> list[str]:
        """The devices of this program's towers."""
        return [name_of(device) for device in self.tower_devices()]

    @property
    def worker_device_index(self) -> dict[str, int]:
        """The number of each of the worker devices."""
        return {device: index for index, device in enumerate(self.worker_devices)}

    @property
    def parameter_devices(self) -> list[str]:
        """The devices that have variables."""
        return [name_of(device) for device in self.variable_devices({}) if not callable(device)]

    @property
    def should_init(self) -> bool:
        """Whether this program has to run initializers: not if another one does so for all."""
        return True

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Where variables are that belong to all of the given ones: devices, or one of these variables.

        Args:
            var_list: The variables.
        """
        first = min(var_list, key=lambda variable: str(variable.name))
        return first.devices if isinstance(first, DistributedVariable) else first

    def configure(
        self,
        session_config: ConfigProto | None = None,
        cluster_spec: ClusterSpec | Mapping[str, Any] | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        """Tells it the session's configuration, the cluster and this program's task, before any scope is opened.

        Args:
            session_config: A gf.ConfigProto, which is changed.
            cluster_spec: The cluster.
            task_type: The job of this task.
            task_id: Its index.
        """

    def training_optimizer(self, optimizer: Any) -> Any:
        """The optimizer to train with: the same, or one that knows of other programs if several train together.

        Args:
            optimizer: The optimizer.
        """
        return optimizer

    # ---- TensorFlow's names for what a strategy does; derived from the five methods --------------------------------

    def _create_variable(self, next_creator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        place = kwargs.pop("colocate_with", None)
        towers = self.tower_devices()
        if kwargs.get("synchronization") == VariableSynchronization.ON_READ and len(towers) > 1:
            return make_copies(TowerLocalVariable, _places(towers), next_creator, kwargs)
        if isinstance(place, DistributedVariable):
            beside = [partial(_beside, copy) for copy in place.copies]
            return make_copies(MirroredVariable, beside, next_creator, kwargs)
        if place is not None:
            with _beside(place):
                return next_creator(*args, **kwargs)
        devices = self.variable_devices(kwargs)
        together = len(towers) > 1 and kwargs.get("aggregation") not in (None, VariableAggregation.NONE)
        if len(devices) > 1 or together:
            return make_copies(MirroredVariable, _places(devices), next_creator, kwargs)
        with get_default_graph().device(devices[0]):
            return next_creator(*args, **kwargs)

    def _call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return call_in_towers(self, self.tower_devices(), fn, args, kwargs)

    def _unwrap(self, value: Any) -> Sequence[Any]:
        if isinstance(value, DistributedValues):
            return value.values
        return value.copies if isinstance(value, DistributedVariable) else [value]

    def _group(self, value: Any, name: str | None) -> Operation:
        values = [item for item in self.unwrap(value) if item is not None]
        if len(values) == 1 and name is None:
            return operation_of(values[0])
        return group(*values, name=name)

    def _reduce(self, aggregation: int, value: Any, destinations: Any) -> Any:
        where = list(self.tower_devices()) if destinations is None else destinations
        if isinstance(value, PerDevice):
            if aggregation == VariableAggregation.ONLY_FIRST_TOWER:
                return self._broadcast(value.values[0], where)
            return self.reduce_towers(aggregation, value, where)
        if isinstance(value, Mirrored):
            value = value.values[0]
        if (
            isinstance(self._of_one_tower(value), PerDevice)
            and aggregation != VariableAggregation.ONLY_FIRST_TOWER
        ):
            return self.reduce_towers(aggregation, self._of_one_tower(value), where)
        if aggregation == VariableAggregation.SUM and not self._has_one_tower():
            value = value * len(self.tower_devices())
        return self._broadcast(value, where) if hasattr(value, "dtype") else value

    def _batch_reduce(
        self, aggregation: int, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> Sequence[Any]:
        own = (
            type(self).reduce_towers is not DistributionStrategy.reduce_towers
            or type(self)._reduce is not DistributionStrategy._reduce
        )
        if own or aggregation == VariableAggregation.ONLY_FIRST_TOWER:
            return [self._reduce(aggregation, value, where) for value, where in value_destination_pairs]
        pairs = [(self._of_one_tower(value), where) for value, where in value_destination_pairs]
        if not all(isinstance(value, PerDevice) for value, _ in pairs):
            return [self._reduce(aggregation, value, where) for value, where in pairs]
        return self.reducer.batch_reduce(aggregation, pairs)

    def _broadcast(self, tensor: Any, destinations: Any) -> Any:
        return spread(
            tensor, devices_from(list(self.tower_devices()) if destinations is None else destinations)
        )

    def _update(self, var: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        copies = self.unwrap(var)
        results = []
        for index, copy in enumerate(copies):
            function = partial(fn, **select(index, kwargs)) if kwargs else fn
            with ExitStack() as stack:
                stack.enter_context(update_of(self, index))
                stack.enter_context(_beside(copy))
                if index:
                    stack.enter_context(get_default_graph().name_scope(f"update_{index}"))
                results.append(self.apply_update(copy, function, select(index, list(args))))
        return results[0] if len(copies) == 1 else regroup(results, devices_from(var), Mirrored)

    def _update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not isinstance(colocate_with, list):
            colocate_with = [colocate_with]
        results = []
        for index, place in enumerate(colocate_with):
            scope = _beside(place) if hasattr(place, "op") else get_default_graph().device(place)
            with update_of(self, index), scope:
                results.append(fn(*select(index, list(args)), **select(index, kwargs)))
        return results[0] if len(results) == 1 else regroup(results, devices_from(colocate_with), Mirrored)

    # ---- shared -----------------------------------------------------------------------------------------------------

    def _created(self, next_creator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        context = current()
        make = partial(self._create_variable, next_creator, *args, **kwargs)
        if context is not None and isinstance(context.tower, Tower):
            return context.tower.variable(kwargs.get("name"), kwargs.get("initial_value"), make)
        return make()

    def _of_one_tower(self, value: Any) -> Any:
        """A tensor of the only tower of this program as a PerDevice; other programs may have towers, too."""
        single = (
            self._has_one_tower() and not isinstance(value, DistributedValues) and hasattr(value, "dtype")
        )
        return PerDevice([value], self.tower_devices()) if single else value

    def _has_one_tower(self) -> bool:
        return len(self.tower_devices()) == 1

    def _check_across(self, what: str) -> None:
        if get_cross_tower_context() is not self:
            raise RuntimeError(
                f"{type(self).__name__}.{what}() has to be called in the strategy's scope and outside of a tower: put "
                "it in `with strategy.scope():`, or, in a tower, in a merge_call."
            )


def _checked_aggregation(aggregation: int | ReduceOp | str) -> int:
    kind = aggregation_of(aggregation)
    if kind not in _AGGREGATIONS:
        raise ValueError(
            f"aggregation must be VariableAggregation.SUM, MEAN or ONLY_FIRST_TOWER, got {aggregation!r}."
        )
    return kind


def _places(devices: Sequence[Device]) -> list[Callable[[], AbstractContextManager[None]]]:
    graph = get_default_graph()
    return [partial(graph.device, device) for device in devices]


def _beside(variable: Any) -> AbstractContextManager[None]:
    """Inside, operations are built on the device of a variable."""
    return get_default_graph().colocate_with(variable.op)


def _with_place(place: Any, next_creator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    kwargs.setdefault("colocate_with", place)
    return next_creator(*args, **kwargs)


def _in_one_part(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Makes a variable in one part: copies have no parts."""
    kwargs["partitioner"] = None
    try:
        return getter(*args, **kwargs)
    except ValueError as error:
        context = current()
        if context is None or not context.index:
            raise
        raise ValueError(
            f"Tower {context.index}: {error} Every tower shares the variables of tower 0, so it has to ask for the "
            "same, with the same shapes."
        ) from error
