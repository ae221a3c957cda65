"""Protects the digits of tutorials: files are read as TensorFlow reads them, batches come in its order."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf
from graphflow.contrib.learn.datasets.mnist import (
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    DataSet,
    read_data_sets,
)


def write(folder: Path, images: str, labels: str, count: int) -> None:
    """Files of `count` images, every pixel of which is the image's number, and its label that number modulo 10."""
    pixels = np.repeat(np.arange(count, dtype=np.uint8), 28 * 28)
    (folder / images).write_bytes(gzip.compress(struct.pack(">4I", 2051, count, 28, 28) + pixels.tobytes()))
    numbers = np.arange(count, dtype=np.uint8) % 10
    (folder / labels).write_bytes(gzip.compress(struct.pack(">2I", 2049, count) + numbers.tobytes()))


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    write(tmp_path, TRAIN_IMAGES, TRAIN_LABELS, 20)
    write(tmp_path, TEST_IMAGES, TEST_LABELS, 7)
    return tmp_path


def test_the_parts(folder: Path) -> None:
    parts = read_data_sets(str(folder), one_hot=True, validation_size=5)
    assert [part.num_examples for part in parts] == [15, 5, 7]
    assert (parts.train.images.shape, parts.train.images.dtype) == ((15, 784), np.float32)
    assert parts.train.images[0, 0] == np.float32(5) * np.float32(1.0 / 255.0)
    np.testing.assert_array_equal(parts.test.labels, np.eye(10)[:7])
    plain = read_data_sets(str(folder), dtype=gf.uint8, reshape=False, validation_size=0)
    assert (plain.train.images.shape, plain.train.images.dtype) == ((20, 28, 28, 1), np.uint8)
    np.testing.assert_array_equal(plain.test.labels, np.arange(7))


def test_batches_come_in_tensorflows_order() -> None:
    """The orders are those that TensorFlow 1.15.5 gave for these numbers and this seed."""
    images, labels = np.arange(5, dtype=np.uint8).reshape(5, 1, 1, 1), np.arange(5, dtype=np.uint8)
    data = DataSet(images, labels, dtype="uint8", seed=3)
    got = [data.next_batch(2)[1].tolist() for _ in range(5)]
    assert got == [[3, 4], [1, 0], [2, 1], [4, 0], [2, 3]]
    assert data.epochs_completed == 1
    straight = DataSet(images, labels, dtype="uint8")
    assert [straight.next_batch(2, shuffle=False)[1].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 0]]


def test_fake_data_need_no_files() -> None:
    data = read_data_sets("nowhere", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(3)
    assert (len(images), len(images[0]), labels[0]) == (3, 784, [1] + [0] * 9)
    assert data.test.num_examples == 10000


def test_what_is_wrong_is_said(folder: Path) -> None:
    with pytest.raises(ValueError, match="between 0 and 20"):
        read_data_sets(str(folder), validation_size=21)
    with pytest.raises(TypeError, match="expected uint8 or float32"):
        read_data_sets(str(folder), dtype=gf.int32, validation_size=1)
    whole = gzip.decompress((folder / TEST_LABELS).read_bytes())
    (folder / TEST_LABELS).write_bytes(gzip.compress(whole[:-1]))
    with pytest.raises(ValueError, match=f"{TEST_LABELS} ends after 6 of 7 bytes"):
        read_data_sets(str(folder), validation_size=1)
    (folder / TEST_LABELS).write_bytes((folder / TEST_IMAGES).read_bytes())
    with pytest.raises(ValueError, match="is no file of labels"):
        read_data_sets(str(folder), validation_size=1)
    (folder / TRAIN_IMAGES).unlink()
    with pytest.raises(gf.errors.NotFoundError, match="graphflow downloads nothing"):
        read_data_sets(str(folder))
