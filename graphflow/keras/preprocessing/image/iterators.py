"""Batches of pictures: the order in which they come, and those of arrays (tf.keras.preprocessing.image)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator as Iterated
from typing import Any

import numpy as np

from graphflow.keras.preprocessing.image.pictures import array_to_img
from graphflow.keras.typing import Arrays, Elements
from graphflow.keras.utils.sequences import Sequence


class Iterator(Sequence):
    """Batches by number, and without end by `next` (tf.keras.preprocessing.image.Iterator).

    A class derived from it defines `_get_batches_of_transformed_samples`, which makes a batch of an array of numbers.

    Args:
        n: How many pictures there are.
        batch_size: How many make a batch.
        shuffle: Whether they come in another order each time round.
        seed: An int from which the draws follow; None for those of np.random as they are.
    """

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n = n
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.batch_index: int = 0
        self.total_batches_seen: int = 0
        self.lock: Any = threading.Lock()
        self.index_array: Any = None

    def on_epoch_end(self) -> None:
        """Draws the order of the next time round."""
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _seed_batch(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1

    def _batch(self, index: int) -> Any:
        numbers = self.index_array[self.batch_size * index : self.batch_size * (index + 1)]
        return self._get_batches_of_transformed_samples(numbers)

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise ValueError(f"There is no batch {index}: there are {len(self)}.")
        self._seed_batch()
        if self.index_array is None:
            self.on_epoch_end()
        return self._batch(index)

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def reset(self) -> None:
        """Lets `next` begin with the first batch."""
        self.batch_index = 0

    def __iter__(self) -> Iterated[Any]:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """The next batch, without end."""
        with self.lock:
            self._seed_batch()
            if self.batch_index == 0:
                self.on_epoch_end()
            index = self.batch_index
            self.batch_index = (index + 1) % max(len(self), 1)
            numbers = self.index_array[self.batch_size * index : self.batch_size * (index + 1)]
        return self._get_batches_of_transformed_samples(numbers)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        """The batch of pictures of these numbers."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define _get_batches_of_transformed_samples."
        )


def changed(generator: Any, picture: Any) -> Any:
    """A picture as a generator gives it: changed at random, then standardised."""
    parameters = generator.get_random_transform(picture.shape)
    return generator.standardize(generator.apply_transform(picture, parameters))


def write_pictures(batch: Any, numbers: Any, folder: str, prefix: str, form: str, layout: str) -> None:
    """Writes the pictures of a batch, for people to look at."""
    for picture, number in zip(batch, numbers, strict=True):
        name = f"{prefix}_{number}_{np.random.randint(10_000)}.{form}"
        array_to_img(picture, layout, scale=True).save(os.path.join(folder, name))


def share_of(subset: str | None, generator: Any) -> tuple[float, float] | None:
    """From where to where a subset is of all; None for all. ValueError if it is not known."""
    if subset is None:
        return None
    split = generator._validation_split
    parts = {"validation": (0.0, split), "training": (split, 1.0)}
    if subset not in parts:
        raise ValueError(f'Invalid subset name: {subset!r}; expected "training" or "validation".')
    return parts[subset]


class NumpyArrayIterator(Iterator):
    """Batches of pictures in arrays (tf.keras.preprocessing.image.NumpyArrayIterator), as `flow` makes them.

    Args:
        x: Pictures [count, ...] of four axes; or a pair of them and of arrays that are handed on.
        y: Targets, or None.
        image_data_generator: The generator that changes them.
        batch_size: How many make a batch.
        shuffle: Whether they come in another order each time round.
        sample_weight: A weight for each, or None.
        seed: An int from which the draws follow.
        data_format: "channels_last" or "channels_first"; by default that of K.image_data_format().
        save_to_dir: A folder that the pictures are written to; None for none.
        save_prefix: What their names begin with.
        save_format: "png" or "jpeg".
        subset: "training" or "validation", if the generator has a validation_split.
        dtype: The dtype of the batches; by default that of the generator.

    Raises:
        ValueError: The arrays have different lengths, the pictures not four axes, or the subsets different classes.
    """

    def __init__(
        self, x: Arrays, y: Arrays, image_data_generator: Elements, batch_size: int = 32, shuffle: bool = False,
        sample_weight: Arrays = None, seed: int | None = None, data_format: str | None = None,
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
        dtype: str | None = None,
    ) -> None:  # fmt: skip
        generator: Any = image_data_generator
        more: list[Any] = []
        if isinstance(x, tuple | list):
            x, handed = x
            more = [np.asarray(one) for one in (handed if isinstance(handed, list) else [handed])]
        given = {"y": y, "sample_weight": sample_weight, **{f"x[1][{i}]": one for i, one in enumerate(more)}}
        for name, one in given.items():
            if one is not None and len(one) != len(x):
                raise ValueError(f"x has {len(x)} pictures, but {name} has {len(one)} elements.")
        share = share_of(subset, generator)
        if share is not None:
            middle = int(len(x) * generator._validation_split)
            if y is not None and not np.array_equal(np.unique(y[:middle]), np.unique(y[middle:])):
                raise ValueError(
                    "Training and validation subsets have different classes: shuffle the arrays before, if they are "
                    "sorted by class."
                )
            part = slice(None, middle) if subset == "validation" else slice(middle, None)
            x, more = x[part], [one[part] for one in more]
            y = None if y is None else y[part]
            sample_weight = None if sample_weight is None else sample_weight[part]
        self.dtype: str = dtype or generator.dtype
        self.x: Any = np.asarray(x, dtype=self.dtype)
        self.x_misc: list[Any] = more
        if self.x.ndim != 4:
            raise ValueError(f"Pictures are an array of four axes, but x has shape {self.x.shape}.")
        self.y: Any = None if y is None else np.asarray(y)
        self.sample_weight: Any = None if sample_weight is None else np.asarray(sample_weight)
        self.image_data_generator = generator
        self.data_format: str = data_format or generator.data_format
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        batch = np.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        for place, number in enumerate(index_array):
            batch[place] = changed(self.image_data_generator, self.x[number].copy())
        if self.save_to_dir:
            write_pictures(
                batch, index_array, self.save_to_dir, self.save_prefix, self.save_format, self.data_format
            )
        inputs = [batch, *(one[index_array] for one in self.x_misc)] if self.x_misc else batch
        if self.y is None:
            return inputs
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return (inputs, self.y[index_array], *weights)
