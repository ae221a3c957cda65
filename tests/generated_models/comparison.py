"""Runs a program in several ways and says where they part by more than rounding explains.

What rounding explains is measured for each array: how far the NumPy tier is from itself in float64, and, where that
does not explain a difference, how far its results move if its variables move by some last bits. So neither a deep
program nor one that amplifies needs a bound of its own, and an error in a well-conditioned one cannot hide.
"""

from __future__ import annotations

import contextlib
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final
from unittest import mock

import numpy as np

import graphflow as gf
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.runtime.compiled.build import CompiledPlan

from . import harness
from .interpreted import interpreted
from .program import Program

WAYS: Final = ("interpreted", "compiled", "devices", "cluster")
"""Compiled with interpreted loop nests; compiled; spread over two devices; spread over the tasks of a cluster."""
_PARTED: Final = ("devices", "cluster")
"""Ways with several devices."""
_ROUNDINGS: Final = 100
_ALLOWED_OF_MEASURED: Final = 16
_STAYS: Final = "stays on NumPy"

Outcome = list[Any]


@dataclass(frozen=True)
class Difference:
    """An array that parts: in which run (the last is that of the variables), which, by how much of how much."""

    run: int
    name: str
    apart: float
    allowed: float
    largest: float
    what: str = ""

    def __str__(self) -> str:
        if self.what:
            return f"run {self.run}: {self.name}: {self.what}"
        return (
            f"run {self.run}: {self.name} is {self.apart:.3g} apart, of {self.largest:.3g}; "
            f"rounding explains {self.allowed:.2g}"
        )


@dataclass(frozen=True)
class Report:
    """What a way of running gave beside the NumPy tier.

    differences: none if they agree; stayed: why plans stayed on NumPy; compiled: runs of compiled plans.
    """

    way: str
    differences: tuple[Difference, ...]
    stayed: tuple[str, ...]
    compiled: int

    @property
    def failed(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.differences or self.stayed)

    @property
    def fault(self) -> str:
        """What kind of fault it is, in a word that stays the same while the program shrinks."""
        if not self.failed:
            return ""
        return "numbers" if self.differences else "stays on NumPy"


def built(program: Program) -> Callable[..., Any]:
    """The function that builds the program's graph."""
    namespace = dict(vars(harness))
    exec(compile(program.text(), f"<program {program.seed}>", "exec"), namespace)
    build: Callable[..., Any] = namespace["build"]
    return build


def plain(program: Program, prepared: Any, change: tuple[int, float] | None = None) -> Outcome:
    """The program in the NumPy tier."""
    config = gf.ConfigProto(compiled="never", intra_op_parallelism_threads=1)
    return harness.outcome(prepared, gf, program.batches, config, change=change)


# ---- ways ---------------------------------------------------------------------------------------------------------


def _config(**options: Any) -> Any:
    """A session's options; compiled code is not checked by the session, since that is what is done here."""
    if "verify_compiled" in gf.ConfigProto.__dataclass_fields__:
        options["verify_compiled"] = False
    return gf.ConfigProto(intra_op_parallelism_threads=1, allow_soft_placement=True, **options)


def _spread(seed: int, places: Sequence[str]) -> Callable[[Any], Callable[[Any], str]]:
    """A device function that puts some ops that are built one after the other on one place."""
    together = 2 + seed % 13

    def of(graph: Any) -> Callable[[Any], str]:
        def place(op: Any) -> str:
            group = len(graph.get_operations()) // together
            return places[zlib.crc32(f"{seed} {group}".encode()) % len(places)]

        return place

    return of


def outcome(program: Program, way: str, prepared: Any) -> Outcome:
    """What a program gives when it is run in one of the ways. prepared: its graph without devices."""
    batches = program.batches
    if way == "compiled":
        return harness.outcome(prepared, gf, batches, _config(compiled="always"))
    if way == "interpreted":
        with interpreted():
            return harness.outcome(prepared, gf, batches, _config(compiled="always"))
    if way == "devices":
        placed = _placed(program, ("/cpu:0", "/cpu:1"))
        config = _config(compiled="always", device_count={"CPU": 2})
        with interpreted():
            return harness.outcome(placed, gf, batches, config)
    assert way == "cluster", way
    tasks = ("/job:ps/task:0", "/job:worker/task:0")
    placed = _placed(program, tasks)
    with interpreted(), _cluster() as target:
        return harness.outcome(placed, gf, batches, _config(compiled="always"), target)


def _placed(program: Program, places: Sequence[str]) -> Any:
    return harness.prepared(built(program), gf, program.dtype, _spread(program.seed, places))


@contextlib.contextmanager
def _cluster() -> Iterator[str]:
    """Two tasks in this process; the address of one."""
    with contextlib.ExitStack() as stack:
        ports = ReservedPorts(2)
        stack.callback(ports.close)
        addresses = [f"127.0.0.1:{port}" for port in ports.ports]
        spec = gf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
        for job in ("ps", "worker"):
            server = gf.train.Server(spec, job, 0)
            stack.callback(server.stop)
        yield server.target


class _Reasons(logging.Handler):
    """Collects why plans stay on NumPy."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if _STAYS in message:
            error = record.exc_info[1] if record.exc_info else None
            self.found.append(message if error is None else f"{message} {type(error).__name__}: {error}")


@contextlib.contextmanager
def observed() -> Iterator[tuple[list[str], list[int]]]:
    """Why plans stay on NumPy meanwhile, and a one for each run of a compiled plan."""
    logger, reasons, runs = logging.getLogger("graphflow"), _Reasons(), []
    run = CompiledPlan.run

    def counted(self: CompiledPlan, *arguments: Any) -> Any:
        runs.append(1)
        return run(self, *arguments)

    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(reasons)
    try:
        with mock.patch.object(CompiledPlan, "run", counted):
            yield reasons.found, runs
    finally:
        logger.removeHandler(reasons)
        logger.propagate = propagated


# ---- comparison ---------------------------------------------------------------------------------------------------


class Reference:
    """What a program gives in the NumPy tier, and how far rounding moves it; for comparison with several ways."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._prepared = harness.prepared(built(program), gf, program.dtype)
        self.plain = plain(program, self._prepared)

    @cached_property
    def _exact(self) -> Outcome:
        """The program in float64."""
        if self.program.dtype == "float64":
            return self.plain
        return plain(self.program, harness.prepared(built(self.program), gf, "float64"))

    @cached_property
    def _moved(self) -> list[Outcome]:
        """What it gives after small changes of its variables."""
        size = 16 * float(np.finfo(self.program.dtype).eps)
        return [plain(self.program, self._prepared, (k, size)) for k in (1, 2, 3)]

    def report(self, way: str) -> Report:
        """How a way of running compares."""
        with observed() as (reasons, runs):
            found = outcome(self.program, way, self._prepared)
        differences = tuple(self.differences(found, parted=way in _PARTED))
        return Report(way, differences, tuple(dict.fromkeys(reasons)), len(runs))

    def differences(self, found: Outcome, *, parted: bool = False) -> Iterator[Difference]:
        """What parts in the first run that has anything that does.

        parted: the runs were on several devices. When one of them fails, how far the others have come is open, and so
        is what a run that failed has left in the variables: nothing is compared after one.
        """
        for number, (ours, theirs) in enumerate(zip(self.plain, found)):
            apart = list(self._of_run(number, ours, theirs))
            if apart:
                yield from apart
            if apart or (parted and isinstance(ours, str)):
                return

    def _of_run(self, number: int, ours: Any, theirs: Any) -> Iterator[Difference]:
        if isinstance(ours, str) or isinstance(theirs, str):
            if not (isinstance(ours, str) and isinstance(theirs, str) and ours == theirs):
                texts = [v if isinstance(v, str) else "a result" for v in (ours, theirs)]
                yield Difference(number, "the run", 0, 0, 0, f"{texts[0]} in the NumPy tier, {texts[1]} here")
            return
        for name, value in ours.items():
            first, second = np.asarray(value), np.asarray(theirs[name])
            if first.shape != second.shape or first.dtype != second.dtype:
                yield Difference(
                    number, name, 0, 0, 0, f"{second.dtype}{second.shape}, not {first.dtype}{first.shape}"
                )
                continue
            if not first.size or first.dtype.kind != "f":
                if not np.array_equal(first, second):
                    yield Difference(number, name, 0, 0, 0, f"{second}, not {first}")
                continue
            difference = self._difference(number, name, first, second)
            if difference is not None:
                yield difference

    def _difference(self, number: int, name: str, first: Any, second: Any) -> Difference | None:
        largest = float(np.max(np.abs(first), initial=0, where=np.isfinite(first)))
        step = float(np.finfo(first.dtype).eps)
        allowed = step * _ROUNDINGS * (largest + 0.1)
        apart = _apart(first, second)
        if apart <= allowed:
            return None
        allowed += _ALLOWED_OF_MEASURED * _apart(first, self._value(self._exact, number, name))
        if apart <= allowed:
            return None
        allowed += _ALLOWED_OF_MEASURED * max(
            _apart(first, self._value(moved, number, name)) for moved in self._moved
        )
        return None if apart <= allowed else Difference(number, name, apart, allowed, largest)

    def _value(self, found: Outcome, number: int, name: str) -> Any:
        run: str | Mapping[str, Any] = found[number]
        return np.nan if isinstance(run, str) else np.asarray(run[name])


def _apart(first: Any, second: Any) -> float:
    """The largest difference of two arrays; without bound where only one has a NaN."""
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    with np.errstate(all="ignore"):
        difference = np.abs(first - second)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    return float(np.max(np.where(same, 0, np.where(np.isnan(difference), np.inf, difference)), initial=0))


def where_it_parts(program: Program, way: str) -> str:
    """The first value of the program, in its order, that parts, with all values fetched; or that none does then."""
    values = [v.name for v in program.values().values() if v.dtype == "F" and v.name[0] == "v"]
    report = Reference(replace(program, shown=tuple(values))).report(way)
    parting = {d.name for d in report.differences}
    first = next((name for name in values if name in parting), None)
    if first is not None:
        return f"first of its values to part: {first}"
    if parting:
        return f"of its values none parts; {', '.join(sorted(parting)[:4])}"
    return "nothing parts if all values are fetched"
