"""What makes tensors of a record (tf.contrib.slim.data_decoder)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["DataDecoder"]


class DataDecoder(ABC):
    """Makes items, by name, of a record (tf.contrib.slim.data_decoder.DataDecoder)."""

    @abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """The items of a record.

        Args:
            data: The record, as a reader gives it.
            items: The names of those that are wanted.

        Returns:
            A list of tensors.
        """

    @abstractmethod
    def list_items(self) -> list[str]:
        """The names of the items that there are."""
