"""Callbacks that change the training: its end, and the learning rate (tf.keras.callbacks)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import graphflow.logging as logging
from graphflow.keras.backend.values import get_value, set_value
from graphflow.keras.callbacks.base import Callback, Logs


class Better:
    """Which of two values of something watched is better; mode: "min", "max", or "auto" by the name."""

    def __init__(self, monitor: str, mode: str, least: float = 0.0) -> None:
        if mode not in ("auto", "min", "max"):
            logging.warning("The mode %s is unknown: it is min, max or auto, which is taken.", mode)
            mode = "auto"
        largest = mode == "max" or (mode == "auto" and ("acc" in monitor or monitor.startswith("fmeasure")))
        self._sign = 1 if largest else -1
        self._least = abs(least)
        self.worst: float = -np.inf if largest else np.inf

    def __call__(self, value: Any, best: Any) -> bool:
        """Whether a value is better than the best so far, by more than `least`."""
        return bool((value - best) * self._sign > self._least)


def watched(callback: Any, logs: Logs) -> Any:
    """The value that a callback watches; None, and a warning, if it is not there."""
    value = (logs or {}).get(callback.monitor)
    if value is None:
        logging.warning(
            "%s watches %s, which is not available. Available are: %s", type(callback).__name__, callback.monitor,
            ",".join(logs or {}),
        )  # fmt: skip
    return value


class EarlyStopping(Callback):
    """Ends training when what it watches is not better any more (tf.keras.callbacks.EarlyStopping).

    Args:
        monitor: The name of what is watched.
        min_delta: By how much it must be better.
        patience: Epochs without anything better before the end.
        verbose: Whether it says so.
        mode: "min", "max", or "auto" by the name.
        baseline: What it must be better than at first.
        restore_best_weights: Whether the weights of the best epoch come back.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor: str = monitor
        self.patience: int = patience
        self.verbose: int = verbose
        self.baseline: float | None = baseline
        self.restore_best_weights = restore_best_weights
        self._better = Better(monitor, mode, min_delta)
        self.stopped_epoch: int = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begins anew.

        Args:
            logs: Nothing.
        """
        self.wait: int = 0
        self.stopped_epoch = 0
        self.best_weights: Any = None
        self.best: float = self._better.worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Looks at the epoch.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        value = watched(self, logs)
        if value is None:
            return
        if self._better(value, self.best):
            self.best = value
            self.wait = 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Logs = None) -> None:
        """Says when it ended.

        Args:
            logs: Nothing.
        """
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


def _rate_of(model: Any, who: str) -> Any:
    if not hasattr(model.optimizer, "lr"):
        raise ValueError(f'{who} needs an optimizer with a "lr" attribute, one of tf.keras.optimizers.')
    return model.optimizer.lr


class LearningRateScheduler(Callback):
    """The learning rate by schedule(epoch) or schedule(epoch, rate) (tf.keras.callbacks.LearningRateScheduler).

    Args:
        schedule: A function of the number of the epoch, from 0, and perhaps of the rate so far, that gives the new
            rate, a float.
        verbose: 1 to print each change, 0 not to.
    """

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule = schedule
        self.verbose: int = verbose

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Sets the rate.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.

        Raises:
            ValueError: The schedule gives no float, or the optimizer has no learning rate.
        """
        variable = _rate_of(self.model, "LearningRateScheduler")
        several = len(inspect.signature(self.schedule).parameters) > 1
        rate = self.schedule(epoch, float(get_value(variable))) if several else self.schedule(epoch)
        if not isinstance(rate, float | np.floating):
            raise ValueError(f'The output of the "schedule" function should be float, got {rate!r}.')
        set_value(variable, rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Puts the rate into the logs.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        if logs is not None:
            logs["lr"] = get_value(self.model.optimizer.lr)


class ReduceLROnPlateau(Callback):
    """A smaller learning rate when what it watches is not better any more (tf.keras.callbacks.ReduceLROnPlateau).

    Args:
        monitor: What is watched, a name of the logs.
        factor: What the rate is multiplied by, less than 1.
        patience: How many epochs without anything better come before that.
        verbose: 1 to print each change, 0 not to.
        mode: "min" if smaller is better, "max" if larger is, "auto" to decide by the name.
        min_delta: By how much it must be better.
        cooldown: How many epochs after a change do not count.
        min_lr: The smallest rate.
        **kwargs: `epsilon`: an older name of `min_delta`.

    Raises:
        ValueError: The factor is 1 or more.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.monitor: str = monitor
        self.factor: float = factor
        self.patience: int = patience
        self.verbose: int = verbose
        self.cooldown: int = cooldown
        self.min_lr: float = min_lr
        self._better = Better(monitor, mode, kwargs.pop("epsilon", min_delta))

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begins anew.

        Args:
            logs: Nothing.
        """
        self.best, self.wait, self.cooldown_counter = self._better.worst, 0, 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Looks at the epoch.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        variable = _rate_of(self.model, "ReduceLROnPlateau")
        if logs is not None:
            logs["lr"] = get_value(variable)
        value = watched(self, logs)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._better(value, self.best):
            self.best = value
            self.wait = 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            rate = float(get_value(variable))
            if self.wait >= self.patience and rate > self.min_lr:
                rate = max(rate * self.factor, self.min_lr)
                set_value(variable, rate)
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {rate}.")
                self.cooldown_counter = self.cooldown
                self.wait = 0
