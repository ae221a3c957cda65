"""Protects ops of extensions: NumPy and compiled code, gradients, devices, GraphDefs, `graphflow ops`, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import extend
from graphflow._core.compiler.support import Support, support
from graphflow._core.graph.op_def import lookup, registry
from graphflow.cli.main import main
from tests.extend import acme

ROWS = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)


def expected(rows: Any) -> Any:
    size = np.sqrt(np.mean(rows**2, axis=1) + 1e-6)
    normal = rows / size[:, None]
    return normal / (1 + np.exp(-1.702 * normal)) + size[:, None]


def model(rows: gf.Tensor) -> gf.Tensor:
    normal, size = acme.row_norm(rows)
    return acme.quick_gelu(normal) + size[:, None]


@pytest.mark.parametrize("compiled", ["never", "always"])
def test_both_tiers_compute_them(compiled: str) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 5])
        y = model(x)
        assert y.shape.as_list() == [None, 5]
        with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
            for _ in range(3):
                np.testing.assert_allclose(session.run(y, {x: ROWS}), expected(ROWS), rtol=1e-5)
            plan = session.explain(y, {x: ROWS})
    fused = [line for line in plan.splitlines() if line.startswith("fused")]
    assert any("AcmeRowNorm, AcmeQuickGelu" in line for line in fused) == (compiled == "always"), plan


def test_a_rule_that_declines_leaves_the_op_to_numpy() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float16, [None, 5])
        normal, _ = acme.row_norm(x)
        y = gf.cast(normal, gf.float32) * 2.0
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            found = session.run(y, {x: ROWS.astype(np.float16)})
    np.testing.assert_allclose(
        found, 2 * ROWS / np.sqrt(np.mean(ROWS**2, axis=1, keepdims=True)), rtol=0.01, atol=0.01
    )


def test_gradients_agree_with_differences() -> None:
    with gf.Graph().as_default(), gf.Session():
        x = gf.placeholder(gf.float64, [4, 5])
        assert gf.test.compute_gradient_error(x, [4, 5], model(x), [4, 5], delta=1e-5) < 1e-7


@pytest.mark.parametrize("compiled", ["never", "always"])
def test_gradients_agree_in_both_tiers(compiled: str) -> None:
    with gf.Graph().as_default():
        w = gf.Variable(ROWS)
        step = gf.train.GradientDescentOptimizer(0.1).minimize(gf.reduce_sum(gf.square(model(w))))
        with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
            session.run(w.initializer)
            for _ in range(3):
                session.run(step)
            found = session.run(w)
    wanted = ROWS.astype(np.float64)
    for _ in range(3):
        wanted = wanted - 0.1 * slope(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def slope(rows: Any) -> Any:
    """The gradient of the sum of the squares, by central differences in double precision."""
    found = np.zeros_like(rows)
    for place in np.ndindex(rows.shape):
        ends = []
        for sign in (1, -1):
            moved = rows.copy()
            moved[place] += sign * 1e-6
            ends.append(np.sum(expected(moved) ** 2))
        found[place] = (ends[0] - ends[1]) / 2e-6
    return found


def test_each_of_two_devices_computes_them() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 5])
        with gf.device("/cpu:1"):
            y = model(x)
        z = model(y)
        with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
            found = session.run(z, {x: ROWS})
            first, second = session.explain(z, [x]).split("part ")[1:]
    assert "AcmeRowNorm" in first and "AcmeRowNorm" in second
    np.testing.assert_allclose(found, expected(expected(ROWS)), rtol=1e-5)


def test_one_with_an_effect_runs_in_each_run() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        ticks = acme.ticks()
        both = [ticks, ticks + 0]
        assert [session.run(both) for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]


def test_a_graph_def_brings_them() -> None:
    with gf.Graph().as_default() as graph:
        x = gf.placeholder(gf.float32, [None, 5], name="x")
        gf.identity(model(x), name="y")
    message = gf.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with gf.Graph().as_default(), gf.Session() as session:
        x, y = gf.import_graph_def(message, return_elements=["x:0", "y:0"], name="")
        (gradient,) = gf.gradients(y, x)
        np.testing.assert_allclose(session.run(y, {x: ROWS}), expected(ROWS), rtol=1e-5)
        assert np.isfinite(session.run(gradient, {x: ROWS})).all()


def test_a_graph_def_with_an_op_of_an_extension_that_is_not_imported_says_so() -> None:
    with gf.Graph().as_default() as graph:
        acme.ticks(name="t")
    message = graph.as_graph_def()
    message.node[0].op = "OtherTicks"
    with (
        gf.Graph().as_default(),
        pytest.raises(gf.errors.NotFoundError, match=r"OtherTicks: 't'\nImport the package"),
    ):
        gf.import_graph_def(message)


def test_the_table_of_ops_names_the_extension(capsys: pytest.CaptureFixture[str]) -> None:
    assert support("AcmeQuickGelu") == Support(
        "AcmeQuickGelu", "yes", "kernel", "scalar", True, "", False, "tests", since=""
    )
    assert support("AcmeRowNorm") == Support(
        "AcmeRowNorm", "yes", "kernel", "rule", True, "", False, "tests", since=""
    )
    ticks = support("AcmeTicks")
    assert (ticks.gradient, ticks.compiled, ticks.gpu) == ("none", "", False)
    assert "no lowering rule" in ticks.gpu_reason
    assert main(["ops", "AcmeRowNorm"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("of the extension tests")
    assert main(["ops", "--markdown"]) == 0
    assert "Acme" not in capsys.readouterr().out


# ---- mistakes -----------------------------------------------------------------------------------------------------


def unused(op: gf.Operation) -> Any:
    return [(op.inputs[0].dtype, op.inputs[0].shape)]


def define(name: str = "AcmeWrong", inputs: Any = ("x: T=float",), **options: Any) -> Any:
    given = {"infer": unused, "gradient": extend.NOT_DIFFERENTIABLE, **options}
    return extend.define_op(name, inputs, **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "acme_wrong"}, "An op type is named like QuickGelu"),
        ({"name": "MatMul"}, "'MatMul' is defined twice: in graphflow"),
        ({"name": "Cholesky"}, "'Cholesky' is defined twice: in graphflow"),
        ({"inputs": ("x",)}, "an input is written 'name: type'"),
        ({"inputs": ("x@: T",)}, "an input is written 'name: type'"),
        ({"inputs": ("x: flaot",)}, "the input 'x: flaot'"),
        ({"scalar": "{y} + 1"}, "names 'y', which is no input"),
        ({"scalar": "gamma({x})"}, "no function 'gamma' of 1 arguments"),
        ({"scalar": "{x} +"}, "AcmeWrong: .*docs/extend.md"),
        ({"scalar": "{x}", "outputs": ("a", "b")}, "use extend.lowers"),
        ({"inputs": ("x: complex",), "scalar": "{x}"}, "no code is made of a scalar text of complex64"),
        ({"inputs": ("x*: T",), "scalar": "{x}"}, "takes a list has no scalar text"),
    ],
)
def test_a_wrong_definition_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        define(**options)


def test_a_shape_rule_that_returns_something_else_says_what_it_must_return() -> None:
    wrong = define("AcmeWrongShape", infer=lambda op: [gf.float32])
    with gf.Graph().as_default(), pytest.raises(TypeError, match=r"must return a list of \(dtype, shape\)"):
        extend.add_operation(wrong, [gf.constant(1.0)])


def test_what_a_shape_rule_refuses_names_the_operation_and_the_line() -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match=r"'odd'.*shape \(2,\).*test_ops.py:\d+"):
        acme.row_norm(gf.constant([1.0, 2.0]), name="odd")


def test_ops_of_graphflows_own_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match="MatMul is an op of graphflow's own: its kernel"):
        extend.kernel("MatMul")
    with pytest.raises(ValueError, match="MatMul is an op of graphflow's own: its lowering"):
        extend.lowers("MatMul")(lambda lowering, i: False)
    with pytest.raises(KeyError):
        extend.kernel("AcmeNoSuchOp")


def test_each_is_registered_once() -> None:
    with pytest.raises(ValueError, match="'AcmeTicks' is defined twice"):
        extend.kernel("AcmeTicks")(lambda node: lambda: 0)
    with pytest.raises(ValueError, match="AcmeRowNorm has a lowering rule for cpu already"):
        extend.lowers("AcmeRowNorm")(lambda lowering, i: False)
    with pytest.raises(ValueError, match="A target is one of cpu, gpu"):
        extend.lowers("AcmeTicks", target="tpu")  # type: ignore[arg-type]


# ---- mistakes of kernels and rules --------------------------------------------------------------------------------


def run_twice(op_type: str, compiled: str, **attrs: Any) -> Any:
    """What an op of this type gives for ones, with 1 added."""
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [4], name="x")
        y = extend.add_operation(lookup(op_type), [x], attrs, name="y").outputs[0] + 1.0
        with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
            return [session.run(y, {x: np.ones(4)}) for _ in range(2)][-1]


WRONG_KERNELS: dict[str, tuple[Any, str]] = {
    "AcmeWrongDtype": (lambda x: x * np.float64(2), "float64 as output 0, and the op's|says float32"),
    "AcmeWrongKind": (lambda x: [1.0] * 4, "returned list, and the op's definition says float32"),
    "AcmeWrongExtents": (lambda x: x[:1], r"the shape \(1,\) as output 0|says \(4,\)"),
}


@pytest.mark.parametrize("compiled", ["never", "always"])
@pytest.mark.parametrize("name", WRONG_KERNELS)
def test_a_kernel_that_returns_something_else_than_was_declared_is_an_error(name: str, compiled: str) -> None:
    kernel, message = WRONG_KERNELS[name]
    if name not in registry():
        define(name)
        extend.kernel(name)(lambda node: kernel)
    with pytest.raises(gf.errors.InternalError, match=f"{name} 'y'.*({message})"):
        run_twice(name, compiled)


def test_a_kernel_of_several_results_returns_as_many() -> None:
    define("AcmeTooFew", infer=lambda op: unused(op) * 2, outputs=("a", "b"))
    extend.kernel("AcmeTooFew")(lambda node: lambda x: x)
    with pytest.raises(gf.errors.InternalError, match="must return 2 results as a tuple, got ndarray"):
        run_twice("AcmeTooFew", "never")


def test_a_kernel_that_cannot_be_made_names_the_operation() -> None:
    define("AcmeNoFactory")
    extend.kernel("AcmeNoFactory")(lambda node: node.attrs["nowhere"])
    with pytest.raises(
        gf.errors.InternalError, match="AcmeNoFactory 'y': its kernel cannot be made: KeyError"
    ):
        run_twice("AcmeNoFactory", "never")


def forgets(lowering: extend.Lowering, i: extend.Instruction) -> bool:
    return True


def leaves_some(lowering: extend.Lowering, i: extend.Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    assert value is not None
    lowering.elementwise(i, "{0}", [value], lowering.temporary("t", value.dtype, value.shape))
    return False


def is_wrong(lowering: extend.Lowering, i: extend.Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    assert value is not None
    lowering.elementwise(i, "{0} * 3.0", [value], lowering.result(i))
    return True


@pytest.mark.faulty_compiler
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (forgets, "forgets has returned True, and not made result 0 of AcmeRule_forgets 'y'"),
        (leaves_some, "leaves_some has added statements for AcmeRule_leaves_some 'y', and returned False"),
        (is_wrong, "disagrees with NumPy"),
    ],
)
def test_a_wrong_rule_is_named_and_its_plan_stays_on_numpy(
    rule: Any, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"AcmeRule_{rule.__name__}"
    define(name)
    extend.kernel(name)(lambda node: lambda x: x * 2)
    extend.lowers(name)(rule)
    np.testing.assert_array_equal(run_twice(name, "always"), np.full(4, 3, np.float32))
    assert message in caplog.text and "stays on NumPy" in caplog.text
