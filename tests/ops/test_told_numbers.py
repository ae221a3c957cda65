"""Protects how operations on numbers say what is wrong, and that they refuse it, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


def fed(value: Any) -> Any:
    return gf.placeholder_with_default(value, [None] * np.ndim(value))


DATA = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]


@pytest.mark.parametrize("tier", ["never", "always"])
@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: gf.segment_sum(fed(DATA), fed([0, 0, 0, -1])), r"segment ids must be >= 0: segment_ids\[3\] = -1"),
        (lambda: gf.segment_sum(fed(DATA), fed([0, 1, 0, 1])), "segment ids are not increasing"),
        (
            lambda: gf.segment_sum(fed(DATA), fed([0, 1, 2, 0])),
            r"Segment id 1 out of range \[0, 1\), possibly because 'segment_ids' input is not sorted",
        ),
        (
            lambda: gf.segment_sum(fed(DATA), fed([-1, 0, 0, 1])),
            r"Segment id -1 out of range \[0, 2\), possibly because 'segment_ids' input is not sorted",
        ),
        (lambda: gf.segment_max(fed(DATA), fed([0, 0, 0])), "segment_ids should be the same size as dimension 0"),
        (lambda: gf.unsorted_segment_sum(fed(DATA), fed([0, -1, 2, 1]), 2), r"segment_ids\[2\] = 2 is out of range"),
        (
            lambda: gf.unsorted_segment_max(fed([DATA[:2], DATA[2:]]), fed([[0, -1], [2, 1]]), 2),
            r"segment_ids\[1,0\] = 2 is out of range \[0, 2\)",
        ),
        (
            lambda: gf.sparse_segment_sum(fed(DATA), fed([1, -1, 0]), fed([0, 0, 1])),
            r"indices\[1\] == -1 out of range \[0, 4\)",
        ),
        (
            lambda: gf.sparse_segment_mean(fed(DATA), fed([0, 1, 2]), fed([0, 2, 1])),
            "segment ids are not increasing",
        ),
        (
            lambda: gf.sparse_segment_sqrt_n(fed(DATA), fed([0, 1, 2]), fed([0, 0, 2]), num_segments=fed(2)),
            "segment ids must be < num_segments",
        ),
        (
            lambda: gf.sparse_segment_sum(fed(DATA), fed([0, 1, 2]), fed([-2, -1, -1]), num_segments=fed(1)),
            r"Segment id -2 out of range \[0, 1\)",
        ),
        (lambda: gf.confusion_matrix(fed([1, -1]), fed([0, 1]), 2), "`labels` contains negative values"),
        (lambda: gf.confusion_matrix(fed([1, 1]), fed([0, -1])), "`predictions` contains negative values"),
        (lambda: gf.confusion_matrix(fed([1, 2]), fed([0, 1]), 2), "`labels` out of bound"),
        (lambda: gf.confusion_matrix(fed([1, 0]), fed([0, 3]), 2), "`predictions` out of bound"),
        (lambda: gf.check_numerics(gf.div(fed([1.0, 0.0]), 0.0), "div"), "Tensor had Inf and NaN values"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(build: Any, told: str, tier: str) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        result = build()
        for _ in range(3):
            with pytest.raises(gf.errors.InvalidArgumentError, match=told):
                session.run(result)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: gf.histogram_fixed_width([1.0], 1.0), "Shape must be rank 1 but is rank 0"),
        (lambda: gf.histogram_fixed_width([1.0], [1.0, 2.0, 3.0]), "Dimension must be 2 but is 3"),
        (lambda: gf.histogram_fixed_width([1.0], [1.0, 2.0], nbins=[1, 2]), "Shape must be rank 0 but is rank 1"),
        (lambda: gf.histogram_fixed_width([1.0], [1.0, 2.0], nbins=-5), "Requires nbins > 0"),
        (lambda: gf.reduce_sum(gf.placeholder(gf.float32), [[1], [2]]), "must be at most rank 1"),
        (
            lambda: gf.sparse_segment_sum([[1.0]], [0], [0], num_segments=-2),
            "Cannot specify a negative value for num_segments",
        ),
        (
            lambda: gf.sparse_segment_mean([[1.0]], [0], [0], num_segments=[2, 2]),
            "Shape must be rank 0 but is rank 1",
        ),
        (lambda: gf.reduce_sum([[1, 2], [3, 4]], np.array([[0], [1]])), "must be at most rank 1"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_refused_at_the_line(build: Any, told: str) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match=told):
        build()


@pytest.mark.parametrize("tier", ["never", "always"])
def test_a_norm_over_no_axis_is_the_number_itself(tier: str) -> None:
    """As in TensorFlow, where what is not reduced is not computed; complex numbers keep their phase."""
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        for value in ([-3.0, 4.0], [3 + 4j, -1 + 0j]):
            x = fed(np.array(value, np.complex64 if isinstance(value[0], complex) else np.float32))
            y = gf.math.reduce_euclidean_norm(x, [])
            (gradient,) = gf.gradients(y, x, grad_ys=[gf.ones_like(y)])
            for _ in range(3):
                found, back = session.run([y, gradient])
                assert found.tolist() == value and back.tolist() == [1.0, 1.0]


def test_no_gradient_goes_through_integers() -> None:
    with gf.Graph().as_default():
        k, x = gf.constant([3, 4]), gf.constant([1.0, 2.0])
        real = gf.cast(k, gf.float32)
        for y in (k * k, k * k * k, gf.identity(k), gf.square(k), real * real, gf.reduce_sum(k)):
            assert gf.gradients(y, k) == [None]
        assert gf.gradients([x * 2.0, gf.cast(x, gf.int32)], [x, k])[1] is None
        assert gf.gradients(gf.cast(x, gf.int32), x) == [None]
