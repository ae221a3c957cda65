"""Texts as lists of numbers of words: which words are left out, and where texts begin."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphflow.keras.utils.files import get_file

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"


def read_index(path: str) -> Any:
    """The numbers of words by word."""
    with open(get_file(path, ORIGIN + path), encoding="utf-8") as file:
        return json.load(file)


def kept_words(
    texts: Any,
    num_words: int | None,
    skip_top: int,
    start_char: int | None,
    oov_char: int | None,
    index_from: int,
) -> list[list[int]]:
    """Texts that begin with a mark, whose words are counted from index_from; those left out are marked, or gone."""
    if start_char is not None:
        texts = [[start_char, *(w + index_from for w in text)] for text in texts]
    elif index_from:
        texts = [[w + index_from for w in text] for text in texts]
    most = num_words or max(max(text) for text in texts)
    if oov_char is not None:
        return [[w if skip_top <= w < most else oov_char for w in text] for text in texts]
    return [[w for w in text if skip_top <= w < most] for text in texts]


def as_objects(texts: list[list[int]]) -> Any:
    """Lists in an array."""
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found
