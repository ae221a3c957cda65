"""Exporters: write SavedModels beside a training, after evaluations (gf.estimator)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from glob import glob
from typing import TYPE_CHECKING, Any

from graphflow._core.common.files import storage
from graphflow.summary.writer import summary_iterator

if TYPE_CHECKING:
    from graphflow.estimator.estimator import Estimator

_log = logging.getLogger(__name__)


class Exporter:
    """Writes a model somewhere; to be derived from."""

    @property
    def name(self) -> str:
        """Of the folder under `export` in which it writes."""
        raise NotImplementedError

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Writes the model of a checkpoint, or does nothing.

        Args:
            estimator: Whose model it is.
            export_path: The folder in which a new one is made.
            checkpoint_path: What is restored.
            eval_result: What its evaluation gave.
            is_the_final_export: Whether training has reached its last step.

        Returns:
            The path of what was written, None for nothing.
        """
        raise NotImplementedError


class _SavedModelExporter(Exporter):
    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        self._name = name
        self._receive = serving_input_receiver_fn
        self._assets = assets_extra
        self._as_text = as_text

    @property
    def name(self) -> str:
        """Of the folder under `export` in which it writes."""
        return self._name

    def _write(self, estimator: Estimator, export_path: str, checkpoint_path: str) -> bytes:
        # By name, as those who override it may have other arguments between.
        return estimator.export_saved_model(
            export_path, self._receive, assets_extra=self._assets, as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )  # fmt: skip


class FinalExporter(_SavedModelExporter):
    """Writes the model once, when training has reached its last step.

    Args:
        name: Of the folder under `export`.
        serving_input_receiver_fn: As Estimator.export_saved_model takes.
        assets_extra: As Estimator.export_saved_model takes.
        as_text: As Estimator.export_saved_model takes.
    """

    def export(
        self, estimator: Estimator, export_path: str, checkpoint_path: str, eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        """Writes the model if training has reached its last step; the path or None.

        Args:
            estimator: The estimator.
            export_path: The folder.
            checkpoint_path: The checkpoint.
            eval_result: What the evaluation gave.
            is_the_final_export: Whether training has ended.

        Returns:
            The folder of the export, or None.
        """
        return self._write(estimator, export_path, checkpoint_path) if is_the_final_export else None


class LatestExporter(_SavedModelExporter):
    """Writes the model after each evaluation, and keeps the newest ones.

    Args:
        name: Of the folder under `export`.
        serving_input_receiver_fn: As Estimator.export_saved_model takes.
        assets_extra: As Estimator.export_saved_model takes.
        as_text: As Estimator.export_saved_model takes.
        exports_to_keep: How many are kept; None for all.

    Raises:
        ValueError: If exports_to_keep is not positive.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be a positive number.")
        self._keep = exports_to_keep

    def export(
        self, estimator: Estimator, export_path: str, checkpoint_path: str, eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        """Writes the model; its path.

        Args:
            estimator: The estimator.
            export_path: The folder.
            checkpoint_path: The checkpoint.
            eval_result: What the evaluation gave.
            is_the_final_export: Whether training has ended.

        Returns:
            The folder of the export, or None.
        """
        written = self._write(estimator, export_path, checkpoint_path)
        if self._keep is not None:
            _drop_old(export_path, self._keep)
        return written


class BestExporter(LatestExporter):
    """Writes the model after an evaluation that is better than all before, by default of a smaller loss.

    Args:
        name: Of the folder under `export`.
        serving_input_receiver_fn: As Estimator.export_saved_model takes.
        event_file_pattern: A pattern of event files under the model's folder, such as "eval/*.tfevents.*": what was
            best in them counts, so that a program that is started again knows it. Without it, that is known for
            this program's life.
        compare_fn: Takes best_eval_result and current_eval_result; True if the second is better.
        assets_extra: As Estimator.export_saved_model takes.
        as_text: As Estimator.export_saved_model takes.
        exports_to_keep: How many are kept; None for all.

    Raises:
        ValueError: If exports_to_keep is not positive.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = None,
        compare_fn: Callable[..., bool] | None = None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if serving_input_receiver_fn is None:
            raise ValueError("`serving_input_receiver_fn` must be provided.")
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._is_better = compare_fn or _has_less_loss
        self._best: Mapping[str, Any] | None = None
        self._event_files, self._model_dir = event_file_pattern, ""

    def export(
        self, estimator: Estimator, export_path: str, checkpoint_path: str, eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        """Writes the model if it is the best so far; the path or None.

        Args:
            estimator: The estimator.
            export_path: The folder.
            checkpoint_path: The checkpoint.
            eval_result: What the evaluation gave.
            is_the_final_export: Whether training has ended.

        Returns:
            The folder of the export, or None.
        """
        if self._event_files and self._model_dir != estimator.model_dir:
            self._model_dir = estimator.model_dir
            self._best = self._best_of_events(os.path.join(self._model_dir, self._event_files))
        if self._best is not None and not self._is_better(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        self._best = eval_result
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)

    def _best_of_events(self, pattern: str) -> Mapping[str, Any] | None:
        best: dict[str, Any] | None = None
        for path in sorted(glob(pattern)):
            for event in summary_iterator(path):
                found = {
                    each.tag: each.simple_value
                    for each in event.summary.value
                    if each.HasField("simple_value")
                }
                if found and (
                    best is None or self._is_better(best_eval_result=best, current_eval_result=found)
                ):
                    best = found
        return best


def _has_less_loss(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
    return bool(current_eval_result["loss"] < best_eval_result["loss"])


def _drop_old(folder: str, keep: int) -> None:
    """Removes all but the newest models of a folder, whose names are numbers; what else lies there stays."""
    numbers = sorted(int(name) for name in storage.names(folder) if name.isdigit())
    for number in numbers[:-keep]:
        path = os.path.join(folder, str(number))
        with suppress(OSError):
            storage.remove_tree(path)
        _log.info("Removed the former model %s.", path)
