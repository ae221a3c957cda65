"""Protects weights from other libraries' safetensors files: names, a mapping, dtypes, and what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors import TensorSpec, serialize_file
from safetensors.numpy import save_file

import graphflow as gf

WEIGHTS = {
    "encoder.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "encoder.bias": np.array([0.5, -1.0], np.float16),
    "steps": np.array(7, np.int64),
}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_file(WEIGHTS, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path / "model.safetensors"


def test_arrays_by_their_names(path: Path) -> None:
    found = gf.train.load_safetensors(path)
    assert found.keys() == WEIGHTS.keys()
    for name, array in WEIGHTS.items():
        assert found[name].dtype == array.dtype and found[name].flags.writeable
        np.testing.assert_array_equal(found[name], array)


def test_what_numpy_lacks(tmp_path: Path) -> None:
    narrow = np.array([1.5, -2.0, 3e38, np.inf], ml_dtypes.bfloat16)
    for kind in ("bfloat16", "float8_e4m3fn"):
        data = narrow.tobytes()[: 8 if kind == "bfloat16" else 4]
        spec = TensorSpec(
            dtype=kind, shape=[4], data_ptr=np.frombuffer(data, "u1").ctypes.data, data_len=len(data)
        )
        serialize_file({"x": spec}, tmp_path / kind)
    found = gf.train.load_safetensors(tmp_path / "bfloat16")["x"]
    assert found.dtype == narrow.dtype
    np.testing.assert_array_equal(found, narrow)
    with pytest.raises(gf.errors.UnimplementedError, match=r"'x' of .*F8_E4M3"):
        gf.train.load_safetensors(tmp_path / "float8_e4m3fn")


@pytest.mark.parametrize("target", ["this process", "a cluster"])
def test_variables_by_a_mapping(path: Path, target: str) -> None:
    server = gf.train.Server.create_local_server() if target == "a cluster" else None
    kernel = gf.get_variable("dense/kernel", [2, 3])
    bias = gf.get_variable("dense/bias", [2])
    other = gf.get_variable("other", initializer=1.0)
    with gf.Session(server.target if server else "") as session:
        session.run(other.initializer)
        gf.train.restore_safetensors(session, path, {"encoder.weight": kernel, "encoder.bias": bias})
        found = session.run([kernel, bias, other])
    np.testing.assert_array_equal(found[0], WEIGHTS["encoder.weight"])
    assert found[1].dtype == np.float32 and found[1].tolist() == [0.5, -1.0] and found[2] == 1.0


def test_variables_by_their_own_names(tmp_path: Path) -> None:
    v = gf.get_variable("layer/v", initializer=[1.0, 2.0])
    step = gf.train.get_or_create_global_step()
    save_file({"layer/v": np.array([3.0, 4.0], "f"), "global_step": np.array(9)}, tmp_path / "all")
    with gf.Session() as session:
        gf.train.restore_safetensors(session, tmp_path / "all")
        assert session.run(v).tolist() == [3.0, 4.0] and session.run(step) == 9
        session.run([v.initializer, step.initializer])
        gf.train.restore_safetensors(session, tmp_path / "all", [v])
        assert session.run(v).tolist() == [3.0, 4.0] and session.run(step) == 0


def test_what_does_not_fit_changes_nothing(path: Path) -> None:
    good = gf.get_variable("good", initializer=np.zeros([2, 3], "f"))
    turned = gf.get_variable("turned", [3, 2])
    whole = gf.get_variable("whole", [], gf.int32)
    mapping = {"encoder.weight": good, "encoder.wait": turned, "step": whole}
    with gf.Session() as session:
        session.run(good.initializer)
        with pytest.raises(
            gf.errors.NotFoundError, match=r"'encoder.wait' \(near: encoder.weight.*'step' \(near: steps"
        ):
            gf.train.restore_safetensors(session, path, mapping)
        wrong = {"encoder.weight": turned, "steps": whole}
        with pytest.raises(
            gf.errors.InvalidArgumentError, match=r"\(2, 3\) there, 'turned' \(3, 2\).*int64.*int32"
        ):
            gf.train.restore_safetensors(session, path, wrong)
        assert not session.run(good).any()


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 100])
def test_what_is_no_whole_file(tmp_path: Path, path: Path, content: bytes) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(content or path.read_bytes()[:-1])
    with pytest.raises(gf.errors.DataLossError, match="broken is no whole safetensors file"):
        gf.train.load_safetensors(broken)
    with pytest.raises(gf.errors.NotFoundError, match="absent"):
        gf.train.load_safetensors(tmp_path / "absent")


def test_a_checkpoint_of_another_library_names_the_function(path: Path) -> None:
    v = gf.get_variable("v", [])
    with gf.Session() as session, pytest.raises(gf.errors.DataLossError, match="restore_safetensors"):
        gf.train.Saver({"v": v}).restore(session, str(path))


@pytest.mark.parametrize("size", [1, 4, 4000])
def test_who_restores_one_as_a_checkpoint_is_told_how_it_is_read(size: int, tmp_path: Path) -> None:
    save_file({"encoder": np.ones(size, np.float32)}, tmp_path / "weights.safetensors")
    with gf.Graph().as_default(), gf.Session() as session:
        gf.get_variable("encoder", shape=[size])
        with pytest.raises(
            gf.errors.DataLossError, match=r"another library .* gf\.train\.restore_safetensors"
        ):
            gf.train.Saver().restore(session, str(tmp_path / "weights"))
