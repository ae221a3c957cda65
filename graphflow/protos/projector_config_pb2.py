"""ProjectorConfig: what TensorBoard's projector is to show (the plug-in's module of that name)."""

from __future__ import annotations

from typing import Any

from graphflow.protos.fields import messages

_MADE = messages(
    "projector_config",
    {
        "SpriteMetadata": ("string image_path = 1", "repeated uint32 single_image_dim = 2"),
        "EmbeddingInfo": (
            "string tensor_name = 1",
            "string metadata_path = 2",
            "string bookmarks_path = 3",
            "repeated uint32 tensor_shape = 4",
            "SpriteMetadata sprite = 5",
            "string tensor_path = 6",
        ),
        "ProjectorConfig": (
            "string model_checkpoint_path = 1",
            "repeated EmbeddingInfo embeddings = 2",
            "string model_checkpoint_dir = 3",
        ),
    },
)
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
SpriteMetadata: Any = _MADE["SpriteMetadata"]
EmbeddingInfo: Any = _MADE["EmbeddingInfo"]
ProjectorConfig: Any = _MADE["ProjectorConfig"]
