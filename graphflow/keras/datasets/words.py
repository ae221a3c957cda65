"""Texts as lists of numbers of words: which words are left out, and where texts begin."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphflow.keras.utils.files import get_file

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def read_index(path: str) -> Any:
    """The numbers of words by word.

    Args:
        path: The name of a JSON file in Keras's folder of data.

    Returns:
        A dictionary {word: number}.
    """
    with open(get_file(path, ORIGIN + path), encoding="utf-8") as file:
        return json.load(file)


def kept_words(
    texts: Any,
    labels: Any,
    maxlen: int | None,
    num_words: int | None,
    skip_top: int,
    start_char: int | None,
    oov_char: int | None,
    index_from: int,
) -> tuple[list[list[int]], list[Any]]:
    """Texts that begin with a mark, whose words are counted from index_from, and their labels.

    Texts of maxlen words or more are gone, and so are words that are left out, unless they have a mark.

    Args:
        texts: Lists of the numbers of words.
        labels: A label for each text.
        maxlen: Texts of so many words or more are left out; None for no limit.
        num_words: Words of this number and beyond are left out; None for no limit.
        skip_top: Words below this number are left out.
        start_char: What each text begins with; None for nothing.
        oov_char: What stands for words that are left out; None if they are gone.
        index_from: What is added to the number of each word.

    Returns:
        The texts and their labels.

    Raises:
        ValueError: No text is shorter than maxlen.
    """
    begin = [] if start_char is None else [start_char]
    marked = [[*begin, *(w + index_from for w in text)] for text in texts]
    pairs = [(t, y) for t, y in zip(marked, labels, strict=True) if not maxlen or len(t) < maxlen]
    if not pairs:
        raise ValueError(f"No text is shorter than maxlen={maxlen}: increase it.")
    most = num_words or max(max(text) for text, _ in pairs)
    kept = [
        [w if skip_top <= w < most else oov_char for w in text]
        if oov_char is not None
        else [w for w in text if skip_top <= w < most]
        for text, _ in pairs
    ]
    return kept, [label for _, label in pairs]


def as_objects(texts: list[list[int]]) -> Any:
    """Lists in an array.

    Args:
        texts: The lists.

    Returns:
        An array of objects, one for each list.
    """
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found
