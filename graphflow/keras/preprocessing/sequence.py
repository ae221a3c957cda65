"""Sequences of one length, pairs of words, windows of series (tf.keras.preprocessing.sequence)."""

from __future__ import annotations

import random
from collections.abc import Sequence as Items
from typing import Any

import numpy as np

from graphflow.keras.typing import Arrays
from graphflow.keras.utils.sequences import Sequence

__all__ = ["TimeseriesGenerator", "make_sampling_table", "pad_sequences", "skipgrams"]


def pad_sequences(
    sequences: Items[Any],
    maxlen: int | None = None,
    dtype: str = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Any:
    """Sequences as one array [count, maxlen, ...] (tf.keras.preprocessing.sequence.pad_sequences).

    Args:
        sequences: Lists or arrays.
        maxlen: The length; by default that of the longest.
        dtype: The dtype of the array.
        padding: Where what is missing is filled, "pre" or "post".
        truncating: Where what is too long is cut, "pre" or "post".
        value: What it is filled with.

    Returns:
        The array.

    Raises:
        ValueError: `padding` or `truncating` is neither, or elements of sequences have different shapes.
    """
    for word in (padding, truncating):
        if word not in ("pre", "post"):
            raise ValueError(f"padding and truncating are 'pre' or 'post', not {word!r}.")
    arrays = [np.asarray(s, dtype=dtype if len(s) else None) for s in sequences]
    length = maxlen if maxlen is not None else max((len(a) for a in arrays), default=0)
    shape = next((a.shape[1:] for a in arrays if len(a)), ())
    found = np.full((len(arrays), length, *shape), value, dtype=dtype)
    for row, array in enumerate(arrays):
        if not len(array):
            continue
        if array.shape[1:] != shape:
            raise ValueError(
                f"Sequence {row} has elements of shape {array.shape[1:]}, the first ones of shape {shape}."
            )
        cut = (array[-length:] if truncating == "pre" else array[:length]) if length else array[:0]
        if padding == "post":
            found[row, : len(cut)] = cut
        elif len(cut):
            found[row, -len(cut) :] = cut
    return found


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> Any:
    """How likely each word is kept, by its rank (tf.keras.preprocessing.sequence.make_sampling_table).

    Args:
        size: How many words there are.
        sampling_factor: The smaller it is, the more of the frequent words are left out.

    Returns:
        An array [size] of probabilities.
    """
    gamma = 0.577
    rank = np.arange(size, dtype=np.float64)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    share = sampling_factor * inverse
    return np.minimum(1.0, share / np.sqrt(share))


def skipgrams(
    sequence: Items[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Items[float] | None = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Pairs of words near each other, and others, with labels (tf.keras.preprocessing.sequence.skipgrams).

    Args:
        sequence: The numbers of words; 0 is none.
        vocabulary_size: One more than the largest number.
        window_size: How far from each other words are that are near.
        negative_samples: How many other pairs there are for each pair of near words.
        shuffle: Whether the pairs come in another order.
        categorical: Whether labels are [0, 1] and [1, 0] rather than 1 and 0.
        sampling_table: How likely each word is kept, by its number; by default all are.
        seed: What the order follows from; by default none.

    Returns:
        The pairs, and their labels.
    """
    couples: list[list[int]] = []
    for place, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        near = range(max(0, place - window_size), min(len(sequence), place + window_size + 1))
        couples += [[word, sequence[i]] for i in near if i != place and sequence[i]]
    labels: list[Any] = [[0, 1] if categorical else 1] * len(couples)
    if negative_samples > 0:
        words = [couple[0] for couple in couples]
        random.shuffle(words)
        count = int(len(labels) * negative_samples)
        couples += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        chosen = random.randint(0, 10**6) if seed is None else seed
        random.Random(chosen).shuffle(couples)
        random.Random(chosen).shuffle(labels)
    return couples, labels


class TimeseriesGenerator(Sequence):
    """Batches of windows of a series and what follows them (tf.keras.preprocessing.sequence.TimeseriesGenerator).

    Args:
        data: The series, an array [steps, ...].
        targets: What follows, an array [steps, ...].
        length: How many steps a window spans.
        sampling_rate: The distance of a window's elements, in steps.
        stride: The distance of windows, in steps.
        start_index: The first step that is used.
        end_index: The last step that is used; by default the last one there is.
        shuffle: Whether windows are drawn by chance rather than in their order.
        reverse: Whether the elements of a window come in the opposite order.
        batch_size: How many windows make a batch.

    Raises:
        ValueError: Series and targets have different lengths, or no window fits.
    """

    def __init__(
        self,
        data: Arrays,
        targets: Arrays,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length: {len(data)} is not {len(targets)}."
            )
        self.data = np.asarray(data)
        self.targets = np.asarray(targets)
        self.length: int = length
        self.sampling_rate: int = sampling_rate
        self.stride: int = stride
        self.start_index: int = start_index + length
        self.end_index: int = len(data) - 1 if end_index is None else end_index
        self.shuffle: bool = shuffle
        self.reverse: bool = reverse
        self.batch_size: int = batch_size
        if self.start_index > self.end_index:
            raise ValueError(f"A window of {length} does not fit from {start_index} to {self.end_index}.")

    def __len__(self) -> int:
        return (self.end_index - self.start_index + self.batch_size * self.stride) // (
            self.batch_size * self.stride
        )

    def __getitem__(self, index: int) -> Any:
        if self.shuffle:
            rows = np.random.randint(self.start_index, self.end_index + 1, size=self.batch_size)
        else:
            begin = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(
                begin, min(begin + self.batch_size * self.stride, self.end_index + 1), self.stride
            )
        windows = np.array([self.data[row - self.length : row : self.sampling_rate] for row in rows])
        return (windows[:, ::-1] if self.reverse else windows), self.targets[rows]


def shorter_ones(maxlen: int, seq: Items[Any], label: Items[Any]) -> tuple[list[Any], list[Any]]:
    """Sequences that are shorter than maxlen, and their labels.

    Args:
        maxlen: The length.
        seq: Sequences.
        label: A label for each.

    Returns:
        Two lists.
    """
    kept = [(x, y) for x, y in zip(seq, label, strict=False) if len(x) < maxlen]
    return [x for x, _ in kept], [y for _, y in kept]
