"""Attention: at each step a decoder looks at all steps of an encoder, each weighted by how well it fits.

The memory, the outputs of the encoder, is projected to keys once; at each step the query, the output of the decoder's
cell, is compared with them. Names of variables are TensorFlow's, so that checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import linalg, math, reductions, scans
from graphflow._core.ops.nn.softmax import softmax
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant, Ones, Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers.base import Layer
from graphflow.layers.core import Dense
from graphflow.nn.zero_states import zero_state_of


class AttentionMechanism:
    """What AttentionWrapper asks where to look (tf.contrib.seq2seq.AttentionMechanism): to be derived from."""

    @property
    def alignments_size(self) -> Any:
        """How many steps the memory has."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of what is kept from one step to the next."""
        raise NotImplementedError


def extent(tensor: Tensor, axis: int) -> Any:
    """The size of an axis: an int if it is known, a scalar otherwise."""
    known = None if tensor.dims is None else tensor.dims[axis]
    return known or array.shape(tensor)[axis]


def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """1 at the largest element of the last axis, 0 elsewhere (tf.contrib.seq2seq.hardmax).

    Args:
        logits: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    with op_scope(name, "Hardmax", [logits]):
        tensor = convert_to_tensor(logits, name="logits")
        return array.one_hot(scans.argmax(tensor, -1), extent(tensor, -1), dtype=tensor.dtype)


def prepare_memory(
    memory: Any,
    memory_sequence_length: Any = None,
    memory_mask: Any = None,
    check_inner_dims_defined: bool = True,
) -> Any:
    """The memory, zero from each sequence's end on, or where the mask is False."""
    memory = nest.map_structure(lambda part: convert_to_tensor(part, name="memory"), memory)
    parts = nest.flatten(memory)
    for part in parts if check_inner_dims_defined else ():
        if not part.shape[2:].is_fully_defined():
            raise ValueError(
                f"The memory {part.name} must have known sizes but for batch and time, but its shape is {part.shape}."
            )
    mask = _mask(memory_sequence_length, memory_mask, array.shape(parts[0])[1], parts[0].dtype)
    if mask is None:
        return memory

    def masked(part: Tensor) -> Tensor:
        rank = part.shape.ndims
        ones = array.ones(array.rank(part) - 2 if rank is None else rank - 2, dtype=dtypes.int32)
        kept = array.reshape(mask, array.concat([array.shape(mask), ones], 0))
        return part * math.cast(kept, part.dtype)

    return nest.map_structure(masked, memory)


def mask_score(
    score: Tensor, memory_sequence_length: Any = None, memory_mask: Any = None, score_mask_value: Any = None
) -> Tensor:
    """The score [batch, time], replaced from each sequence's end on, or where the mask is False."""
    if memory_sequence_length is None and memory_mask is None:
        return score
    checks = []
    if memory_sequence_length is not None:
        message = "All values in memory_sequence_length must be greater than zero."
        checks.append(assert_positive(memory_sequence_length, message=message))
    with get_default_graph().control_dependencies(checks):
        mask = _mask(memory_sequence_length, memory_mask, array.shape(score)[1])
    assert mask is not None
    return array.where(mask, score, score_mask_value * array.ones_like(score))


def _mask(lengths: Any, mask: Any, time: Tensor, dtype: DTypeLike = dtypes.bool_) -> Tensor | None:
    """[batch, time], or None for all."""
    if lengths is not None and mask is not None:
        raise ValueError("memory_sequence_length and memory_mask cannot both be given.")
    if lengths is not None:
        return array.sequence_mask(lengths, time, dtype)
    return None if mask is None else math.cast(mask, dtype)


class BaseAttentionMechanism(AttentionMechanism):
    """Keys and values of a memory, and how scores become alignments: what the mechanisms derive from.

    A mechanism is called with a query [batch, size] and the state, and gives the alignments [batch, time] and the next
    state.

    Args:
        query_layer: A layer of the queries, or None.
        memory: The outputs of an encoder, [batch, time, ...].
        probability_fn: A function of scores [batch, time] and the alignments of the step before to alignments.
        memory_sequence_length: How many steps of the memory each row has, integers [batch]; None for all.
        memory_layer: A layer from the memory to the keys; None for the memory itself.
        check_inner_dims_defined: Whether the memory's sizes but for batch and time must be known.
        score_mask_value: The score of what is past the end; minus infinity by default.
        custom_key_value_fn: A function of keys and values to others, or None.
        name: A name for the operations.

    Raises:
        TypeError: If a layer is none, or probability_fn is no function.
        ValueError: If a size of the memory is not known.
    """

    def __init__(
        self,
        query_layer: Layer | None,
        memory: TensorStructure,
        probability_fn: Callable[..., Any],
        memory_sequence_length: IntTensorLike | None = None,
        memory_layer: Layer | None = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: TensorLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        for argument, layer in (("query_layer", query_layer), ("memory_layer", memory_layer)):
            if layer is not None and not isinstance(layer, Layer):
                raise TypeError(f"{argument} is not a Layer: {layer!r}.")
        if not callable(probability_fn):
            raise TypeError(f"probability_fn must be callable, got {probability_fn!r}.")
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self.dtype: Any = None if memory_layer is None else memory_layer.dtype
        lengths = memory_sequence_length
        if lengths is not None:
            lengths = convert_to_tensor(lengths, name="memory_sequence_length")
        fill = -np.inf if score_mask_value is None else score_mask_value
        self._probability_fn: Callable[..., Any] = lambda score, state: probability_fn(
            mask_score(score, lengths, score_mask_value=fill), state
        )
        with op_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = prepare_memory(memory, lengths, check_inner_dims_defined=check_inner_dims_defined)
            self._keys: Any = self._values if memory_layer is None else memory_layer(self._values)
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size = extent(self._keys, 0)
            self._alignments_size = extent(self._keys, 1)

    @property
    def memory_layer(self) -> Any:
        """The layer from the memory to the keys, or None."""
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        """The layer of the queries, or None."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """What the alignments weight: the memory."""
        return self._values

    @property
    def keys(self) -> Any:
        """What the queries are compared with, [batch, time, size]."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """The number of rows of the memory: an int, or an int32 scalar."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        """The number of steps of the memory: an int, or an int32 scalar."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """That of the alignments, which are the state."""
        return self._alignments_size

    def initial_alignments(self, batch_size: IntTensorLike, dtype: DTypeLike) -> Tensor:
        """Zeros [batch, time].

        Args:
            batch_size: How many rows.
            dtype: The dtype.
        """
        zeros: Tensor = zero_state_of(self._alignments_size, batch_size, dtype)
        return zeros

    def initial_state(self, batch_size: IntTensorLike, dtype: DTypeLike) -> Any:
        """The state before the first step: the initial alignments.

        Args:
            batch_size: How many rows.
            dtype: The dtype.
        """
        return self.initial_alignments(batch_size, dtype)


def projection(units: int, name: str, dtype: DTypeLike | None) -> Dense:
    """The layer of keys or queries."""
    return Dense(units, name=name, use_bias=False, dtype=dtype or dtypes.float32)


def luong_score(query: Tensor, keys: Tensor, scale: TensorLike | None) -> Tensor:
    """The products of queries [batch, units] with keys [batch, time, units], times a factor."""
    depth, units = query.shape[-1].value, keys.shape[-1].value
    if depth != units:
        raise ValueError(
            f"The query {query.name} has {depth} units and the keys {keys.name} have {units}: give the mechanism the "
            "number of units that the decoder's cell has."
        )
    score = array.squeeze(linalg.matmul(array.expand_dims(query, 1), keys, transpose_b=True), [1])
    return score if scale is None else math.multiply(score, scale)


def luong_factor(dtype: DTypeLike, scale: bool) -> Any:
    """The variable attention_g; None unless `scale`."""
    return get_variable("attention_g", dtype=dtype, initializer=Ones(), shape=()) if scale else None


def bahdanau_score(
    processed_query: Tensor,
    keys: Tensor,
    attention_v: TensorLike,
    attention_g: TensorLike | None = None,
    attention_b: TensorLike | None = None,
) -> Tensor:
    """The sums over units of attention_v * tanh(keys + query), [batch, time].

    With attention_g and attention_b the weights attention_v are normalised.
    """
    arguments, weights = keys + array.expand_dims(processed_query, 1), convert_to_tensor(attention_v)
    if attention_g is not None and attention_b is not None:
        norm = math.rsqrt(reductions.reduce_sum(math.square(weights)))
        weights = math.multiply(attention_g, weights) * norm
        arguments += attention_b
    return reductions.reduce_sum(weights * math.tanh(arguments), [2])


def bahdanau_weights(units: int, dtype: DTypeLike, normalize: bool) -> tuple[Any, Any, Any]:
    """The variables attention_v, attention_g and attention_b; the latter None unless `normalize`."""
    weights = get_variable("attention_v", [units], dtype=dtype)
    if not normalize:
        return weights, None, None
    start = Constant(float(np.sqrt(1.0 / units)))
    factor = get_variable("attention_g", dtype=dtype, initializer=start, shape=())
    return weights, factor, get_variable("attention_b", [units], dtype=dtype, initializer=Zeros())


class LuongAttention(BaseAttentionMechanism):
    """Scores are products of query and key (tf.contrib.seq2seq.LuongAttention).

    Luong et al., "Effective approaches to attention-based neural machine translation", 2015. Variables:
    memory_layer/kernel, and attention_g with `scale`.

    Args:
        num_units: The size of the keys, which must be that of the queries.
        memory: The outputs of an encoder, [batch, time, size].
        memory_sequence_length: How many steps of the memory each row has, integers [batch]; None for all.
        scale: Whether the scores have a factor that is trained.
        probability_fn: A function of scores to alignments, softmax by default.
        score_mask_value: The score of what is past the end; minus infinity by default.
        dtype: Of the variables; float32 by default.
        custom_key_value_fn: A function of keys and values to others, or None.
        name: A name for the operations.
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorStructure,
        memory_sequence_length: IntTensorLike | None = None,
        scale: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str | None = "LuongAttention",
    ) -> None:
        probability = probability_fn or softmax
        super().__init__(
            query_layer=None,
            memory_layer=projection(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=lambda score, _: probability(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._name = name

    def __call__(self, query: Tensor, state: TensorStructure) -> tuple[Any, Any]:
        """The alignments, and the next state, which are the same.

        Args:
            query: [batch, num_units].
            state: The alignments of the step before, [batch, time].
        """
        with variable_scope(None, "luong_attention", [query]):
            score = luong_score(query, self._keys, luong_factor(query.dtype, self._scale))
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class BahdanauAttention(BaseAttentionMechanism):
    """Scores are made of the sum of query and key by tanh (tf.contrib.seq2seq.BahdanauAttention).

    Bahdanau et al., "Neural machine translation by jointly learning to align and translate", 2015. Variables:
    memory_layer/kernel, query_layer/kernel, attention_v, and attention_g and attention_b with `normalize`.

    Args:
        num_units: The size of keys and projected queries.
        memory: The outputs of an encoder, [batch, time, size].
        memory_sequence_length: How many steps of the memory each row has, integers [batch]; None for all.
        normalize: Whether attention_v is weight normalised (Salimans and Kingma 2016).
        probability_fn: A function of scores to alignments, softmax by default.
        score_mask_value: The score of what is past the end; minus infinity by default.
        dtype: Of the variables; float32 by default.
        custom_key_value_fn: A function of keys and values to others, or None.
        name: A name for the operations.
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorStructure,
        memory_sequence_length: IntTensorLike | None = None,
        normalize: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[..., Any] | None = None,
        name: str | None = "BahdanauAttention",
    ) -> None:
        probability = probability_fn or softmax
        super().__init__(
            query_layer=projection(num_units, "query_layer", dtype),
            memory_layer=projection(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=lambda score, _: probability(score),
            custom_key_value_fn=custom_key_value_fn,
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._name = name

    def __call__(self, query: Tensor, state: TensorStructure) -> tuple[Any, Any]:
        """The alignments, and the next state, which are the same.

        Args:
            query: [batch, size].
            state: The alignments of the step before, [batch, time].
        """
        with variable_scope(None, "bahdanau_attention", [query]):
            projected = self.query_layer(query) if self.query_layer else query
            weights = bahdanau_weights(self._num_units, query.dtype, self._normalize)
            score = bahdanau_score(projected, self._keys, *weights)
        alignments = self._probability_fn(score, state)
        return alignments, alignments
