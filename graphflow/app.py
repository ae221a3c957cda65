"""Programs with flags (tf.app): flags, and run, which parses them and calls main."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NoReturn

import graphflow.logging as logging
from graphflow import flags as flags
from graphflow._core.common.namespaces import missing as _missing

_HELP = {
    "help": "shows the flags of the program",
    "helpshort": "shows the flags of the program",
    "helpfull": "shows all flags",
}
_NEAR: Final = 0.75
"""How alike two names are, of 1, if one may be the other misspelled."""


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Parses the command line, calls main with what is left of it, and ends the program with what main returns.

    TensorFlow: tf.app.run.

    Flags that nobody defined are left in what main gets; of one that is named almost as one that somebody has defined
    the log warns, since it changes nothing. A value that does not fit its flag ends the program
    with status 1 and a message; --help shows the flags.

    Args:
        main: By default the function of that name in the program's main module.
        argv: By default sys.argv; its first item is the program.

    Examples:
        >>> gf.app.run(lambda argv: len(argv), ["program", "data.txt"])
        Traceback (most recent call last):
        SystemExit: 2
    """
    module = sys.modules["__main__"]
    found = main or getattr(module, "main", None)
    if found is None:
        raise ValueError(
            "gf.app.run: the program has no function main; define main(argv), or pass one as main=..."
        )
    for name, text in _HELP.items():
        if name not in flags.FLAGS:
            flags.DEFINE_bool(name, False, text, module_name=__name__)
    given = list(sys.argv if argv is None else argv)
    try:
        rest = flags.FLAGS(given, known_only=True)
    except flags.Error as error:
        program = given[0] if given else "the program"
        sys.stderr.write(
            f"FATAL: the command line of {program}: {error}\nPass --help to see its flags, --helpfull to see all.\n"
        )
        sys.exit(1)
    _show_help(given[0] if given else "", module.__doc__)
    _warn_of_misspelled(rest[1:])
    sys.exit(found(rest))


def _warn_of_misspelled(rest: Sequence[str]) -> None:
    """Warns of what is left of a command line and looks like one of the flags."""
    known = [*flags.FLAGS, *(f"no{name}" for name in flags.FLAGS if flags.FLAGS[name].boolean)]
    for argument in takewhile(lambda argument: argument != "--", rest):
        name = argument.lstrip("-").partition("=")[0]
        if argument.startswith("-") and name:
            near = get_close_matches(name, known, 1, _NEAR)
            if near:
                logging.warning(
                    "There is no flag --%s, and it changes nothing. Did you mean --%s?", name, near[0]
                )


def _show_help(program: str, documentation: str | None) -> None:
    """Prints the help that was asked for, and ends the program."""
    asked = [name for name in _HELP if flags.FLAGS[name].value is True]
    if not asked:
        return
    text = f"{(documentation or f'usage: {program} [flags]').strip()}\n"
    text += flags.FLAGS.get_help() if "helpfull" in asked else flags.FLAGS.main_module_help()
    sys.stdout.write(f"{text}\n")
    if "helpfull" not in asked:
        sys.stdout.write("\nTry --helpfull to get a list of all flags.\n")
    sys.exit(1)


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.app", globals())
