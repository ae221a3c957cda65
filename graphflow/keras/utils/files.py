"""Files of data (tf.keras.utils)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any


def get_file(
    fname: str,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str = "auto",
    cache_dir: str | None = None,
) -> str:
    """The path of a file that lies in Keras's folder of data (tf.keras.utils.get_file); nothing is downloaded.

    Args:
        fname: The file's name.
        origin: Where it comes from, for the error.
        untar: Whether it is the folder that an archive is unpacked to.
        md5_hash: An older form of `file_hash`.
        file_hash: The SHA-256 or MD5 that it has to have, in hexadecimal.
        cache_subdir: The folder in Keras's folder.
        hash_algorithm: Changes nothing: the length of the hash says which it is.
        extract: As `untar`.
        archive_format: Changes nothing.
        cache_dir: A folder in place of Keras's, which is $KERAS_HOME or ~/.keras.

    Returns:
        The path.

    Raises:
        FileNotFoundError: It is not there; says where to put it, and where it comes from.
        ValueError: Its hash is another than what was said.
    """
    folder = os.path.join(
        cache_dir or os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras"), cache_subdir
    )
    path = os.path.join(folder, fname)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} is not there, and graphflow downloads nothing: fetch {origin} and put it there"
            f"{', unpacked' if untar or extract else ''}."
        )
    wanted = file_hash or md5_hash
    if wanted and os.path.isfile(path):
        kind = hashlib.sha256 if len(wanted) == 64 else hashlib.md5
        with open(path, "rb") as file:
            found = kind(file.read()).hexdigest()
        if found != wanted:
            raise ValueError(f"{path} has the hash {found}, not {wanted}: it is not the file of {origin}.")
    return path


def h5py(what: str) -> Any:
    """The package h5py; ImportError that says how to install it."""
    try:
        return import_module("h5py")
    except ImportError as error:
        raise ImportError(f"{what} needs h5py: pip install 'graphflow-engine[keras]'.") from error


class HDF5Matrix:
    """A part of a data set of an HDF5 file, as an array (tf.keras.utils.HDF5Matrix).

    Args:
        datapath: The file.
        dataset: The name of the data set.
        start: The first row.
        end: The end, which is not among the rows; by default all.
        normalizer: A function of the rows that are read.
    """

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        self._data = h5py("HDF5Matrix").File(datapath, "r")[dataset]
        self.start = start
        self.end: int = self._data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, key: Any) -> Any:
        found = self._data[self.start : self.end][key]
        return found if self.normalizer is None else self.normalizer(found)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self[:] if dtype is None else self[:].astype(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        return (len(self), *self._data.shape[1:])
