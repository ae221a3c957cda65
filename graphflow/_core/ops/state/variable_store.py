"""The variables that get_variable made, by name: sharing one, making one, and why neither can be.

One store per graph, whatever the thread. It is asked with a Request, in which variable scopes have filled in what the
caller left open.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor, user_line
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array.array import slice_
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.initializers import GlorotUniform, Zeros
from graphflow._core.ops.state.partitioning import PartitionedVariable, PartitionInfo, partitions_of, parts
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization


@dataclass
class Request:
    """A call of get_variable: the fields are its arguments, and `reuse`."""

    name: str
    shape: Any = None
    dtype: Any = dtypes.float32
    initializer: Any = None
    regularizer: Callable[[Any], Any] | None = None
    reuse: Any = None
    trainable: bool | None = None
    collections: Any = None
    caching_device: Any = None
    partitioner: Any = None
    validate_shape: bool = True
    use_resource: bool | None = None
    constraint: Callable[[Tensor], Tensor] | None = None
    synchronization: int = VariableSynchronization.AUTO
    aggregation: int = VariableAggregation.NONE


class VariableStore:
    """The variables of a graph that get_variable made. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._variables: dict[str, Variable] = {}
        self._partitioned: dict[str, PartitionedVariable] = {}
        self._lines: dict[str, tuple[str, int]] = {}

    def get(self, request: Request, custom_getter: Any = None) -> Any:
        """The variable that is asked for, made if it has to be; through the custom getter, if there is one.

        ValueError if it exists and may not be shared, does not and should, or has another shape or dtype.
        """
        if request.trainable is None:
            on_read = request.synchronization == VariableSynchronization.ON_READ
            request = replace(request, trainable=not on_read)
        if custom_getter is None:
            return self.obtain(request)
        if not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter!r}")
        arguments = dict(vars(request))
        if not _accepts(custom_getter, "constraint"):
            del arguments["constraint"]
        return custom_getter(getter=self._true_getter, **arguments)

    def _true_getter(self, *args: Any, **kwargs: Any) -> Any:
        """The function that a custom getter calls: its arguments are the fields of Request."""
        return self.obtain(Request(*args, **kwargs))

    def obtain(self, request: Request) -> Any:
        """The variable that is asked for, made if it has to be."""
        scalar = isinstance(request.shape, list | tuple) and not request.shape
        with self._lock:
            if request.partitioner is not None and not scalar:
                return self._get_partitioned(request)
            if request.reuse is True and request.partitioner is None and request.name in self._partitioned:
                return self._get_partitioned(request)
            if request.name in self._partitioned:
                raise ValueError(
                    f"No partitioner was provided, but a partitioned version of the variable was found: "
                    f"{request.name}/part_0, {self._defined(request.name)}. Give the same partitioner or another name."
                )
            return self._get_single(request, None)

    def holds(self, variable: Any) -> bool:
        """Whether get_variable made it."""
        return self._variables.get(variable.op.name) is variable

    def _defined(self, name: str) -> str:
        file, line = self._lines[name]
        return f"first defined at {file}:{line}"

    def _exists(self, request: Request) -> ValueError:
        return ValueError(
            f"Variable {request.name} already exists, disallowed: it was {self._defined(request.name)}, and is "
            f"asked for again at {_here()}. To share it, open the scope with reuse=True or reuse=gf.AUTO_REUSE; to "
            "have a second one, give it another name or variable_scope; to start over, as in a notebook whose cell "
            "runs again, call gf.reset_default_graph() or build in a new gf.Graph()."
        )

    def _missing(self, request: Request) -> ValueError:
        return ValueError(
            f"Variable {request.name} does not exist, or was not created with gf.get_variable(), but is asked for "
            f"with reuse=True at {_here()}. Did you mean reuse=gf.AUTO_REUSE, or another scope?"
        )

    def _check_shared(self, request: Request, found: Any, shape: TensorShape, dtype: DType) -> None:
        if not shape.is_compatible_with(found.shape):
            raise ValueError(
                f"Trying to share variable {request.name}, but specified shape {shape} and found shape {found.shape}; "
                f"it was {self._defined(request.name)}."
            )
        if dtype is not found.dtype:
            raise ValueError(
                f"Trying to share variable {request.name}, but specified dtype {dtype.name} and found dtype "
                f"{found.dtype.name}; it was {self._defined(request.name)}."
            )

    # ---- one variable ---------------------------------------------------------------------------------------------

    def _get_single(self, request: Request, partition_info: PartitionInfo | None) -> Variable:
        from_value = request.initializer is not None and not callable(request.initializer)
        if request.shape is not None and from_value:
            raise ValueError(
                f"Variable {request.name}: if initializer is a constant, do not specify shape. The variable takes the "
                "constant's; gf.constant_initializer fills a shape."
            )
        shape, dtype = shapes.as_shape(request.shape), dtypes.as_dtype(request.dtype)
        found = self._variables.get(request.name)
        if found is not None:
            if not request.reuse:
                raise self._exists(request)
            if from_value and get_default_graph().scopes.seen is not None:
                dtype = found.dtype  # The first tower took the type of the value, and so does this one.
            self._check_shared(request, found, shape, dtype)
            if request.regularizer is not None and first_use(request.name):
                self._regularize(request, found)
            return found
        if request.reuse is True:
            raise self._missing(request)
        made = self._make(request, shape, dtype, partition_info)
        self._variables[request.name] = made
        self._lines[request.name] = user_line()
        if request.regularizer is not None:
            self._regularize(request, made)
        return made

    def _make(
        self, request: Request, shape: TensorShape, dtype: DType, partition_info: PartitionInfo | None
    ) -> Variable:
        initializer = request.initializer
        if initializer is None:
            initializer = default_initializer(request.name, dtype)
        value, value_type = initializer, None
        if callable(initializer):
            make: Any = initializer() if inspect.isclass(initializer) else initializer
            if shape.is_fully_defined():
                value_type = dtype
                extra = {"partition_info": partition_info} if _accepts(make, "partition_info") else {}
                value = lambda: make(shape.as_list(), dtype=dtype, **extra)  # noqa: E731
            elif _needs_nothing(make):
                value = make
            else:
                wrong = ""
                if request.initializer is not None:
                    wrong = (
                        "The initializer passed is not valid. It should be a callable with no arguments and the "
                        "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` should "
                        "be fully defined. "
                    )
                raise ValueError(
                    f"Variable {request.name}: {wrong}Its shape must be fully defined, got {shape}."
                )
        return Variable(
            initial_value=value,
            trainable=request.trainable,
            collections=request.collections,
            validate_shape=request.validate_shape,
            caching_device=request.caching_device,
            name=request.name,
            dtype=value_type,
            constraint=request.constraint,
            use_resource=request.use_resource,
            synchronization=request.synchronization,
            aggregation=request.aggregation,
        )

    def _regularize(self, request: Request, made: Variable) -> None:
        assert request.regularizer is not None
        graph = made.graph
        scope = f"{request.name}/Regularizer/"
        with graph.colocate_with(made.op), graph.name_scope(scope), graph.control_dependencies(None):
            loss = request.regularizer(made)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    # ---- a variable in parts --------------------------------------------------------------------------------------

    def _get_partitioned(self, request: Request) -> PartitionedVariable:
        if request.name in self._variables:
            raise ValueError(
                f"A partitioner was provided, but an unpartitioned version of the variable was found: {request.name}, "
                f"{self._defined(request.name)}. Leave the partitioner out or give another name."
            )
        shape, dtype = shapes.as_shape(request.shape), dtypes.as_dtype(request.dtype)
        if isinstance(request.initializer, Tensor):
            shape = shape.merge_with(request.initializer.shape)
        counts = None
        if not request.reuse or request.partitioner is not None:
            counts = partitions_of(request.partitioner, shape, dtype)
        found = self._partitioned.get(request.name)
        if found is not None:
            if not request.reuse:
                raise self._exists(request)
            self._check_shared(request, found, shape, dtype)
            if counts is not None and counts != found.partitions:
                raise ValueError(
                    f"Trying to reuse partitioned variable {request.name}, but specified partitions {counts} and found "
                    f"partitions {found.partitions}; it was {self._defined(request.name)}."
                )
            return found
        if request.reuse is True or counts is None:
            raise self._missing(request)
        return self._make_partitioned(request, shape, dtype, counts)

    def _make_partitioned(
        self, request: Request, shape: TensorShape, dtype: DType, counts: list[int]
    ) -> PartitionedVariable:
        graph = get_default_graph()
        whole = [d for d in shape.as_list() if d is not None]
        made = []
        for index, (offset, extents) in enumerate(parts(whole, counts)):
            name = f"{request.name}/part_{index}"
            initializer, part_shape = request.initializer, extents if callable(request.initializer) else None
            if initializer is None:
                initializer, part_shape = default_initializer(request.name, dtype), extents
            elif part_shape is None:
                with graph.name_scope(f"{name}/PartitionedInitializer"):
                    given = request.initializer
                    value = given if isinstance(given, Tensor) else convert_to_tensor(given, dtype=dtype)
                    initializer = slice_(value, offset, extents)
                dtype = initializer.dtype
            part = replace(
                request, name=name, shape=part_shape, dtype=dtype, initializer=initializer, partitioner=None
            )
            with graph.name_scope(None):
                variable = self._get_single(part, PartitionInfo(whole, offset))
            variable.set_save_slice_info(Variable.SaveSliceInfo(request.name, whole, offset, extents))
            made.append(variable)
        result = PartitionedVariable(request.name, shape, dtype, made, counts)
        self._partitioned[request.name] = result
        self._lines[request.name] = user_line()
        return result


def first_use(name: str) -> bool:
    """Whether a tower asks for the first time for a variable of another tower's: then it is regularised there, too."""
    seen = get_default_graph().scopes.seen
    if seen is None or name in seen:
        return False
    seen.add(name)
    return True


def _here() -> str:
    file, line = user_line()
    return f"{file}:{line}"


def default_initializer(name: str, dtype: DType) -> Any:
    """Glorot's uniform draws for floats, zeros (False, "") for integers, booleans and strings.

    ValueError for other types.
    """
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype is dtypes.string:
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.name} is required.")


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _accepts(function: Any, name: str) -> bool:
    """Whether a function may be given an argument of that name."""
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in _parameters(function))


def _needs_nothing(function: Any) -> bool:
    """Whether a function can be called without arguments."""
    varied = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return all(p.default is not inspect.Parameter.empty or p.kind in varied for p in _parameters(function))
