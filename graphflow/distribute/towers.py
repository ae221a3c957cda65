"""Builds the towers: calls a function once for each, and brings the towers together if they merge.

Each tower runs in a thread of its own, because the function may merge deep inside of what it calls; but only one thread
runs at a time, handed on by locks, so the order is always the same: every tower in turn up to its next merge_call, then
the merge. A tower that ends while another waits in a merge_call is an error that names both.
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

import numpy as np

from graphflow._core.graph import shapes
from graphflow._core.graph.defaults import get_default_graph, get_default_session, push_session
from graphflow._core.graph.elements import Tensor, user_line
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.state.variable_scope import ScopeSettings, scopes_of
from graphflow.distribute.context import Strategy, TowerContext, cross_tower
from graphflow.distribute.values import DistributedValues, regroup, select
from graphflow.nest import flatten

OWN_COLLECTIONS: Final = (GraphKeys.LOSSES, GraphKeys.UPDATE_OPS, GraphKeys.REGULARIZATION_LOSSES)
"""Collections of which a tower sees what it added itself: a total loss is that of one tower."""


class _Stopped(BaseException):
    """Ends a tower's thread when another tower has failed."""


class _Merge:
    """A tower's merge_call, waiting for those of the others."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.line: tuple[str, int] = user_line()

    def __str__(self) -> str:
        file, line = self.line
        return f"merge_call({getattr(self.function, '__qualname__', self.function)}) at {file}:{line}"

    def same_as(self, other: _Merge) -> bool:
        """Whether both towers want the same merged."""
        return (
            _code(self.function) is _code(other.function)
            and len(self.args) == len(other.args)
            and self.kwargs.keys() == other.kwargs.keys()
        )


def _code(function: Any) -> Any:
    """A key that tells functions apart when each tower has made its own."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", function)


class Tower(TowerContext):
    """One of several towers, with its thread and the two locks that hand control over."""

    def __init__(self, strategy: Strategy, tower_id: int, device: str, function: Callable[[], Any]) -> None:
        super().__init__(strategy, tower_id)
        self._place = device
        self._function = function
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._stopped = False
        self._graph = get_default_graph()
        self._scopes = self._graph.scopes.snapshot()
        holder = scopes_of(self._graph).threads
        self._variable_scope = holder.current
        self.opened: dict[str, int] = dict(holder.opened)
        self._session = get_default_session()
        self.first: Tower = self
        self.merge: _Merge | None = None
        self.answer: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.at_merge: dict[str, Any] = {}
        self.scope_at_merge: Any = None
        self.own: dict[str, list[Any]] = {key: [] for key in OWN_COLLECTIONS}
        self.made: dict[Any, list[Any]] = {}
        """The variables that it made other than by get_variable, by the name asked for, in order."""
        self.shared: dict[Any, int] = {}
        """How many of these, of the first tower, it has shared."""
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._run,), daemon=True, name=f"tower {tower_id}"
        )

    @property
    def device(self) -> str:
        """The device of the tower."""
        return self._place

    # ---- called by the builder --------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Lets the tower run up to its next merge_call or its end."""
        self.merge = None
        if self._thread.ident is None:
            self._thread.start()
        self._go.release()
        self._back.acquire()

    def stop(self) -> None:
        """Ends the thread of a tower that waits in a merge_call."""
        if self.merge is not None and self._thread.is_alive():
            self._stopped = True
            self._go.release()
            self._thread.join()

    # ---- variables --------------------------------------------------------------------------------------------------

    def variable(self, name: str | None, initial_value: Any, make: Callable[[], Any]) -> Any:
        """The variable that this tower asks for: the first one makes it, the others share it.

        Which is which follows from the name asked for, and the order. RuntimeError if the first has made none, or
        one of another shape.
        """
        if self.first is self:
            made = make()
            self.made.setdefault(name, []).append(made)
            return made
        stored = scopes_of(self._graph).store
        known = [variable for variable in self.first.made.get(name, ()) if not stored.holds(variable)]
        position = self.shared.get(name, 0)
        file, line = user_line()
        if position >= len(known):
            raise RuntimeError(
                f"Tower {self._tower_id} makes a variable {name!r} at {file}:{line} that tower 0 has not made. Every "
                "tower has to make the same variables in the same order."
            )
        self.shared[name] = position + 1
        found = known[position]
        wanted = _dims_of(initial_value)
        if not shapes.compatible(wanted, found.dims):
            raise RuntimeError(
                f"Tower {self._tower_id} makes a variable {name!r} of shape {shapes.text(wanted)} at {file}:{line}, "
                f"but that of tower 0 has shape {shapes.text(found.dims)}. Every tower has to make the same variables "
                "in the same order."
            )
        return found

    # ---- in the tower's thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._go.acquire()
        try:
            graph = self._graph
            graph.scopes.take_over(self._scopes)
            if self._session is not None:
                push_session(self._session)
            holder = scopes_of(graph).threads
            holder.current, holder.opened = self._variable_scope, self.opened
            if self._tower_id:
                holder.current = ScopeSettings(reuse=True).scope(
                    holder.current, holder.current.name, holder.current.original_name_scope
                )
                graph.scopes.seen = set()
            with ExitStack() as stack:
                stack.enter_context(graph.as_default())
                if self._tower_id:
                    stack.enter_context(graph.name_scope(f"tower_{self._tower_id}"))
                stack.enter_context(graph.device(self._place))
                stack.enter_context(self)
                self.result = self._function()
            self.opened = holder.opened
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self._back.release()

    def merge_call(self, merge_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Waits for the other towers, and gives this one's part of merge_fn's result."""
        scopes = self._graph.scopes
        if threading.current_thread() is not self._thread:
            raise RuntimeError(
                f"merge_call() of tower {self._tower_id} was called outside of that tower: ask get_tower_context()."
            )
        if scopes.context is not self._scopes["context"]:
            raise RuntimeError(
                "merge_call() inside a branch or a loop of the graph, such as gf.cond: the towers can merge only "
                "outside of these. An optimizer's apply_gradients() and a write to a mirrored variable merge, too."
            )
        self.at_merge = scopes.snapshot()
        self.scope_at_merge = scopes_of(self._graph).threads.current
        self.merge = _Merge(merge_fn, args, kwargs)
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise _Stopped
        return self.answer


def _dims_of(initial_value: Any) -> shapes.Dims:
    """The shape of a variable with an initial value; unknown if the value is still to be computed."""
    if initial_value is None or callable(initial_value):
        return None
    return initial_value.dims if isinstance(initial_value, Tensor) else np.shape(initial_value)


def call_in_towers(
    strategy: Strategy,
    devices: Sequence[str],
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """function(*args, **kwargs) once for each device, with the tower's own part of what is distributed.

    Gives the results as one structure of PerDevice values.
    """
    graph = get_default_graph()
    if len(devices) == 1:
        with graph.device(devices[0]), TowerContext(strategy, 0):
            return function(*select(0, list(args)), **select(0, dict(kwargs)))
    _check_counts(strategy, len(devices), [args, kwargs])
    towers = [
        Tower(
            strategy,
            index,
            device,
            functools.partial(function, *select(index, list(args)), **select(index, dict(kwargs))),
        )
        for index, device in enumerate(devices)
    ]
    for tower in towers[1:]:
        tower.first = towers[0]
    collections = _Collections(graph)
    try:
        while True:
            for tower in towers:
                collections.show(tower)
                tower.advance()
                collections.keep(tower)
                if tower.error is not None:
                    raise tower.error
            if not _agree(towers):
                break
            collections.show_all(towers)
            _merge(strategy, graph, devices, towers)
            collections.keep_rest(towers)
    finally:
        for tower in towers:
            tower.stop()
        collections.show_all(towers)
        collections.drop_empty()
    scopes_of(graph).threads.opened = towers[0].opened
    return regroup([tower.result for tower in towers], devices)


def _check_counts(strategy: Strategy, towers: int, arguments: Any) -> None:
    for leaf in flatten(arguments):
        if isinstance(leaf, DistributedValues) and len(leaf.values) not in (1, towers):
            raise ValueError(
                f"{type(strategy).__name__}.call_for_each_tower(): an argument has {len(leaf.values)} values, for "
                f"{towers} towers: {leaf!r}. Give one for each tower."
            )


def _agree(towers: Sequence[Tower]) -> bool:
    """Whether all towers wait in the same merge_call; False if all have ended. RuntimeError otherwise."""
    waiting = [tower for tower in towers if tower.merge is not None]
    if not waiting:
        return False
    ended = [tower for tower in towers if tower.merge is None]
    if ended:
        raise RuntimeError(
            f"Tower {ended[0].tower_id} returned without the {waiting[0].merge} that tower {waiting[0].tower_id} "
            "makes. Every tower has to make the same merge_calls in the same order; an optimizer's apply_gradients() "
            "and writes to mirrored variables make one, too."
        )
    first = waiting[0]
    assert first.merge is not None
    for other in waiting[1:]:
        assert other.merge is not None
        if not first.merge.same_as(other.merge):
            raise RuntimeError(
                f"Tower {first.tower_id} makes {first.merge}, but tower {other.tower_id} makes {other.merge}. Every "
                "tower has to make the same merge_calls in the same order."
            )
    return True


def _merge(strategy: Strategy, graph: Graph, devices: Sequence[str], towers: Sequence[Tower]) -> None:
    """Calls the merge function once, where the first tower is, and gives each tower its part."""
    merges = [tower.merge for tower in towers if tower.merge is not None]
    args = regroup([tuple(merge.args) for merge in merges], devices)
    kwargs = regroup([dict(merge.kwargs) for merge in merges], devices)
    scopes, holder = graph.scopes, scopes_of(graph).threads
    before, variable_scope = scopes.snapshot(), holder.current
    frames = dict.fromkeys(frame for tower in towers for frame in tower.at_merge["control"])
    scopes.take_over({"name": towers[0].at_merge["name"], "control": tuple(frames)})
    scopes.loss_reduction = towers[0].at_merge["loss_reduction"]
    holder.current = towers[0].scope_at_merge
    try:
        with cross_tower(strategy):
            result = merges[0].function(strategy, *args, **kwargs)
    finally:
        scopes.take_over(before)
        holder.current = variable_scope
    for tower in towers:
        tower.answer = select(tower.tower_id, result)


class _Collections:
    """Shows each tower its own losses and updates, and puts those of all towers together in the end."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._lists = {key: graph.get_collection_ref(key) for key in OWN_COLLECTIONS}
        self._common = {key: list(items) for key, items in self._lists.items()}

    def show(self, tower: Tower) -> None:
        """Shows what was there before the towers, and the tower's own."""
        for key, items in self._lists.items():
            items[:] = self._common[key] + tower.own[key]

    def keep(self, tower: Tower) -> None:
        """Takes over what the tower added."""
        for key, items in self._lists.items():
            tower.own[key] = items[len(self._common[key]) :]

    def show_all(self, towers: Sequence[Tower]) -> None:
        """Shows all that there is."""
        for key, items in self._lists.items():
            items[:] = self._common[key] + [item for tower in towers for item in tower.own[key]]

    def drop_empty(self) -> None:
        """Takes away collections that nobody has used."""
        for key, items in self._lists.items():
            if not items:
                self._graph.clear_collection(key)

    def keep_rest(self, towers: Sequence[Tower]) -> None:
        """Takes over what a merge function added."""
        for key, items in self._lists.items():
            own = sum(len(tower.own[key]) for tower in towers)
            self._common[key] += items[len(self._common[key]) + own :]
