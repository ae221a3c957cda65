"""Protects the documents: the README and docs/ say what is true.

The Python snippets of a page run as they stand there, in order and in one program, and so do the graphflow commands of
its ```sh blocks, in the background where "&" ends the line; each must succeed unless "|| true" ends it. A block that
begins with ```python NAME.py is a file that the reader saves; a ```text block behind a snippet is what that snippet
prints, where "..." stands for anything, as in doctest. Links lead somewhere.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PAGES = [PROJECT / "README.md", *sorted(PROJECT.glob("docs/**/*.md"))]
SNIPPET = re.compile(r"^```(python|sh)\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"^```python (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://)([^)#]+)(?:#[^)]*)?\)")
INSTALLED = os.environ.get("INSTALLED_PYTHON", "")
"""The Python of an environment in which the wheel alone is installed, as .ci/run makes it: then the pages run there."""
PYTHON = INSTALLED or sys.executable
END = "---- end of snippet ----"
SHELL = "import subprocess; print(subprocess.run({!r}, stdout=-1, text=True, check={!r}).stdout, end='')\n"
BACKGROUND = (
    "import atexit, subprocess; _task = subprocess.Popen({!r}, stdout=-1, text=True); "
    "atexit.register(_task.communicate); atexit.register(_task.kill); print(_task.stdout.readline(), end='')\n"
)
"""Runs a command on, and shows its first line: what it says when it is there."""
WAITS = re.compile(r"^(?:INFO )?The plan of .* waits for \d+ kernels: .*\n", re.MULTILINE)
"""What a program says besides where kernels are compiled for the first time, and take long."""


def snippets(page: Path) -> list[tuple[str, str, str]]:
    """The snippets of a page: the language, the code, and what it should print, "" where the page does not say."""
    return SNIPPET.findall(page.read_text(encoding="utf-8"))


def command(line: str) -> str:
    """A line of Python that runs a line of the shell, of which `|| true` and `&` are known."""
    words = shlex.split(line)
    assert words[0] == "graphflow", f"only graphflow commands are run, not {line!r}"
    may_fail = words[-2:] == ["||", "true"]
    behind = words[-1] == "&"
    words = [PYTHON, "-m", "graphflow.cli", *words[1 : len(words) - 2 * may_fail - behind]]
    return BACKGROUND.format(words) if behind else SHELL.format(words, not may_fail)


def name(page: Path) -> str:
    return str(page.relative_to(PROJECT))


@pytest.mark.timeout(300)  # A page may be the first to need its kernels.
@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=name)
def test_snippets_run_and_print(page: Path, tmp_path: Path) -> None:
    parts = snippets(page)
    # Padded to its lines, so that an error shows the line of the page.
    text = page.read_text(encoding="utf-8")
    program, lines = "", 0
    for language, code, _ in parts:
        start = text.count("\n", 0, text.index(f"```{language}\n{code}")) + 1
        if language == "sh":
            code = "".join(command(line) for line in code.replace("\\\n", " ").splitlines())
        program += "\n" * (start - lines) + code + f"print({END!r})\n"
        lines = program.count("\n")
    for file, code in SAVED.findall(text):
        (tmp_path / file).write_text(code, encoding="utf-8")
    source = tmp_path / "model.py"
    source.write_text(program, encoding="utf-8")
    process = subprocess.run(
        [PYTHON, "-W", "error", str(source)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "" if INSTALLED else str(PROJECT)},
        timeout=280,
    )
    assert process.returncode == 0, f"{name(page)}: {process.stderr}"
    printed = process.stdout.split(f"{END}\n")[:-1]
    checker = doctest.OutputChecker()
    for (_, code, expected), found in zip(parts, printed, strict=True):
        if expected:
            found = WAITS.sub("", found)
            right = checker.check_output(expected, found, doctest.ELLIPSIS)
            assert right, f"{name(page)}: this snippet\n\n{code}\nprints\n\n{found}\nand not\n\n{expected}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [
        link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()
    ]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """A module that was moved or renamed is so in the pages, too."""
    named = set(re.findall(r"`((?:[\w-]+/)+\w+\.py)`", page.read_text(encoding="utf-8")))
    engine = PROJECT / "graphflow" / "_core"
    roots = [PROJECT, PROJECT / "graphflow", engine, engine / "cluster"]
    assert [path for path in sorted(named) if not any((root / path).exists() for root in roots)] == []


@pytest.mark.parametrize("picture", sorted(PROJECT.glob("docs/**/*.svg")), ids=name)
def test_picture_is_well_formed(picture: Path) -> None:
    root = ElementTree.parse(picture).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.find("{http://www.w3.org/2000/svg}title") is not None


def test_readme_names_the_commands_there_are() -> None:
    """`make` lists the targets; the README and the docs name no others."""
    targets = set(
        re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = {t for page in PAGES for t in re.findall(r"make ([a-z-]+)\b(?=[`\s])", commands(page))}
    assert named
    assert named <= targets


def commands(page: Path) -> str:
    """The code of a page: what stands between backticks, and indented lines."""
    text = page.read_text(encoding="utf-8")
    return "\n".join(
        re.findall(r"`(make [^`]*`)", text) + re.findall(r"^    (make .*\n)", text, re.MULTILINE)
    )
