"""Running tensors of a graph several times (gf.contrib.learn.graph_actions)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import graphflow.nest as nest
import graphflow.train as train
from graphflow._core.ops.core import graph_of
from graphflow._core.ops.state.initializers import tables_initializer
from graphflow._core.ops.state.variable_collections import (
    global_variables_initializer,
    local_variables_initializer,
)
from graphflow._core.session import Session


def run_feeds(
    output_dict: Mapping[str, Any],
    feed_dicts: Iterable[Mapping[Any, Any] | None],
    restore_checkpoint_path: str | None = None,
) -> list[Any]:
    """The values of tensors, for each of several feeds, in a session of its own.

    Args:
        output_dict: Tensors by name.
        feed_dicts: What is fed in each run.
        restore_checkpoint_path: A checkpoint that variables begin with; None for their initial values.

    Returns:
        A dictionary of values for each feed.

    Raises:
        ValueError: If there is no tensor.
    """
    if not output_dict:
        raise ValueError(f"output_dict must name tensors, got {output_dict!r}.")
    with graph_of(nest.flatten(output_dict)).as_default(), Session() as session:
        session.run(global_variables_initializer())
        if restore_checkpoint_path:
            train.Saver().restore(session, restore_checkpoint_path)
        session.run([local_variables_initializer(), tables_initializer()])
        coordinator = train.Coordinator()
        threads = train.start_queue_runners(session, coordinator)
        try:
            return [session.run(dict(output_dict), feed) for feed in feed_dicts]
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=120)


def run_n(
    output_dict: Mapping[str, Any],
    feed_dict: Mapping[Any, Any] | None = None,
    restore_checkpoint_path: str | None = None,
    n: int = 1,
) -> list[Any]:
    """The values of tensors of several runs (tf.contrib.learn.run_n).

    Args:
        output_dict: Tensors by name.
        feed_dict: What is fed.
        restore_checkpoint_path: A checkpoint that variables begin with; None for their initial values.
        n: How many runs.

    Returns:
        A dictionary of values for each run.
    """
    return run_feeds(output_dict, [feed_dict] * n, restore_checkpoint_path)
