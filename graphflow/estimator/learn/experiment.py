"""Experiment: an estimator with what it is trained and evaluated on, run by learn_runner."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

import graphflow.train as train
from graphflow._core.cluster.server.server import Server
from graphflow.contrib.hparams import HParams
from graphflow.estimator.estimator import Estimator as CoreEstimator
from graphflow.estimator.learn.estimator import Estimator
from graphflow.estimator.learn.exports import ExportStrategy
from graphflow.estimator.learn.monitors import ValidationMonitor, replace_monitors_with_hooks
from graphflow.estimator.learn.run_config import RunConfig, TaskType
from graphflow.train.hooks.saving_hooks import CheckpointSaverListener
from graphflow.train.hooks.session_run_hook import SessionRunHook

_log = logging.getLogger(__name__)


class Experiment:
    """An estimator, its input for training and for evaluations, and when it is evaluated (tf.contrib.learn.Experiment).

    Args:
        estimator: An Estimator of gf.contrib.learn or of gf.estimator.
        train_input_fn: What it is trained on.
        eval_input_fn: What it is evaluated on.
        eval_metrics: As `metrics` of gf.contrib.learn.Estimator.evaluate.
        train_steps: The global step at which training ends; None for the end of the input.
        eval_steps: How many batches an evaluation takes; None for all.
        train_monitors: Monitors and hooks of training.
        eval_hooks: Hooks of evaluations.
        local_eval_frequency: Not needed: its later name is min_eval_frequency.
        eval_delay_secs: How long continuous evaluation waits before it begins.
        continuous_eval_throttle_secs: The least time between two evaluations of it.
        min_eval_frequency: How many steps of training are between evaluations of train_and_evaluate, which need a new
            checkpoint besides; 0 for none but the last; 1 by default.
        delay_workers_by_global_step: Not needed: workers begin at once.
        export_strategies: An ExportStrategy, or several, for what is written after evaluations.
        train_steps_per_iteration: The steps between evaluations of continuous_train_and_eval.
        checkpoint_and_export: Whether train_and_evaluate evaluates and exports after each checkpoint.
        saving_listeners: Are told of every checkpoint; of gf.estimator's estimators alone.
        check_interval_secs: Not needed.

    Raises:
        ValueError: If the estimator is none, or takes no eval_metrics or saving_listeners.
    """

    def __init__(
        self,
        estimator: Estimator | CoreEstimator,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Mapping[Any, Any] | None = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Sequence[Any] | None = None,
        eval_hooks: Sequence[SessionRunHook] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: ExportStrategy | Iterable[ExportStrategy] | None = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Sequence[CheckpointSaverListener] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        if isinstance(estimator, CoreEstimator):
            if eval_metrics is not None:
                raise ValueError(
                    "eval_metrics are for estimators of gf.contrib.learn: an EstimatorSpec has eval_metric_ops."
                )
        elif not isinstance(estimator, Estimator):
            raise ValueError(f"estimator must be one of gf.contrib.learn or gf.estimator, got {estimator!r}.")
        elif saving_listeners is not None:
            raise ValueError("saving_listeners are for estimators of gf.estimator.")
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_monitors = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._steps_per_iteration = train_steps_per_iteration
        self._checkpoint_and_export = checkpoint_and_export
        self._saving_listeners = saving_listeners
        self._export_strategies: tuple[ExportStrategy, ...] = ()
        self.reset_export_strategies(export_strategies)

    @property
    def estimator(self) -> Estimator | CoreEstimator:
        """The estimator."""
        return self._estimator

    @property
    def eval_metrics(self) -> Any:
        """The metrics of evaluations."""
        return self._eval_metrics

    @property
    def train_steps(self) -> int | None:
        """The global step at which training ends."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """How many batches an evaluation takes."""
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Iterable[Any]) -> None:
        """Adds monitors and hooks of training.

        Args:
            additional_hooks: These.
        """
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(
        self, new_export_strategies: ExportStrategy | Iterable[ExportStrategy] | None = None
    ) -> tuple[ExportStrategy, ...]:
        """Takes other strategies of export.

        Args:
            new_export_strategies: These; None for none.

        Returns:
            Those of before.

        Raises:
            ValueError: If one is none.
        """
        given = new_export_strategies
        found = (given,) if isinstance(given, ExportStrategy) else tuple(given or ())
        for one in found:
            if not isinstance(one, ExportStrategy):
                raise ValueError(f"export_strategies must be ExportStrategy objects, found {one!r}.")
        before, self._export_strategies = self._export_strategies, found
        return before

    # ---- the schedules ----------------------------------------------------------------------------------------------

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains up to train_steps; in a cluster as the task that TF_CONFIG says.

        Args:
            delay_secs: How long it waits before it begins; None for not at all.

        Returns:
            The estimator.
        """
        if delay_secs:
            time.sleep(delay_secs)
        server = self._start_server() if self._estimator.config.cluster_spec else None
        try:
            return self._train(self._train_monitors, max_steps=self._train_steps)
        finally:
            if server is not None:
                server.stop()

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Evaluates the newest checkpoint.

        Args:
            delay_secs: How long it waits before it begins; None for eval_delay_secs.
            name: Of the folder of the summaries.

        Returns:
            The metrics by name.
        """
        time.sleep(self._eval_delay_secs if delay_secs is None else delay_secs)
        return self._evaluate(self._eval_input_fn, name)

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous",
    ) -> None:
        """Evaluates each new checkpoint, and exports it, until one is of train_steps.

        Args:
            delay_secs: How long it waits before it begins.
            throttle_delay_secs: The least time between two evaluations.
            evaluate_checkpoint_only_once: Whether it waits for a new checkpoint.
            continuous_eval_predicate_fn: A function of the last results, and of checkpoint_path if it takes
                that: whether to go on.
            name: Of the folder of the summaries.
        """
        self._follow(
            self._eval_input_fn, name, delay_secs, throttle_delay_secs, evaluate_checkpoint_only_once,
            continuous_eval_predicate_fn, True,
        )  # fmt: skip

    def continuous_eval_on_train_data(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous_on_train_data",
    ) -> None:
        """Evaluates each new checkpoint on what is trained on.

        Args:
            delay_secs: How long it waits before it begins.
            throttle_delay_secs: The least time between two evaluations.
            continuous_eval_predicate_fn: As of continuous_eval.
            name: Of the folder of the summaries.
        """
        self._follow(
            self._train_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            True,
            continuous_eval_predicate_fn,
            False,
        )

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Trains, and evaluates and exports in between and at the end.

        Returns:
            What the last evaluation gave, and its exports.
        """
        config = self._estimator.config
        monitors = list(self._train_monitors)
        between = self._checkpoint_and_export and (
            config.save_checkpoints_secs or config.save_checkpoints_steps
        )
        listener = _EvaluatesAndExports(self)
        if between:
            hook = train.CheckpointSaverHook(
                self._estimator.model_dir, config.save_checkpoints_secs, config.save_checkpoints_steps,
                listeners=[listener],
            )  # fmt: skip
            self._train_monitors = [*monitors, hook]
        elif self._min_eval_frequency:
            validation = ValidationMonitor(
                input_fn=self._eval_input_fn, eval_steps=self._eval_steps, metrics=self._eval_metrics,
                every_n_steps=self._min_eval_frequency, hooks=self._eval_hooks,
            )  # fmt: skip
            self._train_monitors = [*monitors, validation]
        try:
            self.train(delay_secs=0)
        finally:
            self._train_monitors = monitors
        if between:
            return listener.results, listener.exports
        found = self._evaluate(self._eval_input_fn, None)
        return found, self.export(found)

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[..., bool] | None = None
    ) -> tuple[Any, list[Any]]:
        """Trains and evaluates in turn, up to train_steps.

        Args:
            continuous_eval_predicate_fn: As of continuous_eval.

        Returns:
            What the last evaluation gave, and its exports.
        """
        steps = self._steps_per_iteration or (1000 if self._train_steps is None else self._train_steps // 10)
        found: Any = None
        path: str | None = None
        exports: list[Any] = []
        goes_on = _predicate(continuous_eval_predicate_fn)
        while goes_on(found, path) and not self._is_done(found):
            self._train(self._train_monitors, steps=max(1, steps))
            path = train.latest_checkpoint(self._estimator.model_dir)
            found = self._evaluate(self._eval_input_fn, "one_pass", path)
            exports = self.export(found)
        return found, exports

    def test(self) -> dict[str, Any]:
        """Makes one step of training and of evaluation, and exports.

        Returns:
            What the evaluation gave.
        """
        self._train(self._train_monitors, steps=1)
        found = self._evaluate(self._eval_input_fn, "one_pass", steps=1)
        self.export(found)
        return found

    def run_std_server(self) -> None:
        """Serves as a task of the cluster, until that is stopped."""
        self._start_server().join()

    # ---- what they share --------------------------------------------------------------------------------------------

    def _start_server(self) -> Server:
        if not self._estimator.config.cluster_spec:
            raise ValueError("There is no cluster to serve in: TF_CONFIG must name one, and this task of it.")
        return Server.from_environment()

    def _train(self, monitors: Sequence[Any], steps: int | None = None, max_steps: int | None = None) -> Any:
        hooks = replace_monitors_with_hooks(monitors, self._estimator)
        core = self._estimator if isinstance(self._estimator, CoreEstimator) else self._estimator.core
        core.train(self._train_input_fn, hooks, steps, max_steps, self._saving_listeners)
        return self._estimator

    def _evaluate(
        self,
        input_fn: Callable[..., Any],
        name: str | None,
        path: str | None = None,
        steps: int | None = None,
    ) -> dict[str, Any]:
        given: dict[str, Any] = {} if self._eval_metrics is None else {"metrics": self._eval_metrics}
        return self._estimator.evaluate(
            input_fn=input_fn, steps=steps or self._eval_steps, hooks=self._eval_hooks, checkpoint_path=path,
            name=name, **given,
        )  # fmt: skip

    def export(self, results: Any, path: str | None = None) -> list[Any]:
        """Exports by every strategy.

        Args:
            results: What the evaluation gave.
            path: The checkpoint.

        Returns:
            What the strategies gave.
        """
        folder = os.path.join(self._estimator.model_dir, "export")
        return [
            one.export(self._estimator, os.path.join(folder, one.name), path, results)
            for one in self._export_strategies
        ]

    def _is_done(self, results: Any) -> bool:
        return bool(results and self._train_steps and results["global_step"] >= self._train_steps)

    def _follow(
        self, input_fn: Callable[..., Any], name: str, delay: float | None, throttle: float | None, once: bool,
        predicate: Callable[..., bool] | None, exports: bool,
    ) -> None:  # fmt: skip
        time.sleep(self._eval_delay_secs if delay is None else delay)
        throttle = self._throttle_secs if throttle is None else throttle
        goes_on, found, seen = _predicate(predicate), None, None
        while goes_on(found, seen) and not self._is_done(found):
            began = time.monotonic()
            path = train.latest_checkpoint(self._estimator.model_dir)
            if path is None or (once and path == seen):
                _log.info("There is no new checkpoint in %s to evaluate.", self._estimator.model_dir)
            else:
                found = self._evaluate(input_fn, name, path)
                seen = path
                if exports:
                    self.export(found, path)
            time.sleep(max(0.0, began + throttle - time.monotonic()))


def _predicate(function: Callable[..., bool] | None) -> Callable[[Any, str | None], bool]:
    if function is None:
        return lambda results, path: True
    if not callable(function):
        raise ValueError(f"continuous_eval_predicate_fn must be a callable, or None, got {function!r}.")
    if "checkpoint_path" in signature(function).parameters:
        return lambda results, path: function(results, checkpoint_path=path)
    return lambda results, path: function(results)


class _EvaluatesAndExports(CheckpointSaverListener):
    """Evaluates and exports after every checkpoint."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._seen: str | None = None
        self.results: Any = None
        self.exports: list[Any] = []

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluates and exports, if the checkpoint is a new one."""
        path = train.latest_checkpoint(self._experiment.estimator.model_dir)
        if path is not None and path != self._seen:
            self._seen = path
            self.results = self._experiment._evaluate(
                self._experiment._eval_input_fn, "intermediate_export", path
            )
            self.exports = self._experiment.export(self.results, path)


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | os.PathLike[str] | None = None,
    schedule: str | None = None,
    run_config: RunConfig | None = None,
    hparams: HParams | None = None,
) -> Any:
    """Makes an experiment and runs it (tf.contrib.learn.learn_runner.run).

    Args:
        experiment_fn: A function of run_config and hparams, or of output_dir, by name, that makes the Experiment.
        output_dir: The folder of the model, in place of run_config.
        schedule: The name of a method of Experiment; by default train_and_evaluate, and in a cluster what the
            task's job does.
        run_config: A RunConfig of gf.contrib.learn, with a model_dir.
        hparams: Given to experiment_fn.

    Returns:
        What the method gives.

    Raises:
        ValueError: If there is neither or both of output_dir and run_config, or no such method.
        TypeError: If experiment_fn is no function, or makes no Experiment.
    """
    if (output_dir is None) == (run_config is None):
        raise ValueError("One of output_dir and run_config must be given, and not both.")
    if not callable(experiment_fn):
        raise TypeError(f"experiment_fn must be callable, got {experiment_fn!r}.")
    if run_config is None:
        if hparams is not None:
            raise ValueError("hparams go with run_config, and not with output_dir.")
        experiment = experiment_fn(output_dir=output_dir)
    else:
        if not isinstance(run_config, RunConfig):
            raise ValueError(f"run_config must be a gf.contrib.learn.RunConfig, got {run_config!r}.")
        if not run_config.model_dir:
            raise ValueError("run_config must have a model_dir.")
        if hparams is not None and not isinstance(hparams, HParams):
            raise ValueError(f"hparams must be HParams, got {hparams!r}.")
        experiment = experiment_fn(run_config=run_config, hparams=hparams)
    if not isinstance(experiment, Experiment):
        raise TypeError(f"experiment_fn must make an Experiment, got {experiment!r}.")
    name = schedule or _default_schedule(run_config or experiment.estimator.config)
    method = getattr(experiment, name, None)
    if not callable(method) or name.startswith("_"):
        known = [m for m in dir(Experiment) if not m.startswith("_") and callable(getattr(Experiment, m))]
        raise ValueError(f"An Experiment has no schedule {name!r}: {', '.join(known)} are there.")
    return method()


def _default_schedule(config: Any) -> str:
    jobs = {TaskType.PS: "run_std_server", TaskType.WORKER: "train"}
    return jobs.get(config.task_type, "train_and_evaluate") if config.cluster_spec else "train_and_evaluate"
