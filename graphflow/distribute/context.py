"""The context of code: inside a tower, across all towers, in an update of one copy of a variable, or under no strategy.

Each graph keeps a stack of these per thread, among its scopes. Library code asks for the context and works under any
strategy: `get_tower_context().merge_call(...)` goes from a tower to all of them. Under no strategy there is a default
one, with one tower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.core import constant
from graphflow._core.ops.state.variable_proto import VariableAggregation


class Strategy(Protocol):
    """The interface of the strategy in force, for all code; DistributionStrategy says more."""

    @property
    def num_towers(self) -> int: ...

    @property
    def is_single_tower(self) -> bool: ...

    @property
    def worker_devices(self) -> list[str]: ...

    @property
    def worker_device_index(self) -> dict[str, int]: ...

    @property
    def parameter_devices(self) -> list[str]: ...

    @property
    def should_init(self) -> bool: ...

    def scope(self) -> AbstractContextManager[Any]: ...

    def distribute_dataset(self, dataset: Any) -> Any: ...

    def split_dataset(self, dataset: Any) -> Sequence[Any]: ...

    def call_for_each_tower(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    def unwrap(self, value: Any) -> list[Any]: ...

    def group(self, value: Any, name: str | None = None) -> Operation: ...

    def reduce(self, aggregation: int, value: Any, destinations: Any = None) -> Any: ...

    def batch_reduce(
        self, aggregation: int, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]: ...

    def broadcast(self, tensor: Any, destinations: Any = None) -> Any: ...

    def update(self, var: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any: ...

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any: ...

    def read_var(self, v: Any) -> Any: ...

    def value_container(self, value: Any) -> Any: ...

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[None]: ...

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any: ...

    def training_optimizer(self, optimizer: Any) -> Any: ...


class Context:
    """An entry of the stack: the tower, or the index of the copy that is updated, or neither."""

    def __init__(
        self, strategy: Strategy, tower: TowerContext | None = None, copy: int | None = None
    ) -> None:
        self.strategy = strategy
        self.tower = tower
        self.copy = copy

    @property
    def index(self) -> int | None:
        """Which copy of a variable or a value is meant here; None across towers."""
        return self.copy if self.tower is None else self.tower.tower_id


class TowerContext:
    """The interface of a tower, for the code inside (tf.contrib.distribute.TowerContext). A context manager.

    Args:
        distribution_strategy: Whose tower it is.
        tower_id: From 0 to num_towers - 1.
    """

    def __init__(self, distribution_strategy: Strategy, tower_id: int) -> None:
        self._strategy = distribution_strategy
        self._tower_id = tower_id
        self._entered: list[Any] = []

    @property
    def distribution_strategy(self) -> Strategy:
        """The strategy."""
        return self._strategy

    @property
    def tower_id(self) -> int:
        """Which of the towers this is."""
        return self._tower_id

    @property
    def num_towers(self) -> int:
        """How many towers there are."""
        return self._strategy.num_towers

    @property
    def strategy(self) -> Strategy:
        """The strategy, by the name of tf.distribute."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many towers there are, by the name of tf.distribute."""
        return self._strategy.num_towers

    @property
    def replica_id_in_sync_group(self) -> Tensor:
        """Which of the towers this is, an int32 scalar, by the name of tf.distribute."""
        return constant(self._tower_id, dtypes.int32)

    @property
    def is_single_tower(self) -> bool:
        """Whether it is the only one."""
        return self._strategy.is_single_tower

    @property
    def device(self) -> str:
        """The device of the tower."""
        return self._strategy.worker_devices[self._tower_id]

    def merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls merge_fn(strategy, *args, **kwargs) once for all towers, outside of any tower, and gives its result.

        Every tower has to make the same call; their arguments become one PerDevice each. Of what merge_fn returns,
        each tower gets its own. RuntimeError, naming the towers, if one does not come. This one has a single tower.

        Args:
            merge_fn: A function of the strategy and of values by device.
            *args: Its arguments.
            **kwargs: Its arguments by name.
        """
        with cross_tower(self._strategy):
            return merge_fn(self._strategy, *args, **kwargs)

    def __enter__(self) -> TowerContext:
        entered = pushed(Context(self._strategy, self))
        self._entered.append(entered)
        entered.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


@contextmanager
def pushed(context: Context) -> Iterator[Context]:
    """Puts a context on the stack of the default graph."""
    scopes = get_default_graph().scopes
    outer = scopes.distribution
    scopes.distribution = (*outer, context)
    try:
        yield context
    finally:
        scopes.distribution = outer


@contextmanager
def cross_tower(strategy: Strategy) -> Iterator[None]:
    """Outside of any tower of a strategy."""
    with pushed(Context(strategy)):
        yield


@contextmanager
def update_of(strategy: Strategy, copy: int) -> Iterator[None]:
    """In the update of one copy of a variable: what has copies stands for the copy of the same index."""
    with pushed(Context(strategy, copy=copy)):
        yield


def current(graph: Graph | None = None) -> Context | None:
    """The innermost context, or None under no strategy."""
    stack = (get_default_graph() if graph is None else graph).scopes.distribution
    return stack[-1] if stack else None


_default: list[TowerContext] = []


def install_default(strategy: Strategy) -> None:
    """Says which strategy is in force under no other; graphflow.distribute does so when it is imported."""
    _default[:] = [TowerContext(strategy, 0)]


def _default_context() -> TowerContext:
    return _default[0]


def get_tower_context() -> TowerContext | Any:
    """The tower that is being built; None across towers (tf.contrib.distribute.get_tower_context).

    Under no strategy that is the only tower of the default strategy.
    """
    context = current()
    return _default_context() if context is None else context.tower


def get_cross_tower_context() -> Strategy | Any:
    """The strategy, outside of its towers; None inside one (tf.contrib.distribute.get_cross_tower_context)."""
    context = current()
    return None if context is None or context.tower is not None else context.strategy


def get_distribution_strategy() -> Strategy:
    """The strategy in force, or the default one (tf.contrib.distribute.get_distribution_strategy)."""
    context = current()
    return _default_context().distribution_strategy if context is None else context.strategy


def has_distribution_strategy() -> bool:
    """Whether code is under a strategy other than the default (tf.contrib.distribute.has_distribution_strategy)."""
    return get_distribution_strategy() is not _default_context().distribution_strategy


def one_of_several_towers() -> TowerContext | None:
    """The tower that is being built, if there are others; otherwise None."""
    context = current()
    return None if context is None or context.strategy.is_single_tower else context.tower


def get_loss_reduction() -> int:
    """How the towers' losses go together: SUM if the last loss was a sum, otherwise MEAN.

    VariableAggregation.SUM or MEAN (tf.contrib.distribute.get_loss_reduction).
    """
    summed = get_default_graph().scopes.loss_reduction == "weighted_sum"
    return VariableAggregation.SUM if summed else VariableAggregation.MEAN
