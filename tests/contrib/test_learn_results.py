"""Protects contrib.learn: losses, metrics and predictions of its estimators are those of TensorFlow 1.15.5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

import graphflow as gf
from tests.contrib import learn_cases
from tests.estimator.test_canned import assert_same, cleared

RECORDED: Final[dict[str, Any]] = json.loads(Path(learn_cases.RECORDED).read_text("utf-8"))
__all__ = ["cleared"]


@pytest.mark.parametrize("name", learn_cases.CASES)
def test_agrees_with_tensorflow(name: str, tmp_path: Path) -> None:
    found = learn_cases.outcome(gf, name, str(tmp_path))
    for part, expected in RECORDED[name].items():
        assert_same(found[part], expected, part)
