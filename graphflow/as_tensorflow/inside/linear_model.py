"""The linear model of feature columns with the arguments that it had first (_LinearModel of feature_column)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow.feature_column.base import FeatureColumn
from graphflow.keras.layers.linear_features import LinearModel


class OldLinearModel(LinearModel):
    """gf's LinearModel, which takes weight_collections, too.

    Args:
        feature_columns: The columns.
        units: How many sums there are for each example.
        sparse_combiner: "sum", "mean" or "sqrtn": how several values of one column come together.
        weight_collections: Accepted: the weights are in the collections of all variables.
        trainable: Whether optimizers train the weights.
        name: The scope of the weights.
        **kwargs: The arguments of every model.
    """

    def __init__(
        self,
        feature_columns: FeatureColumn | Sequence[FeatureColumn],
        units: int = 1,
        sparse_combiner: str = "sum",
        weight_collections: Sequence[str] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(feature_columns, units, sparse_combiner, trainable, name, **kwargs)
