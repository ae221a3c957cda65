"""Protects the results of updates by index: a fetched one is the variable's value afterwards, in both tiers."""

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize("tier", ["never", "always"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [(gf.scatter_update, [2.0, 5.0]), (gf.scatter_add, [8.0, 5.0]), (gf.scatter_sub, [2.0, 5.0])],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_fetched_result_is_the_value_afterwards(function, expected, tier: str) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        variable = gf.Variable([5.0, 5.0])
        updates = gf.placeholder(gf.float32, [2])
        result = function(variable, [0, 0], updates)
        for _ in range(2):
            session.run(variable.initializer)
            found = session.run(result, {updates: [1.0, 2.0]})
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(session.run(variable), expected)
