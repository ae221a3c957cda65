"""Protects the benchmarks of input pipelines: every pipeline reads what it says."""

from __future__ import annotations

from pathlib import Path

import dataset_programs
import datasets
import input_pipeline
import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize("name", input_pipeline.PIPELINES)
def test_every_pipeline_reads_all_its_data(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_pipeline, "EXAMPLES", 300)
    images, labels = input_pipeline.images()
    with gf.Graph().as_default(), gf.Session() as session:
        data = gf.data.Dataset.from_tensor_slices((images, labels))
        following = input_pipeline.PIPELINES[name](gf, data).make_one_shot_iterator().get_next()
        found = []
        while True:
            try:
                found.append(session.run(following))
            except gf.errors.OutOfRangeError:
                break
    batches, targets = zip(*found, strict=True)
    kept = labels[labels < 5] if name == "filtered" else labels
    assert [len(batch) for batch in batches[:-1]] == [input_pipeline.BATCH] * (len(batches) - 1)
    np.testing.assert_array_equal(np.sort(np.concatenate(targets).argmax(1)), np.sort(kept))
    assert np.concatenate(batches).shape == (len(kept), 28, 28)
    assert np.concatenate(batches).dtype == np.float32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the programs read."""
    pytest.importorskip("PIL")
    found = tmp_path_factory.mktemp("datasets")
    datasets.write_files(str(found), 0.02)
    return found


@pytest.mark.parametrize("name", dataset_programs.PROGRAMS)
def test_every_program_goes_on_and_on(name: str, folder: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        found = dataset_programs.PROGRAMS[name](gf, str(folder))
        found = list(found) if isinstance(found, tuple | list) else [found]
        coordinator = gf.train.Coordinator()
        gf.train.start_queue_runners(session, coordinator)
        first = [np.shape(value) for value in session.run(found)]
        for _ in range(3):
            following = [np.shape(value) for value in session.run(found)]
        coordinator.request_stop()
    assert [len(shape) for shape in first] == [len(shape) for shape in following]
    if name != "one_at_a_time":
        assert {shape[0] for shape in (first[0], following[0])} <= {16, 32, 64}
