"""Protects reducers and strategies of extensions: they keep what every strategy keeps."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf
from graphflow import extend
from tests.extend import acme


def test_the_strategy_keeps_what_a_strategy_keeps() -> None:
    gf.testing.check_strategy(acme.MirroredByTree(["/cpu:0", "/cpu:1"]))


@pytest.mark.parametrize("count", range(1, 6))
@pytest.mark.parametrize("aggregation", ["SUM", "MEAN"])
def test_the_reducer_adds_up_on_every_device(count: int, aggregation: str) -> None:
    devices = [f"/cpu:{i}" for i in range(count)]
    how = getattr(gf.VariableAggregation, aggregation)
    values = np.random.default_rng(count).standard_normal((count, 2, 3)).astype(np.float32)
    with gf.Graph().as_default():
        held = []
        for device, value in zip(devices, values, strict=True):
            with gf.device(device):
                held.append(gf.constant(value))
        found = acme.TreeReducer().reduce(how, extend.PerDevice(held, devices), devices)
        tensors = [found.get(device) for device in devices] if count > 1 else [found]
        assert [gf.DeviceSpec.from_string(t.device).device_index for t in tensors] == list(range(count))
        with gf.Session(config=gf.ConfigProto(device_count={"CPU": count})) as session:
            results = session.run(tensors)
    expected = values.sum(0) if aggregation == "SUM" else values.mean(0)
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_it_reduces_under_graphflows_own_strategy() -> None:
    gf.testing.check_strategy(
        gf.distribute.MirroredStrategy(num_devices=2, reducer=acme.TreeReducer()),
        properties=["reduction", "training"],
    )
