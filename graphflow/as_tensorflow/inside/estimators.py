"""What TensorFlow's estimators do with results of input functions, and with numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import SessionLike
from graphflow.data import Dataset, Iterator
from graphflow.summary.writer import FileWriterCache
from graphflow.train.coordinator import Coordinator
from graphflow.train.hooks.saving_hooks import write_numbers
from graphflow.train.hooks.session_run_hook import SessionRunHook
from graphflow.train.saving.checkpoint_management import latest_checkpoint
from graphflow.train.saving.checkpoint_utils import load_variable

LOSS_METRIC_KEY: Final = "loss"
AVERAGE_LOSS_METRIC_KEY: Final = "average_loss"
"""The names of two results of an evaluation (its estimator.model_fn)."""


class DatasetInitializerHook(SessionRunHook):
    """Initialises the iterator of a dataset when a session begins.

    Args:
        iterator: The iterator.
    """

    def __init__(self, iterator: Iterator) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        """Takes the operation, before the graph is finalized."""
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Runs it.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        session.run(self._initializer)


def parse_input_fn_result(result: Any) -> tuple[Any, Any, list[SessionRunHook]]:
    """Features, labels and hooks of what an input function returned.

    Args:
        result: Features, a pair of features and labels, or a dataset of either.

    Returns:
        The features, the labels or None, and the hooks that make them.

    Raises:
        ValueError: It is a list of another length.
    """
    hooks: list[SessionRunHook] = []
    if isinstance(result, Dataset):
        iterator = result.make_initializable_iterator()
        hooks.append(DatasetInitializerHook(iterator))
        result = iterator.get_next()
    if not isinstance(result, list | tuple):
        return result, None, hooks
    if len(result) != 2:
        raise ValueError(
            f"input_fn should return (features, labels) as a len 2 tuple, got {len(result)} things."
        )
    features, labels = result
    return features, labels, hooks


def write_dict_to_summary(output_dir: str, dictionary: Mapping[str, Any], current_global_step: int) -> None:
    """Writes numbers by name as scalar summaries.

    Args:
        output_dir: The folder of the event file.
        dictionary: The numbers; None is left out.
        current_global_step: The step.
    """
    writer = FileWriterCache.get(output_dir)
    numbers = {name: float(value) for name, value in dictionary.items() if value is not None}
    write_numbers(
        writer, {name: n for name, n in numbers.items() if name != GraphKeys.GLOBAL_STEP}, current_global_step
    )
    writer.flush()


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """The variables of the default graph, and what else is saved with them (tensorflow.python.ops.variables).

    Args:
        scope: Only what is in this name scope.
    """
    graph = get_default_graph()
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS)
    return [item for key in keys for item in graph.get_collection(key, scope)]


def load_global_step_from_checkpoint_dir(checkpoint_dir: str) -> int:
    """The step of the newest checkpoint of a folder, 0 if there is none.

    Args:
        checkpoint_dir: The folder.
    """
    prefix = latest_checkpoint(checkpoint_dir)
    return 0 if prefix is None else int(load_variable(prefix, GraphKeys.GLOBAL_STEP))
