"""What test programs ask for besides TestCase: to be run, a folder, what the machine has (tf.test)."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import unittest
from functools import lru_cache

from graphflow._core.codegen.gpu.discovery import found
from graphflow.flags import FLAGS


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the program's main module, and ends the program (tf.test.main).

    What are flags of the program is parsed; the rest is unittest's.

    Args:
        argv: By default sys.argv.
    """
    unittest.main(argv=FLAGS(list(sys.argv if argv is None else argv), known_only=True))


@lru_cache(maxsize=1)
def get_temp_dir() -> str:
    """A folder of this process, removed when it ends (tf.test.get_temp_dir)."""
    folder = tempfile.mkdtemp(prefix="graphflow_test_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def test_src_dir_path(relative_path: str) -> str:
    """A path below the folder of the main program (tf.test.test_src_dir_path).

    Args:
        relative_path: A path in that folder.
    """
    folder = os.path.dirname(os.path.abspath(getattr(sys.modules["__main__"], "__file__", "") or "."))
    return os.path.join(folder, relative_path)


def is_built_with_cuda() -> bool:
    """Whether graphflow can use CUDA devices if there are any: always (tf.test.is_built_with_cuda)."""
    return True


def is_built_with_rocm() -> bool:
    """False: GPUs are CUDA's (tf.test.is_built_with_rocm)."""
    return False


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Whether there is a GPU that graphflow can use, or Numba's simulator of one (tf.test.is_gpu_available).

    Args:
        cuda_only: Means nothing here, all are CUDA's.
        min_cuda_compute_capability: Of the GPU, as (7, 0).
    """
    least = min_cuda_compute_capability or (0, 0)
    return any(gpu.capability >= tuple(least) for gpu in found().gpus)


def gpu_device_name() -> str:
    """The name of the first GPU, "/device:GPU:0"; "" if there is none (tf.test.gpu_device_name)."""
    return "/device:GPU:0" if found().gpus else ""
