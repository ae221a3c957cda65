"""Loads the extensions that are installed, for processes in which no program of the user's imports them."""

from __future__ import annotations

import logging
import site
import sysconfig
from collections.abc import Sequence
from typing import Final

GROUP: Final = "graphflow.extensions"
_LOG: Final = logging.getLogger("graphflow")


def load_extensions() -> Sequence[str]:
    """Imports the extensions that installed packages name in the entry point group `graphflow.extensions`.

    The commands `graphflow serve` (also if `graphflow launch` starts it for a ps), `ops`, `plan` and `replay` call
    it, since no program of the user's runs in their processes. A program imports what it uses by itself, and so does
    one that makes a gf.train.Server.

    Nothing else decides what is imported: no message, graph, plan, environment variable or configuration names an
    extension. Only packages count that are installed in the folders of this Python or of the user for packages
    (site-packages), so not those that happen to lie in the working directory.

    Returns:
        The names of the entry points that were loaded, in order. One that cannot be loaded is logged as a warning, and
        left out.
    """
    from importlib.metadata import distributions  # It takes longer than all else of this module.

    loaded: list[str] = []
    for distribution in distributions(path=_folders()):
        for entry in distribution.entry_points:
            if entry.group != GROUP or entry.name in loaded:
                continue
            try:
                entry.load()
            except Exception as error:
                _LOG.warning(
                    "The extension %s (%s) of %s was not loaded: %s: %s",
                    entry.name, entry.value, distribution.metadata["Name"], type(error).__name__, error,
                )  # fmt: skip
            else:
                loaded.append(entry.name)
    return loaded


def _folders() -> list[str]:
    """Where packages are installed for this Python, or by this user for it."""
    paths = sysconfig.get_paths()
    found = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        found.append(site.getusersitepackages())
    return list(dict.fromkeys(found))
