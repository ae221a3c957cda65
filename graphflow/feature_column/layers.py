"""What models take of columns: one matrix of all dense ones, or the sum of all, weighted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.array.array import concat, expand_dims, identity, reshape, shape, stack, tile
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_rank, assert_type
from graphflow._core.ops.core import partial_shape
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.numeric import add_n
from graphflow._core.ops.nn.embedding import safe_embedding_lookup_sparse
from graphflow._core.ops.nn.nn import bias_add
from graphflow._core.ops.sparse.sparse import sparse_reshape
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope
from graphflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    FeatureTransformationCache,
    SequenceDenseColumn,
    StateManager,
    check_batch_sizes,
    normalized,
    number_of_elements,
)

ColumnScope = Callable[[FeatureColumn], Any]


def unique_scope(column: FeatureColumn) -> Any:
    """A scope of its own, as input_layer has."""
    return variable_scope(None, default_name=column.scope_name)


def _checked(columns: Any, kind: type | tuple[type, ...], what: str) -> list[Any]:
    found = normalized(columns)
    for column in found:
        if not isinstance(column, kind):
            raise ValueError(f"Items of feature_columns must be a {what}. Given: {column}")
    return found


def _check_features(features: Any) -> None:
    if not isinstance(features, Mapping):
        raise ValueError(f"We expected a dictionary here. Instead we got: {features}")


DENSE = "DenseColumn. You can wrap a categorical column with an embedding_column or indicator_column"


def dense_features(
    features: Mapping[str, Any], columns: Iterable[DenseColumn], state: StateManager, scope: ColumnScope,
    cols_to_vars: dict[Any, list[Any]] | None = None, cols_to_output_tensors: dict[Any, Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """What dense columns give, side by side in the order of their names [batch, all elements]."""
    _check_features(features)
    cache, outputs = FeatureTransformationCache(features), []
    found = _checked(columns, DenseColumn, DENSE)
    for column in found:
        with scope(column):
            tensor = column.get_dense_tensor(cache, state)
            outputs.append(reshape(tensor, stack([shape(tensor)[0], number_of_elements(column)])))
            if cols_to_vars is not None:
                inside = get_variable_scope().name
                cols_to_vars[column] = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, inside)
        if cols_to_output_tensors is not None:
            cols_to_output_tensors[column] = outputs[-1]
    check_batch_sizes(outputs, found)
    return concat(outputs, 1)


def input_layer(
    features: Mapping[str, Any], feature_columns: Any, weight_collections: Iterable[str] | None = None,
    trainable: bool = True, cols_to_vars: dict[Any, list[Any]] | None = None,
    cols_to_output_tensors: dict[Any, Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """One matrix of what dense columns give (tf.feature_column.input_layer).

    Args:
        features: Tensors or SparseTensors by name.
        feature_columns: Dense columns, such as of numeric_column or embedding_column.
        weight_collections: Of the variables, beside GLOBAL_VARIABLES and MODEL_VARIABLES.
        trainable: Whether they are trained.
        cols_to_vars: Is filled with the variables of each column.
        cols_to_output_tensors: Is filled with what each column gives.

    Returns:
        A float32 tensor [batch, elements of all columns], in the order of their names.

    Raises:
        ValueError: If a column is not dense, or a feature is missing.
    """
    state = StateManager(trainable, list(weight_collections or ()))
    with variable_scope(None, default_name="input_layer"):
        return dense_features(
            features, feature_columns, state, unique_scope, cols_to_vars, cols_to_output_tensors
        )


def _weighted(
    column: Any, cache: FeatureTransformationCache, state: StateManager, units: int, combiner: str
) -> Tensor:
    is_ids = isinstance(column, CategoricalColumn)
    rows = column.num_buckets if is_ids else number_of_elements(column)
    if not is_ids:
        dense = column.get_dense_tensor(cache, state)
        weights = state.variable(column, "weights", (rows, units), Zeros())
        found: Tensor = matmul(reshape(dense, stack([shape(dense)[0], rows])), weights, name="weighted_sum")
        return found
    weights = state.variable(column, "weights", (rows, units), Zeros())
    ids, amounts = column.get_sparse_tensors(cache, state)
    # The places of the weights do not count, and may be others than those of the ids.
    amounts = None if amounts is None else _as_rows(amounts)
    found = safe_embedding_lookup_sparse(weights, _as_rows(ids), amounts, combiner, name="weighted_sum")
    known = partial_shape(ids.dense_shape)
    found.set_shape((None if known is None else known[0], units))
    return found


def _as_rows(sparse: SparseTensor) -> SparseTensor:
    return sparse_reshape(sparse, stack([sparse.dense_shape[0], -1]))


def weighted_sum(
    features: Mapping[str, Any], columns: Any, state: StateManager, scope: ColumnScope, units: int,
    sparse_combiner: str, cols_to_vars: dict[Any, list[Any]] | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """The sum of what columns give, each times weights of its own, and a bias; and the variable of the bias."""
    _check_features(features)
    cache, sums = FeatureTransformationCache(features), []
    found = _checked(columns, (DenseColumn, CategoricalColumn), "DenseColumn or CategoricalColumn")
    for column in found:
        with scope(column):
            sums.append(_weighted(column, cache, state, units, sparse_combiner))
        if cols_to_vars is not None:
            cols_to_vars[column] = [part for v in state.variables(column) for part in parts(v)]
    check_batch_sizes(sums, found)
    bias = state.variable(found[0], "bias_weights", (units,), Zeros())
    if cols_to_vars is not None:
        cols_to_vars["bias"] = parts(bias)
    return bias_add(add_n(sums, name="weighted_sum_no_bias"), _whole(bias), name="weighted_sum"), bias


def parts(variable: Any) -> list[Any]:
    """The parts of a partitioned variable; a variable is its only one."""
    return list(variable) if hasattr(variable, "as_tensor") and hasattr(variable, "__iter__") else [variable]


def _whole(variable: Any) -> Any:
    return variable.as_tensor() if hasattr(variable, "as_tensor") else variable


def linear_model(
    features: Mapping[str, Any], feature_columns: Any, units: int = 1, sparse_combiner: str = "sum",
    weight_collections: Iterable[str] | None = None, trainable: bool = True,
    cols_to_vars: dict[Any, list[Any]] | None = None,
) -> Tensor:  # fmt: skip
    """The sum of what columns give, each times weights of its own, and a bias (tf.feature_column.linear_model).

    Args:
        features: Tensors or SparseTensors by name.
        feature_columns: Columns of any kind but sequences.
        units: How many sums there are for each example.
        sparse_combiner: "mean", "sqrtn" or "sum", if a categorical column has several ids for an example.
        weight_collections: Of the variables, beside GLOBAL_VARIABLES and MODEL_VARIABLES.
        trainable: Whether they are trained.
        cols_to_vars: Is filled with the variables of each column, and that of the bias under "bias".

    Returns:
        A float32 tensor [batch, units].

    Raises:
        ValueError: If a column is of another kind, or a feature is missing.
    """
    state = StateManager(trainable, list(weight_collections or ()))
    with variable_scope(None, default_name="linear_model"):
        return weighted_sum(
            features, feature_columns, state, unique_scope, units, sparse_combiner, cols_to_vars
        )[0]


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """What gf.parse_example reads for columns (tf.feature_column.make_parse_example_spec).

    Args:
        feature_columns: The columns.

    Returns:
        FixedLenFeature and the like by the name of the feature.

    Raises:
        ValueError: If one is no column, or two want a feature in different ways.
    """
    found: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be FeatureColumn instances. Given: {column}")
        for key, wanted in column.parse_example_spec.items():
            if found.setdefault(key, wanted) != wanted:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {wanted} and {found[key]}"
                )
    return found


class InputLayer:
    """As input_layer, with variables that are made once and used by every call.

    Args:
        feature_columns: Dense columns.
        weight_collections: Of the variables.
        trainable: Whether they are trained.
        cols_to_vars: As input_layer takes it.
        name: Of its variable scope.
        create_scope_now: Changes nothing: the scope is made at the first call.
    """

    def __init__(
        self, feature_columns: Any, weight_collections: Iterable[str] | None = None, trainable: bool = True,
        cols_to_vars: dict[Any, list[Any]] | None = None, name: str = "feature_column_input_layer",
        create_scope_now: bool = True,
    ) -> None:  # fmt: skip
        self._columns = normalized(feature_columns)
        self._state = StateManager(trainable, list(weight_collections or ()))
        self._cols_to_vars = cols_to_vars
        self.name: str = name

    def __call__(self, features: Mapping[str, Any]) -> Tensor:
        """The matrix of what the columns give."""
        with variable_scope(self.name):
            return dense_features(features, self._columns, self._state, plain_scope, self._cols_to_vars)


@contextmanager
def plain_scope(column: FeatureColumn) -> Iterator[None]:
    """The scope of a column as TensorFlow's layers of columns have it."""
    with variable_scope(column.scope_name):
        yield


def sequence_input_layer(
    features: Mapping[str, Any], feature_columns: Any, weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Sequences of what columns give, side by side (tf.contrib.feature_column.sequence_input_layer).

    Args:
        features: SparseTensors by name.
        feature_columns: Columns of sequences: sequence_numeric_column, or those of ids in an embedding or indicator.
        weight_collections: Of the variables, beside GLOBAL_VARIABLES and MODEL_VARIABLES.
        trainable: Whether they are trained.

    Returns:
        A float32 tensor [batch, longest, elements of all columns], and the lengths, an int64 vector.

    Raises:
        ValueError: If a column is of no sequence.
    """
    state = StateManager(trainable, list(weight_collections or ()))
    with variable_scope(None, default_name="sequence_input_layer"):
        return sequence_features(features, feature_columns, state, unique_scope)


def sequence_features(
    features: Mapping[str, Any], columns: Any, state: StateManager, scope: ColumnScope
) -> tuple[Tensor, Tensor]:
    """What columns of sequences give, side by side in the order of their names, and the lengths."""
    found = _checked(columns, SequenceDenseColumn, "SequenceDenseColumn")
    cache = FeatureTransformationCache(features)
    outputs, lengths = [], []
    for column in found:
        with scope(column):
            tensor, length = column.get_sequence_dense_tensor(cache, state)
            size = stack([*(shape(tensor)[i] for i in range(2)), number_of_elements(column)])
            outputs.append(reshape(tensor, size))
            lengths.append(length)
    same = [assert_equal(lengths[0], other) for other in lengths[1:]]
    with control_dependencies(same):
        return concat(outputs, -1), identity(lengths[0])


def concatenate_context_input(context_input: Tensor, sequence_input: Tensor) -> Tensor:
    """Each step of sequences with what is known of the whole one behind it.

    This is concatenate_context_input of TensorFlow's sequence_feature_column.

    Args:
        context_input: A float32 tensor [batch, numbers].
        sequence_input: A float32 tensor [batch, longest, elements].

    Returns:
        A float32 tensor [batch, longest, elements + numbers].

    Raises:
        ValueError: One has another rank.
        TypeError: One has another dtype.
    """
    checks = []
    for found, ndims, name in ((sequence_input, 3, "sequence_input"), (context_input, 2, "context_input")):
        message = f"{name} must have rank {ndims}"
        checks.append(assert_rank(found, ndims, message=message, data=[shape(found)]))
        assert_type(found, dtypes.float32, message=f"{name} must have dtype float32")
    with control_dependencies([check for check in checks if check is not None]):
        steps = shape(sequence_input)[1]
        repeated = tile(expand_dims(context_input, 1), stack([1, steps, 1]))
    return concat([sequence_input, repeated], 2)
