"""Modules of SciPy, and names of Pillow, that programs of TensorFlow 1's time use and that are gone: they are served.

What the packages have themselves comes first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

import graphflow.logging as logging

_IMAGES: Final = "graphflow.as_tensorflow.packages.images"
_SPECIAL: Final = ("comb", "factorial", "factorial2", "factorialk", "logsumexp")
_SPARSE: Final = "scipy.sparse.linalg"

GONE: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "scipy.misc": {
        _IMAGES: ("bytescale", "fromimage", "imread", "imresize", "imrotate", "imsave", "toimage"),
        "scipy.special": _SPECIAL,
        "scipy.datasets": ("ascent", "face"),
    },
    f"{_SPARSE}.eigen": {_SPARSE: ("eigs", "eigsh", "lobpcg", "svds")},
    f"{_SPARSE}.eigen.arpack": {_SPARSE: ("ArpackError", "ArpackNoConvergence", "eigs", "eigsh", "svds")},
    "scipy.special.basic": {"scipy.special": ("digamma", "gamma", "jn", "psi")},
    "scipy.linalg.misc": {"scipy.linalg": ("LinAlgError", "norm")},
}
"""The modules that are gone, and where their names are now."""


RENAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "PIL.Image": {"ANTIALIAS": "LANCZOS", "LINEAR": "BILINEAR", "CUBIC": "BICUBIC"},
}
"""Modules whose names have another name now."""
EXPORTED: Final[Mapping[str, str]] = {"scipy": "numpy"}
"""Packages that had the public names of another one, too."""


class _Renaming(Loader):
    """Loads a module as its own loader does, and gives it its old names."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module that its own loader makes.

        Args:
            spec: What to load.
        """
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Fills the module.

        Args:
            module: The new module.
        """
        self._loader.exec_module(module)
        for old, new in RENAMED.get(module.__name__, {}).items():
            if not hasattr(module, old) and hasattr(module, new):
                setattr(module, old, getattr(module, new))
        name = module.__name__
        if name in EXPORTED:
            source = EXPORTED[name]
            known = import_module(source).__all__
            _give(
                module, lambda member: source if member in known else None, f"which is {source}'s alone now"
            )
        elif name in GONE:
            _give(module, _homes(name).get, "which SciPy has no more")


def _homes(name: str) -> Mapping[str, str]:
    """Where each name of a module is now."""
    return {member: home for home, members in GONE[name].items() for member in members}


def _give(module: ModuleType, home: Callable[[str], str | None], what: str) -> None:
    """Looks up elsewhere, by the module that has it, what a module does not have; the log says each name once."""
    own = vars(module).get("__getattr__")

    def lookup(name: str) -> Any:
        try:
            if own is not None:
                return own(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        except AttributeError:
            source = home(name)
            if source is None:
                raise
        logging.warning(
            "%s.%s, %s, is given to programs of TensorFlow 1 in this process.",
            module.__name__,
            name,
            what,
            stacklevel=3,
        )
        value = getattr(import_module(source), name)
        setattr(module, name, value)
        return value

    module.__getattr__ = lookup  # type: ignore[method-assign]


class Finder(MetaPathFinder, Loader):
    """Serves what is gone; what SciPy has comes first, unless it has become a module without those inside."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What to load for one of these modules; None for any other.

        Args:
            fullname: The module's name.
            path: Where its package lies.
            target: Not looked at.
        """
        if fullname in RENAMED or fullname in EXPORTED:
            spec = PathFinder.find_spec(fullname, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _Renaming(spec.loader)
            return spec
        if fullname not in GONE:
            return None
        inside = any(other.startswith(f"{fullname}.") for other in GONE)
        found = PathFinder.find_spec(fullname, path)
        if found is not None and (found.submodule_search_locations is not None or not inside):
            # SciPy 1.12 and later have an empty scipy.misc.
            found.loader = found.loader and _Renaming(found.loader)
            return found
        return ModuleSpec(fullname, self, is_package=inside)

    def exec_module(self, module: ModuleType) -> None:
        """Lets the module look up its names when they are asked for.

        Args:
            module: The new, empty module.
        """
        name = module.__name__
        told: set[str] = set()
        homes = _homes(name)

        def lookup(member: str) -> Any:
            if member not in homes:
                raise AttributeError(f"module {name!r} has no attribute {member!r}")
            if name not in told:
                told.add(name)
                logging.warning(
                    "%s, which SciPy has no more, is given to programs of TensorFlow 1 in this process.",
                    name,
                    stacklevel=3,
                )
            return getattr(import_module(homes[member]), member)

        module.__getattr__ = lookup  # type: ignore[method-assign]
        module.__all__ = sorted(homes)  # type: ignore[attr-defined]


def serves(module: str, names: Sequence[str]) -> bool:
    """Whether a module is one of these, and has all of the names.

    Args:
        module: Its whole name.
        names: What a program imports from it.
    """
    known = {name for members in GONE.get(module, {}).values() for name in members}
    return module in GONE and known.issuperset(names)


def install() -> None:
    """Serves old modules and names in this process."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
