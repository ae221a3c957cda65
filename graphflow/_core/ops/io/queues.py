"""Queues: bounded lists of elements that runs of a session put and take, waiting for one another.

The contents are no part of the graph: a queue lives in the session's store, under its shared name or the name of its
op. The op's result is a handle, by which the other ops find it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from graphflow._core.graph import dtypes, random_seed, shapes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims, TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.array.array import gather, stack
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.rules import no_outputs, scalar_of


def _make(kind: str) -> OpDef:
    return op_def(
        f"{kind}V2", (), infer=scalar_of(dtypes.resource), gradient=NOT_DIFFERENTIABLE, stateful=True,
        outputs=("handle",),
    )  # fmt: skip


def _component_shapes(op: Operation) -> list[Dims]:
    """The shapes of an element, as far as the handle tells them."""
    maker = op.inputs[0].op
    count = len(op.attrs["component_types"])
    if maker.op_def not in _QUEUES or not maker.attrs["shapes"]:
        return [None] * count
    found = [shapes.as_dims(s) for s in maker.attrs["shapes"]]
    found = [(), *found] if maker.op_def is PRIORITY_QUEUE else found
    return found if len(found) == count else [None] * count


def _element(op: Operation) -> Signature:
    return list(zip(op.attrs["component_types"], _component_shapes(op), strict=True))


def _batch_of(op: Operation, size: int | None) -> Signature:
    dims = [None if d is None else (size, *d) for d in _component_shapes(op)]
    return list(zip(op.attrs["component_types"], dims, strict=True))


def _known_batch(op: Operation) -> Signature:
    count = constant_value(op.inputs[1])
    if count is not None and int(count) < 0:
        raise ValueError(f"Cannot dequeue {int(count)} elements.")
    return _batch_of(op, None if count is None else int(count))


FIFO_QUEUE = _make("FIFOQueue")
RANDOM_SHUFFLE_QUEUE = _make("RandomShuffleQueue")
PADDING_FIFO_QUEUE = _make("PaddingFIFOQueue")
PRIORITY_QUEUE = _make("PriorityQueue")
_QUEUES = (FIFO_QUEUE, RANDOM_SHUFFLE_QUEUE, PADDING_FIFO_QUEUE, PRIORITY_QUEUE)
ENQUEUE, ENQUEUE_MANY = (
    op_def(
        f"Queue{what}V2", ("handle: resource", "components*: any"), infer=no_outputs, gradient=NOT_DIFFERENTIABLE,
        stateful=True, blocks=True,
    )
    for what in ("Enqueue", "EnqueueMany")
)  # fmt: skip
DEQUEUE = op_def(
    "QueueDequeueV2", ("handle: resource",), infer=_element, gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True, outputs=("components",), blocks=True,
)  # fmt: skip
DEQUEUE_MANY = op_def(
    "QueueDequeueManyV2", ("handle: resource", "n: int32"), infer=_known_batch, gradient=NOT_DIFFERENTIABLE,
    stateful=True, dynamic_shape=True, outputs=("components",), blocks=True,
)  # fmt: skip
DEQUEUE_UP_TO = op_def(
    "QueueDequeueUpToV2", ("handle: resource", "n: int32"), infer=lambda op: _batch_of(op, None),
    gradient=NOT_DIFFERENTIABLE, stateful=True, dynamic_shape=True, outputs=("components",), blocks=True,
)  # fmt: skip
CLOSE = op_def(
    "QueueCloseV2",
    ("handle: resource",),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    blocks=True,
)
IS_CLOSED = op_def(
    "QueueIsClosedV2", ("handle: resource",), infer=scalar_of(dtypes.bool_), gradient=NOT_DIFFERENTIABLE,
    stateful=True, outputs=("is_closed",),
)  # fmt: skip
SIZE = op_def(
    "QueueSizeV2", ("handle: resource",), infer=scalar_of(dtypes.int32), gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("size",),
)  # fmt: skip


class QueueBase:
    """A queue of the graph, whatever its kind (tf.QueueBase).

    An element is a tuple of tensors, one for each of `dtypes`; if the queue has `names`, it is put and taken as a
    dictionary. Enqueues wait while the queue is full and dequeues while it has too few elements, each request in the
    order in which it came. What waits ends with CancelledError when the session is closed, and with
    DeadlineExceededError at the run's deadline.

    Args:
        dtypes: Of the components.
        shapes: Of the components.
        names: Of the components: elements are then dictionaries.
        queue_ref: The tensor that stands for the queue.
    """

    def __init__(
        self,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None,
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        types = _type_list(dtypes)
        for what, items in (("shapes", shapes), ("names", names)):
            if items is not None and len(items) != len(types):
                raise ValueError(
                    f"Queue {what} must have the same length as dtypes: {items!r} for {types!r}."
                )
        self._dtypes = types
        self._shapes = [TensorShape(s) for s in shapes or [None] * len(types)]
        self._names = None if names is None else list(names)
        self._queue_ref = queue_ref

    @staticmethod
    def from_list(index: IntTensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """The queue among `queues`, all of the same dtypes and names, that a scalar integer tensor chooses.

        Args:
            index: Which queue, an int32 scalar.
            queues: Queues of the same components.

        Returns:
            The queue, to take from.
        """
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        common = [
            functools.reduce(_common, (s.raw for s in column))
            for column in zip(*(q.shapes for q in queues), strict=True)
        ]
        chosen = gather(stack([q.queue_ref for q in queues]), index)
        return QueueBase(first.dtypes, common, first.names, chosen)

    @property
    def queue_ref(self) -> Tensor:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the op that makes the handle."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """The dtype of each component."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component, as far as it is known."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components, or None."""
        return self._names

    # ---- putting --------------------------------------------------------------------------------------------------

    def enqueue(self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None) -> Operation:
        """The operation that puts one element, waiting while the queue is full.

        Args:
            vals: A tensor, or a list or dictionary of tensors.
            name: A name for the operation.

        Returns:
            The operation.

        Raises:
            CancelledError: When it runs and the queue is closed, or becomes closed with
                cancel_pending_enqueues while it waits.
        """
        with op_scope(name, f"{self._short_name}_enqueue", [self._queue_ref]) as scope:
            tensors = self._components(vals)
            for position, (tensor, shape) in enumerate(zip(tensors, self._shapes, strict=True)):
                self._check_shape(position, tensor.dims, shape)
            attrs = {"Tcomponents": [t.dtype for t in tensors], "timeout_ms": -1}
            return apply(ENQUEUE, (self._queue_ref, tensors), attrs, scope)

    def enqueue_many(self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None) -> Operation:
        """The operation that puts each row of the tensors as an element; see enqueue.

        Args:
            vals: Tensors whose first axis is that of the elements.
            name: A name for the operation.

        Returns:
            The operation.
        """
        with op_scope(name, f"{self._short_name}_EnqueueMany", [self._queue_ref]) as scope:
            tensors = self._components(vals)
            sizes = set()
            for position, (tensor, shape) in enumerate(zip(tensors, self._shapes, strict=True)):
                if tensor.dims == ():
                    raise ValueError(
                        f"enqueue_many takes rows, but component {position} of the queue {self.name!r} is a scalar."
                    )
                if tensor.dims is not None:
                    self._check_shape(position, tensor.dims[1:], shape)
                    sizes.add(tensor.dims[0])
            if len(sizes - {None}) > 1:
                raise ValueError(
                    "The components have different numbers of rows: "
                    f"{', '.join(shapes.text(t.dims) for t in tensors)}."
                )
            attrs = {"Tcomponents": [t.dtype for t in tensors], "timeout_ms": -1}
            return apply(ENQUEUE_MANY, (self._queue_ref, tensors), attrs, scope)

    @property
    def _short_name(self) -> str:
        return self.name.rsplit("/", 1)[-1]

    def _components(self, vals: Any) -> list[Tensor]:
        names = self._names
        if isinstance(vals, dict):
            if not names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"({sorted(vals)}), Queue: ({sorted(names)})"
                )
            vals = [vals[name] for name in names]
        elif names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(
                f"An element of the queue {self.name!r} has {len(self._dtypes)} components, but {len(vals)} are given. "
                "A list is one of components: a component that is a list goes into one, as in [[1, 2]]."
            )
        return [
            convert_to_tensor(value, dtype, f"component_{position}")
            for position, (value, dtype) in enumerate(zip(vals, self._dtypes, strict=True))
        ]

    def _check_shape(self, position: int, dims: Dims, expected: TensorShape) -> None:
        if not shapes.compatible(dims, expected.raw):
            raise ValueError(
                f"Shapes {shapes.text(dims)} and {shapes.text(expected.raw)} are incompatible: component {position} "
                f"of the queue {self.name!r} has the latter."
            )

    # ---- taking ---------------------------------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """One element: a tensor, a list if it has several components, or a dictionary if it has names.

        It waits while there is none.

        Args:
            name: A name for the operation.

        Raises:
            OutOfRangeError: When the queue is closed and empty.
        """
        op = self._taking(DEQUEUE, (self._queue_ref,), name or f"{self._short_name}_Dequeue")
        return self._taken(op, [s.raw for s in self._shapes])

    def dequeue_many(self, n: IntTensorLike, name: str | None = None) -> Any:
        """`n` elements, stacked along a new first axis; see dequeue.

        The shapes of the queue must be known.

        Args:
            n: How many, an int32 scalar.
            name: A name for the operation.

        Returns:
            The elements along a new first axis.

        Raises:
            OutOfRangeError: When the queue is closed and has fewer.
        """
        op = self._taking(DEQUEUE_MANY, (self._queue_ref, n), name or f"{self._short_name}_DequeueMany")
        count = constant_value(op.inputs[1])
        return self._taken(op, self._batched(None if count is None else int(count)))

    def dequeue_up_to(self, n: IntTensorLike, name: str | None = None) -> Any:
        """As dequeue_many, but when the queue is closed it gives what is left, OutOfRangeError if that is nothing.

        Args:
            n: How many at most, an int32 scalar.
            name: A name for the operation.

        Returns:
            The elements along a new first axis.
        """
        op = self._taking(DEQUEUE_UP_TO, (self._queue_ref, n), name or f"{self._short_name}_DequeueUpTo")
        return self._taken(op, self._batched(None))

    def _taking(self, definition: OpDef, inputs: Sequence[Any], name: str) -> Operation:
        return apply(definition, inputs, {"component_types": list(self._dtypes), "timeout_ms": -1}, name)

    def _batched(self, size: int | None) -> list[Dims]:
        return [None if s.raw is None else (size, *s.raw) for s in self._shapes]

    def _taken(self, op: Operation, known: Sequence[Dims]) -> Any:
        tensors = list(op.outputs)
        for tensor, dims in zip(tensors, known, strict=True):
            tensor.set_shape(dims)
        if self._names:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else tensors

    # ---- the rest -------------------------------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """The operation that closes the queue: no element is put any more, those in it can still be taken.

        It waits for enqueues that wait; with `cancel_pending_enqueues` it ends them with CancelledError.

        Args:
            cancel_pending_enqueues: Whether enqueues that wait end with CancelledError.
            name: A name for the operation.

        Returns:
            The operation.
        """
        attrs = {"cancel_pending_enqueues": bool(cancel_pending_enqueues)}
        return apply(CLOSE, (self._queue_ref,), attrs, name or f"{self._short_name}_Close")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether it is closed, a bool scalar.

        Args:
            name: A name for the operation.
        """
        return apply(IS_CLOSED, (self._queue_ref,), {}, name or f"{self._short_name}_Is_Closed").outputs[0]

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements in it, an int32 scalar.

        Args:
            name: A name for the operation.
        """
        return apply(SIZE, (self._queue_ref,), {}, name or f"{self._short_name}_Size").outputs[0]


class FIFOQueue(QueueBase):
    """A queue that gives its elements in the order in which they came (tf.FIFOQueue).

    Args:
        capacity: The most elements it holds.
        dtypes: Of the components, a dtype or a list.
        shapes: Of the components, all fully known, needed for dequeue_many.
        names: Of the components: elements are then dictionaries.
        shared_name: Queues of one session with the same shared name are one queue.
        name: A name for the operation.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types, listed, names = _type_list(dtypes), _shape_list(shapes), _name_list(names, dtypes)
        ref = _queue_ref(FIFO_QUEUE, types, listed, capacity, shared_name, name)
        super().__init__(types, listed, names, ref)


class RandomShuffleQueue(QueueBase):
    """A queue that gives its elements in random order (tf.RandomShuffleQueue).

    The order follows from `seed` and the graph's seed; it is TensorFlow's. The rest as for FIFOQueue.

    Args:
        capacity: The most elements that it holds.
        min_after_dequeue: So many elements stay in it, as long as it is not closed, so that the order is well
            mixed.
        dtypes: Of the components, a dtype or a list.
        shapes: Of the components, all fully known; needed for dequeue_many.
        names: Of the components: elements are then dictionaries.
        seed: The op's own seed; with the graph's it decides what is drawn.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types, listed, names = _type_list(dtypes), _shape_list(shapes), _name_list(names, dtypes)
        if min_after_dequeue < 0 or 0 <= capacity <= min_after_dequeue:
            raise ValueError(
                f"min_after_dequeue {min_after_dequeue} must be >= 0 and < capacity {capacity}: otherwise a dequeue "
                "waits for ever."
            )
        first, second = random_seed.get_seed(seed)
        if first is not None and seed is None and shared_name is not None:
            digest = hashlib.md5(f"{first}{shared_name}".encode(), usedforsecurity=False).hexdigest()
            second = int(digest[:8], 16) & 0x7FFFFFFF
        more = {"min_after_dequeue": int(min_after_dequeue), "seed": first or 0, "seed2": second or 0}
        ref = _queue_ref(RANDOM_SHUFFLE_QUEUE, types, listed, capacity, shared_name, name, more)
        super().__init__(types, listed, names, ref)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue of elements of different sizes (tf.PaddingFIFOQueue).

    Args:
        capacity: The most elements that it holds.
        dtypes: Of the components, a dtype or a list.
        shapes: Of the components, of known rank, None for a size that varies: dequeue_many fills up with
            zeros, or empty strings, to the largest element of the batch.
        names: Of the components: elements are then dictionaries.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike],
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types, listed, names = _type_list(dtypes), _shape_list(shapes, True), _name_list(names, dtypes)
        if listed is None or len(listed) != len(types):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(types)} dtypes and "
                f"{len(listed or ())} shapes."
            )
        ref = _queue_ref(PADDING_FIFO_QUEUE, types, listed, capacity, shared_name, name)
        super().__init__(types, listed, names, ref)


class PriorityQueue(QueueBase):
    """A queue that gives the element with the smallest priority first (tf.PriorityQueue).

    The priority, an int64 scalar, is an additional first component of every element; `types` and `shapes` are those
    of the others. Among equal priorities the first that came goes first.

    Args:
        capacity: The most elements that it holds.
        types: Of the components behind the priority.
        shapes: Of these components.
        names: Of the components: elements are then dictionaries.
        shared_name: Resources of one shared name are one; by default the operation's name.
        name: A name for the operation.
    """

    def __init__(
        self,
        capacity: int,
        types: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        kinds, listed = _type_list(types), _shape_list(shapes)
        ref = _queue_ref(PRIORITY_QUEUE, kinds, listed, capacity, shared_name, name)
        all_shapes = None if listed is None else [TensorShape(()), *listed]
        super().__init__([dtypes.int64, *kinds], all_shapes, names, ref)


def _queue_ref(
    definition: OpDef,
    types: list[DType],
    listed: list[TensorShape] | None,
    capacity: int,
    shared_name: str | None,
    name: str,
    more: dict[str, Any] | None = None,
) -> Tensor:
    if listed is not None and len(listed) != len(types):
        raise ValueError(f"Queue shapes must have the same length as dtypes: {len(listed)} for {len(types)}.")
    attrs = {
        "component_types": types,
        "shapes": listed or [],
        "capacity": int(capacity),
        "container": "",
        "shared_name": shared_name or "",
    }
    return apply(definition, (), attrs | (more or {}), name).outputs[0]


def _type_list(types: Any) -> list[DType]:
    return [as_dtype(t) for t in types] if isinstance(types, list | tuple) else [as_dtype(types)]


def _shape_list(given: Any, partial: bool = False) -> list[TensorShape] | None:
    if given is None and not partial:
        return None
    single = isinstance(given, TensorShape) or (
        isinstance(given, list | tuple) and all(s is None or isinstance(s, int) for s in given)
    )
    if partial and (single or not isinstance(given, list | tuple)):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if not single and not isinstance(given, list | tuple):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    listed = [TensorShape(s) for s in ([given] if single else given)]
    if not partial and not all(s.is_fully_defined() for s in listed):
        raise ValueError(f"All shapes must be fully defined: {listed}")
    if any(s.ndims is None for s in listed):
        raise ValueError(f"All shapes must have a defined rank: {listed}")
    return listed


def _name_list(names: Any, types: Any) -> list[str] | None:
    if names is None:
        return None
    listed = list(names) if isinstance(names, list | tuple) else [names]
    if len(listed) != len(_type_list(types)):
        raise ValueError("List of names must have the same length as the list of dtypes")
    return listed


def _common(first: Dims, second: Dims) -> Dims:
    """The partial shape that two shapes have in common."""
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(a if a == b else None for a, b in zip(first, second, strict=True))
