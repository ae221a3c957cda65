"""train_and_evaluate: one call for every task of a cluster, and for a program alone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import graphflow.train as train
from graphflow._core.cluster.environment import EVALUATOR
from graphflow._core.cluster.server.server import Server
from graphflow.contrib.evaluation import wait_for_new_checkpoint
from graphflow.estimator.checks import check_positive, checked_hooks
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.exporters import Exporter
from graphflow.estimator.run_config import PARAMETER_SERVER
from graphflow.train.hooks.session_run_hook import SessionRunHook

_log = logging.getLogger(__name__)

_STEP: Final = "global_step"


class _Training(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[SessionRunHook, ...]


class TrainSpec(_Training):
    """How train_and_evaluate trains.

    Args:
        input_fn: As Estimator.train takes.
        max_steps: The global step at which training ends; None for the end of the input.
        hooks: Of every worker's session.

    Raises:
        ValueError: If max_steps is not positive.
        TypeError: If input_fn is no function, or a hook none.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
    ) -> TrainSpec:
        _check_function(input_fn)
        check_positive(max_steps, "max_steps")
        return super().__new__(cls, input_fn, max_steps, checked_hooks(hooks))


class _Evaluation(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[SessionRunHook, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_Evaluation):
    """How train_and_evaluate evaluates.

    Args:
        input_fn: As Estimator.evaluate takes.
        steps: How many batches an evaluation takes; None for all.
        name: Of the folder of its summaries.
        hooks: Of its session.
        exporters: Are given the model after each evaluation.
        start_delay_secs: How long an evaluator of a cluster waits before it begins.
        throttle_secs: The least time between two evaluations.

    Raises:
        ValueError: If a number is negative, or steps is not positive.
        TypeError: If input_fn is no function, an exporter none, or the name no string.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        exporters: Exporter | Sequence[Exporter] | None = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        _check_function(input_fn)
        check_positive(steps, "steps")
        for what, seconds in (("start_delay_secs", start_delay_secs), ("throttle_secs", throttle_secs)):
            if seconds < 0:
                raise ValueError(f"Must specify {what} >= 0, given: {seconds}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, the name of an evaluation, given: {name!r}.")
        found = list(exporters) if isinstance(exporters, Iterable) else [exporters] if exporters else []
        for exporter in found:
            if not isinstance(exporter, Exporter):
                raise TypeError(f"`exporters` must be an Exporter, or several of them, given: {exporter!r}.")
        names = [exporter.name for exporter in found]
        for given in names:
            if not given:
                raise ValueError(
                    f"An Exporter cannot have a name that is `None` or empty. Each exporter's name: {names}."
                )
            if not isinstance(given, str):
                raise ValueError(f"An Exporter must have a string name, given: {given!r}.")
        if len(set(names)) != len(names):
            raise ValueError(f"`exporters` must have unique names. They are {names}.")
        return super().__new__(
            cls, input_fn, steps, name, checked_hooks(hooks), tuple(found), start_delay_secs, throttle_secs
        )


def _check_function(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn!r}.")


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[Mapping[str, Any] | None, list[Any]]:
    """Trains, and evaluates each checkpoint, at most one in throttle_secs; the same call in every task of a cluster.

    Alone it does both in turn. In a cluster, as TF_CONFIG tells it, the chief and the workers train, a ps serves until
    the cluster is stopped, and an evaluator evaluates until it has seen the checkpoint of max_steps.

    Args:
        estimator: The estimator.
        train_spec: How it is trained.
        eval_spec: How it is evaluated.

    Returns:
        What the last evaluation and its exporters gave; None and an empty list for tasks that do not evaluate.

    Raises:
        TypeError: If a specification is none.
        ValueError: If a cluster's evaluator is not told max_steps.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            "`estimator` must have type `tf.estimator.Estimator`, which is gf.estimator.Estimator, given: "
            f"{estimator!r}."
        )
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `gf.estimator.TrainSpec`, given: {train_spec!r}.")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `gf.estimator.EvalSpec`, given: {eval_spec!r}.")
    config = estimator.config
    evaluation = _Evaluations(estimator, eval_spec, train_spec.max_steps)
    if config.task_type == EVALUATOR:
        evaluation.follow()
        return evaluation.results, evaluation.exports
    if not config.cluster_spec:
        listener = _Listener(evaluation)
        estimator.train(
            train_spec.input_fn, train_spec.hooks, max_steps=train_spec.max_steps, saving_listeners=[listener]
        )
        return evaluation.results, evaluation.exports
    server = Server.from_environment()
    try:
        if config.task_type == PARAMETER_SERVER:
            server.join()
        else:
            estimator.train(train_spec.input_fn, train_spec.hooks, max_steps=train_spec.max_steps)
    finally:
        server.stop()
    return None, []


class _Evaluations:
    """The evaluations of one estimator, of which none comes sooner than throttle_secs after the one before."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
        self.results: Mapping[str, Any] | None = None
        self.exports: list[Any] = []
        self.step = -1
        """The global step of the last one."""
        self._last = ""
        self._began = 0.0

    def is_due(self) -> bool:
        """Whether throttle_secs have gone by since the last one began."""
        return not self._began or time.monotonic() - self._began >= self._spec.throttle_secs

    def evaluate(self) -> bool:
        """Evaluates the newest checkpoint; False if that was evaluated before, or there is none."""
        path = self._estimator.latest_checkpoint()
        if not path or path == self._last:
            return False
        spec = self._spec
        self._began, self._last = time.monotonic(), path
        self.results = self._estimator.evaluate(spec.input_fn, spec.steps, spec.hooks, path, spec.name)
        self.step = int(self.results[_STEP])
        is_last = self._max_steps is not None and self.step >= self._max_steps
        self.exports = [
            exporter.export(
                self._estimator,
                f"{self._estimator.model_dir}/export/{exporter.name}",
                path,
                self.results,
                is_last,
            )
            for exporter in spec.exporters
        ]
        return True

    def follow(self) -> None:
        """Evaluates what others train, up to max_steps."""
        if self._max_steps is None:
            raise ValueError(
                "An evaluator ends at max_steps of the TrainSpec, which must be given on a cluster."
            )
        time.sleep(self._spec.start_delay_secs)
        while self.step < self._max_steps:
            wait_for_new_checkpoint(self._estimator.model_dir, self._last or None)
            if self._began:
                time.sleep(max(0.0, self._began + self._spec.throttle_secs - time.monotonic()))
            self.evaluate()


class _Listener(train.CheckpointSaverListener):
    """Evaluates after checkpoints, and in any case after the last one."""

    def __init__(self, evaluations: _Evaluations) -> None:
        self._evaluations = evaluations
        self._first: int | None = None

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluates, if it is time."""
        if self._first is None:  # What is saved before the first step.
            self._first = global_step_value
        elif self._evaluations.is_due():
            self._evaluations.evaluate()

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluates the last checkpoint, unless that was done."""
        self._evaluations.evaluate()
