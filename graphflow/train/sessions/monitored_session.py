"""MonitoredSession and SingularMonitoredSession: how a monitored session (monitored.py) is made, and what it may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow.config import ConfigProto
from graphflow.train.hooks.session_run_hook import SessionRunHook
from graphflow.train.sessions.monitored import Monitored
from graphflow.train.sessions.recovery import RecoveryBudget
from graphflow.train.sessions.scaffold import Scaffold
from graphflow.train.sessions.session_creators import ChiefSessionCreator, SessionCreator


class MonitoredSession(Monitored):
    """A session that initialises or restores, runs hooks, recovers, and ends in order (tf.train.MonitoredSession).

    The graph is finalized while the session is there. As a context manager it swallows OutOfRangeError and
    StopIteration, which end it like the end of the block; every other error leaves the block as it is.

    Args:
        session_creator: a ChiefSessionCreator() unless given.
        hooks: Of SessionRunHook.
        stop_grace_period_secs: How long threads may take to end.
        max_recoveries: How many times within recovery_window_secs the session is made anew after AbortedError
            or UnavailableError; then the error is raised.
        recovery_window_secs: How long a session that is lost is tried for again, in seconds.
        progress: Whether to show a progress line.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
        *,
        max_recoveries: int = 10,
        recovery_window_secs: float = 600,
        progress: bool = False,
    ) -> None:
        super().__init__(
            session_creator or ChiefSessionCreator(),
            hooks,
            stop_grace_period_secs,
            RecoveryBudget(max_recoveries, recovery_window_secs),
            progress,
        )


class SingularMonitoredSession(Monitored):
    """As MonitoredSession, but it never recovers, and lends the session (tf.train.SingularMonitoredSession).

    Args:
        hooks: SessionRunHooks.
        scaffold: The parts of the graph that a session needs; by default those of a gf.train.Scaffold.
        master: The target of the session, such as "" or "zmq://host:port".
        config: A gf.ConfigProto for the session.
        checkpoint_dir: The folder of the checkpoints.
        stop_grace_period_secs: How long threads may go on after a stop was asked for, in seconds.
        checkpoint_filename_with_path: The checkpoint to restore.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs, None)

    def raw_session(self) -> Any:
        """The session itself; None once it is closed."""
        return self._session
