"""Protects extensions on clusters: a task knows what its program imports, or what is installed; nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.common.extensions import load_extensions
from graphflow.cli.main import main
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
def serving(
    python: Path | str, folder: Path, options: Sequence[str] = (), path: Sequence[Path] = ()
) -> Iterator[str]:
    """The target of a task that `graphflow serve` serves in a folder, with a PYTHONPATH."""
    process = subprocess.Popen(
        [str(python), "-P", "-m", "graphflow.cli", "serve", "--cluster", "worker=localhost:0", *options],
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "listens at" in line, (line, process.communicate(timeout=60))
        yield line.split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=60)


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
    """Nor what lies on PYTHONPATH, and the error names the operation and says what to do."""
    package(tmp_path, tmp_path / "imported")
    with serving(sys.executable, tmp_path, path=[tmp_path]) as target:
        with pytest.raises(gf.errors.NotFoundError) as caught:
            twice(target)
        message = caught.value.message
        assert message.startswith(f"On /job:worker/replica:0/task:0: 'y', built at {__file__}:")
        assert "is of the op type 'EntryTwice', which this process does not know" in message
        assert "`graphflow serve --import MODULE`" in message
        assert caught.value.op is not None and caught.value.op.name == "y"
    assert not (tmp_path / "imported").exists()


def test_serve_imports_what_its_command_line_names(tmp_path: Path) -> None:
    package(tmp_path, tmp_path / "imported")
    (tmp_path / "folder").mkdir()
    with serving(
        sys.executable, tmp_path / "folder", ["--import", "entry_twice", "--import", "json"], [tmp_path]
    ) as target:
        assert (tmp_path / "imported").exists()
        assert twice(target) == 4.0


def test_what_a_task_is_sent_names_no_module(tmp_path: Path) -> None:
    """An op type, an operation and a device that are called as a module can be have none imported."""
    package(tmp_path, tmp_path / "imported")
    unknown = gf.extend.define_op(
        "Entry_twice.TWICE", ("x: T",), infer=gf.extend.same_as_input, gradient=gf.extend.NOT_DIFFERENTIABLE
    )
    gf.extend.kernel("Entry_twice.TWICE")(lambda node: lambda x: x)
    with (
        serving(sys.executable, tmp_path, path=[tmp_path]) as target,
        gf.Graph().as_default(),
        gf.Session(target) as session,
    ):
        x = gf.placeholder(gf.float32, [], name="entry_twice")
        assert session.run(x + 1.0, {x: 1.0}) == 2.0
        y = gf.extend.add_operation(unknown, [x], {"module": "entry_twice"}, "entry_twice.y").outputs[0]
        with pytest.raises(gf.errors.NotFoundError, match=r"'Entry_twice\.TWICE'"):
            session.run(y, {x: 1.0})
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("no_such_module", "", "There is no module 'no_such_module': install its package, or set PYTHONPATH"),
        ("mine.missing", "", "There is no module 'mine.missing'"),
        ("../mine", "", "'../mine' is no name of a module"),
        ("mine", "import no_such_module_at_all", "The module 'mine' cannot be imported: ModuleNotFoundError: "),
        ("mine", "\n1 / 0", r"The module 'mine' cannot be imported: ZeroDivisionError: .* \(.*mine.py:2\)"),
    ],
)  # fmt: skip
def test_a_module_that_cannot_be_imported_is_one_line_of_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
    source: str,
    said: str,
) -> None:
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert main(["serve", "--cluster", "worker=localhost:0", "--import", module]) == 2
    shown = capsys.readouterr()
    assert re.match(f"graphflow: --import: {said}", shown.err), shown.err
    assert shown.err.count("\n") == 1 and not shown.out
    sys.modules.pop("mine", None)


PROGRAM = """
import os
import sys
import graphflow as gf
import entry_twice

spec = {"ps": os.environ["PS_HOSTS"].split(","), "worker": os.environ["WORKER_HOSTS"].split(",")}
server = gf.train.Server(spec, "worker", 0)
with gf.Session(server.target) as session:
    x = gf.placeholder(gf.float32, [])
    with gf.device("/job:ps/task:0"):
        y = gf.extend.add_operation(entry_twice.TWICE, [x], name="y").outputs[0]
    print("twice two is", session.run(y, {x: 2.0}))
"""


def test_launch_has_its_ps_import_what_lies_beside_the_program(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    package(tmp_path, tmp_path / "imported")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-P", "-m", "graphflow.cli", "launch", "--workers", "1"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    for options, status, said in (
        (["--import", "entry_twice"], 0, "twice two is 4.0"),
        ([], 1, "is of the op type 'EntryTwice', which this process does not know"),
        (["--import", "no_such_module"], 2, "There is no module 'no_such_module'"),
    ):
        done = subprocess.run(
            [*command, *options, "program.py"],
            cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=100, check=False,
        )  # fmt: skip
        assert said in done.stdout + done.stderr
        assert done.returncode == status, (done.stdout, done.stderr)
    assert main(["launch", "--ps-program", "same", "--import", "entry_twice", "program.py"]) == 2
    assert "PROGRAM imports what it uses by itself" in capfd.readouterr().err


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
