"""Programs of TensorFlow 1 as they are: `import tensorflow` gives graphflow, in this process.

`graphflow run train.py` runs a program so. A program of your own calls graphflow.as_tensorflow.install() before it
imports one; tests run with `python -m pytest -p graphflow.as_tensorflow`, notebooks with
`%load_ext graphflow`.
"""

from __future__ import annotations

import sys

import graphflow.logging as logging
from graphflow._core.checkpoint.default_format import TENSORFLOW, use_by_default
from graphflow.as_tensorflow import age
from graphflow.as_tensorflow.finder import Finder, Served, real_tensorflow
from graphflow.as_tensorflow.modules import ROOTS
from graphflow.as_tensorflow.packages import old_packages

__all__ = ["install"]


def install() -> None:
    """Makes `import tensorflow` give graphflow from now on, in this process; a second call does nothing.

    Checkpoints are written in TensorFlow's format, since such programs know its files. A TensorFlow that is installed
    is not used, which the log says once. Modules here are the same objects, so that a program and others that import
    graphflow share graphs. tf.__version__ is that of TensorFlow 1.15.

    Raises:
        RuntimeError: the process has imported a real tensorflow already, whose objects cannot become ours.
    """
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    for name in (
        root for root in ROOTS if root != "keras"
    ):  # A newer Keras may be there, and stays where it is.
        module = sys.modules.get(name)
        if module is not None and not isinstance(module, Served):
            raise RuntimeError(
                f"{name} is imported already, from {getattr(module, '__file__', None)}: "
                "call graphflow.as_tensorflow.install() before anything imports it."
            )
    installed = real_tensorflow()
    sys.meta_path.insert(0, Finder())
    use_by_default(TENSORFLOW)
    age.mend()
    old_packages.install()
    if installed is not None:
        logging.warning("import tensorflow gives graphflow in this process, and not %s.", installed)


def pytest_load_initial_conftests() -> None:
    """Installs it before pytest imports what may import tensorflow (python -m pytest -p graphflow.as_tensorflow)."""
    install()


def load_ipython_extension(ipython: object) -> None:
    """Installs it in a notebook (%load_ext graphflow.as_tensorflow)."""
    install()
