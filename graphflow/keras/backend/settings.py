"""What keras takes if nothing is said: the type of floats, the layout of images, the smallest number."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

_FLOATS = ("float16", "float32", "float64")
_LAYOUTS = ("channels_last", "channels_first")
_settings: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}


def _read_file() -> None:
    """The user's own settings, as Keras keeps them in keras.json."""
    path = os.path.join(os.environ.get("KERAS_HOME", os.path.expanduser("~/.keras")), "keras.json")
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return
    allowed = {"floatx": _FLOATS, "image_data_format": _LAYOUTS}
    for key in _settings:
        if key in found and (key == "epsilon" or found[key] in allowed[key]):
            _settings[key] = found[key]


_read_file()


def floatx() -> str:
    """The name of the dtype of weights and inputs (tf.keras.backend.floatx)."""
    return str(_settings["floatx"])


def set_floatx(value: str) -> None:
    """Sets the dtype of weights and inputs (tf.keras.backend.set_floatx).

    Args:
        value: "float16", "float32" or "float64".

    Raises:
        ValueError: It is none of these.
    """
    if value not in _FLOATS:
        raise ValueError(f"set_floatx() takes one of {', '.join(_FLOATS)}, got {value!r}.")
    _settings["floatx"] = value


def epsilon() -> float:
    """The number that keeps divisions and logarithms finite (tf.keras.backend.epsilon)."""
    return float(_settings["epsilon"])


def set_epsilon(value: float) -> None:
    """Sets the number that keeps divisions and logarithms finite (tf.keras.backend.set_epsilon).

    Args:
        value: A small positive number, such as 1e-7.
    """
    _settings["epsilon"] = value


def image_data_format() -> str:
    """Either "channels_last" or "channels_first" (tf.keras.backend.image_data_format)."""
    return str(_settings["image_data_format"])


def set_image_data_format(data_format: str) -> None:
    """Sets the layout of images (tf.keras.backend.set_image_data_format).

    Args:
        data_format: "channels_last" or "channels_first".

    Raises:
        ValueError: It is none of these.
    """
    if data_format not in _LAYOUTS:
        raise ValueError(f"set_image_data_format() takes one of {', '.join(_LAYOUTS)}, got {data_format!r}.")
    _settings["image_data_format"] = data_format


def cast_to_floatx(x: Any) -> Any:
    """An array of the default dtype (tf.keras.backend.cast_to_floatx).

    Args:
        x: An array, or what NumPy makes one of.

    Returns:
        An array of the same shape.
    """
    return np.asarray(x, dtype=floatx())


def backend() -> str:
    """The word "tensorflow", which programs compare it with (tf.keras.backend.backend)."""
    return "tensorflow"
