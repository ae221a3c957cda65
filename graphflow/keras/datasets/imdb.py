"""Reviews of films, good or bad (tf.keras.datasets.imdb)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow.keras.datasets.words import ORIGIN, as_objects, kept_words, read_index
from graphflow.keras.utils.files import get_file

__all__ = ["get_word_index", "load_data"]


def load_data(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Any:
    """(texts, classes) to train on and to test with (tf.keras.datasets.imdb.load_data).

    num_words, skip_top: words that are rarer, or more frequent, are oov_char. maxlen: longer texts are left out.
    FileNotFoundError if the file is not there.
    """
    num_words = kwargs.pop("nb_words", num_words)
    with np.load(get_file(path, f"{ORIGIN}imdb.npz"), allow_pickle=True) as file:
        parts = [(file[f"x_{part}"], file[f"y_{part}"]) for part in ("train", "test")]
    random = np.random.RandomState(seed)
    shuffled = []
    for texts, labels in parts:
        order = np.arange(len(texts))
        random.shuffle(order)
        shuffled.append((texts[order], labels[order]))
    kept = kept_words(
        np.concatenate([p[0] for p in shuffled]), num_words, skip_top, start_char, oov_char, index_from
    )
    labels, at = np.concatenate([p[1] for p in shuffled]), len(shuffled[0][0])
    found = []
    for part in (slice(0, at), slice(at, None)):
        pairs = [
            (t, y) for t, y in zip(kept[part], labels[part], strict=True) if not maxlen or len(t) < maxlen
        ]
        found.append((as_objects([t for t, _ in pairs]), np.array([y for _, y in pairs])))
    return tuple(found)


def get_word_index(path: str = "imdb_word_index.json") -> Any:
    """The numbers of words by word (tf.keras.datasets.imdb.get_word_index)."""
    return read_index(path)
