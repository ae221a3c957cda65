"""Protects the numbers of whole models: losses, all gradients, and the weights after 20 steps are TensorFlow's.

Each model of the zoo runs on NumPy, compiled, on two devices and on a cluster, and is compared with what TensorFlow
1.15.5 gave from the same weights. That such a comparison finds what it is to find is shown by faults planted in models.
"""

from __future__ import annotations

import functools
import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.zoo import kept, placements, programs
from tests.zoo.tier_reasons import STAYS

LONGEST = 400
"""Seconds that a model may take: to compile one takes some ten seconds of a core, and longer where others are busy."""
CASES = [
    pytest.param(
        name, placement, marks=[pytest.mark.slow] if placement == "compiled" and name in rest else []
    )
    for rest in [placements.COMPILED_FOR_EVERYTHING]
    for name in programs.names()
    for placement in placements.PLACEMENTS
]


@functools.lru_cache(maxsize=1)
def recording(name: str) -> dict[str, Any]:
    return kept.load(name)


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with placements.cluster() as found:
        yield found


@pytest.mark.timeout(LONGEST)
@pytest.mark.parametrize(("name", "placement"), CASES)
def test_model_is_that_of_tensorflow(
    name: str, placement: str, target: str, everything: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tier = placements.tier_of(name, everything) if placement in ("devices", "cluster") else "never"
    with caplog.at_level(logging.WARNING, "graphflow"):
        got = placements.outcome(name, placement, target, tier)
    wrong = kept.differences(recording(name), got.found)
    assert not wrong, "\n".join(wrong)
    assert not caplog.records, caplog.text
    if placement != "compiled":
        return
    reasons = {reason for plan in got.steps for reason in plan.reasons}
    assert reasons == ({STAYS[name]} if name in STAYS else set()), caplog.text
    assert name in STAYS or all(plan.compiled for plan in got.steps), got.steps
    wrong = kept.differences(placements.outcome(name, "numpy").found, got.found, "tiers")
    assert not wrong, "the tiers differ: " + "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(LONGEST)
def test_what_is_compiled_each_time_has_each_type_of_operation() -> None:
    types = {
        name: {op.type for op in placements.built(name, "one device").graph.get_operations()}
        for name in programs.names()
    }
    others = set[str]().union(
        *(types[name] for name in types if name not in placements.COMPILED_FOR_EVERYTHING)
    )
    missing = {name: found - others for name, found in types.items() if found - others}
    assert not missing, "compile one of these each time: take it out of COMPILED_FOR_EVERYTHING"


def test_every_model_has_a_recording_and_says_what_it_is() -> None:
    names = programs.names()
    recorded = sorted(file[:-4] for file in os.listdir(os.path.dirname(kept.path("x"))))
    assert recorded == names
    assert sum(os.path.getsize(kept.path(name)) for name in names) < 3_000_000
    assert set(STAYS) | placements.COMPILED_FOR_EVERYTHING <= set(names)
    assert all(programs.architecture(name).build.__doc__ for name in names)


def test_the_page_has_a_row_for_models_alone() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "zoo.md"
    rows = re.findall(r"^\| (\w+) \| \d+ \| \d+ \| \d+ \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 24 and rows == sorted(rows)
    assert set(rows) <= set(programs.names()), "write the table anew: python -m tests.zoo.table --write"


# ---- planted faults -------------------------------------------------------------------------------------------------


class Changed:
    """A module with some of its names replaced; "nn.relu" replaces that of the module nn."""

    def __init__(self, module: Any, replaced: dict[str, Any]) -> None:
        self._module = module
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        if name in self._replaced:
            return self._replaced[name]
        inner = {k.partition(".")[2]: v for k, v in self._replaced.items() if k.startswith(f"{name}.")}
        found = getattr(self._module, name)
        return Changed(found, inner) if inner else found


@gf.custom_gradient
def tanh_of_slight_error(x: Any) -> Any:
    y = gf.tanh(x)
    return y, lambda dy: dy * (1.0 - y * y) * 1.0005


@gf.custom_gradient
def convolution_of_turned_gradient(x: Any) -> Any:
    return gf.identity(x), lambda dy: gf.reverse(dy, [1])


def turned(x: Any, *arguments: Any, **options: Any) -> Any:
    return gf.nn.max_pool(convolution_of_turned_gradient(x), *arguments, **options)


def along_the_batch(labels: Any, logits: Any) -> Any:
    return gf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, dim=0)


PLANTED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a missing term of the loss": (
        "mlp", {"losses.get_regularization_loss": lambda: gf.constant(0.0)}, "loss/"
    ),
    "a gradient half a thousandth too large": ("mlp", {"nn.tanh": tanh_of_slight_error}, "gradient/"),
    "a reversed axis of a gradient": ("lenet", {"nn.max_pool": turned}, "gradient/"),
    "another axis of a softmax": ("lenet", {"nn.softmax_cross_entropy_with_logits_v2": along_the_batch}, "loss/"),
    "a momentum that is a thousandth too small": (
        "lenet",
        {"train.MomentumOptimizer": lambda rate, momentum: gf.train.MomentumOptimizer(rate, momentum * 0.999)},
        "change/",
    ),
    "an epsilon of Adam that is too large": (
        "mlp", {"train.AdamOptimizer": lambda rate: gf.train.AdamOptimizer(rate, epsilon=3e-6)}, "change/"
    ),
    "a dropout of other numbers": (
        "mlp", {"nn.dropout": lambda x, keep_prob, seed: gf.nn.dropout(x, keep_prob, seed=seed + 1)}, "loss/"
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    name, replaced, where = PLANTED[fault]
    program = programs.build_with(Changed(gf, replaced), name, programs.architecture(name).build)
    found = placements.run(program, "numpy").found
    wrong = kept.differences(recording(name), found)
    assert any(line.startswith(where) for line in wrong), wrong
    before = {"loss/": (), "gradient/": ("loss/",), "change/": ("loss/", "gradient/")}[where]
    assert not [line for line in wrong if line.startswith(before or "none")]


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a * (1 + 1e-3),
        lambda a: np.where(np.arange(a.size).reshape(a.shape) == 77, a + 0.1, a),
        lambda a: a.T.copy().reshape(a.shape),
        lambda a: a[::-1].copy(),
        lambda a: a.astype(np.float64),
        lambda a: a.reshape(a.shape[::-1]),
        lambda a: np.where(a == a.max(), np.nan, a).astype(a.dtype),
    ],
    ids=["scale", "one element", "transposed", "reversed", "dtype", "shape", "not a number"],
)
def test_samples_show_each_change_of_a_large_array(change: Callable[[Any], Any]) -> None:
    array = np.random.RandomState(3).standard_normal((20, 30)).astype(np.float32)
    expected = kept.keep_all({"gradient/loss/w": array})
    assert not kept.differences(expected, kept.keep_all({"gradient/loss/w": array * np.float32(1 + 1e-6)}))
    assert kept.differences(expected, kept.keep_all({"gradient/loss/w": change(array)}))
