"""The flags of a program's command line (tf.flags), on absl's.

As in TensorFlow 1, reading a flag parses the command line if nobody has done so: a module may use FLAGS while it is
imported. absl itself would raise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any

from absl import flags as _absl

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.common.shown.docstrings import document

# A flag belongs to the module that defines it, for the help; this module only hands it on.
_absl.disclaim_key_flags()

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _shown(name: str, default: str | float | None, help: str | None, **args: object) -> _absl.FlagHolder:
    """What the functions below take, for whoever asks for their signature."""
    raise NotImplementedError


def _with_old_names(kind: str, words: str, example: str) -> Callable[..., Any]:
    """absl's function for a kind of flags, with the argument names of TensorFlow 1's first releases accepted too.

    words: what its values are. example: one of them, in Python.
    """
    define, given = getattr(_absl, f"DEFINE_{kind}"), example.strip("'")

    def function(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(name, name): value for name, value in kwargs.items()})

    function.__name__ = function.__qualname__ = define.__name__
    function.__signature__ = signature(_shown)  # type: ignore[attr-defined]
    function.__doc__ = document(
        f"Defines a flag of the command line whose value is {words} (tf.flags.{define.__name__}).",
        ("name", "default", "help", "**args"),
        {
            "name": "Its name: --name=value sets it, and FLAGS.name is its value.",
            "default": "What it is if the command line does not say; None if it may be missing.",
            "help": "What --help says of it.",
            "**args": "What absl's function takes besides, such as required=True.",
        },
        "The flag, as absl has it; its `value` is that of the command line.",
        (
            f'flag = gf.flags.{define.__name__}("one_{kind}", None, "What it is for.")\n'
            f'rest = gf.flags.FLAGS(["program", "--one_{kind}={given}"], known_only=True)\n'
            f"gf.flags.FLAGS.one_{kind}",
            example,
        ),
    )
    return function


class ProgramFlags:
    """The flags' values as attributes: FLAGS.name. The first read parses sys.argv, unless a call has parsed.

    FLAGS(argv) parses and returns what is no flag.

    Args:
        values: Absl's FlagValues.

    Examples:
        >>> flag = gf.flags.DEFINE_float("step_size", 0.1, "How far a step goes.")
        >>> gf.flags.FLAGS(["program", "--step_size=0.2", "data"], known_only=True)
        ['program', 'data']
        >>> gf.flags.FLAGS.step_size
        0.2
        >>> del gf.flags.FLAGS.step_size

    Raises:
        AttributeError: For a flag that is not defined, absl's errors for values that do not fit and for flags
            on the command line that nobody defined.
    """

    def __init__(self, values: Any) -> None:
        self.__dict__["_values"] = values

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__["_values"]
        if hasattr(type(values), name):
            return getattr(values, name)
        if not values.is_parsed():
            values(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_values"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__dict__["_values"], name)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__["_values"][name]

    def __setitem__(self, name: str, flag: Any) -> None:
        self.__dict__["_values"][name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__["_values"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__["_values"])

    def __len__(self) -> int:
        return len(self.__dict__["_values"])

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_values"])

    def __str__(self) -> str:
        return str(self.__dict__["_values"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Parses a command line, whose first item is the program; returns what is no flag.

        Args:
            *args: As of absl's FlagValues.
            **kwargs: As of absl's FlagValues.
        """
        return self.__dict__["_values"](*args, **kwargs)


globals().update({name: getattr(_absl, name) for name in _absl.__all__})
for _kind, _words, _example in (
    ("string", "text", "'a'"),
    ("boolean", "a truth value", "True"),
    ("bool", "a truth value", "True"),
    ("float", "a float", "0.5"),
    ("integer", "an integer", "3"),
):
    globals()[f"DEFINE_{_kind}"] = _with_old_names(_kind, _words, _example)
FLAGS = ProgramFlags(_absl.FLAGS)
"""The values of all flags of the program."""

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.flags", globals())
