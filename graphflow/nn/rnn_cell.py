"""The cells of recurrent networks under TensorFlow's name (tf.nn.rnn_cell)."""

from __future__ import annotations

from graphflow.nn.cell_wrappers import DeviceWrapper, DropoutWrapper, MultiRNNCell, ResidualWrapper
from graphflow.nn.cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell, LSTMStateTuple, RNNCell

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
