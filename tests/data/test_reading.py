"""Protects what one run does with a whole dataset, and datasets of files of Examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.data.pipelines import D, E, drain, numbers, words


def every(dataset: Any) -> list[Any]:
    element = dataset.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        return drain(session, element)


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_a_dataset_becomes_a_file(tmp_path: Path, compression: str | None) -> None:
    path = str(tmp_path / "records")
    writing = E.TFRecordWriter(path, compression).write(words())
    with gf.Session() as session:
        session.run(writing)
    assert every(gf.data.TFRecordDataset(path, compression)) == every(words())


def test_a_variant_is_its_dataset() -> None:
    again = E.from_variant(E.to_variant(numbers()), E.get_structure(numbers()))
    assert every(again) == list(range(17))


@pytest.mark.parametrize(("label", "epochs"), [(None, 1), ("label", 2)])
def test_features_of_files_in_batches(tmp_path: Path, label: str | None, epochs: int) -> None:
    for part in range(2):
        with gf.python_io.TFRecordWriter(str(tmp_path / f"{part}.examples")) as writer:
            for number in range(3):
                value = gf.train.Feature(int64_list=gf.train.Int64List(value=[10 * part + number]))
                feature = {"label": value, "x": value}
                example = gf.train.Example(features=gf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
    features = {name: gf.FixedLenFeature([], gf.int64) for name in ("label", "x")}
    batches = E.make_batched_features_dataset(
        str(tmp_path / "*.examples"), 4, features, label_key=label, num_epochs=epochs, shuffle_seed=1
    )
    found = every(batches)
    if label is not None:
        assert all((batch["x"] == labels).all() and list(batch) == ["x"] for batch, labels in found)
        found = [batch for batch, _ in found]
    taken = np.concatenate([batch["x"] for batch in found]).tolist()
    assert sorted(taken) == sorted([0, 1, 2, 10, 11, 12] * epochs) != taken
    with pytest.raises(ValueError, match="label_key"):
        E.make_batched_features_dataset("none", 4, features, label_key="other")


def test_stateless_draws_follow_from_their_seeds() -> None:
    logits = np.log(np.float32([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]))
    seed = gf.placeholder(gf.int64, [2])
    drawn = gf.random.stateless_multinomial(logits, 5, seed, output_dtype=gf.int32)
    assert drawn.dtype is gf.int32 and drawn.shape.as_list() == [2, 5]
    with gf.Session() as session:
        # What TensorFlow 1.15.5 draws.
        assert session.run(drawn, {seed: [3, 4]}).tolist() == EXPECTED
        assert session.run(drawn, {seed: [3, 4]}).tolist() == EXPECTED
        assert session.run(drawn, {seed: [0, 0]}).tolist() != EXPECTED


EXPECTED = [[2, 2, 0, 2, 2], [1, 1, 0, 1, 1]]


def test_windows_of_all_sorts_say_how_many_they_are() -> None:
    with gf.Session() as session:
        for size, shift, stride in ((3, 1, 1), (3, 2, 2), (2, 5, 3)):
            for drop in (False, True):
                windows = D.range(11).window(size, shift, stride, drop)
                count = session.run(E.cardinality(windows))
                assert count == len(every(windows.map(lambda w: w.reduce(0, lambda s, n: s))))


def test_a_file_that_is_no_whole_number_of_records_is_told_with_its_lengths(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    path.write_bytes(bytes(28))
    dataset = gf.data.FixedLengthRecordDataset(str(path), 4, header_bytes=5, footer_bytes=2)
    told = r"\(5 bytes\) and footer \(2 bytes\), .*blocks\" has body length 21 bytes, .* record length \(4 bytes\)"
    with gf.Session() as session, pytest.raises(gf.errors.InvalidArgumentError, match=told):
        session.run(dataset.make_one_shot_iterator().get_next())
