"""Protects tf.contrib.tensorboard.plugins.projector: the file that TensorBoard reads, and that it can read it."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_anything_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"gf\.summary\.FileWriter"):
        projector.visualize_embeddings(str(tmp_path), projector.ProjectorConfig())  # type: ignore[arg-type]
    with gf.summary.FileWriter(str(tmp_path)) as writer, pytest.raises(TypeError, match="ProjectorConfig"):
        projector.visualize_embeddings(writer, None)
