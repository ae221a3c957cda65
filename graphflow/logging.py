"""The program's log (tf.logging): Python's logger "graphflow", which the library itself writes to.

Its threshold is WARN. What passes goes to standard error with level, time, file and line, unless the program has set up
Python's logging, whose handlers then get it. Nothing is set up before this module is used for the first time.
"""

from __future__ import annotations

import itertools
import logging as _python
import sys
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.common.standard_error import PROGRAM_LINE, StandardError

DEBUG: Final = _python.DEBUG
INFO: Final = _python.INFO
WARN: Final = _python.WARNING
ERROR: Final = _python.ERROR
FATAL: Final = _python.CRITICAL

_LOGGER: Final = _python.getLogger("graphflow")
_counting = threading.Lock()
_counts: defaultdict[tuple[str, int], itertools.count[int]] = defaultdict(itertools.count)


def _set_up() -> None:
    handler = StandardError(PROGRAM_LINE)
    handler.addFilter(lambda _: not _python.getLogger().handlers)  # Else those of the program have the line.
    _LOGGER.addHandler(handler)
    if _LOGGER.level == _python.NOTSET:
        _LOGGER.setLevel(WARN)


_set_up()


def get_logger() -> _python.Logger:
    """Python's logger that messages go to (tf.get_logger)."""
    return _LOGGER


def get_verbosity() -> int:
    """The level from which on messages are written (tf.logging.get_verbosity)."""
    return _LOGGER.getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Sets the level from which on messages are written, such as gf.logging.INFO (tf.logging.set_verbosity).

    Args:
        v: gf.logging.DEBUG, INFO, WARN, ERROR or FATAL.

    Examples:
        >>> before = gf.logging.get_verbosity()
        >>> gf.logging.set_verbosity(gf.logging.ERROR)
        >>> gf.logging.info("This is not written.")
        >>> gf.logging.set_verbosity(before)
    """
    _LOGGER.setLevel(v)


def log(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Writes msg % args at a level; exc_info=True adds the exception (tf.logging.log). Thread-safe, as all these.

    Args:
        level: A number, as logging.INFO is.
        msg: The text, with places as of the % operator.
        *args: What is put into those places.
        **kwargs: As of logging.Logger.log.
    """
    _LOGGER.log(level, msg, *args, **{"stacklevel": 2, **kwargs})


def debug(msg: object, *args: object, **kwargs: Any) -> None:
    """Writes msg % args at the level DEBUG (tf.logging.debug).

    Args:
        msg: The text, with places as of the % operator.
        *args: What is put into those places.
        **kwargs: As of logging.Logger.log.
    """
    _LOGGER.debug(msg, *args, **{"stacklevel": 2, **kwargs})


def info(msg: object, *args: object, **kwargs: Any) -> None:
    """Writes msg % args at the level INFO (tf.logging.info).

    Args:
        msg: The text, with places as of the % operator.
        *args: What is put into those places.
        **kwargs: As of logging.Logger.log.
    """
    _LOGGER.info(msg, *args, **{"stacklevel": 2, **kwargs})


def warning(msg: object, *args: object, **kwargs: Any) -> None:
    """Writes msg % args at the level WARN (tf.logging.warning).

    Args:
        msg: The text, with places as of the % operator.
        *args: What is put into those places.
        **kwargs: As of logging.Logger.log.
    """
    _LOGGER.warning(msg, *args, **{"stacklevel": 2, **kwargs})


warn = warning


def error(msg: object, *args: object, **kwargs: Any) -> None:
    """Writes msg % args at the level ERROR (tf.logging.error).

    Args:
        msg: The text, with places as of the % operator.
        *args: What is put into those places.
        **kwargs: As of logging.Logger.log.
    """
    _LOGGER.error(msg, *args, **{"stacklevel": 2, **kwargs})


def fatal(msg: object, *args: object, **kwargs: Any) -> None:
    """Writes msg % args at the level FATAL; the program goes on (tf.logging.fatal).

    Args:
        msg: The text, with places as of the % operator.
        *args: What is put into those places.
        **kwargs: As of logging.Logger.log.
    """
    _LOGGER.critical(msg, *args, **{"stacklevel": 2, **kwargs})


def vlog(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Writes msg % args at a level given as a number (tf.logging.vlog).

    Args:
        level: A number, as logging.INFO is.
        msg: The text, with places as of the % operator.
        *args: What is put into those places.
        **kwargs: As of logging.Logger.log.
    """
    _LOGGER.log(level, msg, *args, **{"stacklevel": 2, **kwargs})


def log_if(level: int, msg: object, condition: bool, *args: object) -> None:
    """Writes msg % args at a level if the condition holds (tf.logging.log_if).

    Args:
        level: A number, as logging.INFO is.
        msg: The text, with places as of the % operator.
        condition: Whether to write.
        *args: What is put into those places.
    """
    if condition:
        _LOGGER.log(level, msg, *args, stacklevel=2)


def _passed_before() -> int:
    """How often the line that called the caller of this has done so before."""
    frame = sys._getframe(2)
    with _counting:
        return next(_counts[frame.f_code.co_filename, frame.f_lineno])


def log_every_n(level: int, msg: object, n: int, *args: object) -> None:
    """Writes msg % args the first time this line is passed, and every n-th after (tf.logging.log_every_n).

    Args:
        level: A number, as logging.INFO is.
        msg: The text, with places as of the % operator.
        n: How many times the line is passed for one message.
        *args: What is put into those places.
    """
    if not _passed_before() % n:
        _LOGGER.log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: object, n: int, *args: object) -> None:
    """Writes msg % args the first n times this line is passed (tf.logging.log_first_n).

    Args:
        level: A number, as logging.INFO is.
        msg: The text, with places as of the % operator.
        n: How many times.
        *args: What is put into those places.
    """
    if _passed_before() < n:
        _LOGGER.log(level, msg, *args, stacklevel=2)


def TaskLevelStatusMessage(msg: object) -> None:
    """Writes a message at the level ERROR (tf.logging.TaskLevelStatusMessage).

    Args:
        msg: The text, with places as of the % operator.
    """
    _LOGGER.error(msg, stacklevel=2)


def flush() -> None:
    """Hands on what handlers hold (tf.logging.flush)."""
    for handler in _LOGGER.handlers:
        handler.flush()


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.logging", globals())
