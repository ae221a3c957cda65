"""The tensors of a described data set, whose files threads read (tf.contrib.slim.dataset_data_provider)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphflow.contrib.slim.data.data_provider import DataProvider
from graphflow.contrib.slim.data.dataset import Dataset
from graphflow.contrib.slim.data.parallel_reader import parallel_read

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """One example of a data set, another in each run (tf.contrib.slim.dataset_data_provider.DatasetDataProvider).

    Args:
        dataset: The description.
        num_readers: How many readers there are.
        reader_kwargs: Arguments of the readers.
        shuffle: Whether files and examples come in random order.
        num_epochs: How often all is read, which a local variable counts; None for without end.
        common_queue_capacity: How many records may wait.
        common_queue_min: How many records wait at least, of which one is drawn.
        record_key: The name of the item that holds the record's key.
        seed: Of the random order.
        scope: A name for the operations.

    Raises:
        ValueError: If an item has the name record_key.
    """

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, data = parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        names = dataset.decoder.list_items()
        if record_key in names:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            )
        found = dict(zip(names, dataset.decoder.decode(data, names), strict=True))
        super().__init__(found | {record_key: key}, dataset.num_samples)
