"""The cells of recurrent networks, and what unrolls them (tf.contrib.rnn)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow.contrib.rnn.cells import (
    AttentionCellWrapper,
    InputProjectionWrapper,
    LayerNormBasicLSTMCell,
    LSTMBlockCell,
    OutputProjectionWrapper,
    stack_bidirectional_dynamic_rnn,
    stack_bidirectional_rnn,
)
from graphflow.contrib.rnn.compiled import CompiledWrapper
from graphflow.contrib.rnn.conv_cells import Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell, ConvLSTMCell
from graphflow.contrib.rnn.embedding import EmbeddingWrapper
from graphflow.contrib.rnn.fused_cells import (
    FusedRNNCell,
    FusedRNNCellAdaptor,
    LSTMBlockFusedCell,
    TimeReversedFusedRNN,
)
from graphflow.contrib.rnn.gated_cells import (
    GRUBlockCell,
    GRUBlockCellV2,
    HighwayWrapper,
    IndRNNCell,
    IndyGRUCell,
    IndyLSTMCell,
    IntersectionRNNCell,
    SRUCell,
    UGRNNCell,
)
from graphflow.contrib.rnn.grid_cells import BidirectionalGridLSTMCell, GridLSTMCell, TimeFreqLSTMCell
from graphflow.contrib.rnn.lstm_cells import CoupledInputForgetGateLSTMCell, PhasedLSTMCell
from graphflow.contrib.rnn.nas_cell import NASCell
from graphflow.contrib.rnn.normed_cells import GLSTMCell, LayerNormLSTMCell, WeightNormLSTMCell
from graphflow.contrib.rnn.ntm_cell import NTMCell
from graphflow.contrib.rnn.simple_cells import CFNCell, MinimalRNNCell
from graphflow.nn.cell_wrappers import DeviceWrapper, DropoutWrapper, MultiRNNCell, ResidualWrapper
from graphflow.nn.cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell, LSTMStateTuple, RNNCell
from graphflow.nn.rnn import static_bidirectional_rnn, static_rnn
from graphflow.nn.state_saving import static_state_saving_rnn

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.contrib.rnn", globals())

__all__ = [
    "AttentionCellWrapper",
    "BasicLSTMCell",
    "BasicRNNCell",
    "BidirectionalGridLSTMCell",
    "CFNCell",
    "CompiledWrapper",
    "Conv1DLSTMCell",
    "Conv2DLSTMCell",
    "Conv3DLSTMCell",
    "ConvLSTMCell",
    "CoupledInputForgetGateLSTMCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "EmbeddingWrapper",
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "GLSTMCell",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "GRUCell",
    "GridLSTMCell",
    "HighwayWrapper",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "InputProjectionWrapper",
    "IntersectionRNNCell",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMCell",
    "LSTMStateTuple",
    "LayerNormBasicLSTMCell",
    "LayerNormLSTMCell",
    "MinimalRNNCell",
    "MultiRNNCell",
    "NASCell",
    "NTMCell",
    "OutputProjectionWrapper",
    "PhasedLSTMCell",
    "RNNCell",
    "ResidualWrapper",
    "SRUCell",
    "TimeFreqLSTMCell",
    "TimeReversedFusedRNN",
    "UGRNNCell",
    "WeightNormLSTMCell",
    "stack_bidirectional_dynamic_rnn",
    "stack_bidirectional_rnn",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
]
