"""Summary operations: names, tags and messages as TensorFlow 1.15 gives them; errors name the tag."""

import io
import logging
import sys
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with gf.Graph().as_default():
        yield


def read(summary: Any, feeds: Any = None) -> list[Any]:
    with gf.Session() as session:
        return list(gf.Summary.FromString(session.run(summary, feeds)).value)


def picture(value: Any) -> Any:
    """The pixels of an image, decoded by pillow."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
    return pixels.reshape(value.image.height, value.image.width, value.image.colorspace)


def test_names_and_tags() -> None:
    # Names, inputs and tags recorded from TensorFlow 1.15.
    x = gf.constant(3.0)
    with gf.name_scope("a/b"):
        plain = gf.summary.scalar("loss", x)
        family = gf.summary.scalar("loss", x, family="fam")
    again = gf.summary.scalar("a/b/loss", x)
    assert [s.op.name for s in (plain, family, again)] == ["a/b/loss", "a/b/fam/loss", "a/b/loss_1"]
    assert [t.name for t in plain.op.inputs] == ["a/b/loss/tags:0", "Const:0"]
    merged = gf.summary.merge_all()
    assert merged is not None
    assert (merged.name, merged.op.type, merged.op.get_attr("N")) == (
        "Merge/MergeSummary:0",
        "MergeSummary",
        3,
    )
    assert gf.summary.merge([merged], name="mine").name == "mine/mine:0"
    assert [v.tag for v in read(merged)] == ["a/b/loss", "fam/a/b/fam/loss", "a/b/loss_1"]
    assert merged.dtype == gf.string and merged.shape.as_list() == []


def test_illegal_names_are_replaced_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "graphflow"):
        summary = gf.summary.scalar("//los s:1", 3.0, family="fam x")
    assert summary.op.name == "fam_x/los_s_1"
    assert [r.getMessage() for r in caplog.records] == [
        "Summary name //los s:1 is illegal; using los_s_1 instead.",
        "Summary name fam x is illegal; using fam_x instead.",
    ]


def test_collections() -> None:
    mine = gf.summary.scalar("mine", 1.0, collections=["some"])
    both = gf.summary.histogram("both", [1.0], collections=["some", gf.GraphKeys.SUMMARIES])
    assert gf.get_collection("some") == [mine, both]
    assert gf.get_collection(gf.GraphKeys.SUMMARIES) == [both]
    assert gf.summary.merge_all("none of this name") is None
    merged = gf.summary.merge_all("some", scope="bo")
    assert merged is not None and merged.op.inputs == [both]


def test_building_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"shape \(2,\).*Take gf.reduce_mean"):
        gf.summary.scalar("v", [1.0, 2.0])
    with pytest.raises(TypeError, match="string"):
        gf.summary.scalar("v", "text")
    with pytest.raises(ValueError, match="needs a name"):
        gf.summary.scalar("", 1.0)
    with pytest.raises(ValueError, match="1, 3 or 4 channels"):
        gf.summary.image("v", gf.zeros([1, 2, 2, 2]))
    with pytest.raises(ValueError, match="dtype string"):
        gf.summary.text("v", 1.0)
    with pytest.raises(ValueError, match="at least one summary"):
        gf.summary.merge([])
    with pytest.raises(ValueError, match="at least 1"):
        gf.summary.image("v", gf.zeros([1, 2, 2, 1]), max_outputs=0)


def test_without_tensorboard_the_line_that_builds_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from graphflow import protos

    for name in [n for n in sys.modules if n == "tensorboard" or n.startswith("tensorboard.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [n for n in vars(protos) if n.endswith("_pb2")]:
        monkeypatch.delitem(vars(protos), name)
    for build in (lambda: gf.summary.scalar("v", 1.0), lambda: gf.summary.FileWriter(tmp_path / "new")):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'graphflow-engine\[tensorboard\]'"):
            build()


def test_errors_of_a_run_name_tag_and_operation() -> None:
    x = gf.placeholder(gf.float32)
    scalar, spread = gf.summary.scalar("curve", x), gf.summary.histogram("spread", x)
    with gf.Session() as session:
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"ScalarSummary 'curve'.*\(tag 'curve'\)"):
            session.run(scalar, {x: [1.0, 2.0]})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"Nan.*: spread \(2 of 3 values\)"):
            session.run(spread, {x: [1.0, np.nan, np.inf]})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"Infinity.*: spread"):
            session.run(spread, {x: [1.0, -np.inf]})
        with pytest.raises(gf.errors.InvalidArgumentError, match="Duplicate tag curve"):
            session.run(gf.summary.merge([scalar, scalar]), {x: 1.0})
        with pytest.raises(gf.errors.InvalidArgumentError, match="no serialized Summary"):
            session.run(gf.summary.merge([scalar, b"\xff\xff"]), {x: 1.0})


def test_histogram_of_a_large_tensor_counts_every_value() -> None:
    values = np.random.default_rng(0).standard_normal(300_000).astype(np.float32)
    values[:10] = [0.0, -0.0, 1e-12, -1e-12, 1e20, -1e20, 3e38, -3e38, 1e-40, 1.1]
    (value,) = read(gf.summary.histogram("spread", values))
    limits, counts = np.array(value.histo.bucket_limit), np.array(value.histo.bucket)
    edges = np.concatenate([[-np.inf], limits])
    found = np.histogram(values[10:].astype(np.float64), np.nextafter(edges, edges))[0]
    few = np.searchsorted(limits, values[:10].astype(np.float64), side="right")
    np.testing.assert_array_equal(counts, found + np.bincount(few, minlength=len(limits)))
    assert value.histo.num == counts.sum() == 300_000


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float16, np.float64])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_are_readable_files(dtype: Any, channels: int) -> None:
    levels = np.random.default_rng(channels).integers(0, 256, (2, 7, 5, channels))
    levels[:, 0, 0] = 255
    smooth = np.add.outer(np.arange(7), np.arange(5))[..., np.newaxis] * np.ones(channels, int) * 20 + 55
    batch = np.concatenate([levels, smooth[np.newaxis]]).astype(dtype)
    values = read(gf.summary.image("picture", batch, max_outputs=5))
    assert [v.tag for v in values] == [f"picture/image/{i}" for i in range(3)]
    for value, image in zip(values, batch, strict=True):
        np.testing.assert_array_equal(picture(value), image.astype(np.uint8))


def test_images_scaled_and_bad_pixels() -> None:
    # As TensorFlow 1.15: without negative values the largest is 255, with some the largest magnitude is 127 from 128.
    (value,) = read(gf.summary.image("picture", np.float32([[[[0.0], [2.0], [4.0]]]]), max_outputs=1))
    assert value.tag == "picture/image"
    assert picture(value).tolist() == [[[0], [127], [255]]]
    (value,) = read(gf.summary.image("picture", np.float32([[[[-4.0], [0.0], [2.0]]]]), max_outputs=1))
    assert picture(value).tolist() == [[[1], [128], [191]]]
    pixels = np.float32([[[[np.nan, 1.0, 1.0], [1.0, 0.5, 0.0]]]])
    (value,) = read(gf.summary.image("picture", pixels, max_outputs=1))
    assert picture(value).tolist() == [[[255, 0, 0], [255, 127, 0]]]


def test_audio() -> None:
    import wave

    sound = np.float32([[0.0, 0.5, -0.5, 1.0, -1.0, np.nan]])
    (value,) = read(gf.summary.audio("tone", sound, 8000.7))
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as file:
        assert (file.getnchannels(), file.getframerate(), file.getsampwidth()) == (1, 8001, 2)
        frames = np.frombuffer(file.readframes(6), "<i2").tolist()
    assert frames == [0, 16384, -16384, 32767, -32768, 0]


def test_text_and_tensor() -> None:
    words, numbers = read(
        gf.summary.merge(
            [
                gf.summary.text("words", [["a", "b"]]),
                gf.summary.tensor_summary("numbers", [1, 2], "what", display_name="shown"),
            ]
        )
    )
    assert words.metadata.plugin_data.plugin_name == "text"
    assert list(words.tensor.string_val) == [b"a", b"b"]
    assert [d.size for d in words.tensor.tensor_shape.dim] == [1, 2]
    assert (numbers.metadata.display_name, numbers.metadata.summary_description) == ("shown", "what")
    assert np.frombuffer(numbers.tensor.tensor_content, np.int32).tolist() == [1, 2]


def test_compiled_plans_keep_summaries() -> None:
    x = gf.placeholder(gf.float32, [4])
    w = gf.Variable([1.0, 2.0, 3.0, 4.0])
    loss = gf.reduce_sum(gf.square(w * x))
    step = gf.train.GradientDescentOptimizer(0.01).minimize(loss)
    merged = gf.summary.merge([gf.summary.scalar("loss", loss), gf.summary.histogram("w", w)])
    found = []
    for tier in ("never", "always"):
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            session.run(w.initializer)
            runs = [session.run([merged, loss, step], {x: [1.0, 0.5, 2.0, 1.0]})[:2] for _ in range(3)]
        for data, value in runs:
            summary = gf.Summary.FromString(data)
            assert summary.value[0].simple_value == value
        found.append([gf.Summary.FromString(data).value[1].histo.sum for data, _ in runs])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
