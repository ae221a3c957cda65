"""Protects extensions on clusters: a task knows what its program imports, or what is installed; nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common.extensions import load_extensions
from tests.cluster.processes import Processes
from tests.extend import acme

PROJECT = Path(gf.__file__).parent.parent
ROWS = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
DEFINITION = """
from pathlib import Path
from graphflow import extend

Path({mark!r}).touch()
TWICE = extend.define_op(
    "EntryTwice", ("x: T=float",), infer=extend.same_as_input, gradient=extend.NOT_DIFFERENTIABLE
)


@extend.kernel("EntryTwice")
def _(node):
    return lambda x: x + x
"""


def test_two_tasks_run_the_ops_and_train_with_the_strategy(tmp_path: Path) -> None:
    devices = ["/job:worker/task:0", "/job:worker/task:1"]
    with Processes(tmp_path, "tests.extend.serving_role", {"worker": 2}) as processes:
        for index in range(2):
            processes.start("worker", index)
        target = f"zmq://{processes.spec['worker'][0]}"
        with gf.Graph().as_default(), gf.Session(target) as session:
            x = gf.placeholder(gf.float32, [None, 5])
            with gf.device(devices[1]):
                normal, size = acme.row_norm(x)
            with gf.device(devices[0]):
                y = acme.quick_gelu(normal) * size[:, None]
            (slope,) = gf.gradients(y, x)
            for _ in range(12):  # Compiled code takes over meanwhile.
                found, gradient = session.run([y, slope], {x: ROWS})
        with gf.Graph().as_default(), gf.Session() as alone:
            x = gf.placeholder(gf.float32, [None, 5])
            normal, size = acme.row_norm(x)
            y = acme.quick_gelu(normal) * size[:, None]
            expected, slope_expected = alone.run([y, gf.gradients(y, x)[0]], {x: ROWS})
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(gradient, slope_expected, rtol=1e-4, atol=1e-5)
        gf.testing.check_strategy(
            acme.MirroredByTree(devices), targets=[target], properties=["reduction", "training"]
        )


# ---- graphflow serve ----------------------------------------------------------------------------------------------


@contextmanager
def serving(python: Path | str, folder: Path) -> Iterator[str]:
    """The target of a task that `graphflow serve` serves."""
    process = subprocess.Popen(
        [str(python), "-m", "graphflow.cli", "serve", "--cluster", "worker=localhost:0"],
        cwd=folder, env={**os.environ, "PYTHONPATH": ""}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "listens at" in line, (line, process.communicate(timeout=30))
        yield line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def package(folder: Path, mark: Path) -> None:
    """Installs a package with an extension into a folder of packages, one that fails beside it."""
    (folder / "entry_twice.py").write_text(DEFINITION.format(mark=str(mark)))
    for name, value in (("entry_twice", "entry_twice"), ("broken", "no_such_module_at_all")):
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[graphflow.extensions]\n{name} = {value}\n")


def environment(folder: Path) -> tuple[Path, Path]:
    """A Python of its own that has the packages of this one; and its folder of packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    others = [p for p in sys.path if p.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join([str(PROJECT), *others]))
    return python, site


def twice(target: str) -> float:
    import_definition()
    with gf.Graph().as_default(), gf.Session(target) as session:
        x = gf.placeholder(gf.float32, [])
        definition = sys.modules["entry_twice_here"].TWICE
        y = gf.extend.add_operation(definition, [x], name="y").outputs[0]
        found: float = session.run(y, {x: 2.0})
        return found


def import_definition() -> None:
    """Imports the module of the op into this process, once."""
    if "entry_twice_here" not in sys.modules:
        module = type(sys)("entry_twice_here")
        exec(DEFINITION.format(mark=os.devnull), module.__dict__)
        sys.modules["entry_twice_here"] = module


def test_serve_loads_what_is_installed(tmp_path: Path) -> None:
    python, site = environment(tmp_path / "environment")
    package(site, tmp_path / "imported")
    with serving(python, tmp_path) as target:
        assert twice(target) == 4.0
    assert (tmp_path / "imported").exists()


def test_serve_loads_nothing_that_lies_in_the_working_directory(tmp_path: Path) -> None:
    package(tmp_path, tmp_path / "imported")
    with (
        serving(sys.executable, tmp_path) as target,
        pytest.raises(
            gf.errors.OpError, match=r"'y' is of the op type 'EntryTwice', which this process does"
        ),
    ):
        twice(target)
    assert not (tmp_path / "imported").exists()


def test_an_extension_that_cannot_be_loaded_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "site").mkdir()
    package(tmp_path / "site", mark)
    (tmp_path / "site" / "entry_twice.py").write_text("LOADED = True")
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path / "site")])
    monkeypatch.syspath_prepend(tmp_path / "site")
    loaded = load_extensions()
    assert "entry_twice" in loaded and "broken" not in loaded
    assert (
        "The extension broken (no_such_module_at_all) of broken was not loaded: ModuleNotFoundError"
        in caplog.text
    )
