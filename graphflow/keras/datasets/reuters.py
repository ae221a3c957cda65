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
    """(texts, topics) to train on and to test with (tf.keras.datasets.reuters.load_data).

    Args:
        path: The file's name in Keras's folder of data.
        num_words: Words of this rank and beyond, by frequency, are `oov_char`; None for no limit.
        skip_top: So many of the most frequent words are `oov_char`.
        maxlen: Texts of so many words or more are left out; None for no limit.
        test_split: The share of the texts to test with.
        seed: What the order of the texts follows from.
        start_char: What each text begins with; None for nothing.
        oov_char: What stands for words that are left out; None if they are gone.
        index_from: What is added to the number of each word.
        **kwargs: Left as it is.

    Returns:
        (texts, topics) twice: arrays of lists of ints, and of ints from 0 to 45.

    Raises:
        FileNotFoundError: The file is not in Keras's folder of data; says where it comes from.
        ValueError: No text is shorter than `maxlen`.
    """
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
    """The numbers of words by word (tf.keras.datasets.reuters.get_word_index).

    Args:
        path: The file's name in Keras's folder of data.

    Returns:
        A dictionary {word: number}.

    Raises:
        FileNotFoundError: The file is not in Keras's folder of data; says where it comes from.
    """
    return read_index(path)
