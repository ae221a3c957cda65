"""Protects the public names: each stands in one list, the stub, which tools read and which the package is loaded from.

A type checker finds each name with its signature, and no other; a program gets each, whichever way it asks for it.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

import graphflow as gf
from graphflow._core.common.namespaces import attach, read_stub

PROJECT = Path(gf.__file__).parent.parent
STUBS = {
    ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((PROJECT / "graphflow").rglob("*.pyi"))
}
_MESSAGES: Final = set(dir(gf)) - set(vars(gf)["__all__"])
"""What needs protobuf."""
NOT_READ = {"graphflow.flags"}
"""Its names are those of absl, whatever its version: the stub is for tools alone."""
PROGRAM = """
import graphflow as gf

reveal_type(gf.reduce_mean)
reveal_type(gf.Session)
reveal_type(gf.float32)
reveal_type(gf.train.AdamOptimizer)
reveal_type(gf.train.Server)
reveal_type(gf.layers.dense)
reveal_type(gf.random.uniform)
reveal_type(gf.contrib.slim.l2_regularizer)
gf.reduce_meen
gf.train.AdamOptimiser
gf.layers.densee
gf.random.unifrom
gf.contrib.slim.l2_regulariser
gf.nn.reluu
gf.math.reduce_sun
gf.losses.log_los
"""
PLAIN_PARAMETERS: Final[Mapping[str, float]] = {"functions": 0.035, "methods": 0.135}
"""The share of parameters that are of no type, or Any, of public functions and of public classes' methods.

What it has reached, and may only shrink. Any is right for what may be anything: fetches, structures, messages."""
RIGHT, WRONG = (
    8,
    ("reduce_meen", "AdamOptimiser", "densee", "unifrom", "l2_regulariser", "reluu", "reduce_sun", "log_los"),
)
STAR = """
import sys
sys.modules.update(dict.fromkeys(["google", "google.protobuf", "tensorboard"]))  # They cannot be imported.
from graphflow import *
with Session() as session:
    assert session.run(constant(1.0) + nn.relu(2.0)) == 3.0
assert abs.__module__.startswith("graphflow.") and newaxis is None and "GraphDef" not in globals()
"""
PICKLED = """
import pickle
import graphflow as gf
for value in (gf.abs, gf.nn.relu, gf.layers.conv1d, gf.train.AdamOptimizer, gf.errors.NotFoundError, gf.Session):
    assert pickle.loads(pickle.dumps(value)) is value, value
"""
THREADS = """
import threading
import graphflow as gf

go = threading.Event()
failed = []


def first_of(work):
    go.wait(100)
    try:
        with gf.Graph().as_default():
            work()
    except BaseException as error:
        failed.append(error)


WORK = [
    lambda: gf.placeholder(gf.float32, [2], name="x") * 2.0 + 1.0,
    lambda: -gf.constant([1.0])[0] ** 2.0,
    lambda: gf.Variable(1.0) + 1.0,
    lambda: gf.SparseTensor([[0, 0]], [1.0], [1, 1]) * 2.0,
    lambda: gf.layers.dense(gf.zeros([1, 2]), 1) / 2.0,
    lambda: gf.nn.relu(gf.zeros([1, 2])) - 2.0,
    lambda: gf.train.GradientDescentOptimizer(0.1).minimize(gf.square(gf.Variable(2.0)) * 2.0),
    lambda: gf.identity(gf.gradients(gf.gather(gf.Variable([1.0]), [0]), gf.global_variables())[0]) * 2.0,
    lambda: gf.Session().close(),
]
threads = [threading.Thread(target=first_of, args=(work,)) for work in WORK * 2]
for thread in threads:
    thread.start()
go.set()
for thread in threads:
    thread.join(100)
assert not failed, failed
"""
SMALLEST = {
    "a placeholder": "x = gf.placeholder(gf.float32, [2]); y = 1.0 - x[0] * 2.0 + x",
    "a variable": "v = gf.Variable(1.0); y = 2.0 / v ** 2.0",
    "a sparse tensor": "y = gf.SparseTensor([[0]], [1.0], [2]) / 2.0",
    "rows": "y = gf.IndexedSlices(gf.ones([1, 2]), gf.constant([0]), gf.constant([2, 2])); gf.identity(y)",
    "a graph as a message": "gf.constant(1.0); gf.get_default_graph().as_graph_def()",
    "an operation as a message": "gf.constant(1.0).op.node_def",
    "a part of the library": "from graphflow._core.ops.io.files import read_file\nread_file('a') + 'b'",
}
"""Programs that need what is above a graph, though hardly anything was imported."""


def in_a_new_process(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in STUBS if name not in NOT_READ])
def test_a_package_offers_what_its_stub_says(name: str) -> None:
    package = import_module(name)
    said = [public for public, _ in read_stub(STUBS[name].read_text("utf-8"))]
    listed = [public for public in said if not public.startswith("_")]
    assert not [public for public, times in Counter(listed).items() if times > 1]
    assert sorted(listed) == [public for public in dir(package) if not public.startswith("_")]
    assert set(package.__all__) <= set(listed)
    for public in listed:
        getattr(package, public)
        inner = sys.modules.get(f"{name}.{public}")
        assert inner is None or inner is getattr(package, public), f"{inner} hides the name"


def types_of(signature: inspect.Signature) -> list[str]:
    types = [*(p.annotation for p in signature.parameters.values()), signature.return_annotation]
    return [re.sub(r"\b_(?=[A-Z])", "", stated) for stated in types]


@pytest.mark.parametrize("name", [name for name in STUBS if name not in NOT_READ])
def test_a_signature_in_a_stub_is_that_of_the_function(name: str) -> None:
    """The names of types begin with an underscore there, so that the package does not offer them."""
    for line in STUBS[name].read_text("utf-8").splitlines():
        if line.startswith("def "):
            names: dict[str, Any] = {}
            exec(f"from __future__ import annotations\n{line}", names)
            public = line[4:].partition("(")[0]
            said, taken = (
                inspect.signature(f) for f in (names[public], getattr(import_module(name), public))
            )
            assert "Any" not in line
            assert [(p.name, p.kind) for p in said.parameters.values()] == [
                (p.name, p.kind) for p in taken.parameters.values()
            ]
            assert types_of(said) == types_of(taken)


def test_a_stub_of_other_statements_is_not_misread() -> None:
    text = '"""Words: of it."""\n\nfrom typing import Any\n\nfrom a.b import c as c\nfrom a import d as _e\n'
    text += "e = _e.f\nx: int\n"
    assert list(read_stub(text)) == [("c", ("a.b", "c", "")), ("e", ("a", "d", "f")), ("x", None)]


def test_a_package_without_its_stub_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("graphflow.lost")
    module.__file__ = str(tmp_path / "lost.py")
    monkeypatch.setitem(sys.modules, "graphflow.lost", module)
    with pytest.raises(ImportError, match=r"lost\.pyi lists what graphflow\.lost offers, and cannot be read"):
        attach("graphflow.lost")


def test_all_names_at_once_need_no_protobuf() -> None:
    in_a_new_process(STAR)


def test_what_is_loaded_at_first_use_is_pickled_by_its_place() -> None:
    in_a_new_process(PICKLED)


def test_threads_may_be_the_first_together() -> None:
    in_a_new_process(THREADS)


@pytest.mark.parametrize("program", SMALLEST.values(), ids=list(SMALLEST))
def test_a_graph_has_what_it_needs_from_the_start(program: str) -> None:
    in_a_new_process(f"import graphflow as gf\n{program}")


def public_callables() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Each public function and method once: which of the two, its name, and itself."""
    seen: set[int] = set()
    modules: list[ModuleType] = [gf]
    while modules:
        module = modules.pop()
        for name in getattr(module, "__all__", None) or dir(module):
            value = None if name.startswith("_") or name in _MESSAGES else getattr(module, name)
            home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if not isinstance(home, str) or not f"{home}.".startswith("graphflow.") or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, ModuleType) and "._core" not in home and home != "graphflow.protos":
                modules.append(value)
            elif inspect.isfunction(value):
                yield "functions", f"{home}.{name}", value
            elif inspect.isclass(value):
                for method, function in vars(value).items():
                    function = getattr(function, "__func__", function)
                    shown = not method.startswith("_") or method in ("__init__", "__call__")
                    if shown and inspect.isfunction(function):
                        yield "methods", f"{home}.{name}.{method}", function


def plain(parameter: inspect.Parameter) -> bool:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    return parameter.annotation in (parameter.empty, "Any") and parameter.name not in ("self", "cls")


def test_what_functions_take_is_said_by_types() -> None:
    every: Counter[str] = Counter()
    without: dict[str, list[str]] = {"functions": [], "methods": []}
    for kind, name, function in public_callables():
        parameters = [
            p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")
        ]
        every[kind] += len(parameters)
        without[kind] += [f"{name}({p.name})" for p in parameters if plain(p)]
    assert every["functions"] > 3000 and every["methods"] > 1000
    for kind, most in PLAIN_PARAMETERS.items():
        share = len(without[kind]) / every[kind]
        assert share <= most, f"{share:.1%} of the parameters of {kind}: {without[kind]}"


def public_names() -> Iterator[str]:
    """Each name of each public namespace, as a program writes it."""
    modules: list[ModuleType] = [gf]
    while modules:
        module = modules.pop()
        place = module.__name__.replace("graphflow", "gf", 1)
        for name in getattr(module, "__all__", dir(module)):
            value = None if name.startswith("_") else getattr(module, name)
            if isinstance(value, ModuleType):
                if value.__name__ == f"{module.__name__}.{name}" and value.__name__ not in NOT_READ:
                    modules.append(value)
                    yield f"{place}.{name}"
            elif hasattr(module, "__all__") or getattr(value, "__module__", None) == module.__name__:
                yield f"{place}.{name}"


@pytest.mark.timeout(400)
def test_a_type_checker_sees_every_public_name(tmp_path: Path) -> None:
    names = sorted(public_names())
    assert len(names) > 1500 and {"gf.contrib.metrics.streaming_auc", "gf.nn.relu", "gf.app.run"} <= set(
        names
    )
    program = tmp_path / "program.py"
    program.write_text("\n".join(["import graphflow as gf", *names, ""]))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)],
        cwd=PROJECT, capture_output=True, text=True, timeout=380,
    )  # fmt: skip
    assert not done.stdout, done.stdout


@pytest.mark.timeout(400)  # It looks at the whole package where the linter has not before.
def test_a_type_checker_sees_names_and_misspellings(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)],
        cwd=PROJECT, capture_output=True, text=True, timeout=380,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    shown = [line for line in lines if "Revealed type" in line]
    assert len(shown) == RIGHT and not any('"Any"' in line for line in shown), done.stdout + done.stderr
    wrong = [line for line in lines if "[attr-defined]" in line]
    assert [name for name in WRONG if any(name in line for line in wrong)] == list(WRONG), done.stdout
    assert (PROJECT / "graphflow" / "py.typed").exists()
