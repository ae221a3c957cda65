"""Towers' tensors reduced: every way gives every tower the same, on its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf

reduces = gf.contrib.all_reduce
TASKS = [f"/job:worker/replica:0/task:{task}" for task in (0, 1)]
DEVICES = [f"{task}/device:CPU:{place}" for task in TASKS for place in (0, 1)]


def _halved(x: gf.Tensor) -> gf.Tensor:
    return x / 2.0


WAYS: dict[str, Callable[[Any], list[gf.Tensor]]] = {
    "ring": lambda towers: reduces.build_ring_all_reduce(towers, 2, 1, [0, 1], gf.add, _halved),
    "recursive_hd": lambda towers: reduces.build_recursive_hd_all_reduce(towers, gf.add, _halved),
    "shuffle": lambda towers: reduces.build_shuffle_all_reduce(towers, DEVICES[:3], gf.add_n, _halved),
    "nccl": lambda towers: reduces.build_nccl_all_reduce(towers, gf.add, _halved),
    "nccl_ring": lambda towers: reduces.build_nccl_then_ring(towers, 1, gf.add, _halved),
    "nccl_hd": lambda towers: reduces.build_nccl_then_recursive_hd(towers, gf.add, _halved),
    "nccl_shuffle": lambda towers: reduces.build_nccl_then_shuffle(
        towers, DEVICES[:2], gf.add, gf.add_n, _halved
    ),
    "shuffle_ring": lambda towers: reduces.build_shuffle_then_ring(
        towers, DEVICES[::2], 1, gf.add_n, gf.add, _halved
    ),
    "shuffle_shuffle": lambda towers: reduces.build_shuffle_then_shuffle(
        towers, DEVICES[::2], DEVICES[1::2], gf.add_n, _halved
    ),
}


def _towers(devices: list[str], shape: tuple[int, ...] = (2, 5)) -> tuple[list[gf.Tensor], Any]:
    values = np.random.default_rng(0).standard_normal((len(devices), *shape))
    towers = []
    for device, value in zip(devices, values, strict=True):
        with gf.device(device):
            towers.append(gf.constant(value))
    return towers, values


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(2, 5), (3,), (), (0,)])
def test_every_tower_has_the_sum(way: str, shape: tuple[int, ...]) -> None:
    with gf.Graph().as_default() as graph:
        towers, values = _towers(DEVICES, shape)
        found = WAYS[way](towers)
        assert [tensor.device for tensor in found] == DEVICES
        assert [tuple(tensor.shape.as_list()) for tensor in found] == [shape] * 4
        # The devices of a cluster that does not exist are where the graph says; the values come of one that does.
        definition = graph.as_graph_def()
    for node in definition.node:
        node.device = ""
    with gf.Graph().as_default(), gf.Session() as session:
        results = session.run(
            gf.import_graph_def(definition, name="", return_elements=[tensor.name for tensor in found])
        )
    for result in results:
        np.testing.assert_allclose(result, values.sum(0) / 2.0, rtol=1e-12)


def test_what_does_not_fit_is_refused() -> None:
    with gf.Graph().as_default():
        towers, _ = _towers(DEVICES)
        with pytest.raises(ValueError, match="length 2 or longer"):
            reduces.build_ring_all_reduce(towers[:1], 1, 1, [0], gf.add)
        with pytest.raises(ValueError, match="power of 2"):
            reduces.build_recursive_hd_all_reduce(towers[:3], gf.add)
        with pytest.raises(ValueError, match="red_op not supported"):
            reduces.build_nccl_all_reduce(towers, gf.maximum)
        with pytest.raises(ValueError, match="one device per worker"):
            reduces.build_shuffle_then_shuffle(towers, DEVICES[:1], DEVICES[:1], gf.add_n)
        with pytest.raises(ValueError, match="statically known shape"):
            reduces.build_shuffle_all_reduce([gf.placeholder(gf.float32, [None])], DEVICES, gf.add_n)
        with pytest.raises(ValueError, match="Device assignment required"):
            gf.contrib.nccl.all_sum([gf.constant(1.0)])
        with pytest.raises(ValueError, match="Must pass >0 tensors"):
            gf.contrib.nccl.reduce_sum([])


def test_collectives_of_nccl() -> None:
    nccl = gf.contrib.nccl
    devices = ["/cpu:0", "/device:CPU:0"]
    with gf.Graph().as_default(), gf.Session() as session:
        towers, values = _towers(devices)
        found = [nccl.all_sum(towers), nccl.all_prod(towers), nccl.all_min(towers), nccl.all_max(towers)]
        gradient = gf.gradients(found[0], towers)
        sums, products, smallest, largest = session.run(found)
        for results, expected in [
            (sums, values.sum(0)),
            (products, values.prod(0)),
            (smallest, values.min(0)),
            (largest, values.max(0)),
        ]:
            np.testing.assert_allclose(results, [expected] * 2)
        np.testing.assert_allclose(session.run(nccl.reduce_sum(towers)), values.sum(0))
        np.testing.assert_allclose(session.run(nccl.broadcast(towers[1])), values[1])
        np.testing.assert_allclose(session.run(gradient), np.full_like(values, 2.0))
