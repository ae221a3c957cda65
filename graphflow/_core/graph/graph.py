"""Graph: the operations that a user built, with the scopes that shape each new one.

Scopes (names, devices, control dependencies, colocation, branches and loops) are kept per thread, so that several
threads may build one graph without a race. The graph itself is append-only, guarded by a lock.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

from graphflow._core.common.shown.graphs import graph_html
from graphflow._core.graph import defaults, devices
from graphflow._core.graph.elements import Operation, Tensor, operation_of, user_line
from graphflow._core.graph.keys import CollectionNames
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.scopes import ContainerScope, ControlFrame, Scopes
from graphflow._core.graph.this_process import OfThisProcess
from graphflow._core.graph.writers import WRITERS

_VALID_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*\Z")
_VALID_INNER = re.compile(r"[A-Za-z0-9_.\-/]*\Z")


_LEAVES_CONTEXT = frozenset({"Exit", "Merge"})
"""The operations that take a value out of a branch or a loop."""


class Graph(OfThisProcess, ContainerScope):
    """A dataflow graph: operations, and tensors between them. It holds no values.

    Thread-safe: operations may be added from several threads.

    Examples:
        >>> graph = gf.Graph()
        >>> with graph.as_default():
        ...     x = gf.constant(1.0, name="x")
        >>> [op.name for op in graph.get_operations()]
        ['x']
    """

    _instead = "Build it anew in the other process, or send `graph.as_graph_def()`."
    _tensor: ClassVar[type[Tensor]] = Tensor  # Graphs whose tensors have values say a class of their own.

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._operations: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._collections: dict[Any, list[Any]] = {}
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._finalized: tuple[str, int] | None = None
        self._scopes = Scopes()
        self._changes: list[Operation] = []
        self.stamp: int = 0
        """Changes whenever an operation is added or changed: what a session compares on every run."""
        self.seed: int | None = None
        self.unmade = 0
        """How many operations more TensorFlow's graph of the same program has: a seed counts them, too."""
        self.variable_store: Any = None  # the state of the variable scope, owned by ops.variable_scope
        self.attachments: dict[str, Any] = {}
        """What packages above the engine keep with the graph, by their names."""
        self.outer: Graph | None = None  # the graph around this one, if it is the body of a function

    # ---- building -------------------------------------------------------------------------------------------------

    def add(
        self, definition: OpDef, inputs: Sequence[Tensor], attrs: dict[str, Any], name: str | None = None
    ) -> Operation:
        """Adds an operation and returns it.

        A `name` ending in "/" is taken as it is (a name scope's own), another is made unique inside the current
        scope. Raises RuntimeError on a finalized graph, ValueError on a foreign tensor, and what the shape rule
        raises, with the operation and the user's line.

        Args:
            definition: The op.
            inputs: A tensor, or a list of tensors, for each input.
            attrs: The attributes that the inputs do not give.
            name: A name for the operation.
        """
        self._check_not_finalized(definition.name)
        inputs = [t if t._op.graph is self else self.adopt(definition, t) for t in inputs]
        scopes = self._scopes
        with self._lock:
            unique = self._name_for(definition, name)
            context = scopes.context
            if context is not None:
                inputs = context.capture(definition, inputs, unique)
            elif definition.name not in _LEAVES_CONTEXT:
                for tensor in inputs:
                    if tensor._op._context is not None:
                        raise ValueError(tensor._op._context.refusal(tensor, unique))
            op = Operation(self, definition, unique, inputs, attrs, self._control_inputs_for(inputs))
            op._context = context
            try:
                signature = definition.infer(op)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{op.describe()}: {error} Built at {op.line[0]}:{op.line[1]}.") from None
            op._outputs = [self._tensor(op, i, dtype, dims) for i, (dtype, dims) in enumerate(signature)]
            self._apply_devices(op)
            if scopes.gradients and definition.name in scopes.gradients:
                attrs["_gradient_op_type"] = scopes.gradients[definition.name]
            if scopes.container and attrs.get("container") == "":
                attrs["container"] = scopes.container
            for tensor in op._inputs:
                tensor._consumers.append(op)
            op._id = len(self._operations)
            self._operations.append(op)
            self._by_name[unique] = op
            self.stamp += 1
            for frame in scopes.control:
                frame.inside.add(op)
            if context is not None:
                context.add_op(op)
        return op

    def adopt(self, definition: OpDef, tensor: Tensor) -> Tensor:
        """Raises ValueError: no tensor of this graph can stand for one of another graph. A FunctionGraph has one.

        Args:
            definition: The op that takes the tensor.
            tensor: An element of this graph.
        """
        raise ValueError(
            f"{definition.name}: the input {tensor.name!r} must be from the same graph, but belongs to another graph "
            "than the one being built. Build both in the same `with graph.as_default():`."
        )

    def _name_for(self, definition: OpDef, name: str | None) -> str:
        name = name.decode() if isinstance(name, bytes) else name
        if not isinstance(name, str | None):
            raise TypeError(f"The name of an operation is a string, not {name!r}.")
        if not name or not name.endswith("/"):
            return self.unique_name(name or definition.name)
        if name[:-1] in self._by_name:
            raise ValueError(
                f"Duplicate node name in graph: {name[:-1]!r}. Leave out the '/' at the end of {name!r}."
            )
        return name[:-1]

    def _check_not_finalized(self, what: str) -> None:
        if self._finalized:
            raise RuntimeError(
                "Graph is finalized and cannot be modified: {} was about to be added at {}:{}. It was "
                "finalized at {}:{}. Build everything before that line.".format(
                    what, *user_line(), *self._finalized
                )
            )

    def _control_inputs_for(self, inputs: Sequence[Tensor]) -> list[Operation]:
        if not self._scopes.control:
            return []
        control: list[Operation] = []
        producers = {t._op for t in inputs}
        for frame in self._scopes.control:
            if producers.isdisjoint(frame.inside):
                control += [c for c in frame.ops if c not in control and c not in producers]
        return control

    def _apply_devices(self, op: Operation) -> None:
        for spec in reversed(self._scopes.devices):
            if spec is None:
                break
            if callable(spec):
                op._device = devices.name_of(spec(op))
            elif spec:
                op._device = devices.merge(spec, op._device)
        if self._scopes.colocation:
            groups: list[bytes] = []
            for other in self._scopes.colocation:
                groups += other.colocation_groups()
                if other.device:
                    op._device = other.device
            op._attrs["_class"] = sorted(set(groups))

    def note_change(self, op: Operation) -> None:
        """Records that an operation already in the graph was changed, so that plans which hold it are made anew.

        Args:
            op: An element of this graph.
        """
        if op._id >= 0:
            self._changes.append(op)
            self.stamp += 1

    @property
    def version(self) -> int:
        """The number of operations."""
        return len(self._operations)

    @property
    def changes(self) -> int:
        """How often an operation already in the graph was changed."""
        return len(self._changes)

    @property
    def building_function(self) -> bool:
        """Whether it is the body of a function (TensorFlow's name)."""
        return self.outer is not None

    @property
    def _building_function(self) -> bool:  # TensorFlow's older name, which programs ask for, too.
        return self.building_function

    @property
    def finalized(self) -> bool:
        """Whether nothing can be added any more."""
        return self._finalized is not None

    def finalize(self) -> None:
        """Forbids adding operations from now on. Thread-safe."""
        self._finalized = self._finalized or user_line()

    def unfinalize(self) -> None:
        """Allows adding operations again. For the library's own use."""
        self._finalized = None

    # ---- names ----------------------------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name inside the current scope, with _1, _2, ... if it is taken already.

        Args:
            name: A name for the operation.
            mark_as_used: Whether the name is taken from now on.
        """
        if self._scopes.name:
            name = f"{self._scopes.name}/{name}"
        key = name.lower()
        with self._lock:
            count = self._names_in_use.get(key, 0)
            if mark_as_used:
                self._names_in_use[key] = count + 1
            if count:
                base, base_key = name, key
                while key in self._names_in_use:
                    key = f"{base_key}_{count}"
                    name = f"{base}_{count}"
                    count += 1
                if mark_as_used:
                    self._names_in_use[key] = 1
                    self._names_in_use[base_key] = count
        if not _VALID_NAME.match(name):
            raise ValueError(
                f"{name!r} is not a valid name: use letters, digits, and _ . - / after the first character."
            )
        return name

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of operations built inside; yields the scope with a "/" at its end.

        None or "" returns to the root; a name ending in "/" re-enters that scope as it is.

        Args:
            name: A name for the operation.
        """
        outer = self._scopes.name
        if not name:
            inner = ""
        elif name.endswith("/"):
            inner = name[:-1]
        else:
            valid = _VALID_INNER if outer else _VALID_NAME
            if not valid.match(name):
                raise ValueError(f"{name!r} is not a valid scope name")
            inner = self.unique_name(name)
        self._scopes.name = inner
        try:
            yield inner + "/" if inner else ""
        finally:
            self._scopes.name = outer

    def get_name_scope(self) -> str:
        """The current name scope, without the "/" at its end."""
        return self._scopes.name

    # ---- scopes ---------------------------------------------------------------------------------------------------

    @contextmanager
    def device(self, device_name_or_function: devices.DeviceLike | None) -> Iterator[None]:
        """Asks for a device for operations built inside.

        A string or DeviceSpec completes what inner scopes left open, a function of the operation returns its
        device, None ignores the outer scopes.

        Args:
            device_name_or_function: A name such as "/device:CPU:0", a DeviceSpec, a function of an operation,
                or None.

        Raises:
            ValueError: If the name is none.
        """
        outer = self._scopes.devices
        inner = self._scopes.devices = (*outer, devices.of_scope(device_name_or_function))
        try:
            yield
        finally:
            if self._scopes.devices is not inner:
                raise RuntimeError("Exiting device scope without proper scope nesting.")
            self._scopes.devices = outer

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Places operations built inside with `op` (an Operation, Tensor or Variable; None clears).

        Args:
            op: An element of this graph.
            ignore_existing: Whether outer blocks of this kind do not count.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        other = None if op is None else operation_of(op)
        outer, outer_devices = self._scopes.colocation, self._scopes.devices
        if ignore_existing:
            self._scopes.colocation, self._scopes.devices = (), ()
        if other is not None:
            self._scopes.colocation = (*self._scopes.colocation, other)
        try:
            yield
        finally:
            self._scopes.colocation, self._scopes.devices = outer, outer_devices

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Makes operations built inside run after `control_inputs`; None forgets the outer dependencies.

        None also leaves the branch or loop being built.

        Args:
            control_inputs: Operations, tensors or IndexedSlices, or None.
        """
        scopes = self._scopes
        outer, context = scopes.control, scopes.context
        if control_inputs is None:
            scopes.control, scopes.context = (), None
        else:
            if isinstance(control_inputs, Operation | Tensor) or not hasattr(control_inputs, "__iter__"):
                raise TypeError(
                    f"control_dependencies() takes a list of operations or tensors, not {control_inputs!r}."
                )
            elements = [self.as_graph_element(getattr(c, "_awaited", c)) for c in control_inputs]
            ops = [operation_of(e) for e in elements]
            scopes.control = (*outer, ControlFrame(list(dict.fromkeys(ops))))
        try:
            yield
        finally:
            scopes.control, scopes.context = outer, context

    @contextmanager
    def context_scope(self, context: Any, control: tuple[ControlFrame[Any], ...] = ()) -> Iterator[None]:
        """Builds inside a branch or a loop (a control-flow context), with other control dependencies than here.

        Args:
            context: The branch or loop.
            control: The operations that run before.
        """
        scopes = self._scopes
        outer, outer_control = scopes.context, scopes.control
        scopes.context, scopes.control = context, control
        try:
            yield
        finally:
            scopes.context, scopes.control = outer, outer_control

    @property
    def control(self) -> tuple[ControlFrame[Operation], ...]:
        """The control dependencies of the current scopes."""
        return self._scopes.control

    @property
    def context(self) -> Any:
        """The branch or loop being built in this thread, or None."""
        return self._scopes.context

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Gives ops built inside another gradient: {op type: name given to RegisterGradient}.

        Args:
            op_type_map: The names of gradients by type of op.
        """
        if not isinstance(op_type_map, dict) or not all(
            isinstance(x, str) for pair in op_type_map.items() for x in pair
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        outer = self._scopes.gradients
        self._scopes.gradients = {**outer, **op_type_map}
        try:
            yield
        finally:
            self._scopes.gradients = outer

    def switch_to_thread_local(self) -> None:
        """Nothing: scopes are kept per thread in any case (tf.Graph.switch_to_thread_local)."""

    def as_default(self) -> AbstractContextManager[Graph]:
        """Makes this graph the default of the current thread."""
        return defaults.default_graph(self)

    # ---- looking up -----------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        return graph_html(self.get_operations())

    def get_operations(self) -> list[Operation]:
        """All operations in the order they were built."""
        with self._lock:
            return list(self._operations)

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph as a GraphDef message; with `add_shapes` each node has an attribute `_output_shapes`.

        With `from_version`, a former `version` of the graph, what was added since. ValueError beyond 2 GB.

        Args:
            from_version: A former `version`, or None for the whole graph.
            add_shapes: Whether to write shapes.
        """
        return WRITERS.graph(self, from_version, add_shapes)

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name.

        Args:
            name: A name for the operation.

        Raises:
            KeyError: If there is none.
        """
        element = self.as_graph_element(_text(name), allow_tensor=False)
        assert isinstance(element, Operation)
        return element

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of that name ("op:0").

        Args:
            name: A name for the operation.

        Raises:
            KeyError: If there is none.
        """
        element = self.as_graph_element(_text(name), allow_operation=False)
        assert isinstance(element, Tensor)
        return element

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Operation | Tensor:
        """The operation or tensor that `obj` (itself, a name, or an object that stands for one) means.

        Raises TypeError for what is no graph element, ValueError for a bad name or a foreign element, KeyError for an
        unknown name.

        Args:
            obj: An operation, a tensor, a name, or what stands for one.
            allow_tensor: Whether it may be a tensor.
            allow_operation: Whether it may be an operation.
        """
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, bytes | str):
            text = obj.decode() if isinstance(obj, bytes) else obj
            return self._element_by_name(text, allow_tensor, allow_operation)
        if isinstance(obj, Tensor) and allow_tensor or isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"{obj!r} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Operation | Tensor:
        op_name, colon, index = name.partition(":")
        if colon and allow_tensor:
            if not index.isdigit():
                raise ValueError(f"The name {name!r} looks like a Tensor name, but its index is no number.")
            op = self._by_name.get(op_name)
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                    f"{op_name!r}, does not exist in the graph."
                )
            if int(index) >= len(op.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist: {op_name!r} has "
                    f"{len(op.outputs)} outputs."
                )
            return op.outputs[int(index)]
        if not colon and allow_operation:
            if name not in self._by_name:
                raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
            return self._by_name[name]
        if colon:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not an Operation.")
        raise ValueError(
            f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names are of "
            "the form 'op:0'."
        )

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether the tensor may be fed.

        Args:
            tensor: An element of this graph.
        """
        return tensor not in self._unfeedable and tensor._op._context is None

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbids feeding a tensor.

        Args:
            tensor: An element of this graph.
        """
        self._unfeedable.add(tensor)

    def is_fetchable(self, tensor_or_op: object) -> bool:
        """Whether the element may be fetched.

        Args:
            tensor_or_op: An element of this graph.
        """
        return operation_of(tensor_or_op) not in self._unfetchable

    def prevent_fetching(self, op: Operation) -> None:
        """Forbids fetching an operation and its results.

        Args:
            op: An element of this graph.
        """
        self._unfetchable.add(op)

    # ---- collections ----------------------------------------------------------------------------------------------

    def add_to_collection(self, name: str, value: Any) -> None:
        """Appends a value to a collection.

        Args:
            name: A name for the operation.
            value: Anything.
        """
        self._check_not_finalized(f"a value of the collection {name!r}")
        with self._lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: CollectionNames, value: Any) -> None:
        """Appends a value to several collections, once to each.

        Args:
            names: The collections' names.
            value: Anything.
        """
        for name in (names,) if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection itself; changing the list changes the collection.

        Args:
            name: A name for the operation.
        """
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """A copy of a collection, of the items whose name matches the regular expression `scope`, if one is given.

        Args:
            name: A name for the operation.
            scope: A regular expression that names begin with; None takes all.
        """
        with self._lock:
            items = list(self._collections.get(name, ()))
        if scope is None:
            return items
        return [item for item in items if hasattr(item, "name") and re.match(scope, item.name)]

    def get_all_collection_keys(self) -> list[str]:
        """The names of all collections."""
        with self._lock:
            return [k for k in self._collections if isinstance(k, str)]

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return list(self._collections)

    def clear_collection(self, name: str) -> None:
        """Empties a collection.

        Args:
            name: A name for the operation.
        """
        self._check_not_finalized(f"clearing the collection {name!r}")
        with self._lock:
            self._collections.pop(name, None)

    # ---- sessions -------------------------------------------------------------------------------------------------

    def session_for(self, verb: str, name: str, session: defaults.SessionLike | None) -> Any:
        """The session in which to run or evaluate an element of this graph.

        Args:
            verb: What is to be done, for the error.
            name: A name for the operation.
            session: The session, or None for the default session.

        Raises:
            ValueError: If there is none.
        """
        if session is None:
            session = defaults.get_default_session()
            if session is None:
                raise ValueError(
                    f"Cannot {verb} {name!r}: no default session is registered. Use `with "
                    "sess.as_default():` or pass `session=`."
                )
        if session.graph is not self:
            raise ValueError(f"Cannot {verb} {name!r}: its graph is different from the session's graph.")
        return session


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"Names of graph elements are strings, not {type(name).__name__}.")
    return name
