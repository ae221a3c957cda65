"""Callback, the list of them, and those that each training has (tf.keras.callbacks)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from graphflow.keras.utils.progress import Progbar

Logs: TypeAlias = dict[str, Any] | None


class Callback:
    """What callbacks are derived from (tf.keras.callbacks.Callback).

    Attributes:
        params: Numbers of the training: epochs, steps, samples, verbose, metrics.
        model: The model that trains; its stop_training ends that.
    """

    def __init__(self) -> None:
        self.validation_data: Any = None
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Keeps the numbers of the training.

        Args:
            params: Among them "batch_size", "epochs", "steps", "samples", "verbose" and "metrics".
        """
        self.params = dict(params)

    def set_model(self, model: Any) -> None:
        """Keeps the model.

        Args:
            model: The model that is trained, tested or asked to predict.
        """
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Before an epoch.

        Args:
            epoch: The number of the epoch, from 0.
            logs: Nothing.
        """

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """After an epoch.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name; those of validation begin with val_.
        """

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Before a batch of training.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: "batch", its number, and "size", how many examples it has.
        """

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """After a batch of training.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: Its loss, the metrics so far, and "size", how many examples it has.
        """

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Before a batch of training.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: "batch", its number, and "size", how many examples it has.
        """
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """After a batch of training.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: Its loss, the metrics so far, and "size", how many examples it has.
        """
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Before a batch of evaluation.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: "batch", its number, and "size", how many examples it has.
        """

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """After a batch of evaluation.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: Its loss, the metrics so far, and "size", how many examples it has.
        """

    def on_predict_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Before a batch of prediction.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: "batch", its number, and "size", how many examples it has.
        """

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """After a batch of prediction.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: "batch", its number, and "size", how many examples it has.
        """

    def on_train_begin(self, logs: Logs = None) -> None:
        """Before training.

        Args:
            logs: Nothing.
        """

    def on_train_end(self, logs: Logs = None) -> None:
        """After training.

        Args:
            logs: Nothing.
        """

    def on_test_begin(self, logs: Logs = None) -> None:
        """Before evaluation.

        Args:
            logs: Nothing.
        """

    def on_test_end(self, logs: Logs = None) -> None:
        """After evaluation.

        Args:
            logs: Nothing.
        """

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Before prediction.

        Args:
            logs: Nothing.
        """

    def on_predict_end(self, logs: Logs = None) -> None:
        """After prediction.

        Args:
            logs: Nothing.
        """


class CallbackList:
    """Callbacks that are called one after the other.

    Args:
        callbacks: The callbacks, in the order in which they are called.
        model: The model that each is given.
        params: The numbers of the training that each is given.
    """

    def __init__(self, callbacks: Iterable[Any], model: Any, params: Mapping[str, Any]) -> None:
        self.callbacks: list[Any] = list(callbacks)
        for callback in self.callbacks:
            callback.set_model(model)
            callback.set_params(params)

    def call(self, name: str, *args: Any) -> None:
        """Calls the method of that name of each.

        Args:
            name: The method's name; a callback that does not have it is left out.
            *args: What it is called with.
        """
        for callback in self.callbacks:
            method = getattr(callback, name, None)
            if method is not None:
                method(*args)


class History(Callback):
    """The logs of each epoch (tf.keras.callbacks.History); `fit` returns one."""

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begins anew.

        Args:
            logs: Nothing.
        """
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Keeps the logs.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


class BaseLogger(Callback):
    """Means over an epoch in its logs (tf.keras.callbacks.BaseLogger).

    Args:
        stateful_metrics: The names of metrics that are left as they are.
    """

    def __init__(self, stateful_metrics: Sequence[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics: set[str] = set(stateful_metrics or ())

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Begins anew.

        Args:
            epoch: The number of the epoch, from 0.
            logs: Nothing.
        """
        self.seen: int = 0
        self.totals: dict[str, Any] = {}

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Adds a batch.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: Its loss and metrics, and "size", how many examples it has.
        """
        size = (logs or {}).get("size", 0)
        self.seen += size
        for key, value in (logs or {}).items():
            if key in self.stateful_metrics:
                self.totals[key] = value
            else:
                self.totals[key] = self.totals.get(key, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Puts the means into the logs.

        Args:
            epoch: The number of the epoch, from 0.
            logs: Where the means go.
        """
        for key in self.params.get("metrics", ()):
            if logs is not None and key in self.totals:
                stays = key in self.stateful_metrics
                logs[key] = self.totals[key] if stays else self.totals[key] / max(self.seen, 1)


class TerminateOnNaN(Callback):
    """Ends training when the loss is no number (tf.keras.callbacks.TerminateOnNaN)."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Looks at the loss.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class LambdaCallback(Callback):
    """Functions as a callback (tf.keras.callbacks.LambdaCallback).

    Args:
        on_epoch_begin: Called with (epoch, logs) before each epoch.
        on_epoch_end: Called with (epoch, logs) after each epoch.
        on_batch_begin: Called with (batch, logs) before each batch.
        on_batch_end: Called with (batch, logs) after each batch.
        on_train_begin: Called with (logs) before training.
        on_train_end: Called with (logs) after training.
        **kwargs: Functions for other methods of Callback, by name.
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_batch_begin: Callable[..., Any] | None = None,
        on_batch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end, "on_train_begin": on_train_begin, "on_train_end": on_train_end, **kwargs,
        }  # fmt: skip
        self.__dict__.update({name: function for name, function in given.items() if function is not None})


class ProgbarLogger(Callback):
    """Shows progress (tf.keras.callbacks.ProgbarLogger).

    Args:
        count_mode: "samples" or "steps", what is counted.
        stateful_metrics: The names of metrics that are shown as they are; others are shown as means.

    Raises:
        ValueError: `count_mode` is neither.
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Sequence[str] | None = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode!r}; it is samples or steps.")
        self.use_steps: bool = count_mode == "steps"
        self.stateful_metrics: set[str] = set(stateful_metrics or ())

    def on_train_begin(self, logs: Logs = None) -> None:
        """Begins.

        Args:
            logs: Nothing.
        """
        self.verbose: Any = self.params.get("verbose", 1)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Names the epoch.

        Args:
            epoch: The number of the epoch, from 0.
            logs: Nothing.
        """
        self.seen: int = 0
        self.target: Any = self.params["steps"] if self.use_steps else self.params["samples"]
        if self.verbose and self.params.get("epochs", 1) > 1:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self.progbar: Progbar = Progbar(
            self.target, verbose=self.verbose, stateful_metrics=list(self.stateful_metrics),
            unit_name="step" if self.use_steps else "sample",
        )  # fmt: skip

    def _values(self, logs: Logs) -> list[tuple[str, Any]]:
        return [(key, logs[key]) for key in self.params["metrics"] if logs and key in logs]

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Shows a batch; the last one is shown with the epoch.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: Its loss and metrics, and "size", how many examples it has.
        """
        self.seen += 1 if self.use_steps else (logs or {}).get("size", 0)
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self._values(logs))

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Shows the epoch.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        if self.verbose:
            if self.target is None:
                self.progbar.target = self.seen
            self.progbar.stateful_metrics = set(self.params["metrics"])
            self.progbar.update(self.seen, self._values(logs))
