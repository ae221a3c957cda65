"""A hook that ends the training of workers once the chief's last checkpoint is written."""

from __future__ import annotations

import time
from typing import Any

import graphflow.train as train
from graphflow.estimator.estimator import Estimator
from graphflow.train.hooks.basic_hooks import StopAtStepHook
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


class StopAtCheckpointStepHook(SessionRunHook):
    """Ends training once a checkpoint of the last step, or a later one, is there.

    Args:
        model_dir: The folder of the checkpoints.
        last_step: The step.
        wait_after_file_check_secs: How long it waits, in a run behind that step, before the next one.

    Raises:
        ValueError: The step or the folder is None.
    """

    def __init__(self, model_dir: str, last_step: int, wait_after_file_check_secs: float = 30) -> None:
        if last_step is None:
            raise ValueError("last_step must be specified.")
        if model_dir is None:
            raise ValueError("model_dir must be specified.")
        self._model_dir = model_dir
        self._last_step = last_step
        self._wait = wait_after_file_check_secs
        self._step: Any = None

    def begin(self) -> None:
        """Finds the global step; RuntimeError if there is none."""
        self._step = train.get_global_step()
        if self._step is None:
            raise RuntimeError("StopAtCheckpointStepHook needs a global step.")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at the newest checkpoint if this step is the last one or behind it."""
        if run_values.results + 1 < self._last_step:
            return
        if self._saved_step() >= self._last_step:
            run_context.request_stop()
        else:
            time.sleep(self._wait)

    def _saved_step(self) -> int:
        newest = train.latest_checkpoint(self._model_dir)
        return 0 if newest is None else int(train.load_variable(newest, "global_step"))


def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """A hook that ends training at a step, of a worker once the chief has saved it.

    TensorFlow: tf.estimator.experimental.make_stop_at_checkpoint_step_hook.

    Args:
        estimator: The estimator that is trained.
        last_step: The global step at which training ends.
        wait_after_file_check_secs: How long a worker waits between two looks at the checkpoints.

    Returns:
        A hook for training.
    """
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return StopAtCheckpointStepHook(estimator.model_dir, last_step, wait_after_file_check_secs)
