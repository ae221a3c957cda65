"""How `import tensorflow` gives graphflow: a finder on sys.meta_path, which stands before those of files.

Each module of TensorFlow's that a program imports is an empty module whose names are looked up at first use (PEP 562),
by the table of graphflow.as_tensorflow.modules, and are the objects of graphflow. So nothing is imported that a program
does not ask for, and no file named tensorflow lies anywhere. A name that the tables lack is looked up in defined.tsv,
which says where TensorFlow 1.15.5 defines each of its public names, since programs import it from there, too.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from graphflow._core.common.namespaces import missing
from graphflow.as_tensorflow.modules import MESSAGES, OTHERS, ROOTS, SOURCES
from graphflow.as_tensorflow.names import NAMES
from graphflow.as_tensorflow.synonyms import SYNONYMS

DEFINED: Final = Path(__file__).with_name("defined.tsv")
_NOTHING: Final = object()


def _within(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder}.")


def place_of(name: str) -> str | None:
    """Where a module lies inside of tensorflow, as "python.ops.nn", "" for the whole; None if it is not of TensorFlow.

    Folders that are the same as another folder are that one.
    """
    root, _, rest = name.partition(".")
    if root not in ROOTS:
        return None
    place = ".".join(part for part in (ROOTS[root], rest) if part)
    while True:
        same = [folder for folder in SYNONYMS if _within(place, folder)]
        if not same:
            return place
        longest = max(same, key=len)
        place = f"{SYNONYMS[longest]}{place[len(longest) :]}".strip(".")


def _public_module(place: str) -> str | None:
    """The name of graphflow's public module of the same place, None if there is none."""
    module: Any = import_module("graphflow")
    for part in place.split("."):
        module = getattr(module, part, None)
        if not isinstance(module, ModuleType):
            return None
    name: str = module.__name__
    return name


@cache
def defined() -> Mapping[str, Mapping[str, str]]:
    """The public names that each module of TensorFlow's inside defines: a place, a name there, its public path."""
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for line in DEFINED.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            place, namespace, names = line.split("\t")
            for pair in names.split(" "):
                inside, _, public = pair.partition("=")
                places[place][inside] = ".".join(part for part in (namespace, public or inside) if part)
    return dict(places)


def _of_public_path(path: str) -> Any:
    """What a public path of graphflow is, _NOTHING if it is not there."""
    value: Any = import_module("graphflow")
    for part in path.split("."):
        value = getattr(value, part, _NOTHING)
    return value


def sources_of(place: str) -> Sequence[str] | None:
    """The modules here that have the names of a module of TensorFlow's, None if it is not served."""
    folder, _, last = place.rpartition(".")
    if folder in MESSAGES and last.endswith("_pb2"):
        messages = import_module("graphflow.protos")
        if hasattr(messages, last):
            return (f"graphflow.protos.{last}",)
        if place not in defined():
            return None
    public = _public_module(place) if place else None
    listed = SOURCES.get(place)
    if listed is not None or public is not None:
        return tuple(dict.fromkeys((*(listed or ()), *((public,) if public else ()))))
    folders = (*SOURCES, *SYNONYMS, *MESSAGES, *defined())
    return () if any(_within(other, place) for other in folders) else None


def _load(source: str) -> Any:
    """A module here; one of messages may be of another package."""
    folder, _, last = source.rpartition(".")
    return getattr(import_module(folder), last) if folder == "graphflow.protos" else import_module(source)


def _names_of(place: str) -> Iterator[str]:
    """The names that a module has, those of modules in it among them."""
    prefix = f"{place}." if place else ""
    for known in (*NAMES, *SOURCES, *SYNONYMS):
        if known.startswith(prefix):
            yield known[len(prefix) :].partition(".")[0]
    for source in sources_of(place) or ():
        module = _load(source)
        listed = getattr(module, "__all__", None)
        yield from (name for name in dir(module) if not name.startswith("_")) if listed is None else listed
    for name, path in defined().get(place, {}).items():
        if _of_public_path(path) is not _NOTHING:
            yield name


def _looked_up(module: ModuleType) -> dict[str, Any]:
    """The names of a module that were looked up until now: what Python itself has for its __dict__."""
    names: dict[str, Any] = vars(ModuleType)["__dict__"].__get__(module)
    return names


class Served(ModuleType):
    """A module of TensorFlow's: its names are looked up when they are asked for, all of them if its __dict__ is."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All of its names and what they are, for programs that go through them."""
        place = place_of(self.__name__)
        for name in _names_of(place) if place is not None else ():
            with suppress(AttributeError, ImportError):
                getattr(self, name)
        return _looked_up(self)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted({*_names_of(place_of(self.__name__) or "")})
        value = member(self.__name__, name)
        if isinstance(value, Place):
            value = import_module(value.module)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        """What it has, and what it has been given."""
        place = place_of(self.__name__)
        return sorted({*(_names_of(place) if place is not None else ()), *_looked_up(self)})


class Place(NamedTuple):
    """A module of TensorFlow's, by its whole name."""

    module: str


def member(module: str, name: str) -> Any:
    """What a name of a module of TensorFlow's is: an object, or the Place of another such module.

    Args:
        module: The module, as "tensorflow.contrib.layers"; one that is served.
        name: A name in it.

    Raises:
        AttributeError: It is not there; says the nearest names, or what to use.
    """
    place, inside = place_of(module) or "", place_of(f"{module}.{name}")
    value = _found(place, name)
    if value is not _NOTHING:
        return value
    if name.startswith("__") or inside is None or sources_of(inside) is None:
        missing(module, _names_of(place))(name)
    return Place(f"{module}.{name}")


def _found(place: str, name: str) -> Any:
    """What a name of a module is, _NOTHING if it is a module of TensorFlow's itself or not there."""
    single = NAMES.get(f"{place}.{name}" if place else name)
    if single is not None:
        return getattr(import_module(single[0]), single[1])
    for source in sources_of(place) or ():
        value = getattr(_load(source), name, _NOTHING)
        if value is not _NOTHING and not (
            isinstance(value, ModuleType) and value.__name__.startswith("graphflow")
        ):
            return value
    path = defined().get(place, {}).get(name)
    return _NOTHING if path is None else _of_public_path(path)


class _Maker(Loader):
    """Makes the module; its names are looked up later."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module that looks up its names."""
        return Served(spec.name, f"{spec.name}, served by graphflow (graphflow.as_tensorflow).")

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: its names are looked up later."""


class _Lender(Loader):
    """Makes a module that has the names of another."""

    def __init__(self, source: str) -> None:
        self._source = source

    def create_module(self, spec: ModuleSpec) -> None:
        """An ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """Gives it the names."""
        source = import_module(self._source)
        module.__dict__.update(
            {name: getattr(source, name) for name in source.__all__}, __doc__=source.__doc__
        )


class Finder(MetaPathFinder):
    """Finds tensorflow and all in it; what is not served raises an ImportError that says so, and the nearest module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of TensorFlow's, None for any other."""
        if fullname in OTHERS:
            return ModuleSpec(fullname, _Lender(OTHERS[fullname]), origin="graphflow")
        place = place_of(fullname)
        if place is None:
            return None
        if sources_of(place) is None:
            # Without its name, by which Python would take it for the absence of a name, and say less.
            raise ModuleNotFoundError(_not_served(fullname, place))
        return ModuleSpec(fullname, _Maker(), origin="graphflow", is_package=True)


def _not_served(fullname: str, place: str) -> str:
    """What is said of a module, or of a name that was asked for as one is, that is not there."""
    folder, _, last = place.rpartition(".")
    where = fullname.rpartition(".")[0]
    if sources_of(folder) is None:
        near = get_close_matches(place, [known for known in SOURCES if known], 3)
        told = f": the nearest modules are {', '.join(f'tensorflow.{one}' for one in near)}" if near else ""
        return f"graphflow does not serve the module {fullname}{told}."
    try:
        missing(where, _names_of(folder))(last)
    except AttributeError as error:
        return str(error)
    raise AssertionError("missing names raise")


def real_tensorflow() -> str | None:
    """The file of the tensorflow package that is installed, None if there is none."""
    for finder in sys.meta_path:
        if not isinstance(finder, Finder) and hasattr(finder, "find_spec"):
            spec = finder.find_spec("tensorflow", None, None)
            if spec is not None:
                return spec.origin or "a folder without an __init__.py"
    return None
