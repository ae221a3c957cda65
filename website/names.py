"""The public modules and what each offers, as the stubs list it; and for each name the one page that describes it."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from graphflow._core.common.namespaces import Home, read_stub

PROJECT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "graphflow"
OF_OTHERS: Final = ("graphflow.flags", "graphflow.protos")
"""What other packages define, absl and protobuf: their own pages describe it."""


@dataclass(frozen=True)
class PublicName:
    """A name that a module offers: where it is defined, as the path of the object."""

    module: str
    name: str
    target: str

    @property
    def path(self) -> str:
        """As it is imported: graphflow.nn.relu."""
        return f"{self.module}.{self.name}"

    @property
    def of_others(self) -> bool:
        """Whether another package defines it, as protobuf its messages: it is listed, and not described."""
        inside = self.target.startswith(PACKAGE) and source_of(self.target) is None
        return self.target.startswith(OF_OTHERS) or not inside

    @property
    def identifier(self) -> str:
        """What links and directives name it by: its path, but of what hides a name of Python's, its definition's.

        Else griffe would take the bool of an annotation for gf.bool.
        """
        return self.target if hasattr(builtins, self.name) else self.path

    @property
    def shown(self) -> str:
        """As a program writes it: gf.nn.relu."""
        return self.path.replace(PACKAGE, "gf", 1)


@dataclass
class PublicModule:
    """A module that programs name: what it offers, and the modules in it."""

    path: str
    names: list[PublicName] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """As a program writes it: gf.nn."""
        return self.path.replace(PACKAGE, "gf", 1)

    @property
    def page(self) -> str:
        """The file of its page in the reference."""
        return "index.md" if self.path == PACKAGE else f"{self.path.removeprefix(f'{PACKAGE}.')}.md"


def source_of(module: str) -> Path | None:
    """The file of a module of the package; None if there is no such module."""
    place = PROJECT.joinpath(*module.split("."))
    return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if file.is_file()), None)


def _listed(module: str, source: Path) -> Iterator[tuple[str, str]]:
    """Each name that a module offers, and the path of what it stands for: by its stub, or by what it defines."""
    stub = source.with_suffix(".pyi")
    if stub.is_file():
        for name, home in read_stub(stub.read_text("utf-8")):
            if home is None:
                yield name, f"{module}.{name}"
            elif home.module == ".":
                yield name, f"{module}.{home.name}"
            else:
                yield name, _path(home)
        return
    loaded = import_module(module)
    for name in getattr(loaded, "__all__", None) or sorted(vars(loaded)):
        value = getattr(loaded, name)
        owner = getattr(value, "__module__", None)
        if isinstance(value, ModuleType):
            if value.__name__ == f"{module}.{name}":
                yield name, value.__name__
        elif hasattr(loaded, "__all__") and (inspect.isroutine(value) or inspect.isclass(value)) and owner:
            yield name, f"{owner}.{value.__qualname__}"
        elif hasattr(loaded, "__all__") or owner == module or _is_constant(name):
            yield name, f"{module}.{name}"


def _is_constant(name: str) -> bool:
    return name.isupper() and not name.startswith("_") and name != "TYPE_CHECKING"


def _path(home: Home) -> str:
    return ".".join(filter(None, home))


def public_modules() -> list[PublicModule]:
    """All public modules, by path; each lists its public names in their order."""
    found: dict[str, PublicModule] = {}
    waiting = [PACKAGE]
    while waiting:
        path = waiting.pop()
        source = source_of(path)
        if path in found or source is None or path.startswith(OF_OTHERS):
            continue
        module = found[path] = PublicModule(path)
        for name, target in sorted(_listed(path, source), key=lambda listed: listed[0].lower()):
            if name.startswith("_"):
                continue
            if source_of(target) is not None and not target.startswith((*OF_OTHERS, f"{PACKAGE}._core.")):
                module.modules.append(target)
                waiting.append(target)
            else:
                module.names.append(PublicName(path, name, target))
    return [found[path] for path in sorted(found)]


def described(modules: list[PublicModule]) -> dict[str, PublicName]:
    """For each object the name by which the reference describes it: the one with the fewest dots, then the shortest."""
    best: dict[str, PublicName] = {}
    for module in modules:
        for name in module.names:
            other = best.get(name.target)
            if other is None or _rank(name) < _rank(other):
                best[name.target] = name
    return best


def _rank(name: PublicName) -> tuple[bool, int, int, str]:
    return ".contrib" in name.path, name.path.count("."), len(name.path), name.path


def inherited(name: PublicName, best: Mapping[str, PublicName]) -> list[str]:
    """The public members that a class has of classes which no page describes, such as run of gf.Session."""
    value: Any = getattr(import_module(name.module), name.name)
    if not inspect.isclass(value):
        return []
    hidden = [
        base
        for base in value.__mro__[1:]
        if base.__module__.startswith(f"{PACKAGE}.") and f"{base.__module__}.{base.__qualname__}" not in best
    ]
    members = {member for base in hidden for member in vars(base) if not member.startswith("_")}
    return sorted(members - set(vars(value)))


def summary(name: PublicName) -> str:
    """The first sentence of what is said of a function or a class; what another value is."""
    value: Any = getattr(import_module(name.module), name.name)
    if isinstance(value, ModuleType):
        return " ".join((value.__doc__ or f"The module {value.__name__}.").partition("\n\n")[0].split())
    if not (inspect.isclass(value) or callable(value)):
        return f"{type(value).__name__}: `{value!r}`" if len(repr(value)) < 60 else type(value).__name__
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(paragraph.split())
