"""Protects ONNX models: onnxruntime computes what the session does, and what has no form is named with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import graphflow as gf
from graphflow.cli.main import main
from tests.zoo import programs

MODELS = {
    "bert": {"sentence", "pooled", "sequence"},  # attention
    "dcgan": {"fake"},  # transposed convolutions
    "densenet": {"logits"},  # a convolutional network with batch normalization, channels last
    "highway": {"h"},
    "static_rnn": {"logits", "c", "h"},  # an LSTM, unrolled
    "tied_autoencoder": {"code", "decoded"},  # a multilayer perceptron
    "unet": {"probabilities"},  # slices whose places depend on shapes
}


def computed(path: Path, feeds: dict[Any, Any]) -> dict[str, Any]:
    """What onnxruntime computes, by the names of the outputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = {t.name.removesuffix(":0"): np.asarray(v, t.dtype.as_numpy_dtype) for t, v in feeds.items()}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_the_zoo(name: str, tmp_path: Path) -> None:
    program = programs.build(gf, name)
    outputs = {key: tensor for key, tensor in program.outputs.items() if key in MODELS[name]}
    assert set(outputs) == MODELS[name]
    with gf.Session(graph=program.graph) as session:
        programs.initialize(gf, program, session)
        feeds = dict(program.feeds(0))
        gf.graph_util.export_onnx(session, tmp_path / "model.onnx", list(feeds), outputs)
        expected = session.run(outputs, feeds)
    found = computed(tmp_path / "model.onnx", feeds)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-5, err_msg=key)


X = np.array([[-7.5, -1.0, 0.25, 2.5], [3.0, 0.0, -0.5, 9.0], [1.5, 2.0, 4.0, -3.0]], np.float32)
CASES: dict[str, Callable[[Any], Any]] = {
    "floor_div": lambda x: gf.floor_div(x, 2.0),
    "floormod": lambda x: gf.floormod(x, -2.5),
    "floor_div of integers": lambda x: gf.floor_div(gf.cast(x, gf.int32), 2),
    "floormod of integers": lambda x: gf.floormod(gf.cast(x, gf.int32), -4),
    "relu6": gf.nn.relu6,
    "leaky_relu": lambda x: gf.nn.leaky_relu(x, 0.3),
    "log1p": lambda x: gf.log1p(gf.abs(x)),
    "expm1": lambda x: gf.expm1(x / 8),
    "rsqrt": lambda x: gf.rsqrt(gf.abs(x) + 1),
    "squared_difference": lambda x: gf.squared_difference(x, x[:1]),
    "where by rows": lambda x: gf.where(gf.reduce_any(x > 3, axis=1), x, -x),
    "reduce_all": lambda x: gf.reduce_all(x > -5, axis=0, keepdims=True),
    "reduce_max of all": gf.reduce_max,
    "reduce_sum of no axes": lambda x: gf.reduce_sum(x, []),
    "argmin": lambda x: gf.argmin(x, 1),
    "cumsum": lambda x: gf.cumsum(x, 1, exclusive=True, reverse=True),
    "top_k": lambda x: gf.nn.top_k(x, 2).indices,
    "slices": lambda x: x[::-1, 1:-1],
    "slices of one": lambda x: x[-1, gf.newaxis, ..., 2],
    "slices by shape": lambda x: x[1 : gf.shape(x)[0], gf.shape(x)[1] - 2],
    "slice to the end": lambda x: gf.slice(x, [1, 0], [-1, gf.shape(x)[0]]),
    "split and stack": lambda x: gf.stack(gf.unstack(gf.split(x, [1, 3], 1)[1], axis=1), axis=1),
    "flatten": lambda x: gf.reshape(x, [gf.shape(x)[0], -1, 2]),
    "one_hot": lambda x: gf.one_hot(gf.cast(x, gf.int32), 4, axis=1),
    "gather": lambda x: gf.gather(x, gf.cast(gf.clip_by_value(x[:, 1], 0, 2), gf.int32), axis=0),
    "gather_nd": lambda x: gf.gather_nd(x, gf.constant([[0, 1], [2, 3]])),
    "reverse": lambda x: gf.reverse(x, [1]),
    "band": lambda x: gf.matrix_band_part(x, -1, 0),
    "mirror_pad": lambda x: gf.pad(x, [[1, 0], [0, 2]], "REFLECT"),
    "pad": lambda x: gf.pad(x, [[1, 0], [0, 2]], constant_values=3.5),
    "fill": lambda x: gf.fill(gf.shape(x), 2.0) + gf.zeros_like(x),
    "tile": lambda x: gf.tile(x, [2, 1]),
    "matmul": lambda x: gf.matmul(x, x, transpose_b=True),
    "log_softmax": gf.nn.log_softmax,
    "strided convolution": lambda x: gf.nn.conv2d(
        gf.reshape(x, [1, 3, 4, 1]), np.arange(8, dtype=np.float32).reshape(2, 2, 1, 2), [1, 2, 1, 1], "SAME"
    ),
    "dilated convolution": lambda x: gf.nn.conv2d(
        gf.reshape(x, [1, 3, 4, 1]), np.arange(8, dtype=np.float32).reshape(2, 2, 1, 2), [1, 1, 1, 1], "SAME",
        dilations=[1, 2, 2, 1],
    ),
    "depthwise convolution": lambda x: gf.nn.depthwise_conv2d(
        gf.reshape(x, [1, 3, 2, 2]), np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2), [1, 1, 1, 1], "VALID"
    ),
    "pooling": lambda x: gf.nn.avg_pool(gf.reshape(x, [1, 3, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "resizing": lambda x: gf.image.resize_bilinear(gf.reshape(x, [1, 3, 4, 1]), [6, 6], align_corners=True),
    "nearest places": lambda x: gf.image.resize_nearest_neighbor(gf.reshape(x, [1, 3, 4, 1]), [5, 7]),
    "batch normalization": lambda x: gf.layers.batch_normalization(gf.reshape(x, [3, 2, 2, 1]), training=True),
    "depth_to_space": lambda x: gf.depth_to_space(gf.reshape(x, [1, 3, 1, 4]), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_op(name: str, tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [None, 4], name="x")
        y = CASES[name](x)
        session.run(gf.global_variables_initializer())
        gf.graph_util.export_onnx(session, tmp_path / "op.onnx", [x], {"y": y})
        expected = session.run(y, {x: X})
    found = computed(tmp_path / "op.onnx", {x: X})["y"]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_what_has_no_form_is_named_with_the_line(tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [3], name="x")
        y = gf.nn.dropout(x, keep_prob=0.5, name="drop")
        where = r"RandomUniform 'drop/random_uniform/RandomUniform', built at .*test_onnx\.py:\d+, has no ONNX form"
        with pytest.raises(gf.errors.UnimplementedError, match=where):
            gf.graph_util.export_onnx(session, tmp_path / "m.onnx", [x], [y])
        z = gf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [x[0]])
        with pytest.raises(gf.errors.UnimplementedError, match="branches and loops are not written"):
            gf.graph_util.export_onnx(session, tmp_path / "m.onnx", [x], {"z": z})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"needs? the placeholder 'x'"):
            gf.graph_util.export_onnx(session, tmp_path / "m.onnx", [], {"x2": x * 2.0})
        assert not (tmp_path / "m.onnx").exists()


def _sources(folder: Path) -> dict[str, list[str]]:
    """One model as a SavedModel, a frozen graph, a checkpoint with its graph; what the command takes of each."""
    with gf.Graph().as_default() as graph, gf.Session() as session:
        x = gf.placeholder(gf.float32, [None, 2], name="x")
        w = gf.get_variable("w", initializer=[[1.0], [2.0]])
        y = gf.matmul(x, w, name="y")
        session.run(w.initializer)
        gf.saved_model.simple_save(session, str(folder / "saved"), {"in": x}, {"out": y})
        frozen = gf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        gf.train.write_graph(frozen, str(folder), "frozen.pb", as_text=False)
        gf.train.write_graph(frozen, str(folder), "frozen.pbtxt")
        gf.train.Saver().save(session, str(folder / "model"))
    return {
        "saved": [],
        "frozen.pb": [],
        "frozen.pbtxt": [],
        "model": ["--outputs", "y"],
        "model.meta": ["--outputs", "out=y:0"],
    }


def test_the_command_takes_models_in_each_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for source, options in _sources(tmp_path).items():
        target = tmp_path / "model.onnx"
        assert main(["export", str(target), str(tmp_path / source), *options]) == 0, capsys.readouterr().err
        assert " from " in capsys.readouterr().out
        session = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
        (given,), (result,) = session.get_inputs(), session.get_outputs()
        assert given.name == ("in" if source == "saved" else "x")
        (found,) = session.run([result.name], {given.name: np.array([[3.0, 4.0]], np.float32)})
        assert found.tolist() == [[11.0]]
        target.unlink()


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gf.Graph().as_default() as graph:
        x = gf.placeholder(gf.float32, [3], name="x")
        gf.random_shuffle(x, name="y")
        gf.train.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
    target = str(tmp_path / "m.onnx")
    assert main(["export", target, str(tmp_path / "graph.pb")]) == 2
    assert "RandomShuffle 'y' has no ONNX form" in capsys.readouterr().err
    assert main(["export", target, str(tmp_path / "none")]) == 2
    assert "no SavedModel, no GraphDef and no checkpoint" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "graph.pb"), target]) == 2
    assert "ends with .onnx" in capsys.readouterr().err
