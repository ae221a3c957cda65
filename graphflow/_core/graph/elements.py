"""Operation and Tensor: the nodes and edges of a graph.

Operators on tensors are installed by the ops package (`Tensor.install_operator`), so that this one needs no op.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from graphflow._core.common.shown.graphs import facts_html
from graphflow._core.graph import devices
from graphflow._core.graph.defaults import SessionLike
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.shapes import Dimension, Dims, ShapeLike, TensorShape, as_dims, merge, text
from graphflow._core.graph.writers import WRITERS

if TYPE_CHECKING:
    from graphflow._core.graph.graph import Graph

_PACKAGE = __name__.split(".")[0]


def cell_of(file: str) -> str:
    """The cell of a notebook, such as "In[3]", that a temporary file of its code stands for; else the file itself."""
    interactive = sys.modules.get("IPython")
    with suppress(Exception):  # It is asked to name a line of an error, or of a graph; that must not fail.
        named = interactive.get_ipython().compile.format_code_name(file) if interactive else None
        if named is not None:
            return str(named[1])
    return file


def user_line() -> tuple[str, int]:
    """File and line of the innermost frame outside this package: where the user built what is being built.

    A function with a local variable __tracebackhide__ builds for its caller and is passed over, as pytest does.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != _PACKAGE and not module.startswith(_PACKAGE + "."):
            code = frame.f_code
            if "__tracebackhide__" not in code.co_varnames:
                file = code.co_filename
                return (cell_of(file) if file[:1] == "<" or "ipykernel" in file else file), frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


class Operation:
    """A node of a graph: its type, inputs, attributes and device.

    Made by the functions of the library, never directly. Immutable but for its device, attributes set by the
    library, and control inputs added by it.

    Args:
        graph: The graph.
        definition: The op.
        name: A name for the operation.
        inputs: The tensors it takes.
        attrs: Its attributes.
        control_inputs: The operations that run before.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_attrs",
        "_context",
        "_control_inputs",
        "_device",
        "_id",
        "_inputs",
        "_line",
        "_name",
        "_outputs",
        "graph",
        "op_def",
    )

    _beside: tuple[Operation, ...] = ()
    """If it is a gradient of an operation with several, the others: plan/lower.py."""

    def __init__(
        self,
        graph: Graph,
        definition: OpDef,
        name: str,
        inputs: Sequence[Tensor],
        attrs: dict[str, Any],
        control_inputs: list[Operation],
    ) -> None:
        self.graph: Graph = graph
        self.op_def: OpDef = definition
        self._name = name
        self._inputs = list(inputs)
        self._attrs = attrs
        self._control_inputs = control_inputs
        self._device = ""
        self._context: Any = None
        self._line = user_line()
        self._id = -1
        self._outputs: list[Tensor] = []

    @property
    def name(self) -> str:
        """The unique name."""
        return self._name

    @property
    def type(self) -> str:
        """The op type, such as "MatMul"."""
        return self.op_def.name

    @property
    def inputs(self) -> list[Tensor]:
        """The data inputs, in order."""
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The results, in order."""
        return self._outputs

    @property
    def control_inputs(self) -> list[Operation]:
        """Operations that run before this one without giving it a value."""
        return self._control_inputs

    @property
    def device(self) -> str:
        """The device asked for, "" if none was."""
        return self._device

    @property
    def line(self) -> tuple[str, int]:
        """File and line number of the user's code that built it."""
        return self._line

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """The user's line, in the form of TensorFlow's op.traceback."""
        return [(self._line[0], self._line[1], "", "")]

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef message."""
        return WRITERS.node(self)

    @property
    def control_flow_context(self) -> Any:
        """The branch or loop that it was built in, or None."""
        return self._context

    def values(self) -> tuple[Tensor, ...]:
        """The results, in order."""
        return tuple(self._outputs)

    def get_attr(self, name: str) -> Any:
        """The attribute of that name; text is bytes, as in TensorFlow.

        Args:
            name: The attribute's name.

        Raises:
            ValueError: If there is none.
        """
        if name not in self._attrs:
            raise ValueError(
                f"Operation {self._name!r} has no attr named {name!r}. It has: {', '.join(sorted(self._attrs))}."
            )
        value = self._attrs[name]
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
            return [item.encode() for item in value]
        return value

    @property
    def attrs(self) -> dict[str, Any]:
        """All attributes; not to be changed."""
        return self._attrs

    def colocation_groups(self) -> list[bytes]:
        """The names, as b"loc:@NAME", of the operations that this one must be placed with."""
        classes: list[bytes] = self._attrs.get("_class", [])
        return classes or [b"loc:@" + self._name.encode()]

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None) -> None:
        """Runs the operation in a session, by default the default one.

        Args:
            feed_dict: {tensor: value}: values that take the place of tensors.
            session: The session; by default the default session.

        Raises:
            ValueError: If there is none.
        """
        self.graph.session_for("run", self._name, session).run(self, feed_dict)

    def set_device(self, device: devices.DeviceLike | None) -> None:
        """Sets the device asked for.

        Args:
            device: The name of a device.
        """
        self._device = devices.name_of(device)

    def add_control_inputs(self, ops: Sequence[Operation]) -> None:
        """Makes it run after `ops`. For the library's use while it builds a construct.

        Args:
            ops: The operations.
        """
        for op in ops:
            if op not in self._control_inputs:
                self._control_inputs.append(op)
        self.graph.note_change(self)

    def remove_control_inputs(self, ops: Sequence[Operation]) -> None:
        """Makes it wait for `ops` no more.

        Args:
            ops: The operations.
        """
        self._control_inputs = [op for op in self._control_inputs if op not in ops]
        self.graph.note_change(self)

    def update_input(self, index: int, tensor: Tensor) -> None:
        """Replaces an input. For the library's use: it closes the cycle of a loop.

        Args:
            index: Which input.
            tensor: The tensor it takes from now on.
        """
        self._inputs[index]._consumers.remove(self)
        self._inputs[index] = tensor
        tensor._consumers.append(self)
        self.graph.note_change(self)

    def set_attr(self, name: str, value: Any) -> None:
        """Sets an attribute. For the library's use while it builds the operation.

        Args:
            name: The attribute's name.
            value: Its value.
        """
        self._attrs[name] = value
        self.graph.note_change(self)

    def keep_line(self, op: Operation) -> None:
        """Says that it was built where `op` was. For the library's use while it copies an operation.

        Args:
            op: The operation whose line it has from now on.
        """
        self._line = op.line

    def describe(self) -> str:
        """Type, name and place of building, as error messages say it."""
        return f"{self.type} {self._name!r}"

    def __repr__(self) -> str:
        return f"<gf.Operation {self._name!r} type={self.type}>"

    def __str__(self) -> str:
        try:
            return str(self.node_def)
        except ModuleNotFoundError:  # Printing an operation must not need protobuf.
            return repr(self)


class Operators:
    """What has the operators of a tensor; each makes an operation and gives its result.

    The ops package installs them (Tensor.install_operator), here they are shown to type checkers alone.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, other: TensorLike) -> Tensor: ...
        def __radd__(self, other: TensorLike) -> Tensor: ...
        def __sub__(self, other: TensorLike) -> Tensor: ...
        def __rsub__(self, other: TensorLike) -> Tensor: ...
        def __mul__(self, other: TensorLike) -> Tensor: ...
        def __rmul__(self, other: TensorLike) -> Tensor: ...
        def __truediv__(self, other: TensorLike) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike) -> Tensor: ...
        def __floordiv__(self, other: TensorLike) -> Tensor: ...
        def __rfloordiv__(self, other: TensorLike) -> Tensor: ...
        def __mod__(self, other: TensorLike) -> Tensor: ...
        def __rmod__(self, other: TensorLike) -> Tensor: ...
        def __pow__(self, other: TensorLike) -> Tensor: ...
        def __rpow__(self, other: TensorLike) -> Tensor: ...
        def __matmul__(self, other: TensorLike) -> Tensor: ...
        def __rmatmul__(self, other: TensorLike) -> Tensor: ...
        def __and__(self, other: TensorLike) -> Tensor: ...
        def __rand__(self, other: TensorLike) -> Tensor: ...
        def __or__(self, other: TensorLike) -> Tensor: ...
        def __ror__(self, other: TensorLike) -> Tensor: ...
        def __xor__(self, other: TensorLike) -> Tensor: ...
        def __rxor__(self, other: TensorLike) -> Tensor: ...
        def __lt__(self, other: TensorLike) -> Tensor: ...
        def __le__(self, other: TensorLike) -> Tensor: ...
        def __gt__(self, other: TensorLike) -> Tensor: ...
        def __ge__(self, other: TensorLike) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...


class Tensor(Operators):
    """One result of an operation: a symbol for an array that exists while the graph runs.

    `shape` is what is known of its shape while the graph is built, `dtype` the type of its elements.

    Args:
        op: The operation.
        value_index: Which of its results.
        dtype: The dtype of the elements.
        dims: What is known of its shape: a tuple of ints and Nones, or None.
    """

    # What begins with _keras says which layer made it, and what of it is masked; programs know the names, and
    # put attributes of their own on tensors and operations.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_consumers",
        "_dims",
        "_dtype",
        "_keras_history",
        "_keras_mask",
        "_op",
        "_value_index",
    )

    _keras_history: Any
    _keras_mask: Any
    __array_priority__: ClassVar[int] = 100
    __array_ufunc__: ClassVar[None] = None
    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = set()

    def __init__(self, op: Operation, value_index: int, dtype: DType, dims: Dims) -> None:
        self._op = op
        self._value_index = value_index
        self._dtype = dtype
        self._dims = dims
        self._consumers: list[Operation] = []

    @property
    def op(self) -> Operation:
        """The operation that makes it."""
        return self._op

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._dtype

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._op.graph

    @property
    def name(self) -> str:
        """The operation's name and the number of the result, as in "add:0"."""
        return f"{self._op.name}:{self._value_index}"

    @property
    def device(self) -> str:
        """The device asked for its operation."""
        return self._op.device

    @property
    def value_index(self) -> int:
        """Which of its operation's results it is."""
        return self._value_index

    @property
    def shape(self) -> TensorShape:
        """What is known of its shape."""
        return TensorShape(self._dims)

    @property
    def dims(self) -> Dims:
        """What is known of its shape, as a tuple of int or None, or None."""
        return self._dims

    def _shape_as_list(self) -> list[int | None] | None:  # What programs of TensorFlow 1 ask, too.
        return None if self._dims is None else list(self._dims)

    def get_shape(self) -> TensorShape:
        """What is known of its shape."""
        return TensorShape(self._dims)

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds what the caller knows of the shape.

        Args:
            shape: What is known, a gf.TensorShape or what one is made of.

        Raises:
            ValueError: If it contradicts what is known.
        """
        try:
            self._dims = merge(self._dims, as_dims(shape))
        except ValueError:
            raise ValueError(
                f"Shape {text(as_dims(shape))} contradicts the known shape {text(self._dims)} of {self.name!r}."
            ) from None

    def consumers(self) -> list[Operation]:
        """The operations that take it as an input."""
        return list(dict.fromkeys(self._consumers))

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None) -> Any:
        """Its value in a session, by default the default one.

        Args:
            feed_dict: {tensor: value}: values that take the place of tensors.
            session: The session; by default the default session.

        Returns:
            An array.

        Raises:
            ValueError: If there is none.
        """
        return self.graph.session_for("eval", self.name, session).run(self, feed_dict)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"The tensor {self.name!r} is not iterable while the graph is built: take it apart with gf.unstack, or "
            "repeat "
            "with gf.map_fn or gf.while_loop."
        )

    def __len__(self) -> int:
        raise TypeError(
            f"len() of the tensor {self.name!r} is not known while the graph is built. Use gf.shape or .shape."
        )

    def __bool__(self) -> bool:
        raise TypeError(
            f"Using the gf.Tensor {self.name!r} as a Python bool is not allowed: it has no value while the "
            "graph is built. "
            "Use gf.cond for a conditional, `is not None` to test for presence."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        raise TypeError(
            f"The tensor {self.name!r} cannot become a NumPy array while the graph is built: run it in a Session."
        )

    def __repr__(self) -> str:
        return f"<gf.Tensor {self.name!r} shape={text(self._dims)} dtype={self._dtype.name}>"

    def _repr_html_(self) -> str:
        file, line = self.op.line
        facts = ("dtype", self._dtype.name), ("shape", text(self._dims)), ("op", self.op.type)
        place = ("device", self.op.device or "not said"), ("built at", f"{file}:{line}")
        return facts_html(f"Tensor {self.name}", (*facts, *place))

    def __str__(self) -> str:
        shape = "" if self._dims is None else f", shape={text(self._dims)}"
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name})'

    @classmethod
    def install_operator(cls, name: str, function: Callable[..., Any]) -> None:
        """Installs a Python operator such as `__add__`; called by the ops package.

        Args:
            name: A name for the operation.
            function: What the operator does.
        """
        cls.OVERLOADABLE_OPERATORS.add(name)
        setattr(cls, name, function)


@runtime_checkable
class SupportsTensor(Protocol):
    """What can become a tensor by itself: variables, partitioned ones too, IndexedSlices, and classes of programs."""

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        ...

    def as_graph_tensor(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        """The tensor.

        Args:
            dtype: The dtype wanted, or None.
            name: A name for the operation.

        Raises:
            ValueError: If its elements are not of a `dtype` that is asked for.
        """
        ...


class SupportsArray(Protocol):
    """What NumPy can make an array of: NumPy's own arrays, and those of other libraries, such as pandas' columns."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


class VariableLike(SupportsTensor, Protocol):
    """A variable, as functions that change one take it: gf.Variable, and those that a strategy makes of it."""

    @property
    def name(self) -> str:
        """Its name, with ":0" at the end."""
        ...

    @property
    def op(self) -> Operation:
        """The operation that stands for it."""
        ...

    @property
    def shape(self) -> TensorShape:
        """Its shape."""
        ...

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its initial value."""
        ...


if TYPE_CHECKING:
    _Nested: TypeAlias = Sequence["TensorLike"]
else:  # A name inside would be looked for where a program uses the type (typing.get_type_hints).
    _Nested = Sequence[Any]

TensorLike: TypeAlias = (
    Tensor | Operators | SupportsTensor | SupportsArray | np.ndarray[Any, Any] | np.generic | complex | str | bytes
    | TensorShape | Dimension | _Nested | list[object]
)  # fmt: skip
"""A tensor, or what becomes one: a variable, a NumPy array or scalar, a Python bool, int, float, complex, str or bytes,
a fully known shape, or a list, nested or not, of these.

An IndexedSlices becomes dense; a SparseTensor is none of these. A list of ints and tensors that was given a name is for
mypy a list of objects."""

_IntItem: TypeAlias = Tensor | SupportsTensor | SupportsArray | np.integer[Any] | int | Dimension

IntTensorLike: TypeAlias = (
    _IntItem
    | np.ndarray[Any, Any]
    | TensorShape
    | Sequence[_IntItem]
    | Sequence[Sequence[_IntItem]]
    | list[object]
)
"""Whole numbers that may be computed: axes, sizes, indices, and shapes as gf.reshape and gf.zeros take them.

An int or a list of ints, a list of lists of them, an integer tensor, variable or array, a list in which some are
tensors, or a fully known TensorShape. A string is none."""

NumberLike: TypeAlias = Operators | float | np.number[Any] | np.ndarray[Any, Any]
"""A number that may be computed, such as a rate: a tensor, a variable, Python's or NumPy's number, or an array."""


def operation_of(element: Any) -> Operation:
    """The operation that an element of a graph is, or that makes it; TypeError for anything else."""
    op = element if isinstance(element, Operation) else getattr(element, "op", None)
    if isinstance(op, Operation):
        return op
    raise TypeError(f"{element!r} is not an operation, tensor or variable.")
