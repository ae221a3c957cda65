"""How a model is trained, as a description, and a model compiled by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import graphflow.logging as logging
from graphflow.keras import losses, optimizers
from graphflow.keras import metrics as metric_functions
from graphflow.keras.metrics.base import Metric
from graphflow.keras.typing import Objects


def describe(model: Any) -> dict[str, Any] | None:
    """The arguments of compile as JSON has them; None if it was not compiled, or with an optimizer of tf.train."""
    if model.optimizer is None:
        return None
    try:
        config = model.optimizer.get_config()
    except NotImplementedError:
        logging.warning(
            "The optimizer, one of tf.train, is not saved with the model: load_model gives one to compile."
        )
        return None
    given = model._compile_arguments
    return {
        "loss": _named(given["loss"]),
        "metrics": _named(given["metrics"]),
        "weighted_metrics": _named(given["weighted_metrics"]),
        "sample_weight_mode": given["sample_weight_mode"],
        "loss_weights": given["loss_weights"],
        "optimizer_config": {"class_name": type(model.optimizer).__name__, "config": config},
    }


def _named(value: Any) -> Any:
    """Losses and metrics as JSON has them: functions by name."""
    if isinstance(value, Mapping):
        return {key: _named(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(one) for one in value]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Metric | losses.Loss):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return getattr(value, "__name__", str(value))


def _made(value: Any, make: Any, custom: Mapping[str, Any], ready: tuple[str, ...] = ()) -> Any:
    """Losses and metrics of what JSON had."""
    if isinstance(value, Mapping):
        if "class_name" in value:
            return make(value, custom)
        return {key: _made(one, make, custom, ready) for key, one in value.items()}
    if isinstance(value, list):
        return [_made(one, make, custom, ready) for one in value]
    return value if value is None or value in ready else make(value, custom)


def compile_by(model: Any, training: Mapping[str, Any], custom_objects: Objects) -> None:
    """Compiles a model as a description says."""
    custom = dict(custom_objects or {})
    ready = ("accuracy", "acc", "crossentropy", "ce")
    metrics = [
        _made(training.get(key), metric_functions.deserialize, custom, ready)
        for key in ("metrics", "weighted_metrics")
    ]
    model.compile(
        optimizers.deserialize(training["optimizer_config"], custom),
        loss=_made(training.get("loss"), losses.deserialize, custom),
        metrics=metrics[0],
        weighted_metrics=metrics[1],
        loss_weights=training.get("loss_weights"),
        sample_weight_mode=training.get("sample_weight_mode"),
    )


def set_optimizer(model: Any, read: Callable[[], list[Any]]) -> None:
    """Sets the optimizer's state to what is read, if that fits; otherwise it begins anew, and the log says why."""
    if model.inputs is None:
        return
    model.compiled.function(True, False)  # Makes the optimizer's variables.
    try:
        model.optimizer.set_weights(read())
    except ValueError as error:
        logging.warning("The state of the optimizer was not loaded, which begins anew: %s", error)


@contextmanager
def fits(where: str, expected: str) -> Iterator[None]:
    """Says where a description stands that is not of the form that it should have, and what was expected."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(
            f"{where}: expected {expected}, found what does not fit ({type(error).__name__}: {error})."
        ) from error
