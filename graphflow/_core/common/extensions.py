"""Loads the extensions that are installed, for processes in which no program of the user's imports them."""

from __future__ import annotations

import logging
import site
import sysconfig
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

GROUP: Final = "graphflow.extensions"
_LOG: Final = logging.getLogger("graphflow")


def load_extensions() -> Sequence[str]:
    """Imports the extensions that installed packages name in the entry point group `graphflow.extensions`.

    The commands `graphflow serve` (also if `graphflow launch` starts it for a ps), `ops`, `plan` and `replay` call
    it, since no program of the user's runs in their processes. A program imports what it uses by itself, and so does
    one that makes a gf.train.Server.

    Beside what `--import` of these commands names nothing else decides what is imported: no message, graph, plan,
    environment variable or configuration names an extension. Only packages count that are installed in the folders of
    this Python or of the user for packages (site-packages), so not those that happen to lie in the working directory.

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


def import_extensions(names: Sequence[str]) -> None:
    """Imports the modules that who started this process has named on its command line.

    They are looked for where Python looks: among what is installed, and in the folders of PYTHONPATH.

    Args:
        names: Names of modules, as in an import statement.

    Raises:
        ImportError: A module is not there, or fails while it is imported; the text is for the command's user.
    """
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ImportError(f"{name!r} is no name of a module: give it as an import statement would.")
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise ImportError(_failure(name, error)) from error
            raise ImportError(
                f"There is no module {name!r}: install its package, or set PYTHONPATH to the folder that it lies in."
            ) from error
        except Exception as error:
            raise ImportError(_failure(name, error)) from error


def _failure(name: str, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    line = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"The module {name!r} cannot be imported: {type(error).__name__}: {error}{line}"


def _folders() -> list[str]:
    """Where packages are installed for this Python, or by this user for it."""
    paths = sysconfig.get_paths()
    found = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        found.append(site.getusersitepackages())
    return list(dict.fromkeys(found))
