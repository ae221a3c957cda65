"""CompiledWrapper: a cell whose steps are compiled, as all are here (tf.contrib.rnn.CompiledWrapper)."""

from __future__ import annotations

from typing import Any

from graphflow.nn.cell_wrappers import ResidualWrapper


def _the_output(inputs: Any, outputs: Any) -> Any:
    return outputs


class CompiledWrapper(ResidualWrapper):
    """A cell as it is: what runs often is compiled anyway (tf.contrib.rnn.CompiledWrapper).

    Args:
        cell: An RNNCell.
        compile_stateful: Accepted, and not needed.
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell, _the_output)
