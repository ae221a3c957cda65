"""The cells of recurrent networks, and what unrolls them (tf.contrib.rnn)."""

from __future__ import annotations

from graphflow.namespaces import missing
from graphflow.nn.cell_wrappers import DropoutWrapper, MultiRNNCell, ResidualWrapper
from graphflow.nn.cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell, LSTMStateTuple, RNNCell
from graphflow.nn.rnn import static_bidirectional_rnn, static_rnn

__getattr__ = missing("gf.contrib.rnn", globals())

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
    "static_bidirectional_rnn",
    "static_rnn",
]
