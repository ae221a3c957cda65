"""Input: where a model begins (tf.keras.Input, tf.keras.layers.InputLayer)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, ShapeLike
from graphflow.keras import ops
from graphflow.keras.backend import settings, state
from graphflow.keras.engine.base_layer import Layer
from graphflow.keras.engine.node import Node
from graphflow.keras.typing import Config


class InputLayer(Layer):
    """What stands for an input of a model (tf.keras.layers.InputLayer); its output is a placeholder.

    Args:
        input_shape: The shape of an example, without the batch.
        batch_size: The batch's size; None if any.
        dtype: The dtype; by default that of `input_tensor`, or of K.floatx().
        input_tensor: A tensor in place of a placeholder.
        sparse: Whether the placeholder is one of a SparseTensor.
        name: The name; by default one is made.
        ragged: Cannot be True.
        **kwargs: `batch_input_shape`: the shape with the batch's size; `trainable`.

    Raises:
        ValueError: `ragged` is asked for, or an argument that is not known.
    """

    def __init__(
        self,
        input_shape: ShapeLike = None,
        batch_size: int | None = None,
        dtype: DTypeLike | None = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        batch_shape = kwargs.pop("batch_input_shape", None)
        trainable = kwargs.pop("trainable", True)
        if ragged or kwargs:
            raise ValueError(f"InputLayer takes no argument {next(iter(kwargs), 'ragged')!r}.")
        if batch_shape is None and input_tensor is None:
            inner = shapes.as_shape(input_shape).as_list() if input_shape is not None else []
            batch_shape = (batch_size, *inner)
        kind = dtype or (input_tensor.dtype if input_tensor is not None else settings.floatx())
        super().__init__(trainable, name or state.unique_name("input", zero_based=False), kind)
        self.sparse = sparse
        self.built = True
        self.is_placeholder: bool = input_tensor is None
        if input_tensor is None:
            make = ops.sparse_placeholder if sparse else ops.placeholder
            input_tensor = make(kind, list(batch_shape), name=self.name)
        else:
            batch_shape = input_tensor.shape.as_list()
        self._batch_input_shape = tuple(batch_shape)
        input_tensor._keras_mask = None
        Node(self, None, input_tensor, {})

    @property
    def input_shape(self) -> Any:
        """A list of the one shape that it has, as TensorFlow 1.15 gives it."""
        return [super().input_shape]

    @property
    def output_shape(self) -> Any:
        """A list of the one shape that it has, as TensorFlow 1.15 gives it."""
        return [super().output_shape]

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        assert self._dtype is not None
        return {
            "batch_input_shape": self._batch_input_shape, "dtype": self._dtype.name, "sparse": self.sparse,
            "name": self.name,
        }  # fmt: skip


def Input(
    shape: ShapeLike = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    tensor: Tensor | None = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """A symbolic input, of which models are made (tf.keras.Input).

    Args:
        shape: The shape of an example, without the batch.
        batch_size: The batch's size; None if any.
        name: The name; by default one is made.
        dtype: The dtype; by default that of `tensor`, or of K.floatx().
        sparse: Whether the placeholder is one of a SparseTensor.
        tensor: A tensor in place of a placeholder.
        ragged: Cannot be True.
        **kwargs: `batch_shape`: the shape with the batch's size.

    Returns:
        The tensor.

    Raises:
        ValueError: No shape is said, or both forms are.
    """
    batch_shape = kwargs.pop("batch_shape", None)
    if kwargs:
        raise ValueError(f"Input takes no argument {next(iter(kwargs))!r}.")
    if shape is not None and batch_shape is not None:
        raise ValueError(
            "Only provide the shape or the batch_shape argument to Input, not both at the same time."
        )
    if shape is None and batch_shape is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a shape or a tensor argument. Note that shape does not include the batch "
            "dimension."
        )
    if batch_shape is None and tensor is None:
        inner = (shape,) if isinstance(shape, int) else shapes.as_shape(shape).as_list()
        batch_shape = (batch_size, *inner)
    layer = InputLayer(
        dtype=dtype,
        input_tensor=tensor,
        sparse=sparse,
        name=name,
        ragged=ragged,
        batch_input_shape=batch_shape,
    )
    return layer.inbound_nodes[0].output_tensors
