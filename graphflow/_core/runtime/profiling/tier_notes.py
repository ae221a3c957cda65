"""In which tier a plan runs and why, in words: what `Session.explain` and profiles say beside the pieces."""

from __future__ import annotations

from graphflow._core.runtime.compiled.tier import TieredExecutable, runs_so_far, waits_for_kernels
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.numpy_executable import NumpyExecutable


def tier_notes(executable: Executable) -> list[str]:
    """Why parts of a plan are not compiled, each reason once; none if all of it is."""
    notes = [f"stays on NumPy: {reason}" for reason in executable.reasons()]
    for part in executable.parts():
        if isinstance(part, NumpyExecutable) and part.because:
            notes.append(f"stays on NumPy: {part.because}")
        elif isinstance(part, TieredExecutable):
            if waits_for_kernels(part):
                notes.append("its kernels were still being compiled")
            elif not part.compiled() and not part.reasons():
                runs = runs_so_far(part)
                notes.append(f"on NumPy so far: it ran {runs} times, and becomes compiled if it goes on")
    return list(dict.fromkeys(notes))
