"""Protects the benchmark of input pipelines: every pipeline reads what it says."""

from __future__ import annotations

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
