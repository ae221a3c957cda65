"""Writes the stubs of the public packages that gather their names as they are imported: python -m tests.stubs --write.

A type checker, or an editor, does not see a name that comes from `globals().update`. A stub beside the package says of
each where it is defined, so that they find its signature and its text, and take a misspelling for one. What there is,
and where, is asked of the packages themselves; tests/test_exports.py fails where a stub says something else.
"""

from __future__ import annotations

import argparse
import inspect
import keyword
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import graphflow as gf
from graphflow._core.common.namespaces import exports

GATHERED: Final = (
    "graphflow", "graphflow.contrib.data", "graphflow.contrib.distributions", "graphflow.contrib.framework",
    "graphflow.contrib.layers", "graphflow.contrib.slim", "graphflow.contrib.slim.initializers",
    "graphflow.contrib.slim.regularizers", "graphflow.contrib.slim.utils", "graphflow.contrib.training",
    "graphflow.contrib.util", "graphflow.data", "graphflow.data.experimental", "graphflow.debugging",
    "graphflow.distribute", "graphflow.image", "graphflow.initializers", "graphflow.io", "graphflow.layers",
    "graphflow.metrics", "graphflow.random", "graphflow.saved_model", "graphflow.sparse",
    "graphflow.strings", "graphflow.summary", "graphflow.test", "graphflow.train",
)  # fmt: skip
_NOT_OURS: Final = (
    "TYPE_CHECKING",
    "annotations",
    "Any",
    "Callable",
    "Final",
    "Mapping",
    "import_module",
    "partial",
)
_PLAIN: Final = (bool, int, float, str, bytes)


def stub_of(name: str) -> str:
    """The text of a package's stub."""
    import_module(name.rpartition(".")[0] or name)  # Some are made when the package that they are in is.
    module = import_module(name)
    imports: list[str] = []
    others: list[str] = []
    for public in sorted(n for n in dir(module) if not n.startswith("_") and n not in _NOT_OURS):
        value = getattr(module, public)
        if isinstance(value, ModuleType):
            if value.__name__ == f"{name}.{public}":
                imports.append(f"from . import {public} as {public}")
            elif value.__name__.startswith("graphflow."):
                parent, _, leaf = value.__name__.rpartition(".")
                imports.append(_named(parent, leaf, public, others))
            continue
        place = _place(value, public, name)
        if place is not None and place[0] == exports.__module__:
            continue
        if place is None:
            others.append(_declared(public, value))
        else:
            imports.append(_named(*place, public, others))
    if name == "graphflow":
        others.insert(0, "__version__: str")
    text = (inspect.getdoc(module) or "").split("\n")[0]
    needs_any = any("Any" in line for line in others)
    head = [f'"""{text}"""', "", *(["from typing import Any", ""] if needs_any else [])]
    return "\n".join([*head, *imports, *(["", *others] if others else [])]) + "\n"


def _named(module: str, attribute: str, public: str, others: list[str]) -> str:
    """The import of a name; one under another name is no export of a stub, therefore it is given that name apart."""
    if attribute == public:
        return f"from {module} import {attribute} as {public}"
    others.append(f"{public} = _{public}")
    return f"from {module} import {attribute} as _{public}"


def _place(value: Any, public: str, package: str) -> tuple[str, str] | None:
    """The module that a value is defined in, and its name there; None where that cannot be imported."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or module == package or module not in sys.modules:
        return None
    members = vars(sys.modules[module])
    names = [public, getattr(value, "__name__", public), *members]
    found = next((n for n in names if n in members and members[n] is value), None)
    return None if found is None or not module.startswith("graphflow.") else (module, found)


def _declared(public: str, value: Any) -> str:
    """A name whose value was made without a name of its own."""
    if inspect.isroutine(value) or isinstance(value, partial):
        try:
            return f"def {public}{_signature(value)} -> Any: ..."
        except (TypeError, ValueError):
            return f"{public}: Any"
    kind = type(value).__name__ if type(value) in _PLAIN else "None" if value is None else "Any"
    return f"{public}: {kind}"


def _signature(function: Any) -> str:
    """The parameters of a function, without their types."""
    text, star = [], False
    for one in inspect.signature(function).parameters.values():
        default = "" if one.default is one.empty else " = ..."
        if one.kind is one.VAR_POSITIONAL:
            text.append(f"*{one.name}: Any")
            star = True
            continue
        if one.kind is one.VAR_KEYWORD:
            text.append(f"**{one.name}: Any")
            continue
        if one.kind is one.KEYWORD_ONLY and not star:
            text.append("*")
            star = True
        assert not keyword.iskeyword(one.name)
        text.append(f"{one.name}: Any{default}")
    return f"({', '.join(text)})"


def path_of(name: str) -> Path:
    """Where the stub of a package lies: beside it, or in the place of one that is only made when graphflow is."""
    root = Path(gf.__file__).parent.parent
    folder = root.joinpath(*name.split("."))
    return folder / "__init__.pyi" if folder.is_dir() else folder.with_suffix(".pyi")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="writes the stubs; else says which are out of date"
    )
    write = parser.parse_args().write
    for name in GATHERED:
        path, text = path_of(name), stub_of(name)
        if not path.exists() or path.read_text("utf-8") != text:
            print(path)
            if write:
                path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
