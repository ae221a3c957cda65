"""Feature columns as layers (tf.keras.layers.DenseFeatures, tf.keras.experimental.SequenceFeatures)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.feature_column.base import SequenceDenseColumn, StateManager, normalized, number_of_elements
from graphflow.feature_column.layers import dense_features, parts, sequence_features
from graphflow.keras import ops
from graphflow.keras.backend import state
from graphflow.keras.engine.base_layer import Layer
from graphflow.keras.layers.column_configs import deserialize_feature_columns, serialize_feature_columns
from graphflow.keras.typing import Config, Elements, Objects, Shapes, Tensors


class _VariablesOfLayer(StateManager):
    """Makes the variables of columns, and gives them to a layer."""

    def __init__(self, layer: Any) -> None:
        super().__init__(layer.trainable)
        self._layer = layer

    def variable(
        self, column: Any, name: str, dims: tuple[int, ...], initializer: Any, trainable: bool = True
    ) -> Any:
        """The variable of a column by that name."""
        is_new = (column, name) not in self._made
        found = super().variable(column, name, dims, initializer, trainable)
        if is_new:
            for part in parts(found):
                state.track_variable(part)
            self._layer.keep_variable(found)
        return found


class Features(Layer):
    """A layer of columns."""

    def __init__(
        self, feature_columns: Elements, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        self._feature_columns = normalized(feature_columns)
        self._columns_variables = _VariablesOfLayer(self)

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        return {**super().get_config(), "feature_columns": serialize_feature_columns(self._feature_columns)}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The layer of a configuration that get_config gave.

        Args:
            config: The configuration.
            custom_objects: Classes and functions of the program's own, by name.

        Returns:
            A new layer.
        """
        columns = deserialize_feature_columns(config["feature_columns"], custom_objects)
        return cls(**{**config, "feature_columns": columns})

    def keep_variable(self, variable: Any) -> None:
        """Makes a variable, or each part of one, one of the layer's weights."""
        for part in parts(variable):
            (self._trainable_weights if part.trainable else self._non_trainable_weights).append(part)

    @contextmanager
    def _scope_of(self, column: Any) -> Iterator[None]:
        names = (variable_scope(name, auxiliary_name_scope=False) for name in (self.name, column.name))
        with next(names), next(names), ops.name_scope(column.name):
            yield

    def _shape_after(self, input_shape: Shapes, axes: int) -> Any:
        """So many axes of the first feature, and the elements of all columns."""
        one = next(iter(input_shape.values())) if isinstance(input_shape, dict) else input_shape
        elements = sum(number_of_elements(column) for column in self._feature_columns)
        return shapes.TensorShape([*shapes.as_shape(one).as_list()[:axes], elements])


class DenseFeatures(Features):
    """What dense feature columns give of a dictionary of tensors, side by side (tf.keras.layers.DenseFeatures).

    Args:
        feature_columns: Dense columns, such as gf.feature_column.numeric_column and embedding_column make.
        trainable: Whether the columns' variables are trained.
        name: The name; by default one is made.
        **kwargs: The arguments of every layer, such as `dtype`.
    """

    def call(self, features: Tensors, cols_to_output_tensors: dict[Any, Any] | None = None) -> Any:
        """The columns' values.

        Args:
            features: Tensors or SparseTensors by name.
            cols_to_output_tensors: Is filled with what each column gives.

        Returns:
            A tensor [batch, elements of all columns], in the order of the columns' names.

        Raises:
            ValueError: The features are no dictionary, one is missing, or a column is not dense.
        """
        return dense_features(
            features,
            self._feature_columns,
            self._columns_variables,
            self._scope_of,
            None,
            cols_to_output_tensors,
        )

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """[batch, elements of all columns].

        Args:
            input_shape: The shapes of the features, by name.

        Returns:
            The shape.
        """
        return self._shape_after(input_shape, 1)


class SequenceFeatures(Features):
    """What columns of sequences give, side by side, and the lengths (tf.keras.experimental.SequenceFeatures).

    Args:
        feature_columns: Columns of sequences: sequence_numeric_column, or those of ids in an embedding or indicator.
        trainable: Whether the columns' variables are trained.
        name: The name; by default one is made.
        **kwargs: The arguments of every layer, such as `dtype`.

    Raises:
        ValueError: A column is of no sequence.
    """

    def __init__(
        self, feature_columns: Elements, trainable: bool = True, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(feature_columns, trainable, name, **kwargs)
        odd = next((c for c in self._feature_columns if not isinstance(c, SequenceDenseColumn)), None)
        if odd is not None:
            raise ValueError(f"SequenceFeatures takes columns of sequences, not {odd}.")

    def call(self, features: Tensors) -> Any:
        """The columns' values, step by step.

        Args:
            features: SparseTensors by name.

        Returns:
            A tensor [batch, longest, elements of all columns], and the lengths.
        """
        return sequence_features(features, self._feature_columns, self._columns_variables, self._scope_of)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """[batch, steps, elements of all columns].

        Args:
            input_shape: The shapes of the features, by name.

        Returns:
            The shape.
        """
        return self._shape_after(input_shape, 2)
