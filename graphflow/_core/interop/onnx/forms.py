"""The ONNX forms of ops: how they are registered, and what writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

import graphflow.errors as errors
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor

Form: TypeAlias = Callable[["Writer", Operation], "str | Sequence[str]"]
"""Writes the nodes of an operation; the names of its outputs."""
FORMS: Final[dict[str, Form]] = {}
"""By op type."""
OPSET: Final = 18
_DTYPES: Final = {
    "float16": "FLOAT16", "float32": "FLOAT", "float64": "DOUBLE", "bfloat16": "BFLOAT16", "bool": "BOOL",
    "string": "STRING", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8",
    "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
}  # fmt: skip


def form(*types: str) -> Callable[[Form], Form]:
    """Registers the ONNX form of ops; to be used as a decorator."""

    def register(function: Form) -> Form:
        FORMS.update(dict.fromkeys(types, function))
        return function

    return register


def refuse(op: Operation, why: str) -> errors.UnimplementedError:
    """The error of an operation that has no ONNX form, with the line that built it."""
    file, line = op.line
    return errors.UnimplementedError(
        None,
        op,
        f"{op.type} '{op.name}', built at {file}:{line}, has no ONNX form: {why}. Export a tensor before it, or "
        "replace it in the graph that is exported.",
    )


def onnx_dtype(dtype: Any, op: Operation) -> int:
    """The number that ONNX has for a dtype."""
    from onnx import TensorProto

    name = as_dtype(dtype).base_dtype.name
    if name not in _DTYPES:
        raise refuse(op, f"ONNX has no dtype {name}")
    return int(getattr(TensorProto, _DTYPES[name]))


class Writer:
    """Collects nodes and constants of an ONNX graph.

    Args:
        known: The values of tensors that no input has a part in.
        named: The ONNX names of the tensors that are written already.
    """

    def __init__(self, known: dict[Tensor, Any], named: dict[Tensor, str]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known = known
        self._named = named
        self._taken: set[str] = set()
        self._scope = ""

    def begin(self, op: Operation) -> None:
        """The nodes that follow are named after this operation."""
        self._scope = op.name

    def unique(self, hint: str) -> str:
        """A name that nothing has yet."""
        name, number = hint, 0
        while name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        self._taken.add(name)
        return name

    def __call__(self, tensor: Tensor) -> str:
        """The name of a tensor; a known one becomes a constant."""
        if tensor not in self._named:
            self._named[tensor] = self.constant(self._known[tensor], tensor.op.name)
        return self._named[tensor]

    def inputs(self, op: Operation) -> list[str]:
        """The names of an operation's inputs."""
        return [self(tensor) for tensor in op.inputs]

    def constant(self, value: Any, hint: str = "") -> str:
        """The name of a new constant."""
        from onnx import helper, numpy_helper

        name = self.unique(hint or f"{self._scope}/constant")
        array = np.asarray(value)
        if array.dtype == object:
            texts: Any = [t if isinstance(t, bytes) else str(t).encode() for t in array.reshape(-1)]
            self.constants.append(helper.make_tensor(name, 8, array.shape, texts))
        else:
            self.constants.append(
                numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            )
        return name

    def integers(self, values: Sequence[int] | int) -> str:
        """The name of a new constant of int64, as ONNX has sizes and axes."""
        return self.constant(np.asarray(values, np.int64))

    def known(self, op: Operation, number: int, what: str) -> Any:
        """The value of an input that has to be the same in every run."""
        tensor = op.inputs[number]
        if tensor not in self._known:
            raise refuse(op, f"its {what}, {tensor.name!r}, depends on the inputs")
        return self._known[tensor]

    def value(self, tensor: Tensor) -> Any:
        """The value of a tensor, None if it depends on the inputs."""
        return self._known.get(tensor)

    def node(self, kind: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Adds a node with one output, whose name is returned."""
        return self.nodes_of(kind, inputs, 1, **attributes)[0]

    def nodes_of(self, kind: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """Adds a node with so many outputs."""
        from onnx import helper

        outputs = [self.unique(f"{self._scope}/{kind}") for _ in range(count)]
        self.nodes.append(
            helper.make_node(
                kind, list(inputs), outputs, name=self.unique(f"{self._scope}:{kind}"), **attributes
            )
        )
        return outputs

    def cast(self, name: str, dtype: DType | Any, op: Operation) -> str:
        """The same values in another dtype."""
        return self.node("Cast", [name], to=onnx_dtype(dtype, op))

    def sizes(self, tensor: Tensor) -> str:
        """An input that holds sizes or positions, as int64."""
        value = self.value(tensor)
        if value is not None:
            return self.integers(value)
        return self(tensor) if tensor.dtype.name == "int64" else self.cast(self(tensor), np.int64, tensor.op)

    def scalar(self, value: float, like: Tensor) -> str:
        """A constant of the dtype of a tensor."""
        return self.constant(np.asarray(value, like.dtype.as_numpy_dtype))


def rank(op: Operation, number: int = 0) -> int:
    """The number of axes of an input, which has to be known."""
    found = op.inputs[number].shape.ndims
    if found is None:
        raise refuse(op, f"the rank of its input {op.inputs[number].name!r} is not known")
    return int(found)
