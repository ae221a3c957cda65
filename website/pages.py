"""What MkDocs asks for while it builds the site: pages of the reference, and those that lie outside of docs/.

The reference has a page for each public module, made of the stubs' lists: a table of its names, then the description
of each whose page it is. What several modules offer, as gf.abs and gf.math.abs, is described once; tables lead there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parent))
from names import PROJECT, PublicModule, PublicName, described, inherited, public_modules, summary

FOLDER: Final = "reference"
OUTSIDE: Final[Mapping[str, str]] = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "examples/digits/README.md": "digits.md",
    "benchmarks/training.md": "benchmarks/training.md",
    "benchmarks/ops.md": "benchmarks/ops.md",
    "benchmarks/zoo.md": "benchmarks/zoo.md",
    "benchmarks/zoo_torch.md": "benchmarks/zoo_torch.md",
    "benchmarks/collectives.md": "benchmarks/collectives.md",
    "benchmarks/cluster.md": "benchmarks/cluster.md",
    "benchmarks/links.md": "benchmarks/links.md",
}
"""Pages of the project that do not lie in docs/, and where the site has them."""
LINK: Final = re.compile(r"(?<=\]\()(?!\w+://|#)([^)#\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the pages of the reference in the navigation."""
    pages = [{module.shown: f"{FOLDER}/{module.page}"} for module in public_modules()]
    for item in config.nav:
        if isinstance(item, dict) and item.get("Reference") == f"{FOLDER}/":
            item["Reference"] = pages
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that do not lie in docs/."""
    for source, target in OUTSIDE.items():
        files.append(File.generated(config, target, content=(PROJECT / source).read_text("utf-8")))
    for source in sorted((PROJECT / "website").glob("*.css")):
        files.append(File.generated(config, source.name, abs_src_path=str(source)))
    modules = public_modules()
    best = described(modules)
    for module in modules:
        text = "\n".join(_page(module, best))
        files.append(File.generated(config, f"{FOLDER}/{module.page}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Turns links as they hold in the project's folders into such that hold in the site.

    What is no page, a source file, is named without a link.
    """
    place = page.file.src_uri
    outside = {target: source for source, target in OUTSIDE.items()}
    if place.startswith(f"{FOLDER}/"):
        return markdown
    folder = (PROJECT / outside.get(place, f"docs/{place}")).parent
    up = "../" * place.count("/")

    def link(found: re.Match[str]) -> str:
        path = (folder / found[1]).resolve().relative_to(PROJECT).as_posix()
        return up + OUTSIDE.get(path, path.removeprefix("docs/"))

    markdown = LINK.sub(link, markdown)
    return re.sub(r"\[([^\]]*)\]\((?!\w+://|#)[^)\s]*\.py\)", r"\1", markdown)


def _page(module: PublicModule, best: Mapping[str, PublicName]) -> Iterator[str]:
    """The lines of a module's page."""
    own = [name for name in module.names if best[name.target] == name and not name.of_others]
    yield f"# {module.shown}\n"
    yield f"::: {module.path}\n    options: {{members: false, show_root_heading: false, show_root_toc_entry: false}}\n"
    if module.modules:
        yield "| Module |\n| :-- |"
        for path in module.modules:
            other = PublicModule(path)
            yield f"| [`{other.shown}`]({other.page}) |"
        yield ""
    if module.names:
        yield "| Name | |\n| :-- | :-- |"
        for name in module.names:
            where = best[name.target]
            said = summary(name).replace("|", "\\|")
            linked = f"`{name.name}`" if name.of_others else f"[`{name.name}`][{where.identifier}]"
            yield f"| {linked} | {said} |"
        yield ""
    for name in own:
        members = ", ".join(inherited(name, best))
        options = f"heading: {name.shown}, toc_label: {name.name}, inherited_members: [{members}]"
        yield f"::: {name.identifier}\n    options: {{{options}}}\n"
