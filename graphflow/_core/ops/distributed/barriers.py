"""Barriers: elements whose components many runs insert by key, and which are taken when they are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor
from graphflow._core.ops.rules import no_outputs, scalar_of


def _taken(op: Operation) -> Signature:
    maker = op.inputs[0].op
    types = op.attrs["component_types"]
    count = None if op.attrs["allow_small_batch"] else constant_value(op.inputs[1])
    size = None if count is None else int(count)
    listed = [shapes.as_dims(s) for s in maker.attrs["shapes"]] if maker.op_def is BARRIER else []
    known = [None if dims is None else (size, *dims) for dims in listed or [None] * len(types)]
    return [(dtypes.int64, (size,)), (dtypes.string, (size,)), *zip(types, known, strict=True)]


def _rows_of_keys(op: Operation) -> Signature:
    _, keys, values = op.inputs
    if keys.dims is not None and len(keys.dims) > 1:
        raise ValueError(f"keys must be a vector, got shape {shapes.text(keys.dims)}.")
    if values.dims is not None and not shapes.compatible(keys.dims, values.dims[:1]):
        raise ValueError(
            "Dimension 0 in both shapes must be equal: there is a row of values for each key, but keys and values have "
            f"shapes {shapes.text(keys.dims)} and {shapes.text(values.dims)}."
        )
    return []


BARRIER = op_def(
    "Barrier",
    (),
    infer=scalar_of(dtypes.resource),
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    outputs=("handle",),
)
INSERT = op_def(
    "BarrierInsertMany", ("handle: resource", "keys: string", "values: any"), infer=_rows_of_keys,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
TAKE = op_def(
    "BarrierTakeMany", ("handle: resource", "num_elements: int32"), infer=_taken, gradient=NOT_DIFFERENTIABLE,
    stateful=True, dynamic_shape=True, outputs=("indices", "keys", "values"), blocks=True,
)  # fmt: skip
CLOSE = op_def(
    "BarrierClose", ("handle: resource",), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True
)
READY_SIZE, INCOMPLETE_SIZE = (
    op_def(
        f"Barrier{what}Size", ("handle: resource",), infer=scalar_of(dtypes.int32), gradient=NOT_DIFFERENTIABLE,
        stateful=True, outputs=("size",),
    )
    for what in ("Ready", "Incomplete")
)  # fmt: skip


class Barrier:
    """Elements by key whose components come in different runs, and leave when they are complete.

    Elements leave in the order in which their keys came. The barrier lives in the session, and is not in its
    checkpoints.

    Args:
        types: Of the components, a dtype or a tuple of dtypes.
        shapes: Of the components, if they all have one; none is empty.
        shared_name: Barriers of one shared name are one.
        name: A name for the operation.

    Raises:
        ValueError: If a shape has no elements, or there is another number of shapes.
    """

    def __init__(
        self,
        types: DTypeLike | Sequence[DTypeLike],
        shapes: ShapeLike | Sequence[ShapeLike] = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        several = isinstance(types, list | tuple)
        self._types: list[DType] = [as_dtype(t) for t in types] if several else [as_dtype(types)]  # type: ignore
        listed = _shape_list(shapes)
        if listed is not None and len(listed) != len(self._types):
            raise ValueError(f"There are {len(self._types)} types and {len(listed)} shapes.")
        for position, shape in enumerate(listed or ()):
            if shape.num_elements() == 0:
                raise ValueError(
                    f"Empty tensors are not supported, but received shape '{shape}' at index {position}"
                )
        attrs = {
            "component_types": self._types,
            "shapes": listed or [],
            "capacity": -1,
            "container": "",
            "shared_name": shared_name or "",
        }
        self._barrier_ref = apply(BARRIER, (), attrs, name).outputs[0]
        self._short_name = self._barrier_ref.op.name.rsplit("/", 1)[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The handle."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the op that makes the handle."""
        return self._barrier_ref.op.name

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Operation:
        """The operation that gives each key the row of values as one of its components.

        Args:
            component_index: Which component.
            keys: A vector of strings.
            values: A row for each key.
            name: A name for the operation.

        Returns:
            The operation.

        Raises:
            ValueError: If there is no such component.
            CancelledError: When it runs, if the barrier is closed and a key is new.
            InvalidArgumentError: When it runs, if a key has that component already, or a row has another shape.
        """
        if not 0 <= component_index < len(self._types):
            raise ValueError(
                f"component_index = {component_index} is not in [0, {len(self._types)}): the barrier {self.name!r} has "
                "that many components."
            )
        texts = convert_to_tensor(keys, dtypes.string, "keys")
        rows = convert_to_tensor(values, self._types[component_index], "values")
        attrs = {"component_index": component_index, "T": rows.dtype}
        name = name or f"{self._short_name}_BarrierInsertMany"
        return apply(INSERT, (self._barrier_ref, texts, rows), attrs, name)

    def take_many(
        self,
        num_elements: IntTensorLike,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Complete elements, which leave the barrier; it waits until there are as many.

        Args:
            num_elements: How many, an int32 scalar.
            allow_small_batch: Whether a closed barrier gives what it has, if that is less.
            timeout: Has no effect, as in TensorFlow; a run has timeout_in_ms.
            name: A name for the operation.

        Returns:
            (indices, keys, values): the number of the insertion that brought each key, from -2**63 on, the keys, and
            each component along a new first axis.

        Raises:
            OutOfRangeError: When it runs, if the barrier is closed and has too few.
        """
        attrs = {
            "component_types": list(self._types),
            "allow_small_batch": bool(allow_small_batch),
            "wait_for_incomplete": False,
            "timeout_ms": -1 if timeout is None else int(timeout),
        }
        name = name or f"{self._short_name}_BarrierTakeMany"
        indices, keys, *values = apply(TAKE, (self._barrier_ref, num_elements), attrs, name).outputs
        return indices, keys, values

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """The operation that closes the barrier: no new key comes in, but what was begun may be completed.

        Args:
            cancel_pending_enqueues: Whether incomplete elements are dropped, so that nothing comes in any more.
            name: A name for the operation.

        Returns:
            The operation.
        """
        attrs = {"cancel_pending_enqueues": bool(cancel_pending_enqueues)}
        return apply(CLOSE, (self._barrier_ref,), attrs, name or f"{self._short_name}_BarrierClose")

    def ready_size(self, name: str | None = None) -> Tensor:
        """How many complete elements it holds, an int32 scalar.

        Args:
            name: A name for the operation.
        """
        name = name or f"{self._short_name}_BarrierReadySize"
        return apply(READY_SIZE, (self._barrier_ref,), {}, name).outputs[0]

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements lack a component, an int32 scalar.

        Args:
            name: A name for the operation.
        """
        name = name or f"{self._short_name}_BarrierIncompleteSize"
        return apply(INCOMPLETE_SIZE, (self._barrier_ref,), {}, name).outputs[0]


def _shape_list(given: Any) -> list[TensorShape] | None:
    if given is None:
        return None
    single = isinstance(given, TensorShape) or all(s is None or isinstance(s, int) for s in given)
    listed = [TensorShape(s) for s in ([given] if single else given)]
    if not all(shape.is_fully_defined() for shape in listed):
        raise ValueError(f"All shapes must be fully defined: {listed}")
    return listed
