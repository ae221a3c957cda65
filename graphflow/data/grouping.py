"""Elements gathered by a key, or by their lengths (tf.data.experimental.group_by_window, bucket_by_sequence_length)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.control_flow.assertions import assert_less
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.io import datasets as ops
from graphflow._core.ops.io import more_datasets as more_ops
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater_equal
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.data import structure
from graphflow.data.dataset import Dataset, built
from graphflow.data.functions import ElementFunction, StateFunction

Transformation = Callable[[Dataset], Dataset]


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Tensor, Dataset], Dataset],
    window_size: TensorLike | None = None,
    window_size_func: Callable[[Tensor], Any] | None = None,
) -> Transformation:
    """Windows of elements with the same key, of each of which a function makes a dataset.

    Args:
        key_func: From an element's components to a scalar of int64.
        reduce_func: From a key and a dataset of its elements to a dataset, such as a batch of them.
        window_size: How many elements a window has at most.
        window_size_func: From a key to that number; one of the two is given.

    Returns:
        What Dataset.apply takes.

    Raises:
        ValueError: If both are given or none, or a function gives no such scalar.
        TypeError: If reduce_func gives no dataset.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")

    def size_of(key: Tensor) -> Any:
        if window_size_func is not None:
            return window_size_func(key)
        assert window_size is not None
        return convert_to_tensor(window_size, dtype=dtypes.int64)

    def apply(dataset: Dataset) -> Dataset:
        types, shapes = dataset._output_types, dataset._output_shapes
        scalar = TensorShape([])

        def as_key(*element: Any) -> Any:
            return cast(key_func(*element), dtypes.int64)

        def as_size(key: Tensor) -> Any:
            return cast(size_of(key), dtypes.int64)

        def reduce(key: Tensor, window: Tensor) -> Dataset:
            return reduce_func(key, Dataset(window, types, shapes))

        keys = ElementFunction(as_key, "group_by_window", _tuple(types), _tuple(shapes))
        sizes = ElementFunction(as_size, "group_by_window", dtypes.int64, scalar)
        reduced = ElementFunction(reduce, "group_by_window", (dtypes.int64, dtypes.variant), (scalar, scalar))
        for what, function in (("key_func", keys), ("window_size_func", sizes)):
            if function.shapes.raw not in ((), None):
                raise ValueError(f"`{what}` must return a single tf.int64 tensor, a scalar.")
        made = reduced.returned
        if not isinstance(made, Dataset):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        functions = {"key_func": keys, "reduce_func": reduced, "window_size_func": sizes}
        return _of_functions(ops.GROUP_BY_WINDOW, dataset, functions, made._output_types, made._output_shapes)

    return apply


def _tuple(structured: Any) -> Any:
    """The structure as the arguments of a function: a tuple of components, or of the one that there is."""
    return structured if type(structured) is tuple else (structured,)


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batches of elements of similar lengths, padded to the longest.

    Args:
        element_length_func: From an element's components to its length, a scalar of int32.
        bucket_boundaries: The lengths at which the next bucket begins, ascending.
        bucket_batch_sizes: How many elements a batch of each bucket has: one number more than there are boundaries.
        padded_shapes: To what each component is padded; by default to the longest of the batch.
        padding_values: With what; by default zeros and empty strings.
        pad_to_bucket_boundary: Whether unknown sizes are padded to one less than the bucket's boundary; a length that
            is not less than the last boundary is then an error.
        no_padding: Whether elements are batched as they are.
        drop_remainder: Whether a last batch of fewer is left out.

    Returns:
        What Dataset.apply takes.

    Raises:
        ValueError: If there is another number of batch sizes.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    sizes = np.asarray(bucket_batch_sizes, np.int64)
    limits = np.asarray(bucket_boundaries, np.int32)

    def bucket_of(*element: Any) -> Tensor:
        length = cast(element_length_func(*element), dtypes.int32)
        return cast(reduce_sum(cast(greater_equal(length, constant(limits)), dtypes.int32)), dtypes.int64)

    def size_of(bucket: Tensor) -> Tensor:
        return gather(constant(sizes), bucket)

    def batched(bucket: Tensor, window: Dataset) -> Dataset:
        size = size_of(bucket)
        if no_padding:
            return window.batch(size, drop_remainder)
        shapes = padded_shapes if padded_shapes is not None else window._output_shapes
        if pad_to_bucket_boundary:
            last = constant(len(limits), dtypes.int64)
            message = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            with control_dependencies([assert_less(bucket, last, message=message)]):
                width = gather(constant(limits.astype(np.int64) - 1), bucket)
            shapes = structure.map_structure(lambda shape: _filled(shape, width), shapes)
        return window.padded_batch(size, shapes, padding_values, drop_remainder)

    return group_by_window(bucket_of, batched, window_size_func=size_of)


def _filled(shape: Any, width: Tensor) -> Tensor:
    """The shape with the width for sizes that are not known."""
    sizes = [width if size is None else constant(size, dtypes.int64) for size in TensorShape(shape).as_list()]
    return convert_to_tensor(sizes, dtype=dtypes.int64)


class Reducer:
    """How elements of one key become one (tf.data.experimental.Reducer).

    Args:
        init_func: From a key to the first state.
        reduce_func: From a state and an element to the next state.
        finalize_func: From the last state to an element.
    """

    def __init__(
        self,
        init_func: Callable[[Tensor], Any],
        reduce_func: Callable[[Any, Any], Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._functions = init_func, reduce_func, finalize_func

    @property
    def init_func(self) -> Callable[[Tensor], Any]:
        """From a key to the first state."""
        return self._functions[0]

    @property
    def reduce_func(self) -> Callable[[Any, Any], Any]:
        """From a state and an element to the next state."""
        return self._functions[1]

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """From the last state to an element."""
        return self._functions[2]


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """One element for each key, in the order of the keys: what a reducer makes of all elements of that key.

    Args:
        key_func: From an element's components to a scalar of int64.
        reducer: What makes one of them.

    Returns:
        What Dataset.apply takes.

    Raises:
        ValueError: If key_func gives no such scalar.
        TypeError: If a state has other types than the one before.
    """

    def apply(dataset: Dataset) -> Dataset:
        def as_key(*element: Any) -> Any:
            key = convert_to_tensor(key_func(*element))
            if not key.dtype.is_integer:
                raise ValueError(f"`key_func` must return a single tf.int64 tensor, got {key!r}.")
            return cast(key, dtypes.int64)

        name, types, shapes = "group_by_reducer", dataset._output_types, dataset._output_shapes
        keys = ElementFunction(as_key, name, _tuple(types), _tuple(shapes))
        if keys.types is not dtypes.int64 or keys.shapes.raw not in ((), None):
            raise ValueError("`key_func` must return a single tf.int64 tensor, a scalar.")
        first = ElementFunction(reducer.init_func, name, dtypes.int64, TensorShape([]))
        step = StateFunction(dataset, (first.types, first.shapes), reducer.reduce_func, name)
        last = ElementFunction(reducer.finalize_func, name, step.types, step.shapes)
        functions = {
            "key_func": keys,
            "init_func": first,
            "reduce_func": step.function,
            "finalize_func": last,
        }
        return _of_functions(more_ops.GROUP_BY_REDUCER, dataset, functions, last.types, last.shapes)

    return apply


def _of_functions(
    definition: OpDef, dataset: Dataset, functions: Mapping[str, ElementFunction], types: Any, shapes: Any
) -> Dataset:
    """The dataset of an operation that takes functions by the names of attributes."""
    attrs = {name: one.graph_function for name, one in functions.items()}
    captured = {
        f"T{name}_other_arguments": [t.dtype for t in one.captures] for name, one in functions.items()
    }
    inputs = (dataset, *(one.captures for one in functions.values()))
    return built(definition, inputs, types, shapes, **attrs, **captured)
