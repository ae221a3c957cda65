"""Protects: two definitions of one name are an error, and a module whose import was ended may be imported again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphflow._core.graph.claims import Claims

CLAIMS = Claims("The thing")

MODULE = """
from graphflow._core.graph.claims import calling_module
from tests.graph.test_claims import CLAIMS
def define(name):
    CLAIMS.claim(name, calling_module(1))
define("{name}")
{then}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def test_an_import_that_was_ended_is_done_anew(folder: Path) -> None:
    module = folder / "claims_ended.py"
    module.write_text(MODULE.format(name="ended", then="raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        __import__("claims_ended")
    module.write_text(MODULE.format(name="ended", then=""))
    __import__("claims_ended")


def test_a_module_does_not_define_a_name_twice(folder: Path) -> None:
    (folder / "claims_twice.py").write_text(MODULE.format(name="twice", then='define("twice")'))
    with pytest.raises(ValueError, match="The thing 'twice' is defined twice: in claims_twice"):
        __import__("claims_twice")


def test_two_modules_do_not_define_one_name(folder: Path) -> None:
    for number in range(2):
        (folder / f"claims_{number}.py").write_text(MODULE.format(name="both", then=""))
    __import__("claims_0")
    with pytest.raises(ValueError, match="in claims_0 and in claims_1"):
        __import__("claims_1")
