"""Callbacks that write: checkpoints, tables, TensorBoard's files (tf.keras.callbacks)."""

from __future__ import annotations

import csv
import io
import json
import urllib.request
from collections.abc import Mapping
from typing import Any

import graphflow.summary as summaries
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow.keras.backend.state import get_graph
from graphflow.keras.callbacks.adjusting import Better, watched
from graphflow.keras.callbacks.base import Callback, Logs


class ModelCheckpoint(Callback):
    """Saves the model after epochs (tf.keras.callbacks.ModelCheckpoint).

    Args:
        filepath: Where to; may have {epoch} and names of logs, as "weights.{epoch:02d}-{val_loss:.2f}.h5".
        monitor: The name of what is watched.
        verbose: Whether it says what it does.
        save_best_only: Whether only what is better than all before is saved.
        save_weights_only: Whether the weights alone are.
        mode: "min", "max", or "auto" by the name.
        save_freq: "epoch", or after how many examples.
        **kwargs: period, after how many epochs.
    """

    def __init__(
        self,
        filepath: str,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.filepath: str = filepath
        self.monitor: str = monitor
        self.verbose: int = verbose
        self.save_best_only: bool = save_best_only
        self.save_weights_only: bool = save_weights_only
        self.save_freq = save_freq
        self.period: Any = kwargs.pop("period", 1)
        self._better = Better(monitor, mode)
        self.best: Any = self._better.worst
        self._epochs = self._examples = self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Keeps the number of the epoch.

        Args:
            epoch: The number of the epoch, from 0.
            logs: Nothing.
        """
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Saves, if that is by examples.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: Its loss and metrics, and "size", how many examples it has.
        """
        if isinstance(self.save_freq, int):
            self._examples += (logs or {}).get("size", 1)
            if self._examples >= self.save_freq:
                self._examples = 0
                self._save(self._epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Saves, if that is by epochs.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        self._epochs += 1
        if self.save_freq == "epoch" and self._epochs >= self.period:
            self._epochs = 0
            self._save(epoch, logs)

    def _save(self, epoch: int, logs: Logs) -> None:
        path = self.filepath.format(epoch=epoch + 1, **(logs or {}))
        if self.save_best_only:
            value = watched(self, logs)
            if value is None:
                return
            if not self._better(value, self.best):
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            if self.verbose > 0:
                print(
                    f"\nEpoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to {value:0.5f}, "
                    f"saving model to {path}"
                )
            self.best = value
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)


class CSVLogger(Callback):
    """The logs of each epoch as a row of a file (tf.keras.callbacks.CSVLogger).

    Args:
        filename: The file's path.
        separator: What stands between two values.
        append: Whether rows are added to a file that is there; otherwise it begins anew.
    """

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename: str = filename
        self.separator: str = separator
        self.append: bool = append
        self._file: Any = None
        self._path: str = ""
        self._writer: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        """Opens the file.

        Args:
            logs: Nothing.
        """
        path = self._path = user_path(self.filename)
        there = self.append and storage.exists(path)
        self._headed = there and storage.status(path).size > 0
        if storage.is_remote(
            path
        ):  # Nothing can be added to such a file: the whole of it is written each time.
            self._file = io.StringIO(storage.read(path).decode() if there else "", newline="")
            self._file.seek(0, io.SEEK_END)
            self._show()
        else:
            self._file = open(path, "a" if self.append else "w", newline="")  # noqa: SIM115
        self._writer = None

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Writes a row.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        logs = logs or {}
        if self._writer is None:
            names = ["epoch", *sorted(logs)]
            self._writer = csv.DictWriter(self._file, names, delimiter=self.separator, extrasaction="ignore")
            if not self._headed:
                self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **{key: float(value) for key, value in logs.items()}})
        self._show()

    def _show(self) -> None:
        if storage.is_remote(self._path):
            with storage.opened(self._path, "wb") as file:
                file.write(self._file.getvalue().encode())
        else:
            self._file.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        """Closes the file.

        Args:
            logs: Nothing.
        """
        self._file.close()


class TensorBoard(Callback):
    """The graph, and the logs of each epoch or batch, for TensorBoard (tf.keras.callbacks.TensorBoard).

    Histograms, gradients, images, embeddings and profiles are not written: what asks for them changes nothing.

    Args:
        log_dir: The folder of the event files.
        histogram_freq: Changes nothing.
        batch_size: Changes nothing.
        write_graph: Whether the graph is among them.
        write_grads: Changes nothing.
        write_images: Changes nothing.
        embeddings_freq: Changes nothing.
        embeddings_layer_names: Changes nothing.
        embeddings_metadata: Changes nothing.
        embeddings_data: Changes nothing.
        update_freq: "epoch", "batch", or after how many examples.
        profile_batch: Changes nothing.
    """

    def __init__(
        self,
        log_dir: str = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Any = None,
        embeddings_metadata: Any = None,
        embeddings_data: Any = None,
        update_freq: str | int = "epoch",
        profile_batch: int = 2,
    ) -> None:
        super().__init__()
        self.log_dir: str = log_dir
        self.write_graph: bool = write_graph
        self.update_freq: str | int = update_freq
        self._writer: Any = None
        self._seen = self._last = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        """Opens the writer.

        Args:
            logs: Nothing.
        """
        self._writer = summaries.FileWriter(self.log_dir, get_graph() if self.write_graph else None)

    def _write(self, logs: Mapping[str, Any], prefix: str, step: int) -> None:
        for name, value in logs.items():
            if name not in ("batch", "size", "num_steps"):
                message = summaries.Summary()
                message.value.add(tag=prefix + name, simple_value=float(value))
                self._writer.add_summary(message, step)
        self._writer.flush()

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Writes a batch's logs, if that was asked for.

        Args:
            batch: The number of the batch within its epoch, from 0.
            logs: Its loss and metrics, and "size", how many examples it has.
        """
        self._seen += (logs or {}).get("size", 1)
        often = 1 if self.update_freq == "batch" else self.update_freq
        if isinstance(often, int) and self._seen - self._last >= often:
            self._last = self._seen
            self._write(logs or {}, "batch_", self._seen)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Writes the epoch's logs.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        self._write(
            logs or {}, "" if str(next(iter(logs or {}), "")).startswith("epoch_") else "epoch_", epoch
        )

    def on_train_end(self, logs: Logs = None) -> None:
        """Closes the writer.

        Args:
            logs: Nothing.
        """
        self._writer.close()


class RemoteMonitor(Callback):
    """Sends each epoch's logs to a server as JSON (tf.keras.callbacks.RemoteMonitor).

    Args:
        root: The server's address, such as "http://localhost:9000".
        path: What follows it.
        field: The name of the form's field that holds the JSON.
        headers: More headers of the request.
        send_as_json: Whether the JSON is sent alone rather than as a field of a form.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Mapping[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root: str = root
        self.path: str = path
        self.field: str = field
        self.headers: dict[str, str] = dict(headers or {})
        self.send_as_json = send_as_json

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Sends the logs.

        Args:
            epoch: The number of the epoch, from 0.
            logs: The loss and metrics by name, or None.
        """
        text = json.dumps({"epoch": epoch, **{k: float(v) for k, v in (logs or {}).items()}})
        data = text if self.send_as_json else f"{self.field}={text}"
        kind = "application/json" if self.send_as_json else "application/x-www-form-urlencoded"
        request = urllib.request.Request(
            self.root + self.path, data.encode(), {"Content-Type": kind, **self.headers}
        )
        with urllib.request.urlopen(request):
            pass
