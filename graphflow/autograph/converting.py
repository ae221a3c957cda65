"""to_graph: a function whose control flow may depend on tensors, made of one of Python's by rewriting its text."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from graphflow._core.common.syntax import parse
from graphflow.autograph import operators
from graphflow.autograph.rewriting import OPERATORS, Rewriter

_Function = TypeVar("_Function", bound=Callable[..., Any])
_KEPT: Final = "__graphflow_not_converted__"
_CONVERTED: Final = "__graphflow_converted__"
_texts: WeakKeyDictionary[types.CodeType, tuple[types.CodeType, str]] = WeakKeyDictionary()
"""What was made of the code of functions: the code that makes the new one, and its text."""
_OWN: Final = (
    "graphflow",
    "tensorflow",
    "numpy",
    "builtins",
    "functools",
    "itertools",
    "collections",
    "math",
    "random",
)
"""Packages whose functions are called as they are."""


def do_not_convert(
    func: Callable[..., Any] | None = None, run_as: object = None, return_dtypes: object = None
) -> Any:
    """A decorator for functions that are called as they are (tf.autograph.experimental.do_not_convert).

    Args:
        func: The function; without one a decorator is given.
        run_as: Accepted, and not needed.
        return_dtypes: Accepted, and not needed.
    """
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    setattr(called, _KEPT, True)
    return called


def to_graph(
    entity: Callable[..., Any], recursive: bool = True, arg_values: Mapping[str, Any] | None = None,
    arg_types: Mapping[str, Any] | None = None,
    experimental_optional_features: object = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function in which `if`, `while` and `for` may depend on tensors (tf.autograph.to_graph).

    What depends on a tensor becomes gf.cond and gf.while_loop, what does not stays Python's. `break`, `continue` and
    returns from branches are converted, `and`, `or`, `not`, `a if b else c` and, unlike in TensorFlow 1.15, `==` too,
    and range, len, int and float take tensors. Not converted are returns from a loop, loops with an else, and what
    changes attributes, elements or outer names under a tensor's condition: these are errors if a tensor is met there.

    Args:
        entity: A function or method, whose text can be read.
        recursive: Whether the program's functions that it calls are converted, too.
        arg_values: Accepted, and not needed.
        arg_types: Accepted, and not needed.
        experimental_optional_features: Accepted, and not needed.

    Returns:
        The function.

    Raises:
        ValueError: For what cannot be converted: lambdas, generators, or functions without a text.

    Examples:
        >>> @gf.autograph.to_graph
        ... def collatz(n):
        ...     steps = 0
        ...     while n != 1:
        ...         if n % 2 == 0:
        ...             n = n // 2
        ...         else:
        ...             n = 3 * n + 1
        ...         steps += 1
        ...     return steps
        >>> with gf.Session() as session:
        ...     print(session.run(collatz(gf.constant(7))))
        16
    """
    if isinstance(entity, types.MethodType):
        return types.MethodType(to_graph(entity.__func__, recursive), entity.__self__)
    if getattr(entity, _CONVERTED, False):
        return entity
    if not isinstance(entity, types.FunctionType):
        raise ValueError(f"to_graph converts functions and methods, got {entity!r}.")
    made, _ = _made(entity)
    namespace = types.SimpleNamespace(
        **{name: getattr(operators, name) for name in _NAMES},
        converted=_converted if recursive else _builtin,
    )
    function = _with_cells(entity, made, namespace)
    functools.update_wrapper(function, entity)
    function.__defaults__, function.__kwdefaults__ = entity.__defaults__, entity.__kwdefaults__
    setattr(function, _CONVERTED, True)
    return function


_NAMES: Final = (
    "and_", "eq", "for_stmt", "if_exp", "if_stmt", "not_", "not_eq", "or_", "python_only", "value", "while_stmt",
)  # fmt: skip


def to_code(
    entity: Callable[..., Any], recursive: bool = True, arg_values: Mapping[str, Any] | None = None,
    arg_types: Mapping[str, Any] | None = None,
    indentation: str = "  ", experimental_optional_features: object = None,
) -> str:  # fmt: skip
    """The text of what to_graph makes of a function (tf.autograph.to_code).

    Args:
        entity: A function or method.
        recursive: Accepted: each function is converted by itself.
        arg_values: Accepted, and not needed.
        arg_types: Accepted, and not needed.
        indentation: Accepted, and not needed.
        experimental_optional_features: Accepted, and not needed.
    """
    found: Any = entity.__func__ if isinstance(entity, types.MethodType) else entity
    return _made(found)[1]


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Does nothing: a conversion is not logged, to_code shows what it makes (tf.autograph.set_verbosity).

    Args:
        level: A number.
        alsologtostdout: Accepted, and not needed.
    """


def trace(*args: Any) -> None:
    """Prints its arguments while the graph is built (tf.autograph.trace).

    Args:
        *args: What is printed.
    """
    print(*args)


def _made(function: types.FunctionType) -> tuple[types.CodeType, str]:
    code = function.__code__
    found = _texts.get(code)
    if found is None:
        found = _texts[code] = _rewritten(function)
    return found


def _rewritten(function: types.FunctionType) -> tuple[types.CodeType, str]:
    """The code of a module with a function that makes the new one, given its free variables, and the new one's text."""
    where = f"{function.__qualname__} ({function.__code__.co_filename}:{function.__code__.co_firstlineno})"
    try:
        lines, first = inspect.getsourcelines(function)
        tree = parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError) as error:
        raise ValueError(f"{where} cannot be converted, as its text cannot be read: {error}.") from None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise ValueError(
            f"{where} cannot be converted: write it with def, not as a lambda or another statement."
        )
    if inspect.isgeneratorfunction(function):
        raise ValueError(f"{where} cannot be converted: it is a generator.")
    ast.increment_lineno(tree, first - 1)
    made = ast.fix_missing_locations(Rewriter().function(node))
    names = [*function.__code__.co_freevars, OPERATORS]
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None,
        defaults=[],
    )  # fmt: skip
    text = ast.unparse(made)
    made.args.defaults = [ast.Constant(None) for _ in made.args.defaults]
    made.args.kw_defaults = [None if d is None else ast.Constant(None) for d in made.args.kw_defaults]
    maker = ast.FunctionDef(
        name="ag__make", args=arguments, body=[made, ast.Return(ast.Name(made.name, ast.Load()))], decorator_list=[],
        returns=None, type_comment=None,
    )  # fmt: skip
    if hasattr(node, "type_params"):  # Since Python 3.12.
        setattr(maker, "type_params", [])  # noqa: B010
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(maker, made)], []))
    return compile(module, function.__code__.co_filename, "exec"), text


def _with_cells(entity: types.FunctionType, made: types.CodeType, namespace: Any) -> types.FunctionType:
    """The new function, with the free variables and the module of the old one."""
    found: dict[str, Any] = {}
    exec(made, found)
    free = entity.__code__.co_freevars
    inner: types.FunctionType = found["ag__make"](*([None] * len(free)), namespace)
    cells = dict(zip(free, entity.__closure__ or (), strict=True))
    own = dict(zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True))
    closure = tuple(cells.get(name, own[name]) for name in inner.__code__.co_freevars)
    return types.FunctionType(inner.__code__, entity.__globals__, entity.__name__, None, closure)


def _builtin(function: Any) -> Any:
    """What stands for a function of Python's that takes tensors."""
    try:
        return operators.BUILTINS.get(function, function)
    except TypeError:  # It has no hash.
        return function


def _converted(function: Any) -> Any:
    """What is called in place of a function: of a program's own one, what to_graph makes of it."""
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(plain, types.FunctionType):
        return _builtin(function)
    module = (plain.__module__ or "").partition(".")[0]
    if module in _OWN or getattr(plain, _KEPT, False) or getattr(plain, _CONVERTED, False):
        return function
    if plain.__name__ == "<lambda>" or inspect.isgeneratorfunction(plain):
        return function
    try:
        return to_graph(function)
    except ValueError:  # Its text cannot be read; it may not need it.
        return function
