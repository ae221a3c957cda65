"""Protects ops of extensions that write variables: both tiers, devices, clusters, files, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import extend
from graphflow._core.compiler.support import support
from graphflow._core.graph.op_def import registry
from graphflow.cli.main import main
from tests.cluster.serving import serve_all, spec_of
from tests.extend import acme

START = np.array([1.0, -2.0, 3.0], np.float32)
GRADIENTS = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as graph:
        yield graph


def expected(steps: int) -> tuple[Any, Any]:
    var, m = START.copy(), np.zeros(3, np.float32)
    for gradient in GRADIENTS[:steps]:
        m = np.float32(0.75) * m + np.float32(0.25) * gradient
        var = var - np.float32(0.5) * np.sign(m)
    return var, m


def model() -> tuple[gf.Variable, gf.Variable, gf.Tensor, gf.Tensor]:
    var, m = gf.Variable(START, name="var"), gf.Variable(gf.zeros([3]), name="m")
    grad = gf.placeholder(gf.float32, [3], name="grad")
    return var, m, grad, acme.lion(var, m, 0.5, 0.75, grad, name="step")


def check(session: gf.Session, parts: Any) -> None:
    var, m, grad, step = parts
    session.run(gf.global_variables_initializer())
    for count, gradient in enumerate(GRADIENTS, 1):
        wanted_var, wanted_m = expected(count)
        np.testing.assert_allclose(session.run(step, {grad: gradient}), wanted_var, rtol=1e-6)
        np.testing.assert_allclose(session.run(var), wanted_var, rtol=1e-6)
        np.testing.assert_allclose(session.run(m), wanted_m, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("compiled", ["never", "always"])
def test_both_tiers_write_the_variables(compiled: str) -> None:
    parts = model()
    with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
        check(session, parts)
        plan = session.explain(parts[-1], {parts[2]: GRADIENTS[0]})
    assert ("fused" in plan) == (compiled == "always"), plan


def test_it_runs_where_its_variables_are() -> None:
    with gf.device("/cpu:1"):
        parts = model()
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        check(session, parts)


def test_a_ps_runs_it() -> None:
    with ExitStack() as stack:
        spec = spec_of(stack, ps=1, worker=1)
        *_, worker = serve_all(stack, spec)
        with gf.device("/job:ps"):
            parts = model()
        with gf.Session(worker.target) as session:
            check(session, parts)


def test_what_it_gives_is_the_variable_for_the_next_write() -> None:
    var, _, grad, step = model()
    again = gf.assign_add(step, [1.0, 1.0, 1.0])
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        np.testing.assert_allclose(session.run(again, {grad: GRADIENTS[0]}), expected(1)[0] + 1)
        np.testing.assert_allclose(session.run(var), expected(1)[0] + 1)


def test_a_graph_def_brings_it() -> None:
    model()
    message = gf.GraphDef.FromString(gf.get_default_graph().as_graph_def().SerializeToString())
    with gf.Graph().as_default(), gf.Session() as session:
        gf.import_graph_def(message, name="")
        session.run(["var/Assign", "m/Assign"])
        np.testing.assert_allclose(session.run("step:0", {"grad:0": GRADIENTS[0]}), expected(1)[0], rtol=1e-6)


def test_the_table_of_ops_has_it() -> None:
    found = support("AcmeApplyLion")
    assert (found.gradient, found.compiled) == ("none", "scalar")
    assert main(["ops", "AcmeApplyLion"]) == 0


# ---- kernels ------------------------------------------------------------------------------------------------------


def update(op_type: str, kernel: Any, slots: int = 2, **options: Any) -> Any:
    """An op that writes variables of any type by a kernel alone; the last input is a float32."""
    if op_type not in registry():
        names = [f"v{k}" for k in range(slots)]
        extend.define_op(
            op_type, [*(f"{n}&: T" for n in names), "x: float32"], infer=extend.same_as_input,
            gradient=extend.NOT_DIFFERENTIABLE, outputs=(names[0],), **options,
        )  # fmt: skip
        extend.kernel(op_type)(lambda node: kernel)
    return registry()[op_type]


def run_on(definition: Any, *starts: Any, compiled: str = "never") -> list[Any]:
    variables = [gf.Variable(start) for start in starts]
    op = extend.add_operation(definition, [*variables, 1.0], name="u")
    with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
        session.run(gf.global_variables_initializer())
        try:
            session.run(op)
        finally:
            after = session.run(variables)
    return after


@pytest.mark.parametrize("compiled", ["never", "always"])
def test_a_kernel_may_give_one_variable_anothers_value(compiled: str) -> None:
    swap = update("AcmeSwap", lambda a, b, x: (b, a[::-1]))
    a, b = run_on(swap, [1, 2], [3, 4], compiled=compiled)
    np.testing.assert_array_equal([a, b], [[3, 4], [2, 1]])


def test_texts_and_scalars_are_written_too() -> None:
    shout = update("AcmeShout", lambda text, x: np.char.upper(text.astype(bytes)).astype(object), slots=1)
    assert run_on(shout, ["a", "b"])[0].tolist() == [b"A", b"B"]
    count = update("AcmeCount", lambda n, x: n + n.dtype.type(1), slots=1)
    assert run_on(count, 4) == [5]


@pytest.mark.parametrize(
    ("op_type", "kernel", "error", "message"),
    [
        ("AcmeBadWrite", lambda a, b, x: a.fill(9), gf.errors.InvalidArgumentError, "read-only"),
        (
            "AcmeBadCount",
            lambda a, b, x: a + 1,
            gf.errors.InternalError,
            "the new values of v0, v1 as a tuple",
        ),
        (
            "AcmeBadType",
            lambda a, b, x: (a, b * 1.5),
            gf.errors.InternalError,
            r"float64 .*variable 'v1'.* int32",
        ),
        (
            "AcmeBadShape",
            lambda a, b, x: (a, b[:1]),
            gf.errors.InternalError,
            r"shape \(1,\) for the variable 'v1'",
        ),
        ("AcmeRaises", None, gf.errors.InvalidArgumentError, "AcmeRaises 'u'.*not today"),
    ],
)
def test_a_kernel_that_goes_wrong_changes_no_variable(
    op_type: str, kernel: Any, error: type[Exception], message: str
) -> None:
    def refuses(*values: Any) -> None:
        raise gf.errors.InvalidArgumentError(None, None, "not today")

    definition = update(op_type, kernel or refuses)
    variables = [gf.Variable([1, 2]), gf.Variable([3, 4])]
    op = extend.add_operation(definition, [*variables, 1.0], name="u")
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        with pytest.raises(error, match=message):
            session.run(op)
        np.testing.assert_array_equal(session.run(variables), [[1, 2], [3, 4]])


def test_updates_of_many_threads_are_whole() -> None:
    definition = update("AcmeBothUp", lambda a, b, x: (a + np.int32(1), b + np.int32(1)))
    variables = [gf.Variable([0] * 1000), gf.Variable([0] * 1000)]
    op = extend.add_operation(definition, [*variables, 1.0])
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(op)
        threads = [threading.Thread(target=lambda: [session.run(op) for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert np.unique(session.run(variables)).tolist() == [201]


# ---- mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        (("x: T", "v&: T"), {}, "the variables that it writes come first"),
        (("v&: T", "w&: float32", "x: T"), {}, "are of one type"),
        (("v&: T", "x: T"), {"outputs": ("output",)}, r"gives the first of them: outputs=\('v',\)"),
        (("v&: T", "x: T"), {"gradient": lambda op, g: g}, "has no gradient"),
        (("v&: T=float", "x: T"), {"scalar": "{v} + {x}"}, "is 'name = expression'"),
        (("v&: T=float", "w&: T"), {"scalar": ("v = {v} + 1",)}, "assigns nothing to 'w'"),
        (("v&: T=float", "x: T"), {"scalar": ("v = {v} + {y}",)}, "names 'y', which is no input"),
        (("v&: T=float", "x: T"), {"scalar": ("v = {v} + late", "late = {x}")}, "AcmeWrongUpdate: .*late"),
        (("v@: T", "x: T"), {}, "an input is written 'name: type'"),
    ],
)
def test_a_wrong_definition_is_refused(inputs: Any, options: dict[str, Any], message: str) -> None:
    given = {"outputs": ("v",), "gradient": extend.NOT_DIFFERENTIABLE, **options}
    with pytest.raises(ValueError, match=message):
        extend.define_op("AcmeWrongUpdate", inputs, infer=extend.same_as_input, **given)
    assert "AcmeWrongUpdate" not in registry()


def test_a_value_in_a_variables_place_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Input 'm' of 'AcmeApplyLion' must be a gf\.Variable"):
        acme.lion(gf.Variable(START), gf.zeros([3]), 0.5, 0.75, gf.zeros([3]))


def test_a_variable_with_copies_is_written_in_an_update() -> None:
    strategy = gf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        var, m = gf.Variable(START), gf.Variable(gf.zeros([3]))
        with pytest.raises(ValueError, match=r"a copy on each of several devices.*strategy\.update"):
            acme.lion(var, m, 0.5, 0.75, gf.ones([3]))
        step = strategy.update(var, lambda copy: acme.lion(copy, m.get(copy.device), 0.5, 0.75, gf.ones([3])))
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(gf.global_variables_initializer())
        session.run(strategy.unwrap(step))
        for copy in var.copies:
            np.testing.assert_array_equal(session.run(copy), START - 0.5)
