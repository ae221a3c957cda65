"""Protects random numbers in compiled code: bit for bit those of the NumPy tier, run after run, on any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import left_to_numpy, run

TENSORFLOWS = (
    [
        [-1.0467793, 0.8397046, 1.2358364, 2.0637853, 0.3037427],
        [-1.0467793, 0.8397046, 1.2358364, 0.3037427, 0.38869092],
        [999, 915, 302, 509, 531],
        [839, 966, 987, 601, 213],
    ],
    [
        [1.2089236, -1.4851918, -0.15793842, -0.2694956, -0.5014103],
        [1.2089236, -1.4851918, -0.15793842, -0.2694956, 0.45330226],
        [54, 78, 190, 355, 605],
        [142, 270, 205, 997, 298],
    ],
)


def model() -> Any:
    gf.set_random_seed(7)
    x = gf.placeholder(gf.float32, [None, 5])
    mask = gf.random_uniform(gf.shape(x), seed=3)
    wide = gf.random_uniform([2, 3], -1, 2, gf.float64)
    dropped = gf.nn.dropout(x, rate=0.4, seed=5)
    return [mask, mask * x, wide, dropped, gf.gradients(dropped, x)[0]], {x: np.ones([40001, 5], "f")}


def normals() -> Any:
    gf.set_random_seed(-3)
    x = gf.placeholder(gf.float32, [None, 5])
    noise = gf.random_normal(gf.shape(x), 1.0, 0.5, seed=3)
    shapes = [[1], [2], [3], [4], [5], [9], [2, 0], []]
    few = [draw(shape) for shape in shapes for draw in (gf.random_normal, gf.truncated_normal)]
    cut = gf.truncated_normal(gf.shape(x), stddev=2.0)
    return [noise, noise * x, cut, *few], {x: np.ones([20001, 5], "f")}


def integers() -> Any:
    gf.set_random_seed(11)
    x = gf.placeholder(gf.float32, [None])
    ranges = {
        gf.int32: [(0, 10), (-5, 7), (0, 1), (-(2**31), 2**31 - 1), (3, 2**31 - 1), (0, 2**16)],
        gf.int64: [(0, 10), (-5, 7), (0, 1), (-(2**62), 2**62 - 1), (3, 2**40), (-(2**63), 2**63 - 1)],
    }
    drawn = [
        gf.random_uniform(gf.shape(x), low, high, dtype)
        for dtype, pairs in ranges.items()
        for low, high in pairs
    ]
    few = [gf.random_uniform([n], 3, 1000, dtype) for n in (1, 2, 3, 5) for dtype in ranges]
    return [*drawn, *few, gf.random_uniform([], 0, 9, gf.int64)], {x: np.ones([10003], "f")}


def orders() -> Any:
    gf.set_random_seed(5)
    x = gf.placeholder(gf.float32, [None, 3])
    fed = np.arange(30009, dtype="f").reshape(-1, 3)
    few = [gf.random_shuffle(np.arange(n, dtype=kind)) for n in (2, 3, 5, 6) for kind in ("i4", "f8", "i8")]
    turned = gf.random_shuffle(gf.transpose(x * 2, [1, 0]))
    return [gf.random_shuffle(x + 1), *few, turned, gf.random_shuffle(gf.constant([7]))], {x: fed}


@pytest.mark.parametrize("samples", [1, 2, 5, 8])
@pytest.mark.parametrize("rows, classes", [(1, 1), (7, 3), (300, 33), (2, 4000)])
def test_classes_are_numpys(rows: int, classes: int, samples: int) -> None:
    """Also those of rows with logits that are not finite, or with no other."""

    def build() -> Any:
        gf.set_random_seed(3)
        wide = np.random.RandomState(rows).randn(rows, classes) * 9
        wide[-1, classes // 2] = np.nan
        wide[0, 0], wide[0, -1] = np.inf, -np.inf
        found = []
        for kind in (gf.float32, gf.float64):
            x = gf.placeholder_with_default(wide.astype(kind.as_numpy_dtype), [None, classes])
            found += [
                gf.multinomial(x * 1, samples, seed=4),
                gf.multinomial(x + 1, samples, 5, None, gf.int32),
            ]
        return [*found, gf.random_uniform([3], seed=4)], {}

    expected, _ = run(build, "never")
    found, _ = run(build, "always")
    alone, _ = run(build, "always", threads=1)
    for one, other, single in zip(found, expected, alone, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, single)
    assert left_to_numpy(build) == []


@pytest.mark.parametrize("count, classes", [(1, 1), (6, 20), (16, 16), (64, 5000), (300, 301), (9, 2**40)])
def test_candidates_are_numpys(count: int, classes: int) -> None:
    def build() -> Any:
        gf.set_random_seed(3)
        true = gf.placeholder(gf.int64, [None, 2])
        samplers = gf.nn.log_uniform_candidate_sampler, gf.nn.uniform_candidate_sampler
        found = [
            sampler(true, 2, count, unique, classes, seed=4)
            for sampler in samplers
            for unique in (True, False)
        ]
        flat = [tensor for sample in found for tensor in sample]
        return flat, {true: [[0, classes - 1], [classes // 2, 0], [0, 0]]}

    assert left_to_numpy(build) == []
    for mine, theirs in zip(run(build, "always", 3)[0], run(build, "never", 3)[0], strict=True):
        assert mine.dtype == theirs.dtype
        if mine.dtype == np.int64:
            np.testing.assert_array_equal(mine, theirs)
        else:
            np.testing.assert_allclose(mine, theirs, rtol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("build", [model, normals, integers, orders])
def test_the_numbers_are_numpys(build: Any, threads: int) -> None:
    expected, _ = run(build, "never", 4)
    got, groups = run(build, "always", 4, threads=threads)
    assert any("Random" in group for group in groups)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    assert not np.array_equal(got[0], got[len(got) // 4]), "each run draws anew"


def test_what_is_drawn_natively() -> None:
    assert left_to_numpy(model) == []
    # What is empty lies nowhere; a span of more than 63 bits is no word.
    kept = left_to_numpy(normals)
    assert [name for name in kept if "Normal" in name] == ["RandomStandardNormal", "TruncatedNormal"]
    assert left_to_numpy(integers) == ["RandomUniformInt"]
    assert left_to_numpy(orders) == ["RandomShuffle"], "of one row"


def test_normals_of_other_dtypes_are_numpys() -> None:
    def wide() -> Any:
        x = gf.placeholder(gf.float64, [None])
        return gf.random_normal(gf.shape(x), dtype=gf.float64, seed=1) * x, {x: np.ones(7)}

    assert left_to_numpy(wide) == ["RandomStandardNormal"]
    np.testing.assert_array_equal(run(wide, "always")[0], run(wide, "never")[0])


@pytest.mark.parametrize("low, high", [(5, 5), (7, -7)])
def test_an_empty_range_is_the_same_error(low: int, high: int) -> None:
    def message(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            x = gf.random_uniform([4], low, high, gf.int32, name="drawn")
            with pytest.raises(gf.errors.InvalidArgumentError, match="Need minval < maxval") as raised:
                for _ in range(3):
                    session.run(x)
            return str(raised.value)

    assert message("always") == message("never")


def test_the_numbers_of_tensorflow() -> None:
    """TensorFlow 1.15.5 gave these for the same seeds, in its first and second run."""
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        gf.set_random_seed(1)
        drawn = [
            gf.random_normal([5], seed=2),
            gf.truncated_normal([5], seed=2),
            gf.random_uniform([5], 0, 1000, gf.int32, seed=2),
            gf.random_uniform([5], 0, 1000, gf.int64, seed=2),
        ]
        found = [session.run(drawn) for _ in range(2)]
    for mine, theirs in zip(found, TENSORFLOWS, strict=True):
        for values, expected in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(values, np.asarray(expected, values.dtype))


def test_both_tiers_go_on_from_the_same_state() -> None:
    """A run with a deadline is NumPy's; the next one goes on where it stopped."""

    def drawn(tier: str) -> list[Any]:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            gf.set_random_seed(1)
            x = gf.random_uniform([11], seed=2) + gf.placeholder_with_default(gf.zeros([]), [])
            y = gf.truncated_normal([11], seed=2) + gf.random_normal([11], seed=3)
            late = gf.RunOptions(timeout_in_ms=60_000)
            return [session.run([x, y], options=late if k == 3 else None) for k in range(6)]

    np.testing.assert_array_equal(drawn("always"), drawn("never"))
