"""A description of a data set: its files, how they are read and decoded (tf.contrib.slim.dataset)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphflow.contrib.slim.data.data_decoder import DataDecoder

__all__ = ["Dataset"]


class Dataset:
    """A description of a data set (tf.contrib.slim.dataset.Dataset). Its arguments are its attributes.

    Args:
        data_sources: Files, or patterns of their names.
        reader: A class of readers, such as gf.TFRecordReader.
        decoder: A DataDecoder.
        num_samples: How many examples there are.
        items_to_descriptions: What each item is, for people.
        **kwargs: Attributes that it gets besides.
    """

    def __init__(
        self,
        data_sources: str | Sequence[str],
        reader: Any,
        decoder: DataDecoder,
        num_samples: int | None,
        items_to_descriptions: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        vars(self).update(kwargs)
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
