"""How names become gf.math, gf.train and the rest: a package's stub is the one list, and each is loaded at first use.

The stub beside a package (`__init__.pyi`) says of each public name where it is defined. Type checkers and editors read
it, and so does the package itself when it is imported: a name's module is imported when somebody asks for the name
(PEP 562). So `import graphflow` takes no longer than reading a list, and no name stands in two lists. lazy_loader does
the same, but for names that a stub gives under other names, as `abs` for `abs_`, and without the errors told here.

A name of TensorFlow 1's that graphflow does not have raises an AttributeError that says what to use instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.machinery import SourceFileLoader
from typing import Any, Final, NamedTuple

REPLACEMENTS: Final[Mapping[str, str]] = {
    "enable_eager_execution": "graphflow runs graphs only: build a graph and run it in gf.Session",
    "CrossTowerOps": "it is gf.distribute.Reducer, the argument reducer of a strategy",
    "AllReduceCrossTowerOps": "use gf.distribute.RingReducer, or PackingReducer, as a strategy's reducer",
    "ReductionToOneDeviceCrossTowerOps": "it is gf.distribute.ReductionToOneDevice, a strategy's reducer",
    **dict.fromkeys(
        (
            "initialize_system",
            "shutdown_system",
            "keras_to_tpu_model",
            "TPUDistributionStrategy",
            "TPUStrategy",
            "rewrite",
            "replicate",
            "shard",
            "batch_parallel",
        ),
        "graphflow has no TPUs: TPUEstimator runs on the CPU or a GPU, as with use_tpu=False",
    ),
    **dict.fromkeys(
        (
            "LocalCLIDebugWrapperSession",
            "LocalCLIDebugHook",
            "TensorBoardDebugWrapperSession",
            "DumpingDebugHook",
        ),
        "graphflow has no debugger of its own: ConfigProto(check_numerics=True) stops at the first NaN, and "
        "Session.explain shows the plan",
    ),
    **dict.fromkeys(
        ("load_op_library", "load_library"),
        "graphflow cannot load TensorFlow's C++ ops: write the op in Python (docs/add-an-op.md), or gf.py_func",
    ),
    **dict.fromkeys(
        ("TFLiteConverter", "TocoConverter", "toco_convert", "lite"),
        "graphflow writes no TFLite files: graphflow export writes ONNX, gf.saved_model what TensorFlow converts",
    ),
    **dict.fromkeys(
        ("create_training_graph", "create_eval_graph", "experimental_create_training_graph"),
        "graphflow does not rewrite graphs for quantization: export the trained model, and quantize that",
    ),
    "function": "graphflow runs graphs only: call the Python function while the graph is built",
}
_OPS: Final = "graphflow._core.ops"
_MESSAGES: Final = "graphflow.protos"


class Home(NamedTuple):
    """The module that defines a public name: `module.name`, or `module.name.attribute`; "." is the package itself."""

    module: str
    name: str
    attribute: str = ""


def read_stub(text: str) -> Iterator[tuple[str, Home | None]]:
    """The public names of a stub and where each is defined, None if in the package itself.

    A stub has one statement a line, of these forms:
    `from M import A as A`, or `as _B`, for a name that is given away below;
    `from M import *`, for all names of another such package;
    `B = _B` or `B = _B.attribute`; `def B(...) -> T: ...`, with the signature of what was imported `as _B`;
    `B: T` for what the package itself has.
    """
    private: dict[str, Home] = {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("from ") and words[3] == "*":
            package = import_module(words[1])
            yield from ((name, Home(words[1], name)) for name in package.__all__)
        elif line.startswith("from ") and len(words) == 6:
            _, module, _, name, _, given = words
            if given.startswith("_"):
                private[given] = Home(module, name)
            else:
                yield given, Home(module, name)
        elif line.startswith("def "):
            name = words[1].partition("(")[0]
            yield name, private[f"_{name}"]
        elif len(words) == 3 and words[1] == "=":
            source, _, attribute = words[2].partition(".")
            yield words[0], private[source]._replace(attribute=attribute)
        elif words and words[0][:-1].isidentifier() and words[0].endswith(":"):
            yield words[0][:-1], None


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """A package's `__getattr__`, `__dir__` and `__all__`, by the stub that lies beside it.

    `__all__` has not what needs protobuf, so that `from graphflow import *` works without it. ImportError if the
    stub is not there.
    """
    members = sys.modules[package].__dict__
    path = f"{os.path.splitext(members['__file__'])[0]}.pyi"
    try:
        # By what has loaded the package, which may lie in an archive.
        loader = members["__loader__"] or SourceFileLoader(package, path)
        names = dict(read_stub(loader.get_data(path).decode()))
    except OSError as error:
        raise ImportError(
            f"{path} lists what {package} offers, and cannot be read: graphflow was not installed whole."
        ) from error
    lost = missing(package.replace("graphflow", "gf", 1), names)

    def __getattr__(name: str) -> Any:
        home = names.get(name)
        if home is None:
            return lost(name)
        members[name] = value = _load(package, home)
        return value

    def __dir__() -> list[str]:
        return sorted({*names, *(name for name in members if name.startswith("__"))})

    free = (name for name, home in names.items() if not (home and home.module == _MESSAGES))
    return __getattr__, __dir__, [name for name in free if not name.startswith("_")]


def _load(package: str, home: Home) -> Any:
    """What stands at a place, whose module is imported as `from MODULE import NAME` does.

    The ops come first, whatever is asked for. Tensors have their operators then. And two threads that are the first
    together do not meet inside of that package: Python gives one of them a half of a module if another has begun to
    import the package that it is in.
    """
    import_module(_OPS)
    if home.module == ".":
        return import_module(f"{package}.{home.name}")
    module = import_module(home.module)
    value = getattr(module, home.name, module)
    if value is module:
        value = import_module(f"{home.module}.{home.name}")
    return getattr(value, home.attribute) if home.attribute else value


def missing(where: str, members: Iterable[str]) -> Callable[[str], Any]:
    """A module's __getattr__: raises AttributeError with what to use instead, or the nearest name."""

    def lookup(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = REPLACEMENTS.get(name)
        if hint is None:
            import difflib  # A tenth of the time that importing graphflow takes, for a misspelt name.

            near = difflib.get_close_matches(name, [m for m in members if not m.startswith("_")], 3)
            hint = f"the nearest names are {', '.join(near)}" if near else "graphflow does not have it"
        raise AttributeError(f"{where} has no attribute {name!r}: {hint}.")

    return lookup
