"""A linear model of feature columns that is trained by itself (LinearModel of TensorFlow's feature_column_v2)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.feature_column.base import CategoricalColumn, DenseColumn
from graphflow.feature_column.layers import weighted_sum
from graphflow.keras import ops
from graphflow.keras.engine.training import Model
from graphflow.keras.layers.features import Features
from graphflow.keras.typing import Config, Elements, Phase, Shapes, Tensors


class _WeightedSum(Features):
    """What columns give, each times weights of its own, and a bias."""

    def __init__(
        self, feature_columns: Elements, units: int, sparse_combiner: str, trainable: bool, name: str
    ) -> None:
        super().__init__(feature_columns, trainable, name)
        odd = [c for c in self._feature_columns if not isinstance(c, DenseColumn | CategoricalColumn)]
        if odd:
            raise ValueError(
                f"Items of feature_columns must be either a DenseColumn or CategoricalColumn. Given: {odd[0]}"
            )
        self._units = units
        self._sparse_combiner = sparse_combiner
        self.bias: Any = None

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        return {**super().get_config(), "units": self._units, "sparse_combiner": self._sparse_combiner}

    @contextmanager
    def _scope_of(self, column: Any) -> Iterator[None]:
        with variable_scope(column.name, auxiliary_name_scope=False), ops.name_scope(column.name):
            yield

    def call(self, features: Tensors) -> Any:
        """The sums [batch, units]."""
        with variable_scope(self.name, auxiliary_name_scope=False):
            found, self.bias = weighted_sum(
                features, self._feature_columns, self._columns_variables, self._scope_of, self._units,
                self._sparse_combiner,
            )  # fmt: skip
        return found

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """[batch, units]."""
        one = next(iter(input_shape.values())) if isinstance(input_shape, dict) else input_shape
        return shapes.TensorShape([shapes.as_shape(one).as_list()[0], self._units])


class LinearModel(Model):
    """The sum of what feature columns give, each times weights of its own, and a bias.

    It is what gf.feature_column.linear_model computes, as a model to be compiled and fit on a dictionary of arrays.

    Args:
        feature_columns: Columns of any kind but sequences.
        units: How many sums there are for each example.
        sparse_combiner: "mean", "sqrtn" or "sum", if a categorical column has several ids for an example.
        trainable: Whether the weights are trained.
        name: The name; by default one is made.
        **kwargs: The arguments of every model.

    Raises:
        ValueError: A column is of another kind, or there is none.
    """

    def __init__(
        self, feature_columns: Elements, units: int = 1, sparse_combiner: str = "sum", trainable: bool = True,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.layer = _WeightedSum(feature_columns, units, sparse_combiner, trainable, self.name)

    def call(self, inputs: Tensors, training: Phase = None, mask: Tensors = None) -> Any:
        """The sums.

        Args:
            inputs: Tensors or SparseTensors by name.
            training: Changes nothing.
            mask: Changes nothing.

        Returns:
            A float32 tensor [batch, units].

        Raises:
            ValueError: The features are no dictionary, or one is missing.
        """
        return self.layer(inputs)

    @property
    def bias(self) -> Any:
        """The bias, a variable [units]; None before the first call."""
        return self.layer.bias
