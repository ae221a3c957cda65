"""InputSpec: what a layer asks of its inputs, checked at each call so that the message names the layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.types import DTypeLike


class InputSpec:
    """The rank, sizes and dtype that an input of a layer must have (tf.layers.InputSpec).

    Args:
        dtype: Of the input.
        shape: Sizes, None if any will do; decides `ndim`.
        ndim: With `max_ndim` and `min_ndim`: the rank.
        max_ndim: See `ndim`.
        min_ndim: See `ndim`.
        axes: {axis: size}.

    Raises:
        ValueError: If an axis is beyond the rank.
        TypeError: If it is no integer.
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Iterable[Any] | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[Any, int | None] | None = None,
    ) -> None:
        self.dtype: str | None = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape: tuple[int | None, ...] | None = None if shape is None else tuple(shape)
        self.ndim: int | None = ndim if self.shape is None else len(self.shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        try:
            self.axes: dict[int, int | None] = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError(f"The keys in axes must be integers, got {list(axes or ())}.") from None
        most = self.ndim or self.max_ndim
        if self.axes and most and max(self.axes) > most - 1:
            raise ValueError(f"Axis {max(self.axes)} is greater than the maximum allowed value: {most - 1}")

    def __repr__(self) -> str:
        fields = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        return f"InputSpec({', '.join(f'{f}={getattr(self, f)}' for f in fields if getattr(self, f))})"

    def complaint(self, dims: shapes.Dims, dtype: dtypes.DType) -> str | None:
        """What is wrong with an input of that shape and dtype; None if nothing is.

        Args:
            dims: The sizes of an input.
            dtype: Of the variables; by default that of the first input.
        """
        if dims is None:
            if (self.ndim, self.min_ndim, self.max_ndim) == (None, None, None):
                return None
            return "its rank is undefined, but the layer requires a defined rank."
        full = f"Full shape received: {shapes.text(dims)}"
        for wanted, wrong, sign in (
            (self.ndim, self.ndim is not None and len(dims) != self.ndim, "ndim"),
            (self.max_ndim, self.max_ndim is not None and len(dims) > self.max_ndim, "max_ndim"),
            (self.min_ndim, self.min_ndim is not None and len(dims) < self.min_ndim, "min_ndim"),
        ):
            if wrong:
                return f"expected {sign}={wanted}, found ndim={len(dims)}. {full}"
        if self.dtype is not None and dtype.name != self.dtype:
            return f"expected dtype={self.dtype}, found dtype={dtype.name}"
        for axis, size in self.axes.items():
            if not -len(dims) <= axis < len(dims) or (size is not None and dims[axis] not in (size, None)):
                return f"expected axis {axis} of input shape to have value {size}. {full}"
        if not shapes.compatible(self.shape, dims):
            return f"expected shape={shapes.text(self.shape)}, found shape={shapes.text(dims)}"
        return None


def check_inputs(specification: Any, inputs: Any, layer_name: str) -> None:
    """ValueError if inputs are not as an InputSpec, or a structure of them, says."""
    if not specification:
        return
    leaves: Sequence[Any] = nest.flatten(inputs)
    specs = nest.flatten(specification)
    if len(leaves) != len(specs):
        raise ValueError(
            f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(leaves)} input tensors. "
            f"Inputs received: {inputs}"
        )
    for index, (leaf, spec) in enumerate(zip(leaves, specs, strict=True)):
        complaint = None if spec is None else spec.complaint(shapes.as_dims(leaf.shape), leaf.dtype)
        if complaint is not None:
            raise ValueError(
                f"Input {index} of layer {layer_name} is incompatible with the layer: {complaint}"
            )
