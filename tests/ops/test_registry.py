"""Protects every op type: its kernel, its shape rule, its gradient, and that all tiers compute what it means.

The samples are in op_samples; an op type without an entry there fails. CI takes a few samples of each, the same every
time, `--everything` all of them.
"""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph.op_def import (
    GradientsIn,
    NotDifferentiable,
    gradients_elsewhere,
    lookup,
    own_types,
    registry,
)
from graphflow._core.kernels import registry as kernels
from tests.ops import op_samples
from tests.ops.op_samples import WITHOUT_KERNEL, WITHOUT_SAMPLES, Sample, samples
from tests.ops.op_uses import Use, assert_close, run_uses

pytestmark = pytest.mark.filterwarnings("ignore:The graph grew")
"""Every check of a gradient adds to the graph."""

FORMS = ("constants", "placeholders", "partly", "unknown")
"""What is known of the inputs while the graph is built: values, shapes, ranks and some sizes, nothing."""

COMPILED_SAMPLE = 6
"""One op type in so many is compiled on CI."""

OP_TYPES = sorted(set(registry()) & set(op_samples.TABLE))
DIFFERENTIABLE = [
    n
    for n in OP_TYPES
    if not isinstance(lookup(n).gradient, NotDifferentiable)
    # One raises, one draws anew (tests/ops/test_random.py has it), and steps have the slope of a line by their meaning.
    and n not in ("PreventGradient", "RandomGamma")
    and not n.startswith("FakeQuant")
]
ELEMENTWISE = [n for n in DIFFERENTIABLE if lookup(n).scalar is not None]


def taken(op_type: str, everything: bool) -> list[Sample]:
    return samples(op_type, None if everything else 6)


# ---- the tests ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op_type", own_types())
def test_has_a_kernel_a_gradient_and_samples(op_type: str) -> None:
    definition = lookup(op_type)
    assert callable(definition.gradient) or isinstance(definition.gradient, NotDifferentiable)
    if op_type in WITHOUT_KERNEL:
        return
    assert kernels.factory(op_type) is not None, (
        f"{op_type} has no kernel: add one in graphflow/_core/kernels"
    )
    told = f"{op_type} has no samples: add an entry to a table in tests/ops/op_samples"
    assert op_type in op_samples.TABLE or op_type in WITHOUT_SAMPLES, told


def test_a_kernel_stands_in_its_ops_room_and_is_found_in_a_process_that_has_loaded_no_other() -> None:
    program = (
        "import sys\n"
        "from graphflow._core.ops import load_all\n"
        "from graphflow._core.graph.op_def import own_types\n"
        "from graphflow._core.kernels import registry\n"
        "load_all()\n"
        "assert not [name for name in sys.modules if '_core.kernels.' in name and not name.endswith('registry')]\n"
        "assert registry.factory('NoOp') is registry.factory('NoSuchOp') is None\n"
        "assert registry.may_view('Reshape') and registry.is_stateful('RandomUniform')\n"
        "assert not [name for name in sys.modules if '_core.kernels.io' in name]\n"
        "found = {t for t in own_types() if registry.factory(t) is not None}\n"
        "assert found == set(registry.op_types()), set(registry.op_types()) - found\n"
        "assert len(found) > 500\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_every_gradient_that_stands_elsewhere_is_of_an_op_that_says_so() -> None:
    said = {
        n: d.declared_gradient for n, d in registry().items() if isinstance(d.declared_gradient, GradientsIn)
    }
    assert said
    for op_type, where in said.items():
        rule = lookup(op_type).gradient
        assert callable(rule) and rule.__module__ == where.module, op_type
    assert set(gradients_elsewhere()) == set(said)


def test_an_op_whose_gradient_is_missing_says_where_it_belongs() -> None:
    where = GradientsIn("graphflow._core.ops.math.gradients")
    with pytest.raises(
        LookupError, match=r"graphflow\._core\.ops\.math\.gradients has no gradient of NoSuchOp"
    ):
        where.load("NoSuchOp")


def test_a_gradient_is_there_in_a_process_that_loaded_nothing_but_its_op() -> None:
    program = (
        "from graphflow._core.graph.op_def import lookup, registry, GradientsIn\n"
        "from graphflow._core.ops.math import arithmetic\n"
        "assert not any('gradients' in name for name in __import__('sys').modules if '.ops.' in name)\n"
        "late = [n for n, d in registry().items() if isinstance(d.declared_gradient, GradientsIn)]\n"
        "assert 'Mul' in late and all(callable(lookup(n).gradient) for n in late)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_samples_are_of_known_ops() -> None:
    assert {*op_samples.TABLE, *WITHOUT_KERNEL, *WITHOUT_SAMPLES} <= set(registry())


@pytest.mark.parametrize("op_type", OP_TYPES)
def test_shapes_values_and_variables(op_type: str, everything: bool) -> None:
    random = np.random.default_rng(5)
    with gf.Graph().as_default():
        uses = [Use(op_type, s, form, random) for s in taken(op_type, everything) for form in FORMS]
        results = run_uses(uses, "never")
    for use, (outputs, after) in zip(uses, results, strict=True):
        what = f"{op_type} {use.sample!r} as {use.form}"
        check_static(use, outputs, what)
        check_values(use, outputs, after, what)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Chooses the op types that are compiled."""
    if "compiled_op_type" in metafunc.fixturenames:
        every = 1 if metafunc.config.getoption("--everything") else COMPILED_SAMPLE
        chosen = [n for n in OP_TYPES if zlib.crc32(n.encode()) % every == 0]
        metafunc.parametrize("compiled_op_type", chosen)


def test_compiled_code_agrees(compiled_op_type: str, everything: bool) -> None:
    """Compiled code gives what the NumPy kernels give, to rounding."""
    op_type = compiled_op_type
    with gf.Graph().as_default():
        chosen = samples(op_type, None if everything else 3)
        uses = [Use(op_type, s, "placeholders", np.random.default_rng(0)) for s in chosen]
        found, expected = (run_uses(uses, tier) for tier in ("always", "never"))
    for use, got, wanted in zip(uses, found, expected, strict=True):
        what = f"{op_type} {use.sample!r}"
        for part, (values, references) in zip(("output", "variable"), zip(got, wanted, strict=True)):
            for position, (value, reference) in enumerate(zip(values, references, strict=True)):
                assert_close(value, reference, 4 * use.sample.tolerance, f"{what}, {part} {position}")


def check_static(use: Use, outputs: Sequence[Any], what: str) -> None:
    """Static dtypes and shapes hold; where all inputs are known, they say everything."""
    for tensor, value in zip(use.op.outputs, outputs, strict=True):
        expected = np.dtype(object) if tensor.dtype == gf.string else np.dtype(tensor.dtype.as_numpy_dtype)
        assert np.asarray(value).dtype == expected, f"{what}: {np.asarray(value).dtype} for {tensor.dtype}"
        assert tensor.shape.is_compatible_with(np.shape(value)), (
            f"{what}: {np.shape(value)} for {tensor.shape}"
        )
        if use.form == "constants" and not use.op.op_def.dynamic_shape:
            assert tensor.shape.is_fully_defined(), f"{what}: the shape is only known as {tensor.shape}"


def check_values(use: Use, outputs: Sequence[Any], after: Sequence[Any], what: str) -> None:
    """Outputs and variables are those of the references."""
    sample = use.sample
    flat = [v for i in sample.inputs for v in (i if isinstance(i, list) else [i])]
    if sample.expected is not None:
        if sample.through is not None:
            outputs = sample.through(*outputs)
        with np.errstate(all="ignore"):
            expected = sample.expected(*flat)
        expected = expected if isinstance(expected, tuple | list) else (expected,)
        assert len(outputs) == len(expected), what
        for got, value in zip(outputs, expected, strict=True):
            assert_close(got, value, sample.tolerance, what)
    if sample.after is not None:
        left = sample.after(*flat)
        for got, value in zip(after, left if isinstance(left, tuple) else (left,), strict=True):
            assert_close(got, value, sample.tolerance, f"{what}, the variable afterwards")


def smooth_uses(op_type: str, everything: bool, count: int) -> Iterator[Use]:
    """Uses whose gradients differences can tell: double precision, at most 24 numbers, an array with elements first."""
    fit = [s for s in samples(op_type) if s.smooth and 0 < size_of(s) <= 40 and is_double(s)]
    empty = [s for s in samples(op_type) if s.smooth and size_of(s) == 0 and is_double(s)][: 1 + everything]
    for sample in (fit if everything else fit[:count]) + empty:
        yield Use(op_type, sample, "placeholders", np.random.default_rng(0))


def floats_of(sample: Sample) -> list[Any]:
    flat = [(n, v) for n, i in enumerate(sample.inputs) for v in (i if isinstance(i, list) else [i])]
    return [v for n, v in flat if v.dtype.kind in "fc" and (sample.varied is None or n in sample.varied)]


def size_of(sample: Sample) -> int:
    return sum(v.size for v in floats_of(sample))


def is_double(sample: Sample) -> bool:
    found = floats_of(sample)
    return bool(found) and all(v.dtype in (np.float64, np.complex128) for v in found)


def varied(use: Use) -> list[Any]:
    """The tensors that differences are taken of."""
    positions = [n for n, i in enumerate(use.sample.inputs) for _ in (i if isinstance(i, list) else [i])]
    chosen = use.sample.varied
    return [
        t
        for n, t in zip(positions, use.flat, strict=True)
        if (t.dtype.is_floating or t.dtype.is_complex) and (chosen is None or n in chosen)
    ]


def continuous(use: Use) -> list[Any]:
    """The outputs that have a gradient."""
    wanted = use.sample.results
    return [
        t
        for n, t in enumerate(use.op.outputs)
        if (t.dtype.is_floating or t.dtype.is_complex) and (wanted is None or n in wanted)
    ]


def gradient_error(xs: Sequence[Any], feeds: dict[Any, Any], y: Any) -> float:
    """How far gf.gradients are from differences, relative to the largest derivative."""
    session = gf.get_default_session()
    shape = np.shape(session.run(y, feeds))
    found = gf.testing.compute_gradient(
        list(xs), [feeds[x].shape for x in xs], y, shape, [feeds[x] for x in xs], 1e-5, None,
        {k: v for k, v in feeds.items() if k not in set(xs)},
    )  # fmt: skip
    scale = max([1.0, *(float(np.max(np.abs(n), initial=0)) for _, n in found)])
    return max(float(np.max(np.abs(t - n), initial=0)) for t, n in found) / scale


@pytest.mark.parametrize("op_type", DIFFERENTIABLE)
def test_gradient_is_the_limit_of_differences(op_type: str, everything: bool) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")):
        uses = list(smooth_uses(op_type, everything, 3))
        assert uses, f"{op_type} has no sample at which its gradient can be checked"
        for use in uses:
            doubles = [y for y in continuous(use) if y.dtype in (gf.float64, gf.complex128)]
            for position, y in enumerate(doubles):
                error = gradient_error(varied(use), use.feeds, y)
                assert error < 1e-6, f"{op_type} {use.sample!r}, output {position}: off by {error}"


@pytest.mark.parametrize("op_type", ELEMENTWISE)
def test_second_gradient_is_the_limit_of_differences(op_type: str, everything: bool) -> None:
    random = np.random.default_rng(3)
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        for use in smooth_uses(op_type, everything, 2):
            (y,) = use.op.outputs
            shape = np.shape(session.run(y, use.feeds))
            weights = np.asarray(random.uniform(0.5, 1, shape)).astype(y.dtype.as_numpy_dtype)
            xs = varied(use)
            for x, first in zip(xs, gf.gradients(y, xs, grad_ys=weights), strict=True):
                if first is not None:
                    error = gradient_error(xs, use.feeds, first)
                    assert error < 1e-6, f"{op_type} {use.sample!r}, gradient to {x.name}: off by {error}"


@pytest.mark.parametrize("op_type", DIFFERENTIABLE)
def test_gradient_does_not_need_static_shapes(op_type: str, everything: bool) -> None:
    chosen = [s for s in taken(op_type, everything) if s.smooth and not s.static and floats_of(s)]
    found: list[list[Any]] = []
    for form in ("placeholders", "partly", "unknown") if chosen else ():  # An empty graph cannot be run.
        random = np.random.default_rng(7)
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
            uses = [Use(op_type, sample, form, np.random.default_rng(9)) for sample in chosen]
            feeds = {k: v for use in uses for k, v in use.feeds.items()}
            values = session.run([list(use.op.outputs) for use in uses], feeds)
            tensors = []
            for use, outputs in zip(uses, values, strict=True):
                ys = continuous(use)
                seeds = [
                    np.asarray(random.uniform(1, 2, np.shape(v))).astype(t.dtype.as_numpy_dtype)
                    for t, v in zip(use.op.outputs, outputs, strict=True)
                    if t in ys
                ]
                xs = varied(use)
                gradients = gf.gradients(ys, xs, grad_ys=seeds) if ys else []
                pairs = [(x, gf.convert_to_tensor(g)) for x, g in zip(xs, gradients) if g is not None]
                for x, g in pairs:
                    assert g.dtype == x.dtype, f"{op_type} {use.sample!r}: {g.dtype} for {x.dtype}"
                    assert g.shape.is_compatible_with(use.feeds[x].shape), (
                        f"{op_type} {use.sample!r} as {form}"
                    )
                tensors.append([g for _, g in pairs])
            found.append([v for group in session.run(tensors, feeds) for v in group])
    for other in found[1:]:
        for got, expected in zip(other, found[0], strict=True):
            assert_close(got, expected, 1, op_type)
