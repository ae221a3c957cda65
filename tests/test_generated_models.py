"""Protects the right numbers of models nobody thought of: programs drawn by chance, compared in every way of running.

CI runs a sample, always the same. An hour of it is `python -m tests.generated_models --seconds 3600 --first-seed N`.
The generator is protected by faults that are planted into the compiler, which it must find.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.generated_models import (
    arithmetic,
    control,
    harness,
    products,
    selections,
    sequences,
    views,
    windows,
)
from tests.generated_models.comparison import Reference, Report, outcome
from tests.generated_models.generating import FIRST_WITH_SELECTIONS, generate
from tests.generated_models.mutations import MUTATIONS, Mutation, search
from tests.generated_models.program import Program, Step
from tests.generated_models.shrinking import shrink, without_unused

pytestmark = pytest.mark.timeout(300)
"""The first to run waits for the machine's own code, which the helper compiles at a low priority."""

_SAMPLE = 6
_ALL = 150
_FOUND = {62}
"""Programs that have found a fault which no other test did: sums of one loop that wrote behind their lanes."""


def _seeds(sample: int, count: int) -> list[object]:
    quick = {*range(sample), *_FOUND}
    return [pytest.param(s, marks=() if s in quick else pytest.mark.slow) for s in range(count)]


def check(program: Program, way: str) -> Report:
    report = Reference(program).report(way)
    assert not report.failed, "\n".join(
        [f"seed {program.seed}", *map(str, report.differences[:5]), *report.stayed, program.text()]
    )
    return report


@pytest.mark.parametrize("seed", _seeds(_SAMPLE, _ALL))
def test_compiled_numbers_are_numpys(seed: int) -> None:
    check(generate(seed), "interpreted")


@pytest.mark.parametrize("seed", _seeds(3, 60))
def test_compiled_numbers_of_selected_rows_are_numpys(seed: int) -> None:
    check(generate(FIRST_WITH_SELECTIONS + 16 + seed), "interpreted")


def test_kernels_through_llvm() -> None:
    """The shortest program of many: each kernel takes LLVM half a second, and much longer on a machine in use."""
    program = min((generate(seed) for seed in range(100)), key=lambda p: layers_of(p.steps))
    check(replace(program, batches=program.batches[:2]), "compiled")


def layers_of(steps: Sequence[Step]) -> int:
    return len([step for step in steps if step.kind not in ("input", "batch", "variable")])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(30))
def test_more_kernels_through_llvm(seed: int) -> None:
    check(generate(seed), "compiled")


@pytest.mark.parametrize("seed", _seeds(2, 60))
def test_devices_change_nothing_but_rounding(seed: int) -> None:
    check(generate(seed), "devices")


@pytest.mark.parametrize("seed", _seeds(1, 20))
def test_clusters_change_nothing_but_rounding(seed: int) -> None:
    check(generate(seed), "cluster")


# ---- the generator ------------------------------------------------------------------------------------------------


def test_a_seed_is_a_program() -> None:
    assert generate(11) == generate(11)
    assert generate(11) != generate(12)


def test_every_layer_is_drawn() -> None:
    drawn = Counter(kind for seed in range(400) for kind in set(generate(seed).kinds))
    families = (arithmetic, control, products, sequences, views, windows)
    assert len(drawn) > sum(len(family.KINDS) for family in families)
    for kind in (
        "attention", "fan_out", "sum_of_products", "dynamic_rnn_lengths", "while_loop", "array_loop_lengths", "cond",
        "second_gradient", "state", "conv3d", "transposed", "einsum", "strided_slice", "many_results", "own_gradient",
    ):  # fmt: skip
        assert drawn[kind] >= 3, kind
    later = range(FIRST_WITH_SELECTIONS, FIRST_WITH_SELECTIONS + 60)
    selected = Counter(kind for seed in later for kind in set(generate(seed).kinds))
    for layer in selections.KINDS:
        assert selected[layer.__name__] >= 3 and not drawn[layer.__name__], layer
    lengths = [len(generate(seed).steps) for seed in range(50)]
    assert min(lengths) >= 5 and max(lengths) > 30


def test_a_program_prints_as_one_that_runs_by_itself(tmp_path: Path) -> None:
    program = replace(generate(3), batches=(2,))
    file = tmp_path / "program.py"
    file.write_text(program.script(), "utf-8")
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=100, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "parts" not in done.stdout


def test_a_program_shrinks_to_what_fails() -> None:
    """Here what multiplies is taken for a failure; what is left still runs."""
    program = next(
        p for p in map(generate, range(1000)) if "sum_of_products" in p.kinds and len(p.steps) > 20
    )

    def fails(candidate: Program) -> bool:
        return "sum_of_products" in without_unused(candidate).kinds

    small = shrink(program, fails, 20.0)
    kinds = [kind for kind in small.kinds if kind not in ("input", "batch", "variable", "stand-in")]
    assert len(kinds) <= 4 and "sum_of_products" in kinds and len(small.batches) == 1
    results = Reference(small).plain
    assert np.isfinite(results[0]["loss"])


def test_what_a_failed_run_leaves_on_several_devices_is_open_and_nothing_else() -> None:
    """The assertion fails without examples; whether the variables were updated by then is a matter of luck."""
    program = next(
        p
        for p in map(generate, range(10_000))
        if 0 in p.batches and "InvalidArgumentError" in Reference(p).plain
    )
    reference = Reference(program)
    found = [dict(run) if isinstance(run, dict) else run for run in reference.plain]
    name, value = next((n, v) for n, v in found[-1].items() if np.asarray(v).dtype.kind == "f")
    found[-1][name] = value + 1.0
    assert [d.name for d in reference.differences(found)] == [name]
    assert not list(reference.differences(found, parted=True))
    for number, wrong in (
        (-2, reference.plain[0]),
        (0, "InvalidArgumentError"),
        (0, dict(found[0], loss=1e9)),
    ):
        changed = [*found]
        changed[number] = wrong
        assert list(reference.differences(changed, parted=True))


def test_differences_beyond_rounding_are_seen_and_no_others() -> None:
    program = replace(generate(5), batches=(2, 3))
    reference = Reference(program)
    again = outcome(program, "interpreted", harness.prepared(_built(program), _graphflow(), program.dtype))
    assert not list(reference.differences(again))
    name = next(n for n in again[0] if n.startswith("gradient") and np.abs(again[0][n]).max() > 1e-3)
    again[0][name] = again[0][name] * 1.001
    (found,) = reference.differences(again)
    assert found.name == name and found.run == 0


def _built(program: Program) -> object:
    from tests.generated_models.comparison import built

    return built(program)


def _graphflow() -> object:
    import graphflow

    return graphflow


# ---- planted faults -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_the_place_of_a_mutation_is_there(mutation: Mutation) -> None:
    """Where the compiler has changed, the mutation has to follow it."""
    compile(mutation.applied(mutation.path.read_text("utf-8")), mutation.module, "exec")


_FOUND_BY = {"the second product of a sum": 4, "a stride of two": 5, "a mean over several axes": 1}


@pytest.mark.parametrize("name", _FOUND_BY)
def test_a_planted_fault_is_found(name: str) -> None:
    (mutation,) = [m for m in MUTATIONS if m.name.startswith(name)]
    assert search(mutation, _FOUND_BY[name], seconds=90, programs=1)
