"""What TensorBoard's projector shows of embeddings (tf.contrib.tensorboard.plugins.projector).

The vectors, the names of their points, and pictures are in files whose paths the configuration gives, relative to the
folder. Of checkpoints TensorBoard reads TensorFlow's alone, and only if TensorFlow is installed where it runs.
"""

from __future__ import annotations

import os
from typing import Any, Final

from graphflow import gfile
from graphflow.protos.projector_config_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata
from graphflow.summary import FileWriter

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]

_FILE: Final = "projector_config.pbtxt"


def visualize_embeddings(summary_writer: FileWriter, config: Any) -> None:
    """Writes the configuration to where TensorBoard looks for it, the folder of a writer.

    Args:
        summary_writer: The gf.summary.FileWriter of the folder.
        config: A ProjectorConfig: `config.embeddings.add()` gives an EmbeddingInfo, whose tensor_name is the name of a
            variable; tensor_path and metadata_path are files of tab-separated values, a line a row, with its numbers
            and with what it is.

    Raises:
        TypeError: One of the two is something else.
    """
    if not isinstance(summary_writer, FileWriter):
        raise TypeError(f"summary_writer must be a gf.summary.FileWriter, not {summary_writer!r}.")
    if not isinstance(config, ProjectorConfig):
        raise TypeError(f"config must be a ProjectorConfig, not {config!r}.")
    from google.protobuf import text_format  # Of the extra that has the messages.

    with gfile.GFile(os.path.join(summary_writer.get_logdir(), _FILE), "w") as file:
        file.write(text_format.MessageToString(config))
