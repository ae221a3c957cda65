"""Session: runs parts of a graph, and holds the values of its variables.

A plan is made once for each combination of fetches and fed tensors and kept; a run of a kept plan looks up one
dictionary, checks the feeds and calls one function.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any, Final, NoReturn
from weakref import WeakSet

import graphflow.errors as errors
from graphflow._core.common.records import dataclass
from graphflow._core.common.shown.graphs import facts_html
from graphflow._core.compiler.reasons import label
from graphflow._core.fetches import Fetches, expand_feeds, feed_array, fetch_key
from graphflow._core.graph import defaults
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.random_seed import gives_the_same
from graphflow._core.graph.this_process import OfThisProcess
from graphflow._core.plan.ir import Plan, walk
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.devices import DeviceAttributes, device_attributes, device_names
from graphflow._core.runtime.executable import Executable, carry_out
from graphflow._core.runtime.growth import GrowthWatch
from graphflow._core.runtime.partial_runs import PartialRuns
from graphflow._core.runtime.planner import Planner
from graphflow._core.runtime.profiling.tier_notes import tier_notes
from graphflow._core.runtime.trace import Recorder
from graphflow._core.session_graph import SessionGraph, name_operations, operations_named
from graphflow.config import ConfigProto, RunMetadata, RunOptions

_TASK = "/job:localhost/replica:0/task:0"


class ClosedSessionError(RuntimeError):
    """A session was used after it was closed."""


@dataclass
class _Prepared:
    """A cached plan for one combination of fetches and fed tensors."""

    executable: Executable
    rebuild: Callable[[Sequence[Any]], Any]
    feeds: list[Tensor]
    changes: int
    stamp: int
    """The graph's stamp when it was last seen to be still right; none if the feeds have to be taken apart."""


Watcher = Callable[[str, Executable, Callable[[], Executable]], Executable]
"""Gives what runs a plan from now on: (what the plan is run for, what runs it, makes what runs it traced)."""

WATCHERS: Final[list[Watcher]] = []
"""Asked once for each plan of every session of this process, when it is made: none, but in `graphflow profile`."""

PLANNERS: Final[list[Callable[[ConfigProto, str, Graph], Planner]]] = []
"""The last of them makes the planners of sessions with a target: of none, but where a cluster is simulated."""


def executables(session: BaseSession) -> list[Executable]:
    """What runs each combination of fetches and fed tensors that a session has planned, the one planned first first."""
    return [prepared.executable for prepared in session._prepared.values()]


def executable_for(session: BaseSession, fetches: Any, feeds: Sequence[Any] | None) -> Executable | None:
    """What runs these fetches with these fed tensors, in any order and under any names; None if nothing has."""
    wanted, fed = fetch_key(fetches), set(expand_feeds(session._graph, {key: key for key in feeds or ()}))
    kept = reversed(list(session._prepared.items()))
    return next((p.executable for key, p in kept if key[0] == wanted and set(p.feeds) == fed), None)


class BaseSession(PartialRuns, OfThisProcess):
    """The methods that Session and InteractiveSession share.

    Args:
        target: "" for this process, or zmq://host:port.
        graph: The graph; by default the default graph.
        config: A gf.ConfigProto.
    """

    _instead = (
        "Open one in each process; values that `run` returned, and checkpoints, go from one to another."
    )

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a gf.ConfigProto, but got {config!r}.")
        if not isinstance(target, str | bytes):
            raise TypeError(f"target must be a string, but got {target!r}.")
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a gf.Graph, but got {graph!r}.")
        super().__init__(Fetches, expand_feeds)
        self._graph = graph or defaults.get_default_graph()
        self._config = config or ConfigProto()
        self._store = ResourceStore()
        self._prepared: dict[Any, _Prepared] = {}
        self._lock = threading.RLock()
        self._request_ids = _RequestIds()
        self._closed = False
        self._entered = False
        self._pid = os.getpid()
        self._logged: set[str] = set()
        self._growth = GrowthWatch(self._graph)
        self._target = target
        self._planner = self._store.planner = self._connected()
        self._store.graph = SessionGraph(self._graph, self._planner)
        self._devices = self._planner.devices
        self._timeout_ms = self._config.operation_timeout_in_ms or self._planner.operation_timeout_in_ms

    def _connected(self) -> Planner:
        """The planner: for this process, or for the cluster behind the target."""
        if self._target and PLANNERS:
            return PLANNERS[-1](self._config, self._target, self._graph)
        if self._target:
            from graphflow._core.cluster.client.remote import RemotePlanner

            return RemotePlanner(self._config, self._target, self._graph)
        return Planner(self._config, device_names(_TASK, self._config), _TASK)

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as data."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target: "" for a session in this process."""
        return self._target

    @property
    def cluster_has_clients(self) -> bool:
        """Whether, when it was made, other tasks of its cluster had clients with sessions."""
        return self._planner.cluster_has_clients

    @property
    def store(self) -> ResourceStore:
        """The values of variables and other state."""
        return self._store

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices of this session."""
        return [device_attributes(name) for name in self._devices]

    def _repr_html_(self) -> str:
        state = "closed" if self._closed else "open"
        counts = (
            ("operations of its graph", len(self._graph.get_operations())),
            ("plans", len(self._prepared)),
        )
        where = ("target", self._target or "this process"), ("devices", ", ".join(self._devices))
        return facts_html("Session", (("state", state), *where, *counts, ("compiled", self._config.compiled)))

    def close(self) -> None:
        """Frees what it holds; runs that wait end with CancelledError, a later run raises RuntimeError."""
        self._closed = True
        self._store.close()
        with self._lock:
            self._prepared.clear()
            self._planner.close()
            self._store = ResourceStore()

    def give_up(self) -> None:
        """Closes it because something failed: workers that reduce together with this one do not wait for it."""
        self._planner.given_up = True
        self.close()

    def numbered(self, attempt: Sequence[Any] | None) -> None:
        """From now on this thread's runs are attempts of one run, as common/request_ids.py has them; None ends that.

        On a cluster each of them then changes a variable only if no other has; elsewhere this does nothing.

        Args:
            attempt: The number of the attempt.
        """
        if self._target:
            self._request_ids.attempt = attempt

    def as_default(self) -> _DefaultSession:
        """Makes it the default session inside a `with`, which does not close it."""
        return _DefaultSession(self)

    # ---- running --------------------------------------------------------------------------------------------------

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Computes `fetches` (a tensor, operation, name, or nested structure of these) and returns their values.

        Any tensor may be fed by feed_dict. What is returned belongs to the caller. Operations give None. Raises
        RuntimeError on a closed session, TypeError or ValueError on fetches and feeds that cannot be, and a subclass
        of gf.errors.OpError if an operation fails. Thread-safe.

        Args:
            fetches: Tensors, operations, names, or a structure of them.
            feed_dict: {tensor: value}: values that take the place of tensors.
            options: A gf.RunOptions.
            run_metadata: A gf.RunMetadata that is filled in.

        Returns:
            The values in the structure of `fetches`, None for an operation.
        """
        if self._closed or self._pid != os.getpid():
            self._refuse()
        try:
            key = (fetch_key(fetches), tuple(feed_dict) if feed_dict else None)
            prepared = self._prepared.get(key)
        except TypeError:
            key, prepared = None, None
        if prepared is None or prepared.stamp != self._graph.stamp or options is not None:
            return self._run_slowly(key, fetches, feed_dict, options, run_metadata)
        feeds = (
            [feed_array(t, v) for t, v in zip(prepared.feeds, feed_dict.values(), strict=True)]
            if feed_dict
            else ()
        )
        return self._execute(prepared, feeds, 0)

    def _refuse(self) -> NoReturn:
        if self._closed:
            raise ClosedSessionError("Attempted to use a closed Session.")
        raise RuntimeError(
            "This Session was made before a fork and cannot be used in the child process: make a new one there."
        )

    def _execute(self, prepared: _Prepared, feeds: Sequence[Any], timeout_ms: int, trace: Any = None) -> Any:
        timeout = timeout_ms or self._timeout_ms
        store = self._store
        run = RunContext(store, time.monotonic() + timeout / 1000 if timeout else None)
        run.trace = trace
        if self._target:
            run.request_id = self._request_ids.attempt
        try:
            return prepared.rebuild(carry_out(prepared.executable, run, feeds))
        except errors.OpError as error:
            name_operations(error, self._graph)
            raise

    def _run_slowly(
        self,
        key: Any,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None,
        options: RunOptions | None,
        metadata: RunMetadata | None,
    ) -> Any:
        """A run that has to be planned, has feeds under other names, or is traced."""
        if feed_dict is not None and not isinstance(feed_dict, Mapping):
            raise TypeError(f"feed_dict must be a dictionary from tensors to values, got {feed_dict!r}.")
        values = expand_feeds(self._graph, feed_dict or {})
        self._growth.look()
        traced = options is not None and options.trace_level > 0 and metadata is not None
        given = (feed_dict or {}).values()
        direct = len(values) == len(given) and all(map(is_, values.values(), given))
        prepared = None if key is None else self._kept(key, direct)
        if prepared is None and not (traced and self._target):
            prepared = self._prepare(fetches, list(values))
            if key is not None:
                self._prepared[key] = prepared
                self._kept(key, direct)
        if traced or prepared is None:  # It is run as what is kept would be, which is why that is there.
            prepared = self._prepare(fetches, list(values), traced=True)
        if not self._graph.version:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        feeds = [feed_array(t, values[t]) for t in prepared.feeds]
        recorder = Recorder() if traced else None
        result = self._execute(prepared, feeds, 0 if options is None else options.timeout_in_ms, recorder)
        if recorder is not None and metadata is not None:
            metadata.step_stats = recorder.stats()
        return result

    def _kept(self, key: Any, direct: bool) -> _Prepared | None:
        """The plan kept under a key, if nothing in the graph was changed since."""
        prepared = self._prepared.get(key)
        if prepared is None or prepared.changes != self._graph.changes:
            return None
        if direct:
            prepared.stamp = self._graph.stamp
        return prepared

    def _prepare(self, fetches: Any, feeds: list[Tensor], traced: bool = False) -> _Prepared:
        with self._lock, operations_named(self._graph):
            changes = self._graph.changes
            plan, structure = self.plan(fetches, feeds)
            options = self._planner.execution_options(gives_the_same(self._graph), traced)
            executable = self._planner.executable(plan, self._store, options)
            for watcher in () if traced else WATCHERS:
                executable = watcher(label(plan), executable, partial(self._traced_form, plan))
            if self._config.log_device_placement:
                self._log_placement(plan)
            return _Prepared(executable, structure.rebuild, feeds, changes, -1)

    def _traced_form(self, plan: Plan) -> Executable:
        options = self._planner.execution_options(gives_the_same(self._graph), traced=True)
        return self._planner.executable(plan, self._store, options)

    def plan(
        self, fetches: Any, feeds: Sequence[Tensor], watch: Callable[[str, Plan], None] | None = None
    ) -> tuple[Plan, Fetches]:
        """The plan for fetches and fed tensors, and the structure of the fetches; `watch` sees it after each pass.

        Args:
            fetches: As of `run`.
            feeds: The tensors that are fed.
            watch: Further tensors to compute.

        Returns:
            The plan.
        """
        structure = Fetches(self._graph, fetches, self)
        with operations_named(self._graph):
            return self._planner.plan(structure.tensors, structure.targets, feeds, watch), structure

    def _log_placement(self, plan: Plan) -> None:
        lines = [
            (i.name, i.type, i.device)
            for i in walk(plan)
            if i.name not in self._logged and i.origin is not None and i.device
        ]
        self._logged |= {name for name, _, _ in lines}
        width = max((len(f"{name}: ({kind}):") for name, kind, _ in lines), default=0)
        for name, kind, device in lines:
            sys.stderr.write(f"{f'{name}: ({kind}):':<{width}} {device}\n")
        sys.stderr.flush()

    def explain(self, fetches: Any, feed_dict: Any = None, compiled: bool | None = None) -> str:
        """The plan for `fetches`, one line an instruction: name, op, inputs, dtype and shape, device.

        `feed_dict` is a dictionary or a list of what will be fed. Nothing runs. If runs of the same fetches and feeds
        have become compiled, what was fused, what stays on NumPy and why, and the places of results in memory
        follow, unless `compiled` is False. On a cluster it is what each task does, in stages that wait for nothing.

        Args:
            fetches: As of `run`.
            feed_dict: {tensor: value}: values that take the place of tensors.
            compiled: Whether to say what runs compiled; by default if runs have told. If it is True and none has, that
                is said.

        Returns:
            A text.
        """
        feeds = list(expand_feeds(self._graph, {key: key for key in feed_dict or ()}))
        plan, _ = self.plan(fetches, feeds)
        executable = None if compiled is False else executable_for(self, fetches, feeds)
        tier = ""
        if executable is not None:
            tier = executable.describe() + "".join(f"{note}\n" for note in tier_notes(executable))
        elif compiled:
            tier = "not run yet with these feeds in this session, so that nothing of it is compiled\n"
        text = self._planner.text(plan)
        return f"{text}\n{tier}" if tier else text

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values of `feed_list` that runs `fetches`: a run without the look-up.

        Args:
            fetches: As of `run`.
            feed_list: The tensors that are given by place.
            accept_options: Whether it takes options and metadata.

        Returns:
            A function.
        """
        feeds = list(expand_feeds(self._graph, dict.fromkeys(feed_list or ())))

        prepared = [self._prepare(fetches, feeds)]
        stamp = [self._graph.stamp]

        def call(
            *values: Any, options: RunOptions | None = None, run_metadata: RunMetadata | None = None
        ) -> Any:
            if len(values) != len(feeds):
                raise TypeError(
                    f"The callable takes {len(feeds)} values, one for each of its feed_list, but got {len(values)}."
                )
            if options is not None:
                return self.run(fetches, dict(zip(feeds, values, strict=True)) or None, options, run_metadata)
            if self._closed or self._pid != os.getpid():
                self._refuse()
            if stamp[0] != self._graph.stamp:
                stamp[0] = self._graph.stamp
                self._growth.look()
                if prepared[0].changes != self._graph.changes:
                    prepared[0] = self._prepare(fetches, feeds)
            return self._execute(
                prepared[0], [feed_array(t, v) for t, v in zip(feeds, values, strict=True)], 0
            )

        return call


class _RequestIds(threading.local):
    """Says for each thread which attempt of a run its runs are."""

    attempt: Sequence[Any] | None = None


class _DefaultSession:
    """The context manager of Session.as_default()."""

    def __init__(self, session: BaseSession) -> None:
        self._session = session

    def __enter__(self) -> BaseSession:
        defaults.push_session(self._session)
        return self._session

    def __exit__(self, *exc: object) -> None:
        defaults.pop_session(self._session)


class Session(BaseSession):
    """Runs a graph (tf.Session).

    As a context manager it is the default session, and is closed at the end. Any thread may use it.

    Args:
        target: "" for this process, or the address of a task of a cluster, which runs the graph on all of them.
        graph: The graph to run; by default the default graph.
        config: Its settings.

    Examples:
        >>> x = gf.placeholder(gf.float32)
        >>> with gf.Session() as session:
        ...     print(session.run([x + 1.0, x * 3.0], {x: 2.0}))
        [np.float32(3.0), np.float32(6.0)]
    """

    def __enter__(self) -> Session:
        if self._entered:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                "session multiple times."
            )
        self._entered = True
        defaults.push_graph(self._graph)
        defaults.push_session(self)
        return self

    def __exit__(self, *exc: object) -> None:
        defaults.pop_session(self)
        defaults.pop_graph(self._graph)
        self._entered = False
        self.close()

    @staticmethod
    def reset(
        target: str, containers: Sequence[str] | None = None, config: ConfigProto | None = None
    ) -> None:
        """Clears the variables and other resources of a cluster, in these containers (see gf.container) or in all.

        The sessions on that target end: their next run raises AbortedError.

        Args:
            target: zmq://host:port, any task of it; with "" there is nothing to clear.
            containers: Names of containers; None for all.
            config: A gf.ConfigProto, for the connection.

        Raises:
            UnavailableError: If a task does not answer.
        """
        if target:
            from graphflow._core.cluster.client import control

            control.reset(target, containers, cluster_keys=config.cluster_keys if config else "")


_INTERACTIVE: Final[WeakSet[InteractiveSession]] = WeakSet()
"""Those that are not closed."""


class InteractiveSession(BaseSession):
    """A Session that makes itself the default when it is made, until it is closed (tf.InteractiveSession).

    One that is made beside another that is not closed is warned of: the other keeps the memory of its variables.

    Args:
        target: "" for this process, or zmq://host:port.
        graph: The graph; by default the default graph.
        config: A gf.ConfigProto.

    Examples:
        >>> session = gf.InteractiveSession()
        >>> gf.square(3.0).eval()
        np.float32(9.0)
        >>> session.close()
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        if _INTERACTIVE:
            warnings.warn(
                "An interactive session is already active. This can cause out-of-memory errors in some cases. You "
                "must explicitly call `InteractiveSession.close()` to release resources held by the other session(s).",
                stacklevel=2,
            )
        _INTERACTIVE.add(self)
        self._explicit_graph = graph
        if graph is not None:
            defaults.push_graph(graph)
        defaults.push_session(self)

    def close(self) -> None:
        """Stops being the default, and frees what it holds."""
        super().close()
        _INTERACTIVE.discard(self)
        defaults.pop_session(self)
        if self._explicit_graph is not None:
            defaults.pop_graph(self._explicit_graph)
