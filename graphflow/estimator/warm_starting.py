"""How an estimator begins with the variables of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphflow.saved_model.files import variables_path
from graphflow.saved_model.loader import maybe_saved_model_directory
from graphflow.train.saving.vocabularies import VocabInfo
from graphflow.train.saving.warm_start import warm_start


class WarmStartSettings(NamedTuple):
    """What an estimator begins with (tf.estimator.WarmStartSettings).

    Args:
        ckpt_to_initialize_from: The checkpoint, or its folder.
        vars_to_warm_start: As gf.train.warm_start takes it.
        var_name_to_vocab_info: gf.train.VocabInfo for the variables whose rows are for words of another vocabulary
            than in the checkpoint.
        var_name_to_prev_var_name: The names in the checkpoint of those variables that have another one there.
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: str | Sequence[Any] | None = ".*"
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None
    var_name_to_prev_var_name: Mapping[str, str] | None = None

    def apply(self) -> None:
        """Gives the variables of the default graph their first values."""
        warm_start(*self)


def _of_model(path: str) -> str:
    """The checkpoint inside of a SavedModel's folder, for others the path itself."""
    return variables_path(path) if maybe_saved_model_directory(path) else path


def settings_of(given: Any) -> WarmStartSettings | None:
    """The settings, or those for the path of a checkpoint; ValueError for anything else."""
    if given is None or isinstance(given, WarmStartSettings):
        return given
    if isinstance(given, str | bytes):
        return WarmStartSettings(_of_model(given if isinstance(given, str) else given.decode()))
    raise ValueError(f"warm_start_from must be a string or a WarmStartSettings, instead got {type(given)}")
