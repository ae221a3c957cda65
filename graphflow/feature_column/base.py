"""What every column is: a name, what it makes of raw features, and what of that a model takes.

A column holds no tensors: it is a value that can be compared. For each graph a FeatureTransformationCache keeps what
was made of the features, so that what two columns share is made once; a StateManager makes the variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.ops.array.array import expand_dims, shape, stack
from graphflow._core.ops.array.extents import rank
from graphflow._core.ops.array.indexing import gather_nd, where
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.io.parsing import VarLenFeature
from graphflow._core.ops.math.comparison import equal, not_equal
from graphflow._core.ops.sparse.sparse import sparse_reshape
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.scopes import control_dependencies


class IdWeightPair(NamedTuple):
    """The ids of a categorical column, and their weights or None."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class TensorSequenceLengthPair(NamedTuple):
    """A sequence for each example [batch, longest, ...], and how long each is."""

    dense_tensor: Tensor
    sequence_length: Tensor


_IdWeights = IdWeightPair
_Sequences = TensorSequenceLengthPair


class StateManager:
    """Makes the variables of columns, each when it is first asked for, in the variable scope of that moment.

    Args:
        trainable: Whether they are trained.
        collections: To which they are added beside MODEL_VARIABLES and GLOBAL_VARIABLES; None if TensorFlow's layers
            would make them, which add them to GLOBAL_VARIABLES alone.
    """

    def __init__(self, trainable: bool = True, collections: list[str] | None = None) -> None:
        self.trainable = trainable
        self.collections = collections
        self._made: dict[tuple[FeatureColumn, str], Any] = {}

    def variable(
        self,
        column: FeatureColumn,
        name: str,
        dims: tuple[int, ...],
        initializer: Any,
        trainable: bool = True,
    ) -> Any:
        """The variable of a column by that name."""
        if (column, name) not in self._made:
            wanted = None
            if self.collections is not None:
                wanted = list(
                    dict.fromkeys([*self.collections, GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES])
                )
            self._made[column, name] = get_variable(
                name,
                dims,
                dtypes.float32,
                initializer,
                trainable=self.trainable and trainable,
                collections=wanted,
            )
        return self._made[column, name]

    def variables(self, column: FeatureColumn) -> Iterator[Any]:
        """Those of a column."""
        return (variable for (owner, _), variable in self._made.items() if owner == column)


class FeatureColumn:
    """A column: frozen dataclasses derive from it, so that those with the same fields are equal.

    A subclass defines `name`, `parse_example_spec` and `transform_feature`. Columns of before TensorFlow 1.13 define
    these with an underscore before their names, and take what keeps the features and, in place of a StateManager,
    `weight_collections` and `trainable`; the columns here have such names, too.
    """

    @property
    def name(self) -> str:
        """Its name, by which columns are put in order and variables are called."""
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What gf.parse_example reads for it: FixedLenFeature and the like by the name of the feature."""
        self._needs("_parse_example_spec", FeatureColumn)
        return self._parse_example_spec

    @property
    def scope_name(self) -> str:
        """The variable scope of its variables."""
        return self.name

    def transform_feature(self, cache: FeatureTransformationCache, state: StateManager) -> Any:
        """What is made of the features, which the cache keeps."""
        self._needs("_transform_feature", FeatureColumn)
        return self._transform_feature(cache)

    def _needs(self, old_name: str, base: type) -> None:
        """NotImplementedError unless the column's class defines this, as those of before TensorFlow 1.13 do."""
        if getattr(type(self), old_name) is getattr(base, old_name):
            raise NotImplementedError(f"{type(self).__name__} defines neither {old_name[1:]} nor {old_name}.")

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    @property
    def _var_scope_name(self) -> str:
        return self.scope_name

    def _transform_feature(self, inputs: FeatureTransformationCache) -> Any:
        return self.transform_feature(inputs, StateManager())


class NamedColumn(FeatureColumn):
    """A column of one feature, whose name it has, and of which an example has any number of values."""

    key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The feature's."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A VarLenFeature."""
        return {self.key: VarLenFeature(self.dtype)}


class DenseColumn(FeatureColumn):
    """A column that gives so many numbers for each example."""

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of what it gives, without the batch."""
        self._needs("_variable_shape", DenseColumn)
        return TensorShape(self._variable_shape)

    def get_dense_tensor(self, cache: FeatureTransformationCache, state: StateManager) -> Tensor:
        """The numbers [batch, *variable_shape]."""
        self._needs("_get_dense_tensor", DenseColumn)
        return self._get_dense_tensor(cache, state.collections, state.trainable)

    @property
    def _variable_shape(self) -> TensorShape:
        return self.variable_shape

    def _get_dense_tensor(
        self, inputs: FeatureTransformationCache, weight_collections: Iterable[str] | None = None,
        trainable: bool | None = None,
    ) -> Tensor:  # fmt: skip
        return self.get_dense_tensor(inputs, _state_for(weight_collections, trainable))


class CategoricalColumn(FeatureColumn):
    """A column that gives ids for each example, one, none or several."""

    @property
    def num_buckets(self) -> int:
        """How many ids there are."""
        self._needs("_num_buckets", CategoricalColumn)
        return self._num_buckets

    def get_sparse_tensors(self, cache: FeatureTransformationCache, state: StateManager) -> _IdWeights:
        """The ids [batch, most of an example]; most columns have no weights."""
        if type(self)._get_sparse_tensors is not CategoricalColumn._get_sparse_tensors:
            return self._get_sparse_tensors(cache, state.collections, state.trainable)
        return IdWeightPair(cache.get(self, state), None)

    IdWeightPair = _IdWeights

    @property
    def _num_buckets(self) -> int:
        return self.num_buckets

    def _get_sparse_tensors(
        self, inputs: FeatureTransformationCache, weight_collections: Iterable[str] | None = None,
        trainable: bool | None = None,
    ) -> _IdWeights:  # fmt: skip
        return self.get_sparse_tensors(inputs, _state_for(weight_collections, trainable))


class SequenceDenseColumn(FeatureColumn):
    """A column that gives a sequence of vectors for each example."""

    def get_sequence_dense_tensor(self, cache: FeatureTransformationCache, state: StateManager) -> _Sequences:
        """The sequences and their lengths."""
        self._needs("_get_sequence_dense_tensor", SequenceDenseColumn)
        return self._get_sequence_dense_tensor(cache, state.collections, state.trainable)

    TensorSequenceLengthPair = _Sequences

    def _get_sequence_dense_tensor(
        self, inputs: FeatureTransformationCache, weight_collections: Iterable[str] | None = None,
        trainable: bool | None = None,
    ) -> _Sequences:  # fmt: skip
        return self.get_sequence_dense_tensor(inputs, _state_for(weight_collections, trainable))


def _state_for(weight_collections: Iterable[str] | None, trainable: bool | None) -> StateManager:
    return StateManager(trainable is not False, list(weight_collections or ()))


class FeatureTransformationCache:
    """Features by name, and what columns made of them.

    Args:
        features: Tensors or SparseTensors by name; vectors become matrices with one column.
    """

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = dict(features)
        self._made: dict[Any, Any] = {}

    def get(self, key: str | FeatureColumn, state: StateManager | None = None) -> Any:
        """A feature, or what a column makes of its own.

        Args:
            key: The name of a feature, or a column.
            state: Makes variables, which few columns need here.

        Raises:
            ValueError: If there is no such feature, or it is a scalar.
            TypeError: If the key is neither a name nor a column.
        """
        if key not in self._made:
            self._made[key] = self._make(key, state or StateManager())
        return self._made[key]

    def _make(self, key: str | FeatureColumn, state: StateManager) -> Any:
        if isinstance(key, str):
            if key not in self._features:
                raise ValueError(f"Feature {key} is not in features dictionary.")
            return _as_matrix(key, self._features[key])
        if not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key}')
        return key.transform_feature(self, state)


def _as_matrix(key: str, feature: Any) -> Any:
    given = (
        SparseTensor.from_value(feature)
        if isinstance(feature, SparseTensor | SparseTensorValue)
        else convert_to_tensor(feature)
    )
    ndims = given.shape.ndims
    if ndims is None:
        # It is looked at when the graph runs.
        found = rank(given)
        message = f"Feature (key: {key}) cannot have rank 0. Given: {given}"
        with control_dependencies([assert_positive(found, message=message)]):
            return cond(equal(found, 1), lambda: _with_column(given), lambda: given)
    if ndims == 0:
        raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {given}")
    return _with_column(given) if ndims == 1 else given


def _with_column(vector: Any) -> Any:
    """A vector, dense or sparse, as a matrix with one column."""
    if isinstance(vector, SparseTensor):
        return sparse_reshape(vector, stack([vector.dense_shape[0], 1]))
    return expand_dims(vector, -1)


def transform_features(features: Mapping[str, Any], feature_columns: Any) -> dict[FeatureColumn, Any]:
    """What each column makes of its features, without what it makes of that for a model.

    Args:
        features: Tensors or SparseTensors by name.
        feature_columns: Columns.

    Returns:
        A tensor or SparseTensor for each column.
    """
    cache = FeatureTransformationCache(features)
    return {column: cache.get(column) for column in normalized(feature_columns)}


def to_sparse(feature: Any, ignored: Any = None) -> SparseTensor:
    """A matrix as a SparseTensor without what stands for nothing: "" and -1, or `ignored`."""
    if isinstance(feature, SparseTensor):
        return feature
    with op_scope(None, "to_sparse_input", [feature]):
        if ignored is None:
            ignored = b"" if feature.dtype is dtypes.string else -1 if feature.dtype.is_integer else 0
        empty = constant(ignored, feature.dtype, name="ignore_value")
        places = where(not_equal(feature, empty), name="indices")
        values = gather_nd(feature, places, name="values")
        return SparseTensor(places, values, shape(feature, out_type=dtypes.int64, name="dense_shape"))


def check_key(key: object) -> None:
    """ValueError unless the name of a feature is a string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_string_or_integer(dtype: DType, what: str) -> None:
    """ValueError for another dtype."""
    if dtype is not dtypes.string and not dtype.is_integer:
        raise ValueError(f"{what} dtype must be string or integer. dtype: {dtype}.")


def check_same_kind(column: Any, found: SparseTensor) -> None:
    """ValueError unless a feature is of strings or integers as its column says."""
    check_string_or_integer(found.dtype, f"column_name: {column.key} input_tensor")
    if column.dtype.is_integer != found.dtype.is_integer:
        raise ValueError(
            f"Column dtype and SparseTensors dtype must be compatible. key: {column.key}, column dtype: "
            f"{column.dtype}, tensor dtype: {found.dtype}"
        )


def with_values(sparse: SparseTensor, values: Tensor) -> SparseTensor:
    """A SparseTensor with other values at the same places."""
    return SparseTensor(sparse.indices, values, sparse.dense_shape)


def normalized(columns: Any) -> list[Any]:
    """Columns in the order of their names.

    Raises:
        ValueError: If there is none, one is no column, or two have one name.
    """
    if isinstance(columns, FeatureColumn):
        columns = [columns]
    if isinstance(columns, Mapping):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    found = list(columns)
    for column in found:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"Items of feature_columns must be a FeatureColumn. Given (type {type(column)}): {column}."
            )
    if not found:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, FeatureColumn] = {}
    for column in found:
        if column.name in by_name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {by_name[column.name]}. This usually "
                "means that these columns refer to same base feature. Either one must be discarded or a duplicated but "
                "renamed item must be inserted in features dict."
            )
        by_name[column.name] = column
    return sorted(found, key=lambda column: column.name)


def check_batch_sizes(tensors: list[Tensor], columns: list[Any]) -> None:
    """ValueError if two tensors are known to be of different batches."""
    known = [
        (c.name, t.dims[0]) for c, t in zip(columns, tensors, strict=True) if t.dims and t.dims[0] is not None
    ]
    for name, size in known[1:]:
        if size != known[0][1]:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({known[0][0]}, {name}): ({known[0][1]}, {size})"
            )


def number_of_elements(column: DenseColumn) -> int:
    """How many numbers a dense column gives for each example."""
    count = column.variable_shape.num_elements()
    if count is None:
        raise ValueError(
            f"The shape of {column.name} is not known: {shapes.text(column.variable_shape.raw)}."
        )
    return int(count)
