"""Protects which variables an optimizer takes."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow as gf
from graphflow.as_tensorflow.inside.variables import is_resource_variable


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("form", [list, tuple, lambda v: [[v[0]], (v[1],)], lambda v: dict(zip("ab", v, strict=True)),
                                  lambda v: dict(zip("ab", v, strict=True)).values()])  # fmt: skip
def test_variables_may_come_in_many_forms(form: Any) -> None:
    variables = [gf.Variable(1.0), gf.Variable(2.0)]
    pairs = gf.train.GradientDescentOptimizer(0.1).compute_gradients(
        variables[0] * variables[1], var_list=form(variables)
    )
    assert [variable for _, variable in pairs] == variables


def test_what_is_no_variable_is_named() -> None:
    with pytest.raises(TypeError, match=r"Argument is not a gf\.Variable: 3"):
        gf.train.GradientDescentOptimizer(0.1).compute_gradients(gf.Variable(1.0) * 2.0, var_list=[3])


@pytest.mark.parametrize("use_resource", [True, False])
def test_powers_of_adam_are_of_the_kind_of_its_variables(use_resource: bool) -> None:
    v = gf.get_variable(f"v_{use_resource}", [2], use_resource=use_resource)
    optimizer = gf.train.AdamOptimizer(0.1)
    optimizer.minimize(gf.reduce_sum(gf.square(v)))
    kinds = [is_resource_variable(w) for w in optimizer.variables() if "power" in w.name]
    assert kinds == [use_resource] * 2
