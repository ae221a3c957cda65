"""What the package's metadata say of where the project is: links of the README, and the project's URLs.

The address of the project's repository stands nowhere else. Whoever publishes it writes it here, or gives it to the
build as the variable GRAPHFLOW_ADDRESS, such as https://host/owner/graphflow; what is built of a distribution of the
source has that distribution's, which its PKG-INFO says. Links of the README are then absolute, to the files of the tag
of this version. Without it there are no URLs, and what links to a file of the repository is plain text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = ""
"""The address of the repository, as people open it in a browser; "" as long as there is none."""
VARIABLE = "GRAPHFLOW_ADDRESS"
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_CODE = re.compile(r"^(```.*?^```|    .*?$)", re.MULTILINE | re.DOTALL)
_IN_THE_SOURCE = (
    "\nThe guides that this text names are in the folder docs of the distribution of the source.\n"
)


class LinksHook(MetadataHookInterface):
    """Adds `readme` and `urls` to the metadata of pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds them.

        Args:
            metadata: The table `project`, which is changed.
        """
        root = Path(self.root)
        place, version = address(), version_of(root)
        text = (root / "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": shown_elsewhere(text, place, version),
        }
        if place:
            metadata["urls"] = urls(place, version)


def address() -> str:
    """The address of the repository, "" if nobody has said it.

    Returns:
        It, without a slash at its end.

    Raises:
        ValueError: It is no address that a browser opens.
    """
    said = os.environ.get(VARIABLE) or ADDRESS
    if said and (urlsplit(said).scheme not in ("http", "https") or not urlsplit(said).netloc):
        raise ValueError(
            f"{VARIABLE} is the address of the repository, https://host/owner/name, got {said!r}."
        )
    return said.rstrip("/")


def version_of(root: Path) -> str:
    """The version of the project.

    Args:
        root: The folder of the project.

    Returns:
        It, such as "0.1.0".
    """
    text = (root / "graphflow/_core/common/distribution.py").read_text("utf-8")
    found = re.search(r'^VERSION\b.*?= "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def urls(place: str, version: str) -> dict[str, str]:
    """The project's URLs by their names; the first is the address itself.

    Args:
        place: The address of the repository.
        version: The version, whose tag has a "v" before it.

    Returns:
        What the package index shows beside the README.
    """
    return {
        "Homepage": place,
        "Documentation": f"{place}/tree/v{version}/docs",
        "Source": f"{place}/tree/v{version}",
        "Changelog": f"{place}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{place}/issues",
    }


def shown_elsewhere(text: str, place: str, version: str) -> str:
    """A page of the repository as it is shown where the repository is not.

    Args:
        text: The page, as Markdown.
        place: The address of the repository, or "".
        version: The version whose files are meant.

    Returns:
        The page with links and images of files of the repository absolute, or, without an address, as plain text.
    """

    def link(found: re.Match[str]) -> str:
        image, label, target = found.groups()
        if target.startswith("#") or urlsplit(target).scheme:
            return found[0]
        if not place:
            return label
        kind = "raw" if image else "tree" if target.endswith("/") else "blob"
        return f"{image}[{label}]({place}/{kind}/v{version}/{target})"

    page = _outside_of_code(text, lambda prose: _LINK.sub(link, prose))
    return page if place else page.rstrip("\n") + "\n" + _IN_THE_SOURCE


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    parts = _CODE.split(text)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))
