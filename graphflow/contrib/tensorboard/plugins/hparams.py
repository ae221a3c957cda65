"""Runs side by side by their hyperparameters, in TensorBoard (tensorboard.plugins.hparams).

The tensorboard package has these as well, but its modules `api` and `summary` import TensorFlow with Keras. These are
made of the plug-in's own messages; the events are the same. A run is a folder: what it was begun with is written there
by `hparams_pb` (or session_start_pb), and what is compared are the scalars that are written there.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.hparams.summary_v2 import (
    Discrete,
    Domain,
    HParam,
    IntInterval,
    Metric,
    RealInterval,
    hparams_config_pb,
    hparams_pb,
)

import graphflow.protos as protos

__all__ = [
    "Discrete",
    "Domain",
    "HParam",
    "IntInterval",
    "Metric",
    "RealInterval",
    "api_pb2",
    "experiment_pb",
    "hparams_config_pb",
    "hparams_pb",
    "session_end_pb",
    "session_start_pb",
]


def experiment_pb(
    hparam_infos: Sequence[Any],
    metric_infos: Sequence[Any],
    user: str = "",
    description: str = "",
    time_created_secs: float | None = None,
) -> Any:
    """The summary that says which hyperparameters and metrics an experiment has, for the folder around its runs.

    Args:
        hparam_infos: Messages api_pb2.HParamInfo.
        metric_infos: Messages api_pb2.MetricInfo, whose names are those of scalars.
        user: Whose it is.
        description: A text, Markdown allowed.
        time_created_secs: When it was made, in seconds since 1970; by default now.

    Returns:
        A Summary, for FileWriter.add_summary.
    """
    experiment = api_pb2.Experiment(
        description=description,
        user=user,
        time_created_secs=_moment(time_created_secs),
        hparam_infos=hparam_infos,
        metric_infos=metric_infos,
    )
    return _summary(metadata.EXPERIMENT_TAG, plugin_data_pb2.HParamsPluginData(experiment=experiment))


def session_start_pb(
    hparams: Mapping[str, bool | float | str | list[Any] | tuple[Any, ...]],
    model_uri: str = "",
    monitor_url: str = "",
    group_name: str = "",
    start_time_secs: float | None = None,
) -> Any:
    """The summary that says with which hyperparameters a run begins.

    Args:
        hparams: Their values by name; a list or a tuple is shown as its text.
        model_uri: Where the model is.
        monitor_url: Where the run can be watched.
        group_name: Runs of one group are repetitions of one another.
        start_time_secs: When it begins, in seconds since 1970; by default now.

    Returns:
        A Summary, for FileWriter.add_summary.

    Raises:
        TypeError: A value is something else.
    """
    info = plugin_data_pb2.SessionStartInfo(
        model_uri=model_uri,
        monitor_url=monitor_url,
        group_name=group_name,
        start_time_secs=_moment(start_time_secs),
    )
    for name, value in hparams.items():
        if isinstance(value, bool):  # Which is an int as well.
            info.hparams[name].bool_value = value
        elif isinstance(value, int | float):
            info.hparams[name].number_value = value
        elif isinstance(value, str | list | tuple):
            info.hparams[name].string_value = str(value)
        else:
            raise TypeError(
                f"The hyperparameter {name!r} is {value!r}, a {type(value).__name__}: TensorBoard shows bool, int, "
                "float, str, list and tuple. Write its text, or .item() of a number of NumPy's."
            )
    return _summary(
        metadata.SESSION_START_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_start_info=info)
    )


def session_end_pb(status: int, end_time_secs: float | None = None) -> Any:
    """The summary that says how a run ended.

    Args:
        status: A value of api_pb2.Status, such as api_pb2.STATUS_SUCCESS.
        end_time_secs: When, in seconds since 1970; by default now.

    Returns:
        A Summary, for FileWriter.add_summary.
    """
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=_moment(end_time_secs))
    return _summary(metadata.SESSION_END_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_end_info=info))


def _moment(given: float | None) -> float:
    return time.time() if given is None else given


def _summary(tag: str, data: Any) -> Any:
    described = metadata.create_summary_metadata(data)
    value = protos.summary_pb2.Summary.Value(tag=tag, metadata=described, tensor=metadata.NULL_TENSOR)
    return protos.summary_pb2.Summary(value=[value])
