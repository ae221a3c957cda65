"""Protects `graphflow ops` and docs/ops.md: the table says of each op what is registered, and the page is the table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

import graphflow as gf
from graphflow._core.compiler.support import Support, op_types, support
from graphflow._core.graph.op_def import is_extension
from graphflow.cli.main import main
from graphflow.cli.ops import functions_of_ops, page

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"
OPS_OF_RELEASES: Final[dict[str, int]] = {}
"""How many ops each version has added; what is not released yet is not counted."""
EXPECTED = [
    Support("MatMul", "yes", "kernel", "rule", True, "", True),
    Support("Tanh", "yes", "kernel", "scalar", True, "", True),
    Support("Reshape", "yes", "kernel", "view", True, "", True),
    Support("Identity", "yes", "kernel", "view", True, "", True),
    Support("Shape", "none", "kernel", "shapes", True, "", True),
    Support("Const", "none", "plan", "plan", True, "", True),
    Support(
        "Cholesky", "yes", "kernel", "rule", False, "decompositions and solutions of linear equations", True
    ),
    Support("SumToShape", "yes", "kernel", "rule", True, "", False),
]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The lines of `graphflow ops` with these arguments, which succeeds."""
    assert main(["ops", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_the_page_is_what_the_command_prints() -> None:
    assert gf.train.BytesList.__name__ == "BytesList"  # Messages are there once they were asked for.
    names = [name for name in op_types() if not is_extension(name)]
    assert PAGE.read_text("utf-8") == page([support(name) for name in names], functions_of_ops()), (
        "docs/ops.md is out of date. Renew it: graphflow ops --markdown > docs/ops.md"
    )


def test_the_command_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--markdown"]) == 0
    assert capsys.readouterr().out == PAGE.read_text("utf-8")


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda expected: expected.name)
def test_what_there_is_for_an_op(expected: Support) -> None:
    assert support(expected.name) == expected


def test_an_op_that_refuses_its_gradient_is_told_from_one_without() -> None:
    assert support("AdjustHue").gradient == "refused"
    assert support("ArgMax").gradient == "none"


def test_an_op_says_since_which_version_it_is_there() -> None:
    """Until it has its version's count below, an op that forgets to say `since` would be taken for one of the first."""
    found = Counter(support(name).since for name in op_types() if not is_extension(name))
    released = {version: count for version, count in found.items() if version != gf.__version__}
    assert released == OPS_OF_RELEASES, (
        f"After a release, OPS_OF_RELEASES has the number of its ops; an op that is new says since={gf.__version__!r}."
    )


def test_functions_are_found_by_the_ops_that_they_add() -> None:
    found = functions_of_ops()
    assert found["MatMul"] == ["matmul"]
    assert found["Sum"][0] == "reduce_sum"
    assert found["BatchMatMulV2"][0] == "matmul"
    assert found["Relu"] == ["nn.relu"]
    assert "sparse_segment_sum" in found["SparseSegmentSum"]  # Through a table of its forms.
    assert found["ScatterAdd"] == ["scatter_add"]  # By its name.
    assert "FIFOQueue" in found["FIFOQueueV2"]
    assert set(found) <= set(op_types())


def test_a_table_of_all_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = printed(capsys)
    assert head.split() == ["OP", "GRADIENT", "NUMPY", "COMPILED", "GPU", "TENSORFLOW", "SINCE", "gf."]
    assert [line.split()[0] for line in lines] == op_types()


@pytest.mark.parametrize(
    ("names", "ops"),
    [
        (["Tanh"], ["Atanh", "Tanh", "TanhGrad"]),
        (["tanhgrad"], ["TanhGrad"]),
        (["Tanh*d", "nn.elu"], ["Elu", "TanhGrad"]),
        (["reduce_logsumexp", "reduce_prod"], None),
    ],
)
def test_ops_are_asked_for_by_name_part_pattern_and_function(
    names: list[str], ops: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if ops is None:  # reduce_logsumexp adds several ops by other functions, none itself.
        assert main(["ops", *names]) == 2
        assert "'reduce_logsumexp'" in capsys.readouterr().err
        return
    _, *lines = printed(capsys, *names)
    assert [line.split()[0] for line in lines if " has no kernel" not in line] == ops


def test_why_an_op_has_no_kernel_on_a_gpu_is_said_where_it_was_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "Svd has no kernel on a GPU: decompositions and solutions of linear equations." in printed(
        capsys, "Svd"
    )


def test_help_says_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["ops", "--help"])
    assert ended.value.code == 0
    assert "--markdown" in (text := capsys.readouterr().out) and "NAME" in text
