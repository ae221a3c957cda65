"""Protects gradients through branches and loops: they equal those of the same program unrolled.

Every loop here is written twice, as gf.while_loop and as a Python loop that builds each iteration; nothing else is
trusted.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf

START = np.array([0.3, 0.7])
FACTOR = np.array([0.5, 1.1])
TABLE = np.arange(10, dtype=np.float64).reshape(5, 2) / 10


@pytest.fixture
def session() -> Iterator[Any]:
    with gf.Graph().as_default(), gf.Session() as opened:
        yield opened


def looped(count: int, body: Callable[[Any, Any], Any], start: Any) -> Any:
    return gf.while_loop(lambda i, _: i < count, lambda i, x: (i + 1, body(i, x)), [0, start])[1]


def unrolled(count: int, body: Callable[[Any, Any], Any], start: Any) -> Any:
    for i in range(count):
        start = body(gf.constant(i), start)
    return start


def branched(predicate: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
    return gf.cond(predicate, true, false)


def selected(predicate: Any, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
    weight = gf.cast(predicate, gf.float64)
    return weight * true() + (1 - weight) * false()


def close(found: Any, expected: Any) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def plain(loop: Any, cond: Any, x: Any, w: Any) -> Any:
    return loop(3, lambda i, v: gf.sin(v) * w + v * v, x)


def cond_in_loop(loop: Any, cond: Any, x: Any, w: Any) -> Any:
    return loop(4, lambda i, v: cond(gf.equal(i % 2, 0), lambda: v * w + x, lambda: v * v * 0.3), x)


def loop_in_cond_in_loop(loop: Any, cond: Any, x: Any, w: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        c = gf.tanh(v) * w
        return cond(gf.less(i, 2), lambda: loop(2, lambda j, u: u * c + gf.sin(u * w), v), lambda: v * x)

    return loop(3, body, x)


def loop_in_loop_of_changing_length(loop: Any, cond: Any, x: Any, w: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        c = gf.tanh(v) * w
        if loop is looped:
            return (
                gf.while_loop(lambda j, _: j <= i, lambda j, u: (j + 1, u * c + gf.sin(u * w)), [0, v])[1] + c
            )
        known = next(lengths)
        return unrolled(known, lambda j, u: u * c + gf.sin(u * w), v) + c

    lengths = iter((1, 2, 3))
    return loop(3, body, x)


def cond_in_loop_in_cond(loop: Any, cond: Any, x: Any, w: Any) -> Any:
    yes = gf.placeholder_with_default(True, [])
    return cond(yes, lambda: cond_in_loop(loop, cond, x * w, w) * x, lambda: x)


def three_loops(loop: Any, cond: Any, x: Any, w: Any) -> Any:
    return loop(2, lambda i, a: loop(2, lambda j, b: loop(2, lambda k, c: c * w + gf.sin(b) * a, b), a), x)


PROGRAMS = [
    plain, cond_in_loop, loop_in_cond_in_loop, loop_in_loop_of_changing_length, cond_in_loop_in_cond, three_loops,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_equal_those_of_the_unrolled_program(session: Any, program: Any) -> None:
    x, w = gf.placeholder(gf.float64, [2]), gf.placeholder(gf.float64, [2])
    values = []
    for loop, cond in ((looped, branched), (unrolled, selected)):
        y = program(loop, cond, x, w)
        values.append(session.run([y, *gf.gradients(y, [x, w])], {x: START, w: FACTOR}))
    close(*values)


def test_a_loop_without_an_iteration_passes_the_gradient_on(session: Any) -> None:
    x, w = gf.placeholder(gf.float64, [2]), gf.placeholder(gf.float64, [2])
    count = gf.placeholder(gf.int32, [])
    y = gf.while_loop(lambda i, _: i < count, lambda i, v: (i + 1, v * w), [0, x])[1]
    found = session.run(gf.gradients(y, [x, w]), {x: START, w: FACTOR, count: 0})
    close(found, [np.ones(2), np.zeros(2)])


@pytest.mark.parametrize("taken", [True, False])
def test_higher_derivatives_through_nested_branches(session: Any, taken: bool) -> None:
    x, predicate = gf.placeholder(gf.float64, [2]), gf.placeholder(gf.bool, [])
    values = []
    for cond in (branched, selected):
        y = cond(
            predicate,
            lambda cond=cond: cond(gf.logical_not(predicate), lambda: gf.exp(x), lambda: x**3) * gf.sin(x),
            lambda: x**4,
        )
        derivatives = [y]
        for _ in range(3):
            derivatives += gf.gradients(derivatives[-1] * x, x)
        values.append(session.run(derivatives, {x: START, predicate: taken}))
    close(*values)


def test_a_second_derivative_of_a_loop_is_refused(session: Any) -> None:
    x = gf.placeholder(gf.float64, [2])
    first = gf.gradients(looped(3, lambda i, v: v * x, x), x)
    with pytest.raises(TypeError, match="Second-order gradient for while loops"):
        gf.gradients(first, x)


def test_two_derivatives_of_one_loop_in_one_run(session: Any) -> None:
    x = gf.placeholder(gf.float64, [2])
    y = looped(3, lambda i, v: gf.sin(v) * x, x)
    once, twice = gf.gradients(y, x)[0], gf.gradients(y * 2.0, x)[0]
    found = session.run([once, twice], {x: START})
    close([found[1]], [2 * found[0]])


def test_a_loop_built_without_back_prop_has_no_gradient(session: Any) -> None:
    x = gf.placeholder(gf.float64, [2])
    y = gf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * x), [0, x], back_prop=False)[1]
    assert gf.gradients(y, x) == [None]


def test_loop_variables_are_kept_apart(session: Any) -> None:
    x, z = gf.placeholder(gf.float64, [2]), gf.placeholder(gf.float64, [2])
    _, y, q = gf.while_loop(lambda i, *_: i < 3, lambda i, v, q: (i + 1, gf.sin(v) * x, q * z), [0, x, z])
    assert gf.gradients(y, z) == [None]
    assert gf.gradients(q, x) == [None]
    close(session.run(gf.gradients(q, z), {x: START, z: FACTOR}), [4 * FACTOR**3])


def test_a_stopped_gradient_in_a_loop(session: Any) -> None:
    x, w = gf.placeholder(gf.float64, [2]), gf.placeholder(gf.float64, [2])
    values = []
    for loop in (looped, unrolled):
        y = loop(3, lambda i, v: gf.stop_gradient(v) * w + v * x, x)
        values.append(session.run(gf.gradients(y, [x, w]), {x: START, w: FACTOR}))
    close(*values)


def test_rows_taken_in_a_loop_give_a_gradient_of_rows(session: Any) -> None:
    table = gf.placeholder(gf.float64, [5, 2])
    rows = gf.constant([[0, 1], [3, 1], [4, 4]])
    values = []
    for loop in (looped, unrolled):
        total = loop(
            3, lambda i, a: a + gf.reduce_sum(gf.gather(table, rows[i]) ** 2), gf.constant(0.0, gf.float64)
        )
        (gradient,) = gf.gradients(total, table)
        assert isinstance(gradient, gf.IndexedSlices)
        values.append([session.run(gf.convert_to_tensor(gradient), {table: TABLE})])
    close(*values)


@pytest.mark.parametrize("taken", [True, False])
def test_rows_taken_in_a_branch_give_a_gradient_of_rows(session: Any, taken: bool) -> None:
    table, predicate = gf.placeholder(gf.float64, [5, 2]), gf.placeholder(gf.bool, [])
    both = gf.cond(predicate, lambda: gf.gather(table, [1, 1]) * 2, lambda: gf.gather(table, [3, 0]) * 3)
    one = gf.cond(predicate, lambda: gf.gather(table, [1, 1]) * 2, lambda: gf.zeros([2, 2], gf.float64))
    expected = np.zeros((5, 2))
    expected[1] = 4 if taken else 0
    for result, otherwise in ((both, 3), (one, 0)):
        (gradient,) = gf.gradients(result, table)
        assert isinstance(gradient, gf.IndexedSlices)
        if not taken:
            expected[[0, 3]] = otherwise
        close([session.run(gf.convert_to_tensor(gradient), {table: TABLE, predicate: taken})], [expected])


def test_a_variable_read_in_branches_and_loops_learns(session: Any) -> None:
    variable = gf.Variable(TABLE)
    total = looped(
        3,
        lambda i, a: a + gf.cond(i > 0, lambda: gf.reduce_sum(variable[i] ** 2), lambda: a),
        gf.constant(0.0, gf.float64),
    )
    step = gf.train.GradientDescentOptimizer(0.5).minimize(total)
    session.run(gf.global_variables_initializer())
    session.run(step)
    expected = TABLE.copy()
    expected[1:3] = 0
    close([session.run(variable)], [expected])


def test_gradients_taken_inside_a_loop(session: Any) -> None:
    x, w = gf.placeholder(gf.float64, [2]), gf.placeholder(gf.float64, [2])
    u = w * w
    inner = looped(3, lambda i, v: v - 0.1 * gf.gradients(gf.reduce_sum(v**3), v)[0], x)
    outer = looped(3, lambda i, v: v - 0.1 * gf.gradients(gf.reduce_sum(v * u * u), w)[0], x)
    expected_inner = expected_outer = START
    for _ in range(3):
        expected_inner = expected_inner - 0.3 * expected_inner**2
        expected_outer = expected_outer - 0.4 * expected_outer * FACTOR**3
    close(session.run([inner, outer], {x: START, w: FACTOR}), [expected_inner, expected_outer])


# ---- TensorArrays -------------------------------------------------------------------------------------------------


def test_an_array_read_and_written_in_nested_loops(session: Any) -> None:
    x = gf.placeholder(gf.float64, [3, 2])
    rows = gf.TensorArray(gf.float64, 3, clear_after_read=False).unstack(x)

    def body(i: Any, total: Any, out: Any) -> Any:
        total = gf.while_loop(lambda j, _: j <= i, lambda j, t: (j + 1, t * rows.read(j) + 1.0), [0, total])[
            1
        ]
        return i + 1, total, out.write(i, total * rows.read(i))

    start = (0, gf.ones([2], gf.float64), gf.TensorArray(gf.float64, 3))
    _, total, out = gf.while_loop(lambda i, *_: i < 3, body, start)
    stacked = out.stack()
    reference, kept = gf.ones([2], gf.float64), []
    for i in range(3):
        for j in range(i + 1):
            reference = reference * x[j] + 1.0
        kept.append(reference * x[i])
    results: list[Any] = [[total, stacked], [reference, gf.stack(kept)]]
    found = [session.run(r + gf.gradients(r[0], x) + gf.gradients(r, x), {x: TABLE[:3]}) for r in results]
    close(*found)


def test_an_array_made_in_each_iteration(session: Any) -> None:
    x = gf.placeholder(gf.float64, [3, 2])

    def body(i: Any, total: Any) -> Any:
        array = gf.TensorArray(gf.float64, 2)
        _, array = gf.while_loop(
            lambda j, _: j < 2, lambda j, a: (j + 1, a.write(j, x[i] * x[j] * total)), [0, array]
        )
        return total + gf.reduce_sum(array.stack(), 0)

    y = looped(3, body, gf.ones([2], gf.float64))
    reference = gf.ones([2], gf.float64)
    for i in range(3):
        reference = reference + x[i] * (x[0] + x[1]) * reference
    close(*[session.run([r, *gf.gradients(r, x)], {x: TABLE[:3]}) for r in (y, reference)])


def test_what_was_not_read_has_a_gradient_of_zeros(session: Any) -> None:
    x = gf.placeholder(gf.float64, [3, 2])
    y = gf.TensorArray(gf.float64, 3).unstack(x).read(1) * 2.0
    close(session.run(gf.gradients(y, x), {x: TABLE[:3]}), [np.array([[0.0, 0], [2, 2], [0, 0]])])


def test_the_second_derivative_through_an_array(session: Any) -> None:
    x = gf.placeholder(gf.float64, [3, 2])
    rows = gf.TensorArray(gf.float64, 3, clear_after_read=False).unstack(x**3)
    values = []
    for y in (rows.read(0) * rows.read(1), x[0] ** 3 * x[1] ** 3):
        (first,) = gf.gradients(y, x)
        values.append(session.run([first, *gf.gradients(first, x)], {x: TABLE[1:4]}))
    close(*values)


def test_the_name_of_the_gradients_does_not_matter(session: Any) -> None:
    x = gf.placeholder(gf.float64, [3, 2])
    y = gf.TensorArray(gf.float64, 3).unstack(x).stack() * 3.0
    close(session.run(gf.gradients(y, x, name="mine"), {x: TABLE[:3]}), [np.full((3, 2), 3.0)])


def test_functions_along_an_axis(session: Any) -> None:
    x = gf.placeholder(gf.float64, [3, 2])
    pairs = [
        (
            gf.map_fn(lambda r: gf.map_fn(lambda e: e * e * gf.reduce_sum(r), r), x),
            x * x * gf.reduce_sum(x, 1, keepdims=True),
        ),
        (
            gf.scan(lambda a, e: a * e + e, x),
            gf.stack([x[0], x[0] * x[1] + x[1], (x[0] * x[1] + x[1]) * x[2] + x[2]]),
        ),
        (gf.scan(lambda a, e: a * e, x, reverse=True), gf.stack([x[0] * x[1] * x[2], x[1] * x[2], x[2]])),
        (gf.foldl(lambda a, e: a * e + 1, x), (x[0] * x[1] + 1) * x[2] + 1),
        (gf.foldr(lambda a, e: a * e + 1, x), (x[2] * x[1] + 1) * x[0] + 1),
        (
            gf.foldr(lambda a, e: a - e * e, x, initializer=gf.ones([2], gf.float64)),
            1 - gf.reduce_sum(x * x, 0),
        ),
    ]
    together = [[[y, *gf.gradients(y, x)] for y in pair] for pair in pairs]
    for found, expected in session.run(together, {x: TABLE[1:4]}):
        close(found, expected)


@pytest.mark.parametrize("fed_back", ["integer", "bool", "both", "outside"])
@pytest.mark.parametrize("nested", [False, True])
def test_what_no_gradient_goes_through_may_be_carried_in_a_loop(
    session: Any, fed_back: str, nested: bool
) -> None:
    """A decoder that takes its own guess as its next input: the guess comes from the state, and leads to it."""
    table, w = gf.placeholder(gf.float64, [5, 2]), gf.placeholder(gf.float64, [2, 5])

    def step(state: Any, word: Any, flag: Any) -> Any:
        scores = gf.matmul(gf.tanh(state + gf.gather(table, word)), w)
        guess = gf.argmax(scores, 1, output_type=gf.int32)
        if fed_back in ("integer", "both"):
            word = guess
        if fed_back in ("bool", "both"):
            flag = gf.reduce_sum(scores) > 0.1
        following = gf.matmul(scores, table)
        state = gf.where(flag, following, gf.sin(state) + 0.1 * following)
        return state, word, flag

    start = (table[:3] * 0.5, gf.constant([0, 3, 1]), gf.constant(True))

    def unrolled(count: int, variables: Any) -> Any:
        for _ in range(count):
            variables = step(*variables)
        return variables

    def looped(count: int, variables: Any, inner: int = 1) -> Any:
        def body(i: Any, *inside: Any) -> Any:
            return (i + 1, *(step(*inside) if inner == 1 else looped(inner, inside)))

        return gf.while_loop(lambda i, *_: i < count, body, (0, *variables))[1:]

    values = []
    for state, _, _ in (unrolled(4, start), looped(2, start, 2) if nested else looped(4, start)):
        gradients = gf.gradients(gf.reduce_sum(state**2), [table, w])
        assert None not in gradients
        dense = [gf.convert_to_tensor(g) for g in gradients]
        values.append(session.run(dense, {table: TABLE - 4.2, w: np.sin(np.arange(10.0)).reshape(2, 5)}))
    assert all(np.abs(v).max() > 1e-3 for v in values[0])
    close(*values)
