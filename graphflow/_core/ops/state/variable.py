"""Variable: state that outlives a run.

A variable used as a tensor is read where its consumer runs, under the consumer's control dependencies, so
`with control_dependencies([update]): v + 1` sees the update. `read_value()` and `value()` read at an operation of
their own. A resource variable is always read so (variable_reads.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, Literal, overload

from graphflow._core.common.shown.graphs import facts_html
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph, get_default_session, outermost
from graphflow._core.graph.elements import Operation, Operators, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.op_def import RESOURCE
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import (
    DeviceLike,
    DTypeLike,
    IntTensorLike,
    SessionLike,
    ShapeLike,
    TensorLike,
)
from graphflow._core.ops import variable_reads
from graphflow._core.ops.array.getitem import getitem
from graphflow._core.ops.array.indexing import gather, gather_nd
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.array.slicing import STRIDED_SLICE
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state import state
from graphflow._core.ops.state.variable_creators import Creatable
from graphflow._core.ops.state.variable_proto import (
    SliceInfo,
    VariableAggregation,
    VariableSynchronization,
    read_into,
    to_proto,
)


class Variable(Operators, metaclass=Creatable):
    """State held by the session, with the initial value given here (tf.Variable).

    The value does not exist before its `initializer` has run.

    Args:
        initial_value: A tensor, a value, or a function without parameters that makes one.
        trainable: Whether optimizers train it; True by default, unless its copies are kept equal when they are read.
        collections: The collections that it is added to; GLOBAL_VARIABLES by default.
        validate_shape: Whether the shape must be known; if not, it may change.
        caching_device: The device of the operation NAME/read, which `value()` gives; by default the variable's.
        name: Its name, put after the name scope and made unique; "Variable" by default.
        variable_def: A VariableDef message that names its operations, which are there already, in place of all the
            rest.
        dtype: The type of its elements; by default that of the initial value.
        expected_shape: The old name of `shape`.
        import_scope: The name scope under which the operations of variable_def are.
        constraint: What an optimizer applies to the value after each update.
        use_resource: Whether it is a resource variable, whose value is read where it becomes a tensor, and stays what
            was read; a reference is read where the operation stands that takes it. By default as the scope of
            variables says, and a reference if that does not say it.
        synchronization: A VariableSynchronization, for distribution strategies.
        aggregation: A VariableAggregation, for distribution strategies.
        shape: Its shape, if that is another than the initial value's: one that leaves extents open may be given values
            of other shapes.

    Raises:
        ValueError: The initial value has no shape, is missing, or comes from inside of a loop or branch.

    Examples:
        >>> count = gf.Variable(0)
        >>> step = count.assign_add(1)
        >>> with gf.Session() as session:
        ...     session.run(count.initializer)
        ...     print(session.run(step), session.run(step))
        1 2
    """

    SaveSliceInfo = SliceInfo
    _creatable = True
    container_variable: Variable
    """The variable of which this one is a copy; a variable that is no copy has no such attribute."""

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], TensorLike] | None = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: DeviceLike | None = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        use_resource: bool | None = None,
        synchronization: int = VariableSynchronization.AUTO,
        aggregation: int = VariableAggregation.NONE,
        shape: ShapeLike = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            read_into(self, variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if trainable is None:
            trainable = synchronization != VariableSynchronization.ON_READ
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(GraphKeys.TRAINABLE_VARIABLES)
        self._trainable = trainable
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._save_slice_info: SliceInfo | None = None
        here = get_default_graph()
        graph = outermost(here)
        with ExitStack() as stack:
            if graph is not here:  # Made in a function, it belongs to the program.
                stack.enter_context(graph.as_default())
                stack.enter_context(graph.context_scope(None))
            stack.enter_context(graph.control_dependencies(None))
            scope = stack.enter_context(graph.name_scope(name or "Variable"))
            self._build(
                graph,
                scope,
                initial_value,
                dtype,
                shape if shape is not None else expected_shape,
                validate_shape,
                caching_device,
                variable_reads.default(graph) if use_resource is None else bool(use_resource),
            )
        graph.add_to_collections(collections, self)

    def _build(
        self, graph: Graph, scope: str, initial_value: Any, dtype: Any, shape: Any, validate: bool,
        caching_device: DeviceLike | None, is_resource: bool,
    ) -> None:  # fmt: skip
        base = scope[:-1]
        if callable(initial_value):
            with graph.name_scope("Initializer"), graph.device(None):
                value = convert_to_tensor(initial_value(), dtype=dtype, name="initial_value")
        else:
            value = convert_to_tensor(initial_value, dtype=dtype, name="initial_value")
        if value.op.control_flow_context is not None:
            raise ValueError(
                f"Initializer for variable {base!r} is from inside a control-flow construct, such as a loop or "
                "conditional. Use a lambda as the initializer."
            )
        dims = shapes.as_dims(shape)
        if shape is None:
            dims = value.dims if validate else None
        elif not shapes.compatible(value.dims, dims):
            raise ValueError(
                f"Variable {base!r}: the initial value's shape {shapes.text(value.dims)} is not compatible with the "
                f"shape {shapes.text(dims)} asked for."
            )
        if shape is None and validate and (dims is None or None in dims):
            raise ValueError(
                f"initial_value must have a shape specified: {value}. Give the variable a value of known "
                "shape, or validate_shape=False."
            )
        attrs: dict[str, Any] = {"shape": dims, "dtype": value.dtype, "shared_name": "", "container": ""}
        if is_resource:
            attrs[RESOURCE] = True
            graph.unmade += 1  # TensorFlow asks besides whether it is initialized.
        self._tensor = graph.add(state.VARIABLE, (), attrs, scope).outputs[0]
        self._initial_value = value
        with graph.colocate_with(self._tensor.op):
            self._setter = self._initializer = graph.add(
                state.ASSIGN,
                (self._tensor, value),
                {"T": value.dtype, "validate_shape": validate, "use_locking": True, "_initializer": True},
                f"{base}/Assign/",
            )
        op = self._tensor.op
        beside = graph.colocate_with(op) if caching_device is None else graph.device(caching_device)
        with beside:
            read = "Read/ReadVariableOp" if is_resource else "read"
            self._snapshot = identity(self._tensor, name=f"{base}/{read}/")

    # ---- standing for a tensor ------------------------------------------------------------------------------------

    @property
    def _variable(self) -> Tensor:
        """The tensor that it is where it is read."""
        return self._tensor

    def _ref(self) -> Tensor:
        return self._variable

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def as_graph_tensor(self, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """The variable as an input of an operation, read when that runs.

        Args:
            dtype: The dtype wanted, or None.
            name: A name for the operation.

        Raises:
            ValueError: If the dtype is another.
        """
        if dtype is not None and dtypes.as_dtype(dtype) is not self.dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type {dtypes.as_dtype(dtype).name!r} for variable "
                f"{self.name!r} of type {self.dtype.name!r}"
            )
        return variable_reads.read(self._variable)

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name, with ":0" at the end."""
        return self._variable.name

    @property
    def op(self) -> Operation:
        """The operation that stands for it."""
        return self._variable.op

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._variable.graph

    @property
    def device(self) -> str:
        """The device asked for it."""
        return self._variable.device

    @property
    def dtype(self) -> dtypes.DType:
        """The type of its elements."""
        return self._variable.dtype

    @property
    def shape(self) -> shapes.TensorShape:
        """Its shape."""
        return self._variable.shape

    @property
    def dims(self) -> shapes.Dims:
        """Its shape as a tuple."""
        return self._variable.dims

    def get_shape(self) -> shapes.TensorShape:
        """Its shape."""
        return self._variable.shape

    @property
    def _shared_name(self) -> str:
        """Its name without ":0", by which optimizers of programs keep what belongs to it."""
        return self._variable.op.name

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds what the caller knows of the shape.

        Args:
            shape: What is known, a gf.TensorShape or what one is made of.
        """
        self._variable.set_shape(shape)
        self._first_read.set_shape(shape)

    @property
    def trainable(self) -> bool:
        """Whether optimizers train it."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Tensor], Tensor] | None:
        """The function applied after an optimizer's update, or None."""
        return self._constraint

    @property
    def synchronization(self) -> int:
        """When its copies are kept equal."""
        return self._synchronization

    @property
    def aggregation(self) -> int:
        """How writes of several towers are combined."""
        return self._aggregation

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its initial value."""
        return self._initializer

    @property
    def initial_value(self) -> Tensor:
        """The tensor of its initial value."""
        return self._initial_value

    def set_initializer(self, value: Tensor, initializer: Operation) -> None:
        """Lets it begin with another value, which `initializer` assigns to it.

        Args:
            value: The value, a tensor.
            initializer: What it begins with.
        """
        if len(initializer.inputs) == 2:
            self._setter = initializer
        self._initial_value = value
        self._initializer = initializer

    # ---- reading --------------------------------------------------------------------------------------------------

    @property
    def _first_read(self) -> Tensor:
        """The result of the operation NAME/read."""
        return self._snapshot

    def value(self) -> Tensor:
        """Its value, read by the operation NAME/read, or by a new one if it is a resource variable."""
        variable, kept = self._variable, self._snapshot
        if variable_reads.is_resource(variable) and kept.op.device == variable.op.device:
            return variable_reads.read(variable)
        return kept  # Of a resource variable if it is kept on a caching_device.

    def read_value(self) -> Tensor:
        """Its value, read by a new operation, under the current control dependencies."""
        return identity(self._variable, name="read")

    def sparse_read(self, indices: IntTensorLike, name: str | None = None) -> Tensor:
        """Its rows of these numbers, as gf.gather gives them.

        Args:
            indices: The numbers of rows, an integer tensor.
            name: A name for the operation.
        """
        return gather(self._variable, indices, name=name or "Gather")

    def gather_nd(self, indices: IntTensorLike, name: str | None = None) -> Tensor:
        """Its elements or slices at n-dimensional indices, as gf.gather_nd gives them.

        Args:
            indices: Places, an integer tensor whose last axis holds coordinates.
            name: A name for the operation.
        """
        return gather_nd(self._variable, indices, name or "GatherNd")

    def __getitem__(self, index: Any) -> Tensor:
        """A part of it, as of a tensor; part.assign(value) changes it."""
        part = getitem(self.as_graph_tensor(), index)
        if part.op.op_def is STRIDED_SLICE:
            part.assign = functools.partial(state.assign_slice, part)  # type: ignore[attr-defined]
        return part

    def initialized_value(self) -> Tensor:
        """Its value, or its initial value if it has none yet: for initial values that depend on it."""
        graph = self.graph
        with graph.control_dependencies(None):
            initialized = state.is_variable_initialized(self)
            value: Tensor = cond(initialized, self.read_value, lambda: self.initial_value)
        return value

    def eval(self, session: SessionLike | None = None) -> Any:
        """Its value in a session, by default the default one.

        Args:
            session: The session; by default the default session.
        """
        return self._variable.eval(session=session)

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Sets its value in a session, by default the default one, without adding to the graph.

        Args:
            value: An array, or what becomes one.
            session: The session; by default the default session.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self._setter, {self._setter.inputs[1]: value})

    # ---- writing --------------------------------------------------------------------------------------------------

    @overload
    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None,
        read_value: Literal[True] = True,
    ) -> Tensor: ...  # fmt: skip
    @overload
    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, *, read_value: bool
    ) -> Tensor | Operation: ...
    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Tensor | Operation:
        """Sets it; gives the new value, or with read_value=False the operation.

        Args:
            value: A tensor of the variable's dtype and shape.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
            read_value: Whether to give the new value and not the operation.
        """
        return _result(state.assign(self, value, use_locking=use_locking, name=name), read_value)

    @overload
    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None,
        read_value: Literal[True] = True,
    ) -> Tensor: ...  # fmt: skip
    @overload
    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, *, read_value: bool
    ) -> Tensor | Operation: ...
    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Tensor | Operation:
        """Adds to it; gives the new value, or with read_value=False the operation.

        Args:
            delta: A tensor of the variable's dtype and shape.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
            read_value: Whether to give the new value and not the operation.
        """
        return _result(state.assign_add(self, delta, use_locking, name), read_value)

    @overload
    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None,
        read_value: Literal[True] = True,
    ) -> Tensor: ...  # fmt: skip
    @overload
    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, *, read_value: bool
    ) -> Tensor | Operation: ...
    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Tensor | Operation:
        """Subtracts from it; gives the new value, or with read_value=False the operation.

        Args:
            delta: A tensor of the variable's dtype and shape.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
            read_value: Whether to give the new value and not the operation.
        """
        return _result(state.assign_sub(self, delta, use_locking, name), read_value)

    def _scatter(self, kind: str, slices: Any, use_locking: bool, name: str | None) -> Tensor:
        if not hasattr(slices, "indices"):
            raise TypeError(f"sparse_delta is not IndexedSlices: {slices!r}")
        return state.scatter(kind, self, slices.indices, slices.values, use_locking, name)

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Adds IndexedSlices to it.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return self._scatter("add", sparse_delta, use_locking, name)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Subtracts IndexedSlices from it.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return self._scatter("sub", sparse_delta, use_locking, name)

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replaces its rows by IndexedSlices.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return self._scatter("update", sparse_delta, use_locking, name)

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Multiplies its rows by IndexedSlices.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return self._scatter("mul", sparse_delta, use_locking, name)

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Divides its rows by IndexedSlices.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return self._scatter("div", sparse_delta, use_locking, name)

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Lets its rows be the smaller of them and IndexedSlices.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return self._scatter("min", sparse_delta, use_locking, name)

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Lets its rows be the greater of them and IndexedSlices.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return self._scatter("max", sparse_delta, use_locking, name)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Replaces rows in each of its batches, as gf.batch_scatter_update does.

        Args:
            sparse_delta: gf.IndexedSlices: rows and their numbers in the batch.
            use_locking: Accepted, and not needed: updates of a variable do not mix.
            name: A name for the operation.
        """
        return state.batch_scatter_update(self, sparse_delta.indices, sparse_delta.values, use_locking, name)

    def scatter_nd_add(self, indices: IntTensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Adds to its slices at n-dimensional indices.

        Args:
            indices: The places, as of gf.scatter_nd.
            updates: The values for these places.
            name: A name for the operation.
        """
        return state.scatter_nd_add(self, indices, updates, name=name)

    def scatter_nd_sub(self, indices: IntTensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Subtracts from its slices at n-dimensional indices.

        Args:
            indices: The places, as of gf.scatter_nd.
            updates: The values for these places.
            name: A name for the operation.
        """
        return state.scatter_nd_sub(self, indices, updates, name=name)

    def scatter_nd_update(
        self, indices: IntTensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Replaces its slices at n-dimensional indices.

        Args:
            indices: The places, as of gf.scatter_nd.
            updates: The values for these places.
            name: A name for the operation.
        """
        return state.scatter_nd_update(self, indices, updates, name=name)

    def count_up_to(self, limit: int) -> Tensor:
        """Counts it up by one.

        Args:
            limit: The number at which it stops.

        Raises:
            OutOfRangeError: At the limit.
        """
        return state.count_up_to(self, limit)

    # ---- partitions -----------------------------------------------------------------------------------------------

    def set_save_slice_info(self, info: SliceInfo | None) -> None:
        """Says which part of a larger variable it is.

        Args:
            info: What gf.Variable.SaveSliceInfo holds, or None.
        """
        self._save_slice_info = info

    def get_save_slice_info(self) -> SliceInfo | None:
        """Which part of a larger variable it is, or None."""
        return self._save_slice_info

    # ---- as data --------------------------------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> Any:
        """TensorFlow's VariableDef message, names taken relative to a scope; None if it is not in that scope.

        Args:
            export_scope: A name scope; names are taken relative to it.
        """
        return to_proto(self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable of a VariableDef, whose operations are in the default graph, under import_scope if given.

        Args:
            variable_def: A VariableDef message.
            import_scope: A name scope that names are put under.
        """
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"The Variable {self.name!r} is not iterable.")

    def __repr__(self) -> str:
        return f"<gf.Variable {self.name!r} shape={shapes.text(self.dims)} dtype={self.dtype.name}>"

    def _repr_html_(self) -> str:
        facts = [("dtype", self.dtype.name), ("shape", shapes.text(self.dims)), ("trainable", self.trainable)]
        return facts_html(f"Variable {self.name}", [*facts, ("device", self.device or "not said")])

    __array_priority__ = 100
    __array_ufunc__ = None


def _result(tensor: Tensor, read_value: bool) -> Tensor | Operation:
    return tensor if read_value else tensor.op


def _install_operators() -> None:
    """Gives Variable the operators of Tensor, which has them since this package was imported."""

    def forward(operator: str) -> Callable[..., Any]:
        def call(self: Variable, *args: Any) -> Any:
            return getattr(Tensor, operator)(self.as_graph_tensor(), *args)

        call.__name__ = operator
        return call

    for operator in Tensor.OVERLOADABLE_OPERATORS:
        if operator not in ("__eq__", "__ne__", "__hash__", "__getitem__"):
            setattr(Variable, operator, forward(operator))


_install_operators()
