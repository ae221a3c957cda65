"""The loop over epochs and batches: training, evaluation and prediction, each batch by one run of the session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow.keras.callbacks.base import BaseLogger, CallbackList, History, ProgbarLogger
from graphflow.keras.engine.batches import ArrayBatches, GeneratorBatches, StopTraining


class Settings:
    """What a loop is told: epochs, what is printed, and callbacks."""

    def __init__(
        self,
        epochs: int = 1,
        initial_epoch: int = 0,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
        batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> None:
        self.epochs = epochs
        self.initial_epoch = initial_epoch
        self.verbose = verbose
        self.callbacks: list[Any] = list(
            callbacks.callbacks if isinstance(callbacks, CallbackList) else callbacks or ()
        )
        self.batch_size = batch_size
        self.validation_freq = validation_freq

    def validates(self, epoch: int) -> bool:
        """Whether an epoch, from 0 on, ends with validation."""
        if isinstance(self.validation_freq, int):
            return (epoch + 1) % self.validation_freq == 0
        return (epoch + 1) in self.validation_freq


def _params(model: Any, batches: Any, settings: Settings, validates: bool) -> dict[str, Any]:
    names = list(model.metrics_names)
    return {
        "batch_size": settings.batch_size,
        "epochs": settings.epochs,
        "steps": batches.steps,
        "samples": batches.samples,
        "verbose": settings.verbose,
        "do_validation": validates,
        "metrics": [*names, *(f"val_{n}" for n in names)] if validates else names,
    }


def train(model: Any, batches: Any, function: Any, validation: Any, settings: Settings) -> Any:
    """Trains; gives the history. validation: batches and the function that tests, or None."""
    history = History()
    names = list(model.metrics_names)
    stateful = names[1:]
    shown = _shown(batches, stateful, settings)
    every = [BaseLogger(stateful), *settings.callbacks, history]
    params = _params(model, batches, settings, validation is not None)
    callbacks = CallbackList(every, model, params)
    progress = CallbackList(shown, model, params)
    model.history = history
    model.stop_training = False
    if settings.verbose:
        _say(batches, validation)
    callbacks.call("on_train_begin", {})
    progress.call("on_train_begin", {})
    for epoch in range(settings.initial_epoch, settings.epochs):
        if model.stop_training:
            break
        model.reset_metrics()
        callbacks.call("on_epoch_begin", epoch, {})
        progress.call("on_epoch_begin", epoch, {})
        results = _epoch(model, batches, function, callbacks, progress, "train", names)
        if not results and epoch > settings.initial_epoch:
            break  # The data ended with the epoch before, which has logged all there is.
        _has_batches(results)
        logs = dict(zip(names, results, strict=False))
        if validation is not None and settings.validates(epoch) and not model.stop_training:
            tested, test = validation
            model.reset_metrics()
            found = _epoch(model, tested, test, callbacks, CallbackList([], model, {}), "test", names)
            _has_batches(found)
            logs |= {f"val_{name}": value for name, value in zip(names, found, strict=False)}
        callbacks.call("on_epoch_end", epoch, logs)
        progress.call("on_epoch_end", epoch, logs)
    callbacks.call("on_train_end", {})
    return history


def _say(batches: Any, validation: Any) -> None:
    def count(source: Any) -> str:
        return f"{source.samples} samples" if source.samples is not None else f"{source.steps} steps"

    if batches.samples is None and batches.steps is None:
        return
    more = f", validate on {count(validation[0])}" if validation is not None else ""
    print(f"Train on {count(batches)}{more}")


def _counts_steps(batches: Any) -> bool:
    """Whether progress and means count batches, rather than examples."""
    return not isinstance(batches, ArrayBatches) or batches.steps is not None


def _shown(batches: Any, stateful: Sequence[str], settings: Settings) -> list[Any]:
    """What shows progress, if anything does."""
    unit = "steps" if _counts_steps(batches) else "samples"
    return [ProgbarLogger(unit, stateful)] if settings.verbose else []


def _has_batches(results: Sequence[Any]) -> None:
    if not results:
        raise ValueError("Empty training data: there was no batch.")


def _epoch(
    model: Any, batches: Any, function: Any, callbacks: CallbackList, progress: CallbackList, mode: str,
    names: Sequence[str],
) -> list[Any]:  # fmt: skip
    """The loss, a mean over batches, and the last values of the metrics, which keep a state; nothing without batches.

    The model's stop_training is set if the data ends early.
    """
    by_steps = _counts_steps(batches)
    if mode == "test":
        callbacks.call("on_test_begin", {})
    # The loss of an epoch weighs a generator's batches by their sizes, a dataset's alike, as TensorFlow 1.15 does.
    by_examples = isinstance(batches, GeneratorBatches)
    total, count, results = 0.0, 0, []
    try:
        for number, (size, arrays) in enumerate(batches.epoch()):
            logs: dict[str, Any] = {
                "batch": number,
                "size": 1 if by_steps and mode == "train" and not by_examples else size,
            }
            callbacks.call(f"on_{mode}_batch_begin", number, logs)
            outs = function(arrays)
            weight = 1 if by_steps else size
            total += float(outs[0]) * weight
            count += weight
            results = outs
            logs |= dict(zip(names, outs, strict=False))
            callbacks.call(f"on_{mode}_batch_end", number, logs)
            progress.call("on_batch_end", number, logs)
            if mode == "train" and model.stop_training:
                break
    except StopTraining:
        model.stop_training = True
    if mode == "test":
        callbacks.call("on_test_end", {})
    return [total / count, *results[1:]] if count else []


def test(model: Any, batches: Any, function: Any, settings: Settings) -> list[Any]:
    """The loss and metrics of batches."""
    names = list(model.metrics_names)
    params = _params(model, batches, settings, False)
    callbacks = CallbackList(settings.callbacks, model, params)
    shown = CallbackList(_shown(batches, names[1:], settings), model, params)
    model.reset_metrics()
    shown.call("on_train_begin", {})
    shown.call("on_epoch_begin", 0, {})
    results = _epoch(model, batches, function, callbacks, shown, "test", names)
    _has_batches(results)
    shown.call("on_epoch_end", 0, dict(zip(names, results, strict=False)))
    return results


def predict(model: Any, batches: Any, function: Any, settings: Settings) -> list[Any]:
    """The outputs for batches, an array for each output."""
    callbacks = CallbackList(settings.callbacks, model, _params(model, batches, settings, False))
    model.reset_metrics()
    callbacks.call("on_predict_begin", {})
    found: list[list[Any]] = []
    try:
        for number, (size, arrays) in enumerate(batches.epoch()):
            logs = {"batch": number, "size": size}
            callbacks.call("on_predict_batch_begin", number, logs)
            outs = function(arrays)
            found.append(outs)
            callbacks.call("on_predict_batch_end", number, {**logs, "outputs": outs})
    except StopTraining:
        pass
    callbacks.call("on_predict_end", {})
    if not found:
        raise ValueError("Empty data: there was no batch to predict.")
    return [parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*found, strict=True)]
