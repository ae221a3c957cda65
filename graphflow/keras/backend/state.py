"""What keras keeps with a graph: names in use and the learning phase; and the session that runs its models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph, get_default_session, reset_default_graph
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.core import graph_of
from graphflow._core.session import BaseSession, Session
from graphflow.keras import ops
from graphflow.keras.typing import Phase, Tensors
from graphflow.layers.tracked import track, tracked
from graphflow.train.saving.checkpoint import use_session_of


class GraphState:
    """What keras knows of a graph."""

    def __init__(self) -> None:
        self.uids: dict[str, int] = defaultdict(int)
        self.learning_phase: Phase = None
        self.ready: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """How many of the variables are known to have a value, by session."""


_KEY: Final = "keras"
_session: Session | None = None
_initializes = True


def graph_state() -> GraphState:
    """What keras keeps with the default graph."""
    state: GraphState = get_default_graph().attachments.setdefault(_KEY, GraphState())
    return state


def get_graph() -> Graph:
    """The graph that layers are built in: the default one."""
    return get_default_graph()


# ---- names ----------------------------------------------------------------------------------------------------------


def get_uid(prefix: str = "") -> int:
    """1, 2, ... for each name in a graph (tf.keras.backend.get_uid).

    Args:
        prefix: What is counted; each has numbers of its own in each graph.

    Returns:
        The next number, from 1.
    """
    uids = graph_state().uids
    uids[prefix] += 1
    return uids[prefix]


def reset_uids() -> None:
    """Begins to count names anew (tf.keras.backend.reset_uids)."""
    graph_state().uids.clear()


def unique_name(name: str, zero_based: bool = True) -> str:
    """A name of a layer, model or metric that the graph has not yet: dense, dense_1, ...; or input_1, input_2, ...

    Args:
        name: What the name begins with.
        zero_based: Whether the first one has no number.

    Returns:
        The name.
    """
    number = get_uid(name) - zero_based
    return f"{name}_{number}" if number else name


# ---- the learning phase ---------------------------------------------------------------------------------------------


def learning_phase() -> Phase:
    """0 or 1 if it was set, else a scalar bool tensor, false unless it is fed (tf.keras.backend.learning_phase)."""
    state = graph_state()
    if state.learning_phase is None:
        with get_default_graph().name_scope(None), get_default_graph().control_dependencies(None):
            state.learning_phase = ops.placeholder_with_default(False, (), name="keras_learning_phase")
    return state.learning_phase


def set_learning_phase(value: int) -> None:
    """Sets the phase of layers that are built from now on (tf.keras.backend.set_learning_phase).

    Args:
        value: 0 to infer, or 1 to train.

    Raises:
        ValueError: It is neither.
    """
    if value not in (0, 1):
        raise ValueError(f"The learning phase is 0 to infer or 1 to train, not {value!r}.")
    graph_state().learning_phase = int(value)


@contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """Sets the learning phase inside of a `with` (tf.keras.backend.learning_phase_scope).

    Args:
        value: 0 to infer, or 1 to train.

    Yields:
        Nothing; afterwards the phase is what it was.

    Raises:
        ValueError: It is neither.
    """
    state = graph_state()
    before = state.learning_phase
    set_learning_phase(value)
    try:
        yield
    finally:
        state.learning_phase = before


# ---- the session ----------------------------------------------------------------------------------------------------


def track_variable(variable: Any) -> None:
    """Lets a session of keras give a variable its initial value.

    Args:
        variable: A variable of the current graph.
    """
    track(get_default_graph(), variable)


def manual_variable_initialization(value: bool) -> None:
    """Whether the program itself runs initializers (tf.keras.backend.manual_variable_initialization).

    Args:
        value: True if it does; otherwise Keras gives variables their initial values before it first uses them.
    """
    global _initializes
    _initializes = not value


def set_session(session: BaseSession) -> None:
    """Sets the session that runs models (tf.keras.backend.set_session).

    Args:
        session: A session of the graph that the models are in.
    """
    global _session
    _session = session  # type: ignore[assignment]


def get_session(op_input_list: Tensors = ()) -> BaseSession:
    """The session that runs models: the default one, or one of keras's own for the graph.

    Variables of layers, metrics and optimizers that have no value get their initial one.
    TensorFlow: tf.keras.backend.get_session.

    Args:
        op_input_list: Tensors and variables whose graph it is to be of; by default the default graph.

    Returns:
        The session.
    """
    global _session
    graph = graph_of([x for x in nest.flatten(op_input_list) if hasattr(x, "graph")])
    session: Any = get_default_session()
    if session is None:
        if _session is None or _session.graph is not graph:
            _session = Session(graph=graph)
        session = _session
    if _initializes:
        with session.graph.as_default():
            _initialize(session)
    return session  # type: ignore[no-any-return]


use_session_of(get_session)


def _initialize(session: Any) -> None:
    ready, variables = graph_state().ready, tracked(session.graph)
    done = ready.get(session, 0)
    if done == len(variables):
        return
    waiting = variables[done:]
    with get_default_graph().name_scope("is_initialized"), get_default_graph().control_dependencies(None):
        asked = [ops.is_variable_initialized(v) for v in waiting]
    found = session.run(asked)
    missing = [v for v, there in zip(waiting, found, strict=True) if not there]
    if missing:
        session.run([v.initializer for v in missing])
    ready[session] = done + len(waiting)


def run(fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
    """The values of fetches in the session of keras.

    Args:
        fetches: What Session.run takes: tensors, operations and variables, also nested.
        feeds: Values of placeholders, by placeholder.

    Returns:
        What Session.run gives: arrays in the structure of the fetches.
    """
    return get_session(fetches).run(fetches, feeds)


def clear_session() -> None:
    """Forgets the default graph, the session and all names (tf.keras.backend.clear_session)."""
    global _session
    reset_default_graph()
    if _session is not None:
        _session.close()
    _session = None
