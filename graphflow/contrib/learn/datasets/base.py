"""Tables in files of comma-separated values, and the data sets that are such tables."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

import graphflow.gfile as gfile
from graphflow.errors import NotFoundError

__all__ = [
    "Dataset",
    "Datasets",
    "load_boston",
    "load_csv_with_header",
    "load_csv_without_header",
    "load_iris",
    "maybe_download",
]


class Dataset(NamedTuple):
    """Rows and what they are to be taken for."""

    data: Any
    """Features, [rows, columns]."""

    target: Any
    """Labels, [rows]."""


class Datasets(NamedTuple):
    """The parts of a data set."""

    train: Any
    """For training."""

    validation: Any
    """For choosing among models."""

    test: Any
    """For the last test."""


def _rows(filename: str | os.PathLike[str]) -> Iterator[list[str]]:
    with gfile.GFile(filename, "r") as file:
        yield from csv.reader(file.read().splitlines())


def load_csv_with_header(
    filename: str | os.PathLike[str], target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A table whose first line says how many rows and features there are.

    Args:
        filename: The file.
        target_dtype: NumPy's type of the labels.
        features_dtype: NumPy's type of the features.
        target_column: Which column has the labels.

    Returns:
        A Dataset.

    Raises:
        ValueError: If there are more rows or columns, or fewer, than the first line says.
    """
    rows = _rows(filename)
    header = next(rows, [])
    try:
        count, width = int(header[0]), int(header[1])
    except (IndexError, ValueError):
        raise ValueError(
            f"The first line of {filename} must begin with the numbers of rows and features, but is {header}."
        ) from None
    found = _table(rows, target_dtype, features_dtype, target_column)
    if found.data.shape != (count, width):
        raise ValueError(
            f"{filename} has a table of {found.data.shape}, but its first line says {(count, width)}."
        )
    return found


def load_csv_without_header(
    filename: str | os.PathLike[str], target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A table of features and labels.

    Args:
        filename: The file.
        target_dtype: NumPy's type of the labels.
        features_dtype: NumPy's type of the features.
        target_column: Which column has the labels.

    Returns:
        A Dataset.
    """
    return _table(_rows(filename), target_dtype, features_dtype, target_column)


def _table(rows: Iterator[list[str]], target_dtype: Any, features_dtype: Any, target_column: int) -> Dataset:
    data, target = [], []
    for row in rows:
        target.append(row.pop(target_column))
        data.append(np.asarray(row, dtype=features_dtype))
    return Dataset(np.array(data), np.array(target, dtype=target_dtype))


def load_iris(data_path: str | os.PathLike[str] | None = None) -> Dataset:
    """Fisher's irises: 150 flowers of three kinds, of each four lengths in centimetres.

    Args:
        data_path: A file as load_csv_with_header reads; None for the one that is here.

    Returns:
        A Dataset: float64 [150, 4], and the kinds, integers from 0 to 2.
    """
    path = data_path or os.fspath(str(files(__package__) / "iris.csv"))
    return load_csv_with_header(path, target_dtype=np.int64, features_dtype=np.float64)


def load_boston(data_path: str | os.PathLike[str] | None = None) -> Dataset:
    """Prices of houses in Boston, of a file that is there.

    Args:
        data_path: A file as load_csv_with_header reads.

    Returns:
        A Dataset of float64.

    Raises:
        NotFoundError: If none is given: the data are not part of graphflow, and nothing is downloaded.
    """
    if data_path is None:
        raise NotFoundError(
            None, None,
            "The data set of houses in Boston is not part of graphflow, which downloads nothing: "
            "load_boston(data_path) reads it from a file of comma-separated values.",
        )  # fmt: skip
    return load_csv_with_header(data_path, target_dtype=np.float64, features_dtype=np.float64)


def maybe_download(filename: str, work_directory: str | os.PathLike[str], source_url: str) -> str:
    """The path of a file that is in a folder.

    Args:
        filename: The name of the file.
        work_directory: The folder.
        source_url: Where the file is to be had.

    Returns:
        The path.

    Raises:
        NotFoundError: If it is not there: nothing is downloaded.
    """
    path = os.path.join(work_directory, filename)
    if not gfile.Exists(path):
        raise NotFoundError(
            None, None,
            f"The folder {os.path.abspath(work_directory)} has no {filename}. graphflow downloads nothing: put the "
            f"file there, which {source_url} has.",
        )  # fmt: skip
    return path
