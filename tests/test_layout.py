"""Protects the layout of the source: what may be imported inside functions, circles, long files, crowded folders.

Each figure is what the tree has reached, and may only shrink: lower it where you did better. Import-linter holds which
room may import which; this is what it does not see.
"""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

PROJECT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "graphflow"

INSIDE_FUNCTIONS: Final[Mapping[str, int]] = {
    "graphflow._core.graph.defaults": 1,  # The first default graph is made by the class that asks for the default.
    "graphflow": 1,  # What serves programs of TensorFlow is loaded where a notebook asks for it.
    "graphflow._core.session": 2,  # Clusters need ZeroMQ, which a session in this process does without;
    "graphflow._core.cluster.client.control": 1,  # and so does who names a cluster, before a task of it is asked
    "graphflow._core.cluster.server.server": 1,  # or started.
    "graphflow._core.codegen.cpu.compiler_process": 1,  # LLVM's options are set before anything imports Numba.
    "graphflow._core.codegen.shared": 3,  # The compiler starts when a plan is hot, and many a program has none that is:
    "graphflow._core.runtime.compiled.tier": 3,  # with it comes what drafts plans, lays them out and describes them.
    "graphflow._core.runtime.profiling.traced": 1,  # So does what times the pieces of a compiled plan.
    "graphflow._core.runtime.planner": 1,  # Where there is no GPU, nothing of GPUs is loaded.
    "graphflow.train.optimizers.optimizer": 2,  # A strategy asks any for the one that wraps it, which is a subclass.
    "graphflow.train.saving.saver": 1,  # A meta graph holds savers, and a saver writes meta graphs.
}
"""The modules that import modules of our own inside functions, on how many lines: what is heavy, optional, or above."""

LARGEST_CIRCLE: Final = 4
"""Files of a circle, imports for type checkers and inside functions counted."""

CIRCLES: Final = 4
"""Circles of all kinds of imports; by imports at the top of files alone there is none."""

LONGEST_FILE: Final = 500
"""Lines of a file of the library, of a docstring's sections (Args, Returns, Raises, examples) none counted."""

MOST_FILES: Final = 20
"""Modules in a folder, its __init__.py among them."""


@dataclass(frozen=True)
class Import:
    """One module of our own that a file imports: where, and at the top, inside a function, or for type checkers."""

    module: str
    line: int
    target: str
    kind: str


@cache
def modules() -> Mapping[str, Path]:
    """The files of the library by module name."""
    found = {}
    for path in sorted((PROJECT / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(PROJECT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports_of(module: str, tree: ast.AST, known: Mapping[str, object]) -> Iterator[Import]:
    """What a file imports of the modules that are known."""

    def visit(node: ast.AST, kind: str) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.body:
                yield from visit(child, "typing")
            for child in node.orelse:
                yield from visit(child, kind)
            return
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in full]
            if "." in node.module:
                names.append(
                    node.module
                )  # The package of a module is loaded before it; the root imports nothing.
        else:
            names = []
        for name in names:
            if name in known:
                yield Import(module, node.lineno, name, kind)  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and kind == "top":
            kind = "function"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, kind)

    yield from visit(tree, "top")


@cache
def imports() -> Sequence[Import]:
    """All imports of our own modules in the library."""
    return [
        found
        for module, path in modules().items()
        for found in imports_of(module, ast.parse(path.read_text("utf-8")), modules())
    ]


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach one another (Tarjan 1972, without recursion), the largest first."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    found: list[list[str]] = []
    for root in edges:
        if root in number:
            continue
        work = [(root, iter(sorted(edges[root])))]
        number[root] = lowest[root] = len(number)
        path.append(root)
        on_path.add(root)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    place = path.index(node)
                    circle, path[place:] = path[place:], []
                    on_path.difference_update(circle)
                    if len(circle) > 1:
                        found.append(sorted(circle))
            elif following not in number:
                number[following] = lowest[following] = len(number)
                path.append(following)
                on_path.add(following)
                work.append((following, iter(sorted(edges.get(following, ())))))
            elif following in on_path:
                lowest[node] = min(lowest[node], number[following])
    return sorted(found, key=len, reverse=True)


def circles_by(*kinds: str) -> list[list[str]]:
    """The circles of the library by some kinds of imports."""
    edges: dict[str, set[str]] = {module: set() for module in modules()}
    for found in imports():
        if found.kind in kinds:
            edges[found.module].add(found.target)
    return circles(edges)


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}, "g": set()}
    assert circles(edges) == [["a", "b", "c"], ["d", "e"]]


def test_imports_are_told_apart() -> None:
    source = """
from typing import TYPE_CHECKING
import p.a
if TYPE_CHECKING:
    from p import b
class C:
    def f(self):
        from p.c import name
        from p.e import f
"""
    known = {"p.a": 0, "p.b": 0, "p.c": 0, "p.e": 0, "p.e.f": 0, "p": 0}
    found = {(i.target, i.kind) for i in imports_of("p.d", ast.parse(source), known)}
    assert found == {
        *{("p.a", "top"), ("p.b", "typing"), ("p.c", "function")},
        *{("p.e", "function"), ("p.e.f", "function")},
    }


def test_imports_at_the_top_make_no_circle() -> None:
    assert circles_by("top") == []


def test_no_circle_is_large_with_imports_of_every_kind() -> None:
    found = circles_by("top", "typing", "function")
    told = "\n".join(map(str, found))
    assert len(found[0]) <= LARGEST_CIRCLE, f"a circle of more than {LARGEST_CIRCLE} files:\n{told}"
    assert len(found) <= CIRCLES, f"a new circle:\n{told}"


def inside_functions() -> Mapping[str, set[int]]:
    """The lines inside functions, by module, that import modules of our own."""
    found: dict[str, set[int]] = defaultdict(set)
    for one in imports():
        if one.kind == "function":
            found[one.module].add(one.line)
    return found


def test_the_library_does_not_import_itself_by_its_public_face() -> None:
    """Names are loaded from the root at first use, of whoever is above; what stands under the root asks for modules."""
    shows_all = {"graphflow.compat", "graphflow.cli.ops", "graphflow.cli.launch"}
    found = [one for one in imports() if one.target == PACKAGE and one.module not in shows_all]
    assert not found, "import graphflow.NAME as NAME, or from where a name is defined"


def test_only_these_modules_import_inside_functions() -> None:
    found = {m: len(lines) for m, lines in inside_functions().items()}
    grown = {m: n for m, n in found.items() if n > INSIDE_FUNCTIONS.get(m, 0)}
    assert not grown, "import at the top, or move what both need into a file below them"
    assert found == INSIDE_FUNCTIONS, "lower the figures"


SECTIONS: Final = re.compile(r"^ *(Args|Returns|Raises|Yields|Examples?):$", re.MULTILINE)


def lines_of(path: Path) -> int:
    """The lines of a file without those that its docstrings have for sections: blank one before and quotes, too."""
    text = path.read_text("utf-8")
    described = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documents = [ast.get_docstring(n) or "" for n in ast.walk(ast.parse(text)) if isinstance(n, described)]
    found = [(document, SECTIONS.search(document)) for document in documents]
    return text.count("\n") - sum(
        document.count("\n", match.start()) + 3 for document, match in found if match
    )


def test_no_file_is_too_long() -> None:
    lengths = {m: lines_of(path) for m, path in modules().items()}
    assert not {m: n for m, n in lengths.items() if n > LONGEST_FILE}, "split it by subject"


def test_no_folder_is_crowded() -> None:
    found: dict[str, int] = defaultdict(int)
    for path in modules().values():
        found[str(path.parent.relative_to(PROJECT))] += 1
    crowded = {folder: n for folder, n in found.items() if n > MOST_FILES}
    assert not crowded, "make a folder of a subject, or put together what is one"


MOST_METHODS: Final = 30
MOST_ATTRIBUTES: Final = 25
"""Of a class of the engine, those of its bases counted: one that has more owns several subjects."""

PRESCRIBED: Final = frozenset({"graph.graph.Graph", "ops.state.variable.Variable"})
"""Classes that programs use, whose methods are TensorFlow's: a class that extends one of them counts its own alone."""


@dataclass(frozen=True)
class Class:
    """A class by the text of its file: its own methods and attributes, and the full names of its bases."""

    methods: frozenset[str]
    attributes: frozenset[str]
    bases: tuple[str, ...]


def classes_of(module: str, tree: ast.AST) -> Iterator[tuple[str, Class]]:
    """The classes of a file by their full names."""
    names = {node.name: f"{module}.{node.name}" for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        attributes = (
            {  # Names of a class that are given a value without a type are constants, such as GraphKeys'.
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
            }
            | {
                part.attr
                for part in ast.walk(node)
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
                if isinstance(part.value, ast.Name) and part.value.id == "self"
            }
        )
        bases = []
        for base in node.bases:
            first, _, rest = ast.unparse(base).partition("[")[0].partition(".")
            full = names.get(first, first)
            bases.append(f"{full}.{rest}" if rest else full)
        yield names[node.name], Class(frozenset(methods), frozenset(attributes), tuple(bases))


def largest(found: Mapping[str, Class], prescribed: Set[str]) -> Mapping[str, tuple[int, int]]:
    """The classes with too many methods or attributes, and how many."""

    def whole(name: str) -> tuple[frozenset[str], frozenset[str]]:
        one = found.get(name)
        if one is None or name in prescribed:
            return frozenset(), frozenset()
        bases = [whole(base) for base in one.bases]
        return one.methods.union(*(m for m, _ in bases)), one.attributes.union(*(a for _, a in bases))

    counts = {name: tuple(map(len, whole(name))) for name in found}
    return {n: (m, a) for n, (m, a) in counts.items() if m > MOST_METHODS or a > MOST_ATTRIBUTES}


def test_classes_are_counted_with_their_bases() -> None:
    methods = "\n".join(f"    def m{k}(self): self.a{k} = {k}" for k in range(MOST_METHODS))
    source = f"""
from p.far import Far, Given
class Base:
{methods}
class Fits(Base):
    def m0(self): pass
class Large(Base):
    def more(self): pass
class Wide(Far):
    x: int = 0
class Extends(Given):
    def own(self): pass
"""
    far = "class Far:\n    def f(self): self.a, self.b = " + ", ".join("ab")
    far += "\n    " + "; ".join(f"c{k}: int = {k}" for k in range(MOST_ATTRIBUTES - 2))
    far += "\nclass Given:\n" + methods + "\n    def other(self): pass"
    found = dict(classes_of("p.near", ast.parse(source))) | dict(classes_of("p.far", ast.parse(far)))
    large = largest(found, {"p.far.Given"})
    assert large == {
        "p.near.Base": (MOST_METHODS, MOST_METHODS),
        "p.near.Fits": (MOST_METHODS, MOST_METHODS),
        "p.near.Large": (MOST_METHODS + 1, MOST_METHODS),
        "p.near.Wide": (1, MOST_ATTRIBUTES + 1),
    }


def test_no_class_of_the_engine_owns_too_much() -> None:
    engine = f"{PACKAGE}._core."
    found = {
        name: one
        for module, path in modules().items()
        if module.startswith(engine)
        for name, one in classes_of(module, ast.parse(path.read_text("utf-8")))
    }
    prescribed = {engine + name for name in PRESCRIBED}
    assert prescribed <= set(found), "the list of what TensorFlow prescribes is old"
    assert not largest(found, prescribed), "give what is a subject of its own to an object of its own"


OP_TYPES_COMPARED: Final = 52
"""Comparisons of a `type` with a name written on the spot, as of an op. A property of the op's definition, a rule or a
kernel that is registered under the name, or the definition itself says what is meant without it."""


def test_few_op_types_are_compared_with_names() -> None:
    compared = re.compile(r"\.type (?:==|!=|in|not in) [\"'({]")
    found = {m: len(compared.findall(path.read_text("utf-8"))) for m, path in modules().items()}
    assert sum(found.values()) <= OP_TYPES_COMPARED, {m: n for m, n in found.items() if n}


KERNELS_ELSEWHERE: Final[Mapping[tuple[str, str], int]] = {
    ("array.extents", "array.shaping"): 1,  # Size, beside Shape and Rank.
    ("control_flow.checking", "control_flow.printing"): 1,  # Print, beside StringFormat and PrintV2.
    ("image.resizing", "image.cropping"): 3,  # Both in one file would be too long.
    ("io.sequence_parsing", "io.parsing"): 2,  # A sequence example's context is an example.
}
"""Where definitions and kernels stand in files of two names: how many op types, and why."""


def test_a_kernel_stands_in_a_file_with_the_name_of_its_ops() -> None:
    op_def = importlib.import_module("graphflow._core.graph.op_def")
    registry = importlib.import_module("graphflow._core.kernels.registry")
    for module in modules():
        if module.startswith("graphflow._core.ops."):
            importlib.import_module(module)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for op_type in sorted(registry.op_types()):
        kernel = registry.defined_in(op_type)
        if kernel.startswith("graphflow."):  # Tests define kernels too.
            op = op_def.defined_in(op_type).removeprefix("graphflow._core.").removeprefix("ops.")
            found[op, kernel.removeprefix("graphflow._core.kernels.")].append(op_type)
    assert len(found) > 50
    astray = {names: types for names, types in found.items() if names[0] != names[1]}
    assert {names: len(types) for names, types in astray.items()} == KERNELS_ELSEWHERE, astray


PROGRAMS_OF_A_ROOM: Final = ("cluster", "ops", "plan")
"""Rooms whose tests run whole programs, though some have a module's name: they stand in the room's own folder."""


def test_a_test_that_has_a_modules_name_stands_where_the_module_does() -> None:
    folders: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name, file in modules().items():
        if file.name == "__init__.py":
            continue
        room, _, rest = name.removeprefix(f"{PACKAGE}.").removeprefix("_core.").partition(".")
        folder, _, own = rest.rpartition(".")
        folders[room, own].add("/".join([room, *folder.split(".")]).rstrip("/"))
    astray = {}
    for path in sorted((PROJECT / "tests").rglob("test_*.py")):
        where = path.parent.relative_to(PROJECT / "tests")
        room = where.parts[0] if where.parts else ""
        known = folders.get((room, path.stem.removeprefix("test_")), set())
        if known and where.as_posix() not in known and room not in PROGRAMS_OF_A_ROOM:
            astray[str(path.relative_to(PROJECT))] = known
    assert not astray, "move the test to its module's folder, or give one of the two a name of its own"


def _rooms() -> list[str]:
    """The rooms of the engine as import-linter has them, from the top down."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [
        c for c in settings["tool"]["importlinter"]["contracts"] if c.get("containers") == ["graphflow._core"]
    ]
    return list(contract["layers"])


def test_the_picture_shows_every_room_in_its_order() -> None:
    picture = ElementTree.parse(PROJECT / "docs" / "images" / "rooms.svg")
    shown = [text.text for text in picture.iterfind(".//{*}text[@class='room']")]
    assert shown[-len(_rooms()) :] == _rooms()
    assert shown[-len(_rooms()) - 1] == "distribute"


def test_the_page_explains_every_room_in_its_order() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| room of `_core` |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == _rooms()[::-1]


def test_every_folder_of_the_engine_is_a_room() -> None:
    found = {path.stem for path in (PROJECT / PACKAGE / "_core").iterdir() if not path.name.startswith("_")}
    assert found == set(_rooms())
