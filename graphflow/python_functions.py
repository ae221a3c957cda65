"""py_function: a Python function that computes with tensors which have values, and that can be differentiated.

Nothing else is executed eagerly. A call of the function has a graph of its own, whose tensors are computed when the
function asks for their values, and when it returns. The graph is kept until the next call, so that gradients
differentiate what was computed; a gradient for other values, as of an iteration of a loop before the last, calls the
function once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import RegisterGradient
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike
from graphflow._core.kernels.table import evaluate_plan
from graphflow._core.ops.array.creation import zeros_like
from graphflow._core.ops.control_flow.checking import py_func
from graphflow._core.ops.core import constant
from graphflow._core.plan.lower import lower
from graphflow._core.session import Session
from graphflow.config import ConfigProto

_GRADIENT: Final = "EagerPyFunc"
_OPERATORS: Final = {
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__",
    np.floor_divide: "__rfloordiv__",
    np.remainder: "__rmod__",
    np.power: "__rpow__",
    np.matmul: "__rmatmul__",
}
"""What an array asks for when a tensor stands to the right of an operator: that has to stay a tensor."""


class ValueTensor(Tensor):
    """A tensor that has a value while a function of py_function runs, as those of TensorFlow's eager execution have."""

    def numpy(self) -> Any:
        """Its value: an array, or of a scalar the number or the bytes."""
        graph = self.graph
        if isinstance(graph, ValueGraph):
            return np.array(graph.values_of([self])[0])[()]
        raise TypeError(f"{self.name!r} is built in a branch, loop or function, where it has no value yet.")

    @property
    def shape(self) -> TensorShape:
        """The shape of its value."""
        return TensorShape(
            self._dims if self._dims is not None and None not in self._dims else self._array().shape
        )

    def get_shape(self) -> TensorShape:
        """The shape of its value."""
        return self.shape

    def _array(self) -> np.ndarray[Any, Any]:
        return np.asarray(self.numpy())

    def __array_ufunc__(  # type: ignore[override]  # Tensors without values have none.
        self, function: np.ufunc, method: str, *inputs: Any, **kwargs: Any
    ) -> Any:
        first, *rest = inputs
        operator = _OPERATORS.get(function)
        if (
            operator is not None
            and method == "__call__"
            and rest
            and isinstance(first, np.ndarray)
            and not kwargs
        ):
            return getattr(rest[0], operator)(first)
        arrays = [value.numpy() if isinstance(value, ValueTensor) else value for value in inputs]
        return getattr(function, method)(*arrays, **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), *args, **kwargs)

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __index__(self) -> int:
        return self._array().__index__()

    def __float__(self) -> float:
        return float(self.numpy())

    def __len__(self) -> int:
        return len(self._array())

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    def __format__(self, specification: str) -> str:
        return format(self.numpy(), specification)

    def __repr__(self) -> str:
        return f"<gf.Tensor shape={self.shape} dtype={self.dtype.name} numpy={self.numpy()!r}>"

    def __str__(self) -> str:
        return f"gf.Tensor({self.numpy()}, shape={self.shape}, dtype={self.dtype.name})"


class ValueGraph(Graph):
    """The graph of one call of a function, with the values that were computed: none is computed twice."""

    _tensor = ValueTensor

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[Tensor, Any] = {}
        self._session: Session | None = None

    def tensor_of(self, value: Any) -> Tensor:
        """A tensor that has a value, whatever gradients go through it.

        Args:
            value: The array, number or string.
        """
        with self.as_default():
            tensor = constant(value)
        self._values[tensor] = value
        return tensor

    def values_of(self, tensors: Sequence[Tensor]) -> list[Any]:
        """The values of tensors of this graph.

        Args:
            tensors: The tensors.
        """
        absent = [tensor for tensor in dict.fromkeys(tensors) if tensor not in self._values]
        if absent:
            known = {tensor: value for tensor, value in self._values.items() if self.is_feedable(tensor)}
            found = evaluate_plan(lower(absent, (), list(known)), list(known.values()))
            if found is None:
                if self._session is None:
                    self._session = Session(graph=self, config=ConfigProto(compiled="never"))
                found = self._session.run(absent, known)
            self._values.update(zip(absent, found, strict=True))
        return [self._values[tensor] for tensor in tensors]


class Call(NamedTuple):
    """One call of a function: what it was given, what it made of it, and the graph of both."""

    graph: ValueGraph
    arrays: tuple[Any, ...]
    inputs: list[Tensor]
    results: list[Any]


class PythonFunction:
    """What a py_function calls at each run.

    Args:
        function: The function, of tensors that have values.
        types: The dtypes of what it returns.
    """

    def __init__(self, function: Callable[..., Any], types: Sequence[dtypes.DType]) -> None:
        self._function = function
        self._types = types
        self._last: Call | None = None

    def __call__(self, *arrays: Any) -> list[Any]:
        """What a run computes.

        Args:
            arrays: The values of the arguments.
        """
        call = self._called(arrays)
        self._last = call if any(isinstance(result, Tensor) for result in call.results) else None
        # As in TensorFlow, what is more than was said is left out.
        wanted = list(zip(call.results, self._types, strict=False))
        tensors = [
            _of_dtype(result, dtype, call.graph) for result, dtype in wanted if isinstance(result, Tensor)
        ]
        values = iter(call.graph.values_of(tensors))
        return [
            next(values) if isinstance(result, Tensor) else _converted(result, dtype)
            for result, dtype in wanted
        ]

    def call_of(self, arrays: tuple[Any, ...]) -> Call:
        """The last call, if it was of these values, or one more.

        Args:
            arrays: The values of the arguments.
        """
        last = self._last
        if last is not None and all(_same(a, b) for a, b in zip(last.arrays, arrays, strict=True)):
            return last
        return self._called(arrays)

    def gradients_of(self, op: Operation, *gradients_of_results: Tensor | None) -> list[Tensor | None]:
        """The rule for the gradients of the operation that calls it.

        Args:
            op: The operation.
            gradients_of_results: The gradient of each of its results.
        """
        inputs = list(op.inputs)
        wanted = [
            position
            for position, tensor in enumerate(inputs)
            if tensor.dtype.is_floating or tensor.dtype.is_complex
        ]
        given = [g for g in gradients_of_results if g is not None]
        if not wanted or not given:
            return [None] * len(inputs)
        known = [position for position, g in enumerate(gradients_of_results) if g is not None]
        backward = GradientFunction(self, [inputs[i].dtype for i in wanted], wanted, known)
        found = backward.operation([*inputs, *given], None)
        for position, gradient in zip(wanted, found, strict=True):
            gradient.set_shape(inputs[position].dims)
        by_position = dict(zip(wanted, found, strict=True))
        return [by_position.get(position) for position in range(len(inputs))]

    def operation(self, inputs: Sequence[Any], name: str | None) -> list[Tensor] | Any:
        """Adds the operation that calls it.

        Args:
            inputs: The tensors that it is given.
            name: A name for the operation.
        """
        with get_default_graph().gradient_override_map({"PyFunc": _GRADIENT}):
            return py_func(self, inputs, list(self._types), True, name or "EagerPyFunc")

    def _called(self, arrays: tuple[Any, ...]) -> Call:
        graph = ValueGraph()
        inputs = [graph.tensor_of(array) for array in arrays]
        with graph.as_default():
            found = self._function(*inputs)
        results = [] if found is None else list(found) if isinstance(found, list | tuple) else [found]
        return Call(graph, arrays, inputs, results)


class GradientFunction(PythonFunction):
    """What a gradient of a py_function calls: it differentiates what the function computed.

    Args:
        forward: The function.
        types: The dtypes of the arguments by which it is derived.
        wanted: The positions of these among the arguments.
        known: The positions of the results whose gradients are given, after the arguments.
    """

    def __init__(
        self,
        forward: PythonFunction,
        types: Sequence[dtypes.DType],
        wanted: Sequence[int],
        known: Sequence[int],
    ) -> None:
        super().__init__(self._no_function, types)
        self._forward = forward
        self._wanted = wanted
        self._known = known

    @staticmethod
    def _no_function(*_: Any) -> None:
        raise AssertionError("gradients are built from the call of the function itself")

    def _called(self, arrays: tuple[Any, ...]) -> Call:
        count = len(arrays) - len(self._known)
        call = self._forward.call_of(arrays[:count])
        given = [call.graph.tensor_of(array) for array in arrays[count:]]
        by = [call.inputs[position] for position in self._wanted]
        # A result that is no tensor, such as an array, depends on nothing.
        pairs = [
            (call.results[position], gradient)
            for position, gradient in zip(self._known, given, strict=True)
            if isinstance(call.results[position], Tensor)
        ]
        with call.graph.as_default():
            found = gradients([y for y, _ in pairs], by, [g for _, g in pairs]) if pairs else [None] * len(by)
            results = [zeros_like(x) if g is None else _dense(g) for x, g in zip(by, found, strict=True)]
        return Call(call.graph, arrays, [*call.inputs, *given], results)


@RegisterGradient(_GRADIENT)
def _gradients(op: Operation, *gradients_of_results: Tensor | None) -> list[Tensor | None]:
    function: PythonFunction = op.attrs["function"]
    return function.gradients_of(op, *gradients_of_results)


def _dense(gradient: Any) -> Tensor:
    """A gradient as a tensor, also where rows of it were gathered."""
    return gradient if isinstance(gradient, Tensor) else gradient.as_graph_tensor()


def _same(one: Any, other: Any) -> bool:
    """Whether two arrays have the same elements; NaNs are like one another."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def _of_dtype(tensor: Tensor, dtype: dtypes.DType, graph: Graph) -> Tensor:
    """A tensor that a function returned, if it is one that it may return."""
    if tensor.graph is not graph:
        raise TypeError(
            f"the function of py_function returned {tensor!r}, a part of another graph, which is not run: give what "
            "the function needs of other graphs to py_function, in inp"
        )
    if tensor.dtype is not dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {tensor.dtype.name}: the function "
            "of py_function returned a tensor of another dtype than Tout says; gf.cast converts it"
        )
    return tensor


def _converted(value: Any, dtype: dtypes.DType) -> Any:
    """What a function returned, as an array of a dtype."""
    if isinstance(value, list | tuple):
        value = [np.asarray(item) if isinstance(item, Tensor) else item for item in value]
    array = np.asarray(value)
    if dtype is dtypes.string or array.dtype.kind in "OSUV":
        return value
    kind = np.dtype(dtype.as_numpy_dtype)
    # Arrays are converted whatever they lose, numbers of Python's own are not.
    numbers = isinstance(value, bool | int | float | complex | list | tuple)
    if numbers and not np.can_cast(array.dtype, kind, "same_kind") and array.dtype.kind not in "iu":
        raise TypeError(f"Cannot convert {value!r} to an array of dtype {dtype.name}")
    return array.astype(kind)


def py_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: DTypeLike | list[Any] | tuple[Any, ...],
    name: str | None = None,
) -> Any:
    """Calls a Python function with tensors that have values, at each run (tf.py_function).

    The tensors have numpy(), may be used in `if`, and computed with by graphflow's functions; gf.gradients goes through
    what the function computes with these, and not through what it computes with NumPy. Variables of the graph around it
    are not seen inside.

    Args:
        func: A function of tensors. What it returns is converted to `Tout`.
        inp: The list of tensors.
        Tout: The dtype, or list of dtypes, of what it returns; an empty list if it returns None.
        name: A name for the operation.

    Returns:
        A tensor; a list of tensors if `Tout` is a list, or the operation if that is empty.

    Raises:
        ValueError: `func` is no function.
        InvalidArgumentError: At the run, if it returns something else; other exceptions of its own become
            UnknownError.

    Examples:
        >>> x = gf.constant([1.0, 2.0])
        >>> y = gf.py_function(lambda x: gf.square(x) if x[0] > 0 else x.numpy(), [x], gf.float32)
        >>> gf.Session().run([y, *gf.gradients(y, x)])
        [array([1., 4.], dtype=float32), array([2., 4.], dtype=float32)]
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r}")
    many = isinstance(Tout, list | tuple)
    types = [dtypes.as_dtype(t) for t in (Tout if isinstance(Tout, list | tuple) else [Tout])]
    found = PythonFunction(func, types).operation(inp, name)
    return found if many else found[0]
