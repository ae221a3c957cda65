"""Embedding: a vector for each number (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.types import DTypeLike, IntsLike
from graphflow.keras import ops
from graphflow.keras.backend import settings
from graphflow.keras.layers.base import ConfiguredLayer
from graphflow.keras.typing import Named, Shapes, Tensors


class Embedding(ConfiguredLayer):
    """Vectors of classes: [batch, steps] of ints become [batch, steps, output_dim] (tf.keras.layers.Embedding).

    Args:
        input_dim: The number of classes.
        output_dim: The size of a vector.
        embeddings_initializer: What makes the vectors' initial values: an initializer, its name or configuration.
        embeddings_regularizer: A function of the vectors whose result is added to the loss, or its name.
        activity_regularizer: The same of the layer's output.
        embeddings_constraint: A function that gives the vectors their values after each step of training, or its
            name.
        mask_zero: Whether 0 is no class, but masks a step.
        input_length: The number of steps; None if any.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Named = "uniform",
        embeddings_regularizer: Named = None,
        activity_regularizer: Named = None,
        embeddings_constraint: Named = None,
        mask_zero: bool = False,
        input_length: IntsLike | None = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            length: Any = () if input_length is None else input_length
            sizes = (length,) if isinstance(length, int) else tuple(length)
            kwargs["batch_input_shape"] = (kwargs.pop("batch_size", None), *(sizes or (None,)))
        dtype: DTypeLike = kwargs.pop("dtype", None) or settings.floatx()
        super().__init__(dtype=dtype, activity_regularizer=activity_regularizer, **kwargs)
        self._keep(
            input_dim=input_dim, output_dim=output_dim, embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            activity_regularizer=activity_regularizer, embeddings_constraint=embeddings_constraint,
            mask_zero=mask_zero, input_length=input_length,
        )  # fmt: skip
        self.input_dim: int = input_dim
        self.output_dim: int = output_dim
        self.mask_zero: bool = mask_zero
        self.supports_masking = mask_zero

    def build(self, input_shape: Shapes) -> None:
        """Makes the matrix of vectors.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.
        """
        own: Any = self
        self.embeddings = self.add_weight(
            "embeddings", (self.input_dim, self.output_dim), initializer=own.embeddings_initializer,
            regularizer=own.embeddings_regularizer, constraint=own.embeddings_constraint,
        )  # fmt: skip
        self.built = True

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """Whether a step is not 0, if that masks.

        Args:
            inputs: Ints [batch, steps].
            mask: Changes nothing.

        Returns:
            A bool tensor [batch, steps], or None.
        """
        return ops.not_equal(inputs, ops.cast(0, inputs.dtype)) if self.mask_zero else None

    def call(self, inputs: Tensors) -> Any:
        """The vectors.

        Args:
            inputs: Ints of any shape, from 0 to input_dim - 1.

        Returns:
            A tensor of an axis more.
        """
        if inputs.dtype.name not in ("int32", "int64"):
            inputs = ops.cast(inputs, "int32")
        return ops.embedding_lookup(self.embeddings, inputs)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The input's shape, and the size of a vector.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The shape.
        """
        return shapes.TensorShape([*shapes.as_shape(input_shape).as_list(), self.output_dim])
