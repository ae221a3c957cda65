"""Sequences of symbols made from sequences of symbols, as lists with a tensor for each step.

They are public in gf.contrib.legacy_seq2seq. The variables' names are those of TensorFlow, so that its checkpoints fit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.array import concat, reshape, shape, stack, stop_gradient, zeros
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.scans import argmax
from graphflow._core.ops.math.transcendental import tanh
from graphflow._core.ops.nn.convolution import conv2d
from graphflow._core.ops.nn.embedding import embedding_lookup
from graphflow._core.ops.nn.nn import bias_add
from graphflow._core.ops.nn.softmax import softmax
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.variable_scope import VariableScope, get_variable_scope, variable_scope
from graphflow.contrib.legacy_seq2seq.losses import rnn_decoder, sequence_loss, sequence_loss_by_example
from graphflow.contrib.rnn.cells import OutputProjectionWrapper
from graphflow.contrib.rnn.embedding import EmbeddingWrapper
from graphflow.nn.cells import RNNCell
from graphflow.nn.rnn import static_rnn

if TYPE_CHECKING:
    Projection = tuple[Any, Any] | None
    Scope = str | VariableScope | None


def _linear(parts: Sequence[Tensor], size: int) -> Tensor:
    """The parts side by side, times a variable of the scope, and another."""
    total = sum(part.shape.as_list()[-1] for part in parts)
    kernel = get_variable("kernel", [total, size], parts[0].dtype)
    bias = get_variable("bias", [size], parts[0].dtype, initializer=Zeros())
    together = parts[0] if len(parts) == 1 else concat(parts, 1)
    return bias_add(matmul(together, kernel), bias)


def likeliest_symbol(embedding: Any, projection: Projection, update: bool) -> Callable[[Any, int], Tensor]:
    """Makes the next input of an output: the row of the likeliest symbol."""

    def loop(output: Any, _: int) -> Tensor:
        if projection is not None:
            output = matmul(output, projection[0]) + projection[1]
        found = embedding_lookup(embedding, argmax(output, 1))
        return found if update else stop_gradient(found)

    return loop


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    output_projection: Projection = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Scope = None,
) -> tuple[list[Any], Any]:
    """A decoder whose inputs are symbols (tf.contrib.legacy_seq2seq.embedding_rnn_decoder).

    Args:
        decoder_inputs: A list of [batch] of integers.
        initial_state: The state that it begins with.
        cell: An RNNCell.
        num_symbols: How many symbols there are.
        embedding_size: How long the row of a symbol is.
        output_projection: The weights and biases that make scores of symbols of an output; None if it has these.
        feed_previous: Whether each input but the first is the likeliest symbol of the output before.
        update_embedding_for_previous: Whether gradients go on through such inputs.
        scope: The variable scope.

    Returns:
        The outputs, a list, and the last state.
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        check_projection(output_projection, num_symbols)
        rows = get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            likeliest_symbol(rows, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        inputs = [embedding_lookup(rows, one) for one in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, loop_function=loop)


def check_projection(projection: Projection, num_symbols: int) -> None:
    """ValueError if the biases of a projection are not one for each symbol."""
    if projection is not None:
        convert_to_tensor(projection[1]).shape.assert_is_compatible_with([num_symbols])


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: RNNCell,
    dtype: DTypeLike = dtypes.float32,
    scope: Scope = None,
) -> tuple[list[Any], Any]:
    """A cell reads a sequence, and another of its kind goes on from its state (tf.contrib.legacy_seq2seq).

    Args:
        encoder_inputs: A list of [batch, size].
        decoder_inputs: A list of [batch, size].
        cell: An RNNCell, of which the encoder has a copy.
        dtype: Of the state.
        scope: The variable scope.

    Returns:
        The outputs, a list, and the last state.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def fed_or_not(
    feed_previous: Any, decode: Callable[[bool, bool], tuple[list[Any], Any]]
) -> tuple[list[Any], Any]:
    """What a decoder gives; if a tensor says whether it feeds itself, both are built, with the same variables.

    decode: of whether it feeds itself, and whether gradients go on through what it feeds.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous, True)
    made: list[Any] = []

    def build(feeds: bool) -> list[Any]:
        with variable_scope(get_variable_scope(), reuse=None if feeds else True):
            outputs, state = decode(feeds, False)
        made[:] = [len(outputs), state]
        return [*outputs, *nest.flatten(state)]

    found = cond(feed_previous, lambda: build(True), lambda: build(False))
    count, state = made
    return list(found[:count]), nest.pack_sequence_as(state, list(found[count:]))


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: RNNCell,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Projection = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Scope = None,
) -> tuple[list[Any], Any]:
    """Symbols are read, and symbols made of the last state (tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq).

    Args:
        encoder_inputs: A list of [batch] of integers.
        decoder_inputs: A list of [batch] of integers.
        cell: An RNNCell, of which the encoder has a copy.
        num_encoder_symbols: How many symbols the encoder knows.
        num_decoder_symbols: How many the decoder knows.
        embedding_size: How long the row of a symbol is.
        output_projection: The weights and biases that make scores of symbols of an output; by default a layer of
            their own does.
        feed_previous: Whether the decoder's inputs are the likeliest symbols of its outputs: a bool or a tensor.
        dtype: Of the states.
        scope: The variable scope.

    Returns:
        The outputs, a list, and the last state.
    """
    with variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as within:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=within.dtype)
        decoder = cell if output_projection else OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(feeds: bool, update: bool) -> tuple[list[Any], Any]:
            return embedding_rnn_decoder(
                decoder_inputs, state, decoder, num_decoder_symbols, embedding_size, output_projection, feeds, update
            )  # fmt: skip

        return fed_or_not(feed_previous, decode)


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Tensor,
    cell: RNNCell,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: DTypeLike | None = None,
    scope: Scope = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """A decoder that looks at other states in each step (tf.contrib.legacy_seq2seq.attention_decoder).

    Source: Vinyals et al., "Grammar as a Foreign Language", 2014, arXiv:1412.7449.

    Args:
        decoder_inputs: A list of [batch, size].
        initial_state: The state that it begins with.
        attention_states: [batch, states, size]: what it looks at.
        cell: An RNNCell.
        output_size: Of the outputs; by default the cell's.
        num_heads: How often it looks in each step.
        loop_function: Makes each input but the first from the previous output and the number of the step.
        dtype: Of the state.
        scope: The variable scope.
        initial_state_attention: Whether it looks before the first step.

    Returns:
        The outputs, a list of [batch, output_size], and the last state.

    Raises:
        ValueError: If there are no inputs or heads, or a last size is not known.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    size = attention_states.shape.as_list()[2]
    if size is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    with variable_scope(scope or "attention_decoder", dtype=dtype) as within:
        kind = within.dtype
        look = _attention(attention_states, size, num_heads, kind)
        rows = stack([shape(decoder_inputs[0])[0], size])
        seen = [zeros(rows, dtype=kind) for _ in range(num_heads)]
        for one in seen:
            one.set_shape([None, size])
        state, outputs = initial_state, list[Any]()
        if initial_state_attention:
            seen = look(initial_state)
        for number, given in enumerate(decoder_inputs):
            if number > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(outputs[-1], number)
            width = given.shape.with_rank(2).as_list()[1]
            if width is None:
                raise ValueError(f"Could not infer input size from input: {given.name}")
            output, state = cell(_linear([cast(one, kind) for one in (given, *seen)], width), state)
            if number == 0 and initial_state_attention:
                with variable_scope(get_variable_scope(), reuse=True):
                    seen = look(state)
            else:
                seen = look(state)
            with variable_scope("AttnOutputProjection"):
                outputs.append(_linear([cast(output, kind), *seen], output_size or cell.output_size))
    return outputs, state


def _attention(states: Tensor, size: int, heads: int, dtype: Any) -> Callable[[Any], list[Tensor]]:
    """Looks at states: gives for each head the mean that a query asks for. Makes the variables of the states."""
    length = states.shape.as_list()[1] or shape(states)[1]
    hidden = reshape(states, [-1, length, 1, size])
    features, vectors = [], []
    for head in range(heads):
        kernel = get_variable(f"AttnW_{head}", [1, 1, size, size], dtype)
        features.append(conv2d(hidden, kernel, [1, 1, 1, 1], "SAME"))
        vectors.append(get_variable(f"AttnV_{head}", [size], dtype))

    def look(query: Any) -> list[Tensor]:
        flat = nest.flatten(query)
        found = []
        for head in range(heads):
            with variable_scope(f"Attention_{head}"):
                asked = cast(_linear([concat(flat, 1) if len(flat) > 1 else flat[0]], size), dtype)
                scores = tanh(features[head] + reshape(asked, [-1, 1, 1, size]))
                weights = softmax(cast(reduce_sum(vectors[head] * scores, [2, 3]), dtypes.float32))
                mean = reduce_sum(reshape(cast(weights, dtype), [-1, length, 1, 1]) * hidden, [1, 2])
                found.append(reshape(mean, [-1, size]))
        return found

    return look


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Tensor,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Projection = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: DTypeLike | None = None,
    scope: Scope = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """attention_decoder of symbols (tf.contrib.legacy_seq2seq.embedding_attention_decoder).

    Args:
        decoder_inputs: A list of [batch] of integers.
        initial_state: The state that it begins with.
        attention_states: [batch, states, size]: what it looks at.
        cell: An RNNCell.
        num_symbols: How many symbols there are.
        embedding_size: How long the row of a symbol is.
        num_heads: How often it looks in each step.
        output_size: Of the outputs; by default the cell's.
        output_projection: The weights and biases that make scores of symbols of an output; None if it has these.
        feed_previous: Whether each input but the first is the likeliest symbol of the output before.
        update_embedding_for_previous: Whether gradients go on through such inputs.
        dtype: Of the state.
        scope: The variable scope.
        initial_state_attention: Whether it looks before the first step.

    Returns:
        The outputs, a list, and the last state.
    """
    check_projection(output_projection, num_symbols)
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        rows = get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            likeliest_symbol(rows, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        inputs = [embedding_lookup(rows, one) for one in decoder_inputs]
        return attention_decoder(
            inputs, initial_state, attention_states, cell, output_size, num_heads, loop,
            initial_state_attention=initial_state_attention,
        )  # fmt: skip


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: RNNCell,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Projection = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Scope = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Symbols are read, and symbols made by a decoder that looks at what was read.

    TensorFlow: tf.contrib.legacy_seq2seq.embedding_attention_seq2seq.

    Args:
        encoder_inputs: A list of [batch] of integers.
        decoder_inputs: A list of [batch] of integers.
        cell: An RNNCell, of which the encoder has a copy.
        num_encoder_symbols: How many symbols the encoder knows.
        num_decoder_symbols: How many the decoder knows.
        embedding_size: How long the row of a symbol is.
        num_heads: How often the decoder looks in each step.
        output_projection: The weights and biases that make scores of symbols of an output; by default a layer of
            their own does.
        feed_previous: Whether the decoder's inputs are the likeliest symbols of its outputs: a bool or a tensor.
        dtype: Of the states.
        scope: The variable scope.
        initial_state_attention: Whether the decoder looks before the first step.

    Returns:
        The outputs, a list, and the last state.
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as within:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        read, state = static_rnn(encoder, encoder_inputs, dtype=within.dtype)
        states = concat([reshape(one, [-1, 1, cell.output_size]) for one in read], 1)
        decoder, size = cell, None
        if output_projection is None:
            decoder, size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols

        def decode(feeds: bool, update: bool) -> tuple[list[Any], Any]:
            return embedding_attention_decoder(
                decoder_inputs, state, states, decoder, num_decoder_symbols, embedding_size, num_heads, size,
                output_projection, feeds, update, initial_state_attention=initial_state_attention,
            )  # fmt: skip

        return fed_or_not(feed_previous, decode)


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Tensor]]:
    """A model for each of some lengths, with the same variables (tf.contrib.legacy_seq2seq.model_with_buckets).

    Args:
        encoder_inputs: A list of tensors, as many as the longest needs.
        decoder_inputs: A list of tensors.
        targets: A list of [batch] of integers.
        weights: A list of [batch] of floats.
        buckets: Pairs of lengths: of what is read, and of what is made; the longest last.
        seq2seq: A function of inputs of encoder and decoder, which gives outputs and a state.
        softmax_loss_function: A function of labels and logits, instead of the cross entropy.
        per_example_loss: Whether losses are [batch], or scalars.
        name: A name for the operations.

    Returns:
        The outputs and the losses, a list each with one for each bucket.

    Raises:
        ValueError: If there are fewer tensors than the last bucket needs.
    """
    read, made = buckets[-1]
    for what, given, least in (
        ("encoder_inputs", encoder_inputs, read),
        ("targets", targets, made),
        ("weights", weights, made),
    ):
        if len(given) < least:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({least})."
            )
    outputs, losses = [], []
    with op_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]):
        for number, (read, made) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if number else None):
                found, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:made])
                outputs.append(found)
                loss = sequence_loss_by_example if per_example_loss else sequence_loss
                losses.append(
                    loss(found, targets[:made], weights[:made], softmax_loss_function=softmax_loss_function)
                )
    return outputs, losses
