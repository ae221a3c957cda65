"""Protects that the NumPy convolutions and pools compute what TensorFlow 1.15 computes, and refuse what does not fit.

The results in data/convolution.npz were recorded from TensorFlow by record_convolution.py. Sums are of small integers,
hence exact; only means are compared to rounding.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from graphflow._core.kernels.nn import convolution as kernels
from graphflow._core.kernels.nn import pooling

Array = npt.NDArray[Any]
_FILE = np.load(Path(__file__).parent / "data" / "convolution.npz")
CASES: dict[str, dict[str, Array]] = {}
for _name in _FILE.files:
    _case, _, _key = _name.partition("/")
    CASES.setdefault(_case, {})[_key] = _FILE[_name].astype(np.float32)


def results(case: str) -> Iterator[tuple[str, Array]]:
    """What is computed here, under the names of what was recorded."""
    *numbers, padding = case.split()
    _, _, _, _, height, width, row_stride, column_stride, dilation = (int(number) for number in numbers)
    strides, ksize = [1, row_stride, column_stride, 1], [1, height, width, 1]
    given = CASES[case]
    x, w = given["x"], given["w"]
    dilations = [1, dilation, dilation, 1]
    yield "y", kernels.conv2d(x, w, strides, padding, dilations)
    if "dy" in given:
        dy = given["dy"]
        yield "dx", kernels.conv2d_backprop_input(x.shape, w, dy, strides, padding)
        yield "dw", kernels.conv2d_backprop_filter(x, w.shape, dy, strides, padding)
        largest, dy = given["largest"], given["pool_dy"]
        yield "largest", pooling.max_pool(x, ksize, strides, padding)
        yield "largest_dx", pooling.max_pool_grad(x, largest, dy, ksize, strides, padding)
        second = given["second"]
        yield "largest_second", pooling.max_pool_grad_grad(x, largest, second, ksize, strides, padding)
        yield "mean", pooling.avg_pool(x, ksize, strides, padding)
        yield "mean_dx", pooling.avg_pool_grad(x.shape, dy, ksize, strides, padding)
    if "depthwise" in given:
        w, dy = given["depthwise_w"], given["depthwise_dy"]
        yield "depthwise", kernels.depthwise_conv2d_native(x, w, strides, padding)
        yield (
            "depthwise_dx",
            kernels.depthwise_conv2d_native_backprop_input(x.shape, w, dy, strides, padding),
        )
        yield (
            "depthwise_dw",
            kernels.depthwise_conv2d_native_backprop_filter(x, w.shape, dy, strides, padding),
        )


@pytest.mark.parametrize("case", CASES)
def test_results_are_tensorflows(case: str) -> None:
    for name, result in results(case):
        expected = CASES[case][name]
        assert result.shape == expected.shape and result.dtype == np.float32, name
        if name.startswith("mean"):
            np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(result, expected, err_msg=name)


def test_a_dilated_convolution_has_the_gradients_of_its_definition() -> None:
    generator = np.random.default_rng(0)
    x, w = generator.standard_normal((2, 9, 8, 2)), generator.standard_normal((3, 2, 2, 3))
    arguments: tuple[Any, ...] = ([1, 2, 1, 1], "SAME", [1, 1, 3, 1])
    y = kernels.conv2d(x, w, *arguments)
    dy = generator.standard_normal(y.shape)
    dx = kernels.conv2d_backprop_input(x.shape, w, dy, *arguments)
    dw = kernels.conv2d_backprop_filter(x, w.shape, dy, *arguments)
    # A convolution is linear in each input, so that a gradient's product with any direction is exact.
    along_x, along_w = generator.standard_normal(x.shape), generator.standard_normal(w.shape)
    assert np.vdot(kernels.conv2d(along_x, w, *arguments), dy) == pytest.approx(np.vdot(along_x, dx))
    assert np.vdot(kernels.conv2d(x, along_w, *arguments), dy) == pytest.approx(np.vdot(along_w, dw))


@pytest.mark.parametrize("shape", [(0, 4, 4, 2), (2, 0, 4, 2), (2, 1, 1, 2)])
def test_empty_batches_images_and_outputs(shape: tuple[int, ...]) -> None:
    x, w = np.zeros(shape, np.float32), np.ones((3, 3, 2, 5), np.float32)
    y = kernels.conv2d(x, w, [1, 1, 1, 1], "VALID")
    assert y.shape == (shape[0], max(shape[1] - 2, 0), max(shape[2] - 2, 0), 5)
    assert kernels.conv2d_backprop_input(shape, w, y, [1, 1, 1, 1], "VALID").shape == shape
    assert not kernels.conv2d_backprop_filter(x, w.shape, y, [1, 1, 1, 1], "VALID").any()
    assert pooling.max_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "VALID").shape == (*y.shape[:3], 2)


def test_the_largest_of_integers_and_the_gradient_at_nan() -> None:
    x = np.array([[[[-7], [-9]], [[-8], [-7]]]], np.int32)
    assert pooling.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME").item() == -7
    y = np.array([1, np.nan, 3, np.nan], np.float32).reshape(1, 2, 2, 1)
    largest = pooling.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    gradient = pooling.max_pool_grad(y, largest, np.ones_like(largest), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    assert np.isnan(largest.item())
    assert gradient.ravel().tolist() == [0, 1, 0, 0]


def test_inputs_are_not_written_and_results_are_fresh() -> None:
    x = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
    x.flags.writeable = False
    w = np.ones((1, 1, 2, 2), np.float32)
    w.flags.writeable = False
    for result in (
        kernels.conv2d(x, w, [1, 1, 1, 1], "SAME"),
        kernels.conv2d_backprop_input(x.shape, w, x, [1, 1, 1, 1], "SAME"),
        pooling.max_pool(x, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
        pooling.avg_pool(x, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
    ):
        assert result.flags.writeable and not np.shares_memory(result, x)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, w: kernels.conv2d(x, w[:, :, :1], [1, 1, 1, 1], "SAME"), "2 channels"),
        (lambda x, w: kernels.conv2d(x[0], w, [1, 1, 1, 1], "SAME"), "NHWC"),
        (lambda x, w: kernels.conv2d(x, w, [1, 0, 1, 1], "SAME"), "stride 0"),
        (lambda x, w: kernels.conv2d(x, w, [2, 1, 1, 1], "SAME"), "must be 1"),
        (lambda x, w: kernels.conv2d(x, w, [1, 1, 1, 1], "FULL"), "'SAME' or 'VALID'"),
        (lambda x, w: kernels.conv2d_backprop_input(x.shape, w, x, [1, 1, 1, 1], "SAME"), "gradient's shape"),
        (lambda x, w: pooling.max_pool(x, [2, 2], [1, 1, 1, 1], "SAME"), "ksize"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(np.ones((1, 4, 4, 2), np.float32), np.ones((3, 3, 2, 3), np.float32))


@pytest.mark.parametrize("block_bytes", [1, 1 << 10, kernels.BLOCK_BYTES])
@pytest.mark.parametrize("stride, padding", [(1, "VALID"), (1, "SAME"), (2, "SAME"), (2, "VALID")])
@pytest.mark.parametrize("height, width", [(3, 8), (9, 8), (2, 3), (1, 1)])
def test_the_gradient_of_an_input_is_that_of_its_definition_for_wide_filters(
    height: int, width: int, stride: int, padding: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "BLOCK_BYTES", block_bytes)
    generator = np.random.default_rng(0)
    x, w = generator.standard_normal((5, 9, 8, 2)), generator.standard_normal((height, width, 2, 3))
    arguments: tuple[Any, ...] = ([1, stride, stride, 1], padding)
    dy = generator.standard_normal(kernels.conv2d(x, w, *arguments).shape)
    dx = kernels.conv2d_backprop_input(x.shape, w, dy, *arguments)
    along = generator.standard_normal(x.shape)
    assert np.vdot(kernels.conv2d(along, w, *arguments), dy) == pytest.approx(np.vdot(along, dx))
