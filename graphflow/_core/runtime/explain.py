"""Explains a run to people: which operation failed or is computing, found by the line of the assembled function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeVar

import graphflow.errors as errors
from graphflow._core.plan.ir import Instruction, Origin
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.assemble import INSTRUCTIONS, Assembled

Kind = TypeVar("Kind", bound=errors.OpError)


def current(part: Assembled, frame: Any) -> str:
    """The operation that a thread is computing, and the line that built it."""
    while frame is not None and frame.f_code.co_filename != part.filename:
        frame = frame.f_back
    return _named(None if frame is None else part.lines[frame.f_lineno - 1])


def operation_at(frame: Any) -> str:
    """The operation that a thread is computing, of whatever plan, and the line that built it; "" for none."""
    while frame is not None:
        instructions = frame.f_globals.get(INSTRUCTIONS)
        if instructions is not None and frame.f_code.co_filename.startswith("<graphflow plan "):
            found: Instruction | None = instructions[frame.f_lineno - 1]
            if found is not None:
                built = "" if found.origin is None else f", built at {found.origin.built}"
                return f"{found.describe()}{built}"
        frame = frame.f_back
    return ""


def first(part: Assembled) -> str:
    """The first operation of a part, and the line that built it."""
    return _named(next((i for i in part.lines if i is not None), None))


def _named(instruction: Instruction | None) -> str:
    if instruction is None:
        return "an operation"
    built = "" if instruction.origin is None else f" (built at {instruction.origin.built})"
    return f"{instruction.describe()} on {instruction.device}{built}"


def _failed_instruction(error: BaseException, part: Assembled) -> Instruction | None:
    trace = error.__traceback__
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == part.filename:
            found = part.lines[trace.tb_lineno - 1]
        trace = trace.tb_next
    return found


def failure(instruction: Instruction, what: str, kind: type[Kind]) -> Kind:
    """An error of an instruction, which names its operation and the line that built it."""
    origin = instruction.origin
    built = "" if origin is None else f"\nBuilt at {origin.built}."
    return kind(None, origin, f"{instruction.describe()}: {what}{built}")


def raise_explained(
    error: Exception, part: Assembled, cells: Sequence[VariableCell] | None = None
) -> NoReturn:
    """Raises the error that `explain` returns: the same one, with its cause, or a new one with `error` as its cause."""
    found = explain(error, part, cells)
    try:
        if found is error:
            raise error
        raise found from error
    finally:  # Else the error and this frame would hold one another, and what the caller's frames hold.
        del error, found


def explain(error: Exception, part: Assembled, cells: Sequence[VariableCell] | None = None) -> Exception:
    """The error as one of gf.errors, which names the operation and the line that built it.

    cells: the variables of the whole run, by default those of the part.
    """
    instruction = _failed_instruction(error, part)
    origin = None if instruction is None else instruction.origin
    if isinstance(error, errors.OpError) and error.op is not None:
        return error
    where = ""
    if instruction is not None and origin is not None:
        where = f"{instruction.describe()}: "
    built = "" if origin is None else f"\nBuilt at {origin.built}."
    if isinstance(error, errors.FailedPreconditionError) and "uninitialized" in error.message:
        return _uninitialized(error, part.cells if cells is None else cells, origin, where, built)
    if isinstance(error, errors.OpError):
        return type(error)(None, origin, f"{where}{error.message}{built}")
    if isinstance(error, MemoryError):
        return errors.ResourceExhaustedError(None, origin, f"{where}out of memory. {error}{built}")
    if isinstance(error, ValueError | IndexError | ZeroDivisionError | OverflowError | TypeError):
        return errors.InvalidArgumentError(None, origin, f"{where}{error}{built}")
    return errors.InternalError(None, origin, f"{where}{type(error).__name__}: {error}{built}")


def _uninitialized(
    error: errors.OpError, cells: Sequence[VariableCell], origin: Origin | None, where: str, built: str
) -> Exception:
    missing = [cell for cell in dict.fromkeys(cells) if cell.value is None]
    listing = "; ".join(f"{cell.name} (built at {cell.line[0]}:{cell.line[1]})" for cell in missing)
    return errors.FailedPreconditionError(
        None,
        origin,
        f"{where}{error.message}. All uninitialized variables of this run: {listing}. "
        f"Run gf.global_variables_initializer() (or restore a checkpoint) in this session first.{built}",
    )
