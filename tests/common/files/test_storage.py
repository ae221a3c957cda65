"""Protects what is done to files of other file systems: an error is told of, and nobody's file is taken for another."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import graphflow as gf
from graphflow._core.common.files import storage


class Machines(MemoryFileSystem):
    """A file system of several machines: machine://NAME/a is at "/NAME/a", as its own code says, whoever asks."""

    protocol = "machine"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    broken = False

    def __init__(self, machine: str = "", **options: Any) -> None:
        super().__init__(**options)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        machine, _, tail = path.removeprefix("machine://").partition("/")
        return f"/{machine.partition('@')[0]}/{tail}".rstrip("/") if "://" in path else path.rstrip("/")

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, str]:
        return {"machine": path.removeprefix("machine://").partition("/")[0]}

    def info(self, path: str, **options: Any) -> Any:
        if Machines.broken:
            raise ConnectionError("it does not answer")
        return super().info(path, **options)

    def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
        if Machines.broken:
            raise ConnectionError("it does not answer")
        return super()._open(path, *arguments, **options)


@pytest.fixture(autouse=True)
def machines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fsspec.register_implementation("machine", Machines, clobber=True)
    monkeypatch.setattr(Machines, "store", {})
    monkeypatch.setattr(Machines, "pseudo_dirs", [""])
    yield
    Machines.clear_instance_cache()


def put(path: str, text: str = "a") -> None:
    with gf.gfile.GFile(path, "w") as file:
        file.write(text)


def test_what_does_not_answer_is_not_taken_for_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that took its checkpoints for missing would begin anew, and remove them."""
    put("machine://one/run/checkpoint", 'model_checkpoint_path: "a"')
    monkeypatch.setattr(Machines, "broken", True)
    for ask in (gf.gfile.Exists, gf.gfile.Remove, gf.gfile.IsDirectory):
        with pytest.raises(gf.errors.UnknownError, match="does not answer"):
            ask("machine://one/run/checkpoint")
    with pytest.raises((OSError, gf.errors.OpError), match="does not answer"):
        gf.train.latest_checkpoint("machine://one/run")
    with pytest.raises(gf.errors.OpError):
        gf.train.get_checkpoint_state("machine://one/run")


def test_no_file_is_renamed_on_another_machine() -> None:
    put("machine://one/a")
    with pytest.raises(OSError) as caught:
        storage.rename("machine://one/a", "machine://two/a")
    assert caught.value.errno == errno.EXDEV and gf.gfile.Exists("machine://one/a")
    gf.gfile.Rename("machine://one/a", "machine://one/b")
    assert gf.gfile.ListDirectory("machine://one") == ["b"]


def test_what_is_found_can_be_opened_where_an_address_says_more_than_the_name() -> None:
    put("machine://one@account.net/run/a.txt")
    assert gf.gfile.Glob("machine://one@account.net/run/*.txt") == ["machine://one@account.net/run/a.txt"]
    for top in ("machine://one@account.net", "machine://one@account.net/run/"):
        *_, (folder, _, names) = gf.gfile.Walk(top)
        assert (folder, names) == ("machine://one@account.net/run", ["a.txt"])


def test_a_folder_is_not_removed_as_a_file() -> None:
    put("memory://removed/a/b")
    with pytest.raises(gf.errors.FailedPreconditionError):
        gf.gfile.Remove("memory://removed/a")
    gf.gfile.DeleteRecursively("memory://removed/a")
    assert not gf.gfile.Exists("memory://removed/a/b")


def test_a_scheme_may_be_in_capital_letters() -> None:
    put("MEMORY://capital/a", "text")
    with gf.gfile.GFile("memory://capital/a") as file:
        assert file.read() == "text"
    gf.gfile.DeleteRecursively("Memory://capital")


def test_no_more_is_read_of_a_checkpoint_file_than_it_may_hold() -> None:
    text = 'model_checkpoint_path: "a"'
    put("memory://large/checkpoint", text)
    assert gf.train.get_checkpoint_state("memory://large").model_checkpoint_path == "memory://large/a"
    put("memory://large/checkpoint", f"{text}\n#{' ' * (16 << 20)}")
    assert gf.train.get_checkpoint_state("memory://large") is None
    gf.gfile.DeleteRecursively("memory://large")
