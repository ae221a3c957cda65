"""News by topics (tf.keras.datasets.reuters)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow.keras.datasets.pickled import read_arrays
from graphflow.keras.datasets.words import ORIGIN, as_objects, kept_words, read_index
from graphflow.keras.utils.files import get_file

__all__ = ["get_word_index", "load_data"]


def load_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> Any:
    """(texts, topics) to train on and to test with (tf.keras.datasets.reuters.load_data); arguments as imdb's."""
    texts, labels = read_arrays(get_file(path, f"{ORIGIN}reuters.npz"), "x", "y")
    order = np.arange(len(texts))
    np.random.RandomState(seed).shuffle(order)
    kept, kept_labels = kept_words(
        texts[order], labels[order], maxlen, num_words, skip_top, start_char, oov_char, index_from
    )
    at = int(len(kept) * (1 - test_split))
    halves = (slice(0, at), slice(at, None))
    return tuple((as_objects(kept[half]), np.array(kept_labels[half])) for half in halves)


def get_word_index(path: str = "reuters_word_index.json") -> Any:
    """The numbers of words by word (tf.keras.datasets.reuters.get_word_index)."""
    return read_index(path)
