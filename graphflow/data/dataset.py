"""gf.data.Dataset: a description of a sequence of elements, built in the graph (tf.data.Dataset).

Every transformation adds one op. Nothing is read before an iterator asks for an element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from graphflow._core.common.shown.graphs import facts_html
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, SparseTensorLike, TensorLike
from graphflow._core.ops.array.joining import stack
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.io import datasets as ops
from graphflow._core.ops.io import whole_datasets as whole
from graphflow._core.ops.io.files import matching_files
from graphflow.data import iterators, structure
from graphflow.data.functions import ElementFunction, StateFunction
from graphflow.data.iterators import Iterator
from graphflow.data.nested import DatasetOf
from graphflow.data.options import Options, merged
from graphflow.data.parameters import (
    MAX_INT32,
    as_bool,
    as_int64,
    known_shape,
    known_size,
    padded_shape,
    padding_value,
    seeds_of,
)
from graphflow.data.sparse_slices import sparse_slices
from graphflow.data.specs import specs_for
from graphflow.errors import InvalidArgumentError

AUTOTUNE = -1
"""Lets a number be chosen: of parallel calls, or of elements made ahead."""


class Dataset(structure.Component):
    """A sequence of elements, each a tensor or a nested tuple or dictionary of tensors.

    Made by the functions from_tensors, from_tensor_slices, from_generator, range, zip and list_files, and by the
    methods of other datasets. Errors in shapes and types raise at the line that builds them; errors in values when an
    element is taken, naming the op of the dataset and the user's line.

    Args:
        variant_tensor: The tensor that stands for it.
        types: Of an element's components.
        shapes: Of an element's components.
    """

    def __init__(self, variant_tensor: Tensor, types: Any, shapes: Any) -> None:
        self._variant_tensor = variant_tensor
        self._output_types = types
        self._output_shapes = shapes
        self._options: tuple[Options, ...] = ()
        """Those of the datasets that it is made of, and its own."""

    # ---- what it is ------------------------------------------------------------------------------------------------

    @property
    def output_types(self) -> Any:
        """The structure of the dtypes of an element."""
        return structure.shown(self._output_types, self._output_shapes)[0]

    @property
    def output_shapes(self) -> Any:
        """The structure of the shapes of an element."""
        return structure.shown(self._output_types, self._output_shapes)[1]

    @property
    def output_classes(self) -> Any:
        """The structure of the classes of an element: Tensor or SparseTensor for each component."""
        return structure.shown(self._output_types, self._output_shapes)[2]

    @property
    def element_spec(self) -> Any:
        """The structure of the specs of an element, such as gf.TensorSpec."""
        return specs_for(self._output_types, self._output_shapes)

    def _component(self) -> tuple[structure.Kind, TensorShape]:
        return DatasetOf(self._output_types, self._output_shapes), self._variant_tensor.shape

    def _in_a_row(self, components: Sequence[Dataset]) -> Dataset:
        types, forms = self._output_types, self._output_shapes
        for one in components:
            if one._output_types != types or not structure.same_structure(one._output_shapes, forms):
                raise TypeError(f"Datasets in a list have elements of one type, got {components!r}.")
        pairs = zip(*[structure.flatten(one._output_shapes) for one in components], strict=True)
        common = [TensorShape(reduce(shapes.relax, [shape.raw for shape in each])) for each in pairs]
        return Dataset(
            stack([one._variant_tensor for one in components]), types, structure.pack(forms, common)
        )

    def __repr__(self) -> str:
        name = self._variant_tensor.op.name
        return f"<gf.data.Dataset {name!r} shapes={self._output_shapes} types={self.output_types}>"

    def _repr_html_(self) -> str:
        op = self._variant_tensor.op
        facts = (
            ("op", f"{op.name} ({op.type})"),
            ("types", self.output_types),
            ("shapes", self._output_shapes),
        )
        return facts_html("Dataset", facts)

    def __iter__(self) -> Any:
        raise RuntimeError(
            "A dataset is not iterable while the graph is built: run the result of "
            "make_one_shot_iterator().get_next() in a session."
        )

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that begins by itself.

        Raises:
            ValueError: If the dataset depends on placeholders or variables.
        """
        return iterators.make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that its `initializer` begins, as often as that is run.

        Args:
            shared_name: The name of its state, by default that of its operation: iterators of one name share
                a position.
        """
        return iterators.make_initializable_iterator(self, shared_name)

    # ---- sources ---------------------------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element.

        Args:
            tensors: A nested structure of tensors.

        Returns:
            A dataset of one element.
        """
        element = as_components(tensors)
        types, forms = structure.signature(element)
        return built(ops.TENSOR, (structure.moved(element),), types, forms, Toutput_types=True)

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """The slices of tensors along their first axis.

        Args:
            tensors: A nested structure of tensors of equal first axis.

        Returns:
            A dataset of the rows.

        Raises:
            ValueError: If the sizes of that axis differ.

        Examples:
            >>> dataset = gf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 2).batch(2)
            >>> element = dataset.make_one_shot_iterator().get_next()
            >>> with gf.Session() as session:
            ...     print(session.run(element), session.run(element))
            [2 4] [6]
        """
        element = as_components(tensors)
        types, forms = structure.signature(element)
        sizes: shapes.Dims = (None,)
        for number, form in enumerate(structure.flatten(forms)):
            if form.raw == ():
                raise ValueError(
                    f"Slices are taken along the first axis, but component {number} is a scalar of shape ()."
                )
            try:
                sizes = shapes.merge(sizes, form.raw if form.raw is None else form.raw[:1])
            except ValueError:
                raise ValueError(
                    "The components must have the same size in their first axis, got the shapes "
                    f"{', '.join(map(str, structure.flatten(forms)))}."
                ) from None
        forms = structure.map_structure(lambda shape: shape[1:], forms)
        return built(
            ops.TENSOR_SLICE, (structure.moved(element, rows=True),), types, forms, Toutput_types=True
        )

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensorLike) -> Dataset:
        """The slices of a SparseTensor along its first axis, in which it must be ordered.

        Args:
            sparse_tensor: A SparseTensor of rank 1 or more.

        Returns:
            A dataset of tuples (indices, values, shape), of which gf.SparseTensor(*element) makes a SparseTensor.

        Raises:
            TypeError: If it is no SparseTensor.
        """
        return Dataset(*sparse_slices(sparse_tensor))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None, args: Any = None
    ) -> Dataset:
        """The elements of the iterable that generator(*args) returns.

        An iterator that goes on from a checkpoint calls it again and drops as many elements as it had taken.

        Args:
            generator: A function without arguments, or with `args`, that gives an iterator.
            output_types: With `output_shapes`: structures of what is yielded; unknown shapes by default.
            output_shapes: See `output_types`.
            args: Tensors, whose values the function gets as arrays.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        types = structure.types_of(output_types)
        forms = structure.shapes_for(types, output_shapes)

        def take_apart(value: Any) -> Sequence[Any]:
            return structure.flatten_up_to(types, value, "What `generator` yields")

        given = [] if args is None else [convert_to_tensor(a, name="args") for a in tuple(args)]
        return built(ops.GENERATOR, (given,), types, forms, generator=generator, take_apart=take_apart)

    @staticmethod
    def range(*args: Any) -> Dataset:
        """int64 numbers, with the arguments of Python's range: stop; start, stop; start, stop, step.

        Args:
            *args: Of Python's range.

        Returns:
            A dataset of int64 scalars.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Dataset.range takes one to three arguments, got {len(args)}.")
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        inputs = (as_int64(start, "start"), as_int64(stop, "stop"), as_int64(step, "step"))
        return built(ops.RANGE, inputs, dtypes.int64, TensorShape([]))

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Elements of several datasets side by side: `datasets` is a nested tuple or dictionary of them.

        Args:
            datasets: A nested structure of datasets.

        Returns:
            A dataset of elements in that structure.
        """
        sources = structure.flatten(datasets)
        for source in sources:
            if not isinstance(source, Dataset):
                what = "a list" if isinstance(source, list) else repr(source)
                raise TypeError(
                    f"The argument to `Dataset.zip()` must be a nested structure of datasets, got {what}. Use a tuple."
                )
        types = structure.pack(datasets, [source._output_types for source in sources])
        forms = structure.pack(datasets, [source._output_shapes for source in sources])
        return built(ops.ZIP, (sources,), types, forms, N=len(sources))

    @staticmethod
    def list_files(file_pattern: TensorLike, shuffle: bool | None = None, seed: int | None = None) -> Dataset:
        """The names of the files that match patterns such as "data/*.txt"; in random order unless shuffle is False.

        Args:
            file_pattern: A pattern, or several.
            shuffle: Whether the order is another in each epoch.
            seed: The op's own seed; with the graph's it decides what is drawn.

        Returns:
            A dataset of strings.
        """
        files = matching_files(file_pattern)
        dataset = Dataset.from_tensor_slices(files)
        return dataset if shuffle is False else dataset.shuffle(MAX_INT32, seed)

    # ---- order and number ------------------------------------------------------------------------------------------

    def concatenate(self, dataset: Dataset) -> Dataset:
        """These elements, then those of another dataset.

        Args:
            dataset: A dataset of the same types.

        Returns:
            A dataset.

        Raises:
            TypeError: If its types differ.
        """
        if not structure.same_structure(self._output_types, dataset._output_types) or structure.flatten(
            self._output_types
        ) != structure.flatten(dataset._output_types):
            raise TypeError(
                f"Two datasets to concatenate have different types {self.output_types} and {dataset.output_types}"
            )
        pairs = zip(
            structure.flatten(self._output_shapes), structure.flatten(dataset._output_shapes), strict=True
        )
        forms = structure.pack(
            self._output_shapes, [TensorShape(shapes.relax(a.raw, b.raw)) for a, b in pairs]
        )
        inputs = (self, dataset)
        return built(ops.CONCATENATE, inputs, self._output_types, forms)

    def repeat(self, count: IntTensorLike | None = None) -> Dataset:
        """The elements `count` times; for ever if it is None or -1.

        Args:
            count: How often; None or -1 for ever.

        Returns:
            A dataset.
        """
        return self._same(ops.REPEAT, as_int64(-1 if count is None else count, "count"))

    def take(self, count: IntTensorLike) -> Dataset:
        """The first `count` elements; all if it is -1 or too large.

        Args:
            count: How many; -1 for all.

        Returns:
            A dataset.
        """
        return self._same(ops.TAKE, as_int64(count, "count"))

    def skip(self, count: IntTensorLike) -> Dataset:
        """The elements after the first `count`; none if it is -1.

        Args:
            count: How many; -1 for all.

        Returns:
            A dataset.
        """
        return self._same(ops.SKIP, as_int64(count, "count"))

    def shard(self, num_shards: IntTensorLike, index: IntTensorLike) -> Dataset:
        """Every num_shards-th element, from number `index` on: the part of one worker of several.

        Args:
            num_shards: How many parts there are.
            index: Which of them.

        Returns:
            A dataset.
        """
        if isinstance(num_shards, int) and num_shards < 1:
            raise InvalidArgumentError(None, None, f"num_shards must be >= 1; got: {num_shards}")
        if isinstance(num_shards, int) and isinstance(index, int) and not 0 <= index < num_shards:
            raise InvalidArgumentError(
                None, None, f"index must be >= 0 and < num_shards; got: {index} (num_shards: {num_shards})"
            )
        return self._same(ops.SHARD, as_int64(num_shards, "num_shards"), as_int64(index, "index"))

    def shuffle(
        self,
        buffer_size: IntTensorLike,
        seed: IntTensorLike | None = None,
        reshuffle_each_iteration: bool | None = None,
    ) -> Dataset:
        """The elements in random order, drawn from a buffer of the next `buffer_size` (in TensorFlow 1.15's order).

        Args:
            buffer_size: From how many elements is drawn.
            seed: The op's own seed; with the graph's it decides what is drawn.
            reshuffle_each_iteration: Whether each repetition has another order, which it has unless this is
                False.

        Returns:
            A dataset.
        """
        size = as_int64(buffer_size, "buffer_size")
        again = reshuffle_each_iteration is None or bool(reshuffle_each_iteration)
        return self._same(ops.SHUFFLE, size, *seeds_of(seed), reshuffle_each_iteration=again)

    def prefetch(self, buffer_size: IntTensorLike | None) -> Dataset:
        """The elements, made up to `buffer_size` ahead by a thread while the training step runs.

        Args:
            buffer_size: How many elements are made ahead.

        Returns:
            A dataset.
        """
        return self._same(
            ops.PREFETCH, as_int64(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size")
        )

    def cache(self, filename: TensorLike = "") -> Dataset:
        """The elements, kept after the first time: in memory, or in the file `filename`.npz.

        Args:
            filename: The files to keep them in; "" for memory.

        Returns:
            A dataset.
        """
        return self._same(ops.CACHE, convert_to_tensor(filename, dtype=dtypes.string, name="filename"))

    def enumerate(self, start: IntTensorLike = 0) -> Dataset:
        """Pairs of a number, from `start` on, and an element.

        Args:
            start: The first number.

        Returns:
            A dataset.
        """
        return Dataset.zip((Dataset.range(start, dtypes.int64.max), self))

    # ---- functions -------------------------------------------------------------------------------------------------

    def map(self, map_func: Callable[..., Any], num_parallel_calls: IntTensorLike | None = None) -> Dataset:
        """A function of each element, built once as a graph.

        An element that is a tuple is passed as several arguments.

        InvalidArgumentError and the like, when an element is taken, name the failing operation's line.

        Args:
            map_func: A function of an element's components.
            num_parallel_calls: How many run at a time; the order stays.

        Returns:
            A dataset.
        """
        return mapped(self, map_func, num_parallel_calls)

    map_with_legacy_function = map

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the dataset that a function makes of each element, one dataset after the other.

        Args:
            map_func: From an element's components to a dataset.

        Returns:
            A dataset.
        """
        function, inner = self._dataset_function(map_func, "flat_map")
        inputs = (self, function.captures)
        types, forms = inner._output_types, inner._output_shapes
        return built(ops.FLAT_MAP, inputs, types, forms, f=function.graph_function)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: IntTensorLike = AUTOTUNE,
        block_length: IntTensorLike = 1,
        num_parallel_calls: IntTensorLike | None = None,
    ) -> Dataset:
        """The elements of the datasets that a function makes of each element, in turns.

        cycle_length datasets are open at a time; block_length elements in a row come from one.

        Args:
            map_func: From an element's components to a dataset.
            cycle_length: From how many datasets elements are taken in turn.
            block_length: How many are taken of each.
            num_parallel_calls: How many are worked on at once.

        Returns:
            A dataset.
        """
        function, inner = self._dataset_function(map_func, "interleave")
        cycle = _DEFAULT_CYCLE if cycle_length in (None, AUTOTUNE) else cycle_length
        inputs: tuple[Any, ...] = (
            self,
            function.captures,
            as_int64(cycle, "cycle_length"),
            as_int64(block_length, "block_length"),
        )
        definition = ops.INTERLEAVE
        if num_parallel_calls is not None:
            definition = ops.PARALLEL_INTERLEAVE
            inputs = (*inputs, as_int64(num_parallel_calls, "num_parallel_calls"))
        types, forms = inner._output_types, inner._output_shapes
        return built(definition, inputs, types, forms, f=function.graph_function)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which a function gives a true scalar.

        Args:
            predicate: From an element's components to a scalar of bools.

        Returns:
            A dataset.

        Raises:
            ValueError: If it gives anything else.
        """
        function = self._function(predicate, "filter")
        returned = structure.flatten(function.types)
        if returned != [dtypes.bool_] or structure.flatten(function.shapes)[0].raw not in ((), None):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        inputs = (self, function.captures)
        types, forms = self._output_types, self._output_shapes
        return built(ops.FILTER, inputs, types, forms, predicate=function.graph_function)

    filter_with_legacy_function = filter

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """transformation_func(self).

        Args:
            transformation_func: From a dataset to a dataset.

        Returns:
            What it gives.

        Raises:
            TypeError: If that is no dataset.
        """
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset, got {result!r}.")
        return result

    def with_options(self, options: Options) -> Dataset:
        """The same dataset with options, which have no effect but that options() says them.

        Args:
            options: A gf.data.Options.

        Returns:
            A dataset.

        Raises:
            ValueError: If it has an option already, and of another value.
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes a gf.data.Options, got {options!r}.")
        found = Dataset(self._variant_tensor, self._output_types, self._output_shapes)
        found._options = (self.options().merge(options),)
        return found

    def options(self) -> Options:
        """The options of this dataset and of those that it is made of."""
        return reduce(merged, self._options, Options())

    # ---- batches ---------------------------------------------------------------------------------------------------

    def unbatch(self) -> Dataset:
        """The rows of each element, one after the other.

        Returns:
            A dataset.
        """
        return self.flat_map(lambda *parts: Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0]))

    def batch(self, batch_size: IntTensorLike, drop_remainder: bool = False) -> Dataset:
        """`batch_size` elements one below the other, along a new first axis.

        The last batch may be smaller, or is left out with drop_remainder. InvalidArgumentError, when the batch is
        taken, if the shapes of its elements differ.

        Args:
            batch_size: How many elements a batch has.
            drop_remainder: Whether a last batch of fewer is left out.

        Returns:
            A dataset.
        """
        size, drop = as_int64(batch_size, "batch_size"), as_bool(drop_remainder, "drop_remainder")
        first = known_size(size, drop)
        forms = structure.map_structure(
            lambda shape: TensorShape([first]).concatenate(shape), self._output_shapes
        )
        inputs = (self, size, drop)
        return built(ops.BATCH, inputs, self._output_types, forms, parallel_copy=False)

    def padded_batch(
        self,
        batch_size: IntTensorLike,
        padded_shapes: Any,
        padding_values: Any = None,
        drop_remainder: bool = False,
    ) -> Dataset:
        """`batch_size` elements, each padded to the same shape, one below the other.

        InvalidArgumentError, when the batch is taken, if an element is larger than its padded shape.

        Args:
            batch_size: How many elements a batch has.
            padded_shapes: a structure of shapes, in which None and -1 mean the largest size in the batch.
            padding_values: a structure of scalars, by default 0 and "".
            drop_remainder: Whether a last batch of fewer is left out.

        Returns:
            A dataset.
        """
        if any(isinstance(kind, structure.SparseOf) for kind in structure.flatten(self._output_types)):
            raise TypeError("padded_batch() pads tensors, but a component is a SparseTensor: use batch().")
        size, drop = as_int64(batch_size, "batch_size"), as_bool(drop_remainder, "drop_remainder")
        wanted = [
            padded_shape(shape, known)
            for shape, known in zip(
                structure.flatten_up_to(self._output_types, padded_shapes, "padded_shapes"),
                structure.flatten(self._output_shapes),
                strict=True,
            )
        ]
        types = structure.flatten(self._output_types)
        given = (
            [None] * len(types)
            if padding_values is None
            else structure.flatten_up_to(self._output_types, padding_values, "padding_values")
        )
        padding = [padding_value(value, dtype) for value, dtype in zip(given, types, strict=True)]
        first = known_size(size, drop)
        forms = structure.pack(
            self._output_shapes,
            [TensorShape([first]).concatenate(known_shape(shape)) for shape in wanted],
        )
        inputs = (self, size, wanted, padding, drop)
        return built(ops.PADDED_BATCH, inputs, self._output_types, forms, Toutput_types=True, N=len(types))

    def window(
        self,
        size: IntTensorLike,
        shift: IntTensorLike | None = None,
        stride: IntTensorLike = 1,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Windows of `size` elements, each a dataset; of elements of several components one dataset for each.

        Args:
            size: How many elements a window has.
            shift: How many elements further the next window begins, by default `size`.
            stride: How far apart the elements of a window are.
            drop_remainder: Whether the last windows, of fewer elements, are left out.

        Returns:
            A dataset of datasets.

        Examples:
            >>> windows = gf.data.Dataset.range(5).window(3, shift=1, drop_remainder=True)
            >>> element = windows.flat_map(lambda window: window.batch(3)).make_one_shot_iterator().get_next()
            >>> with gf.Session() as session:
            ...     print(session.run(element), session.run(element))
            [0 1 2] [1 2 3]
        """
        length = as_int64(size, "size")
        inputs = (
            self,
            length,
            length if shift is None else as_int64(shift, "shift"),
            as_int64(stride, "stride"),
            as_bool(drop_remainder, "drop_remainder"),
        )
        pairs = zip(
            structure.flatten(self._output_types), structure.flatten(self._output_shapes), strict=True
        )
        types = structure.pack(self._output_types, [DatasetOf(kind, shape) for kind, shape in pairs])
        return built(ops.WINDOW, inputs, types, structure.map_structure(lambda _: TensorShape([]), types))

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """The state after a function of a state and an element was called with each element.

        Args:
            initial_state: A structure of tensors, given to the first call.
            reduce_func: From a state and an element to the next state, of the same structure and types.

        Returns:
            The last state, a structure of tensors. A run that takes it goes through the whole dataset.

        Raises:
            TypeError: If the function gives a state of other types.
        """
        state = as_components(initial_state)
        step = StateFunction(self, structure.signature(state), reduce_func, "reduce")
        inputs = (self._variant_tensor, structure.moved(state), step.function.captures)
        attrs = {"f": step.function.graph_function, **step.attributes}
        attrs |= structure.attributes(step.types, step.shapes)
        return structure.received(step.types, step.shapes, apply(whole.REDUCE, inputs, attrs).outputs)

    # ---- helpers ---------------------------------------------------------------------------------------------------

    def _same(self, definition: OpDef, *parameters: Tensor, **attrs: Any) -> Dataset:
        """A dataset whose elements are of the same kind."""
        inputs = (self, *parameters)
        return built(definition, inputs, self._output_types, self._output_shapes, **attrs)

    def _function(self, function: Callable[..., Any], transformation: str) -> ElementFunction:
        return ElementFunction(function, transformation, self._output_types, self._output_shapes)

    def _dataset_function(
        self, function: Callable[..., Any], transformation: str
    ) -> tuple[ElementFunction, Dataset]:
        made = self._function(function, transformation)
        if not isinstance(made.returned, Dataset):
            raise TypeError("`map_func` must return a `Dataset` object.")
        return made, made.returned


_DEFAULT_CYCLE = 4


DatasetOf.install(Dataset)


def mapped(
    dataset: Dataset,
    map_func: Callable[..., Any],
    num_parallel_calls: IntTensorLike | None,
    keeps_count: bool = False,
) -> Dataset:
    """A function of each element; keeps_count: whether it is an error if the function comes to an end by itself."""
    function = dataset._function(map_func, "map")
    inputs = (dataset, function.captures)
    attrs = {"f": function.graph_function, "preserve_cardinality": keeps_count}
    if num_parallel_calls is None:
        return built(ops.MAP, inputs, function.types, function.shapes, **attrs)
    calls = convert_to_tensor(num_parallel_calls, dtype=dtypes.int32, name="num_parallel_calls")
    return built(ops.PARALLEL_MAP, (*inputs, calls), function.types, function.shapes, **attrs)


def built(definition: OpDef, inputs: Sequence[Any], types: Any, forms: Any, **attrs: Any) -> Dataset:
    """The dataset of a new operation, whose elements have these types and shapes; datasets may be among the inputs."""
    described = structure.attributes(types, forms)
    if attrs.pop("Toutput_types", False):
        attrs["Toutput_types"] = described["output_types"]
        if definition is not ops.PADDED_BATCH:
            described.pop("output_types")
    op: Operation = apply(definition, [_tensors(value) for value in inputs], {**described, **attrs})
    found = Dataset(op.outputs[0], types, forms)
    sources = [s for value in inputs for s in (value if isinstance(value, list) else [value])]
    found._options = tuple(one for s in sources if isinstance(s, Dataset) for one in s._options)
    return found


def _tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [_tensors(one) for one in value]
    return value._variant_tensor if isinstance(value, Dataset) else value


def as_components(tensors: Any) -> Any:
    """A structure of values as the components of an element."""
    with get_default_graph().name_scope("normalize_element"):
        return structure.to_tensors(tensors)
