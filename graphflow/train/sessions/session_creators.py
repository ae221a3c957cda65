"""The two ways to come to a session: the chief makes it ready, a worker waits until the chief has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.config import ConfigProto
from graphflow.train.balance import log_balance
from graphflow.train.sessions.scaffold import Scaffold
from graphflow.train.sessions.session_manager import SessionManager

if TYPE_CHECKING:
    from graphflow._core.session import BaseSession


class SessionCreator(ABC):
    """Makes the sessions of a MonitoredSession; called again for each recovery (tf.train.SessionCreator).

    One that may wait for long has a method `abandon`, too, which another thread calls to end that.
    """

    @abstractmethod
    def create_session(self) -> BaseSession:
        """A session that is ready to run."""


class ChiefSessionCreator(SessionCreator):
    """Restores the newest checkpoint or initialises the variables (tf.train.ChiefSessionCreator).

    On a cluster it waits for absent tasks, at most max_wait_secs; then DeadlineExceededError names them.

    Args:
        scaffold: The parts of the graph that a session needs; by default those of a gf.train.Scaffold.
        master: The target of the session, such as "" or "zmq://host:port".
        config: A gf.ConfigProto for the session.
        checkpoint_dir: The folder of the checkpoints.
        checkpoint_filename_with_path: The checkpoint to restore.
        max_wait_secs: The longest wait, in seconds.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        max_wait_secs: float = 7200,
    ) -> None:
        self.scaffold: Scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_path = checkpoint_filename_with_path
        self._max_wait_secs = max_wait_secs
        self._manager: SessionManager | None = None
        self._made = False

    @property
    def taken_over(self) -> tuple[int, int] | None:
        """Where an earlier chief had trained the variables of a cluster: their step, and that it went on at."""
        return None if self._manager is None else self._manager.taken_over

    def create_session(self) -> BaseSession:
        """A session that is ready; finalizes the graph.

        One made anew keeps the variables if they all have values: another task's loss did not touch them.
        """
        if self._manager is None:
            self._manager = manager_of(self.scaffold)
        self._manager.abandoned.clear()
        session = self._manager.prepare_session(
            self._master,
            saver=self.scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_path,
            max_wait_secs=self._max_wait_secs,
            again=self._made,
            config=self._config,
            init_op=self.scaffold.init_op,
            init_feed_dict=self.scaffold.init_feed_dict,
            init_fn=self.scaffold.init_fn,
        )
        if not self._made:
            with session.graph.as_default():
                log_balance(global_variables(), [device.name for device in session.list_devices()])
        self._made = True
        return session

    def abandon(self) -> None:
        """Ends what waits for the session that another thread makes."""
        if self._manager is not None:
            self._manager.abandoned.set()


class WorkerSessionCreator(SessionCreator):
    """Waits for the chief to initialise the variables (tf.train.WorkerSessionCreator).

    Args:
        scaffold: The parts of the graph that a session needs; by default those of a gf.train.Scaffold.
        master: The target of the session, such as "" or "zmq://host:port".
        config: A gf.ConfigProto for the session.
        max_wait_secs: The longest wait, in seconds.

    Raises:
        DeadlineExceededError: After max_wait_secs, naming what is missing.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self.scaffold: Scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs
        self._manager: SessionManager | None = None

    def create_session(self) -> BaseSession:
        """A session that is ready; finalizes the graph."""
        if self._manager is None:
            self._manager = manager_of(self.scaffold)
        self._manager.abandoned.clear()
        own = self._manager.join_session(
            self._master, self._config, self._max_wait_secs, self.scaffold.init_fn
        )
        return own or self._manager.wait_for_session(self._master, self._config, self._max_wait_secs)

    def abandon(self) -> None:
        """Ends what waits for the session that another thread makes."""
        if self._manager is not None:
            self._manager.abandoned.set()


def manager_of(scaffold: Scaffold) -> SessionManager:
    """A session manager for the default graph; finalizes scaffold and graph."""
    scaffold.finalize()
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
    )
