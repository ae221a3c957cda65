"""Monitors: what looks at training every so many steps, as hooks do (gf.contrib.learn.monitors)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import graphflow.train as train
from graphflow._core.graph.defaults import get_default_graph
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

_log = logging.getLogger(__name__)


class BaseMonitor:
    """What monitors derive from: methods that training calls, which do nothing here."""

    def __init__(self) -> None:
        self._estimator: Any = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether it looks at workers that are not the chief, too."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Says whose training it is, before that begins.

        Args:
            estimator: The estimator.
        """
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Called before the first step.

        Args:
            max_steps: The last step, if it is known.
        """

    def end(self, session: Any = None) -> None:
        """Called after the last step.

        Args:
            session: The session.
        """

    def step_begin(self, step: int) -> list[Any]:
        """Called before each step.

        Args:
            step: Its number.

        Returns:
            Tensors, or their names, that the step computes for it.
        """
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Called after each step.

        Args:
            step: Its number.
            output: The values of what step_begin asked for.

        Returns:
            Whether training is to end.
        """
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called after step_end of all monitors.

        Args:
            step: The number of the step.
            session: The session.
        """


class EveryN(BaseMonitor):
    """A monitor that looks at every so many steps, and at the first.

    Args:
        every_n_steps: How many.
        first_n_steps: At how many of the first steps it looks as well.
    """

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps = every_n_steps
        self._first_n_steps = first_n_steps
        self._last_step: int | None = None
        self._is_active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Called before a step that it looks at.

        Args:
            step: Its number.

        Returns:
            Tensors, or their names, that the step computes for it.
        """
        return []

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool | None:
        """Called after a step that it looks at.

        Args:
            step: Its number.
            outputs: The values of what every_n_step_begin asked for.

        Returns:
            Whether training is to end.
        """
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        """Called after a step that it looked at.

        Args:
            step: Its number.
            session: The session.
        """

    def step_begin(self, step: int) -> list[Any]:
        """Asks for what is to be looked at, if the step is one of those.

        Args:
            step: Its number.
        """
        last = self._last_step
        self._is_active = step <= self._first_n_steps or last is None or step >= last + self._every_n_steps
        return self.every_n_step_begin(step) if self._is_active else []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Looks, if the step is one of those.

        Args:
            step: Its number.
            output: The values.
        """
        return bool(self.every_n_step_end(step, output)) if self._is_active else False

    def post_step(self, step: int, session: Any) -> None:
        """Remembers the step, if it was one of those.

        Args:
            step: Its number.
            session: The session.
        """
        if self._is_active:
            self.every_n_post_step(step, session)
            self._last_step = step


class ValidationMonitor(EveryN):
    """Evaluates while training goes on, and ends it where a metric gets no better (tf.contrib.learn).

    An evaluation takes the newest checkpoint, so that there is one only where there is a new one.

    Args:
        x: Features as arrays.
        y: Labels as an array.
        input_fn: A function that gives features and labels, in place of both.
        batch_size: How many rows of x a step has.
        eval_steps: How many batches; None for all.
        every_n_steps: How many steps of training are between evaluations.
        metrics: As of Estimator.evaluate.
        hooks: Of the evaluations' sessions.
        early_stopping_rounds: After how many steps without a better value training ends; None for never.
        early_stopping_metric: Which metric it is.
        early_stopping_metric_minimize: Whether smaller is better.
        name: Of the folder of the summaries.
        check_interval_secs: Not needed: every time a checkpoint is looked for.

    Raises:
        ValueError: If there is neither x nor input_fn.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Mapping[Any, Any] | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        super().__init__(every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        arrays = {"x": x, "y": y, "batch_size": batch_size, "metrics": metrics}
        self._input: dict[str, Any] = {key: value for key, value in arrays.items() if value is not None}
        self._input.update(input_fn=input_fn, steps=eval_steps, hooks=hooks, name=name)
        self._rounds = early_stopping_rounds
        self._metric = early_stopping_metric
        self._minimize = early_stopping_metric_minimize
        self._checkpoint: str | None = None
        self._best_step: int | None = None
        self._best_metrics: dict[str, Any] | None = None
        self._early_stopped = False

    @property
    def early_stopped(self) -> bool:
        """Whether it has ended training."""
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        """The step of the best evaluation."""
        return self._best_step

    @property
    def best_metrics(self) -> dict[str, Any] | None:
        """What the best evaluation gave."""
        return self._best_metrics

    @property
    def best_value(self) -> Any:
        """The best value of the metric."""
        return None if self._best_metrics is None else self._best_metrics[self._metric]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Evaluates, if there is a new checkpoint.

        Args:
            step: The number of the step.
            outputs: Nothing.

        Returns:
            Whether training is to end.

        Raises:
            ValueError: If the evaluation has no such metric.
        """
        newest = train.latest_checkpoint(self._estimator.model_dir)
        if newest is None or newest == self._checkpoint:
            return False
        self._checkpoint = newest
        found = self._estimator.evaluate(**self._input)
        _log.info("Validation (step %d): %s", step, found)
        if self._rounds is None:
            return False
        if self._metric not in found:
            raise ValueError(f"The evaluation has no metric {self._metric!r}, only {sorted(found)}.")
        value, best = found[self._metric], self.best_value
        if best is None or (value < best if self._minimize else value > best):
            self._best_step, self._best_metrics = step, found
        self._early_stopped = self._best_step is not None and step - self._best_step >= self._rounds
        if self._early_stopped:
            _log.info(
                "Training ends at step %d: %s was best at step %d.", step, self._metric, self._best_step
            )
        return self._early_stopped


class RunHookAdapterForMonitors(SessionRunHook):
    """A hook that calls monitors.

    Args:
        monitors: The monitors.
    """

    def __init__(self, monitors: Sequence[BaseMonitor]) -> None:
        self._monitors = monitors
        self._last_step: int | None = None
        self._global_step: Any = None

    def begin(self) -> None:
        """Tells the monitors that training begins."""
        self._last_step = None
        self._global_step = train.get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for what the monitors look at.

        Args:
            run_context: The session.

        Returns:
            What the step is to compute besides.
        """
        if self._last_step is None:
            self._last_step = int(run_context.session.run(self._global_step)) + 1
        wanted = [part for monitor in self._monitors for part in monitor.step_begin(self._last_step) or []]
        graph = get_default_graph()
        found = {
            part: graph.as_graph_element(part if not isinstance(part, str) or ":" in part else f"{part}:0")
            for part in wanted
        }
        return SessionRunArgs({"step": self._global_step, "monitors": found})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Shows the monitors what they asked for.

        Args:
            run_context: The session.
            run_values: What the step has computed.
        """
        assert self._last_step is not None
        for monitor in self._monitors:
            if monitor.step_end(self._last_step, run_values.results["monitors"]):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._last_step, run_context.session)
        self._last_step = int(run_values.results["step"]) + 1

    def end(self, session: Any) -> None:
        """Tells the monitors that training has ended.

        Args:
            session: The session.
        """
        for monitor in self._monitors:
            if "session" in signature(monitor.end).parameters:
                monitor.end(session=session)
            else:
                monitor.end()


def replace_monitors_with_hooks(
    monitors_or_hooks: Sequence[Any] | None, estimator: Any
) -> list[SessionRunHook]:
    """Hooks that do what monitors and hooks do (tf.contrib.learn.monitors.replace_monitors_with_hooks).

    Args:
        monitors_or_hooks: Monitors and hooks.
        estimator: Whose training they look at.

    Returns:
        A list of hooks.
    """
    given = list(monitors_or_hooks or ())
    hooks = [one for one in given if isinstance(one, SessionRunHook)]
    monitors = [one for one in given if not isinstance(one, SessionRunHook)]
    if not estimator.config.is_chief:
        monitors = [one for one in monitors if one.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks
