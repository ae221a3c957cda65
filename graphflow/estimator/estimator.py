"""Estimator: trains, evaluates and asks a model that a function builds, each time in a graph of its own."""

from __future__ import annotations

import copy
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import graphflow.metrics as metrics
import graphflow.summary as summary
import graphflow.train as train
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.state.scopes import device
from graphflow.contrib.evaluation import StopAfterNEvalsHook, evaluate_once
from graphflow.estimator.building import argument_names, building, checked_arguments, strategy_of
from graphflow.estimator.checks import check_positive, checked_hooks, checked_listeners
from graphflow.estimator.exporting import saved, write_saved_model
from graphflow.estimator.inputs import features_of, parts_of
from graphflow.estimator.run_config import EVALUATOR, PARAMETER_SERVER, RunConfig
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.estimator.towers import parts_in_towers, spec_of_towers, with_devices
from graphflow.estimator.warm_starting import settings_of
from graphflow.summary.writer import FileWriterCache
from graphflow.train.hooks.saving_hooks import events_can_be_written, write_numbers, write_summary, write_text

if TYPE_CHECKING:
    from graphflow.distribute.input import InputContext
    from graphflow.train.hooks.saving_hooks import CheckpointSaverListener
    from graphflow.train.hooks.session_run_hook import SessionRunHook
    from graphflow.train.sessions.scaffold import Scaffold

_log = logging.getLogger(__name__)

_LOSS: Final = "loss"
_STEP: Final = "global_step"

InputFunction = Callable[..., Any]


class Estimator:
    """A model function with the folder in which what it has learnt is kept.

    Each call builds a graph of its own: the model function is called with what the input function gives, and what was
    saved last is restored. One program serves as chief, worker and ps, by TF_CONFIG (train_and_evaluate).

    Args:
        model_fn: A function of `features` and any of `labels`, `mode`, `params` and `config` that returns an
            EstimatorSpec.
        model_dir: The folder; by default config.model_dir, or a new temporary one.
        config: A RunConfig.
        params: Passed to model_fn: hyperparameters, a dictionary as a rule.
        warm_start_from: A checkpoint, or WarmStartSettings: what variables begin with.

    Raises:
        ValueError: If model_fn takes other arguments, or the folder is not that of config.
    """

    def __init__(
        self,
        model_fn: Callable[..., EstimatorSpec],
        model_dir: str | os.PathLike[str] | None = None,
        config: RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        self._warm_start = settings_of(warm_start_from)
        if config is not None and not isinstance(config, RunConfig):
            raise ValueError(
                f"config must be an instance of `RunConfig`: no instance of RunConfig is {config!r}."
            )
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        self._model_arguments = checked_arguments(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        config = config or RunConfig()
        folder = None if model_dir is None else user_path(model_dir)
        if folder is not None and config.model_dir not in (None, folder):
            raise ValueError(
                "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
                f"{folder!r}, in RunConfig: {config.model_dir!r}."
            )
        folder = folder or config.model_dir
        if folder is None:
            folder = tempfile.mkdtemp()
            _log.warning("The model is kept in a temporary folder: %s", folder)
        self._config = config if config.model_dir == folder else config.replace(model_dir=folder)

    # ---- what it is -------------------------------------------------------------------------------------------------

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and summaries."""
        assert self._config.model_dir is not None
        return self._config.model_dir

    @property
    def config(self) -> RunConfig:
        """A copy of its RunConfig."""
        return copy.copy(self._config)

    @property
    def params(self) -> Any:
        """A copy of its hyperparameters."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., Any]:
        """The model function, of features, labels, mode and config."""

        def called(features: Any, labels: Any, mode: str, config: RunConfig) -> Any:
            return self._call_model_fn(features, labels, mode, config)

        return called

    def with_model_fn(self, model_fn: Callable[..., EstimatorSpec]) -> Estimator:
        """Another estimator with the same folder and RunConfig.

        Args:
            model_fn: As the constructor takes, without `params`.
        """
        return Estimator(model_fn, self.model_dir, self.config, warm_start_from=self._warm_start)

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the summaries of evaluations of that name.

        Args:
            name: A name for the operation.
        """
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint, None if there is none."""
        return train.latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the newest checkpoint.

        Raises:
            ValueError: If there is none.
        """
        return [name for name, _ in train.list_variables(self._found_checkpoint())]

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint, as an array.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: If there is none.
        """
        return train.load_variable(self._found_checkpoint(), name)

    def _found_checkpoint(self) -> str:
        found = self.latest_checkpoint()
        if found is None:
            raise ValueError(
                f"Could not find trained model: Estimator has not been trained yet: no checkpoint in {self.model_dir}."
            )
        return found

    # ---- training ---------------------------------------------------------------------------------------------------

    def train(
        self,
        input_fn: InputFunction,
        hooks: Sequence[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Trains until the input ends, or so many steps are made.

        Args:
            input_fn: A function of any of `mode`, `params` and `config` that gives features, or features and labels:
                tensors, or a dataset of them. Under a strategy it gives a dataset, and may take an `input_context`.
            hooks: Of the session.
            steps: How many more steps are made.
            max_steps: The global step at which training ends; nothing is done where it is reached.
            saving_listeners: Are told of every checkpoint.

        Returns:
            The estimator.

        Raises:
            ValueError: If both numbers of steps are given, one is not positive, listeners have no checkpoints, or this
                is a task that evaluates or keeps variables.
            TypeError: If a hook or a listener is none.
        """
        if self._config.task_type in (EVALUATOR, PARAMETER_SERVER):
            raise ValueError(
                f"A task of the job {self._config.task_type!r} does not train: gf.estimator.train_and_evaluate "
                "(tf.estimator.train_and_evaluate) does in each task what it is there for."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        check_positive(steps, "steps")
        check_positive(max_steps, "max_steps")
        if max_steps is not None and self._saved_step() >= max_steps:
            _log.info("Skipping training since max_steps has already saved.")
            return self
        all_hooks = [*checked_hooks(hooks)]
        if steps is not None or max_steps is not None:
            all_hooks.append(train.StopAtStepHook(steps, max_steps))
        loss = self._train(input_fn, all_hooks, checked_listeners(saving_listeners))
        _log.info("Loss for final step: %s.", loss)
        return self

    def _saved_step(self) -> int:
        found = self.latest_checkpoint()
        return 0 if found is None else int(train.load_variable(found, GraphKeys.GLOBAL_STEP))

    def _train(self, input_fn: InputFunction, hooks: list[Any], listeners: Sequence[Any]) -> Any:
        config = self._config
        with building(self._config, ModeKeys.TRAIN) as step:
            spec, _ = self._build(input_fn, ModeKeys.TRAIN)
            if self._warm_start is not None:
                self._warm_start.apply()
            get_default_graph().add_to_collection(GraphKeys.LOSSES, spec.loss)
            if events_can_be_written() and not _has_summary(_LOSS):
                summary.scalar(_LOSS, spec.loss)
            hooks += [train.NanTensorHook(spec.loss), *spec.training_hooks]
            if config.log_step_count_steps:
                shown = {_LOSS: spec.loss, "step": step}
                hooks.append(train.LoggingTensorHook(shown, every_n_iter=config.log_step_count_steps))
            scaffold = _with_saver(spec.scaffold, config)
            with train.MonitoredTrainingSession(
                config.master, config.is_chief, self.model_dir, scaffold, hooks,
                [*self._saving_hooks([*hooks, *spec.training_chief_hooks], scaffold, listeners),
                 *spec.training_chief_hooks],
                None, config.save_summary_steps, None, self._session_config(ModeKeys.TRAIN), 120,
                config.log_step_count_steps, config.session_creation_timeout_secs, None,
            ) as session:  # fmt: skip
                loss = None
                while not session.should_stop():
                    _, loss = session.run([spec.train_op, spec.loss])
        if loss is None:
            _log.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
        return loss

    def _saving_hooks(self, given: Sequence[Any], scaffold: Scaffold, listeners: Sequence[Any]) -> list[Any]:
        config = self._config
        savers = [hook for hook in given if isinstance(hook, train.CheckpointSaverHook)]
        if savers:
            savers[0].add_listeners(listeners)
            return []
        if not config.save_checkpoints_secs and not config.save_checkpoints_steps:
            if listeners:
                raise ValueError(
                    "There is no CheckpointSaverHook to use saving_listeners: RunConfig says none."
                )
            return []
        return [
            train.CheckpointSaverHook(
                self.model_dir, config.save_checkpoints_secs, config.save_checkpoints_steps,
                scaffold=scaffold, listeners=listeners,
            )
        ]  # fmt: skip

    # ---- evaluation -------------------------------------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: InputFunction,
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Computes the metrics of the model function over an input.

        Args:
            input_fn: As for `train`.
            steps: How many batches; None for all.
            hooks: Of the session.
            checkpoint_path: What is restored, by default the newest checkpoint; without any, the model is initialised.
            name: Of the folder of the summaries.

        Returns:
            The metrics by name, with "loss", the mean over the batches, and "global_step".

        Raises:
            ValueError: If steps is not positive, or a metric is called "loss" or "global_step".
        """
        check_positive(steps, "steps")
        config = self._config
        with building(self._config, ModeKeys.EVAL) as step:
            spec, mean_loss = self._build(input_fn, ModeKeys.EVAL)
            found = dict(spec.eval_metric_ops)
            for taken in (_LOSS, _STEP):
                if taken in found:
                    raise ValueError(
                        f"Metric with name `{taken}` is not allowed: the estimator has one of that name."
                    )
            found[_LOSS] = mean_loss
            evaluated = checkpoint_path or self._checkpoint_or_none("evaluate")
            results = evaluate_once(
                evaluated,
                config.evaluation_master,
                spec.scaffold,
                group(*[update for _, update in found.values()]),
                final_ops={key: value for key, (value, _) in found.items()} | {_STEP: step},
                hooks=[
                    *checked_hooks(hooks),
                    StopAfterNEvalsHook(steps, log_progress=steps is not None),
                    *spec.evaluation_hooks,
                ],
                config=self._session_config(ModeKeys.EVAL),
            )
        _log.info(
            "Evaluated at step %d: %s",
            results[_STEP],
            {k: v for k, v in sorted(results.items()) if k != _STEP},
        )
        self._write_evaluation(results, name, evaluated)
        return dict(results)

    def _checkpoint_or_none(self, what: str) -> Any:
        """The newest checkpoint; without one the variables of the default graph begin as training would begin."""
        found = self.latest_checkpoint()
        if found is None:
            _log.info("No trained model in %s: it is initialised to %s.", self.model_dir, what)
            if self._warm_start is not None:
                self._warm_start.apply()
        return found

    def _write_evaluation(self, results: Mapping[str, Any], name: str | None, path: Any) -> None:
        if not events_can_be_written():
            return
        numbers = {
            key: float(value)
            for key, value in results.items()
            if key != _STEP
            and isinstance(value, np.ndarray | np.generic | int | float)
            and np.ndim(value) == 0
            and np.asarray(value).dtype.kind in "fiu"
        }
        writer, step = FileWriterCache.get(self.eval_dir(name)), int(results[_STEP])
        write_numbers(writer, numbers, step)
        for key, value in results.items():
            if isinstance(value, bytes):
                write_summary(writer, key, value, step)
        if path is not None:
            write_text(writer, "checkpoint_path", os.fspath(path), step)
        writer.flush()

    # ---- prediction -------------------------------------------------------------------------------------------------

    def predict(
        self,
        input_fn: InputFunction,
        predict_keys: str | Sequence[str] | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions for an input, one after the other.

        Args:
            input_fn: As for `train`; labels are not looked at.
            predict_keys: The names of those predictions that are wanted; None for all.
            hooks: Of the session.
            checkpoint_path: What is restored, by default the newest checkpoint; without any, the model is initialised.
            yield_single_examples: Whether each row of a batch comes by itself, or the whole batch.

        Yields:
            Arrays, or dictionaries of them, as the model function's predictions are.

        Raises:
            ValueError: If there are none of those names, or rows of different numbers in one batch.
        """
        config, own_hooks = self._config, checked_hooks(hooks)
        with building(self._config, ModeKeys.PREDICT):
            features = features_of(self._call_input_fn(input_fn, ModeKeys.PREDICT))
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, config)
            predictions = _chosen(spec.predictions, predict_keys)
            creator = train.ChiefSessionCreator(
                spec.scaffold, config.evaluation_master, config.session_config,
                checkpoint_filename_with_path=checkpoint_path or self._checkpoint_or_none("predict"),
            )  # fmt: skip
            graph = get_default_graph()
        with graph.as_default():
            session = train.MonitoredSession(creator, [*own_hooks, *spec.prediction_hooks])
        with session:
            while not session.should_stop():
                found = session.run(predictions)
                if not yield_single_examples:
                    yield found
                elif isinstance(predictions, Mapping):
                    for row in range(_rows(found)):
                        yield {key: value[row] for key, value in found.items()}
                else:
                    yield from found

    # ---- export -----------------------------------------------------------------------------------------------------

    def export_saved_model(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Writes the model as a SavedModel into a new folder, named by the time in seconds.

        Args:
            export_dir_base: The folder in which the new one is made.
            serving_input_receiver_fn: Makes a ServingInputReceiver.
            assets_extra: Files to copy: from paths under assets.extra to where they are.
            as_text: Whether the graph is written as text.
            checkpoint_path: What is restored, by default the newest checkpoint.
            experimental_mode: The mode in which the model function is called.

        Returns:
            The path of the new folder, as bytes.

        Raises:
            ValueError: If there is no checkpoint, or an output is none.
        """
        return self._write_saved_model(
            export_dir_base, {experimental_mode: serving_input_receiver_fn}, assets_extra, as_text, checkpoint_path
        )  # fmt: skip

    def experimental_export_all_saved_models(
        self,
        export_dir_base: str | os.PathLike[str],
        input_receiver_fn_map: Mapping[str, Callable[[], Any]],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> bytes:
        """As export_saved_model, with the graphs of several modes, which share the variables.

        Args:
            export_dir_base: The folder in which the new one is made.
            input_receiver_fn_map: For each mode a function that makes a ServingInputReceiver, or to train and to
                evaluate a SupervisedInputReceiver.
            assets_extra: Files to copy: from paths under assets.extra to where they are.
            as_text: Whether the graphs are written as text.
            checkpoint_path: What is restored, by default the newest checkpoint.

        Returns:
            The path of the new folder, as bytes.

        Raises:
            ValueError: If there is no mode or no checkpoint, or the checkpoint lacks a variable.
        """
        return self._write_saved_model(
            export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
        )

    def _write_saved_model(
        self, base: Any, receivers: Mapping[str, Callable[[], Any]], assets: Mapping[str, str] | None, as_text: bool,
        path: str | None,
    ) -> bytes:  # fmt: skip
        if path is None and self.latest_checkpoint() is None and self._warm_start is not None:
            path = train.latest_checkpoint(self._warm_start.ckpt_to_initialize_from)
            path = path or self._warm_start.ckpt_to_initialize_from
        found = path or self._found_checkpoint()
        return write_saved_model(base, receivers, self._call_model_fn, self._config, found, assets, as_text)

    def export_savedmodel(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """As export_saved_model, by its former name; strip_default_attrs has no effect.

        Args:
            export_dir_base: The folder in which each export gets a folder of its own.
            serving_input_receiver_fn: Makes a ServingInputReceiver.
            assets_extra: {path in the folder: file} to copy.
            as_text: Whether the message is written as text.
            checkpoint_path: The checkpoint; by default the newest.
            strip_default_attrs: Not needed.

        Returns:
            The folder of the export.
        """
        return self.export_saved_model(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )

    # ---- functions of the user --------------------------------------------------------------------------------------

    def _build(self, input_fn: InputFunction, mode: str) -> tuple[EstimatorSpec, Any]:
        """The model for an input, in the towers of a strategy if there is one; and to evaluate the loss's metric."""
        strategy = strategy_of(self._config, mode)
        if strategy is None:
            features, labels = parts_of(self._call_input_fn(input_fn, mode))
            spec = self._call_model_fn(features, labels, mode, self._config)
            return spec, metrics.mean(spec.loss) if mode == ModeKeys.EVAL else None
        features, labels = parts_in_towers(
            strategy, lambda context: self._call_input_fn(input_fn, mode, context)
        )
        model_fn = partial(self._call_model_fn, mode=mode, config=self._config)
        return spec_of_towers(strategy, mode, model_fn, features, labels)

    def _session_config(self, mode: str) -> Any:
        strategy = strategy_of(self._config, mode)
        config = self._config.session_config
        return config if strategy is None else with_devices(config, strategy)

    def _call_input_fn(self, input_fn: InputFunction, mode: str, context: InputContext | None = None) -> Any:
        named = {"mode": mode, "params": self.params, "config": self.config, "input_context": context}
        taken = argument_names(input_fn)
        with device("/cpu:0"):
            return input_fn(**{name: value for name, value in named.items() if name in taken})

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        named = {"labels": labels, "mode": mode, "params": self.params, "config": config}
        taken = self._model_arguments
        if labels is not None and "labels" not in taken:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        spec = self._model_fn(
            features=features, **{name: value for name, value in named.items() if name in taken}
        )
        if not isinstance(spec, EstimatorSpec):
            raise ValueError(f"model_fn should return an EstimatorSpec, got {spec!r}.")
        return spec


def _has_summary(name: str) -> bool:
    return any(
        one.op.name.rpartition("/")[2] == name
        for one in get_default_graph().get_collection(GraphKeys.SUMMARIES)
    )


def _with_saver(scaffold: Scaffold, config: RunConfig) -> Scaffold:
    """The scaffold with a saver that keeps as many checkpoints as the config says, unless the model made one.

    It saves no place in the input: each call of an estimator begins with its input function, from the beginning. What
    hooks make is saved, as it is built when they have begun.
    """
    graph = get_default_graph()
    if scaffold.saver is None and not graph.get_collection(GraphKeys.SAVERS):
        saver = train.Saver(
            saved,
            defer_build=True,
            max_to_keep=config.keep_checkpoint_max,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            save_relative_paths=True,
        )
        graph.add_to_collection(GraphKeys.SAVERS, saver)
    return scaffold


def _chosen(predictions: Any, keys: str | Sequence[str] | None) -> Any:
    if not isinstance(predictions, Mapping):
        if keys:
            raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
        return predictions
    wanted = list(predictions) if not keys else [keys] if isinstance(keys, str) else list(keys)
    chosen = {key: value for key, value in predictions.items() if key in wanted}
    if not chosen:
        raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {wanted}.")
    return chosen


def _rows(found: Mapping[str, Any]) -> int:
    sizes = {key: len(value) if np.ndim(value) else None for key, value in found.items()}
    if len(set(sizes.values())) != 1 or None in sizes.values():
        raise ValueError(
            f"Batch length of predictions should be same. They should have the same first size, one for each example, "
            f"got {sizes}. With "
            "yield_single_examples=False the whole batch is given."
        )
    return int(next(iter(sizes.values())) or 0)
