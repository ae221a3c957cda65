"""Protects what extensions rely on: the names of graphflow.extend, their texts, and that nothing else is needed."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import graphflow as gf
from graphflow import extend

PROJECT = Path(gf.__file__).parent.parent
ACME = Path(__file__).parent / "acme"
NAMES = {
    "AllToAll", "DistributionStrategy", "Instruction", "KernelNode", "Lowering", "Mirrored", "NOT_DIFFERENTIABLE",
    "NativeValue", "OpDef", "PerDevice", "Plan", "Reducer", "Registration", "add_operation", "add_pass", "add_rewrite",
    "broadcast_inputs", "define_op", "devices_from", "in_place_of", "kernel", "load_extensions", "lowers",
    "new_instruction", "same_as_input", "spread", "total", "walk",
}  # fmt: skip
"""A name may come; one that goes breaks the programs of others."""
PROGRAM = """
from graphflow import extend

reveal_type(extend.define_op)
reveal_type(extend.add_pass)
extend.define_opp


@extend.kernel("A")
def right(node: extend.KernelNode) -> object:
    node.attributes
    return None


@extend.lowers("A")
def rule(lowering: extend.Lowering, i: extend.Instruction) -> bool:
    return lowering.value(i.inputs[0]) is not None
"""


def public() -> set[str]:
    return {name for name in dir(extend) if not name.startswith("_")}


def test_the_names_are_these() -> None:
    assert public() == NAMES


@pytest.mark.parametrize(
    "name", sorted(n for n in NAMES if inspect.isfunction(getattr(extend, n))) + ["Lowering.reduction"]
)
def test_every_parameter_is_explained(name: str) -> None:
    function = extend.Lowering.reduction if "." in name else getattr(extend, name)
    text = inspect.getdoc(function) or ""
    parameters = [p for p in inspect.signature(function).parameters if p != "self"]
    if parameters:
        told = text.split("Args:\n", 1)[1]
        assert all(f"    {p}: " in told for p in parameters), name
    assert "Returns:\n" in text or function.__annotations__["return"] == "None", name
    assert all(value for value in function.__annotations__.values())


def imported(source: str) -> set[str]:
    """What a program imports of graphflow."""
    return {
        module
        for node in ast.walk(ast.parse(source))
        for module in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom)
            else []
        )
        if module.startswith("graphflow")
    }  # fmt: skip


def test_an_extension_imports_nothing_else_of_graphflow() -> None:
    found = set().union(*(imported(path.read_text()) for path in ACME.glob("*.py")))
    assert found == {"graphflow", "graphflow.extend"}


@pytest.mark.parametrize("page", ["add-an-op", "write-a-pass", "write-a-strategy"])
def test_a_page_for_authors_imports_nothing_else_of_graphflow(page: str) -> None:
    text = (PROJECT / "docs" / f"{page}.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert imported(code) == {"graphflow", "graphflow.extend"}
    assert "_core" not in code


@pytest.mark.timeout(400)  # It looks at the whole package where the linter has not before.
def test_a_type_checker_knows_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program), *map(str, ACME.glob("*.py"))],
        cwd=PROJECT, capture_output=True, text=True, timeout=380,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if " error: " in line]
    assert done.stdout.count("Revealed type is ") == 2 and 'Revealed type is "Any"' not in done.stdout
    assert [line.split(" error: ")[1].split("  [")[0] for line in errors] == [
        'Module has no attribute "define_opp"; maybe "define_op"?',
        'Argument 1 has incompatible type "Callable[[KernelNode], object]"; expected "Callable[[KernelNode], '
        'Callable[..., Any]]"',
        '"KernelNode" has no attribute "attributes"',
    ], done.stdout
