"""Comparisons, logical functions, selection, and the assertions built on them."""

import numpy as np
from harness import Family

FAMILY = Family("logic")

for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    FAMILY.expressions(
        """
        tf.{0}(ph([1.0, 2.0, 3.0]), ph([1.0, 3.0, 2.0]))
        tf.{0}(ph(i(2, 3)), ph(i(3)))
        tf.{0}(ph(i(2, 1), [None, 1]), ph(i(1, 3)))
        tf.{0}([1, 2], 2)
        tf.{0}(2, ph(i(3)))
        tf.{0}(x=1.5, y=2.0, name="compared")
        tf.{0}(ph(d(2), None), ph(d(2)))
        tf.{0}([float("nan"), 1.0], [float("nan"), 1.0])
        tf.{0}(ph(l(0)), ph(l(1)))
        """.format(_name)
    )
    FAMILY.errors(
        """
        tf.{0}(ph(f(2)), ph(i(2)))
        tf.{0}(ph(f(2)), ph(f(3)))
        tf.{0}(ph(i(2)), 1.5)
        """.format(_name)
    )

for _name in ("logical_and", "logical_or", "logical_xor"):
    FAMILY.expressions(
        """
        tf.{0}(ph(b(4)), ph(b(4)))
        tf.{0}(ph(b(2, 2)), ph(b(2)))
        tf.{0}([True, False], True)
        tf.{0}(True, False, name="both")
        """.format(_name)
    )
    FAMILY.errors(
        """
        tf.{0}(ph(i(2)), ph(i(2)))
        tf.{0}(ph(b(2)), ph(b(3)))
        """.format(_name)
    )

FAMILY.expressions(
    """
    tf.logical_not(ph(b(4)))
    tf.logical_not(True, name="inverse")
    tf.math.logical_and(True, [True, False])
    tf.equal(ph(["a", "b"]), "a")
    tf.not_equal(ph(["a", "b"]), ["a", "c"])
    tf.equal([True, False], [True, True])
    tf.where(ph([True, False, True]), ph(f(3)), ph(f(3)))
    tf.where(ph([[True, False], [False, True]]), ph(f(2, 2)), ph(f(2, 2)))
    tf.where(ph([True, False]), ph(f(2, 3)), ph(f(2, 3)))
    tf.where(ph(True), ph(f(2)), ph(f(2)))
    tf.where(ph(b(3), [None]), ph(f(3)), ph(f(3), None))
    tf.where(ph(b(3, 2)), ph(f(3, 2), [None, None]), ph(f(3, 2), [None, 2]))
    tf.where(ph(b(3, 2), [None, 2]), ph(f(3, 2), [None, None]), ph(f(3, 2), None))
    tf.where(ph([True, False]), [1, 2], [3, 4])
    tf.where(condition=[True, False], x=["a", "b"], y=["c", "d"], name="chosen")
    tf.where(ph([True, False, True]))
    tf.where(ph([[True, False], [True, True]]))
    tf.where(ph(b(2, 3), [None, 3]))
    tf.where(ph([False, False]))
    tf.where(ph([0.0, 1.5, 0.0]))
    tf.where(ph([0, 3]), name="positions")
    tf.where(ph(b(0)))
    tf.where(tf.less(ph(f(3)), 0.0), tf.zeros([3]), tf.ones([3]))
    """
)

FAMILY.differentiable(
    """
    tf.where(ph(b(4)), ph(f(4)), ph(f(4)))
    tf.where(ph([True, False]), ph(f(2, 2)), ph(f(2, 2))) * 1.0
    """
)

FAMILY.errors(
    """
    tf.logical_not(1)
    tf.where(ph(b(2)), ph(f(2)))
    tf.where(ph(b(2)), ph(f(2)), ph(f(3)))
    tf.where(ph(b(2)), ph(f(2)), ph(i(2)))
    tf.where(ph(b(3)), ph(f(2, 3)), ph(f(2, 3)))
    tf.where(ph(i(2)), ph(f(2)), ph(f(2)))
    tf.where(ph(b(3), None), ph(f(2), None), ph(f(2), None))
    """
)

ASSERTIONS = {
    "assert_equal": ("[1, 2], [1, 2]", "ph([1, 2]), [1, 3]"),
    "assert_none_equal": ("[1, 2], [2, 1]", "ph([1, 2]), [1, 3]"),
    "assert_less": ("[1, 2], [2, 3]", "ph([1, 2]), [1, 3]"),
    "assert_less_equal": ("[1, 2], [1, 3]", "ph([1, 4]), [1, 3]"),
    "assert_greater": ("[2, 3], [1, 2]", "ph([1, 4]), [1, 3]"),
    "assert_greater_equal": ("[2, 3], [2, 2]", "ph([0, 4]), [1, 3]"),
    "assert_positive": ("[1.0, 2.0]", "ph([0.0, 1.0])"),
    "assert_negative": ("[-1.0]", "ph([0.0])"),
    "assert_non_negative": ("[0.0, 2.0]", "ph([-1.0])"),
    "assert_non_positive": ("[0.0, -2.0]", "ph([1.0])"),
}
for _name, (_good, _bad) in ASSERTIONS.items():
    _run_good = "run(tf.{0}({1})) is None".format(_name, _good.replace("[", "ph([", 1).replace("]", "])", 1))
    FAMILY.expressions(_run_good)
    FAMILY.expressions("tf.{0}({1}, message='m', name='checked').name.partition('/')[0]".format(_name, _bad))
    FAMILY.errors("run(tf.{0}({1}))".format(_name, _bad))

FAMILY.expressions(
    """
    tf.assert_rank(ph(f(2, 3)), 2).type
    tf.assert_rank_at_least(ph(f(2, 3)), 1).type
    tf.assert_rank_in(ph(f(2, 3)), [1, 2]).type
    run(tf.assert_rank(ph(f(2, 3), None), 2)) is None
    run(tf.Assert(ph(True), ["fine"])) is None
    tf.Assert(ph(True), ["fine", ph(f(2))], summarize=3, name="sure").name.partition("/")[0]
    """
)

FAMILY.errors(
    """
    tf.assert_equal([1, 2], [1, 3])
    tf.assert_positive([0])
    tf.assert_rank(ph(f(2, 3)), 1)
    run(tf.assert_rank(ph(f(2, 3), None), 1))
    run(tf.Assert(ph(False), ["wrong", ph(f(2))]))
    run(tf.Assert(tf.constant(False), ["wrong"]))
    tf.Assert(ph(1.0), ["not a bool"])
    tf.Assert(ph(b(2)), [])
    """
)


@FAMILY.case()
def assertion_guards_what_depends_on_it(tf, t):
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.assert_positive(x)]):
        y = tf.identity(x) * 2.0
    return t.run(y, {x: [1.0, 2.0]}), t.error(lambda: t.run(y, {x: [1.0, -2.0]})), t.run(y, {x: [3.0]})


FAMILY.expressions(
    """
    tf.debugging.assert_shapes({ph(f(2, 3)): ("N", 3), ph(f(2, 4)): ("N", "D")}).type
    tf.debugging.assert_shapes([(ph(f(2, 3)), (None, ".")), (ph(f(2)), ["*", 2]), (tf.constant(1.0), ())]).type
    tf.debugging.assert_shapes([(ph(f(2, 3, 4)), (..., "Q")), (ph(f(4)), ("Q",)), (f(3), None)]).type
    """,
    names="none",
)
FAMILY.errors(
    """
    tf.debugging.assert_shapes([(ph(f(2, 3)), ("N", 4))])
    tf.debugging.assert_shapes([(ph(f(2, 3)), ("N", "N"))])
    tf.debugging.assert_shapes([(ph(f(2, 3)), ("N",))])
    tf.debugging.assert_shapes([(ph(f(2, 3)), ("N", "*"))])
    tf.debugging.assert_shapes([(ph(f(2, 3)), 3)])
    tf.debugging.assert_shapes([(tf.constant(1.0), (2,))])
    tf.debugging.assert_shapes([(ph(f(2)), ("*", "A", "B", "C"))])
    """
)


@FAMILY.case(names="none")
def shapes_that_the_run_knows(tf, t):
    x, y, z = (
        tf.placeholder(tf.float32, [None, 3]),
        tf.placeholder(tf.float32, [None]),
        tf.placeholder(tf.float32),
    )

    def run(check, *values):
        return t.error(lambda: t.run(check, dict(zip((x, y, z), values))) is None)

    check = tf.debugging.assert_shapes([(x, ("N", "D")), (y, ("N",)), (z, (..., "D"))])
    square = tf.debugging.assert_shapes([(z, ("A", "A"))], message="no square")
    vector = tf.debugging.assert_shapes([(z, (1,))])
    a, b = np.zeros([2, 3], "f"), np.zeros([2], "f")
    return (
        run(check, a, b, np.zeros([5, 3], "f")),
        run(check, a, b, np.zeros([3], "f")),
        run(check, a, b[:1], np.zeros([3], "f")),
        run(check, a, b, np.zeros([3, 4], "f")),
        run(square, a, b, np.zeros([2, 2], "f")),
        run(square, a, b, np.zeros([2, 3], "f")),
        run(square, a, b, np.zeros([2], "f")),
        run(vector, a, b, np.float32(1)),
        run(vector, a, b, np.zeros([1], "f")),
        run(vector, a, b, np.zeros([2], "f")),
    )
