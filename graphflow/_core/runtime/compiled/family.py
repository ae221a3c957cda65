"""Family: what the compiled plans of one executable, made for different sizes, have in common and may rely on.

The text of a kernel holds no sizes as a rule, so the plans for most sizes need the same kernels, in the same order, for
the same instructions. The first of them comes slowly: it is observed, waits for its kernels, and is compared with
NumPy. What follows needs no more than that its kernels are among those that are there. If all its structure is that
of a plan which has agreed with NumPy, it needs no comparison either, but for a sample that thins out as the plans
become many.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphflow._core.compiler.compile_job import CompileJob, Structure


@dataclass
class Family:
    """The kernels and structures of plans that have taken over from NumPy. Any thread may use it."""

    _sources: set[str] = field(default_factory=set)
    _made: dict[Structure, int] = field(default_factory=dict)
    """How many plans there were of each structure that is trusted."""
    _doubted: set[Structure] = field(default_factory=set)

    @property
    def begun(self) -> bool:
        """Whether a plan has taken over."""
        return bool(self._sources)

    def knows(self, job: CompileJob) -> bool:
        """Whether a plan has taken over, and this one needs no other kernels than such plans."""
        return self.begun and job.sources <= self._sources

    def is_to_be_compared(self, job: CompileJob) -> bool:
        """Whether a plan that is about to take over is to be compared with NumPy: the first of its structure, the
        second, the fourth, the eighth and so on; all if one of them has not agreed."""
        number = self._made.get(job.structure, 0) + 1
        return not number & (number - 1) or job.structure in self._doubted

    def took_over(self, job: CompileJob) -> None:
        """Notes a plan that has agreed with NumPy, or need not."""
        self.has_kernels_of(job)
        self._made[job.structure] = self._made.get(job.structure, 0) + 1

    def has_kernels_of(self, job: CompileJob) -> None:
        """Notes a plan that has taken over in an earlier process; it is to be compared in this one, too."""
        self._sources |= job.sources

    def doubts(self, structure: Structure) -> None:
        """Notes that a plan of a structure has not agreed with NumPy."""
        self._doubted.add(structure)
