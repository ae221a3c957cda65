"""LSTM cells of another form: with one gate less, and with one that opens in phases (tf.contrib.rnn)."""

from __future__ import annotations

from typing import Any

import graphflow.nn as nn
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import Activation, Initializer, NumberLike
from graphflow._core.ops.array import array, indexing
from graphflow._core.ops.math import clip, linalg, math
from graphflow._core.ops.math.arithmetic import floormod
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.state.initializers import Constant, Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.contrib.rnn.scoped import ScopedCell, last_size
from graphflow.nn.cells import LSTMStateTuple


class CoupledInputForgetGateLSTMCell(ScopedCell):
    """An LSTM cell that takes in as much as it forgets (tf.contrib.rnn.CoupledInputForgetGateLSTMCell).

    Source: Greff et al., "LSTM: A Search Space Odyssey", 2015, arXiv:1503.04069.

    Args:
        num_units: The size of the memory.
        use_peepholes: Whether the gates see the memory.
        initializer: Accepted, and not used, as in TensorFlow: variables begin with what their scope says.
        num_proj: The size to which outputs are projected; None for none.
        proj_clip: The bound of projected outputs; None for none.
        num_unit_shards: How many variables the kernel is made of.
        num_proj_shards: How many variables the projection is made of.
        forget_bias: What is added to the forget gate.
        state_is_tuple: Whether the state is a tuple and not one tensor.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        layer_norm: Whether gates and memory are normalised, in place of a bias.
        norm_gain: What gamma begins with.
        norm_shift: What beta begins with.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, initializer: Initializer | None = None,
        num_proj: int | None = None, proj_clip: float | None = None, num_unit_shards: int = 1,
        num_proj_shards: int = 1, forget_bias: float = 1.0, state_is_tuple: bool = True,
        activation: Activation = math.tanh, reuse: bool | None = None, layer_norm: bool = False,
        norm_gain: float = 1.0, norm_shift: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units, self._projected, self._clip = num_units, num_proj, proj_clip
        self._unit_shards, self._proj_shards = num_unit_shards, num_proj_shards
        self._peepholes, self._forget_bias, self._activation = use_peepholes, forget_bias, activation
        self._state_is_tuple = state_is_tuple
        self._norm = (norm_gain, norm_shift) if layer_norm else None

    @property
    def output_size(self) -> int:
        """num_proj, or num_units."""
        return self._projected or self._num_units

    @property
    def state_size(self) -> Any:
        """The sizes of the memory and of the last output."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    def _normal(self, value: Tensor, scope: str) -> Tensor:
        return value if self._norm is None else self.normalised(value, scope, *self._norm)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: The memory and the last output, as `state_size` describes them.
        """
        units = self._num_units
        parts = state if self._state_is_tuple else array.split(state, [units, self.output_size], axis=1)
        memory, last = parts
        kernel = self.sharded("W", last_size(inputs.shape) + self.output_size, 3 * units, self._unit_shards)
        bias = self.get("B", [3 * units], Zeros(dtype=self._dtype))
        gates = linalg.matmul(array.concat([inputs, last], 1), kernel)
        if self._norm is None:
            gates = nn.bias_add(gates, bias)
        named = zip(array.split(gates, 3, axis=1), ("transform", "forget", "output"), strict=True)
        value, forgetting, leaving = (self._normal(gate, scope) for gate, scope in named)
        forgetting += self._forget_bias
        if self._peepholes:
            forgetting += self.get("W_F_diag", [units]) * memory
            seen = self.get("W_O_diag", [units])
        kept = math.sigmoid(forgetting)
        memory = self._normal(kept * memory + (1 - kept) * self._activation(value), "state")
        if self._peepholes:
            leaving += seen * memory
        output = math.sigmoid(leaving) * self._activation(memory)
        if self._projected is not None:
            output = linalg.matmul(output, self.sharded("W_P", units, self._projected, self._proj_shards))
            if self._clip is not None:
                output = clip.clip_by_value(output, -self._clip, self._clip)
        following = LSTMStateTuple(memory, output)
        return output, following if self._state_is_tuple else array.concat(list(following), 1)


class PhasedLSTMCell(ScopedCell):
    """An LSTM cell whose units open and close periodically, for events at any times (tf.contrib.rnn.PhasedLSTMCell).

    Source: Neil, Pfeiffer and Liu, "Phased LSTM: Accelerating Recurrent Network Training for Long or Event-based
    Sequences", NIPS 2016, arXiv:1610.09513. Its inputs are pairs: times [batch, 1], and features [batch, size].

    Args:
        num_units: The size of state and output.
        use_peepholes: Whether the gates see the memory.
        leak: How much passes a closed unit.
        ratio_on: The share of its period in which a unit is open, at the beginning.
        trainable_ratio_on: Whether optimizers train that share.
        period_init_min: The least period that a unit begins with.
        period_init_max: The greatest.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, leak: NumberLike = 0.001, ratio_on: float = 0.1,
        trainable_ratio_on: bool = True, period_init_min: NumberLike = 1.0, period_init_max: NumberLike = 1000.0,
        reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units, self._peepholes, self._leak = num_units, use_peepholes, leak
        self._ratio_on, self._trains_ratio = ratio_on, trainable_ratio_on
        self._periods = (period_init_min, period_init_max)

    @property
    def state_size(self) -> LSTMStateTuple:
        """LSTMStateTuple(num_units, num_units)."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """num_units."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: A pair of the times [batch, 1] and the features [batch, size].
            state: The memory and the last output.
        """
        (memory, last), (time, features), units = state, inputs, self._num_units
        self._dtype = features.dtype  # The times may have another.
        seen = [features, last]
        with variable_scope("mask_gates"):
            gates = math.sigmoid(self.linear([*seen, memory] if self._peepholes else seen, 2 * units))
        entering, forgetting = array.split(gates, 2, axis=1)
        with variable_scope("new_input"):
            value = math.tanh(self.linear(seen, units))
        new = memory * forgetting + entering * value
        with variable_scope("output_gate"):
            leaving = math.sigmoid(self.linear([*seen, new] if self._peepholes else seen, units))
        made = math.tanh(new) * leaving
        open_ = self._openness(time)
        new, output = (
            open_ * after + (1 - open_) * before for after, before in ((new, memory), (made, last))
        )
        return output, LSTMStateTuple(new, output)

    def _openness(self, time: Tensor) -> Tensor:
        """How far each unit is open, [batch, num_units]."""
        units = [self._num_units]
        period = self.get("period", units, self._first_periods)
        phase = self.get("phase", units, lambda shape, dtype=None, partition_info=None: random_uniform(
            shape, 0.0, period.initial_value, dtype
        ))  # fmt: skip
        ratio = self.get("ratio_on", units, Constant(self._ratio_on), self._trains_ratio)
        length, shifted = cast(period, time.dtype), time - cast(phase, time.dtype)
        # The remainder counts as a constant distance from the time, so that gradients pass.
        within = array.stop_gradient(floormod(shifted, length) - shifted) + shifted
        passed = cast(within / length, ratio.dtype)
        rising = 2 * passed / ratio
        found = indexing.where(passed < ratio, 2 - rising, self._leak * passed)
        return indexing.where(passed < 0.5 * ratio, rising, found)

    def _first_periods(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Periods whose logarithms are uniform."""
        least, greatest = (math.log(bound) for bound in self._periods)
        return math.exp(random_uniform(shape, least, greatest, dtype))
