"""The files of CIFAR: pickled dictionaries of plain arrays, read without running code."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"), ("numpy", "ndarray"),
    ("numpy", "dtype"), ("_codecs", "encode"),
}  # fmt: skip


class _Plain(pickle.Unpickler):
    """Reads arrays and what they are made of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """A class that arrays need; UnpicklingError for others."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"The file names {module}.{name}: it is no file of CIFAR.")
        return super().find_class(module, name)


def read_batch(path: str, labels: str) -> tuple[Any, Any]:
    """Images [count, 3, 32, 32] and labels of a file."""
    with open(path, "rb") as file:
        found = _Plain(file, encoding="bytes").load()
    images = np.asarray(found[b"data"], np.uint8).reshape(-1, 3, 32, 32)
    return images, np.asarray(found[labels.encode()])
