"""Bijectors of vectors that networks stretch and shift: RealNVP and masked autoregressive flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import Initializer, TensorLike
from graphflow._core.ops.array.array import concat, reshape, shape, split, stop_gradient, unstack, zeros_like
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math.clip import clip_by_value
from graphflow._core.ops.math.math import exp
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.state.initializers import GlorotNormal
from graphflow._core.ops.state.template import make_template
from graphflow.contrib.distributions.bijectors.bijector import Bijector
from graphflow.layers import core
from graphflow.nn import relu

_ShiftAndScale = Callable[..., tuple[Any, Any]]


def _last_size(x: Tensor) -> int:
    size = x.dims[-1] if x.dims else None
    if size is None:
        raise NotImplementedError(
            f"Rightmost dimension must be known prior to graph execution, but the shape is {x.shape}."
        )
    return int(size)


def _stretched(x: Tensor, shift: Any, log_scale: Any) -> Tensor:
    y = x if log_scale is None else x * exp(log_scale)
    return y if shift is None else y + shift


def _unstretched(y: Tensor, shift: Any, log_scale: Any) -> Tensor:
    x = y if shift is None else y - shift
    return x if log_scale is None else x * exp(-log_scale)


def _logarithm(log_scale: Any, value: Tensor) -> Tensor:
    return constant(0.0, dtype=value.dtype) if log_scale is None else reduce_sum(log_scale, axis=-1)


class RealNVP(Bijector):
    """Stretches and shifts the last elements by a function of the first, which stay as they are.

    Dinh, Sohl-Dickstein and Bengio, 2016 (tf.contrib.distributions.bijectors.RealNVP).

    Args:
        num_masked: How many elements stay, above 0 and fewer than there are.
        shift_and_log_scale_fn: From these, [batch, num_masked], and the number of the others to what is added to those
            and the logarithm of what they are multiplied with, either of which may be None.
        is_constant_jacobian: Whether the second is always None.
        validate_args: Changes nothing.
        name: A name for the operations.

    Raises:
        ValueError: If `num_masked` is not positive.

    Examples:
        >>> flow = gf.contrib.distributions.bijectors.RealNVP(1, lambda first, count: (first, None))
        >>> with gf.Session() as session:
        ...     print(session.run(flow.forward([[2.0, 3.0]])))
        [[2. 5.]]
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: _ShiftAndScale,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked = num_masked
        self._function = shift_and_log_scale_fn
        super().__init__(None, is_constant_jacobian, validate_args, None, 1, name=name or "real_nvp")

    def _parts(self, value: Tensor) -> tuple[Tensor, Tensor, Any, Any]:
        """What stays and what does not, and what is done to the latter."""
        size = _last_size(value)
        if self._num_masked >= size:
            raise ValueError(
                f"Number of masked units must be smaller than the event size: {self._num_masked} of {size}."
            )
        first, last = value[..., : self._num_masked], value[..., self._num_masked :]
        return first, last, *self._function(first, size - self._num_masked)

    def _forward(self, x: Tensor) -> Tensor:
        first, last, shift, log_scale = self._parts(x)
        return concat([first, _stretched(last, shift, log_scale)], axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        first, last, shift, log_scale = self._parts(y)
        return concat([first, _unstretched(last, shift, log_scale)], axis=-1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return _logarithm(self._parts(x)[3], x)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -_logarithm(self._parts(y)[3], y)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Callable[[Tensor], Tensor] | None = relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Callable[..., tuple[Any, Any]]:
    """The function for RealNVP that is a network of dense layers (tf.contrib.distributions.bijectors).

    Args:
        hidden_layers: The sizes of its hidden layers.
        shift_only: Whether nothing is stretched.
        activation: Of the hidden layers.
        name: A name scope for the operations.
        *args: More arguments of gf.layers.dense.
        **kwargs: The same, by name.

    Returns:
        A function of the elements that stay and the number of the others, whose variables are made once.
    """

    def network(x: Tensor, output_units: int) -> tuple[Any, Any]:
        for units in hidden_layers:
            x = core.dense(x, units, activation, *args, **kwargs)
        x = core.dense(x, (1 if shift_only else 2) * output_units, None, *args, **kwargs)
        if shift_only:
            return x, None
        shift, log_scale = split(x, 2, axis=-1)
        return shift, log_scale

    with op_scope(name, "real_nvp_default_template", []):
        template: Callable[..., tuple[Any, Any]] = make_template("real_nvp_default_template", network)
    return template


class MaskedAutoregressiveFlow(Bijector):
    """Stretches and shifts each element by a function of those before it (Papamakarios, Pavlakou and Murray, 2017).

    The inverse is one call of the function, the other direction one for each element. TensorFlow:
    tf.contrib.distributions.bijectors.MaskedAutoregressiveFlow.

    Args:
        shift_and_log_scale_fn: From y, [..., size], to what is added to each element and the logarithm of what it is
            multiplied with, which hang on earlier elements alone; either may be None.
        is_constant_jacobian: Whether the second is always None.
        validate_args: Changes nothing.
        unroll_loop: Whether the calls stand in the graph one by one; the number of elements must be known then.
        name: A name for the operations.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: _ShiftAndScale,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._function = shift_and_log_scale_fn
        self._unroll_loop = unroll_loop
        super().__init__(
            None, is_constant_jacobian, validate_args, None, 1, name=name or "masked_autoregressive_flow"
        )

    def _forward(self, x: Tensor) -> Tensor:
        y = zeros_like(x, name="y0")
        size = x.dims[-1] if x.dims else None
        if self._unroll_loop:
            if size is None:
                raise ValueError(
                    "The final dimension of `x` must be known at graph construction time if `unroll_loop=True`. "
                    f"`x.shape: {x.shape}`"
                )
            for _ in range(size):
                y = _stretched(x, *self._function(y))
            return y
        self._function(y)  # Its variables are made outside of the loop.
        count = shape(x)[-1]
        _, found = while_loop(
            lambda index, _: index < count,
            lambda index, before: (index + 1, _stretched(x, *self._function(before))),
            (constant(0), y),
            maximum_iterations=size,
        )
        result: Tensor = found
        return result

    def _inverse(self, y: Tensor) -> Tensor:
        return _unstretched(y, *self._function(y))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -_logarithm(self._function(y)[1], y)


def _mask(num_blocks: int, n_in: int, n_out: int, exclusive: bool) -> Any:
    """Which inputs each output may hang on, [n_in, n_out]: those of its block if not exclusive, and of earlier ones."""
    wide, high = n_in // num_blocks, n_out // num_blocks
    mask = np.zeros([n_out, n_in])
    for block in range(num_blocks):
        mask[(block + exclusive) * high :, block * wide : (block + 1) * wide] = 1
    return mask.T


def masked_dense(
    inputs: TensorLike,
    units: int,
    num_blocks: int,
    exclusive: bool = False,
    kernel_initializer: Initializer | None = None,
    reuse: bool | None = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    """A dense layer whose outputs hang on earlier inputs alone (tf.contrib.distributions.bijectors.masked_dense).

    Args:
        inputs: [..., size], of known size.
        units: How many columns the outputs have.
        num_blocks: In how many blocks inputs and outputs are cut.
        exclusive: Whether an output does not hang on the inputs of its own block.
        kernel_initializer: What the weights begin with; by default Glorot's normal draws.
        reuse: Whether to take the variables that are there in the scope.
        name: A name for the layer.
        *args: More arguments of gf.layers.Dense.
        **kwargs: The same, by name.

    Returns:
        The outputs, [..., units].

    Raises:
        NotImplementedError: If the inputs' size is not known.
    """
    given = convert_to_tensor(inputs)
    mask = _mask(num_blocks, _last_size(given), units, exclusive).astype(given.dtype.as_numpy_dtype)
    first: Any = kernel_initializer or GlorotNormal()
    with op_scope(name, "masked_dense", [given]):
        settings: dict[str, Any] = {
            "kernel_initializer": lambda size, dtype=None, partition_info=None: mask * first(size, dtype),
            "kernel_constraint": lambda kernel: mask * kernel,
            "name": name, "dtype": given.dtype, "_scope": name, "_reuse": reuse,
        }  # fmt: skip
        make: Any = core.Dense  # Which arguments a program gives by place is its own affair.
        layer = make(units, *args, **settings, **kwargs)
        result: Tensor = layer(given)
        return result


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Callable[[Tensor], Tensor] | None = relu,
    log_scale_min_clip: float = -5.0,
    log_scale_max_clip: float = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Callable[..., tuple[Any, Any]]:
    """The function for MaskedAutoregressiveFlow that is a network of masked layers (Germain et al., 2015).

    TensorFlow: tf.contrib.distributions.bijectors.masked_autoregressive_default_template.

    Args:
        hidden_layers: The sizes of its hidden layers.
        shift_only: Whether nothing is stretched.
        activation: Of the hidden layers.
        log_scale_min_clip: The least logarithm of a factor.
        log_scale_max_clip: The largest.
        log_scale_clip_gradient: Whether no gradient flows where it is beyond these.
        name: A name for the template.
        *args: More arguments of masked_dense.
        **kwargs: The same, by name.

    Returns:
        A function of y, whose variables are made once.
    """

    def network(x: Tensor) -> tuple[Any, Any]:
        size = _last_size(x)
        sizes = shape(x)
        for place, units in enumerate(hidden_layers):
            x = masked_dense(x, units, size, place == 0, *args, activation=activation, **kwargs)
        x = masked_dense(x, (1 if shift_only else 2) * size, size, *args, activation=None, **kwargs)
        if shift_only:
            return reshape(x, sizes), None
        shift, log_scale = unstack(reshape(x, concat([sizes, [2]], 0)), num=2, axis=-1)
        clipped = clip_by_value(log_scale, log_scale_min_clip, log_scale_max_clip)
        if not log_scale_clip_gradient:
            clipped = log_scale + stop_gradient(clipped - log_scale)
        return shift, clipped

    template: Callable[..., tuple[Any, Any]] = make_template(
        name or "masked_autoregressive_default_template", network
    )
    return template
