"""Benchmark: measures how long an operation runs in a session (tf.test.Benchmark)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from statistics import median
from time import perf_counter
from typing import Any

from graphflow._core.graph.defaults import get_default_session
from graphflow._core.graph.elements import Operation
from graphflow._core.session import Session


class Benchmark:
    """A class of functions that measure; their names begin with benchmark (tf.test.Benchmark)."""

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Prints what was measured, as a line on the standard error.

        Args:
            iters: How often it ran.
            cpu_time: The seconds of processor time of one run.
            wall_time: The seconds of one run.
            throughput: The megabytes a second.
            extras: Figures of the program's own, by name.
            name: What was measured; by default the class and the function that calls this.
        """
        name = name or f"{type(self).__name__}.{sys._getframe(1).f_code.co_name}"
        figures = {
            "iters": iters,
            "wall_time": wall_time,
            "cpu_time": cpu_time,
            "throughput": throughput,
            "extras": dict(extras) if extras else None,
        }
        told = ", ".join(f"{key} {value}" for key, value in figures.items() if value is not None)
        print(f"benchmark {name}: {told}", file=sys.stderr)

    def evaluate(self, tensors: Any) -> Any:
        """The values of a structure of tensors in the open session.

        Args:
            tensors: What Session.run takes.

        Returns:
            Arrays in the same structure.

        Raises:
            ValueError: If no session is open.
        """
        session = get_default_session()
        if session is None:
            raise ValueError("evaluate() needs an open session: call it inside `with tf.Session():`.")
        return session.run(tensors)

    def run_op_benchmark(
        self,
        sess: Session,
        op_or_tensor: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: Mapping[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Runs an operation again and again, and reports the median of the seconds.

        Args:
            sess: The session.
            op_or_tensor: What runs; the value of a tensor is not fetched.
            feed_dict: What is fed.
            burn_iters: How often it runs before it is measured.
            min_iters: How often it is measured.
            store_trace: Has no effect.
            store_memory_usage: Has no effect.
            name: What was measured; by default the class and the function that calls this.
            extras: Figures of the program's own, by name.
            mbs: The megabytes that a run handles, for the throughput.

        Returns:
            What was reported: iters, wall_time, extras, name and, with mbs, throughput.
        """
        operation = op_or_tensor if isinstance(op_or_tensor, Operation) else op_or_tensor.op
        for _ in range(burn_iters):
            sess.run(operation, feed_dict)
        seconds = []
        for _ in range(min_iters):
            begin = perf_counter()
            sess.run(operation, feed_dict)
            seconds.append(perf_counter() - begin)
        wall_time = median(seconds)
        name = name or f"{type(self).__name__}.{sys._getframe(1).f_code.co_name}"
        throughput = mbs / wall_time if mbs > 0 else None
        self.report_benchmark(
            iters=min_iters, wall_time=wall_time, throughput=throughput, extras=extras, name=name
        )
        result = {"iters": min_iters, "wall_time": wall_time, "extras": dict(extras or {}), "name": name}
        return result if throughput is None else {**result, "throughput": throughput}
