"""A hook that evaluates while it is trained, without checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.array import placeholder
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.estimator.checks import checked_hooks
from graphflow.estimator.estimator import Estimator
from graphflow.train.hooks.session_run_hook import SessionRunContext, SessionRunHook, SessionRunValues
from graphflow.train.hooks.timers import SecondOrStepTimer


class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates with the values that variables have in training (tf.estimator.experimental.InMemoryEvaluatorHook).

    It evaluates before the first step, every so many steps and at the end, and writes the summaries of evaluations. It
    works in one process, and with variables alone.

    Args:
        estimator: The estimator that is trained.
        input_fn: As Estimator.evaluate takes.
        steps: How many batches; None for all.
        hooks: Of the session that evaluates.
        name: Of the folder of the summaries.
        every_n_iter: After how many steps.

    Raises:
        ValueError: If the number of steps is not positive, or there are other tasks.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        config = estimator.config
        if config.num_ps_replicas > 0 or config.num_worker_replicas > 1:
            raise ValueError(
                "InMemoryEvaluatorHook supports only single machine (aka Local) setting, and there are other tasks."
            )
        self._estimator, self._input_fn, self._steps, self._name = estimator, input_fn, steps, name
        self._hooks = checked_hooks(hooks)
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)
        self._done = 0

    def begin(self) -> None:
        """Counts from nothing."""
        self._timer.reset()
        self._done = 0

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Evaluates what training begins with.

        Args:
            session: The session that trains.
            coord: Its coordinator.
        """
        graph = get_default_graph()
        if graph.get_collection(GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError(
                "InMemoryEvaluatorHook does not support saveables other than global variables: the model has "
                f"{[saved.name for saved in graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)]}."
            )
        self._variables = {variable.name: variable for variable in global_variables()}
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluates if it is time.

        Args:
            run_context: Of the step.
            run_values: Of the step.
        """
        self._done += 1
        if self._timer.should_trigger_for_step(self._done):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        """Evaluates what has been trained.

        Args:
            session: The session that trains.
        """
        self._evaluate(session)

    def _evaluate(self, session: Any) -> None:
        values = session.run(self._variables)
        with Graph().as_default():  # That of training is closed.
            self._estimator.evaluate(
                self._input_fn, self._steps, [*self._hooks, _Assigns(values)], name=self._name
            )
        self._timer.update_last_triggered_step(self._done)


class _Assigns(SessionRunHook):
    """Gives variables values, by their names."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def begin(self) -> None:
        """Makes the assignments."""
        known = [variable for variable in global_variables() if variable.name in self._values]
        fed = [(variable, placeholder(variable.dtype.base_dtype)) for variable in known]
        self._feeds = {given: self._values[variable.name] for variable, given in fed}
        self._assign = group(*[assign(variable, given, validate_shape=False) for variable, given in fed])

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Assigns."""
        session.run(self._assign, self._feeds)
