"""Protects feature columns of contrib.layers where they differ from those of gf.feature_column."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf

layers = gf.contrib.layers


def test_boundaries_that_follow_themselves_count_once() -> None:
    column = layers.bucketized_column(layers.real_valued_column("a"), [1.0, 2.0, 2.0, 3.0, 3.0])
    assert column.boundaries == (1.0, 2.0, 3.0)
    with gf.Graph().as_default(), gf.Session() as session:
        buckets = layers.input_from_feature_columns({"a": gf.constant([[0.5], [2.0], [9.0]])}, [column])
        np.testing.assert_array_equal(session.run(buckets), np.eye(4)[[0, 2, 3]])
    with pytest.raises(ValueError, match="sorted"):
        layers.bucketized_column(layers.real_valued_column("a"), [1.0, 3.0, 2.0])


@pytest.mark.parametrize("dtype", [gf.float32, gf.float64, gf.int32, gf.int64])
def test_columns_that_are_inferred_have_the_dtype_of_their_feature(dtype: gf.DType) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        feature = gf.constant([[1, 2], [3, 4]], dtype)
        (column,) = layers.infer_real_valued_columns(feature)
        assert column.dtype == dtype
        spec = layers.create_feature_spec_for_parsing([layers.real_valued_column("b", 2, dtype=dtype)])
        assert spec["b"].dtype == dtype
        found = session.run(layers.input_from_feature_columns({"": feature}, [column]))
        assert found.dtype == np.float32 and found.tolist() == [[1.0, 2.0], [3.0, 4.0]]
