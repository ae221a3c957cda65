"""Protects tf.contrib.tensorboard.plugins.projector: the file that TensorBoard reads, and that it can read it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from werkzeug.test import Client

import graphflow as gf
from graphflow.contrib.tensorboard.plugins import projector


def test_the_configuration_is_where_tensorboard_looks_for_it(tmp_path: Path) -> None:
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "words"
    embedding.metadata_path = "words.tsv"
    embedding.sprite.image_path = "words.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with gf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text == (
        'embeddings {\n  tensor_name: "words"\n  metadata_path: "words.tsv"\n  sprite {\n    image_path: "words.png"\n'
        "    single_image_dim: 28\n    single_image_dim: 28\n  }\n}\n"
    )


def test_tensorboard_reads_the_vectors(tmp_path: Path) -> None:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2) / 4
    np.savetxt(tmp_path / "words.tsv", rows, delimiter="\t")
    (tmp_path / "names.tsv").write_text("one\ntwo\nthree\n")
    config = projector.ProjectorConfig()
    config.embeddings.add(tensor_name="words:0", tensor_path="words.tsv", metadata_path="names.tsv")
    with gf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    with warnings.catch_warnings(action="ignore"):  # Of what TensorBoard itself imports.
        from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
        from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
        from tensorboard.plugins.base_plugin import TBContext
        from tensorboard.plugins.projector.projector_plugin import ProjectorPlugin

        runs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
        provider = MultiplexerDataProvider(runs, str(tmp_path))
        plugin = ProjectorPlugin(TBContext(logdir=str(tmp_path), multiplexer=runs, data_provider=provider))
        apps = plugin.get_plugin_apps()
        shown = Client(apps["/tensor"]).get("/tensor?run=.&name=words:0")
        names = Client(apps["/metadata"]).get("/metadata?run=.&name=words:0")
    assert np.frombuffer(shown.data, np.float32).reshape(3, 2).tolist() == rows.tolist()
    assert names.text == "one\ntwo\nthree\n"


def test_anything_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"gf\.summary\.FileWriter"):
        projector.visualize_embeddings(str(tmp_path), projector.ProjectorConfig())  # type: ignore[arg-type]
    with gf.summary.FileWriter(str(tmp_path)) as writer, pytest.raises(TypeError, match="ProjectorConfig"):
        projector.visualize_embeddings(writer, None)
