"""Which of the two formats a checkpoint is written in where a program does not say: graphflow's own, or TensorFlow's.

A program whose `import tensorflow` gives graphflow looks for TensorFlow's files, as do the tools it is used with; any
other has one file, of which every byte is checked, until it asks for TensorFlow's. This module imports nothing, since
`import tensorflow` sets it.
"""

from __future__ import annotations

import os
from typing import Final

SAFETENSORS: Final = "safetensors"
TENSORFLOW: Final = "tensorflow"
VARIABLE: Final = "GRAPHFLOW_CHECKPOINTS"
"""The variable of the environment that comes before the process's default."""

_default = SAFETENSORS


def use_by_default(name: str) -> None:
    """Says which one is written in this process from now on, where neither a program nor the environment does."""
    global _default
    _default = name


def default_format() -> str:
    """The one that is written where a program does not say which; ValueError if the environment names none."""
    name = os.environ.get(VARIABLE) or _default
    if name not in (SAFETENSORS, TENSORFLOW):
        raise ValueError(f"{VARIABLE} is {name!r}: set it to {SAFETENSORS} or {TENSORFLOW}, or not at all.")
    return name
