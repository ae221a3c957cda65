"""Weights from safetensors files of other libraries: no step, no checksums, names that are their own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.atomic import os_error
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.types import SessionLike
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_collections import global_variables

if TYPE_CHECKING:
    from os import PathLike

_DTYPES: Final = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<c8",
}  # fmt: skip


def load_safetensors(filename: str | PathLike[str]) -> dict[str, Any]:
    """The arrays of a safetensors file by their names.

    Args:
        filename: The file, as PyTorch's and JAX's programs write it. For graphflow's own there is `load_checkpoint`.

    Returns:
        A dictionary of fresh arrays with the file's shapes and dtypes; bfloat16 is that of the package ml_dtypes.

    Raises:
        NotFoundError: There is no such file.
        DataLossError: It is no whole safetensors file.
        UnimplementedError: It has a dtype that NumPy lacks, such as an 8-bit float.
    """
    from safetensors import SafetensorError, deserialize

    path = user_path(filename)
    try:
        found = deserialize(storage.read(path))  # type: ignore[no-untyped-call]
    except OSError as error:
        raise os_error(error, path, "Cannot read") from error
    except SafetensorError as error:
        raise errors.DataLossError(None, None, f"{path} is no whole safetensors file: {error}.") from None
    return {name: _array(path, name, **described) for name, described in found}


def _array(path: str, name: str, dtype: str, shape: Sequence[int], data: bytearray) -> Any:
    if dtype == "BF16":
        return np.frombuffer(data, dtypes.bfloat16.native).reshape(shape)
    if dtype not in _DTYPES:
        raise errors.UnimplementedError(
            None,
            None,
            f"The tensor {name!r} of {path} is of dtype {dtype}, which NumPy lacks: convert the file first.",
        )
    return np.frombuffer(data, _DTYPES[dtype]).reshape(shape)


def restore_safetensors(
    sess: SessionLike,
    filename: str | PathLike[str],
    var_list: Mapping[str, Variable] | Sequence[Variable] | None = None,
) -> None:
    """Sets variables to the arrays of a safetensors file: all of them, or none if one does not fit.

    Args:
        sess: The session; its variables need not be initialized.
        filename: The file; see `load_safetensors` for what may be wrong with it.
        var_list: The variables by their names in the file, or a sequence of those that have their own names there; by
            default all global variables of the session's graph. What else the file holds is left out.

    Raises:
        NotFoundError: With all names that the file lacks, and what is near them.
        InvalidArgumentError: With all variables whose shape is another one, or to whose dtype the array's cannot be
            brought without loss.
    """
    arrays = load_safetensors(filename)
    if var_list is None:
        with sess.graph.as_default():
            var_list = global_variables()
    named = dict(var_list) if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
    absent = [name for name in named if name not in arrays]
    if absent:
        told = [
            f"{name!r} (near: {', '.join(difflib.get_close_matches(name, arrays, 3)) or 'none'})"
            for name in absent
        ]
        more = f" and {len(told) - 20} more" if len(told) > 20 else ""
        raise errors.NotFoundError(
            None,
            None,
            f"Not in {filename}: {', '.join(told[:20])}{more}. Give var_list, the variables by its names.",
        )
    wrong = [text for name, v in named.items() if (text := _misfit(name, arrays[name], v))]
    if wrong:
        raise errors.InvalidArgumentError(
            None, None, f"{filename} does not fit the graph: {'; '.join(wrong)}."
        )
    for name, variable in named.items():
        variable.load(arrays[name].astype(variable.dtype.as_numpy_dtype), sess)


def _misfit(name: str, array: Any, variable: Any) -> str:
    if not shapes.compatible(variable.dims, array.shape):
        return f"{name!r} has shape {shapes.text(array.shape)} there, {variable.op.name!r} {shapes.text(variable.dims)}"
    if not np.can_cast(array.dtype, variable.dtype.as_numpy_dtype, "safe"):
        return f"{name!r} has dtype {array.dtype} there, {variable.op.name!r} {variable.dtype.name}"
    return ""
