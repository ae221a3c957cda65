"""Protects the hyperparameters and texts that TensorBoard shows: its own plug-ins read what programs write."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

import graphflow as gf
from graphflow.contrib.tensorboard.plugins import hparams

PROGRAM = """
import sys
import tensorflow as tf
from tensorboard.plugins.hparams import api_pb2, summary
from tensorboard.plugins.hparams import api as hp

folder = sys.argv[1]
infos = [api_pb2.HParamInfo(name="rate", type=api_pb2.DATA_TYPE_FLOAT64)]
metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag="accuracy"))]
with tf.summary.FileWriter(folder) as writer:
    writer.add_summary(summary.experiment_pb(hparam_infos=infos, metric_infos=metrics))
for rate in (0.25, 0.5):
    with tf.summary.FileWriter(f"{folder}/{rate}") as writer:
        writer.add_summary(summary.session_start_pb({"rate": rate, "net": ["conv", 3], "shuffle": True}))
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="accuracy", simple_value=2 * rate)]), 7)
        writer.add_summary(summary.session_end_pb(api_pb2.STATUS_SUCCESS))
print(hp.HParam("units", hp.Discrete([1, 2])).name)
"""


def apps(plugin: str, folder: Path) -> Any:
    """What a plug-in of TensorBoard's serves of a folder of events, by path."""
    with warnings.catch_warnings(action="ignore"):  # Of what TensorBoard itself imports.
        from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
        from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
        from tensorboard.plugins.base_plugin import TBContext
        from tensorboard.plugins.hparams.hparams_plugin import HParamsPlugin
        from tensorboard.plugins.text.text_plugin import TextPlugin

        runs = (
            EventMultiplexer(tensor_size_guidance={"hparams": 0}).AddRunsFromDirectory(str(folder)).Reload()
        )
        provider = MultiplexerDataProvider(runs, str(folder))
        context = TBContext(logdir=str(folder), multiplexer=runs, data_provider=provider)
        return {"hparams": HParamsPlugin, "text": TextPlugin}[plugin](context).get_plugin_apps()


def ask(served: Any, path: str, **what: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        answer = Client(served[path]).post(path, json=what)
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text)


def groups(folder: Path, metric: str) -> list[tuple[dict[str, Any], float | None]]:
    """The runs that TensorBoard shows: hyperparameters, and the metric."""
    request = {"startIndex": 0, "sliceSize": 10, "allowedStatuses": [], "colParams": []}
    request["allowedStatuses"] = ["STATUS_SUCCESS", "STATUS_UNKNOWN", "STATUS_RUNNING", "STATUS_FAILURE"]
    served = apps("hparams", folder)
    found = ask(served, "/session_groups", **request)["sessionGroups"]
    return sorted(
        (
            (
                g["hparams"],
                next((v["value"] for v in g["metricValues"] if v["name"]["tag"] == metric), None),
            )
            for g in found
        ),
        key=str,
    )


def test_programs_of_tensorflow_write_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", "-m", "graphflow", "run", "train.py", str(tmp_path / "logs")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "units\n"), done.stderr
    assert groups(tmp_path / "logs", "accuracy") == [
        ({"rate": 0.25, "net": "['conv', 3]", "shuffle": True}, 0.5),
        ({"rate": 0.5, "net": "['conv', 3]", "shuffle": True}, 1.0),
    ]


def test_the_form_with_classes(tmp_path: Path) -> None:
    rate = hparams.HParam("rate", hparams.RealInterval(0.0, 1.0))
    with gf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(hparams.hparams_config_pb([rate], [hparams.Metric("loss")]))
    with gf.summary.FileWriter(tmp_path / "first") as writer:
        writer.add_summary(hparams.hparams_pb({rate: 0.5}))
        writer.add_summary(gf.Summary(value=[gf.Summary.Value(tag="loss", simple_value=3.0)]), 1)
    assert groups(tmp_path, "loss") == [({"rate": 0.5}, 3.0)]


def test_a_value_that_it_does_not_show_is_refused() -> None:
    with pytest.raises(TypeError, match=r"hyperparameter 'rate' is None, a NoneType: .* Write its text"):
        hparams.session_start_pb({"rate": None})  # type: ignore[dict-item]


def test_a_text_is_shown_as_markdown(tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session, gf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(session.run(gf.summary.text("notes", gf.constant("rate **0.5**"))), 3)
    served = apps("text", tmp_path)
    with warnings.catch_warnings(action="ignore"):
        shown = json.loads(Client(served["/text"]).get("/text?run=.&tag=notes").text)
    assert [(one["step"], one["text"]) for one in shown] == [(3, "<p>rate <strong>0.5</strong></p>")]
