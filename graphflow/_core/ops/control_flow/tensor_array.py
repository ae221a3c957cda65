"""TensorArray: a list of tensors that a loop writes and reads one at a time.

The list itself is an object that lives in one run and is named by a handle. What orders its uses is the flow, a float
scalar that every write makes anew and every use takes. Gradients travel along the flow: to what was read belongs a
write into a list of gradients, to what was written a read from it. There is one such list for each call of
gf.gradients, found by the array and the name of that call, so that gradients of several uses of one element add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims, TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.array.array import shape as shape_of
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.rules import no_outputs

_SOURCE: ContextVar[str] = ContextVar("the gradients being built", default="gradients")


@contextmanager
def gradient_source(name: str) -> Iterator[None]:
    """Names the call of gf.gradients that is being built, whose gradients of arrays are summed apart from others'."""
    token = _SOURCE.set(name)
    try:
        yield
    finally:
        _SOURCE.reset(token)


def _created(op: Operation) -> Signature:
    return [(dtypes.resource, ()), (dtypes.float32, ())]


def _flow(op: Operation) -> Signature:
    return [(dtypes.float32, ())]


def _scattered(op: Operation) -> Signature:
    indices, value = op.inputs[1].dims, op.inputs[2].dims
    if indices is not None and value is not None:
        if len(indices) != 1:
            raise ValueError(f"indices must be a vector, got shape {shapes.text(indices)}.")
        if not shapes.compatible(indices, value[:1]):
            raise ValueError(f"{indices[0]} indices for {value[0]} rows: one index is needed for each row.")
    return _flow(op)


def _elements(op: Operation) -> Signature:
    return [(op.attrs["dtype"], None)]


def _gathered(op: Operation) -> Signature:
    element = shapes.as_dims(op.attrs.get("element_shape"))
    return [(op.attrs["dtype"], None if element is None else (None, *element))]


def _concatenated(op: Operation) -> Signature:
    return [(op.attrs["dtype"], None), (dtypes.int64, (None,))]


def _gradient_array(handle: Tensor, flow: Tensor, dtype: dtypes.DType) -> TensorArray:
    return TensorArray(dtype, handle=handle, flow=flow, colocate_with_first_write_call=False).grad(
        _SOURCE.get(), flow
    )


def _read_gradient(op: Operation, g: Tensor) -> list[Any]:
    handle, index, flow = op.inputs
    return [None, None, _gradient_array(handle, flow, g.dtype).write(index, g).flow]


def _write_gradient(op: Operation, flow: Tensor) -> list[Any]:
    handle, index, value, _ = op.inputs
    found = _gradient_array(handle, flow, value.dtype).read(index)
    found.set_shape(value.dims)
    return [None, None, found, flow]


def _gather_gradient(op: Operation, g: Tensor) -> list[Any]:
    handle, indices, flow = op.inputs
    return [None, None, _gradient_array(handle, flow, g.dtype).scatter(indices, g).flow]


def _scatter_gradient(op: Operation, flow: Tensor) -> list[Any]:
    handle, indices, value, _ = op.inputs
    found = _gradient_array(handle, flow, value.dtype).gather(indices)
    found.set_shape(value.dims)
    return [None, None, found, flow]


def _concat_gradient(op: Operation, g: Tensor, _: Any) -> list[Any]:
    handle, flow = op.inputs
    return [None, _gradient_array(handle, flow, g.dtype).split(g, op.outputs[1]).flow]


def _split_gradient(op: Operation, flow: Tensor) -> list[Any]:
    handle, value, _, _ = op.inputs
    found = _gradient_array(handle, flow, value.dtype).concat()
    found.set_shape(value.dims)
    return [None, found, None, flow]


ARRAY = op_def(
    "TensorArrayV3",
    ("size: int32",),
    infer=_created,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    outputs=("handle", "flow"),
)
GRADIENT = op_def(
    "TensorArrayGradV3",
    ("handle: resource", "flow_in: float32"),
    infer=_created,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    outputs=("grad_handle", "flow_out"),
)
WRITE = op_def(
    "TensorArrayWriteV3",
    ("handle: resource", "index: int32", "value: T", "flow_in: float32"),
    infer=_flow,
    gradient=_write_gradient,
    stateful=True,
    outputs=("flow_out",),
)
READ = op_def(
    "TensorArrayReadV3",
    ("handle: resource", "index: int32", "flow_in: float32"),
    infer=_elements,
    gradient=_read_gradient,
    stateful=True,
    dynamic_shape=True,
    outputs=("value",),
)
GATHER = op_def(
    "TensorArrayGatherV3",
    ("handle: resource", "indices: int32", "flow_in: float32"),
    infer=_gathered,
    gradient=_gather_gradient,
    stateful=True,
    dynamic_shape=True,
    outputs=("value",),
)
SCATTER = op_def(
    "TensorArrayScatterV3",
    ("handle: resource", "indices: int32", "value: T", "flow_in: float32"),
    infer=_scattered,
    gradient=_scatter_gradient,
    stateful=True,
    outputs=("flow_out",),
)
CONCAT = op_def(
    "TensorArrayConcatV3",
    ("handle: resource", "flow_in: float32"),
    infer=_concatenated,
    gradient=_concat_gradient,
    stateful=True,
    dynamic_shape=True,
    outputs=("value", "lengths"),
)
SPLIT = op_def(
    "TensorArraySplitV3",
    ("handle: resource", "value: T", "lengths: int64", "flow_in: float32"),
    infer=_flow,
    gradient=_split_gradient,
    stateful=True,
    outputs=("flow_out",),
)
SIZE = op_def(
    "TensorArraySizeV3",
    ("handle: resource", "flow_in: float32"),
    infer=lambda op: [(dtypes.int32, ())],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    outputs=("size",),
)
CLOSE = op_def(
    "TensorArrayCloseV3", ("handle: resource",), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True
)


class _ElementShape:
    """The known shape of the elements, shared by an array and the arrays that its writes return."""

    def __init__(self, dims: Dims) -> None:
        self.dims = dims


class TensorArray:
    """A list of tensors of one dtype, each written once (tf.TensorArray).

    A write returns the array to use from then on.

    ValueError or TypeError if the arguments contradict each other; InvalidArgumentError while running on a
    bad index, a second write and a read of what is not there.

    Args:
        dtype: Of the elements.
        size: How many there are, an int32 scalar.
        dynamic_size: Whether a write past the end makes it longer.
        clear_after_read: Whether an element is forgotten once it was read, so that it can be read only once
            (the default).
        tensor_array_name: A name for the resource.
        handle: With `flow`: an existing array in place of a new one.
        flow: See `handle`.
        infer_shape: Whether all elements have the same shape.
        element_shape: What is known of it; an element that was never written reads as zeros if it is fully
            known.
        colocate_with_first_write_call: Accepted: a list lives where the loop runs.
        name: A name for the operation.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: IntTensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._dtype = dtypes.as_dtype(dtype)
        self._infer_shape = infer_shape
        self._element_shape = _ElementShape(shapes.as_dims(element_shape))
        if handle is None:
            if size is None:
                raise ValueError("A TensorArray needs a size, or the handle of an existing one.")
            self._create(size, bool(dynamic_size), clear_after_read is not False, tensor_array_name, name)
            return
        if not isinstance(handle, Tensor):
            raise TypeError(f"The handle of a TensorArray must be a Tensor, got {handle!r}.")
        given = {
            "tensor_array_name": tensor_array_name or None,
            "size": size,
            "element_shape": element_shape,
            "dynamic_size": dynamic_size,
            "clear_after_read": clear_after_read,
        }
        for argument, value in given.items():
            if value is not None:
                raise ValueError(f"A TensorArray cannot be made from both a handle and {argument}.")
        if flow is None:
            raise ValueError("A TensorArray made from a handle needs its flow.")
        self._handle, self._current_flow = handle, flow

    def _create(
        self, size: Any, dynamic: bool, clear: bool, array_name: str | None, name: str | None
    ) -> None:
        attrs = {
            "dtype": self._dtype,
            "element_shape": TensorShape(self._element_shape.dims),
            "dynamic_size": dynamic,
            "clear_after_read": clear,
            "identical_element_shapes": self._infer_shape,
            "tensor_array_name": array_name or "",
        }
        with op_scope(name, "TensorArray", [size]) as scope:
            self._handle, self._current_flow = apply(ARRAY, (size,), attrs, scope).outputs

    @property
    def flow(self) -> Tensor:
        """The scalar that stands for the state of the array at this point."""
        return self._current_flow

    @property
    def handle(self) -> Tensor:
        """The reference to the list itself."""
        return self._handle

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the elements."""
        return self._dtype

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the elements as far as it is known."""
        return TensorShape(self._element_shape.dims)

    def with_flow(self, flow: Tensor) -> TensorArray:
        """The same array in the state that `flow` stands for.

        Args:
            flow: The flow that stands for the array's state.
        """
        array = TensorArray(self._dtype, handle=self._handle, flow=flow, infer_shape=self._infer_shape)
        array._element_shape = self._element_shape
        return array

    def identity(self) -> TensorArray:
        """The same array with a flow of its own, which waits for the control dependencies around."""
        return self.with_flow(identity(self.flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array of the gradients of the elements, one for each `source`. Writes into it add up.

        Args:
            source: A name that tells gradients apart.
            flow: The flow that stands for the array's state.
            name: A name for the operation.
        """
        before = self.flow if flow is None else flow
        with op_scope(name, "TensorArrayGrad", [self._handle]), self._graph.colocate_with(self._handle.op):
            handle = apply(GRADIENT, (self._handle, before), {"source": source}, name).outputs[0]
            with self._graph.control_dependencies([handle]):
                after = identity(before, name="gradient_flow")
            array = TensorArray(self._dtype, handle=handle, flow=after, infer_shape=self._infer_shape)
        array._element_shape = self._element_shape
        return array

    def read(self, index: IntTensorLike, name: str | None = None) -> Tensor:
        """The element at `index`.

        Args:
            index: Its place, an int32 scalar.
            name: A name for the operation.
        """
        attrs = {"dtype": self._dtype}
        value = apply(READ, (self._handle, index, self.flow), attrs, name).outputs[0]
        value.set_shape(self._element_shape.dims)
        return value

    def write(self, index: IntTensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with `value` written at `index`.

        Args:
            index: Its place, an int32 scalar.
            value: A tensor of the array's dtype.
            name: A name for the operation.

        Raises:
            ValueError: If dtype or shape are not the array's.
        """
        with op_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            tensor = self._converted(value)
            self._agree(tensor.dims)
            return self.with_flow(self._written(WRITE, (self._handle, index, tensor, self.flow), name))

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, which must have the same shape, along a new first axis.

        Args:
            name: A name for the operation.
        """
        with op_scope(name, "TensorArrayStack", [self._handle]), self._graph.colocate_with(self._handle.op):
            return self.gather(range_(0, self.size()), name=name)

    def gather(self, indices: IntTensorLike, name: str | None = None) -> Tensor:
        """The elements at `indices`, a vector, along a new first axis.

        Args:
            indices: Places, a vector of int32.
            name: A name for the operation.
        """
        dims = self._element_shape.dims
        attrs = {"dtype": self._dtype, "element_shape": TensorShape(dims)}
        value = apply(GATHER, (self._handle, indices, self.flow), attrs, name).outputs[0]
        if dims is not None:
            value.set_shape((None, *dims))
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, which may differ in the first axis, one after the other along it.

        Args:
            name: A name for the operation.
        """
        dims = self._element_shape.dims
        rest = None if dims is None else dims[1:]
        attrs = {"dtype": self._dtype, "element_shape_except0": TensorShape(rest)}
        value = apply(CONCAT, (self._handle, self.flow), attrs, name).outputs[0]
        if rest is not None:
            value.set_shape((None, *rest))
        return value

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with row i of `value` written at i.

        Args:
            value: A tensor of the array's dtype.
            name: A name for the operation.
        """
        with op_scope(name, "TensorArrayUnstack", [self._handle, value]):
            tensor = self._converted(value)
            count = shape_of(tensor)[0]
            return self.scatter(range_(0, count), tensor, name=name)

    def scatter(self, indices: IntTensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with row i of `value` written at indices[i].

        Args:
            indices: Places, a vector of int32.
            value: A tensor of the array's dtype.
            name: A name for the operation.

        Raises:
            ValueError: If dtype or shape do not fit.
        """
        with op_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            tensor = self._converted(value)
            if tensor.dims == ():
                raise ValueError(
                    "scatter and unstack take rows: the value must have at least one axis, got a scalar."
                )
            self._agree(None if tensor.dims is None else tensor.dims[1:])
            return self.with_flow(self._written(SCATTER, (self._handle, indices, tensor, self.flow), name))

    def split(self, value: TensorLike, lengths: IntTensorLike, name: str | None = None) -> TensorArray:
        """The array with `value` cut along its first axis into elements of `lengths`. ValueError on another shape.

        Args:
            value: A tensor of the array's dtype.
            lengths: How long each element is, a vector of integers.
            name: A name for the operation.
        """
        with op_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            tensor = convert_to_tensor(value, dtype=self._dtype, name="value")
            counts = cast(lengths, dtypes.int64)
            known = constant_value(counts)
            if tensor.dims and known is not None and known.ndim and known.size and known.max() == known.min():
                self._agree((int(known[0]), *tensor.dims[1:]))
            return self.with_flow(self._written(SPLIT, (self._handle, tensor, counts, self.flow), name))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are, an int32 scalar.

        Args:
            name: A name for the operation.
        """
        return apply(SIZE, (self._handle, self.flow), {}, name).outputs[0]

    def close(self, name: str | None = None) -> Operation:
        """An operation that gives the elements back before the run ends.

        Args:
            name: A name for the operation.
        """
        return apply(CLOSE, (self._handle,), {}, name)

    @property
    def _graph(self) -> Any:
        return self._handle.graph

    def _written(self, definition: Any, values: tuple[Any, ...], name: str | None) -> Tensor:
        with self._graph.colocate_with(self._handle.op):
            flow: Tensor = apply(definition, values, {}, name).outputs[0]
        return flow

    def _converted(self, value: Any) -> Tensor:
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if tensor.dtype is not self._dtype:
            raise ValueError(
                f"A TensorArray of {self._dtype.name} cannot hold {tensor.name!r} of {tensor.dtype.name}. "
                "Convert it with gf.cast."
            )
        return tensor

    def _agree(self, dims: Dims) -> None:
        known = self._element_shape.dims
        if not shapes.compatible(dims, known):
            raise ValueError(
                f"Inconsistent shapes: an element of shape {shapes.text(dims)} for a TensorArray whose elements have "
                f"shape {shapes.text(known)}. Use infer_shape=False if the elements differ in shape."
            )
        if self._infer_shape:
            self._element_shape.dims = shapes.merge(known, dims)
