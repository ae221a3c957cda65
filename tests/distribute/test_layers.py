"""Protects every layer under every strategy of one process (promise 24): a step gives the numbers of one device.

Both towers get the same batch, so that batch statistics, too, are those of one device; the moving averages of batch
normalization must then be the same as well. Strategies over tasks go through the same code; see test_strategies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf

D = gf.distribute
_random = np.random.RandomState(5)
IMAGES = _random.normal(size=(3, 6, 6, 4)).astype(np.float32)
VOLUMES = _random.normal(size=(2, 4, 4, 4, 2)).astype(np.float32)
ROWS = _random.normal(size=(5, 7)).astype(np.float32)
SERIES = _random.normal(size=(2, 8, 3)).astype(np.float32)
L = gf.layers
INIT = gf.glorot_uniform_initializer(seed=4)
ADDED = gf.contrib.layers.l2_regularizer(0.1)

LAYERS: dict[str, tuple[np.ndarray, Callable[[Any], Any]]] = {
    "dense": (ROWS, lambda x: L.dense(x, 3, kernel_initializer=INIT, kernel_regularizer=ADDED, bias_regularizer=ADDED)),
    "dense_twice": (ROWS, lambda x: L.dense(L.dense(x, 7, kernel_initializer=INIT), 2, kernel_initializer=INIT)),
    "dense_shared": (
        ROWS,
        lambda x: L.dense(
            L.dense(x, 7, kernel_initializer=INIT, name="a"), 7, kernel_initializer=INIT, name="a", reuse=True
        ),
    ),
    "layer_object": (ROWS, lambda x: (lambda layer: layer(layer(x)))(L.Dense(7, kernel_initializer=INIT))),
    "activity": (ROWS, lambda x: L.dense(x, 3, kernel_initializer=INIT, activity_regularizer=ADDED)),
    "conv1d": (SERIES, lambda x: L.conv1d(x, 2, 3, kernel_initializer=INIT)),
    "conv2d": (IMAGES, lambda x: L.conv2d(x, 2, 3, kernel_initializer=INIT, kernel_regularizer=ADDED)),
    "conv3d": (VOLUMES, lambda x: L.conv3d(x, 2, 2, kernel_initializer=INIT)),
    "conv2d_transpose": (IMAGES, lambda x: L.conv2d_transpose(x, 2, 3, strides=2, kernel_initializer=INIT)),
    "conv3d_transpose": (VOLUMES, lambda x: L.conv3d_transpose(x, 2, 2, kernel_initializer=INIT)),
    "separable_conv2d": (
        IMAGES,
        lambda x: L.separable_conv2d(x, 3, 3, depthwise_initializer=INIT, pointwise_initializer=INIT),
    ),
    "batch_normalization": (ROWS, lambda x: L.batch_normalization(x, training=True)),
    "batch_normalization_fused": (IMAGES, lambda x: L.batch_normalization(x, training=True, momentum=0.7)),
    "batch_normalization_fed": (ROWS, lambda x: L.batch_normalization(x, training=gf.constant(True))),
    "pooling": (IMAGES, lambda x: L.max_pooling2d(L.conv2d(x, 2, 3, kernel_initializer=INIT), 2, 2)),
    "embedding": (
        ROWS,
        lambda x: x[:, :2] * gf.nn.embedding_lookup(
            gf.get_variable("table", initializer=ROWS[:, :2]), gf.constant([0, 2, 2, 1, 0])
        ),
    ),
}  # fmt: skip


def trained(strategy: Any, name: str, towers: int) -> dict[str, Any]:
    data, layer = LAYERS[name]

    def tower() -> Any:
        weight = gf.get_variable("weight", initializer=0.5)
        outputs = layer(gf.constant(data)) * weight
        gf.losses.mean_squared_error(gf.ones_like(outputs), outputs)
        with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
            return gf.train.MomentumOptimizer(0.1, 0.9).minimize(gf.losses.get_total_loss())

    with gf.Graph().as_default(), strategy.scope():
        train_op = gf.group(strategy.unwrap(strategy.call_for_each_tower(tower)))
        variables = {v.name: v for v in gf.global_variables()}
        copies = [strategy.unwrap(v) for v in gf.trainable_variables()]
        begin = gf.global_variables_initializer()
        with gf.Session(config=gf.ConfigProto(device_count={"CPU": towers})) as session:
            session.run(begin)
            for _ in range(3):
                session.run(train_op)
            found, same = session.run([variables, copies])
    for values in same:
        assert all(np.array_equal(values[0], other) for other in values)
    return found


@pytest.mark.parametrize("name", LAYERS)
def test_promise_24_a_layer_trains_as_on_one_device(name: str) -> None:
    expected = trained(D.OneDeviceStrategy("/cpu:0"), name, 1)
    for strategy, towers in (
        (D.MirroredStrategy(num_devices=2), 2),
        (D.ParameterServerStrategy(), 1),
        (TwoTowersOneCopy(), 2),
    ):
        found = trained(strategy, name, towers)
        assert sorted(found) == sorted(expected)
        for key, value in expected.items():
            assert np.allclose(found[key], value, rtol=1e-5, atol=1e-6), key


class TwoTowersOneCopy(D.DistributionStrategy):
    """Towers that share variables, as those of InGraphStrategy do."""

    def tower_devices(self) -> list[str]:
        """Two of this process."""
        return ["/cpu:0", "/cpu:1"]
