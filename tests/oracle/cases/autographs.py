"""Functions whose control flow depends on tensors, rewritten by tf.autograph.to_graph; also of Python's values.

TensorFlow 1.15 leaves == to Python, which is never true of tensors, so it is not among these.
"""

import numpy as np
from harness import Family

FAMILY = Family("autographs")


def branches(x):
    if x > 0:
        y = x * 2
    else:
        y = x * 3
    return y


def one_branch(x):
    y = x + 1
    if x > 2:
        y = y * y
        z = y - x
        y = z + 1
    return y


def early(x):
    if x > 10:
        return x
    elif x > 0:
        x = x - 100
        return x * 2
    else:
        return -x


def nested(a, b):
    if a > 0:
        if b > 0:
            c = a + b
        else:
            c = a - b
    else:
        c = a
    return c, a


def factorial(n):
    r = 1
    while n > 1:
        r = r * n
        n -= 1
    return r


def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 < 1:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def odd_sum(n):
    s = 0
    for i in range(n):
        if i % 2 < 1:
            continue
        if i > 7 and not i > 100:
            break
        s += i
    return s


def first_above(n, least):
    found = -1
    i = 0
    while i < n:
        i += 1
        if i * i > least or i > 50:
            found = i
            break
        found = found - 1
    return found, i


def pairs(n):
    s = 0
    for i in range(n):
        for j in range(i):
            if j > 1:
                break
            s += i * j
    return s


def helper(x):
    if x < 0:
        x = -x
    return x


def calls(x):
    return helper(x) + (1 if x > 3 else 2)


_CASES = {
    branches: [(3,), (-3,)],
    one_branch: [(1,), (5,)],
    early: [(20,), (5,), (-4,)],
    nested: [(1, 2), (1, -2), (-1, 5)],
    factorial: [(1,), (5,)],
    collatz: [(7,)],
    odd_sum: [(0,), (4,), (20,)],
    first_above: [(10, 20), (3, 100), (0, 5)],
    pairs: [(5,)],
    helper: [(-2,), (2,)],
    calls: [(-5,), (7,)],
}


def _converted(function, given):
    def build(tf, t):
        made = tf.autograph.to_graph(function)
        inputs = [tf.placeholder(tf.int32, []) for _ in given[0]]
        outputs = made(*inputs)
        return [t.run(outputs, dict(zip(inputs, values))) for values in given], [
            made(*values) for values in given
        ]

    return build


for _function, _given in _CASES.items():
    FAMILY.generated(_function.__name__, _converted(_function, _given), _function.__name__)


def rows_above(rows, least):
    total = 0.0
    for row in rows:
        if row > least:
            total += row
    return total


@FAMILY.case()
def rows_of_a_tensor_and_its_gradient(tf, t):
    x = t.ph(np.float32([1.0, -2.0, 3.0]), [None])
    total = tf.autograph.to_graph(rows_above)(x, 0.5)
    return total, tf.gradients(total * total, [x])


class Scaled(object):
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        if x > 0:
            x = x * self.factor
        return x


@FAMILY.case()
def a_method_and_a_closure(tf, t):
    bound = Scaled(3)
    offset = 10

    def shifted(x):
        while x < offset:
            x += bound.factor
        return x

    return (
        tf.autograph.to_graph(Scaled.apply)(bound, t.ph(2)), tf.autograph.to_graph(shifted)(t.ph(2)),
        tf.autograph.to_graph(shifted)(2),
    )  # fmt: skip


def defaults(x, y=2, *rest, **more):
    if x > y:
        x = x + sum(rest) + more.get("z", 0)
    return x


@FAMILY.case()
def arguments_of_every_kind(tf, t):
    made = tf.autograph.to_graph(defaults)
    return made(t.ph(3)), made(t.ph(3), 1, 10, 20, z=100), made(t.ph(3), y=5)


@FAMILY.case()
def a_function_in_a_data_set(tf, t):
    dataset = tf.data.Dataset.range(4).map(tf.autograph.to_graph(lambda_free))
    element = dataset.make_one_shot_iterator().get_next()
    return [t.run(element) for _ in range(4)]


def lambda_free(n):
    if n > 1:
        n = n * 100
    return n


@FAMILY.case()
def what_is_not_converted(tf, t):
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return x if isinstance(x, int) else x + 1000

    def caller(x):
        if x > 0:
            x = plain(x)
        return x

    return tf.autograph.to_graph(caller)(t.ph(1)), tf.contrib.autograph.to_graph(branches)(t.ph(1))
