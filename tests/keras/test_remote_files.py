"""Protects models, weights and tables with paths of other file systems: they go there, or an error says why not."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

K = gf.keras
ROWS = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.fixture(autouse=True)
def fresh() -> Any:
    K.backend.clear_session()
    yield
    K.backend.clear_session()


def made() -> Any:
    model = K.Sequential([K.layers.Dense(3, input_shape=(2,))])
    model.compile("sgd", "mse")
    return model


def fitted(*callbacks: Any, epochs: int = 2) -> Any:
    model = made()
    model.fit(ROWS, np.ones((4, 3)), epochs=epochs, verbose=0, callbacks=list(callbacks))
    return model


@pytest.mark.parametrize("ending", ["model.h5", "saved"])
def test_a_model_comes_back_from_another_file_system(ending: str) -> None:
    for package in ("h5py", "fsspec"):
        pytest.importorskip(package)
    model, path = fitted(), f"memory://keras-models/{ending}"
    for _ in range(2):  # The second in place of the first.
        model.save(path, save_format="h5" if ending.endswith(".h5") else "tf")
    again = K.models.load_model(path)
    np.testing.assert_allclose(again.predict(ROWS), model.predict(ROWS), atol=1e-6)


@pytest.mark.parametrize("ending", ["weights.h5", "weights"])
def test_weights_come_back_from_another_file_system(ending: str) -> None:
    for package in ("h5py", "fsspec"):
        pytest.importorskip(package)
    model, path = fitted(), f"memory://keras-weights/{ending}"
    model.save_weights(path)
    with pytest.raises(FileExistsError):
        model.save_weights(path, overwrite=False)
    other = made()
    other.load_weights(path)
    np.testing.assert_allclose(other.predict(ROWS), model.predict(ROWS), atol=1e-6)


def test_rows_of_a_table_are_on_the_other_file_system_after_each_epoch() -> None:
    pytest.importorskip("fsspec")
    path, seen = "memory://keras-tables/log.csv", []
    looks = K.callbacks.LambdaCallback(on_epoch_end=lambda *_: seen.append(gf.gfile.GFile(path).read()))
    fitted(K.callbacks.CSVLogger(path), looks)
    assert [text.count("\r\n") for text in seen] == [2, 3]
    fitted(K.callbacks.CSVLogger(path, append=True), epochs=1)
    lines = gf.gfile.GFile(path).read().splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch", "0", "1", "0"]


WRITERS: dict[str, Callable[[str], Any]] = {
    "a table": lambda path: fitted(K.callbacks.CSVLogger(path)),
    "a model": lambda path: made().save(f"{path}.h5"),
    "a SavedModel": lambda path: made().save(path, save_format="tf"),
    "an exported model": lambda path: K.experimental.export_saved_model(made(), path),
    "weights": lambda path: made().save_weights(path),
    "weights to be read": lambda path: made().load_weights(path),
    "a model to be read": lambda path: K.models.load_model(path),
    "a drawing": lambda path: K.utils.plot_model(made(), f"{path}.dot"),
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_scheme_that_nothing_serves_is_an_error_and_no_folder(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "graphflow._core.common.files.paths.find_spec",
        lambda name, *more: None if name == "fsspec" else find_spec(name, *more),
    )
    with pytest.raises(gf.errors.UnimplementedError, match="graphflow-engine\\[remote\\]"):
        WRITERS[what]("gs://bucket/there")
    assert not list(tmp_path.iterdir())
