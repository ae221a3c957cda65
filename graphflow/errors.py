"""The exception tree, with TensorFlow's names.

User code written for TensorFlow 1 catches these classes by name, so each one keeps its meaning. Errors found
while a graph is built are plain ValueError or TypeError, as in TensorFlow; those found while it runs are here.
"""

from __future__ import annotations

from typing import Any, ClassVar

from graphflow._core.common.printable import printable_lines

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """An error raised while a graph runs.

    `op` is the graphflow Operation that failed, or None if the session itself is at fault; `node_def` is its
    NodeDef; `message` is the text. As a string the error can go to a terminal, whatever names are quoted in it.
    Pickled or copied, the error keeps all but `op`.

    Args:
        node_def: The operation's NodeDef, or None.
        op: The operation, or None.
        message: What went wrong.
        error_code: The number of the error.
    """

    default_code: ClassVar[int] = UNKNOWN

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = self.default_code if error_code is None else error_code

    @property
    def message(self) -> str:
        """What went wrong, where, and what to do."""
        return self._message

    @property
    def op(self) -> Any:
        """The operation that failed, or None."""
        return self._op

    @property
    def error_code(self) -> int:
        """TensorFlow's number of this kind of error."""
        return self._error_code

    @property
    def node_def(self) -> Any:
        """The NodeDef of the operation that failed, or None."""
        if self._node_def is None and self._op is not None:
            return self._op.node_def  # Made when it is asked for: raising an error needs no protobuf.
        return self._node_def

    def __str__(self) -> str:
        return printable_lines(self._message)

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process goes all but the operation: its graph is of this process, and the text names it."""
        state = {name: value for name, value in self.__dict__.items() if name != "_op"}
        return _received, (type(self), self._message, self._error_code), state


def _received(kind: type[OpError], message: str, code: int) -> OpError:
    error = kind.__new__(kind, message)
    OpError.__init__(error, None, None, message, code)
    return error


class CancelledError(OpError):
    """The operation was cancelled."""

    default_code = CANCELLED


class UnknownError(OpError):
    """An error of no better known kind, such as an exception in a py_func."""

    default_code = UNKNOWN


class InvalidArgumentError(OpError):
    """A value or a device that the operation cannot use."""

    default_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """A deadline passed before the operation finished."""

    default_code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A thing that was asked for, such as a file, is not there."""

    default_code = NOT_FOUND


class AlreadyExistsError(OpError):
    """A thing that was to be made exists already."""

    default_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    default_code = PERMISSION_DENIED


class UnauthenticatedError(OpError):
    """The request carries no valid proof of who sends it."""

    default_code = UNAUTHENTICATED


class ResourceExhaustedError(OpError):
    """Memory, disk or another resource ran out."""

    default_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is not in the state that the operation needs, such as a variable without a value."""

    default_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The operation was aborted, usually because a peer went away."""

    default_code = ABORTED


class OutOfRangeError(OpError):
    """An operation went past the end, as an iterator does after its last element.

    Examples:
        >>> element = gf.data.Dataset.range(2).make_one_shot_iterator().get_next()
        >>> with gf.Session() as session:
        ...     try:
        ...         while True:
        ...             print(session.run(element))
        ...     except gf.errors.OutOfRangeError:
        ...         print("the end")
        0
        1
        the end
    """

    default_code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """The operation has no kernel for this device or dtype."""

    default_code = UNIMPLEMENTED


class InternalError(OpError):
    """An invariant of the library itself was broken."""

    default_code = INTERNAL


class UnavailableError(OpError):
    """A task of the cluster cannot be reached.

    journal: what the session's target had last heard of and done when it said so, a line for each event and
    instruction, as `graphflow status --journal` prints them; empty if the error is of this process's own.
    """

    default_code = UNAVAILABLE
    journal: tuple[str, ...] = ()


class DataLossError(OpError):
    """Data was lost or is corrupt."""

    default_code = DATA_LOSS
