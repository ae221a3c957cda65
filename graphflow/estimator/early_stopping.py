"""Hooks that end training by what evaluations found (tf.estimator.experimental, tf.contrib.estimator).

The chief reads the evaluation's event files from time to time; its decision lies in a variable that all workers see.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from typing import Any

import graphflow.logging as logging
from graphflow._core.graph import dtypes
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant
from graphflow._core.ops.state.variable_scope import AUTO_REUSE, variable_scope
from graphflow.estimator.estimator import Estimator
from graphflow.summary.writer import summary_iterator
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from graphflow.train.hooks.timers import SecondOrStepTimer
from graphflow.train.steps import get_global_step


def _stop_variable() -> Any:
    with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
        return get_variable(
            "STOP",
            [],
            dtypes.bool_,
            Constant(False),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )


class _StopsIfTold(SessionRunHook):
    """Ends training once the variable says so."""

    def begin(self) -> None:
        """Finds the variable."""
        self._stop = _stop_variable()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the variable."""
        return SessionRunArgs(self._stop)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Ends training if it is true."""
        if run_values.results:
            logging.info("Training ends early, as the chief asks.")
            run_context.request_stop()


class _StopsOnPredicate(SessionRunHook):
    """Asks a function from time to time whether to end training, for all workers."""

    def __init__(self, should_stop: Callable[[], bool], timer: SecondOrStepTimer) -> None:
        self._should_stop = should_stop
        self._timer = timer

    def begin(self) -> None:
        """Finds the global step, and makes the operation that tells the workers."""
        self._timer.reset()
        self._step = get_global_step()
        self._tell = group(_stop_variable().assign(True))

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks the function if it is time."""
        if not self._timer.should_trigger_for_step(run_values.results):
            return
        self._timer.update_last_triggered_step(run_values.results)
        if self._should_stop():
            logging.info("Training ends early, at step %d.", run_values.results)
            run_context.session.run(self._tell)
            run_context.request_stop()


def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training when a function says so (tf.estimator.experimental.make_early_stopping_hook).

    Args:
        estimator: The estimator that is trained.
        should_stop_fn: A function without arguments; the chief alone asks it.
        run_every_secs: How many seconds lie between two questions.
        run_every_steps: How many steps, in place of the seconds, which are None then.

    Returns:
        A hook for training.

    Raises:
        TypeError: If it is no estimator.
        ValueError: Unless one of run_every_secs and run_every_steps is given.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must be an instance of gf.estimator.Estimator, got {estimator!r}.")
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if estimator.config.is_chief:
        return _StopsOnPredicate(should_stop_fn, SecondOrStepTimer(run_every_secs, run_every_steps))
    return _StopsIfTold()


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """What evaluations found, by global step (tf.contrib.estimator.read_eval_metrics).

    Args:
        eval_dir: The folder with the evaluation's event files.

    Returns:
        The metrics of each step, in the order of the steps.
    """
    found: dict[int, dict[str, float]] = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(eval_dir), "*tfevents*"))):
        for event in summary_iterator(path):
            numbers = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
            if numbers:
                found.setdefault(event.step, {}).update(numbers)
    return dict(sorted(found.items()))


def _values(estimator: Estimator, metric_name: str, eval_dir: str | None, min_steps: int) -> dict[int, float]:
    """The metric by step, from min_steps on."""
    found = read_eval_metrics(estimator.eval_dir() if eval_dir is None else eval_dir)
    return {step: metrics[metric_name] for step, metrics in found.items() if step >= min_steps}


def stop_if_higher_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training once a metric is above a number (tf.estimator.experimental.stop_if_higher_hook).

    Args:
        estimator: The estimator that is trained.
        metric_name: The metric, such as "accuracy".
        threshold: The number.
        eval_dir: The folder of the evaluation's event files; by default the estimator's own.
        min_steps: Evaluations before this step do not count.
        run_every_secs: How many seconds lie between two looks.
        run_every_steps: How many steps, in place of the seconds, which are None then.

    Returns:
        A hook for training.
    """
    return make_early_stopping_hook(
        estimator,
        lambda: any(v > threshold for v in _values(estimator, metric_name, eval_dir, min_steps).values()),
        run_every_secs,
        run_every_steps,
    )


def stop_if_lower_hook(
    estimator: Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training once a metric is below a number (tf.estimator.experimental.stop_if_lower_hook).

    Args:
        estimator: The estimator that is trained.
        metric_name: The metric, such as "loss".
        threshold: The number.
        eval_dir: The folder of the evaluation's event files; by default the estimator's own.
        min_steps: Evaluations before this step do not count.
        run_every_secs: How many seconds lie between two looks.
        run_every_steps: How many steps, in place of the seconds, which are None then.

    Returns:
        A hook for training.
    """
    return make_early_stopping_hook(
        estimator,
        lambda: any(v < threshold for v in _values(estimator, metric_name, eval_dir, min_steps).values()),
        run_every_secs,
        run_every_steps,
    )


def _stuck(values: dict[int, float], most: int, sign: int) -> bool:
    """Whether the best value, the first if there are several, is `most` steps or more before the last evaluation."""
    if not values:
        return False
    best = max(values, key=lambda step: (sign * values[step], -step))
    return max(values) - best >= most


def stop_if_no_increase_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training once a metric does not grow any more.

    TensorFlow: tf.estimator.experimental.stop_if_no_increase_hook.

    Args:
        estimator: The estimator that is trained.
        metric_name: The metric, such as "accuracy".
        max_steps_without_increase: After so many steps without a new best value.
        eval_dir: The folder of the evaluation's event files; by default the estimator's own.
        min_steps: Evaluations before this step do not count.
        run_every_secs: How many seconds lie between two looks.
        run_every_steps: How many steps, in place of the seconds, which are None then.

    Returns:
        A hook for training.
    """
    return make_early_stopping_hook(
        estimator,
        lambda: _stuck(
            _values(estimator, metric_name, eval_dir, min_steps), max_steps_without_increase, sign=1
        ),
        run_every_secs,
        run_every_steps,
    )


def stop_if_no_decrease_hook(
    estimator: Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends training once a metric does not fall any more.

    TensorFlow: tf.estimator.experimental.stop_if_no_decrease_hook.

    Args:
        estimator: The estimator that is trained.
        metric_name: The metric, such as "loss".
        max_steps_without_decrease: After so many steps without a new best value.
        eval_dir: The folder of the evaluation's event files; by default the estimator's own.
        min_steps: Evaluations before this step do not count.
        run_every_secs: How many seconds lie between two looks.
        run_every_steps: How many steps, in place of the seconds, which are None then.

    Returns:
        A hook for training.
    """
    return make_early_stopping_hook(
        estimator,
        lambda: _stuck(
            _values(estimator, metric_name, eval_dir, min_steps), max_steps_without_decrease, sign=-1
        ),
        run_every_secs,
        run_every_steps,
    )
