"""Protects the names of the library: that of the distribution is said everywhere the same, and is not another's."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import graphflow as gf
from graphflow._core.common.distribution import DISTRIBUTION, check_alone, to_install

PROJECT = Path(__file__).resolve().parent.parent
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRA = re.compile(r"\b(graphflow(?:-\w+)*)\[([a-z][\w,-]*)\]")


def run(*command: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=100, cwd=path or PROJECT,
        env={"PYTHONPATH": str(path or PROJECT), "PATH": ""},
    )  # fmt: skip


def test_all_say_the_same_name_and_extras_that_there_are() -> None:
    assert METADATA["name"] == DISTRIBUTION
    pages = [PROJECT / "README.md", PROJECT / "pyproject.toml", *PROJECT.glob("docs/**/*.md")]
    found = [
        (path.name, name, extra)
        for path in [*pages, *PROJECT.glob("graphflow/**/*.py"), *PROJECT.glob("tests/**/*.py")]
        for name, extras in EXTRA.findall(path.read_text("utf-8"))
        for extra in extras.split(",")
    ]
    assert len(found) > 10
    extras = METADATA["optional-dependencies"]
    assert [each for each in found if each[1] != DISTRIBUTION or each[2] not in extras] == []


@pytest.mark.parametrize("extra", sorted(METADATA["optional-dependencies"]))
def test_the_command_that_installs_an_extra_names_it(extra: str) -> None:
    assert to_install(extra) == f"pip install 'graphflow-engine[{extra}]'"


def test_the_package_says_its_version() -> None:
    for command in (["-m", "graphflow", "--version"], ["-m", "graphflow.cli", "--version"]):
        done = run(*command)
        assert (done.returncode, done.stdout) == (0, f"graphflow {gf.__version__}\n"), done.stderr
    assert run("-m", "graphflow").returncode == 2  # It wants a command.


@pytest.mark.parametrize("info", ["graphflow-0.8.0.dist-info", "GraphFlow-0.8.0-py3.11.egg-info"])
def test_another_package_of_this_name_in_the_same_folder_is_an_error(tmp_path: Path, info: str) -> None:
    (tmp_path / "graphflow").symlink_to(PROJECT / "graphflow")
    (tmp_path / f"graphflow_engine-{gf.__version__}.dist-info").mkdir()
    (tmp_path / "graphflow_nets-1.0.dist-info").mkdir()
    assert run("-c", "import graphflow", path=tmp_path).returncode == 0
    (tmp_path / info).mkdir()
    for command in (["-c", "import graphflow"], ["-m", "graphflow", "devices"]):
        done = run(*command, path=tmp_path)
        assert done.returncode == 1
        assert info in done.stderr and "pip uninstall -y graphflow graphflow-engine" in done.stderr


def test_what_is_installed_has_what_programs_need_and_no_tests(tmp_path: Path) -> None:
    """The wheel is built of the sdist, as on the package index."""
    done = run("-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(PROJECT))
    assert done.returncode == 0, done.stderr
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "docs/training.md",
        "examples/digits/digits.py",
    } <= names
    assert not {name.partition("/")[0] for name in names} & {"tests", "benchmarks", ".ci", "Makefile"}
    with zipfile.ZipFile(wheel) as archive_of_wheel:
        installed = set(archive_of_wheel.namelist())
    needed = {"py.typed", "__init__.pyi", "examples/digits.npz", "_core/interop/tensorflow_ops.txt"}
    assert {f"graphflow/{name}" for name in needed} <= installed
    assert {name.partition("/")[0] for name in installed} == {
        "graphflow",
        f"graphflow_engine-{gf.__version__}.dist-info",
    }


def test_what_is_no_folder_is_not_looked_into(tmp_path: Path) -> None:
    check_alone([str(tmp_path / "program.pyz/graphflow"), str(tmp_path / "gone/graphflow")])


def test_the_metadata_names_files_that_there_are() -> None:
    assert METADATA["authors"] == [{"name": "The graphflow developers"}]
    assert all((PROJECT / name).is_file() for name in (METADATA["readme"], *METADATA["license-files"]))
    assert (PROJECT / "graphflow/py.typed").is_file()
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.13"} <= set(METADATA["classifiers"])
    changes = (PROJECT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {gf.__version__}" in changes
