"""The hand-written digits of tutorials (tensorflow.examples.tutorials.mnist.input_data), from files that are there.

The four files are those of the data set's authors, in the IDX format with gzip. Nothing is downloaded: where a file is
missing the error says its name and the folder.
"""

from __future__ import annotations

import gzip
import os
import struct
from typing import Any, Final, NamedTuple

import numpy as np

import graphflow.errors as errors
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.random_seed import get_seed

__all__ = [
    "DEFAULT_SOURCE_URL",
    "DataSet",
    "Datasets",
    "TEST_IMAGES",
    "TEST_LABELS",
    "TRAIN_IMAGES",
    "TRAIN_LABELS",
    "dense_to_one_hot",
    "extract_images",
    "extract_labels",
    "load_mnist",
    "read_data_sets",
]

TRAIN_IMAGES: Final = "train-images-idx3-ubyte.gz"
TRAIN_LABELS: Final = "train-labels-idx1-ubyte.gz"
TEST_IMAGES: Final = "t10k-images-idx3-ubyte.gz"
TEST_LABELS: Final = "t10k-labels-idx1-ubyte.gz"
DEFAULT_SOURCE_URL: Final = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_IMAGES: Final = 2051
_LABELS: Final = 2049


class Datasets(NamedTuple):
    """The three parts of a data set."""

    train: DataSet
    validation: DataSet
    test: DataSet


def _content(f: Any, magic: int, what: str) -> tuple[tuple[int, ...], bytes]:
    """The sizes of the axes and the bytes of a file of the IDX format; ValueError if it is not one or not whole."""
    with gzip.GzipFile(fileobj=f) as stream:
        head = stream.read(4)
        axes = magic & 0xFF
        if len(head) < 4 or struct.unpack(">I", head)[0] != magic:
            raise ValueError(f"{getattr(f, 'name', 'the file')} is no file of {what} in the IDX format.")
        sizes = struct.unpack(f">{axes}I", stream.read(4 * axes))
        count = int(np.prod(sizes, dtype=np.int64))
        content = stream.read(count)
    if len(content) != count:
        raise ValueError(f"{getattr(f, 'name', 'the file')} ends after {len(content)} of {count} bytes.")
    return sizes, content


def extract_images(f: Any) -> np.ndarray[Any, Any]:
    """The images of a file, uint8 of [count, rows, columns, 1].

    Args:
        f: The open file.
    """
    sizes, content = _content(f, _IMAGES, "images")
    return np.frombuffer(content, np.uint8).reshape(*sizes, 1)


def dense_to_one_hot(labels_dense: np.ndarray[Any, Any], num_classes: int) -> np.ndarray[Any, Any]:
    """Labels as rows of zeros with a one, float64.

    Args:
        labels_dense: Numbers of classes.
        num_classes: How many classes there are.
    """
    rows: np.ndarray[Any, Any] = np.eye(num_classes)[labels_dense.ravel()]
    return rows


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = 10) -> np.ndarray[Any, Any]:
    """The labels of a file, uint8 of [count].

    Args:
        f: The open file.
        one_hot: Whether they are rows of zeros with a one.
        num_classes: How long such a row is.
    """
    labels = np.frombuffer(_content(f, _LABELS, "labels")[1], np.uint8)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet:
    """Images and labels, given in batches.

    Args:
        images: uint8 of [count, rows, columns, 1].
        labels: [count, ...].
        fake_data: Whether batches are constants.
        one_hot: Whether labels of such batches are rows of ten.
        dtype: float32 scales the images to [0, 1], uint8 leaves them.
        reshape: Whether they become [count, rows * columns].
        seed: Of the order; by default that of the graph.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = "float32",
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = as_dtype(dtype).base_dtype.name
        if kind not in ("uint8", "float32"):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        graph_seed, op_seed = get_seed(seed)
        # Programs ask NumPy's generator of the process for the rest: it is seeded, as in TensorFlow.
        np.random.seed(graph_seed if seed is None else op_seed)
        self._fake, self._one_hot = fake_data, one_hot
        self._at = self._epochs = 0
        if fake_data:
            self._count = 10000
            return
        if len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        self._count = len(images)
        if reshape:
            images = images.reshape(len(images), -1)
        if kind == "float32":
            images = images.astype(np.float32) * np.float32(1.0 / 255.0)
        self._images, self._labels = images, labels

    @property
    def images(self) -> Any:
        """All images, in the order of the present epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """All labels, in the order of the present epoch."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return self._count

    @property
    def epochs_completed(self) -> int:
        """How often all of them have been given."""
        return self._epochs

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next images and labels; where an epoch ends within a batch, the next one begins in it, in a new order.

        Args:
            batch_size: How many.
            fake_data: Whether they are constants.
            shuffle: Whether an epoch has an order of its own.
        """
        if fake_data or self._fake:
            label: Any = [1] + [0] * 9 if self._one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._at
        if start == 0 and self._epochs == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._count:
            self._at = start + batch_size
            return self._images[start : self._at], self._labels[start : self._at]
        self._epochs += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._at = batch_size - len(rest[0])
        parts = zip(rest, (self._images[: self._at], self._labels[: self._at]))
        images, labels = (np.concatenate(pair, axis=0) for pair in parts)
        return images, labels

    def _shuffle(self) -> None:
        order = np.arange(self._count)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """The digits for training, validation and tests (tensorflow.examples.tutorials.mnist.input_data.read_data_sets).

    Args:
        train_dir: the folder of the four files.
        fake_data: no files are read, and batches are constants.
        one_hot: labels are rows of ten.
        dtype: float32, in [0, 1], or uint8.
        reshape: images are [count, 784], and not [count, 28, 28, 1].
        validation_size: how many of those for training are kept for validation.
        seed: of the order; by default that of the graph.
        source_url: where the files are to be had, which the error says if one is missing.

    Raises:
        NotFoundError: a file is not there.
        ValueError: validation_size is more than there is, or a file is damaged.
    """
    if fake_data:
        fake = DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
        return Datasets(fake, fake, fake)
    paths = {
        name: os.path.join(train_dir, name) for name in (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)
    }
    lost = [name for name, path in paths.items() if not os.path.exists(path)]
    if lost:
        raise errors.NotFoundError(
            None,
            None,
            f"The folder {os.path.abspath(train_dir)} has no {', '.join(lost)}. graphflow downloads nothing: "
            f"put the files there, which {source_url or DEFAULT_SOURCE_URL} has.",
        )

    def read(images: str, labels: str) -> tuple[Any, Any]:
        with open(paths[images], "rb") as of_images, open(paths[labels], "rb") as of_labels:
            return extract_images(of_images), extract_labels(of_labels, one_hot=one_hot)

    images, labels = read(TRAIN_IMAGES, TRAIN_LABELS)
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    parts = (
        (images[validation_size:], labels[validation_size:]),
        (images[:validation_size], labels[:validation_size]),
        read(TEST_IMAGES, TEST_LABELS),
    )
    train, validation, test = (
        DataSet(*part, dtype=dtype, reshape=reshape, seed=seed, one_hot=one_hot) for part in parts
    )
    return Datasets(train, validation, test)


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """The digits of a folder (tf.contrib.learn.datasets.mnist.load_mnist).

    Args:
        train_dir: The folder.
    """
    return read_data_sets(train_dir)
