"""Protects pictures for models: batches of arrays, folders and tables, and files of them. Numbers are the oracle's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

image = gf.keras.preprocessing.image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two folders of three and two pictures, each of one value, and a text."""
    pytest.importorskip("PIL")
    for number, name in enumerate(
        ["cats/1.png", "cats/2.png", "cats/more/3.png", "dogs/1.png", "dogs/2.bmp"]
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save_img(str(path), np.full((4, 6, 3), 10.0 * number), scale=False)
    (tmp_path / "cats" / "notes.txt").write_text("no picture")
    return tmp_path


def test_a_folder_has_a_class_in_each_of_its_folders(folder: Path, capsys: Any) -> None:
    batches = image.ImageDataGenerator(rescale=0.1).flow_from_directory(
        str(folder), target_size=(2, 3), batch_size=2, shuffle=False
    )
    assert "Found 5 images belonging to 2 classes." in capsys.readouterr().out
    assert batches.class_indices == {"cats": 0, "dogs": 1} and len(batches) == 3
    assert batches.filenames[2] == "cats/more/3.png"
    found = [next(batches) for _ in range(4)]
    assert [x.shape for x, _ in found] == [(2, 2, 3, 3), (2, 2, 3, 3), (1, 2, 3, 3), (2, 2, 3, 3)]
    np.testing.assert_allclose([x[0, 0, 0, 0] for x, _ in found], [0.0, 2.0, 4.0, 0.0], atol=1e-6)
    assert found[1][1].tolist() == [[1, 0], [0, 1]]
    assert batches[2][1].tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "mode, targets", [("binary", [0, 0, 0, 1, 1]), ("sparse", [0, 0, 0, 1, 1]), (None, None)]
)
def test_targets_have_the_form_that_is_asked_for(folder: Path, mode: Any, targets: Any) -> None:
    generator = image.ImageDataGenerator()
    found = next(
        generator.flow_from_directory(str(folder), class_mode=mode, shuffle=False, color_mode="grayscale")
    )
    if mode is None:
        assert found.shape == (5, 256, 256, 1)
    else:
        assert found[1].tolist() == targets


def test_a_folder_is_cut_into_subsets(folder: Path) -> None:
    generator = image.ImageDataGenerator(validation_split=0.5)
    kept = generator.flow_from_directory(str(folder), subset="validation", shuffle=False)
    trained = generator.flow_from_directory(str(folder), subset="training", shuffle=False)
    assert kept.filenames == ["cats/1.png", "dogs/1.png"]
    assert trained.filenames == ["cats/2.png", "cats/more/3.png", "dogs/2.bmp"]


def test_a_model_trains_on_a_folder(folder: Path) -> None:
    gf.keras.backend.clear_session()
    layers = gf.keras.layers
    model = gf.keras.Sequential(
        [layers.Flatten(input_shape=(2, 2, 3)), layers.Dense(2, activation="softmax")]
    )
    model.compile("sgd", "categorical_crossentropy")
    generator = image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True)
    batches = generator.flow_from_directory(str(folder), target_size=(2, 2), batch_size=2)
    history = model.fit_generator(batches, epochs=2, verbose=0, workers=2)
    assert len(history.history["loss"]) == 2
    assert model.predict_generator(batches, steps=3).shape == (5, 2)


def test_a_table_names_files_and_targets(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "filename": ["cats/1.png", "cats/2.png", "none.png", "dogs/1.png"],
            "class": ["cat", "cat", "cat", "dog"],
            "size": [0.5, 1.5, 2.5, 3.5],
        }
    )
    generator = image.ImageDataGenerator()
    batches = generator.flow_from_dataframe(table, str(folder), target_size=(2, 2), shuffle=False)
    x, y = next(batches)
    assert batches.class_indices == {"cat": 0, "dog": 1} and y.tolist() == [[1, 0], [1, 0], [0, 1]]
    assert x[:, 0, 0, 0].tolist() == [0.0, 10.0, 30.0]
    raw = generator.flow_from_dataframe(
        table,
        str(folder),
        y_col="size",
        class_mode="raw",
        weight_col="size",
        target_size=(2, 2),
        shuffle=False,
    )
    assert [a.tolist() for a in next(raw)[1:]] == [[0.5, 1.5, 3.5]] * 2
    with pytest.raises(TypeError, match=r"'size' should have texts with class_mode='binary', but has 0\.5"):
        generator.flow_from_dataframe(table, str(folder), y_col="size", class_mode="binary")


def test_pictures_are_written_for_people_to_look_at(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    generator = image.ImageDataGenerator()
    next(generator.flow(np.zeros((3, 4, 4, 3)), save_to_dir=str(tmp_path), save_prefix="seen"))
    names = sorted(path.name for path in tmp_path.glob("*.png"))
    assert len(names) == 3 and all(name.startswith("seen_") for name in names)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    generator = image.ImageDataGenerator()
    with pytest.raises(ValueError, match="x has 3 pictures, but y has 2 elements"):
        generator.flow(np.zeros((3, 4, 4, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="four axes"):
        generator.flow(np.zeros((3, 4, 4)))
    with pytest.raises(ValueError, match="class_mode is one of"):
        generator.flow_from_directory(str(tmp_path), class_mode="other")
    with pytest.raises(ValueError, match="fill_mode is one of"):
        image.apply_affine_transform(np.zeros((4, 4, 3)), theta=10, fill_mode="other")


def test_weights_of_imagenet_say_where_to_put_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    gf.keras.backend.clear_session()
    networks = gf.keras.applications
    with pytest.raises(
        FileNotFoundError, match=r"models/mobilenet_1_0_224_tf\.h5 is not there.*fetch https://"
    ):
        networks.MobileNet()
    with pytest.raises(ValueError, match="has 1000 classes, not 3"):
        networks.MobileNet(classes=3)
    with pytest.raises(ValueError, match=r"the path of a file that is there, not 'none\.h5'"):
        networks.MobileNet(weights="none.h5")
    with pytest.raises(ValueError, match="from 32x32 on"):
        networks.MobileNet(weights=None, input_shape=(16, 16, 3))
    with pytest.raises(FileNotFoundError, match=r"imagenet_class_index\.json is not there"):
        networks.vgg16.decode_predictions(np.zeros((1, 1000)))
    (tmp_path / "models").mkdir()
    names = {str(i): [f"n{i}", f"class {i}"] for i in range(1000)}
    (tmp_path / "models" / "imagenet_class_index.json").write_text(json.dumps(names))
    found = networks.vgg16.decode_predictions(np.eye(1000)[[7, 3]], top=1)
    assert found == [[("n7", "class 7", 1.0)], [("n3", "class 3", 1.0)]]


@pytest.mark.parametrize("mode", ["caffe", "tf", "torch"])
@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
def test_tensors_are_made_ready_as_arrays_are(mode: str, layout: str) -> None:
    prepare = gf.keras.applications.imagenet_utils.preprocess_input
    images = np.random.RandomState(0).uniform(0, 255, (2, 3, 3, 3)).astype("f")
    with gf.Session() as session:
        made = session.run(prepare(gf.constant(images), layout, mode))
    np.testing.assert_allclose(made, prepare(images.copy(), layout, mode), rtol=1e-5, atol=1e-5)


def test_weights_of_a_local_file_are_loaded(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    gf.keras.backend.clear_session()
    wishes = {"include_top": False, "input_shape": (32, 32, 3), "pooling": "max", "alpha": 0.25}
    first = gf.keras.applications.MobileNet(weights=None, **wishes)
    first.save_weights(str(tmp_path / "weights.h5"))
    again = gf.keras.applications.MobileNet(weights=str(tmp_path / "weights.h5"), **wishes)
    x = np.random.RandomState(0).rand(1, 32, 32, 3)
    np.testing.assert_array_equal(again.predict(x), first.predict(x))
    gf.keras.backend.clear_session()
