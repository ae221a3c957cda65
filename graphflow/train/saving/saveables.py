"""The things that a Saver saves: variables, parts of them, and objects of the user's that say how they are saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.shaping import reshape
from graphflow._core.ops.state.partitioning import PartitionedVariable
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable import Variable


class SaveSpec:
    """One tensor to save (tf's BaseSaverBuilder.SaveSpec).

    Args:
        tensor: The tensor, or a function that gives it.
        slice_spec: "" for a whole tensor, otherwise its full shape and which part it is, "4 10 0,2:0,10".
        name: The name in checkpoints.
        dtype: By default the tensor's.
    """

    def __init__(self, tensor: Tensor, slice_spec: str, name: str, dtype: DTypeLike | None = None) -> None:
        self.tensor: Tensor | Variable = (
            tensor() if callable(tensor) and not isinstance(tensor, Variable | Tensor) else tensor
        )
        self.slice_spec = slice_spec
        self.name = name
        self.dtype: dtypes.DType = self.tensor.dtype if dtype is None else dtypes.as_dtype(dtype)


class SaveableObject:
    """Something that can be saved and restored (tf's BaseSaverBuilder.SaveableObject); a user's class derives from it.

    Those in the collection GraphKeys.SAVEABLE_OBJECTS are saved by a Saver of everything.

    Args:
        op: What it stands for.
        specs: What to save of it.
        name: Its name in checkpoints.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs: list[SaveSpec] = list(specs)
        self.name = name

    @property
    def expected_shapes(self) -> list[Dims]:
        """The shapes that the tensors of `specs` must have in a checkpoint; None if any will do."""
        return [None] * len(self.specs)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        """An operation that sets it to restored tensors, one for each of `specs`.

        Args:
            restored_tensors: The tensors read.
            restored_shapes: The shapes to bring them to, or None.
        """
        raise ValueError(
            f"{type(self).__name__} does not say how it is restored: give it a method restore()."
        )


class VariableSaveable(SaveableObject):
    """A variable, or a part of a partitioned one."""

    def __init__(self, variable: Any, slice_spec: str, name: str) -> None:
        super().__init__(variable, [SaveSpec(variable, slice_spec, name)], name)

    @property
    def expected_shapes(self) -> list[Dims]:
        """The variable's shape, if it is known."""
        dims = self.op.dims
        return [None if dims is None or None in dims else dims]

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """An operation that assigns the variable."""
        (value,) = restored_tensors
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        known = self.expected_shapes[0] is not None
        return assign(self.op, value, validate_shape=known and restored_shapes is None).op


def saveables_of(var_list: Any) -> list[SaveableObject]:
    """The saveables of a Saver's var_list, sorted by name.

    A list holds variables, their tensors, partitioned variables, parts of these, SaveableObjects and tables. A
    dictionary gives names to such, but for tables, or to lists of parts. TypeError for anything else, ValueError if two
    have a name, or if one has two.
    """
    named = var_list if isinstance(var_list, Mapping) else _named(var_list)
    found: list[SaveableObject] = []
    seen: set[Any] = set()
    for name in sorted(named):
        if not isinstance(name, str):
            raise TypeError(f"The names in var_list must be strings, got {name!r}.")
        for saveable in _saveables(name, named[name]):
            place = getattr(saveable.op, "op", saveable.op)
            if place in seen:
                raise ValueError(f"The same saveable will be restored with two names: {name}")
            seen.add(place)
            found.append(saveable)
    return found


def _named(var_list: Any) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for variable in var_list:
        if isinstance(variable, SaveableObject | PartitionedVariable):
            name = variable.name
        elif isinstance(variable, Variable):
            info = variable.get_save_slice_info()
            if info is not None:
                parts = named.setdefault(info.full_name, [])
                if not isinstance(parts, list):
                    raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
                parts.append(variable)
                continue
            name = variable.op.name
        elif _is_of_variable(variable):
            name = variable.op.name
        elif hasattr(variable, "checkpoint_values"):  # A table, say.
            named |= _named([make(variable.name) for make in variable.checkpoint_values().values()])
            continue
        else:
            raise TypeError(
                f"A Saver saves variables; var_list has {variable!r}. Leave it out, or make it a gf.Variable."
            )
        if name in named:
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = variable
    return named


def _saveables(name: str, value: Any) -> list[SaveableObject]:
    if isinstance(value, SaveableObject):
        return [value]
    if isinstance(value, PartitionedVariable):
        value = list(value)
    if isinstance(value, list | tuple):
        return [_part(name, part, value) for part in value]
    if isinstance(value, Variable):
        info = value.get_save_slice_info()
        return [VariableSaveable(value, "" if info is None else info.spec, name)]
    if _is_of_variable(value):
        return [VariableSaveable(value, "", name)]
    raise TypeError(
        f"var_list must map names to variables, or lists of the parts of one: {name!r} is mapped to {value!r}."
    )


def _is_of_variable(value: Any) -> bool:
    """Whether it is a variable as its graph has it: what get_tensor_by_name gives of one that came from a file."""
    return isinstance(value, Tensor) and value.op.op_def.is_variable


def _part(name: str, part: Any, parts: Sequence[Any]) -> VariableSaveable:
    if not isinstance(part, Variable):
        raise TypeError(f"var_list maps {name!r} to a list that has {part!r}, which is not a variable.")
    info = part.get_save_slice_info()
    if info is None:
        raise ValueError(
            f"Slices must all be Slices: {part.name!r}, listed for {name!r}, is not a part of a larger variable."
        )
    first = parts[0].get_save_slice_info()
    if first is not None and first.full_name != info.full_name:
        raise ValueError(
            f"Slices must all be from the same tensor: {first.full_name} != {info.full_name}, for {name!r}."
        )
    return VariableSaveable(part, info.spec, name)
