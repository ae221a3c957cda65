"""Protects right plans of which rounding alone is left: losses of saturated logits, normalizations of equal numbers.

The loss of a classifier that is sure of itself is the logarithm of a sum just above 1, so it is 0 or a unit of rounding
of 1 as the order of its terms has it. The compiled plan must be trusted there, and a fault of one part in 10000 must be
found there as anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.cpu.kernels import nnkernels
from graphflow._core.compiler import lower
from graphflow._core.runtime.agreement import trial, verification
from graphflow._core.runtime.agreement.steps import stepwise, without

RNG = np.random.RandomState
DTYPES = ["float32", "float64"]


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The outcomes of all verified runs; no files are written for them."""
    found: list[str] = []

    def watched(*arguments: Any) -> Any:
        outcome = verification.verified_run(*arguments)
        found.append(outcome.verdict.name)
        return outcome

    monkeypatch.setattr(trial, "verified_run", watched)
    monkeypatch.setattr(trial, "report", lambda *_: "")
    return found


def _run(build: Callable[[], tuple[Any, dict[Any, Any]]]) -> None:
    with gf.Graph().as_default():
        fetches, feeds = build()
        config = gf.ConfigProto(compiled="always", intra_op_parallelism_threads=1)
        with gf.Session(config=config) as session:
            session.run(gf.global_variables_initializer())
            for _ in range(3):
                session.run(fetches, feeds)


# ---- losses ---------------------------------------------------------------------------------------------------------


def _sparse(x: Any, labels: Any, chosen: Any) -> Any:
    return gf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def _dense(x: Any, labels: Any, chosen: Any) -> Any:
    return gf.nn.softmax_cross_entropy_with_logits_v2(labels=chosen, logits=x)


def _log_of_softmax(x: Any, labels: Any, chosen: Any) -> Any:
    return -gf.reduce_sum(chosen * gf.log(gf.nn.softmax(x)), 1)


def _log_softmax(x: Any, labels: Any, chosen: Any) -> Any:
    return -gf.reduce_sum(chosen * gf.nn.log_softmax(x), 1)


def _by_hand(x: Any, labels: Any, chosen: Any) -> Any:
    powers = gf.exp(x - gf.reduce_max(x, 1, keepdims=True))
    return -gf.reduce_sum(chosen * gf.log(powers / gf.reduce_sum(powers, 1, keepdims=True)), 1)


def _sum_of_powers(x: Any, labels: Any, chosen: Any) -> Any:
    return gf.reduce_logsumexp(x, 1) - gf.reduce_sum(chosen * x, 1)


def _sigmoid(x: Any, labels: Any, chosen: Any) -> Any:
    return gf.nn.sigmoid_cross_entropy_with_logits(labels=chosen, logits=x - 8.0)


def _log_loss(x: Any, labels: Any, chosen: Any) -> Any:
    return gf.losses.log_loss(chosen, gf.nn.softmax(x))


LOSSES = [_sparse, _dense, _log_of_softmax, _log_softmax, _by_hand, _sum_of_powers, _sigmoid, _log_loss]


def _loss(
    loss: Callable[..., Any],
    rows: int,
    columns: int,
    dtype: str,
    margins: tuple[float, float] = (10.0, 30.0),
    mistaken: int = 0,
) -> Callable[[], Any]:
    """A loss, its mean and the gradient for logits of which the labels' are larger than others by a margin.

    mistaken: how many rows have another label.
    """

    def build() -> Any:
        random = RNG(rows + columns)
        labels = random.randint(0, columns, rows)
        logits = random.randn(rows, columns) * 0.5
        logits[np.arange(rows), labels] += random.uniform(*margins, rows)
        labels[:mistaken] = (labels[:mistaken] + 1) % columns
        x = gf.placeholder(dtype, [rows, columns])
        value = loss(x, gf.constant(labels.astype("i4")), gf.constant(np.eye(columns, dtype=dtype)[labels]))
        mean = gf.reduce_mean(value)
        return [value, mean, gf.gradients(mean, x)[0]], {x: logits}

    return build


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_saturated_logits_agree(loss: Callable[..., Any], dtype: str, verdicts: list[str]) -> None:
    for rows, columns in [(1, 10), (7, 3), (32, 10), (128, 10), (64, 100)]:
        _run(_loss(loss, rows, columns, dtype))
    assert verdicts == ["AGREED"] * 5


ROWS_KERNELS = {
    "sum of powers": ("accumulate_sum(total, ", "accumulate_sum(total, {dtype}(1.0001) * "),
    "quotient": (" / total", " / total * {dtype}(1.0001)"),
    "logarithm": ("f_log(total)", "(f_log(total) + {dtype}(1e-4))"),
    "difference": (" - (load(x, row + ", " - {dtype}(1.0001) * (load(x, row + "),
}
"""Faults of the kernels of rows: what is replaced in their source, and by what."""


@pytest.mark.faulty_compiler
@pytest.mark.parametrize("margins", [(0.0, 1.0), (10.0, 30.0)], ids=["ordinary", "saturated"])
@pytest.mark.parametrize("fault", ROWS_KERNELS)
@pytest.mark.parametrize("loss", [_sparse, _dense, _log_softmax, _log_of_softmax])
@pytest.mark.parametrize("dtype", DTYPES)
def test_small_faults_of_kernels_of_rows_are_found(
    dtype: str,
    loss: Callable[..., Any],
    fault: str,
    margins: tuple[float, float],
    verdicts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted = 0
    old, new = ROWS_KERNELS[fault]

    def wrong(right: Callable[..., str]) -> Callable[..., str]:
        def source(*arguments: Any) -> str:
            nonlocal planted
            text = right(*arguments)
            planted += old in text
            return text.replace(old, new.format(dtype=dtype))

        return source

    for name in ("softmax_source", "cross_entropy_source", "sparse_cross_entropy_source"):
        monkeypatch.setattr(nnkernels, name, wrong(getattr(nnkernels, name)))
    _run(_loss(loss, 32, 10, dtype, margins, mistaken=8))
    assert verdicts == (["APART"] if planted else ["AGREED"])


ORDINARY, SATURATED = (0.0, 1.0), (10.0, 30.0)
SCALAR_FAULTS = [
    (_by_hand, "Log", ORDINARY),
    (_by_hand, "Log", SATURATED),
    (_log_of_softmax, "Log", ORDINARY),
    (_log_of_softmax, "Log", SATURATED),
    (_sum_of_powers, "Log", ORDINARY),
    (_sum_of_powers, "Sub", SATURATED),
    (_sigmoid, "Mul", ORDINARY),
    (_sigmoid, "Mul", SATURATED),
    (_sigmoid, "Sub", ORDINARY),
    (_sigmoid, "Sub", SATURATED),
    (_log_loss, "Log", ORDINARY),
]
"""Faults that show in the result: not those of the logarithm of what is 1 but for rounding."""


@pytest.mark.faulty_compiler
@pytest.mark.parametrize(("loss", "type_name", "margins"), SCALAR_FAULTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_small_faults_of_scalar_ops_are_found(
    dtype: str,
    loss: Callable[..., Any],
    type_name: str,
    margins: tuple[float, float],
    verdicts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = lower.scalar_text
    planted: list[str] = []

    def wrong(i: Any, text: str, names: Any) -> str:
        found = right(i, text, names)
        if i.type != type_name:
            return found
        planted.append(i.name)
        return f"({found}) * 1.0001"

    monkeypatch.setattr(lower, "scalar_text", wrong)
    _run(_loss(loss, 32, 10, dtype, margins, mistaken=8))
    assert planted and verdicts == ["APART"]


# ---- normalizations -------------------------------------------------------------------------------------------------


def _batch_norm(x: Any) -> Any:
    return gf.layers.batch_normalization(x, training=True, fused=True)


def _layer_norm(x: Any) -> Any:
    mean, variance = gf.nn.moments(x, [3], keep_dims=True)
    return gf.nn.batch_normalization(x, mean, variance, None, None, 1e-5)


@pytest.mark.parametrize("total", [gf.reduce_sum, gf.reduce_mean, lambda y: gf.reduce_sum(gf.square(y))])
@pytest.mark.parametrize("normalize", [_batch_norm, _layer_norm])
@pytest.mark.parametrize("number", [1.0, 3.0, 0.1])
def test_normalizations_of_equal_numbers_agree(
    number: float, normalize: Callable[..., Any], total: Callable[..., Any], verdicts: list[str]
) -> None:
    shapes = [(4, 49, 1, 3), (5, 3, 1, 49), (7, 1, 1, 10)]

    def of(shape: tuple[int, ...]) -> Callable[[], Any]:
        def build() -> Any:
            x = gf.placeholder(gf.float32, shape)
            y = normalize(x)
            return [y, gf.gradients(total(y), [x, *gf.trainable_variables()])], {x: np.full(shape, number)}

        return build

    for shape in shapes:
        _run(of(shape))
    assert verdicts == ["AGREED"] * len(shapes)


# ---- steps ----------------------------------------------------------------------------------------------------------


def _marked(value: Any, rounded: Any) -> Any:
    """In place of a random change: adds 1/2 to the whole numbers that rounding has left."""
    return value + np.where(rounded, 0.5, 0.0).astype(value.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_numbers_are_changed_where_rounding_has_left_them(dtype: str) -> None:
    small = np.finfo(dtype).eps / 8
    x = stepwise(np.array([1.0, small, small], dtype), _marked)
    assert float(without(x.sum())) == 1.5
    assert float(without(x.mean(dtype=dtype) * 3)) != 1.0
    high = stepwise(np.array([12.25 if dtype == "float32" else 20.25, 0.5], dtype), _marked)
    assert float(without(np.tanh(high))[0]) == 1.5
    assert float(without(high * 4.0)[0]) == 4 * float(without(high)[0])


def test_counts_masks_and_decisions_are_exact() -> None:
    x = stepwise(np.array([0.25, 1.0, -2.0, 7.5], "f"), lambda value, rounded: value + 100)
    np.testing.assert_array_equal(without(np.maximum(x, 1.0)), [1.0, 1.0, 1.0, 7.5])
    np.testing.assert_array_equal(without(np.floor(x)), [0.0, 1.0, -2.0, 7.0])
    assert (x > 0.0).tolist() == [True, True, False, True]
    mask = stepwise(np.array([1.0, 0.0, 1.0], "f"), _marked)
    assert float(without(mask.sum())) == 2.0 and float(without((mask * 0.25 + 0.25).sum())) == 1.25
    np.testing.assert_array_equal(without(mask * 0.25 + 0.75), [1.0, 0.75, 1.0])
