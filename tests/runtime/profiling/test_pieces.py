"""Protects what Session.explain says of a compiled plan: its pieces, their bytes, and why some stay on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow as gf
from graphflow._core.runtime.profiling.pieces import Piece, pieces
from graphflow._core.session import executables


def compiled_text(fetches: Any, feed: Any) -> str:
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run(gf.global_variables_initializer())
        for _ in range(3):  # observed, compiled and compared, used
            session.run(fetches, feed)
        return session.explain(fetches, feed).partition("compiled for")[2]


def line_of(text: str, start: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return line


def test_what_stays_on_numpy_says_why() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [4], name="x")
        distinct, _ = gf.unique(gf.cast(x * 2.0, gf.int32), name="distinct")
        sizes = gf.reduce_max(distinct, name="largest")
        text = gf.as_string(gf.reduce_sum(x), name="text")
        joined = gf.identity(gf.string_join([text, "!"]), name="same")
        none = gf.identity(gf.tanh(x)[4:] + 1.0, name="none")
        bent = gf.cond(x[0] > 0, lambda: gf.as_string(x[0]), lambda: text, name="bent")
        told = compiled_text([sizes, joined, none, bent], {x: np.ones(4)})
    assert line_of(told, "numpy Unique").endswith(
        "(no native form: the shape of the result depends on values)"
    )
    assert line_of(told, "numpy Max").endswith("(it takes 'distinct:0', whose shape follows from values)")
    assert "which is no array of numbers" in line_of(told, "numpy Identity: same")
    assert "no native form: strings" in line_of(told, "numpy AsString: text")
    assert "which has no elements" in line_of(told, "numpy AddV2")
    assert line_of(told, "numpy If").endswith("(not all of its branches is native)")


def test_a_plan_that_is_native_whole_gives_no_reasons() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [4, 3])
        told = compiled_text(gf.matmul(gf.tanh(x), x, transpose_b=True), {x: np.ones((4, 3))})
    assert "numpy" not in told and "(" not in told.split("\n", 1)[1]


def test_pieces_say_how_many_bytes_they_take_and_give() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        x = gf.placeholder(gf.float32, [100, 3])
        w = gf.Variable(gf.ones([3, 5]), name="w")
        step = w.assign_sub(gf.matmul(gf.tanh(x) * 2.0, gf.ones([100, 5]), transpose_a=True)).op
        session.run(w.initializer)
        for _ in range(3):
            session.run(step, {x: np.ones((100, 3))})
        (plan,) = executables(session)[-1].compiled()
        found: list[Piece] = pieces(plan)
    assert [piece.kind for piece in found] == ["fused", "kernel", "fused"]
    tanh, product, update = found
    assert (tanh.op, tanh.read, tanh.written) == ("Tanh+Mul", 1200 + 4, 1200)
    assert (product.op, product.read, product.written) == ("MatMul", 1200 + 2000, 60)
    assert (update.op, update.written, list(update.variables)) == ("AssignSub", 60, ["w:0"])
