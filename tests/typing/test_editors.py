"""Protects what editors show: jedi and pyright see the public names and no others, with signatures and docstrings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import graphflow as gf
from tests.test_exports import public_names

PROJECT = Path(gf.__file__).parent.parent
FOUND = {
    "reduce_mean": ("reductions.py", "input_tensor: TensorLike", "Returns:"),
    "nn.relu": ("nn.py", "features: TensorLike", "Args:"),
    "contrib.slim.conv2d": ("contrib.py", "num_outputs: int", "Args:"),
    "random.uniform": ("__init__.pyi", "shape: IntTensorLike", "Args:"),
    "float32": ("dtypes.py", "", ""),
}
"""Names, the file that an editor jumps to, and what it shows of signature and docstring."""
MISSPELT = ("reduce_meen", "nn.reluu", "train.AdamOptimiser", "layers.densee", "Sesion")


def test_jedi_completes_jumps_and_shows_signatures() -> None:
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(PROJECT)
    completed = {name.name for name in jedi.Script("import graphflow as gf\ngf.", project=project).complete()}
    assert {name for name in dir(gf) if not name.startswith("_")} <= completed
    for name, (file, parameter, section) in FOUND.items():
        line = f"gf.{name}"
        script = jedi.Script(f"import graphflow as gf\n{line}", project=project)
        (place,) = script.goto(2, len(line), follow_imports=True)
        assert Path(place.module_path).name == file, name
        signatures = jedi.Script(f"import graphflow as gf\n{line}(", project=project).get_signatures(
            2, len(line) + 1
        )
        if parameter:
            assert parameter in signatures[0].to_string(), name
            assert any(section in found.docstring() for found in script.help(2, len(line))), name


def test_dir_shows_public_names_alone() -> None:
    assert not [name for name in dir(gf) if name.startswith("_") and not name.startswith("__")]
    assert {"annotations", "attach", "TYPE_CHECKING"}.isdisjoint(dir(gf))


@pytest.mark.timeout(400)
def test_pyright_sees_every_public_name_and_misspellings(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    files = tuple(f"gf.testing.{path.stem}" for path in (PROJECT / "graphflow" / "testing").glob("*.py"))
    names = [name for name in sorted(public_names()) if not name.startswith(files)]  # It imports its files.
    program = tmp_path / "program.py"
    program.write_text(
        "\n".join(["import graphflow as gf", *names, *(f"gf.{name}" for name in MISSPELT), ""])
    )
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(program)],
        cwd=PROJECT, capture_output=True, text=True, timeout=380,
    )  # fmt: skip
    errors = [e for e in json.loads(done.stdout)["generalDiagnostics"] if e["severity"] == "error"]
    missed = {e["range"]["start"]["line"] - len(names) - 1 for e in errors}
    assert missed == set(range(len(MISSPELT))), errors
