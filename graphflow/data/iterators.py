"""Iterators over datasets: one-shot, initializable, reinitializable and feedable (tf.data.Iterator)."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor, user_line
from graphflow._core.graph.function import FunctionGraph
from graphflow._core.graph.random_seed import count_more
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.io import datasets as ops
from graphflow.data import structure
from graphflow.data.specs import specs_for


class Described(Protocol):
    """A dataset, as an iterator sees it: what its elements are, and the tensor that stands for it."""

    _variant_tensor: Tensor

    _output_types: Any
    _output_shapes: Any

    @property
    def output_types(self) -> Any: ...

    @property
    def output_classes(self) -> Any: ...

    @property
    def output_shapes(self) -> Any: ...


GLOBAL_ITERATORS = "iterators"
MANY_CALLS = 32
"""After so many calls of get_next() a warning says to make one."""
MANY_CALLS_TEXT = (
    "An unusually high number of Iterator.get_next() calls was made. Call it once, before the training loop, and run "
    "its result again and again."
)


class Iterator:
    """A position in a dataset, held by the session (tf.data.Iterator).

    Made by Dataset.make_one_shot_iterator, Dataset.make_initializable_iterator, from_structure and
    from_string_handle.

    Args:
        resource: The tensor that stands for it.
        initializer: What it begins with.
        types: Of an element's components.
        shapes: Of an element's components.
    """

    def __init__(self, resource: Tensor, initializer: Operation | None, types: Any, shapes: Any) -> None:
        self._iterator_resource = resource
        self._initializer = initializer
        self._output_types = types
        self._output_shapes = shapes
        self._calls = 0
        self._string_handle = apply(ops.TO_STRING_HANDLE, (resource,)).outputs[0]

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """A reinitializable iterator: it has no dataset until an operation of make_initializer runs.

        Args:
            output_types: Of an element's components.
            output_shapes: Of an element's components.
            shared_name: Resources of one shared name are one; by default the operation's name.
            output_classes: Which components are SparseTensors; by default none.

        Returns:
            The iterator.
        """
        types = structure.with_classes(structure.types_of(output_types), output_classes)
        shapes = structure.shapes_for(types, output_shapes)
        return Iterator(_resource(types, shapes, shared_name), None, types, shapes)

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """A feedable iterator: it is the iterator whose string_handle() gave `string_handle`, in each run.

        The types and shapes are those that the iterators have in common.

        Args:
            string_handle: a scalar string tensor, such as a placeholder.
            output_types: Of an element's components.
            output_shapes: Of an element's components.
            output_classes: Which components are SparseTensors; by default none.

        Returns:
            The iterator.
        """
        types = structure.with_classes(structure.types_of(output_types), output_classes)
        shapes = structure.shapes_for(types, output_shapes)
        handle = convert_to_tensor(string_handle, dtype=dtypes.string)
        op = apply(ops.FROM_STRING_HANDLE, (handle,), structure.attributes(types, shapes))
        return Iterator(op.outputs[0], None, types, shapes)

    @property
    def initializer(self) -> Operation:
        """The operation that puts it at the first element; ValueError if there is none."""
        if self._initializer is None:
            raise ValueError(
                "Iterator does not have an initializer: a one-shot iterator needs none, a reinitializable one has "
                "those that make_initializer gives."
            )
        return self._initializer

    def make_initializer(self, dataset: Described, name: str | None = None) -> Operation:
        """An operation that puts it at the first element of a dataset.

        Args:
            dataset: The dataset.
            name: A name for the operation.

        Returns:
            The operation.

        Raises:
            TypeError: If that has other types or shapes.
            ValueError: If its elements nest otherwise.
        """
        for what, own, other in (
            ("types", self._output_types, dataset._output_types),
            ("shapes", self._output_shapes, dataset._output_shapes),
        ):
            if not structure.same_structure(own, other):
                raise ValueError(
                    f"The two structures don't have the same nested structure: the iterator's output {what} {own!r} "
                    f"and the dataset's {other!r}."
                )
            fits = all(
                a.is_compatible_with(b)
                for a, b in zip(structure.flatten(own), structure.flatten(other), strict=True)
            )
            if not fits:
                compatible = "" if what == "types" else "compatible with "
                raise TypeError(
                    f"Expected output {what} {compatible}{own!r} but got dataset with output {what} {other!r}."
                )
        graph = get_default_graph()
        with graph.colocate_with(self._iterator_resource.op):
            return apply(
                ops.MAKE_ITERATOR,
                (dataset._variant_tensor, self._iterator_resource),
                None,
                name or "make_initializer",
            )

    def get_next(self, name: str | None = None) -> Any:
        """The next element, as a structure of tensors; each run takes one, however many of its tensors are fetched.

        Running it raises OutOfRangeError at the end.

        Args:
            name: A name for the operation.
        """
        self._calls += 1
        if self._calls > MANY_CALLS:
            file, line = user_line()
            warnings.warn(f"{MANY_CALLS_TEXT} The last one is at {file}:{line}.", stacklevel=2)
        attrs = structure.attributes(self._output_types, self._output_shapes)
        op = apply(ops.GET_NEXT, (self._iterator_resource,), attrs, name)
        return structure.received(self._output_types, self._output_shapes, op.outputs)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A scalar string tensor, whose value stands for the iterator within its session.

        Args:
            name: A name for the operation.
        """
        if name is None:
            return self._string_handle
        return apply(ops.TO_STRING_HANDLE, (self._iterator_resource,), None, name).outputs[0]

    @property
    def output_types(self) -> Any:
        """The structure of the dtypes."""
        return structure.shown(self._output_types, self._output_shapes)[0]

    @property
    def output_shapes(self) -> Any:
        """The structure of the shapes."""
        return structure.shown(self._output_types, self._output_shapes)[1]

    @property
    def output_classes(self) -> Any:
        """The structure of the classes: Tensor or SparseTensor for each component."""
        return structure.shown(self._output_types, self._output_shapes)[2]

    @property
    def element_spec(self) -> Any:
        """The structure of the specs of an element, such as gf.TensorSpec."""
        return specs_for(self._output_types, self._output_shapes)


def _resource(types: Any, shapes: Any, shared_name: str | None) -> Tensor:
    attrs = {"shared_name": shared_name or "", "container": "", **structure.attributes(types, shapes)}
    resource = apply(ops.ITERATOR, (), attrs).outputs[0]
    get_default_graph().add_to_collection(GLOBAL_ITERATORS, resource)
    return resource


def make_initializable_iterator(dataset: Described, shared_name: str | None = None) -> Iterator:
    """An iterator over a dataset that its initializer begins (tf.data.make_initializable_iterator).

    Args:
        dataset: The dataset.
        shared_name: The name of its state, by default that of its operation: iterators of one name share a
            position.

    Returns:
        The iterator.
    """
    graph = dataset._variant_tensor.graph
    with graph.as_default():
        count_more(
            3
        )  # TensorFlow's dataset is one that says which optimizations there are, and one that tunes it.
        resource = _resource(dataset._output_types, dataset._output_shapes, shared_name)
        with graph.colocate_with(resource.op):
            initializer = apply(ops.MAKE_ITERATOR, (dataset._variant_tensor, resource))
        return Iterator(resource, initializer, dataset._output_types, dataset._output_shapes)


def make_one_shot_iterator(dataset: Described) -> Iterator:
    """An iterator over a dataset that begins by itself (tf.data.make_one_shot_iterator).

    Args:
        dataset: The dataset.

    Returns:
        The iterator.

    Raises:
        ValueError: If the dataset depends on placeholders or variables.
    """
    graph = dataset._variant_tensor.graph
    with graph.as_default():
        body = FunctionGraph(graph, by_value=True)
        name = graph.unique_name("_make_dataset".strip("_"))
        try:
            factory = body.finish(name, (), (dataset._variant_tensor,))
        except ValueError as error:
            if "by value" not in str(error):
                raise
            raise ValueError(
                "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not "
                "support datasets that capture stateful objects, such as a `Variable`, or placeholders. Use "
                f"`Dataset.make_initializable_iterator()` instead. (Original error: {error})"
            ) from None
        attrs = {
            "dataset_factory": factory,
            "shared_name": "",
            "container": "",
            **structure.attributes(dataset._output_types, dataset._output_shapes),
        }
        resource = apply(ops.ONE_SHOT_ITERATOR, (), attrs).outputs[0]
        graph.add_to_collection(GLOBAL_ITERATORS, resource)
        return Iterator(resource, None, dataset._output_types, dataset._output_shapes)


def get_output_types(dataset_or_iterator: Described) -> Any:
    """The structure of the dtypes of the elements of a dataset or an iterator (tf.data.get_output_types).

    Args:
        dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Described) -> Any:
    """The structure of the shapes of the elements of a dataset or an iterator (tf.data.get_output_shapes).

    Args:
        dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Described) -> Any:
    """The structure of the classes of the elements of a dataset or an iterator (tf.data.get_output_classes).

    Args:
        dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.output_classes
