"""Exchanges: how towers give rows of tensors to each other, whatever the rows mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import concat
from graphflow.distribute.reducers.base import on_device


class Exchange:
    """Between the towers of one graph: what another device needs goes there as any tensor does."""

    def members(self, devices: Sequence[str]) -> int:
        """How many towers there are in all.

        Args:
            devices: The devices of this program's towers.
        """
        return len(devices)

    def rank(self, place: int) -> int:
        """The number of a tower among all.

        Args:
            place: Its number among those of this program.
        """
        return place

    def all_to_all(self, rows: Sequence[Tensor], devices: Sequence[str]) -> list[Tensor]:
        """Gives row i of every tower to tower i.

        Args:
            rows: Of each of this program's towers a tensor of rank 2, with a row for each tower there is.
            devices: The devices of this program's towers.

        Returns:
            For each of this program's towers what it got, in the order of those that gave it.
        """
        count = len(devices)
        given: list[list[Any]] = [[] for _ in devices]
        for own, device in zip(rows, devices, strict=True):
            with on_device(device):
                for place in range(count):
                    given[place].append(own[place : place + 1])
        results = []
        for got, device in zip(given, devices, strict=True):
            with on_device(device):
                results.append(concat(got, 0))
        return results

    def gather(
        self, rows: Sequence[Tensor], devices: Sequence[str], destinations: Sequence[str]
    ) -> list[Tensor]:
        """Gives the rows of all towers to each destination.

        Args:
            rows: Of each of this program's towers a tensor of one row.
            devices: The devices of this program's towers.
            destinations: Where the rows are needed.

        Returns:
            For each destination a tensor with the row of every tower there is, in their order.
        """
        results = []
        for device in destinations:
            with on_device(device):
                results.append(concat(list(rows), 0))
        return results
