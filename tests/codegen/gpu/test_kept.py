"""Protects: a GPU's compiled kernels are unpickled only where this user's programs have signed them."""

from __future__ import annotations

import importlib
import importlib.metadata
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.gpu.kept import KeptKernels, _files
from graphflow._core.common.files import signed_files

RUN: list[str] = []


def run(text: str) -> str:
    RUN.append(text)
    return text


class Evil:
    """What runs where it is unpickled."""

    def __reduce__(self) -> Any:
        return run, ("evil",)


class Kernel:
    def __init__(self, chip: str, sensitive: bool = False) -> None:
        self.codegen = Codegen(chip)
        self.launch_config_sensitive = sensitive

    def _reduce_states(self) -> dict[str, Any]:
        return {"chip": self.codegen.chip}

    @classmethod
    def _rebuild(cls, chip: str) -> Kernel:
        return cls(chip)


class Codegen:
    def __init__(self, chip: str) -> None:
        self.chip = chip

    def magic_tuple(self) -> tuple[str]:
        return (self.chip,)


def context(chip: str) -> Any:
    return SimpleNamespace(refresh=lambda: None, codegen=lambda: Codegen(chip))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "numba.cuda.dispatcher", SimpleNamespace(_Kernel=Kernel))  # type: ignore[misc]
    monkeypatch.setitem(sys.modules, "numba.cuda.serialize", SimpleNamespace(dumps=pickle.dumps))  # type: ignore[misc]
    real = importlib.metadata.version
    monkeypatch.setattr("importlib.metadata.version", lambda name: "1" if "cuda" in name else real(name))
    signed_files.cache_home_in.cache_clear()
    RUN.clear()
    yield tmp_path / "graphflow" / "cuda"
    signed_files.cache_home_in.cache_clear()
    _files.cache_clear()


def test_a_kernel_is_found_by_its_types_and_its_chip(folder: Path) -> None:
    kept = KeptKernels("name")
    assert kept.load_overload(("float32",), context("90")) is None
    kept.save_overload(("float32",), Kernel("90"))
    kept.save_overload(("int32",), Kernel("80", sensitive=True))
    assert KeptKernels("name").load_overload(("float32",), context("90")).codegen.chip == "90"
    for name, signature, chip in (
        ("other", "float32", "90"), ("name", "float64", "90"), ("name", "float32", "80"), ("name", "int32", "80")
    ):  # fmt: skip
        assert KeptKernels(name).load_overload((signature,), context(chip)) is None
    assert kept.cache_path == str(folder) and len(list(folder.rglob("*.kernel"))) == 1


def test_a_pickle_that_others_put_there_is_not_opened(folder: Path) -> None:
    kept = KeptKernels("name")
    kept.save_overload(("float32",), Kernel("90"))
    (path,) = folder.rglob("*.kernel")
    head = path.read_bytes()[:51]
    for content in (pickle.dumps(Evil()), head + pickle.dumps(Evil())):
        path.write_bytes(content)
        assert kept.load_overload(("float32",), context("90")) is None
    for planted in ("gf_0.kernel-1.py311.nbi", "gf_0.kernel-1.py311.1.nbc", "gf_0.py"):
        (folder / planted).write_bytes(pickle.dumps(Evil()))  # what Numba's own cache would look for
    assert kept.load_overload(("float32",), context("90")) is None
    assert pickle.loads(pickle.dumps(Evil())) == "evil" and RUN == ["evil"]  # it would have run


@pytest.mark.gpu
def test_what_one_program_has_compiled_for_a_gpu_the_next_one_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next program: one that has forgotten what was loaded."""
    toolkit: Any = importlib.import_module("graphflow._core.codegen.gpu.toolkit")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load, found = KeptKernels.load_overload, []

    def watched(self: KeptKernels, *rest: Any) -> Any:
        kernel = load(self, *rest)
        found.append(kernel is not None)
        return kernel

    monkeypatch.setattr(KeptKernels, "load_overload", watched)
    for known in (False, True):
        found.clear()
        toolkit.kernel.cache_clear()
        with gf.Graph().as_default():
            with gf.device("/gpu:0"):
                y = gf.exp(gf.placeholder(gf.float32, [3], name="x"))
            with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
                assert session.run(y, {"x:0": np.zeros(3, np.float32)}).tolist() == [1, 1, 1]
        assert found and set(found) == {known}
    toolkit.kernel.cache_clear()
