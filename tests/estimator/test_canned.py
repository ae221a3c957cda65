"""Protects ready-made estimators: losses, metrics, predictions, names and signatures are those of TensorFlow 1.15.5."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.estimator import canned_cases

RECORDED: Final[dict[str, Any]] = json.loads(Path(canned_cases.RECORDED).read_text("utf-8"))


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    yield
    gf.summary.FileWriterCache.clear()


def assert_same(found: Any, expected: Any, where: str) -> None:
    assert type(found) is type(expected) or isinstance(found, float | int), where
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            assert_same(found[number], value, f"{where}[{number}]")
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5, err_msg=where)
    else:
        assert found == expected, where


@pytest.mark.parametrize("name", canned_cases.NAMES)
def test_agrees_with_tensorflow(name: str, tmp_path: Path) -> None:
    found = canned_cases.outcome(gf, name, str(tmp_path))
    for part, expected in RECORDED[name].items():
        assert_same(found[part], expected, part)
