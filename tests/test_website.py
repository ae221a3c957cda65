"""Protects the reference: its pages have every public name, and each object is described on one of them.

That the site can be built, without a link that leads nowhere, is shown by `make docs`, which CI runs.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import graphflow as gf
from tests.test_exports import public_names

PROJECT = Path(gf.__file__).parent.parent
WEBSITE = PROJECT / "website"
LINK = re.compile(r"\]\((?!\w+://|#)([^)#\s]+\.md)(?:#[^)]*)?\)")


def test_the_reference_has_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(WEBSITE)
    import names

    modules = names.public_modules()
    listed = {name.shown for module in modules for name in module.names} | {m.shown for m in modules}
    assert not [name for name in public_names() if name not in listed and not name.startswith("gf.protos.")]
    best = names.described(modules)
    assert best["graphflow._core.ops.math.numeric.abs_"].path == "graphflow.abs"
    assert {name.path for name in best.values()} <= {n.path for module in modules for n in module.names}
    for name in best.values():
        assert names.summary(name), name
    sys.modules.pop("names")


def pages_elsewhere() -> set[str]:
    """The files that become pages of the site though they do not lie in docs/, as website/pages.py lists them."""
    (found,) = (
        node.value
        for node in ast.parse((WEBSITE / "pages.py").read_text("utf-8")).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "OUTSIDE"
    )
    return set(ast.literal_eval(found))


def test_what_the_pages_of_the_site_link_to_are_pages_of_it() -> None:
    pages = {PROJECT / name for name in pages_elsewhere()} | {*PROJECT.glob("docs/**/*.md")}
    lost = [
        f"{page.relative_to(PROJECT)}: {link}"
        for page in sorted(pages)
        for link in LINK.findall(page.read_text("utf-8"))
        if (page.parent / link).resolve() not in pages
    ]
    assert lost == []


def test_the_site_is_built_with_all_its_warnings() -> None:
    """MkDocs counts as errors only the warnings that it shows: with --quiet none are, however strict it is."""
    (command,) = re.findall(r"-m mkdocs build(.*)", (PROJECT / "Makefile").read_text("utf-8"))
    assert command.split() == ["-f", "website/mkdocs.yml"]
    assert "\nstrict: true\n" in (WEBSITE / "mkdocs.yml").read_text("utf-8")
