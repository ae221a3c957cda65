"""Ops on variables: making, reading, assigning. The value itself lives in the session's store."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.types import IntTensorLike, TensorLike, VariableLike
from graphflow._core.ops.array.creation import range_
from graphflow._core.ops.array.indexing import check_scatter
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import broadcast_to
from graphflow._core.ops.array.shaping import expand_dims, reshape, shape
from graphflow._core.ops.array.slicing import MASKS, STRIDED_SLICE, strided_dims
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope, partial_vector
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.rules import require_rank_at_least
from graphflow._core.ops.variable_reads import is_resource, variable_read_by


def _variable_infer(op: Operation) -> Signature:
    return [(op.attrs["dtype"], shapes.as_dims(op.attrs["shape"]))]


VARIABLE = op_def(
    "VariableV2",
    (),
    infer=_variable_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    is_variable=True,
)


def _assign_infer(op: Operation) -> Signature:
    ref, value = op.inputs
    if not op.attrs.get("validate_shape", True):
        return [(ref.dtype, value.dims)]
    if not shapes.compatible(ref.dims, value.dims):
        raise ValueError(
            f"Dimensions must be equal: a variable of shape {shapes.text(ref.dims)} cannot take a value of shape "
            f"{shapes.text(value.dims)}. Use validate_shape=False to let it change its shape."
        )
    return [(ref.dtype, shapes.merge(ref.dims, value.dims))]


def _update_infer(op: Operation) -> Signature:
    ref, value = op.inputs
    if not shapes.compatible(ref.dims, value.dims):
        raise ValueError(
            f"A variable of shape {shapes.text(ref.dims)} cannot be changed by a value of shape "
            f"{shapes.text(value.dims)}."
        )
    return [(ref.dtype, ref.dims)]


def _writer(name: str, inputs: tuple[str, ...], infer: Any, scalar: str | None = None) -> OpDef:
    return op_def(
        name, inputs, infer=infer, gradient=NOT_DIFFERENTIABLE, scalar=scalar, stateful=True, outputs=("ref",)
    )


ASSIGN = _writer("Assign", ("ref&: T", "value: T"), _assign_infer, "{value}")
ASSIGN_ADD = _writer("AssignAdd", ("ref&: T=number", "value: T"), _update_infer, "{ref} + {value}")
ASSIGN_SUB = _writer("AssignSub", ("ref&: T=number", "value: T"), _update_infer, "{ref} - {value}")
IS_INITIALIZED = op_def(
    "IsVariableInitialized",
    ("ref@: T",),
    infer=lambda op: [(dtypes.bool_, ())],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def _scatter_infer(op: Operation) -> Signature:
    ref, indices, updates = op.inputs
    if ref.dims is not None and indices.dims is not None and updates.dims is not None and updates.dims != ():
        expected = indices.dims + ref.dims[1:]
        if not shapes.compatible(expected, updates.dims):
            raise ValueError(
                f"updates of shape {shapes.text(updates.dims)} do not fit: expected indices.shape + ref.shape[1:] = "
                f"{shapes.text(indices.dims)} + {shapes.text(ref.dims[1:])}, a shape of {shapes.text(expected)}."
            )
    return [(ref.dtype, ref.dims)]


def _scatter(name: str, types: str = "number") -> OpDef:
    return _writer(name, (f"ref&: T={types}", "indices: I=index", "updates: T"), _scatter_infer)


SCATTER = {
    "update": _scatter("ScatterUpdate", "any"),
    "add": _scatter("ScatterAdd"),
    "sub": _scatter("ScatterSub"),
    "mul": _scatter("ScatterMul"),
    "div": _scatter("ScatterDiv"),
    "min": _scatter("ScatterMin", "real"),
    "max": _scatter("ScatterMax", "real"),
}


def _scatter_nd_infer(op: Operation) -> Signature:
    ref, indices, updates = op.inputs
    require_rank_at_least(indices.dims, 1, "indices")
    check_scatter(indices.dims, updates.dims, ref.dims or None, "input")
    return [(op.inputs[0].dtype, op.inputs[0].dims)]


SCATTER_ND = {
    kind: _writer(
        f"ScatterNd{kind.capitalize()}", ("ref&: T", "indices: I=index", "updates: T"), _scatter_nd_infer
    )
    for kind in ("update", "add", "sub")
}


def _slice_infer(op: Operation) -> Signature:
    ref, begin, end, strides, value = op.inputs
    known = partial_vector(strides)
    if ref.dims is not None and known is not None and None not in known:
        part = strided_dims(
            ref.dims, _known(begin), _known(end), [k for k in known if k is not None], op.attrs
        )
        if not shapes.compatible(shapes.broadcast(part, value.dims), part):
            raise ValueError(
                f"A value of shape {shapes.text(value.dims)} cannot be assigned to a part of shape {shapes.text(part)}."
            )
    return [(ref.dtype, ref.dims)]


def _known(vector: Tensor) -> list[int] | None:
    """The numbers of a vector, if all of them are known."""
    known = partial_vector(vector)
    return None if known is None or None in known else [k for k in known if k is not None]


SLICE_ASSIGN = _writer(
    "StridedSliceAssign",
    ("ref&: T", "begin: Index=index", "end: Index", "strides: Index", "value: T"),
    _slice_infer,
)
COUNT_UP_TO = op_def(
    "CountUpTo",
    ("ref&: T=index",),
    infer=lambda op: [(op.inputs[0].dtype, op.inputs[0].dims)],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def _write(
    definition: OpDef, ref: Any, values: tuple[Any, ...], attrs: dict[str, Any], name: str | None
) -> Tensor:
    """Builds a write of a variable; one that has copies, as under a distribution strategy, says to which."""
    write_copies = getattr(ref, "write_copies", None)
    if write_copies is None:
        written = apply(definition, (ref, *values), attrs, name)
        if is_resource(written.inputs[0]):
            written.graph.unmade += 1  # TensorFlow reads it again.
        return written.outputs[0]
    result: Tensor = write_copies(
        lambda copy, *values: apply(definition, (copy, *values), dict(attrs), name).outputs[0], values
    )
    return result


def assign(
    ref: VariableLike | Tensor,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Sets a variable (tf.assign).

    Args:
        ref: The variable, or what another write of it gives: then this one comes after it.
        value: The new value, of its dtype.
        validate_shape: Whether the value must have the variable's shape; True by default.
        use_locking: Changes nothing, as an assignment is always whole.
        name: A name for the operation.

    Returns:
        The new value, which is there when the assignment has run.

    Raises:
        ValueError: The shapes differ, and validate_shape is not False.
        TypeError: `ref` is no variable, but a value.

    Examples:
        >>> v = gf.Variable(1.0)
        >>> gf.Session().run(gf.assign(v, 4.0))
        np.float32(4.0)
    """
    if isinstance(ref, Tensor) and ref.op.op_def is STRIDED_SLICE:
        return assign_slice(ref, value, name)
    attrs = {"validate_shape": validate_shape is not False, "use_locking": use_locking is not False}
    return _write(ASSIGN, ref, (value,), attrs, name)


def assign_slice(part: Tensor, value: TensorLike, name: str | None = None) -> Tensor:
    """Sets a part of a variable, such as v[1:3] or v[..., 0], and gives its new value: what v[1:3].assign does.

    Args:
        part: The part, as indexing the variable gave it.
        value: A tensor of the variable's dtype, whose shape broadcasts to the part's.
        name: A name for the operation.

    Returns:
        The variable's new value, whole.

    Raises:
        ValueError: It is no part of a variable, or the shapes do not fit.
    """
    ref, *places = part.op.inputs
    variable = variable_read_by(ref.op)  # A part of a resource variable is one of what was read of it.
    ref = ref if variable is None else variable
    if not ref.op.op_def.is_variable:
        raise ValueError(f"Sliced assignment is only supported for variables, and {ref.name!r} is a value.")
    attrs = {key: part.op.attrs[key] for key in MASKS}
    return _write(SLICE_ASSIGN, ref, (*places, value), attrs, name)


def assign_add(
    ref: VariableLike | Tensor, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Adds to a variable and gives its new value (tf.assign_add).

    Args:
        ref: A variable.
        value: A tensor of its dtype and shape.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return _write(ASSIGN_ADD, ref, (value,), {"use_locking": bool(use_locking)}, name)


def assign_sub(
    ref: VariableLike | Tensor, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Subtracts from a variable and gives its new value (tf.assign_sub).

    Args:
        ref: A variable.
        value: A tensor of its dtype and shape.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return _write(ASSIGN_SUB, ref, (value,), {"use_locking": bool(use_locking)}, name)


def is_variable_initialized(ref: VariableLike | Tensor, name: str | None = None) -> Tensor:
    """Whether a variable has a value (tf.is_variable_initialized).

    Args:
        ref: A variable.
        name: A name for the operation.

    Returns:
        A scalar of bools.
    """
    return apply(IS_INITIALIZED, (ref,), {}, name).outputs[0]


def scatter(
    kind: str, ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Changes rows of a variable, "update", "add", "sub", "mul", "div", "min" or "max"; duplicate rows in order."""
    return _write(SCATTER[kind], ref, (indices, updates), {"use_locking": use_locking}, name)


def scatter_update(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Replaces rows of a variable (tf.scatter_update); of rows named twice the last one stays.

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return scatter("update", ref, indices, updates, use_locking, name)


def scatter_add(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Adds to rows of a variable (tf.scatter_add).

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return scatter("add", ref, indices, updates, use_locking, name)


def scatter_sub(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Subtracts from rows of a variable (tf.scatter_sub).

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return scatter("sub", ref, indices, updates, use_locking, name)


def scatter_mul(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies rows of a variable (tf.scatter_mul).

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return scatter("mul", ref, indices, updates, use_locking, name)


def scatter_div(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Divides rows of a variable (tf.scatter_div).

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return scatter("div", ref, indices, updates, use_locking, name)


def scatter_min(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """The smaller of rows of a variable and updates (tf.scatter_min).

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return scatter("min", ref, indices, updates, use_locking, name)


def scatter_max(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """The greater of rows of a variable and updates (tf.scatter_max).

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return scatter("max", ref, indices, updates, use_locking, name)


def _scatter_nd(
    kind: str, ref: Any, indices: Any, updates: Any, use_locking: bool, name: str | None
) -> Tensor:
    return _write(SCATTER_ND[kind], ref, (indices, updates), {"use_locking": use_locking}, name)


def scatter_nd_update(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Replaces slices of a variable at n-dimensional indices (tf.scatter_nd_update).

    Args:
        ref: A variable.
        indices: Places, an integer tensor whose last axis holds coordinates.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return _scatter_nd("update", ref, indices, updates, use_locking, name)


def scatter_nd_add(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Adds to slices of a variable at n-dimensional indices (tf.scatter_nd_add).

    Args:
        ref: A variable.
        indices: Places, an integer tensor whose last axis holds coordinates.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return _scatter_nd("add", ref, indices, updates, use_locking, name)


def scatter_nd_sub(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
) -> Tensor:
    """Subtracts from slices of a variable at n-dimensional indices (tf.scatter_nd_sub).

    Args:
        ref: A variable.
        indices: Places, an integer tensor whose last axis holds coordinates.
        updates: The new rows, of shape [*indices.shape, *ref.shape[1:]], or a scalar.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return _scatter_nd("sub", ref, indices, updates, use_locking, name)


def batch_scatter_update(
    ref: VariableLike | Tensor,
    indices: IntTensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Replaces rows in each batch of a variable (tf.batch_scatter_update).

    What is written is ref[b..., indices[b..., i]] = updates[b..., i].

    Args:
        ref: A variable.
        indices: The numbers of rows, an integer tensor whose last axis is over the rows of a batch, and whose other
            axes are the first of the variable.
        updates: The new rows, of shape [*indices.shape, *ref.shape[indices.rank:]].
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Returns:
        The variable's new value.

    Raises:
        ValueError: The rank of the indices is unknown.

    Examples:
        >>> v = gf.Variable([[1, 2], [3, 4]])
        >>> step = gf.batch_scatter_update(v, [[0], [1]], [[5], [6]])
        >>> with gf.Session() as session:
        ...     session.run(v.initializer)
        ...     print(session.run(step))
        [[5 2]
         [3 6]]
    """
    with op_scope(name, "batch_scatter_update", [indices, updates]):
        places = convert_to_tensor(indices, name="indices")
        if places.dims is None:
            raise ValueError("batch_scatter_update needs indices of known rank.")
        extents = shape(places)
        rank = len(places.dims)
        coordinates = []
        for axis in range(rank - 1):
            numbers = cast(range_(extents[axis]), places.dtype)
            along = reshape(numbers, [-1 if k == axis else 1 for k in range(rank)])
            coordinates.append(expand_dims(broadcast_to(along, extents), -1))
        full = concat([*coordinates, expand_dims(places, -1)], -1)
        return scatter_nd_update(ref, full, updates, use_locking)


def count_up_to(ref: VariableLike | Tensor, limit: int, name: str | None = None) -> Tensor:
    """Counts a variable up by one and gives the value before.

    Args:
        ref: A variable of int32 or int64.
        limit: The number at which it stops.
        name: A name for the operation.

    Returns:
        The variable's new value.

    Raises:
        OutOfRangeError: At the limit (tf.count_up_to).
    """
    return _write(COUNT_UP_TO, ref, (), {"limit": int(limit)}, name)
