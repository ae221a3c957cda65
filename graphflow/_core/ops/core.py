"""How a value becomes a tensor, and how a call becomes an operation.

Every op function goes through `apply`: it converts the arguments as the op's definition says, so that dtype errors
and default names are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import (
    INDICES,
    NOT_DIFFERENTIABLE,
    InputSpec,
    OpDef,
    Signature,
    op_def,
    variable_for,
)
from graphflow._core.graph.shapes import Dimension, Dims, TensorShape
from graphflow._core.graph.types import DTypeLike, ShapeLike, TensorLike
from graphflow._core.ops.array.values import as_array, holds_numpy, loses_kind
from graphflow._core.ops.known_values import followed
from graphflow._core.ops.rules import ARRAY_GRADIENTS

Converter = Callable[..., Any]
_CONVERTERS: list[tuple[int, Any, Converter]] = []


def _const_infer(op: Operation) -> Signature:
    return [(op.attrs["dtype"], op.attrs["value"].shape)]


def _const_partial(op: Operation) -> int | list[int | None] | None:
    value = op.attrs["value"]
    if value.dtype.kind not in "iub" or value.ndim > 1:
        return None
    return int(value) if value.ndim == 0 else [int(v) for v in value]


CONST = op_def(
    "Const",
    (),
    infer=_const_infer,
    gradient=NOT_DIFFERENTIABLE,
    partial_value=_const_partial,
    is_constant=True,
)


def _pack_infer(op: Operation) -> Signature:
    if not op.inputs:
        raise ValueError("At least one tensor must be given to stack.")
    dims: Dims = None
    for part in op.inputs:
        try:
            dims = shapes.merge(dims, part.dims)
        except ValueError:
            raise ValueError(
                f"Dimensions must be equal to stack tensors, but the shapes are {shapes.text(dims)} and "
                f"{shapes.text(part.dims)}."
            ) from None
    if dims is None:
        return [(op.inputs[0].dtype, None)]
    axis = shapes.normalize_axis(op.attrs["axis"], len(dims) + 1)
    return [(op.inputs[0].dtype, (*dims[:axis], len(op.inputs), *dims[axis:]))]


def _pack_partial(op: Operation) -> list[int | None] | None:
    if all(part.dims is None for part in op.inputs) or any(part.dims not in ((), None) for part in op.inputs):
        return None
    known = [partial_value(part) for part in op.inputs]
    return [v if isinstance(v, int) else None for v in known]


PACK = op_def(
    "Pack", ("values*: T",), infer=_pack_infer, partial_value=_pack_partial,
    gradient=ARRAY_GRADIENTS,
)  # fmt: skip


def graph_of(values: Sequence[Any]) -> Graph:
    """The graph of the first tensor among the values, or else the default graph; inside a function the function's."""
    default = get_default_graph()
    if default.outer is not None:
        return default
    for value in values:
        if isinstance(value, Tensor | Operation):
            return value.graph
        if isinstance(value, list | tuple):
            for item in value:
                if isinstance(item, Tensor):
                    return item.graph
        elif hasattr(value, "_as_graph_element"):
            graph: Graph = value.graph
            return graph
    return default


@contextmanager
def op_scope(name: str | None, default: str, values: Sequence[Any]) -> Iterator[str]:
    """The name scope of a function made of several ops, in the graph of its arguments.

    Args:
        name: The name that the user gave, or None.
        default: The name otherwise.
        values: The arguments, whose graph it is.

    Yields:
        The scope's name.
    """
    graph = graph_of(values)
    with graph.as_default(), graph.name_scope(name or default) as scope:
        yield scope


def apply(
    definition: OpDef,
    values: Sequence[Any],
    attrs: dict[str, Any] | None = None,
    name: str | None = None,
) -> Operation:
    """Adds an operation to the graph of its inputs, converting the inputs as the definition says.

    `values` has one item per declared input, a list if the input is variadic. Inputs that share a type variable
    share a dtype, decided by the first tensor among them. TypeError or ValueError if a value does not fit.
    """
    attrs = {} if attrs is None else attrs
    graph = graph_of(values)
    if graph is not get_default_graph():
        with graph.as_default():
            return apply(definition, values, attrs, name)
    specs = definition.inputs
    flat: list[Tensor] = []
    for spec, value in zip(specs, values, strict=True):
        if type(value) is not Tensor or spec.variadic:
            break
        flat.append(value)
    if len(flat) == len(specs):
        _check_types(definition, flat, attrs)
        return graph.add(definition, flat, attrs, name)
    with graph.name_scope(name or definition.name) as scope:
        flat = _converted(definition, specs, values, attrs)
        return graph.add(definition, flat, attrs, scope)


def _check_types(definition: OpDef, tensors: list[Tensor], attrs: dict[str, Any]) -> None:
    chosen: dict[str, tuple[DType, str]] = {}
    for spec, tensor in zip(definition.inputs, tensors, strict=True):
        accept(definition, spec, spec.name, tensor, attrs, chosen)


def accept(
    definition: OpDef,
    spec: InputSpec,
    label: str,
    tensor: Tensor,
    attrs: dict[str, Any],
    chosen: dict[str, tuple[DType, str]],
) -> None:
    """Notes the dtype of an input as that of its type variable.

    TypeError if it does not fit, or if it is a value and the op needs a variable.
    """
    if spec.ref and not tensor.op.op_def.is_variable:
        variable_for(definition, spec, tensor)
    if spec.variable is not None and spec.variable in chosen:
        dtype, first = chosen[spec.variable]
        if tensor.dtype is not dtype:
            raise TypeError(
                f"Input '{label}' of '{definition.name}' Op has type {tensor.dtype.name} that does not match type "
                f"{dtype.name} of argument '{first}'. Cast one of them with gf.cast."
            )
        return
    if tensor.dtype not in spec.allowed:
        allowed = ", ".join(d.name for d in spec.allowed)
        raise TypeError(
            f"Value passed to parameter '{label}' of '{definition.name}' has DataType {tensor.dtype.name} "
            f"not in list of allowed values: {allowed}"
        )
    if spec.variable is not None:
        chosen[spec.variable] = (tensor.dtype, label)
        attrs.setdefault(spec.variable, tensor.dtype)


def _converted(
    definition: OpDef, specs: Sequence[InputSpec], values: Sequence[Any], attrs: dict[str, Any]
) -> list[Tensor]:
    wanted: dict[str, DType] = {}
    for spec, value in zip(specs, values, strict=True):
        if spec.variable is not None and spec.variable not in wanted:
            dtype = next(
                (d for d in map(dtype_of_tensors, value if spec.variadic else [value]) if d is not None), None
            )
            if dtype is not None:
                wanted[spec.variable] = dtype
            elif isinstance(attrs.get(spec.variable), DType):
                wanted[spec.variable] = attrs[spec.variable]
    chosen: dict[str, tuple[DType, str]] = {}
    flat: list[Tensor] = []
    # Whose dtype was said before an array of another kind comes: TensorFlow casts that to it, fractions lost or not.
    said = {name for name in wanted if name in attrs}
    for spec, value in zip(specs, values, strict=True):
        if spec.variadic and not isinstance(value, list | tuple):
            raise TypeError(f"Input '{spec.name}' of '{definition.name}' takes a list, got {value!r}.")
        items = value if spec.variadic else [value]
        for position, item in enumerate(items):
            label = f"{spec.name}_{position}" if spec.variadic else spec.name
            _check_kind(definition, spec, label, item, wanted, said)
            tensor = _convert_input(definition, spec, label, item, wanted)
            accept(definition, spec, label, tensor, attrs, chosen)
            if spec.variable is not None:
                wanted.setdefault(spec.variable, tensor.dtype)
                if definition.name not in _ONE_BY_ONE and (
                    dtype_of_tensors(item) is not None or (not spec.variadic and _keeps_its_dtype(spec, item))
                ):
                    said.add(spec.variable)
            flat.append(tensor)
    if sum(spec.variadic for spec in specs) > 1:  # Which list ends where is not seen from the inputs.
        attrs["_input_lengths"] = [
            len(value) if spec.variadic else 1 for spec, value in zip(specs, values, strict=True)
        ]
    return flat


_ONE_BY_ONE: Final = frozenset(
    {"ApproximateEqual", "MatMul", "BatchMatMul", "BatchMatMulV2", "SparseMatMul", "SparseTensorDenseMatMul"}
)
"""Ops whose inputs TensorFlow's functions convert each by itself, so that none is cast to the dtype of another."""


def _keeps_its_dtype(spec: InputSpec, item: Any) -> bool:
    """Whether an op takes a value with the dtype that it has by itself, and not with one that suits the op."""
    if isinstance(item, np.ndarray | np.generic):
        return spec.preferred is None
    return dtypes.int32 in spec.allowed or holds_numpy(item) or isinstance(item, float)


def _check_kind(
    definition: OpDef, spec: InputSpec, label: str, item: Any, wanted: dict[str, DType], said: set[str]
) -> None:
    """TypeError for an array of another kind than a dtype that is wanted, where TensorFlow does not cast it."""
    dtype = wanted.get(spec.variable) if spec.variable else None
    if dtype is None or spec.variable in said:
        return
    if loses_kind(item, dtype):
        raise TypeError(
            f"Input '{label}' of '{definition.name}' Op has type {as_dtype(item.dtype).name} that does not match the "
            f"expected type {dtype.name}: values would be lost. Convert it with .astype first."
        )


def _convert_input(
    definition: OpDef, spec: InputSpec, label: str, item: Any, wanted: dict[str, DType]
) -> Tensor:
    if isinstance(item, Tensor):
        return item
    if spec.ref:
        reference = getattr(item, "_ref", None)
        if reference is None:
            raise TypeError(f"Input '{label}' of '{definition.name}' must be a gf.Variable, got {item!r}.")
        tensor: Tensor = reference()
        return tensor
    dtype = wanted.get(spec.variable) if spec.variable else None
    preferred = None
    if dtype is None:
        if len(spec.allowed) == 1:
            dtype = spec.allowed[0]
        elif isinstance(item, np.ndarray | np.generic):
            if spec.preferred is not None and loses_kind(item, spec.preferred):
                dtype = spec.preferred  # As in TensorFlow: what an op prefers is what its arrays are cast to.
            else:
                preferred = _preferred_of_array(spec, item)
        elif dtypes.int32 not in spec.allowed and not isinstance(item, bool) and not holds_numpy(item):
            preferred = dtypes.float32
        elif dtypes.float32 not in spec.allowed and isinstance(item, list | tuple) and not item:
            preferred = dtypes.int32
    try:
        return convert_to_tensor(item, dtype=dtype, name=label, preferred_dtype=preferred)
    except TypeError as error:
        if dtype is None or not hasattr(item, "dtype"):
            raise
        raise TypeError(
            f"Input '{label}' of '{definition.name}' Op has type {as_dtype(item.dtype).name} that does not "
            "match the expected "
            f"type {dtype.name}. {error}"
        ) from None


def _preferred_of_array(spec: InputSpec, array: Any) -> DType | None:
    """The dtype for an array if none is given: mostly its own, as only Python's numbers take what suits the op."""
    if spec.preferred is not None:
        return spec.preferred
    narrow = array.dtype.kind in "iu" and spec.allowed == INDICES and as_dtype(array.dtype) not in INDICES
    return (dtypes.int64 if array.dtype.itemsize > 2 else dtypes.int32) if narrow else None


def dtype_of_tensors(value: Any) -> DType | None:
    if isinstance(value, Tensor):
        return value.dtype
    if hasattr(value, "_as_graph_element") or hasattr(value, "as_graph_tensor"):
        return as_dtype(value.dtype)
    if isinstance(value, list | tuple):
        return next((d for d in map(dtype_of_tensors, value) if d is not None), None)
    return None


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
) -> Tensor:
    """A tensor of a tensor, variable, array, number, string or nested list of these.

    Args:
        value: A tensor, variable, array, number, string or nested list.
        dtype: The dtype wanted; None for the value's own.
        name: A name for the operation.
        preferred_dtype: The dtype to take if the value can have it.
        dtype_hint: Another name of `preferred_dtype`.

    Returns:
        A tensor, or `value` itself if it is one.

    Raises:
        ValueError: If a tensor has another dtype than asked for.
        TypeError: If the value cannot be of that dtype.

    Examples:
        >>> gf.convert_to_tensor([[1, 2], [3, 4]]).dtype
        gf.int32
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype is not wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.name}: {value}. "
                "Convert it with gf.cast."
            )
        return value
    convert = getattr(value, "as_graph_tensor", None)
    if convert is not None:
        tensor: Tensor = convert(dtype=wanted, name=name)
        return tensor
    for _, base, function in _CONVERTERS:
        if isinstance(value, base):
            result = function(value, dtype=wanted, name=name, as_ref=False)
            if result is not NotImplemented:
                return convert_to_tensor(result)
    if isinstance(value, TensorShape):
        return _shape_constant(value, wanted, name)
    if isinstance(value, Dimension):
        value = int(value)
    elif isinstance(value, list | tuple) and _holds_tensor(value):
        return _pack(value, wanted, name)
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    if wanted is None and hint is not None and not loses_kind(value, as_dtype(hint)):
        try:
            return constant(value, dtype=hint, name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, dtype=wanted, name=name or "Const")


def pack(values: Any, axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape joined along a new axis, always as an operation of its own."""
    values = list(values)
    return apply(PACK, (values,), {"axis": int(axis), "N": len(values)}, name).outputs[0]


def convert_n_to_tensor(
    values: Iterable[TensorLike], dtype: DTypeLike | None = None, name: str | None = None
) -> list[Tensor]:
    """A tensor of each of a list of values, named name_0, name_1, ...

    Args:
        values: The values.
        dtype: The dtype wanted, or None.
        name: A name for the operation.

    Returns:
        A list of tensors.
    """
    return [
        convert_to_tensor(v, dtype=dtype, name=None if name is None else f"{name}_{i}")
        for i, v in enumerate(values)
    ]


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Converter, priority: int = 100
) -> None:
    """Teaches convert_to_tensor a type: conversion_func(value, dtype, name, as_ref) -> Tensor or NotImplemented.

    Args:
        base_type: A class, or a tuple of them.
        conversion_func: From a value, a dtype, a name and as_ref to a tensor.
        priority: Lower ones are asked first.
    """
    _CONVERTERS.append((priority, base_type, conversion_func))
    _CONVERTERS.sort(key=lambda entry: entry[0])


def _holds_tensor(value: Any) -> bool:
    return any(
        isinstance(v, Tensor)
        or hasattr(v, "as_graph_tensor")
        or (isinstance(v, list | tuple) and _holds_tensor(v))
        for v in value
    )


def _pack(value: Any, dtype: DType | None, name: str | None) -> Tensor:
    dtype = dtype or dtype_of_tensors(value)
    graph = get_default_graph()
    with graph.name_scope(name or "packed") as scope:
        parts = [convert_to_tensor(v, dtype=dtype, name=str(i)) for i, v in enumerate(value)]
        return pack(parts, name=scope)


def _shape_constant(shape: TensorShape, dtype: DType | None, name: str | None) -> Tensor:
    if not shape.is_fully_defined():
        raise ValueError(
            f"Cannot convert a partially known TensorShape to a Tensor: {shape}. Use gf.shape of the tensor."
        )
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    sizes = shape.as_list()
    largest = max((abs(size) for size in sizes), default=0)
    if largest > dtypes.int32.max:
        if dtype is dtypes.int32:
            raise ValueError(
                f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({largest})"
            )
        dtype = dtypes.int64
    return constant(np.array(sizes, np.int64), dtype=dtype or dtypes.int32, name=name or "shape_as_tensor")


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike = None,
    name: str | None = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A constant tensor (tf.constant).

    Args:
        value: A number, text, truth value, NumPy array, or nested lists of these.
        dtype: The type of its elements. By default Python's floats are float32, its ints int32 (int64 if they do
            not fit), and an array keeps its own.
        shape: Its shape; the last value fills what is missing. By default that of the value.
        name: A name for the operation.
        verify_shape: Whether the value must have `shape` already.

    Returns:
        A tensor.

    Raises:
        ValueError: There are more values than the shape has room for, or nested lists are uneven.
        TypeError: A value is not of the dtype; with verify_shape, the shapes differ.

    Examples:
        >>> gf.Session().run(gf.constant([1, 2, 3]))
        array([1, 2, 3], dtype=int32)
        >>> gf.constant(0.5, shape=[2, 2]).shape
        TensorShape([2, 2])
    """
    array = constant_array(value, dtype, shape, verify_shape)
    element_type = dtypes.string if array.dtype == object else as_dtype(array.dtype)
    array.flags.writeable = False
    attrs = {"value": array, "dtype": element_type}
    return get_default_graph().add(CONST, (), attrs, name or "Const").outputs[0]


def constant_array(value: TensorLike, dtype: DTypeLike | None, shape: ShapeLike, verify_shape: bool) -> Any:
    """The array that a constant of these arguments holds; errors as `constant` has them."""
    array = as_array(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        wanted = tuple(int(d) for d in shapes.as_dims(shape) or ())  # type: ignore[arg-type]
        if 0 in wanted and not verify_shape and not isinstance(value, np.ndarray | np.generic):
            array = np.empty(wanted, np.float32 if dtype is None else array.dtype)
        array = _fill_shape(array, wanted, verify_shape)
    return array


def _fill_shape(array: Any, shape: tuple[int, ...], verify: bool) -> Any:
    if verify and array.shape != shape:
        raise TypeError(f"Expected Tensor's shape: {shape}, got {array.shape}.")
    if array.shape == shape:
        return array
    size = int(np.prod(shape, dtype=np.int64))
    if array.size > size:
        raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")
    if array.size == 0:
        if size:
            raise ValueError(f"A constant of shape {shape} cannot be filled from an empty value.")
        return array.reshape(shape)
    flat = np.full(size, array.reshape(-1)[-1], array.dtype)
    flat[: array.size] = array.reshape(-1)
    return flat.reshape(shape)


_LONGEST_KNOWN: Final = 1 << 20
"""Elements of a vector whose value is looked for while the graph is built."""


def constant_value(tensor: object, partial: bool = False) -> Any:
    """The value of a tensor as a NumPy array, or None if it is not known while the graph is built.

    With `partial`, a vector of which only some elements are known is an array of objects, None for the others
    (tf.contrib.util.constant_value).

    Args:
        tensor: A tensor; what is none is given back as it is.
        partial: Whether a vector known in parts is given.

    Returns:
        An array, or None.
    """
    if not isinstance(tensor, Tensor):
        return None if hasattr(tensor, "_as_graph_element") else tensor
    if tensor.op.op_def.is_constant:
        return tensor.op.attrs["value"]
    known = partial_value(tensor)
    if isinstance(known, list) and None in known:
        return np.array(known, object) if partial and set(known) != {None} else None
    if known is None:
        return followed(tensor, constant_value, partial)
    return np.array(known, tensor.dtype.as_numpy_dtype)


def partial_value(tensor: Tensor) -> int | list[int | None] | None:
    """The value of a scalar or vector, as far as it is known while the graph is built: integers, or truth values as 0
    and 1.

    None if nothing is, and for a vector that no shape could be: gf.fill([1000000000], 1) is not to be made here.
    """
    if tensor.dims is not None and len(tensor.dims) == 1 and (tensor.dims[0] or 0) > _LONGEST_KNOWN:
        return None
    rule = tensor.op.op_def.partial_value
    known = None if rule is None else rule(tensor.op)
    if isinstance(known, tuple):
        known = known[tensor.value_index]
    if known is None and tensor.dtype in (dtypes.int32, dtypes.int64) and tensor.dims is not None:
        length = tensor.dims[0] if len(tensor.dims) == 1 else None
        return None if length is None else [None] * length
    return known


def partial_vector(tensor: Tensor) -> list[int | None] | None:
    """The value of an integer vector as far as it is known; None if not even its length is."""
    known = partial_value(tensor)
    return known if isinstance(known, list) else None


def partial_shape(tensor: Tensor) -> Dims:
    """The shape that a shape vector describes, -1 standing for unknown."""
    return shapes.from_values(partial_vector(tensor))
