"""Protects the names of the library: that of the distribution is said everywhere the same, and is not another's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
import hatch_build
from graphflow._core.common.distribution import DISTRIBUTION, check_alone, to_install
from hatch_build import shown_elsewhere

PROJECT = Path(__file__).resolve().parent.parent
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
ADDRESS = "https://example.org/somebody/graphflow"
LINK = re.compile(r"\]\(([^)]*)\)")
EXTRA = re.compile(r"\b(graphflow(?:-\w+)*)\[([a-z][\w,-]*)\]")


def run(*command: str, path: Path | None = None, address: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=100, cwd=path or PROJECT,
        env={"PYTHONPATH": str(path or PROJECT), "PATH": "", "GRAPHFLOW_ADDRESS": address},
    )  # fmt: skip


def metadata(path: Path, address: str = "") -> dict[str, Any]:
    """What the build says of the project or an unpacked distribution of its source in a folder."""
    done = run("-m", "hatchling", "metadata", path=path, address=address)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


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
    """The wheel is built of the sdist, as on the package index; both say where the project is."""
    done = run(
        "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(PROJECT), address=f"{ADDRESS}/"
    )
    assert done.returncode == 0, done.stderr
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
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
        (described,) = (name for name in installed if name.endswith(".dist-info/METADATA"))
        of_wheel = message_from_bytes(archive_of_wheel.read(described))
    needed = {"py.typed", "__init__.pyi", "examples/digits.npz", "_core/interop/tensorflow_ops.txt"}
    assert {f"graphflow/{name}" for name in needed} <= installed
    assert {name.partition("/")[0] for name in installed} == {
        "graphflow",
        f"graphflow_engine-{gf.__version__}.dist-info",
    }
    (unpacked,) = (path.parent for path in tmp_path.glob("*/PKG-INFO"))
    of_sdist = message_from_bytes((unpacked / "PKG-INFO").read_bytes())
    for each in (of_wheel, of_sdist):
        urls = dict(url.split(", ") for url in each.get_all("Project-URL", []))
        assert list(urls) == ["Homepage", "Documentation", "Source", "Changelog", "Issues"]
        assert urls["Homepage"] == ADDRESS and all(url.startswith(ADDRESS) for url in urls.values())
        assert f"{ADDRESS}/blob/v{gf.__version__}/docs/cluster.md#" in each.get_payload()
    # What is built of the source later knows the address, too.
    assert metadata(unpacked)["urls"] == urls


def test_what_the_package_index_shows_has_no_links_that_lead_nowhere() -> None:
    page = (PROJECT / "README.md").read_text("utf-8")
    text, other = shown_elsewhere(page, "", gf.__version__), metadata(PROJECT, ADDRESS)["readme"]["text"]
    if not hatch_build.ADDRESS:
        found = metadata(PROJECT)
        assert "urls" not in found and found["readme"]["text"] == text
    own = [link for link in LINK.findall(page) if "://" not in link]
    assert len(own) > 50 and all((PROJECT / link.partition("#")[0]).exists() for link in own)
    shown = LINK.findall(text)
    assert shown and all(link.startswith("https://") for link in shown)
    begin = f"{ADDRESS}/blob/v{gf.__version__}/"
    assert [link.removeprefix(begin) for link in LINK.findall(other) if ADDRESS in link] == own
    assert "https://numba.pydata.org" in shown and "* Clusters: a first one" in text


def test_what_is_no_address_ends_the_build() -> None:
    done = run("-m", "hatchling", "metadata", address="somewhere")
    assert done.returncode != 0 and "GRAPHFLOW_ADDRESS is the address of the repository" in done.stderr


def test_code_and_images_of_a_page() -> None:
    page = "![a [b]](c.svg) [d\ne](f/) [g](#h)\n\n```python\nx[i](j)\n```\n\n    k[l](m)\n"
    assert shown_elsewhere(page, ADDRESS, "1.2.3") == (
        f"![a [b]]({ADDRESS}/raw/v1.2.3/c.svg) [d\ne]({ADDRESS}/tree/v1.2.3/f/) [g](#h)\n\n"
        "```python\nx[i](j)\n```\n\n    k[l](m)\n"
    )
    plain = shown_elsewhere(page, "", "1.2.3")
    assert plain.startswith("a [b] d\ne [g](#h)\n\n```python\nx[i](j)\n```\n\n    k[l](m)\n\n")


def test_what_is_no_folder_is_not_looked_into(tmp_path: Path) -> None:
    check_alone([str(tmp_path / "program.pyz/graphflow"), str(tmp_path / "gone/graphflow")])


def test_the_metadata_names_files_that_there_are() -> None:
    assert METADATA["authors"] == [{"name": "The graphflow developers"}]
    assert all((PROJECT / name).is_file() for name in ("README.md", *METADATA["license-files"]))
    assert (PROJECT / "graphflow/py.typed").is_file()
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.13"} <= set(METADATA["classifiers"])
    changes = (PROJECT / "CHANGELOG.md").read_text("utf-8")
    assert f"## {gf.__version__}" in changes


def test_an_image_of_kubernetes_has_all_files_that_the_installation_needs(tmp_path: Path) -> None:
    """What the Dockerfile copies before it installs; no Docker is needed."""
    text = (PROJECT / "examples" / "kubernetes" / "Dockerfile").read_text()
    before, installs, _ = text.partition("RUN pip install --no-cache-dir '.[demo]'")
    assert installs
    for line in re.findall(r"^COPY (.*)$", before, re.MULTILINE):
        *sources, target = line.split()
        for source in sources:
            place = tmp_path / target / ("" if (PROJECT / source).is_dir() else source)
            if (PROJECT / source).is_dir():
                shutil.copytree(PROJECT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(PROJECT / source, place)
    assert metadata(tmp_path)["optional-dependencies"]["demo"]
