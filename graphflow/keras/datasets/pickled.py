"""Files of datasets that hold pickled arrays and lists of numbers, read without running code."""

from __future__ import annotations

import pickle
import zipfile
from typing import IO, Any

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
            raise pickle.UnpicklingError(f"The file names {module}.{name}: it is no file of this dataset.")
        return super().find_class(module, name)


def read_batch(path: str, labels: str) -> tuple[Any, Any]:
    """Images [count, 3, 32, 32] and labels of a file of CIFAR.

    Args:
        path: The file, a pickle of plain values.
        labels: The name of the labels in it.

    Returns:
        Arrays of bytes [count, 3, 32, 32], and of ints [count].
    """
    with open(path, "rb") as file:
        found = _Plain(file, encoding="bytes").load()
    images = np.asarray(found[b"data"], np.uint8).reshape(-1, 3, 32, 32)
    return images, np.asarray(found[labels.encode()])


def read_arrays(path: str, *names: str) -> list[Any]:
    """Arrays of an .npz file by name, those of objects too, which np.load would unpickle whatever they name.

    Args:
        path: The file.
        *names: The arrays' names.

    Returns:
        The arrays, in that order.
    """
    with zipfile.ZipFile(path) as archive:
        return [_array(archive, f"{name}.npy") for name in names]


def _array(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(name) as file:
        if not _header(file)[2].hasobject:
            with archive.open(name) as again:
                return np.lib.format.read_array(again, allow_pickle=False)
        return _Plain(file, encoding="bytes").load()


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and dtype of an .npy file, of which the values come next."""
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in read:
        raise ValueError(f"The file is of version {version} of .npy, and not of 1.0 or 2.0.")
    return read[version](file)
