"""What a program asks about TensorFlow itself: its version, and which of the two it runs with. It is the first, always.

Functions that choose TensorFlow 1's behaviour do nothing, since it is what there is; those that choose TensorFlow 2's
are errors.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import date
from typing import Final, NoReturn

from graphflow.as_tensorflow.modules import TENSORFLOW_VERSION

__version__: Final = TENSORFLOW_VERSION
VERSION: Final = TENSORFLOW_VERSION
GIT_VERSION: Final = f"v{TENSORFLOW_VERSION}-graphflow"
COMPILER_VERSION: Final = ""
GRAPH_DEF_VERSION: Final = 134
GRAPH_DEF_VERSION_MIN_CONSUMER: Final = 0
GRAPH_DEF_VERSION_MIN_PRODUCER: Final = 0
ENABLE_CONTROL_FLOW_V2: Final = False
"""Conditionals and loops are TensorFlow 1's (tensorflow.python.ops.control_flow_util)."""
__git_version__: Final = GIT_VERSION
__compiler_version__: Final = COMPILER_VERSION


def disable_v2_behavior() -> None:
    """Nothing: graphs, sessions and TensorFlow 1's behaviour are what there is (tf.disable_v2_behavior)."""


def disable_eager_execution() -> None:
    """Nothing: there are graphs only (tf.disable_eager_execution)."""


def disable_v2_tensorshape() -> None:
    """Nothing: the sizes of shapes are Dimensions (tf.disable_v2_tensorshape)."""


def enable_v2_behavior() -> NoReturn:
    """RuntimeError: there is no TensorFlow 2 here (tf.enable_v2_behavior)."""
    raise RuntimeError(
        "graphflow has TensorFlow 1's behaviour only: build a graph, and run it in tf.Session. "
        "A program for TensorFlow 2 needs TensorFlow 2."
    )


def executing_eagerly() -> bool:
    """False: ops are parts of a graph (tf.executing_eagerly)."""
    return False


in_eager_mode = executing_eagerly
graph_mode = nullcontext


def in_graph_mode() -> bool:
    """True (tensorflow.python.eager.context.in_graph_mode)."""
    return True


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether TensorFlow 1.15 does what its developers were to begin that day (tf.compat.forward_compatible)."""
    return date(year, month, day) < date(2019, 8, 21)


def forward_compatibility_horizon(year: int, month: int, day: int) -> AbstractContextManager[None]:
    """A block in which TensorFlow does what its developers were to begin by that day: nothing changes.

    Args:
        year: The year.
        month: The month.
        day: The day.

    Returns:
        A context manager (tf.compat.forward_compatibility_horizon).
    """
    return nullcontext()


def enabled() -> bool:
    """False: this is not TensorFlow 2 (tensorflow.python.tf2.enabled)."""
    return False
