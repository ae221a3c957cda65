"""Protects branches that a fed truth value decides: NumPy's numbers for both values, none left in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.session import executables


def _network(training: Any) -> tuple[Any, Any, Any, Any]:
    """A small network with batch normalisation and branches in branches: its input, output, loss and step."""
    gf.set_random_seed(3)
    x = gf.placeholder(gf.float32, [None, 6, 6, 2], name="x")
    h = gf.layers.batch_normalization(gf.layers.conv2d(x, 4, 3), training=training, momentum=0.7)
    h = gf.layers.dense(gf.layers.flatten(gf.nn.relu(h)), 5)
    h = gf.layers.batch_normalization(h, training=training, momentum=0.8)
    h = gf.cond(
        training,
        lambda: gf.cond(gf.logical_not(training), lambda: h * 2.0, lambda: h * 3.0),
        lambda: h * 4.0,
    )
    loss = gf.reduce_mean(gf.square(h - 1.0))
    with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
        step = gf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    return x, h, loss, step


def _trained(tier: str) -> tuple[list[Any], str]:
    """What a session of that tier finds in steps and inferences in turn, and its compiled plans."""
    with gf.Graph().as_default():
        training = gf.placeholder(gf.bool, [], name="training")
        x, h, loss, step = _network(training)
        images = np.random.default_rng(0).standard_normal((8, 6, 6, 2), dtype=np.float32)
        found: list[Any] = []
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            session.run(gf.global_variables_initializer())
            for number in range(4):
                found.append(session.run([loss, step], {x: images, training: True})[0])
                found.append(session.run([loss, step], {x: images, training: number == 2})[0])
                found.append(session.run(h, {x: images[:3], training: number % 2 == 0}))
            found += session.run(gf.global_variables())
            plans = [executable.describe() for executable in executables(session)]
            return found, "\n".join(plans)


def test_both_tiers_agree_for_both_values_and_no_branch_is_left() -> None:
    expected, _ = _trained("never")
    got, plans = _trained("always")
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-4, atol=2e-5)
    assert "FusedBatchNormGradV3" in plans
    assert " If" not in plans


def test_what_is_not_fed_decides_as_a_constant() -> None:
    values = {}
    for tier in ("never", "always"):
        with gf.Graph().as_default():
            training = gf.placeholder_with_default(False, [], name="training")
            x, h, _, _ = _network(training)
            images = np.ones((2, 6, 6, 2), np.float32)
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                session.run(gf.global_variables_initializer())
                values[tier] = [session.run(h, {x: images}) for _ in range(2)]
                values[tier].append(session.run(h, {x: images, training: True}))
                values[tier].append(session.run(h, {x: images, training: False}))
    np.testing.assert_allclose(values["always"], values["never"], rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("tier", ["never", "always"])
def test_what_follows_a_branch_by_control_still_follows_it(tier: str) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        flag = gf.placeholder(gf.bool, [])
        v, w = gf.Variable(np.ones(3, np.float32)), gf.Variable(np.zeros(3, np.float32))
        branch = gf.cond(flag, lambda: v.assign_add(gf.ones([3])), lambda: v.assign(gf.zeros([3])))
        with gf.control_dependencies([branch]):
            after = w.assign(v + 1.0)
        session.run(gf.global_variables_initializer())
        found = []
        for value in (True, True, False):
            session.run(after.op, {flag: value})
            found.append(session.run(w)[0])
        assert found == [3.0, 4.0, 1.0]


@pytest.mark.parametrize("shape", [[], [3, 4]])
@pytest.mark.parametrize("fed", [True, False])
def test_the_gradient_of_a_branch_on_another_device(shape: list[int], fed: bool) -> None:
    """What the branch leaves for it is there only where the branch was taken."""

    def found(tier: str, devices: int) -> list[Any]:
        with gf.Graph().as_default():
            x, taken = gf.placeholder(gf.float32, shape), gf.placeholder(gf.bool, [])
            predicate = taken if fed else gf.logical_and(taken, gf.reduce_max(x) > 0.0)
            result = gf.cond(predicate, lambda: gf.tanh(gf.exp(x)), lambda: x * 2.0)
            with gf.device(f"/cpu:{devices - 1}"):
                gradient = gf.gradients(result * result, x)[0]
            with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2}, compiled=tier)) as session:
                value = np.full(shape, 0.3, "f")
                order = (True, True, True, False, False, False, True, False)
                return [session.run([result, gradient], {x: value, taken: t}) for t in order]

    for one, other in zip(found("always", 2), found("never", 1), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6)
