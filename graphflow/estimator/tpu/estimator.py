"""TPUEstimator: an estimator whose functions are told the size of a batch. It runs on the CPU, or a GPU."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from typing import Any, Final

from graphflow.estimator.building import argument_names, checked_arguments
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.spec import EstimatorSpec
from graphflow.estimator.tpu.config import RunConfig, check_positive
from graphflow.estimator.tpu.spec import TPUEstimatorSpec

_BATCH_SIZE: Final = "batch_size"
_RESERVED: Final = (_BATCH_SIZE, "context")
_log = logging.getLogger(__name__)


class TPUEstimator(Estimator):
    """An estimator of a model written for TPUs, which runs as with use_tpu=False (tf.contrib.tpu.TPUEstimator).

    Input and model functions find the size of a batch in params["batch_size"], and the model function False in
    params["use_tpu"]. It may return a TPUEstimatorSpec or an EstimatorSpec.

    Args:
        model_fn: A function of features, labels, mode and params, as gf.estimator.Estimator takes it.
        model_dir: The folder; by default config.model_dir.
        config: A RunConfig of this module.
        params: Hyperparameters, a dictionary without "batch_size" and "context".
        use_tpu: There are no TPUs here: it runs on the CPU or a GPU in any case, and the log says so if this is True.
        train_batch_size: The size of a batch in training; needed if use_tpu is True.
        eval_batch_size: That in evaluations.
        predict_batch_size: That in predictions.
        batch_axis: Has no effect, since a batch is not cut.
        eval_on_tpu: Has no effect.
        export_to_tpu: Has no effect: what is exported runs on the CPU or a GPU.
        export_to_cpu: Has no effect.
        warm_start_from: A checkpoint, or WarmStartSettings: what variables begin with.
        experimental_export_device_assignment: Has no effect.
        embedding_config_spec: None: what TPUs do with tables of rows is not there.
        export_saved_model_api_version: Has no effect.

    Raises:
        ValueError: If config is of another class, params have reserved names, or a function does not take `params`.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike[str] | None = None,
        config: RunConfig | None = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        experimental_export_device_assignment: bool = False,
        embedding_config_spec: None = None,
        export_saved_model_api_version: int = 1,
    ) -> None:
        if not isinstance(config, RunConfig):
            raise ValueError(f"config must be a RunConfig of gf.contrib.tpu, got {config!r}.")
        if params is not None and any(name in params for name in _RESERVED):
            raise ValueError(f"{list(_RESERVED)} are reserved keys but existed in params {params}.")
        if embedding_config_spec is not None:
            raise ValueError("embedding_config_spec is of TPUs: look rows up with gf.nn.embedding_lookup.")
        if use_tpu:
            if train_batch_size is None:
                raise ValueError("train_batch_size cannot be None if use_tpu is True.")
            _log.info("use_tpu is True: there are no TPUs, and the model runs on the CPU or a GPU.")
        for what, size in (
            ("train_batch_size", train_batch_size),
            ("eval_batch_size", eval_batch_size),
            ("predict_batch_size", predict_batch_size),
        ):
            if size is not None and use_tpu:
                check_positive(size, what)
        taken = checked_arguments(model_fn, params)
        if "params" not in taken:
            raise ValueError(
                f"model_fn ({model_fn}) does not include params argument, in which TPUEstimator gives the size of a "
                "batch as params['batch_size']."
            )
        self._sizes = (train_batch_size, eval_batch_size, predict_batch_size)
        self._current: int | None = None
        """The size of the batches of the input for which the model function is called; None for an export."""
        super().__init__(self._told(model_fn, taken), model_dir, config, params or {}, warm_start_from)

    def _told(self, model_fn: Callable[..., Any], taken: list[str]) -> Callable[..., EstimatorSpec]:
        """The model function with what it is told of the batch, and an EstimatorSpec in any case."""

        def call(features: Any, labels: Any, mode: str, params: Any, config: Any) -> EstimatorSpec:
            if self._current is not None:
                _add(params, _BATCH_SIZE, self._current)
            self._current = None
            _add(params, "use_tpu", False)
            if labels is not None and "labels" not in taken:
                raise ValueError("model_fn does not take labels, but input_fn returns labels.")
            named = {"labels": labels, "mode": mode, "params": params, "config": config}
            spec = model_fn(features=features, **{name: named[name] for name in taken if name in named})
            return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec

        return call

    def _with_size(self, input_fn: Callable[..., Any], size: int | None) -> Callable[..., Any]:
        """The input function, told the size of a batch."""
        taken = argument_names(input_fn)
        if "params" not in taken:
            raise ValueError(
                f"input_fn ({input_fn}) does not include params argument, in which TPUEstimator gives the size of a "
                "batch as params['batch_size']."
            )

        def call(mode: str, params: Any, config: Any) -> Any:
            self._current = size
            if size is not None:
                _add(params, _BATCH_SIZE, size)
            named = {"mode": mode, "params": params, "config": config}
            return input_fn(**{name: named[name] for name in taken if name in named})

        return call

    def train(self, input_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> TPUEstimator:
        """Trains, as gf.estimator.Estimator.train.

        Args:
            input_fn: A function of `params`, and of `mode` and `config` if it takes them.
            *args: As Estimator.train takes them.
            **kwargs: As Estimator.train takes them.

        Returns:
            The estimator.
        """
        super().train(self._with_size(input_fn, self._sizes[0]), *args, **kwargs)
        return self

    def evaluate(self, input_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Computes the metrics, as gf.estimator.Estimator.evaluate.

        Args:
            input_fn: A function of `params`, and of `mode` and `config` if it takes them.
            *args: As Estimator.evaluate takes them.
            **kwargs: As Estimator.evaluate takes them.

        Returns:
            The metrics by name, with "loss" and "global_step".
        """
        return super().evaluate(self._with_size(input_fn, self._sizes[1]), *args, **kwargs)

    def predict(self, input_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The predictions, as gf.estimator.Estimator.predict.

        Args:
            input_fn: A function of `params`, and of `mode` and `config` if it takes them.
            *args: As Estimator.predict takes them.
            **kwargs: As Estimator.predict takes them.

        Yields:
            Arrays, or dictionaries of them.
        """
        yield from super().predict(self._with_size(input_fn, self._sizes[2]), *args, **kwargs)


def _add(params: Any, name: str, value: Any) -> None:
    """Sets a hyperparameter of a dictionary, or of an HParams."""
    if hasattr(params, "set_hparam"):
        if hasattr(params, name):
            params.set_hparam(name, value)
        else:
            params.add_hparam(name, value)
    else:
        params[name] = value
