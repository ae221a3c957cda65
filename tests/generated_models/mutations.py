"""Faults planted into the compiler, each of which the programs must find: python -m tests.generated_models.mutations.

A mutation is a change of one place of a module's text, made as the module is imported, in a process of its own. Each
gives wrong numbers without any error, and only in programs of a certain form. What is not found within the time says
that the generator lacks that form.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any, Final

_PROJECT: Final = Path(__file__).parents[2]
_COMPILER: Final = "graphflow._core.compiler"
_COMPILED: Final = "graphflow._core.runtime.compiled"


@dataclass(frozen=True)
class Mutation:
    """A change of a module's text: what stands there once, and what is to stand there."""

    name: str
    module: str
    old: str
    new: str

    @property
    def path(self) -> Path:
        """The module's file."""
        return _PROJECT.joinpath(*self.module.split(".")).with_suffix(".py")

    def applied(self, text: str) -> str:
        """The module's text with the fault; ValueError if the place is not there, or not only there."""
        times = text.count(self.old)
        if times != 1:
            raise ValueError(f"{self.name}: {self.module} has its place {times} times: {self.old!r}")
        return text.replace(self.old, self.new)


MUTATIONS: Final = (
    Mutation(
        "a maximum over the axis that mirrors its own",
        f"{_COMPILER}.cpu.rules",
        "        lowering.reduction(i, kind, wanted, value)\n",
        "        mirrored = tuple(sorted(rank - 1 - a for a in wanted))\n"
        "        sizes = [[value.shape[a] for a in axes] for axes in (wanted, mirrored)]\n"
        "        turned = kind == 'max' and sizes[0] == sizes[1]\n"
        "        lowering.reduction(i, kind, mirrored if turned else wanted, value)\n",
    ),
    Mutation(
        "a stride of two taken for one",
        f"{_COMPILER}.emit",
        "walk[-1] not in (0, 1),",
        "walk[-1] not in (0, 1, 2),",
    ),
    Mutation(
        "a value that is another name of a variable, which is written later",
        f"{_COMPILER}.lower",
        "        if value.root in self.ever_written or any(c in self._named for c in i.control):\n",
        "        if any(c in self._named for c in i.control):\n",
    ),
    Mutation(
        "a variable written before its earlier readers have read it",
        f"{_COMPILER}.lower",
        "            before.update(r for r in self._readers.get(root, ()) if r != number)\n",
        "",
    ),
    Mutation(
        "the offset of what is padded taken from the end",
        f"{_COMPILER}.cpu.assembly_rules",
        "offset = sum(int(before) * stride for (before, _), stride",
        "offset = sum(int(before) * stride for (_, before), stride",
    ),
    Mutation(
        "the second product of a sum stored, not added",
        f"{_COMPILER}.combine",
        "accumulate=position > 0",
        "accumulate=position > 1",
    ),
    Mutation(
        "memory given to a block where another is still read",
        f"{_COMPILER}.memory",
        "if high >= first and low <= last and",
        "if high > first and low < last and",
    ),
    Mutation(
        "a block taken when the first of its parts is there, whatever of the others",
        f"{_COMPILER}.lower",
        "root, ()))\n            if value.root in self.variables:\n",
        "root, ())[:1])\n            if value.root in self.variables:\n",
    ),
    Mutation(
        "a mean over several axes divided by the last of them",
        "graphflow._core.codegen.cpu.regions.region_source",
        "count = math.prod([sizes[axis] for axis in region.outputs[index].axes])\n",
        "count = [sizes[axis] for axis in region.outputs[index].axes][-1]\n",
    ),
    Mutation(
        "the address of what is fed stays that of an earlier run",
        f"{_COMPILED}.laying",
        "            if before is None or before() is not array:\n",
        "            if before is None:\n",
    ),
    Mutation(
        "an operand transposed twice not turned back",
        f"{_COMPILER}.products",
        "product.flips[1] != second_turned),",
        "product.flips[1] or second_turned),",
    ),
    Mutation(
        "a result taken into the next kernel, though others take it as well",
        f"{_COMPILER}.combine",
        "        private = self._readers.get(value.root) == [reader] and value.root not in self._fetched\n",
        "        private = value.root not in self._fetched\n",
    ),
)


class _Mutated(SourceFileLoader):
    """Loads a module with a mutation; its text is never taken from a cache, nor put there."""

    mutation: Mutation

    def get_code(self, fullname: str) -> Any:
        text = self.mutation.applied(Path(self.path).read_text("utf-8"))
        return compile(text, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, mutation: Mutation) -> None:
        self._mutation = mutation

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == self._mutation.module else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Mutated(name, spec.origin)
            spec.loader.mutation = self._mutation
        return spec


def plant(mutation: Mutation) -> None:
    """Has the module mutated when it is imported; RuntimeError if it has been already."""
    if mutation.module in sys.modules:
        raise RuntimeError(f"{mutation.module} is imported already.")
    mutation.applied(mutation.path.read_text("utf-8"))
    sys.meta_path.insert(0, _Finder(mutation))


def hunt(first_seed: int, seconds: float, programs: int) -> tuple[int, int, str] | None:
    """Runs programs until one fails: how many were run, its seed, and how it fails; None if none does."""
    from .comparison import Reference
    from .generating import generate

    until = time.monotonic() + seconds
    for count in range(programs):
        if time.monotonic() > until:
            return None
        seed = first_seed + count
        report = Reference(generate(seed)).report("interpreted")
        if report.differences:  # A plan that stays on NumPy may have waited in vain for a compiler in use.
            return count + 1, seed, str(report.differences[0])
    return None


def search(mutation: Mutation, first_seed: int, seconds: float, programs: int = 10**6) -> str:
    """Looks for a mutation in a process of its own; what was found, or an empty text."""
    command = [sys.executable, "-m", "tests.generated_models.mutations", "--plant", mutation.name]
    command += ["--first-seed", str(first_seed), "--seconds", str(seconds), "--programs", str(programs)]
    done = subprocess.run(command, cwd=_PROJECT, capture_output=True, text=True, timeout=seconds + 120)
    if done.returncode < 0:
        return f"a program ended the process by signal {-done.returncode}"
    if done.returncode:
        raise RuntimeError(f"{mutation.name}: {done.stderr[-2000:]}")
    return done.stdout.strip()


def main() -> int:
    """Exit status 1 if a mutation was not found."""
    parser = argparse.ArgumentParser("python -m tests.generated_models.mutations", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="for each mutation")
    parser.add_argument("--programs", type=int, default=10**6, help="for each mutation")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--plant", default="", help="plants this one here, and looks for it")
    parser.add_argument("--only", default="", help="those with this in their name")
    options = parser.parse_args()
    if options.plant:
        (mutation,) = [m for m in MUTATIONS if m.name == options.plant]
        plant(mutation)
        found = hunt(options.first_seed, options.seconds, options.programs)
        if found is not None:
            print(f"{found[0]} programs, seed {found[1]}: {found[2]}")
        return 0
    missed = 0
    for mutation in MUTATIONS:
        if options.only in mutation.name:
            began = time.monotonic()
            found_text = search(mutation, options.first_seed, options.seconds, options.programs)
            missed += not found_text
            print(
                f"{mutation.name}: {found_text or 'NOT FOUND'} ({time.monotonic() - began:.0f} s)", flush=True
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
