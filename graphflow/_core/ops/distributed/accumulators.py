"""Accumulators: gradients that many runs add up, and one takes once there are enough (tf.ConditionalAccumulator).

The gradients are no part of the graph: they live in the session's store, or in that of the task where the accumulator
is placed, under its shared name or the name of its op. The op's result is a handle, by which the other ops find it.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims, TensorShape
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.rules import no_outputs, scalar_of


def _dims_of(op: Operation) -> Dims:
    """The shape that an accumulator has, as far as its handle tells it."""
    maker = op.inputs[0].op
    return shapes.as_dims(maker.attrs["shape"]) if "shape" in maker.attrs else None


def _taken(op: Operation) -> Signature:
    return [(op.attrs["dtype"], _dims_of(op))]


def _taken_rows(op: Operation) -> Signature:
    return [(dtypes.int64, (None,)), (op.attrs["dtype"], None), (dtypes.int64, (None,))]


def _define(
    name: str, inputs: tuple[str, ...], infer: Any, outputs: tuple[str, ...] = (), blocks: bool = False
) -> OpDef:
    return op_def(
        name, inputs, infer=infer, gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=outputs, blocks=blocks,
        dynamic_shape=blocks,
    )  # fmt: skip


_HANDLE = scalar_of(dtypes.resource)
_REQUIRED = ("handle: resource", "num_required: int32")
DENSE = _define("ResourceConditionalAccumulator", (), _HANDLE, ("handle",))
SPARSE = _define("SparseConditionalAccumulator", (), _HANDLE, ("handle",))
APPLY = _define(
    "ResourceAccumulatorApplyGradient",
    ("handle: resource", "local_step: int64", "gradient: T=number"),
    no_outputs,
)
APPLY_ROWS = _define(
    "SparseAccumulatorApplyGradient",
    (
        "handle: resource", "local_step: int64", "gradient_indices: int64", "gradient_values: T=number",
        "gradient_shape: int64",
    ),
    no_outputs,
)  # fmt: skip
TAKE = _define("ResourceAccumulatorTakeGradient", _REQUIRED, _taken, ("average",), blocks=True)
TAKE_ROWS = _define(
    "SparseAccumulatorTakeGradient", _REQUIRED, _taken_rows, ("indices", "values", "shape"), blocks=True
)
COUNTS = {
    made: _define(
        f"{prefix}NumAccumulated", ("handle: resource",), scalar_of(dtypes.int32), ("num_accumulated",)
    )
    for made, prefix in ((DENSE, "ResourceAccumulator"), (SPARSE, "Accumulator"))
}
SETS = {
    made: _define(f"{prefix}SetGlobalStep", ("handle: resource", "new_global_step: int64"), no_outputs)
    for made, prefix in ((DENSE, "ResourceAccumulator"), (SPARSE, "Accumulator"))
}


def _step(value: IntTensorLike) -> Tensor:
    return cast(convert_to_tensor(value), dtypes.int64)


class ConditionalAccumulatorBase:
    """What both kinds of accumulators share (tf.ConditionalAccumulatorBase).

    Args:
        dtype: Of the gradients.
        shape: Of the gradients, as far as it is known.
        accumulator_ref: The tensor that stands for the accumulator.
    """

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The last part of the name of the op that makes the handle."""
        return self._accumulator_ref.op.name.rsplit("/", 1)[-1]

    @property
    def dtype(self) -> DType:
        """Of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients it holds, an int32 scalar.

        Args:
            name: A name for the operation.
        """
        definition = COUNTS[self._accumulator_ref.op.op_def]
        return apply(definition, (self._accumulator_ref,), {}, name or f"{self.name}_NumAccumulated").outputs[
            0
        ]

    def set_global_step(self, new_global_step: IntTensorLike, name: str | None = None) -> Operation:
        """The operation that sets the accumulator's step: gradients of earlier steps are dropped from then on.

        Args:
            new_global_step: The step, an integer scalar.
            name: A name for the operation.

        Returns:
            The operation.
        """
        definition = SETS[self._accumulator_ref.op.op_def]
        return apply(definition, (self._accumulator_ref, _step(new_global_step)), {}, name)


def _make(
    definition: OpDef,
    dtype: DTypeLike,
    shape: ShapeLike,
    shared_name: str | None,
    name: str,
    reduction_type: str,
) -> Tensor:
    if reduction_type not in ("MEAN", "SUM"):
        raise ValueError(f'reduction_type must be "MEAN" or "SUM", got {reduction_type!r}.')
    attrs = {
        "dtype": as_dtype(dtype),
        "shape": TensorShape(shape),
        "container": "",
        "shared_name": shared_name or "",
        "reduction_type": reduction_type,
    }
    return apply(definition, (), attrs, name).outputs[0]


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds up gradients, and gives their mean or sum once there are enough (tf.ConditionalAccumulator).

    It has a step of its own, which begins at 0. A gradient of an earlier step is dropped without a word. Each
    `take_grad` takes all gradients and counts the step up. On a parameter server, workers apply their gradients and
    one of them takes the mean.

    Args:
        dtype: Of the gradients.
        shape: Of the gradients, as far as it is known.
        shared_name: Accumulators of one session, or of one task, with the same shared name are one.
        name: A name for the operation.
        reduction_type: What is given, "MEAN" or "SUM".

    Raises:
        ValueError: If `reduction_type` is another.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, _make(DENSE, dtype, shape, shared_name, name, reduction_type))

    def apply_grad(
        self, grad: TensorLike, local_step: IntTensorLike = 0, name: str | None = None
    ) -> Operation:
        """The operation that adds a gradient, unless `local_step` is earlier than the accumulator's step.

        Args:
            grad: The gradient.
            local_step: The step for which it was computed, an integer scalar.
            name: A name for the operation.

        Returns:
            The operation.

        Raises:
            ValueError: If the gradient has another shape.
        """
        tensor = convert_to_tensor(grad, self._dtype)
        if not shapes.compatible(tensor.dims, self._shape.raw):
            raise ValueError(
                f"The accumulator {self.name!r} takes gradients of shape {shapes.text(self._shape.raw)}, got "
                f"{shapes.text(tensor.dims)}."
            )
        return apply(APPLY, (self._accumulator_ref, _step(local_step), tensor), {}, name)

    def take_grad(self, num_required: IntTensorLike, name: str | None = None) -> Tensor:
        """The mean or the sum of all gradients, which are taken; it waits until there are enough.

        Args:
            num_required: How many there must be at least, an int32 scalar.
            name: A name for the operation.

        Returns:
            A tensor of the accumulator's dtype and shape.

        Raises:
            InvalidArgumentError: When it runs and num_required is below 1.
        """
        return apply(TAKE, (self._accumulator_ref, num_required), {"dtype": self._dtype}, name).outputs[0]


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """As ConditionalAccumulator, for gradients that are rows by index (tf.SparseConditionalAccumulator).

    The mean of a row is that of the gradients that have had it. Rows of one gradient with the same index are added.

    Args:
        dtype: Of the gradients.
        shape: Of the gradients as dense tensors, as far as it is known.
        shared_name: Accumulators of one session, or of one task, with the same shared name are one.
        name: A name for the operation.
        reduction_type: What is given, "MEAN" or "SUM".

    Raises:
        ValueError: If `reduction_type` is another.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        super().__init__(dtype, shape, _make(SPARSE, dtype, shape, shared_name, name, reduction_type))

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: IntTensorLike = 0, name: str | None = None
    ) -> Operation:
        """The operation that adds a gradient, unless `local_step` is earlier than the accumulator's step.

        Args:
            grad: The gradient.
            local_step: The step for which it was computed, an integer scalar.
            name: A name for the operation.

        Returns:
            The operation.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: IntTensorLike,
        grad_values: TensorLike,
        grad_shape: IntTensorLike | None = None,
        local_step: IntTensorLike = 0,
        name: str | None = None,
    ) -> Operation:
        """The operation that adds a gradient, unless `local_step` is earlier than the accumulator's step.

        Args:
            grad_indices: Which rows it has, a vector.
            grad_values: The rows, along the first axis.
            grad_shape: Its shape as a dense tensor, if that is known.
            local_step: The step for which it was computed, an integer scalar.
            name: A name for the operation.

        Returns:
            The operation.

        Raises:
            InvalidArgumentError: When it runs and the gradient does not fit the accumulator's shape.
        """
        inputs = (
            self._accumulator_ref,
            _step(local_step),
            cast(grad_indices, dtypes.int64),
            convert_to_tensor(grad_values, self._dtype),
            convert_to_tensor([], dtypes.int64) if grad_shape is None else cast(grad_shape, dtypes.int64),
        )
        return apply(APPLY_ROWS, inputs, {"has_known_shape": grad_shape is not None}, name)

    def take_grad(
        self, num_required: IntTensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The mean or the sum of all gradients, which are taken; it waits until there are enough.

        Args:
            num_required: How many there must be at least, an int32 scalar.
            name: A name for the operation.

        Returns:
            The indices of the rows in order, the rows, and the shape as a dense tensor, -1 for what is not known.

        Raises:
            InvalidArgumentError: When it runs and num_required is below 1.
        """
        attrs = {"dtype": self._dtype}
        indices, values, shape = apply(TAKE_ROWS, (self._accumulator_ref, num_required), attrs, name).outputs
        return indices, values, shape

    def take_indexed_slices_grad(self, num_required: IntTensorLike, name: str | None = None) -> IndexedSlices:
        """What take_grad gives, as IndexedSlices.

        Args:
            num_required: How many gradients there must be at least, an int32 scalar.
            name: A name for the operation.

        Returns:
            The gradient.
        """
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
