"""The tier state: how far each plan of a seeded program has come on its way to compiled code. Checkpoints hold it.

The tiers agree to rounding and not to the bit. A program that is started again from a checkpoint therefore gives the
bits of one that was never stopped only if each plan goes on in the tier that it had reached, and with the shapes that
it was observed with.
"""

from __future__ import annotations

import hashlib
import json
import threading
import weakref
from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.resources.store import ResourceStore

_STORED_AS: Final = "tiers"


@dataclass(frozen=True)
class TierPolicy:
    """When and how a plan goes over to compiled code.

    mode: "auto", "never" or "always" of ConfigProto. seeded: see random_seed.gives_the_same. threads: of one run.
    verify: `verify_compiled` of ConfigProto. due: the run at which a plan of fixed bits goes over at the latest, as a
    stage of one whose time is nearly over; None if its own sizes say when.
    """

    mode: str
    seeded: bool
    threads: int
    verify: bool | None = None
    due: int | None = None


@dataclass(frozen=True)
class TierRecord:
    """One plan with one combination of fed shapes: its runs so far, and the shapes observed (None before that).

    due: the run at which the plan goes over, in the record of the combination that has decided it; 0 elsewhere.
    """

    runs: int
    known: Known | None
    due: int = 0


class Recorded(Protocol):
    """An executable with several tiers, which are kept in the tier state."""

    def records(self) -> dict[str, TierRecord]:
        """What is known of each combination of fed shapes, by its text."""
        ...

    def forget(self) -> None:
        """Begins again, with what the restored tier state says."""
        ...

    @property
    def fingerprint(self) -> str:
        """The same for the same plan in another process."""
        ...


def fingerprint(plan_text: str) -> str:
    """A short name for a plan's text."""
    return hashlib.sha256(plan_text.encode()).hexdigest()[:32]


class TierState:
    """The records of all plans of one store; Saveable. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executables: weakref.WeakSet[Any] = weakref.WeakSet()
        self._restored: dict[str, dict[str, TierRecord]] = {}

    @staticmethod
    def of(store: ResourceStore) -> TierState:
        """The tier state of a store."""
        found: TierState = store.other(_STORED_AS, TierState)
        return found

    def add(self, executable: Recorded) -> None:
        """Adds an executable, which stays until it is collected."""
        with self._lock:
            self._executables.add(executable)

    def restored(self, executable: Recorded) -> Mapping[str, TierRecord]:
        """The records of an executable that were restored from a checkpoint, by the text of the fed shapes."""
        if not self._restored:
            return {}
        with self._lock:
            return self._restored.get(executable.fingerprint, {})

    def get_state(self) -> dict[str, np.ndarray[Any, Any]]:
        """The records as JSON in an array of bytes."""
        with self._lock:
            executables = list(self._executables)
            records = {plan: dict(found) for plan, found in self._restored.items()}
        for executable in executables:
            for shapes, record in executable.records().items():
                found = records.setdefault(executable.fingerprint, {})
                if shapes not in found or found[shapes].runs <= record.runs:
                    found[shapes] = record
        text = json.dumps(
            {p: {s: [r.runs, r.known, r.due] for s, r in found.items()} for p, found in records.items()},
            sort_keys=True,
        )
        return {"records": np.frombuffer(text.encode(), np.uint8).copy()}

    def set_state(self, state: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Restores a state that get_state returned; ValueError for anything else."""
        try:
            tree = json.loads(np.asarray(state["records"], np.uint8).tobytes())
            restored = {
                str(plan): {str(shapes): _record(*entry) for shapes, entry in found.items()}
                for plan, found in tree.items()
            }
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ValueError(f"This is no record of the tiers of plans: {error}") from error
        with self._lock:
            self._restored = restored
            executables = list(self._executables)
        for executable in executables:
            executable.forget()


def _record(runs: Any, known: Any, due: Any = 0) -> TierRecord:
    shapes = None
    if known is not None:
        shapes = {
            str(name): (tuple(int(n) for n in dims), np.dtype(dtype).name if dtype != "object" else dtype)
            for name, (dims, dtype) in known.items()
        }
    return TierRecord(max(0, int(runs)), shapes, max(0, int(due)))
