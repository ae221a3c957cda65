"""Checks of what estimators and their specifications are given."""

from __future__ import annotations

from collections.abc import Sequence

from graphflow.train.hooks.saving_hooks import CheckpointSaverListener
from graphflow.train.hooks.session_run_hook import SessionRunHook


def check_positive(number: int | None, what: str) -> None:
    """ValueError for a number of steps that is given and not positive."""
    if number is not None and number <= 0:
        raise ValueError(f"Must specify {what} > 0, given: {number}")


def checked_hooks(hooks: Sequence[SessionRunHook] | None, what: str = "hooks") -> tuple[SessionRunHook, ...]:
    """The hooks; TypeError if one is none."""
    for hook in hooks or ():
        if not isinstance(hook, SessionRunHook):
            kind = "`SessionRunHook`" if what == "hooks" else "SessionRunHook"
            raise TypeError(
                f"All hooks must be {kind} instances: each must be a SessionRunHook, given in {what}: {hook!r}."
            )
    return tuple(hooks or ())


def checked_listeners(
    listeners: Sequence[CheckpointSaverListener] | None,
) -> tuple[CheckpointSaverListener, ...]:
    """The listeners; TypeError if one is none."""
    for listener in listeners or ():
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(
                f"saving_listeners must be a list of CheckpointSaverListener, given: {listener!r}."
            )
    return tuple(listeners or ())
