"""Protects small functions of contrib, with the values that TensorFlow 1.15.5 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

X = np.array([[1.0, 2.0, 3.0], [0.1, -0.2, 0.3], [-5.0, 5.0, 0.0]], np.float32)
LABELS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], np.float32)


def run(value: Any) -> Any:
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        return session.run(value)


def test_sparsemax_and_its_loss_with_gradients() -> None:
    x = gf.constant(X)
    found = gf.contrib.sparsemax.sparsemax(x)
    loss = gf.contrib.sparsemax.sparsemax_loss(x, found, LABELS)
    values = run([found, loss, *gf.gradients(found * LABELS, x), *gf.gradients(loss, x)])
    expected: list[Any] = [
        [[0, 0, 1], [0.36666667, 0.06666668, 0.5666667], [0, 1, 0]],
        [0.0, 0.36333334, 2.25],
        [[0, 0, 0], [0.6666666, -0.33333334, -0.33333334], [0, 0, 0]],
        [[0, 0, 0], [-0.6333333, 0.06666668, 0.5666667], [0, 0.5, -0.5]],
    ]
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_sparsemax_of_what_is_no_number_is_none() -> None:
    rows = [[np.nan, 1.0, 2.0], [np.nan] * 3, [1.0, 1.0, 0.0]]
    found = run(gf.contrib.sparsemax.sparsemax(rows))
    assert np.isnan(found[:2]).all() and found[2].tolist() == [0.5, 0.5, 0.0]


def test_activations_of_contrib_nn() -> None:
    x = gf.constant(X)
    np.testing.assert_allclose(
        run(gf.contrib.nn.scaled_softplus(x, 2.0)),
        [
            [1.948154, 2.6265233, 3.4028265],
            [1.4369192, 1.2887934, 1.5419141],
            [0.15777949, 5.1577797, 1.3862944],
        ],
        rtol=1e-6,
    )
    clipped = run(gf.contrib.nn.scaled_softplus(x, 2.0, clip=1.0))
    assert clipped.max() == 1.0 and clipped[2, 0] == pytest.approx(0.15777949)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    gf.set_random_seed(1)
    values = np.random.default_rng(0).standard_normal(200_000).astype("f")
    found = run(gf.contrib.nn.alpha_dropout(values, 0.7))
    assert abs(found.mean()) < 0.02 and abs(found.std() - 1.0) < 0.02
    few = run(gf.contrib.nn.alpha_dropout(gf.ones([6]), 0.5, seed=3))
    assert set(few.round(4)) <= {np.float32(1.6656), np.float32(-0.7792)}
    together = run(gf.contrib.nn.alpha_dropout(gf.ones([8, 3]), 0.5, noise_shape=[8, 1]))
    assert all(len(set(row)) == 1 for row in together)
    x = gf.constant(X)
    assert gf.contrib.nn.alpha_dropout(x, 1.0) is x
    with pytest.raises(ValueError, match=r"in the range \(0, 1\]"):
        gf.contrib.nn.alpha_dropout(x, 0.0)


@pytest.mark.parametrize(
    ("with_step", "static_max_norm", "expected"),
    [
        (False, None, [[0.6382766, 0.8510355], [0.6896274, 0.9195032], [0.7422323, 0.98964316]]),
        (True, None, [[3.0, 4.0]] * 3),
        (False, 0.5, [[0.29417419, 0.39223227]] * 3),
    ],
)
def test_gradients_of_unusual_norm_are_scaled_down(
    with_step: bool, static_max_norm: float | None, expected: list[list[float]]
) -> None:
    variable = gf.get_variable("v", initializer=[1.0, 2.0])
    step = gf.train.get_or_create_global_step() if with_step else None
    clip = gf.contrib.layers.adaptive_clipping_fn(static_max_norm=static_max_norm, global_step=step)
    rows = gf.IndexedSlices(gf.constant([1.0]), gf.constant([0]))
    (clipped, _), (none, _), (sparse, _) = clip(
        [(gf.constant([3.0, 4.0]), variable), (None, variable), (rows, variable)]
    )
    assert none is None and isinstance(sparse, gf.IndexedSlices)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        found = [session.run(clipped) for _ in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    averages = {v.name for v in gf.global_variables()} - {"v:0", "global_step:0"}
    assert averages == {"AdaptiveMaxNorm/mean:0", "AdaptiveMaxNorm/sq_mean:0"}


def test_rows_are_looked_up_once() -> None:
    table = np.arange(12.0).reshape(4, 3)
    ids = np.array([[3, 0], [3, 3]])
    found = gf.contrib.layers.embedding_lookup_unique(table, ids)
    assert found.shape.as_list() == [2, 2, 3]
    np.testing.assert_array_equal(run(found), table[ids])


def test_names_and_placeholders_of_graphs() -> None:
    framework = gf.contrib.framework
    assert framework.get_name_scope() == ""
    with gf.name_scope("q"):
        assert framework.get_name_scope() == "q"
    assert framework.strip_name_scope("a/b", "a") == "b" and framework.strip_name_scope("ab/c", "a") == "ab/c"
    assert (
        framework.strip_name_scope("^a/b", "a/") == "^b" and framework.strip_name_scope("a/b", None) == "a/b"
    )
    assert framework.prepend_name_scope("loc:@b", "a") == "loc:@a/b"
    assert framework.prepend_name_scope("b", None) == "b"
    placeholder = gf.placeholder(gf.float32)
    assert framework.get_placeholders(gf.get_default_graph()) == [placeholder]
    assert run(framework.reduce_sum_n([gf.constant([1.0, 2.0]), gf.constant(3.0)])) == 6.0
    with pytest.raises(ValueError, match="No tensors provided"):
        framework.reduce_sum_n([])
    with pytest.raises(ValueError, match="Expected integer type for Const"):
        framework.assert_scalar_int(gf.constant(1.0))
    with pytest.raises(ValueError, match="Expected scalar shape"):
        framework.assert_scalar_int(gf.constant([1]))
    assert run(framework.assert_scalar_int(3)) == 3
    sparse = gf.SparseTensor([[0]], [1], [2])
    assert framework.convert_to_tensor_or_sparse_tensor(sparse) is sparse
    with pytest.raises(RuntimeError, match="Sparse dtype"):
        framework.convert_to_tensor_or_sparse_tensor(sparse, gf.float32)
    assert run(framework.convert_to_tensor_or_sparse_tensor([1, 2])).tolist() == [1, 2]
    variable = gf.get_variable("v", initializer=[1.0, 2.0])
    with gf.Session() as session:
        assert session.run(framework.zero_initializer(variable)).tolist() == [0.0, 0.0]
    assert framework.assert_or_get_global_step() is None
    step = gf.train.create_global_step()
    assert framework.assert_or_get_global_step() is step
    assert framework.assert_or_get_global_step(global_step_tensor=step) is step


def test_towers_values_are_reduced_by_tensorflows_names() -> None:
    strategy = gf.distribute.OneDeviceStrategy("/cpu:0")
    kinds = gf.distribute.ReduceOp
    with strategy.scope():
        value = strategy.call_for_each_tower(lambda: gf.constant([1.0, 3.0]))
        found = [
            strategy.unwrap(strategy.reduce(kind, value, axis=axis))[0]
            for kind, axis in ((kinds.SUM, None), ("mean", 0), (kinds.SUM, 0))
        ]
        with pytest.raises(ValueError, match="aggregation must be"):
            strategy.reduce("product", value)
    first, mean, total = run(found)
    assert first.tolist() == [1.0, 3.0] and mean == 2.0 and total == 4.0
