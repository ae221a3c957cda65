"""Tensors of a data set by name (tf.contrib.slim.data_provider)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["DataProvider"]


class DataProvider:
    """Tensors of a data set by name (tf.contrib.slim.data_provider.DataProvider).

    Args:
        items_to_tensors: The tensors.
        num_samples: How many examples the data set has.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int | None) -> None:
        self._items_to_tensors = dict(items_to_tensors)
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """The tensors of some items.

        Args:
            items: A list of their names.

        Returns:
            As many tensors.

        Raises:
            ValueError: For a name that is not there, or no list.
        """
        if not isinstance(items, list | tuple):
            raise ValueError(f"items must be a list or tuple, got {items!r}.")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """The names of the items that there are."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int | None:
        """How many examples the data set has."""
        return self._num_samples
