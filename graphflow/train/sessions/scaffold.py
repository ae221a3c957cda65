"""Scaffold: the operations that a session needs beside the model: to begin, to know that it is ready, to save.

What is not given is made when the graph is complete, and kept in a collection, so that several scaffolds of one graph
share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.io.summaries import merge_all
from graphflow._core.ops.state.initializers import tables_initializer
from graphflow._core.ops.state.variable_collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from graphflow.train.saving.saver import Saver

_PARTS: Final = (
    "init_op", "init_feed_dict", "init_fn", "ready_op", "ready_for_local_init_op", "local_init_op", "summary_op",
    "saver",
)  # fmt: skip


class Scaffold:
    """The parts of a graph that a monitored session needs beside the model (tf.train.Scaffold).

    After `finalize` each is an attribute of that name.

    Args:
        init_op: Initialises the variables if no checkpoint is restored, with init_feed_dict.
            init_fn(scaffold, session): called after it.
        init_feed_dict: Feeds of init_op.
        init_fn: Called with the scaffold and the session, after `init_op`.
        ready_op: A vector of the names of variables that are not initialised.
        ready_for_local_init_op: The same, of those that local_init_op needs.
        local_init_op: Initialises local variables and tables, also after a restore.
        summary_op: The merged summaries.
        saver: Of checkpoints.
        copy_from_scaffold: Another Scaffold, whose parts are taken if none is given.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Scaffold, Any], None] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Saver | None = None,
        copy_from_scaffold: Scaffold | None = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError(f"copy_from_scaffold is not a Scaffold instance: {copy_from_scaffold!r}.")
        self.init_op: Any = init_op
        self.init_feed_dict = init_feed_dict
        self.ready_op: Tensor | None = ready_op
        self.ready_for_local_init_op: Tensor | None = ready_for_local_init_op
        self.local_init_op: Any = local_init_op
        self.summary_op: Tensor | None = summary_op
        self.saver: Saver | None = saver
        self.init_fn: Callable[[Any], None] | None = None
        if init_fn is not None:
            self.init_fn = lambda session: init_fn(self, session)
        if copy_from_scaffold is not None:
            for part in _PARTS:
                if getattr(self, part) is None:
                    setattr(self, part, getattr(copy_from_scaffold, part))

    def finalize(self) -> Scaffold:
        """Makes what was not given, and finalizes the default graph; returns the scaffold itself."""
        if self.init_op is None:
            self.init_op = self.get_or_default("init_op", GraphKeys.INIT_OP, default_init_op)
        if self.ready_op is None:
            self.ready_op = self.get_or_default("ready_op", GraphKeys.READY_OP, default_ready_op)
        if self.ready_for_local_init_op is None:
            self.ready_for_local_init_op = self.get_or_default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                default_ready_for_local_init_op,
            )
        if self.local_init_op is None:
            self.local_init_op = self.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op
            )
        if self.summary_op is None:
            self.summary_op = self.get_or_default("summary_op", GraphKeys.SUMMARY_OP, default_summary_op)
        if self.saver is None:
            self.saver = self.get_or_default("saver", GraphKeys.SAVERS, default_saver)
        if self.saver is not None:
            self.saver.build()
        get_default_graph().finalize()
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The only item of a collection, or what the constructor makes, which is then put there.

        Args:
            arg_name: The part's name, for errors.
            collection_key: The collection it may be in.
            default_constructor: Makes it.

        Raises:
            RuntimeError: If the collection has several items.
        """
        graph = get_default_graph()
        found = graph.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f"More than one item: the collection {collection_key!r} has {len(found)} items, so which is the "
                "scaffold's is not clear. "
                f"Please indicate which one to use by passing it to gf.train.Scaffold({arg_name}=...)."
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Operation:
        """Initialises the local variables and the tables."""
        return group(local_variables_initializer(), tables_initializer())


def default_init_op() -> Operation:
    """Initialises the global variables."""
    return group(global_variables_initializer())


def default_ready_op() -> Tensor:
    """The names of all variables that are not initialised."""
    return report_uninitialized_variables()


def default_ready_for_local_init_op() -> Tensor:
    """The names of the global variables that are not initialised."""
    return report_uninitialized_variables(global_variables())


def default_summary_op() -> Tensor | None:
    """All summaries of the graph in one, or None if it has none."""
    if not get_default_graph().get_collection(GraphKeys.SUMMARIES):
        return None
    return merge_all()


def default_saver() -> Saver | None:
    """A saver of all that can be saved."""
    return Saver(allow_empty=True)
