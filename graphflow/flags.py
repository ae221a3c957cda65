"""The flags of a program's command line (tf.flags), on absl's.

As in TensorFlow 1, reading a flag parses the command line if nobody has done so: a module may use FLAGS while it is
imported. absl itself would raise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

from absl import flags as _absl

from graphflow._core.common.namespaces import missing as _missing

# A flag belongs to the module that defines it, for the help; this module only hands it on.
_absl.disclaim_key_flags()

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the argument names of TensorFlow 1's first releases accepted too."""

    @wraps(define)
    def function(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(name, name): value for name, value in kwargs.items()})

    return function


class ProgramFlags:
    """The flags' values as attributes: FLAGS.name. The first read parses sys.argv, unless a call has parsed.

    FLAGS(argv) parses and returns what is no flag.

    Args:
        values: Absl's FlagValues.

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
for _name in ("DEFINE_string", "DEFINE_boolean", "DEFINE_bool", "DEFINE_float", "DEFINE_integer"):
    globals()[_name] = _with_old_names(getattr(_absl, _name))
FLAGS = ProgramFlags(_absl.FLAGS)
"""The values of all flags of the program."""

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.flags", globals())
