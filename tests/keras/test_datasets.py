"""Data sets of Keras: read from local files as TensorFlow 1.15.5 reads them, and no code in them is run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

TEXTS = [[8, 10, 20, 22], [16, 22, 1, 4, 27], [25], [5, 24, 7], [27, 2, 7, 8, 24], [18]]
LABELS = [1, 0, 0, 1, 1, 0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "datasets").mkdir()
    return tmp_path / "datasets"


def _objects(values: list[Any]) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _plain(halves: Any) -> Any:
    return [([list(map(int, text)) for text in x], list(map(int, y))) for x, y in halves]


def test_reviews_are_shuffled_marked_and_cut_as_tensorflow_does(folder: Path) -> None:
    arrays = {"x_train": _objects(TEXTS[:4]), "y_train": LABELS[:4]}
    np.savez(folder / "imdb.npz", x_test=_objects(TEXTS[4:]), y_test=LABELS[4:], **arrays)
    assert _plain(gf.keras.datasets.imdb.load_data(num_words=20, skip_top=3)) == [
        ([[2, 8, 2, 10], [2, 2], [2, 11, 13, 2, 2], [2, 19, 2, 4, 7, 2]], [1, 0, 1, 0]),
        ([[2, 2], [2, 2, 5, 10, 11, 2]], [0, 1]),
    ]
    # What is short goes over to those to train on, as far as there were any.
    assert _plain(gf.keras.datasets.imdb.load_data(maxlen=5)) == [
        ([[1, 8, 27, 10], [1, 2], [1, 21]], [1, 0, 0]),
        ([], []),
    ]
    with pytest.raises(ValueError, match="No text is shorter than maxlen=1"):
        gf.keras.datasets.imdb.load_data(maxlen=1)


def test_news_are_cut_into_two(folder: Path) -> None:
    np.savez(folder / "reuters.npz", x=_objects(TEXTS), y=LABELS)
    train, test = _plain(gf.keras.datasets.reuters.load_data(start_char=None, oov_char=None, num_words=15))
    assert (len(train[0]), len(test[0])) == (4, 2)
    assert all(word < 15 for text in train[0] + test[0] for word in text)


class _Runs:
    """Pickled, it is a call."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("ran",)


def test_code_in_a_file_is_refused_and_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    np.savez(folder / "reuters.npz", x=_objects([_Runs()]), y=[1])
    with pytest.raises(pickle.UnpicklingError, match=r"mkdir: it is no file of this dataset"):
        gf.keras.datasets.reuters.load_data()
    assert not (folder / "ran").exists()


def test_what_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"imdb\.npz is not there, and graphflow downloads nothing"):
        gf.keras.datasets.imdb.load_data()
