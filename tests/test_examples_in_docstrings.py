"""Protects the examples in docstrings: each runs, in a graph of its own, and prints what stands below it.

Numbers need agree to five digits: they are rounded otherwise on another processor.
"""

from __future__ import annotations

import doctest
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import reduce
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.test_exports import public_callables

MOST_USED: Final = re.findall(
    r"\S+",
    """
placeholder Session reduce_mean reshape global_variables_initializer matmul nn.relu variable_scope reduce_sum
Variable train.AdamOptimizer cast concat shape train.Saver get_variable constant zeros nn.softmax square argmax
summary.scalar name_scope transpose summary.FileWriter equal device ConfigProto expand_dims nn.conv2d
trainable_variables squeeze log constant_initializer nn.dropout sqrt stack summary.merge_all
train.GradientDescentOptimizer add random_uniform Graph multiply gradients summary.histogram random_normal
nn.bias_add range app.run ones one_hot reduce_max set_random_seed control_dependencies split abs
train.RMSPropOptimizer get_collection nn.embedding_lookup group nn.sigmoid maximum clip_by_value cond nn.max_pool
assign nn.sparse_softmax_cross_entropy_with_logits truncated_normal_initializer gather train.latest_checkpoint
get_default_graph global_variables truncated_normal app.flags.FLAGS layers.dense identity ones_like add_n
nn.softmax_cross_entropy_with_logits exp sigmoid train.get_checkpoint_state app.flags.DEFINE_string
app.flags.DEFINE_integer random_normal_initializer zeros_initializer convert_to_tensor zeros_like minimum
nn.sigmoid_cross_entropy_with_logits tile nn.tanh where get_variable_scope clip_by_global_norm to_float
reset_default_graph unstack slice pow
""",
)
"""The 100 functions and classes that the programs of 94 public repositories use most, the most used first."""
WITHOUT_GRAPH: Final = {"graphflow._core.graph.defaults.reset_default_graph"}
"""Examples that may not run inside of `with graph.as_default()`."""
NUMBER: Final = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[-+]?\d+)?")


class Rounded(doctest.OutputChecker):
    """Takes floats that are close, and any spaces between words."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        texts = [re.sub(r"\s+", "", NUMBER.sub("<number>", text)) for text in (want, got)]
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (want, got)]
        return texts[0] == texts[1] and all(
            math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) for a, b in zip(*numbers, strict=True)
        )


def documented() -> Iterator[tuple[str, Any]]:
    """The public functions and classes with an example, once each."""
    found: dict[str, Any] = {}
    for _, _, function in public_callables():
        owner = inspect.getmodule(function)
        for part in function.__qualname__.split(".")[:-1]:
            owner = getattr(owner, part, None)
        for value in (function, owner):
            if ">>>" in (getattr(value, "__doc__", None) or "") and (
                inspect.isroutine(value) or inspect.isclass(value)
            ):
                found.setdefault(f"{value.__module__}.{value.__qualname__}", value)
    yield from found.items()


SHOWN: Final[Mapping[str, Any]] = dict(documented())


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_prints_what_it_says(name: str) -> None:
    value = SHOWN[name]
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(value) or "", {"gf": gf, "np": np}, name, inspect.getsourcefile(value), 0
    )
    said: list[str] = []
    with nullcontext() if name in WITHOUT_GRAPH else gf.Graph().as_default():
        doctest.DocTestRunner(Rounded(), verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name", MOST_USED)
def test_what_programs_use_most_has_an_example(name: str) -> None:
    value = reduce(getattr, name.split("."), gf)
    assert ">>>" in (inspect.getdoc(value) or "")
    assert getattr(value, "__module__", "").startswith("graphflow")
