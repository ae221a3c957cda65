"""What the layers of keras share: their arguments are attributes, and make their configuration."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow.keras.backend import settings, state
from graphflow.keras.engine.base_layer import Layer
from graphflow.keras.layers.arguments import config_of, keep
from graphflow.keras.typing import Config, Phase, Shapes


class ConfiguredLayer(Layer):
    """A layer whose arguments, given to `_keep`, are its attributes and its configuration."""

    def _keep(self, **given: Any) -> None:
        keep(self, **given)

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        return {**super().get_config(), **config_of(self)}


class ElementwiseLayer(ConfiguredLayer):
    """A layer whose output has the shape and mask of its input."""

    supports_masking = True

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The input's shape."""
        return shapes.as_shape(input_shape)


def phase_of(training: Phase) -> Any:
    """Whether a call is training: what it was told, or the learning phase."""
    return state.learning_phase() if training is None else training


def layout_of(data_format: str | None) -> str:
    """The layout of images that was said, or the default one.

    Args:
        data_format: "channels_last", "channels_first" or None.

    Returns:
        One of the two words.

    Raises:
        ValueError: It is none of these.
    """
    word = settings.image_data_format() if data_format is None else data_format.lower()
    if word not in ("channels_last", "channels_first"):
        raise ValueError(f'data_format must be "channels_first" or "channels_last", got {data_format!r}.')
    return word
