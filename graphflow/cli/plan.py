"""graphflow plan: shows a plan that is a file, compares two, and runs one on NumPy and compiled.

Files may come from others: they are read as data, and `run` runs only what computes.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.common.files import numpy_files
from graphflow._core.common.shown.terminal import tell
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.plan import files
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.ir import line_of, walk
from graphflow._core.plan.verify import verify
from graphflow._core.runtime.agreement import report
from graphflow._core.runtime.agreement.replaying import numpy_results, replayed
from graphflow._core.runtime.agreement.report import Recorded
from graphflow._core.runtime.agreement.tape import is_repeatable
from graphflow.cli import imports
from graphflow.cli.main import UsageError
from graphflow.errors import OpError

if TYPE_CHECKING:
    from graphflow._core.graph.dtypes import DType
    from graphflow._core.graph.shapes import Dims
    from graphflow._core.plan.ir import Instruction, Plan

_MOST_DRAWN: Final = 1 << 27
"""Elements of a value that is drawn at random."""
_WRONG: Final = (
    *(ValueError, TypeError, ArithmeticError, LookupError, AttributeError, AssertionError, RecursionError),
    *(MemoryError, NotImplementedError),
)
"""The errors of a plan that can be read but makes no sense."""
_EPILOG: Final = """\
A file is one that graphflow._core.plan.files.save wrote, or that a warning names for `graphflow replay`.
"""
_RUN_EPILOG: Final = """\
Without --feeds, and for what these do not name, values are drawn at random. Variables are drawn at random too, unless
--feeds names them. The exit status is 0 if compiled code agrees with NumPy, 1 if it does not.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    raw = argparse.RawDescriptionHelpFormatter
    parser.description = "Shows, compares and runs plans that are files."
    parser.epilog = _EPILOG
    parser.formatter_class = raw
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    show = commands.add_parser(
        "show", help="print a plan", description="Prints a plan, an instruction a line."
    )
    show.add_argument("file", metavar="FILE", help="the file of the plan")
    show.set_defaults(run=_show)
    diff = commands.add_parser(
        "diff",
        help="compare two plans",
        description="Prints the lines in which two plans differ, attributes included. Exit status 1 if any do.",
    )
    diff.add_argument("first", metavar="FIRST", help="the file of one plan")
    diff.add_argument("second", metavar="SECOND", help="the file of another")
    diff.set_defaults(run=_diff)
    run = commands.add_parser(
        "run",
        help="run a plan on NumPy and compiled",
        description="Runs a plan on NumPy, prints what it gives, and compares that with compiled code.",
        epilog=_RUN_EPILOG,
        formatter_class=raw,
    )
    run.add_argument("file", metavar="FILE", help="the file of the plan")
    run.add_argument(
        "--feeds", metavar="NPZ", help="arrays by the names of values, as numpy.savez writes them"
    )
    run.add_argument("--seed", type=int, default=0, metavar="N", help="seed of what is drawn at random (0)")
    run.add_argument("--size", type=int, default=2, metavar="N", help="extents that nobody knows (2)")
    run.add_argument("--threads", type=int, default=1, metavar="N", help="threads of compiled code (1)")
    run.add_argument("--numpy", action="store_true", help="run on NumPy alone")
    run.set_defaults(run=_run)
    for command in (show, diff, run):
        imports.add_imports(command)


def _show(arguments: argparse.Namespace) -> int:
    imports.load(arguments)
    plan = _load(arguments.file)
    try:
        text = str(plan)
    except _WRONG as error:
        raise _refusal(error) from error
    tell(text)
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    imports.load(arguments)
    plans = [_load(path) for path in (arguments.first, arguments.second)]
    try:
        first, second = (list(_full_lines(plan)) for plan in plans)
    except _WRONG as error:
        raise _refusal(error) from error
    lines = list(difflib.unified_diff(first, second, arguments.first, arguments.second, lineterm=""))
    tell("\n".join(lines) if lines else "The plans are the same.")
    return 1 if lines else 0


def _run(arguments: argparse.Namespace) -> int:
    import numpy as np

    imports.load(arguments)
    plan = _load(arguments.file)
    try:
        verify(plan)
    except (OpError, *_WRONG) as error:
        raise _refusal(error) from error
    outside = [i for i in walk(plan) if not is_repeatable(i)]
    if outside:
        raise UsageError(
            f"{outside[0].describe()} reaches out of the plan; only what computes is run from a file."
        )
    if arguments.size < 0:
        raise UsageError(f"--size is {arguments.size}; it must not be negative.")
    given: Any = {}
    if arguments.feeds:
        try:
            given = numpy_files.load(arguments.feeds)
            if not isinstance(given, dict):
                raise ValueError("it holds one array and no names")
        except numpy_files.reading_errors as error:
            raise UsageError(f"{arguments.feeds} cannot be read: {error}") from error
    random = np.random.default_rng(arguments.seed)

    def value(name: str, kind: tuple[DType, Dims] | None) -> Any:
        if name in given:
            return given[name]
        if kind is None:
            raise UsageError(f"The plan does not say of what type {name!r} is: give its value with --feeds.")
        return _drawn(random, *kind, size=arguments.size)

    types = dict(zip(plan.feeds, plan.feed_types, strict=False))
    feeds = [value(name, types.get(name)) for name in plan.feeds]
    variables = {name: value(name, (i.dtypes[0], i.shapes[0])) for name, i in plan.variables().items()}
    recorded = Recorded(plan, {}, feeds, variables, {}, {})
    try:
        for name, result in zip(plan.fetches, numpy_results(recorded), strict=True):
            tell(f"{name} = {np.array2string(np.asarray(result), threshold=20, separator=', ')}")
        if arguments.numpy:
            return 0
        apart = replayed(recorded, arguments.threads)
    except StaysOnNumpy as reason:
        tell(f"The plan is not compiled: {reason}.")
        return 0
    except (OpError, *_WRONG) as error:
        raise _refusal(error) from error
    tell("Compiled code agrees with NumPy." if apart is None else f"Not the same: {apart}.")
    return 0 if apart is None else 1


def _refusal(error: Exception) -> UsageError:
    """The message about a plan that fails, in one line."""
    text = " ".join((str(error) or type(error).__name__).split())
    return UsageError(f"The plan cannot be used: {text:.1000}")


def _load(path: str) -> Plan:
    """The plan of a file, that of a recorded run too; UsageError if it is neither."""
    try:
        with open(path, "rb") as file:
            is_archive = file.read(2) == b"PK"
        return report.load(path).plan if is_archive else files.load(path)
    except (OSError, ValueError) as error:
        text = str(error)
        raise UsageError(text if path in text else f"{path}: {text}") from error


def _full_lines(plan: Plan, indent: str = "") -> Iterator[str]:
    """A plan as lines that say all of it: attributes too, and of long arrays a digest."""
    kinds = [f"{dtype.name}{'' if dims is None else list(dims)}" for dtype, dims in plan.feed_types]
    yield f"{indent}feed {', '.join(plan.feeds)} : {', '.join(kinds)}"
    for i in plan.instructions:
        yield f"{indent}{line_of(i)}{_attributes(i)}"
        for body in i.bodies:
            yield from _full_lines(body, indent + "    ")
    yield f"{indent}return {', '.join(plan.fetches)} run {', '.join(plan.targets)}"


def _attributes(i: Instruction) -> str:
    texts = [f"{name}={_text_of(value)}" for name, value in sorted(i.attrs.items())]
    return f" {{{', '.join(texts)}}}" if texts else ""


def _text_of(value: Any) -> str:
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        return f"{array.dtype}{list(array.shape)}#{hashlib.sha256(data).hexdigest()[:12]}"
    if isinstance(value, LoweredFunction):
        lines = "\n".join(_full_lines(value.plan)).encode()
        return f"function {value.name}#{hashlib.sha256(lines).hexdigest()[:12]}"
    return repr(value)


def _drawn(random: Any, dtype: DType, dims: Dims, size: int) -> Any:
    """A value of a type: floats of the normal distribution, integers from 0 to 3, strings that are numbers."""
    import numpy as np

    shape = [size if dim is None else dim for dim in dims or ()]
    if math.prod(shape) > _MOST_DRAWN:
        raise UsageError(f"A value of shape {shape} is too large to be drawn: give it with --feeds.")
    kind = np.dtype(dtype.as_numpy_dtype)
    if kind.hasobject:
        found = np.empty(shape, object)
        found[...] = b"0"
        return found
    if kind.kind == "c":
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(kind)
    if dtype.is_floating:
        return np.asarray(random.standard_normal(shape)).astype(kind)
    return np.asarray(random.integers(0, 2 if kind.kind == "b" else 4, shape)).astype(kind)
