"""QueueRunner: the threads that keep a queue filled, each running one enqueue operation again and again.

An enqueue that ends with OutOfRangeError has no more input: when that is so for all threads the queue is closed, and
what is in it can still be taken. Any other error is reported to the Coordinator, which stops the other threads.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import graphflow.errors as errors
import graphflow.protos as protos
from graphflow._core.graph import defaults
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import SessionLike
from graphflow._core.session import BaseSession
from graphflow.train.coordinator import Coordinator

if TYPE_CHECKING:
    from graphflow._core.ops.io.queues import QueueBase

_LOG: Final = logging.getLogger("graphflow")
_MANAGED: Final = ("MonitoredSession", "SingularMonitoredSession")
"""Sessions that start the queue runners themselves."""


class QueueRunner:
    """Runs enqueue operations of one queue in threads of their own (tf.train.QueueRunner). Thread-safe.

    Args:
        queue: The queue.
        enqueue_ops: An operation for each thread.
        close_op: With `cancel_op`: close the queue, by default after the enqueues that wait, and at once,
            ending these.
        cancel_op: See `close_op`.
        queue_closed_exception_types: Errors of an enqueue that mean the end of its input, by default
            OutOfRangeError.
        queue_runner_def: A QueueRunnerDef message to make it from instead.
        import_scope: A name scope that names are put under.
    """

    def __init__(
        self,
        queue: QueueBase | None = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions: list[BaseException] = []
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
            return
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        types = (
            (errors.OutOfRangeError,)
            if queue_closed_exception_types is None
            else queue_closed_exception_types
        )
        if not isinstance(types, tuple) or not types or not all(issubclass(t, errors.OpError) for t in types):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of gf.errors types, but saw: "
                f"{queue_closed_exception_types!r}"
            )
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._ends = types

    def _read(self, message: Any, import_scope: str | None) -> None:
        graph = defaults.get_default_graph()

        def named(name: str) -> Any:
            return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)

        self._queue = named(message.queue_name)
        self._enqueue_ops = [named(name) for name in message.enqueue_op_name]
        self._close_op = named(message.close_op_name)
        self._cancel_op = named(message.cancel_op_name)
        codes = list(message.queue_closed_exception_types) or [errors.OUT_OF_RANGE]
        kinds = {kind.default_code: kind for kind in errors.OpError.__subclasses__()}
        self._ends = tuple(kinds[code] for code in codes if code in kinds)

    @property
    def queue(self) -> QueueBase | None:
        """The queue; its handle if the runner was read from a message."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that its threads run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Operation:
        """Closes the queue after the enqueues that wait."""
        return self._close_op

    @property
    def cancel_op(self) -> Operation:
        """Closes the queue at once."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """The errors that mean the end of input."""
        return self._ends

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The errors of threads that were started without a Coordinator."""
        return self._exceptions

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    def started(self, store: Any) -> bool:
        """Whether its threads were started for the session with this store.

        Args:
            store: The session's store.
        """
        with self._lock:
            return any(session.store is store for session in self._running)

    def create_threads(
        self, sess: SessionLike, coord: Coordinator | None = None, daemon: bool = True, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads for a session, one for each enqueue operation.

        With a Coordinator there is one more, which closes the queue when it stops. None if those of an earlier call
        still run. The threads do not keep the process from ending, unless `daemon` is False.

        Args:
            sess: The session.
            coord: A gf.train.Coordinator.
            daemon: Whether the threads end with the program.
            start: Whether to start them.

        Returns:
            The threads.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions = []
        threads = [
            threading.Thread(
                target=self._run, args=(sess, op, coord), name=f"QueueRunnerThread-{self.name}-{op.name}"
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            name = f"QueueRunnerThread-{self.name}-close_on_stop"
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, coord), name=name))
        for thread in threads:
            thread.daemon = daemon
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _run(self, sess: Any, op: Any, coord: Coordinator | None) -> None:
        try:
            enqueue = sess.make_callable(op)
            while coord is None or not coord.should_stop():
                enqueue()
        except self._ends:
            if self._ended(sess) == 0:
                self._quietly(sess, self._close_op)
        except Exception as error:
            self._ended(sess)
            if coord is not None:
                coord.request_stop(error)
            else:
                _LOG.error("Exception in QueueRunner: %s", error)
                with self._lock:
                    self._exceptions.append(error)
        else:
            self._ended(sess)

    def _ended(self, sess: Any) -> int:
        """Notes the end of a thread; how many of the session's are left."""
        with self._lock:
            self._running[sess] -= 1
            return self._running[sess]

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        self._quietly(sess, self._cancel_op)

    @staticmethod
    def _quietly(sess: Any, op: Operation) -> None:
        """Runs an operation that closes the queue, which may be closed by now, as may the session."""
        try:
            sess.run(op)
        except (errors.OpError, RuntimeError) as error:
            _LOG.debug("Ignored exception: %s", error)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The QueueRunnerDef message; None if the queue is not in the name scope `export_scope`.

        Args:
            export_scope: A name scope; names are taken relative to it.
        """
        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None
        return protos.queue_runner_pb2.QueueRunnerDef(
            queue_name=self.name.removeprefix(prefix),
            enqueue_op_name=[op.name.removeprefix(prefix) for op in self._enqueue_ops],
            close_op_name=self._close_op.name.removeprefix(prefix),
            cancel_op_name=self._cancel_op.name.removeprefix(prefix),
            queue_closed_exception_types=[t.default_code for t in self._ends],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The QueueRunner that a QueueRunnerDef message describes, in the default graph.

        Args:
            queue_runner_def: A QueueRunnerDef message.
            import_scope: A name scope that names are put under.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a QueueRunner to a collection, from where start_queue_runners starts it (tf.train.add_queue_runner).

    Args:
        qr: The QueueRunner.
        collection: The collection.
    """
    defaults.get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: SessionLike | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts the threads of all queue runners of a collection, and returns them (tf.train.start_queue_runners).

    A MonitoredSession has started them itself.

    Args:
        sess: By default the default session, ValueError if there is none.
        coord: A gf.train.Coordinator.
        daemon: Whether the threads end with the program.
        start: Whether to start them.
        collection: The collection of the queue runners.

    Returns:
        The threads.
    """
    if sess is None:
        sess = defaults.get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass "
                "an explicit session to gf.train.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in _MANAGED:
            return []
        raise TypeError(f"sess must be a gf.Session object. Given class: {type(sess)}")
    with sess.graph.as_default():
        return [
            thread
            for runner in sess.graph.get_collection(collection)
            for thread in runner.create_threads(sess, coord, daemon, start)
        ]
