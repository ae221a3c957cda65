"""A cell whose inputs are symbols: numbers of rows of a variable."""

from __future__ import annotations

import math
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.array import reshape
from graphflow._core.ops.nn.embedding import embedding_lookup
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import RandomUniform
from graphflow._core.ops.state.scopes import device
from graphflow._core.ops.state.variable_scope import get_variable_scope
from graphflow.nn.cells import RNNCell


class EmbeddingWrapper(RNNCell):
    """A cell whose inputs are numbers of rows of a variable (tf.contrib.rnn.EmbeddingWrapper).

    Args:
        cell: An RNNCell.
        embedding_classes: How many rows there are.
        embedding_size: How long they are.
        initializer: Of the variable; by default the scope's, or uniform with variance 1.
        reuse: Whether to take the variable that is there.

    Raises:
        ValueError: If a number is not positive.
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._cell, self._shape, self._initializer = cell, [embedding_classes, embedding_size], initializer

    @property
    def state_size(self) -> Any:
        """The cell's."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The cell's."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """The cell's.

        Args:
            batch_size: How many rows.
            dtype: The dtype.
        """
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch] of integers.
            state: The state before the step.

        Returns:
            The output and the state after it.
        """
        with device("/cpu:0"):
            wide = math.sqrt(3.0)
            default = get_variable_scope().initializer or RandomUniform(-wide, wide)
            kind = nest.flatten(state)[0].dtype
            rows = get_variable("embedding", self._shape, kind, initializer=self._initializer or default)
            found: tuple[Any, Any] = self._cell(embedding_lookup(rows, reshape(inputs, [-1])), state)
            return found
