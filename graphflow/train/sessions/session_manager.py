"""SessionManager: brings a session to the point where training can go on, from a checkpoint or from the beginning.

The chief prepares, everybody else waits for the variables to be there. A wait names what is missing, is bounded, and
looks often: what TensorFlow looks at every thirty seconds is looked at at least twice a second here.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.shown.status_line import Waiting
from graphflow._core.common.timeouts import (
    REPLICA_WAIT_MS,
    SESSION_CONNECT_SECONDS,
    SESSION_POLL_SECONDS,
    STATUS_LOG_SECONDS,
)
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.graph import Graph
from graphflow._core.session import Session
from graphflow.config import ConfigProto, RunOptions
from graphflow.distribute.collective import SHARING
from graphflow.train.saving.checkpoint_management import get_checkpoint_state, latest_checkpoint
from graphflow.train.saving.checkpoint_utils import load_variable
from graphflow.train.sessions.initialization_mark import InitializationMark
from graphflow.train.steps import find_global_step

if TYPE_CHECKING:
    from graphflow.train.saving.saver import Saver

_log = logging.getLogger(__name__)

_ENDED_OR_NOT_BEGUN: Final = (
    "%s. If the cluster has not begun yet, this process goes on when it is there; if it has ended, nobody will come, "
    "and this process is to be ended, too. It waits for at most %g s (max_wait_secs)."
)
"""Where nobody is left, nobody can say whether there was a cluster."""


class SessionManager:
    """Makes sessions that are ready for training (tf.train.SessionManager).

    Args:
        local_init_op: Run in every session.
        ready_op: With `ready_for_local_init_op`: vectors of the names of variables that are not initialised,
            of which empty means ready.
        ready_for_local_init_op: See `ready_op`.
        graph: The default graph unless given.
        recovery_wait_secs: The longest time between two looks while waiting, which are never further apart
            than half a second.
        local_init_run_options: A gf.RunOptions for `local_init_op`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: RunOptions | None = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op that waits for it."
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or get_default_graph()
        self._poll_secs = min(recovery_wait_secs, SESSION_POLL_SECONDS)
        self._local_init_run_options = local_init_run_options
        self.abandoned: threading.Event = threading.Event()
        """Set by another thread if nobody wants the session any more: what waits for it ends with CancelledError."""
        self.taken_over: tuple[int, int] | None = None
        """Where a cluster had trained variables when prepare_session came first: their step, and that it goes on at."""

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Any], Any] | None = None,
        *,
        again: bool = False,
    ) -> Session:
        """A session with the newest good checkpoint restored, or else initialised by init_op and init_fn.

        Variables that live on a cluster are left as they are, if all have values, were trained and the step is not
        below the newest checkpoint's: a chief that was started again while others trained, or before its first
        checkpoint, goes on with them. Session.reset() clears them. `again` says that this process had prepared them
        before. On a cluster it waits for absent tasks, at most max_wait_secs; then DeadlineExceededError names them.

        Args:
            master: The target of the session, such as "" or "zmq://host:port".
            init_op: Initialises the variables, if no checkpoint is restored.
            saver: The saver, or None.
            checkpoint_dir: The folder of the checkpoints.
            checkpoint_filename_with_path: The checkpoint.
            wait_for_checkpoint: Whether to wait until there is a checkpoint.
            max_wait_secs: The longest wait, in seconds.
            config: A gf.ConfigProto for the session.
            init_feed_dict: Feeds of init_op.
            init_fn: Called with the session after `init_op`.
            again: Whether a session was lost before.

        Raises:
            ValueError: If both a directory and a file are given.
            RuntimeError: If the session is not ready after all of that, naming the variables without a value;
                with `again`.
            DataLossError: If variables are lost and there is nowhere to restore them from.
        """
        session = self._connected(master, config, max_wait_secs)
        with _closed_on_error(session):
            mark = InitializationMark(checkpoint_dir if session.sess_str else None)
            loaded = self._alive(session, checkpoint_dir, again, mark) or self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                wait_for_checkpoint,
                max_wait_secs,
            )
            if not loaded:
                if again and not (checkpoint_dir or checkpoint_filename_with_path):
                    self._refuse_loss(session)
                if init_op is None and init_fn is None and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was given."
                    )
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                mark.write(half=True)
            else:
                self._share(session)
            if not loaded or mark.half:
                if init_fn is not None:
                    init_fn(session)
                mark.write(half=False)
            if init_fn is not None:
                self._share(session)
            missing = self._initialize_locals(session)
            if missing:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init. Init op: {_name(init_op)}, init fn: "
                    f"{init_fn}, local_init_op: {_name(self._local_init_op)}, error: {missing}"
                )
            missing = self._missing(session, self._ready_op)
            if missing:
                raise RuntimeError(
                    f"Init operations did not make model ready. {missing}. "
                    + (
                        "They are not in the checkpoint that was restored, "
                        if loaded
                        else f"The init op {_name(init_op)!r} does not set them, "
                    )
                    + "and local_init_op does not either: add them to one of the two."
                )
        return session

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
    ) -> tuple[Session, bool]:
        """A session with the newest good checkpoint restored, and whether everything in it has a value.

        Args:
            master: The target of the session, such as "" or "zmq://host:port".
            saver: The saver, or None.
            checkpoint_dir: The folder of the checkpoints.
            checkpoint_filename_with_path: The checkpoint.
            wait_for_checkpoint: Whether to wait until there is a checkpoint.
            max_wait_secs: The longest wait, in seconds.
            config: A gf.ConfigProto for the session.
        """
        session = self._connected(master, config, max_wait_secs)
        with _closed_on_error(session):
            loaded = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                wait_for_checkpoint,
                max_wait_secs,
            )
            missing = self._initialize_locals(session) or self._missing(session, self._ready_op)
        if missing:
            _log.info(
                "%s: %s.", "Restored, but not ready" if loaded else "Not restored, and not ready", missing
            )
        return session, loaded and not missing

    def _share(self, session: Session) -> None:
        """Gives the chief's values to the others, or takes them, if each worker has all variables."""
        sharing = self._graph.get_collection(SHARING)
        if sharing:
            session.run(sharing)

    def join_session(
        self,
        master: str,
        config: ConfigProto | None = None,
        max_wait_secs: float = 7200,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session | None:
        """A session of a worker that has all variables itself, with the chief's values; None if it has not.

        Waits for the chief and the other workers; DeadlineExceededError names who is missing.

        Args:
            master: The target of the session, such as "" or "zmq://host:port".
            config: A gf.ConfigProto for the session.
            max_wait_secs: The longest wait, in seconds.
            init_fn: Called with the session after `init_op`.
        """
        if not self._graph.get_collection(SHARING):
            return None
        session = self._connected(master, config, max_wait_secs)
        with _closed_on_error(session):
            for _ in range(1 if init_fn is None else 2):
                self._share(session)
            missing = self._initialize_locals(session) or self._missing(session, self._ready_op)
            if missing:
                raise RuntimeError(f"The chief's values did not make the model ready. {missing}.")
        return session

    def wait_for_session(
        self, master: str, config: ConfigProto | None = None, max_wait_secs: float | None = math.inf
    ) -> Session:
        """A session in which the chief has initialised everything; waits for that.

        DeadlineExceededError, naming the variables that are missing, after max_wait_secs.

        Args:
            master: The target of the session, such as "" or "zmq://host:port".
            config: A gf.ConfigProto for the session.
            max_wait_secs: The longest wait, in seconds.
        """
        limit = math.inf if max_wait_secs is None else max_wait_secs
        session = self._connected(master, config, limit)
        with _closed_on_error(session), closing(Waiting(limit)) as waiting:
            while True:
                missing = self._initialize_locals(session) or self._missing(session, self._ready_op)
                if not missing:
                    return session
                if waiting.seconds() >= limit:
                    raise errors.DeadlineExceededError(
                        None, None,
                        f"Session was not ready after waiting {limit:g} secs for the chief to initialise it. "
                        f"{missing}. "
                        "Is the chief (is_chief=True) running, with the same graph and master?",
                    )  # fmt: skip
                waiting.update(f"the chief to initialise the model ({missing})")
                self._pause()

    def _connected(self, master: str, config: ConfigProto | None, max_wait_secs: float) -> Session:
        """A session on master; waits for absent tasks of its cluster, but not for any that left and is not needed."""
        if not master:
            return Session(master, graph=self._graph, config=config)
        waiting = Waiting(max_wait_secs, quiet_secs=0)
        told = False
        try:
            while True:
                self._check_wanted()
                left = max(0.1, max_wait_secs - waiting.seconds())
                patient = replace(
                    config or ConfigProto(),
                    wait_for_left_tasks=False,
                    replica_wait_in_ms=(config and config.replica_wait_in_ms) or REPLICA_WAIT_MS,
                    connect_timeout_in_ms=int(1000 * min(left, SESSION_CONNECT_SECONDS)),
                )
                try:
                    return Session(master, graph=self._graph, config=patient)
                except errors.UnavailableError as error:
                    if waiting.seconds() >= max_wait_secs:
                        raise errors.DeadlineExceededError(
                            None, None, f"After waiting {max_wait_secs:g} s: {error.message}"
                        ) from error
                    waiting.update(f"the cluster: {error.message.rstrip('.')}")
                    if not told and waiting.seconds() >= STATUS_LOG_SECONDS:
                        told = True
                        _log.warning(_ENDED_OR_NOT_BEGUN, error.message.rstrip("."), max_wait_secs)
        finally:
            waiting.close()

    def _pause(self) -> None:
        """Some time passes before the next look."""
        self.abandoned.wait(self._poll_secs)
        self._check_wanted()

    def _check_wanted(self) -> None:
        if self.abandoned.is_set():
            raise errors.CancelledError(None, None, "The session is not wanted any more.")

    def _alive(
        self, session: Session, checkpoint_dir: str | None, again: bool, mark: InitializationMark
    ) -> bool:
        """Whether the variables live on a cluster, and were trained."""
        newest = latest_checkpoint(checkpoint_dir) if checkpoint_dir else None
        if newest is not None:
            mark.remove()
        ready_op = self._ready_op if self._ready_for_local_init_op is None else self._ready_for_local_init_op
        if not session.sess_str or ready_op is None:
            return False
        if again and newest is not None and self._graph.get_collection(SHARING):
            return (
                False  # A step that failed may have changed some variables here, and others at other workers.
            )
        step = find_global_step(self._graph)
        whole = not self._missing(session, ready_op)
        if step is None:
            return whole and again
        saved = 0 if newest is None else int(load_variable(newest, step.op.name))
        try:
            reached = int(session.run(step))
        except errors.FailedPreconditionError:
            return False
        # A chief that comes back alone takes its checkpoint, as TensorFlow's does: what is newer is nobody else's.
        others = session.cluster_has_clients or newest is None
        alive = whole and reached >= saved and (again or mark.there or (reached > 0 and others))
        if reached and not again:
            self.taken_over = reached, reached if alive else saved
        if not alive:
            if reached:
                _log.warning(
                    "The cluster has %s of these variables, at step %d; they are %s: %d steps are lost.",
                    "all" if whole else "some", reached,
                    "initialized anew" if newest is None else f"restored to step {saved}", max(0, reached - saved),
                )  # fmt: skip
        elif again or not reached:
            _log.info("The variables are there, at step %d: training goes on with them.", reached)
        else:
            _log.warning(
                "The cluster has the variables of a training, at step %d, and no checkpoint is newer: training goes on "
                "with them. gf.Session.reset(%r) clears them.",
                reached, session.sess_str,
            )  # fmt: skip
        return alive

    def _refuse_loss(self, session: Session) -> None:
        """DataLossError if a task of a cluster has lost what was trained."""
        missing = self._missing(session, self._ready_op) if session.sess_str else ""
        if missing:
            raise errors.DataLossError(
                None, None,
                f"A task was started again and lost what was trained ({missing}), and there is no checkpoint to "
                "restore: give the chief a checkpoint_dir.",
            )  # fmt: skip

    def _restore(
        self,
        session: Session,
        saver: Any,
        directory: str | None,
        path: str | None,
        wait: bool,
        max_wait_secs: float,
    ) -> bool:
        """Restores a checkpoint if there is one; whether it did."""
        if directory and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if saver is None or not (directory or path):
            return False
        if path:
            saver.restore(session, path)
            return True
        assert directory is not None
        newest = latest_checkpoint(directory)
        if newest is None and wait:
            waiting = Waiting(max_wait_secs)
            try:
                while newest is None and waiting.seconds() < max_wait_secs:
                    waiting.update(f"a checkpoint in {directory}")
                    self._pause()
                    newest = latest_checkpoint(directory)
            finally:
                waiting.close()
        if newest is None:
            return False
        self._restore_from(session, saver, newest)
        state = get_checkpoint_state(directory)
        if state is not None:
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return True

    def _restore_from(self, session: Session, saver: Any, path: str) -> None:
        """Restores a checkpoint; on a cluster that has lost some variables, those that it still has come first.

        For others begin to train when all have values: they must not see some that are to be set back yet.
        """
        lost = self._missing_names(session, self._ready_op) if session.sess_str else []
        parts = _parts(session.graph, saver, set(lost)) if lost else None
        if parts is None:
            saver.restore(session, path)
            return
        _log.info("Restoring parameters from %s, what is still there first.", path)
        for part in parts:
            session.run(part, {saver.saver_def.filename_tensor_name: path})

    def _initialize_locals(self, session: Session) -> str:
        """Runs local_init_op if what it needs is there; what is missing otherwise."""
        if self._local_init_op is None:
            return ""
        missing = self._missing(session, self._ready_for_local_init_op)
        if not missing:
            session.run(self._local_init_op, options=self._local_init_run_options)
        return missing

    def _missing(self, session: Session, ready_op: Any) -> str:
        """The variables without a value, as a text; "" if all have one."""
        try:
            texts = self._missing_names(session, ready_op)
        except errors.FailedPreconditionError as error:
            return error.message
        if not texts:
            return ""
        shown = ", ".join(texts[:10]) + (f" and {len(texts) - 10} more" if len(texts) > 10 else "")
        return f"Variables not initialized: {shown}"

    def _missing_names(self, session: Session, ready_op: Any) -> list[str]:
        names = None if ready_op is None else session.run(ready_op)
        if names is None or np.asarray(names).dtype == np.int32:  # assert_variables_initialized gives ranks.
            return []
        return [n.decode() if isinstance(n, bytes) else str(n) for n in np.ravel(names)]


@contextmanager
def _closed_on_error(session: Session) -> Iterator[None]:
    """Closes a session if an error keeps it from being returned."""
    try:
        yield
    except BaseException:
        session.close()
        raise


def _parts(graph: Graph, saver: Any, lost: set[str]) -> tuple[list[Any], list[Any]] | None:
    """What a restore does for variables that have values, and for others, those of the lost ones.

    None if it does not have both, or is none of a Saver's.
    """
    definition = getattr(saver, "saver_def", None)
    if definition is None:
        return None
    found: list[Any] = []
    todo = [graph.get_operation_by_name(definition.restore_op_name)]
    while todo:
        op = todo.pop()
        if op.type == "NoOp":
            todo += op.control_inputs
        else:
            found.append(op)
    last = [op for op in found if op.type == "Assign" and op.inputs[0].op.name in lost]
    first = [op for op in found if op not in last]
    return (first, last) if last and any(op.type == "Assign" for op in first) else None


def _name(op: Any) -> str:
    return str(getattr(op, "name", op))
