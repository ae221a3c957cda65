"""Models of sequences that share: one cell that reads and writes, or one reader for several writers.

They are public in gf.contrib.legacy_seq2seq. The variables' names are those of TensorFlow, so that its checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.nn.embedding import embedding_lookup
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope
from graphflow.contrib.legacy_seq2seq.decoders import (
    check_projection,
    embedding_rnn_decoder,
    fed_or_not,
    likeliest_symbol,
)
from graphflow.contrib.legacy_seq2seq.losses import rnn_decoder
from graphflow.contrib.rnn.cells import OutputProjectionWrapper
from graphflow.contrib.rnn.embedding import EmbeddingWrapper
from graphflow.nn.cells import RNNCell
from graphflow.nn.rnn import static_rnn

if TYPE_CHECKING:
    from graphflow.contrib.legacy_seq2seq.decoders import Projection, Scope


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: RNNCell,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: DTypeLike = dtypes.float32,
    scope: Scope = None,
) -> tuple[list[Any], Any]:
    """A cell reads a sequence, and goes on from its state with another (tf.contrib.legacy_seq2seq.tied_rnn_seq2seq).

    Args:
        encoder_inputs: A list of [batch, size].
        decoder_inputs: A list of [batch, size].
        cell: An RNNCell.
        loop_function: Makes each input of the second but the first from the previous output and the number of the step.
        dtype: Of the state.
        scope: The variable scope.

    Returns:
        The outputs of the second, a list, and the last state.
    """
    within = scope or "tied_rnn_seq2seq"
    with variable_scope("combined_tied_rnn_seq2seq"):
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=within)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=within)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Projection = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Scope = None,
) -> tuple[list[Any], Any]:
    """tied_rnn_seq2seq of symbols (tf.contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq).

    Args:
        encoder_inputs: A list of [batch] of integers.
        decoder_inputs: A list of [batch] of integers.
        cell: An RNNCell.
        num_symbols: How many symbols there are.
        embedding_size: How long the row of a symbol is.
        num_decoder_symbols: Of how many of the first the outputs are scores; None for all.
        output_projection: The weights and biases that make scores of symbols of an output; by default a layer of
            their own does.
        feed_previous: Whether the decoder's inputs are the likeliest symbols of its outputs: a bool or a tensor.
        dtype: Of the states.
        scope: The variable scope.

    Returns:
        The outputs, a list, and the last state.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as own:
        check_projection(output_projection, num_symbols)
        rows = get_variable("embedding", [num_symbols, embedding_size], own.dtype)
        read, written = (
            [embedding_lookup(rows, one) for one in inputs] for inputs in (encoder_inputs, decoder_inputs)
        )
        scores = (
            cell if output_projection else OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)
        )

        def decode(feeds: bool, update: bool) -> tuple[list[Any], Any]:
            loop = likeliest_symbol(rows, output_projection, update) if feeds else None
            return tied_rnn_seq2seq(read, written, scores, loop, own.dtype)

        return fed_or_not(feed_previous, decode)


def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs_dict: Mapping[str, Sequence[Any]],
    enc_cell: RNNCell,
    dec_cells_dict: Mapping[str, RNNCell],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: Mapping[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Scope = None,
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Symbols are read once, and several decoders go on (tf.contrib.legacy_seq2seq.one2many_rnn_seq2seq).

    Source: Luong et al., "Multi-task Sequence to Sequence Learning", 2015, arXiv:1511.06114.

    Args:
        encoder_inputs: A list of [batch] of integers.
        decoder_inputs_dict: A list of [batch] of integers for each decoder, by its name.
        enc_cell: The RNNCell that reads.
        dec_cells_dict: That of each decoder.
        num_encoder_symbols: How many symbols the encoder knows.
        num_decoder_symbols_dict: How many each decoder knows.
        embedding_size: How long the row of a symbol is.
        feed_previous: Whether the decoders' inputs are the likeliest symbols of their outputs: a bool or a tensor.
        dtype: Of the states.
        scope: The variable scope.

    Returns:
        The outputs, a list for each decoder, and the last states, by their names.

    Raises:
        TypeError: If a cell is none.
        ValueError: If the names of cells and inputs differ.
    """
    for what, cell in [("enc_cell", enc_cell), *(("dec_cell", cell) for cell in dec_cells_dict.values())]:
        if not isinstance(cell, RNNCell):
            raise TypeError(f"{what} is not an RNNCell: {cell!r}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError(
            f"The keys of dec_cells_dict, {sorted(dec_cells_dict)}, are not those of decoder_inputs_dict, "
            f"{sorted(decoder_inputs_dict)}."
        )
    outputs: dict[str, list[Any]] = {}
    states: dict[str, Any] = {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as own:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=own.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                scores = OutputProjectionWrapper(dec_cells_dict[name], symbols)
                decode = partial(_decode, inputs, state, scores, symbols, embedding_size)
                outputs[name], states[name] = fed_or_not(feed_previous, decode)
    return outputs, states


def _decode(
    inputs: Sequence[Any], state: Any, cell: RNNCell, symbols: int, size: int, feeds: bool, update: bool
) -> tuple[list[Any], Any]:
    """A decoder of symbols through which gradients go on, whether it feeds itself or not."""
    return embedding_rnn_decoder(inputs, state, cell, symbols, size, feed_previous=feeds)
