"""Protects what recordings of TensorFlow do not show of gf.image: noise, a missing Pillow, what is kept in files."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import graphflow as gf


def ramp(*shape: int) -> Any:
    return (np.arange(np.prod(shape)) % 251).reshape(shape).astype(np.uint8)


@pytest.fixture
def session() -> Any:
    with gf.Graph().as_default(), gf.Session() as session:
        yield session


@pytest.mark.parametrize("uniform", [True, False])
def test_noise_around_a_glimpse_is_like_the_image(session: Any, uniform: bool) -> None:
    gf.set_random_seed(2)
    images = (ramp(2, 6, 6, 1) / 50.0 + 3.0).astype(np.float32)
    look = gf.image.extract_glimpse(images, [20, 20], [[0.0, 0.0], [3.0, 3.0]], uniform_noise=uniform)
    first, second = session.run(look), session.run(look)
    np.testing.assert_array_equal(first[0, 7:13, 7:13], images[0])
    assert not np.array_equal(first[1], second[1])
    low, high = (images.min(), images.max()) if uniform else (images.mean() - 6, images.mean() + 6)
    assert low <= first[1].min() < first[1].max() <= high
    assert abs(first[1].mean() - (images.max() + images.min()) / 2) < 0.2


def test_an_environment_without_pillow_is_told_what_to_install(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    contents = gf.image.encode_png(ramp(3, 4, 3), name="written")
    assert session.run(contents).startswith(b"\x89PNG")
    for build in (gf.image.decode_png, gf.image.decode_image):
        with pytest.raises(gf.errors.UnimplementedError, match=r"pip install 'graphflow-engine\[image\]'"):
            session.run(build(contents))
    with pytest.raises(gf.errors.UnimplementedError, match="Pillow"):
        session.run(gf.image.encode_jpeg(ramp(3, 4, 3)))


@pytest.mark.parametrize("dtype", [gf.uint8, gf.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_has_every_bit_that_was_written(channels: int, dtype: gf.DType) -> None:
    highest = np.iinfo(dtype.as_numpy_dtype).max
    pixels = np.random.default_rng(0).integers(0, highest, [5, 6, channels], endpoint=True)
    contents = gf.image.encode_png(gf.constant(pixels, dtype))
    again, grey = gf.image.decode_png(contents, dtype=dtype), gf.image.decode_png(contents, 1, dtype=dtype)
    with gf.Session() as session:
        found, first = session.run([again, grey])
    np.testing.assert_array_equal(found, pixels)
    if channels < 3:
        np.testing.assert_array_equal(first, pixels[..., :1])


def test_png_files_are_those_that_others_read(session: Any) -> None:
    from PIL import Image

    pixels = ramp(40, 50, 3)
    stored, packed = (session.run(gf.image.encode_png(pixels, compression=level)) for level in (0, 9))
    assert len(packed) < pixels.size / 10 < len(stored)
    for contents in (stored, packed):
        with Image.open(io.BytesIO(contents)) as image:
            np.testing.assert_array_equal(np.asarray(image), pixels)


def test_jpeg_files_hold_density_and_metadata(session: Any) -> None:
    from PIL import Image

    made = gf.image.encode_jpeg(
        ramp(8, 8, 3), progressive=True, density_unit="cm", x_density=100, y_density=50, xmp_metadata="<x/>"
    )
    with Image.open(io.BytesIO(session.run(made))) as image:
        assert image.info["progressive"] == 1
        assert image.info["dpi"] == (254, 127)
        assert image.info["xmp"] == b"<x/>"


def test_a_truncated_jpeg_file_is_read_as_far_as_it_goes(session: Any) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, [64, 64, 1]).astype(np.uint8)
    whole = session.run(gf.image.encode_jpeg(pixels, quality=90))
    cut = whole[: len(whole) // 2]
    complete, found = (session.run(gf.image.decode_jpeg(c, try_recover_truncated=True)) for c in (whole, cut))
    assert found.shape == pixels.shape
    np.testing.assert_array_equal(found[:16], complete[:16])
    assert not np.array_equal(found[56:], complete[56:])
    with pytest.raises(gf.errors.InvalidArgumentError, match="Invalid JPEG data"):
        session.run(gf.image.decode_jpeg(cut))


def test_a_resize_of_one_image_does_not_depend_on_the_batch(session: Any) -> None:
    x = gf.placeholder(gf.float32, [None, 5, 7, 2])
    images = (ramp(3, 5, 7, 2) / 7.0).astype(np.float32)
    for function in (gf.image.resize_bilinear, gf.image.resize_bicubic, gf.image.resize_area):
        y = function(x, [4, 9])
        together = session.run(y, {x: images})
        for k in range(3):
            np.testing.assert_array_equal(session.run(y, {x: images[k : k + 1]})[0], together[k])
