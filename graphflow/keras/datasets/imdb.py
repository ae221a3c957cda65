"""Reviews of films, good or bad (tf.keras.datasets.imdb)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow.keras.datasets.pickled import read_arrays
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

    Args:
        path: The file's name in Keras's folder of data.
        num_words: Words of this rank and beyond, by frequency, are `oov_char`; None for no limit.
        skip_top: So many of the most frequent words are `oov_char`.
        maxlen: Texts of so many words or more are left out; None for no limit.
        seed: What the order of the texts follows from.
        start_char: What each text begins with; None for nothing.
        oov_char: What stands for words that are left out; None if they are gone.
        index_from: What is added to the number of each word.
        **kwargs: `nb_words`: an older name of `num_words`.

    Returns:
        (texts, classes) twice: arrays of lists of ints, and of 0 or 1.

    Raises:
        FileNotFoundError: The file is not in Keras's folder of data; says where it comes from.
        ValueError: No text is shorter than `maxlen`.
    """
    num_words = kwargs.pop("nb_words", num_words)
    arrays = read_arrays(get_file(path, f"{ORIGIN}imdb.npz"), "x_train", "y_train", "x_test", "y_test")
    parts = [tuple(arrays[:2]), tuple(arrays[2:])]
    random = np.random.RandomState(seed)
    shuffled = []
    for texts, labels in parts:
        order = np.arange(len(texts))
        random.shuffle(order)
        shuffled.append((texts[order], labels[order]))
    texts, labels = (np.concatenate([part[k] for part in shuffled]) for k in (0, 1))
    kept, labels = kept_words(texts, labels, maxlen, num_words, skip_top, start_char, oov_char, index_from)
    at = len(shuffled[0][0])  # Also of texts of which the long ones are gone, as in TensorFlow.
    return tuple((as_objects(kept[half]), np.array(labels[half])) for half in (slice(0, at), slice(at, None)))


def get_word_index(path: str = "imdb_word_index.json") -> Any:
    """The numbers of words by word (tf.keras.datasets.imdb.get_word_index).

    Args:
        path: The file's name in Keras's folder of data.

    Returns:
        A dictionary {word: number}.

    Raises:
        FileNotFoundError: The file is not in Keras's folder of data; says where it comes from.
    """
    return read_index(path)
