"""cond, case, while_loop, control dependencies, grouping; values, gradients, and which branch runs."""

from harness import Family

FAMILY = Family("control_flow")

for _pred in ("ph(True)", "ph(False)"):
    FAMILY.differentiable(
        """
        (lambda x, y: tf.cond({0}, lambda: x * 2.0, lambda: y * x + 1.0))(ph(f(2)), ph(f(2)))
        (lambda x: tf.cond({0}, lambda: tf.square(x), lambda: -x))(ph(f(3)))
        (lambda x: tf.cond({0}, lambda: [x, x * 2.0], lambda: [x * 3.0, x]))(ph(f(2)))
        (lambda x: tf.cond({0}, lambda: x * 2.0, lambda: tf.zeros([2])))(ph(f(2)))
        (lambda x: tf.cond({0}, lambda: tf.cond(x[0] > 5.0, lambda: x, lambda: x * x), lambda: x))(ph(f(2)))
        """.format(_pred)
    )
    FAMILY.expressions(
        """
        tf.cond({0}, lambda: 1, lambda: 2)
        tf.cond({0}, lambda: (1, 2.0), lambda: (3, 4.0))
        tf.cond({0}, lambda: [tf.constant("a")], lambda: [tf.constant("b")])
        tf.cond({0}, lambda: [tf.constant("a")], lambda: [tf.constant("b")], strict=True)
        tf.cond(pred={0}, true_fn=lambda: tf.constant([1]), false_fn=lambda: tf.constant([1, 2]), name="chosen")
        tf.cond({0}, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))
        (lambda x, y: tf.cond({0}, lambda: x, lambda: y))(ph(f(2, 3), [None, 3]), ph(f(4, 3)))
        tf.cond({0}, lambda: tf.no_op(), lambda: tf.no_op()).name
        tf.case([({0}, lambda: tf.constant(1))], default=lambda: tf.constant(2))
        tf.case([({0}, lambda: tf.constant(1)), (ph(True), lambda: tf.constant(3))], lambda: tf.constant(2))
        """.format(_pred)
    )

FAMILY.differentiable(
    """
    tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [0, ph(f(2))])[1]
    (lambda w: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * w), [0, ph(f(2))])[1])(ph(f(2)))
    (lambda m: tf.while_loop(lambda i, x: i < m, lambda i, x: [i + 1, tf.tanh(x) + x], (tf.constant(0), ph(f(3)))))(
        ph(4))[1]
    tf.while_loop(lambda x: tf.reduce_sum(x) < 50.0, lambda x: x * x, [ph([2.0, 3.0])])
    tf.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2.0), [0, ph(f(2))])[1]
    tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, tf.while_loop(lambda j, y: j < 3,
        lambda j, y: (j + 1, y * y * 0.5), [0, x])[1]), [0, ph(f(2))])[1]
    tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: x * 2.0,
        lambda: x * x)), [0, ph(f(2))])[1]
    (lambda w: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.matmul(x, w)), [0, ph(f(1, 2))])[1])(
        ph(f(2, 2)))
    (lambda v: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * v), [0, ph(f(2))])[1])(var([1.5, 0.5]))
    tf.identity(tf.stop_gradient(ph(f(2))) * ph(f(2)))
    tf.map_fn(lambda x: x * x, ph(f(3)))
    tf.map_fn(lambda x: tf.reduce_sum(x) * x, ph(f(3, 2)))
    tf.map_fn(lambda x: x[0] * x[1], (ph(f(3)), ph(f(3))), dtype=tf.float32)
    tf.map_fn(lambda x: (x, x * 2.0), ph(f(3)), dtype=(tf.float32, tf.float32))
    tf.scan(lambda a, x: a + x, ph(f(4)))
    tf.scan(lambda a, x: a * x, ph(f(3)), initializer=ph(2.0))
    tf.scan(lambda a, x: a * x, ph(f(3)), reverse=True)
    """,
    tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.case({ph(False): lambda: tf.constant(1), ph(True): lambda: tf.constant(2)}, exclusive=True)
    tf.case([(ph(True), lambda: tf.constant(1))], name="picked")
    tf.case(pred_fn_pairs=[(ph(2) > 3, lambda: tf.constant(1)), (ph(2) > 1, lambda: tf.constant(5))],
        default=lambda: tf.constant(2), strict=True)
    tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0])
    tf.while_loop(lambda i: i < 10, lambda i: [i + 3], [tf.constant(0)])
    tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), (0, 0))
    tf.while_loop(cond=lambda i: i < 3, body=lambda i: i + 1, loop_vars=[0], parallel_iterations=1, name="loop")
    tf.while_loop(lambda i: tf.constant(True), lambda i: i + 1, [0], maximum_iterations=4)
    tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], maximum_iterations=4)
    tf.while_loop(lambda i: i < 2, lambda i: (i + 1,), (0,), return_same_structure=True)
    tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x[:1]], 0)), [0, tf.constant([1.0])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, {"a": p["a"] + 1, "b": p["a"]}), [0, {"a": 1, "b": 2}])
    tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, (p[1], p[0] + p[1])), [0, (1, 1)])
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], back_prop=False, swap_memory=True)
    tf.while_loop(lambda a, b: b > 0, lambda a, b: (b, a % b), [ph(48), ph(36)])
    tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + "x"), [0, "a"])
    tf.map_fn(lambda x: x + 1, np.array([1, 2, 3]))
    tf.map_fn(lambda x: x + 1, tf.constant([1, 2, 3]), parallel_iterations=1, name="mapped")
    tf.map_fn(lambda x: tf.cast(x, tf.float32) / 2.0, tf.constant([1, 2, 3]), dtype=tf.float32)
    tf.map_fn(lambda x: {"s": x["a"] + x["b"]}, {"a": tf.constant([1, 2]), "b": tf.constant([3, 4])},
        dtype={"s": tf.int32})
    tf.map_fn(lambda x: x * 2.0, ph(f(3, 2), [None, 2]))
    tf.map_fn(fn=lambda x: tf.reduce_sum(x), elems=ph(f(3, 2)), back_prop=False, infer_shape=True)
    tf.map_fn(lambda x: x, ph(f(0, 2)))
    tf.scan(lambda a, x: a + x, np.array([1, 2, 3, 4]))
    tf.scan(fn=lambda a, x: (a[1], a[0] + a[1]), elems=tf.zeros([5]), initializer=(0.0, 1.0), name="fibonacci")
    tf.scan(lambda a, x: a + x[0] * x[1], (tf.constant([1, 2]), tf.constant([3, 4])), initializer=0)
    tf.group(ph(f(2)) + 1.0, tf.no_op())
    tf.group(tf.no_op(), name="together")
    tf.group()
    tf.group([tf.no_op(), tf.no_op()])
    tf.tuple([ph(f(2)), ph(f(2)) * 2.0])
    tf.tuple([ph(1.0), None, ph(2.0)], name="both")
    tf.tuple([ph(1.0)], control_inputs=[tf.no_op()])
    tf.no_op()
    tf.no_op(name="nothing")
    tf.stop_gradient(ph(f(2)))
    tf.stop_gradient(ph(f(2)), name="held")
    tf.stop_gradient(input=[1.0])
    tf.py_func(lambda x: x * 2, [ph(f(2))], tf.float32)
    tf.py_func(lambda x, y: (x + y, x - y), [ph(f(2)), ph(f(2))], [tf.float32, tf.float32])
    tf.py_func(lambda: np.int64(7), [], tf.int64)
    tf.py_func(func=lambda x: x, inp=[ph(i(2))], Tout=tf.int32, stateful=False, name="called")
    tf.py_func(lambda x: x.decode() + "!", [tf.constant("a")], tf.string)
    tf.py_func(lambda x: None, [ph(1.0)], [])
    tf.Print(ph(f(2)), ["message"])
    tf.Print(ph(f(2), [None]), [ph(f(2))], message="values", first_n=1, summarize=2, name="shown")
    """.replace("", "").replace("", "")
)

FAMILY.errors(
    """
    tf.cond(True, lambda: 1, lambda: 2) + "a"
    tf.cond(ph(True), lambda: 1, lambda: 2.0)
    tf.cond(ph(True), lambda: [1, 2], lambda: [1])
    tf.cond(ph(True), 1, lambda: 2)
    tf.cond(ph(True), lambda: 1)
    tf.cond(ph(b(2)), lambda: 1, lambda: 2)
    tf.cond(ph(1.0), lambda: 1, lambda: 2)
    tf.cond(ph(True), lambda: 1, lambda: 2, fn1=lambda: 3)
    tf.case([])
    tf.case([(True, lambda: 1)])
    tf.case([(ph(False), lambda: tf.constant(1))])
    tf.case([(ph(1), lambda: tf.constant(1))], default=lambda: tf.constant(2))
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [])
    tf.while_loop(lambda i: i < 3, lambda i: (i + 1, i), [0])
    tf.while_loop(lambda i: i < 3, lambda i: i + 1.5, [0])
    tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [0])
    tf.while_loop(lambda i: tf.stack([i, i]) < 3, lambda i: i + 1, [ph(0)])
    tf.while_loop(lambda i: i, lambda i: i + 1, [0])
    tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, tf.constant([1.0])])
    tf.while_loop(3, lambda i: i, [0])
    tf.while_loop(lambda i: i < 3, 3, [0])
    tf.while_loop(lambda i, j: i < 3, lambda i: i, [0])
    tf.map_fn(3, [1, 2])
    tf.map_fn(lambda x: x, 1.0)
    tf.map_fn(lambda x: tf.cast(x, tf.float32), [1, 2])
    tf.map_fn(lambda x: (x, x), [1, 2])
    tf.scan(lambda a, x: tf.cast(a, tf.float32), np.array([1, 2]))
    tf.scan(3, np.array([1, 2]))
    tf.group(3)
    tf.tuple([])
    tf.tuple([None])
    tf.py_func(lambda x: x.astype(np.float64), [ph(f(2))], tf.float32)
    tf.py_func(lambda x: 1 / 0, [ph(f(2))], tf.float32)
    tf.py_func(3, [ph(f(2))], tf.float32)
    """
)


@FAMILY.case()
def control_dependencies_order_a_write_before_a_read(tf, t):
    v = tf.Variable(1.0)
    bump = tf.assign_add(v, 1.0)
    with tf.control_dependencies([bump]):
        after = v.read_value()
        copied = tf.identity(v) * 10.0
    t.initialize()
    return t.run([after, copied]), t.run(copied), t.run(v)


@FAMILY.case()
def control_dependencies_are_recorded(tf, t):
    a, b = tf.no_op(name="a"), tf.constant(1.0, name="b")
    with tf.control_dependencies([a, b]):
        c = tf.constant(2.0, name="c")
        with tf.control_dependencies([c]):
            d = tf.constant(3.0)
        with tf.control_dependencies(None):
            e = tf.constant(4.0)
    return [sorted(x.name for x in y.op.control_inputs) for y in (c, d, e)]


@FAMILY.case()
def only_the_taken_branch_runs(tf, t):
    first, second = tf.Variable(0), tf.Variable(0)
    pred = tf.placeholder(tf.bool, [])

    def left():
        with tf.control_dependencies([tf.assign_add(first, 1)]):
            return tf.constant(10)

    def right():
        with tf.control_dependencies([tf.assign_add(second, 1)]):
            return tf.constant(20)

    chosen = tf.cond(pred, left, right)
    t.initialize()
    runs = [t.run(chosen, {pred: p}) for p in (True, False, True)]
    return runs, t.run([first, second])


@FAMILY.case()
def what_is_outside_a_branch_runs_anyway(tf, t):
    v = tf.Variable(0)
    bump = tf.assign_add(v, 1)
    chosen = tf.cond(t.ph(False), lambda: tf.identity(bump), lambda: tf.constant(-1))
    t.initialize()
    return t.run(chosen), t.run(v)


@FAMILY.case()
def cond_with_python_predicate(tf, t):
    return t.error(lambda: tf.cond(True, lambda: tf.constant(1), lambda: tf.constant(2)))


@FAMILY.case()
def a_loop_that_assigns(tf, t):
    v = tf.Variable(1.0)

    def body(i):
        with tf.control_dependencies([tf.assign(v, v * 2.0)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])
    t.initialize()
    return t.run(loop), t.run(v)


@FAMILY.case()
def group_runs_everything(tf, t):
    v, w = tf.Variable(1), tf.Variable(10)
    both = tf.group(tf.assign_add(v, 1), tf.assign_add(w, 5), name="both")
    t.initialize()
    result = t.run(both)
    return result, t.run([v, w]), both.type


@FAMILY.case()
def tensor_array_written_and_stacked(tf, t):
    array = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    for k in range(3):
        array = array.write(k, t.ph(t.f(2)))
    return array.stack(), array.read(1), array.size(), array.gather([2, 0]), array.dtype


@FAMILY.case()
def tensor_array_options(tf, t):
    array = tf.TensorArray(
        dtype=tf.int32, size=0, dynamic_size=True, clear_after_read=False, element_shape=[2], name="kept"
    )
    array = array.write(0, [1, 2]).write(2, [5, 6]).write(1, [3, 4])
    return array.stack("stacked"), array.concat(), array.read(0), array.size()


@FAMILY.case()
def tensor_array_unstack_scatter_split(tf, t):
    x = t.ph(t.f(3, 2))
    unstacked = tf.TensorArray(tf.float32, 3).unstack(x)
    scattered = tf.TensorArray(tf.float32, 3).scatter([2, 0, 1], x)
    split = tf.TensorArray(tf.float32, 2, clear_after_read=False, infer_shape=False).split(x, [1, 2])
    return (
        unstacked.read(2),
        scattered.stack(),
        split.read(1),
        split.concat(),
        tf.gradients(unstacked.read(1), x),
    )


@FAMILY.case()
def tensor_array_in_a_loop(tf, t):
    x = t.ph(t.f(3, 2))
    rows = tf.TensorArray(tf.float32, 3).unstack(x)

    def body(i, total, out):
        total = total + rows.read(i) * total
        return i + 1, total, out.write(i, total)

    _, total, out = tf.while_loop(lambda i, *_: i < 3, body, (0, tf.ones([2]), tf.TensorArray(tf.float32, 3)))
    stacked = out.stack()
    return total, stacked, tf.gradients(stacked, x), tf.gradients(total, x)


@FAMILY.case()
def tensor_array_misuse(tf, t):
    def read_twice():
        array = tf.TensorArray(tf.float32, 2).write(0, 1.0).write(1, 2.0)
        first = array.read(0)
        with tf.control_dependencies([first]):
            return t.run([first, array.read(0)])

    def mixed_shapes():
        array = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
        return t.run(array.stack())

    return [
        t.error(lambda: t.run(tf.TensorArray(tf.float32, 2).read(0))),
        t.error(lambda: t.run(tf.TensorArray(tf.float32, 2).write(5, 1.0).flow)),
        t.error(lambda: t.run(tf.TensorArray(tf.float32, 2).write(-1, 1.0).flow)),
        t.error(lambda: tf.TensorArray(tf.float32, 2).write(0, 1)) is not None,
        t.error(lambda: t.run(tf.TensorArray(tf.float32, 2).write(0, 1.0).write(0, 2.0).flow)),
        t.error(mixed_shapes),
        t.error(read_twice),
    ]


@FAMILY.case()
def second_order_through_cond_and_while(tf, t):
    x = t.ph([0.5, 1.5])
    y = tf.cond(x[0] < 1.0, lambda: x * x * x, lambda: x)
    first = tf.gradients(y, x)[0]
    product = tf.cond(t.ph(True), lambda: tf.reduce_sum(first * x), lambda: tf.constant(0.0))
    return first, tf.gradients(first, x), tf.gradients(product, x)


@FAMILY.case()
def fetching_inside_a_branch_is_refused(tf, t):
    kept = []

    def branch():
        kept.append(tf.constant(1.0) * 2.0)
        return kept[0]

    tf.cond(t.ph(True), branch, lambda: tf.constant(0.0))
    return t.error(lambda: t.run(kept[0])) is not None


@FAMILY.case()
def gradient_of_a_loop_with_maximum_iterations(tf, t):
    x = t.ph([1.5])
    y = tf.while_loop(lambda v: tf.reduce_sum(v) < 1000.0, lambda v: v * v, [x], maximum_iterations=3)
    return y, tf.gradients(y, x)


@FAMILY.case()
def rnn_by_hand(tf, t):
    inputs, w, u = t.ph(t.f(4, 2, 3)), t.ph(t.f(3, 2)), t.ph(t.f(2, 2))
    states = tf.scan(
        lambda h, x: tf.tanh(tf.matmul(x, w) + tf.matmul(h, u)), inputs, initializer=tf.zeros([2, 2])
    )
    loss = tf.reduce_sum(tf.square(states[-1]))
    return states, loss, tf.gradients(loss, [inputs, w, u])


@FAMILY.case()
def specs_as_shape_invariants(tf, t):
    def grow(kept, spec, start):
        return tf.while_loop(
            lambda i, _: i < 3,
            lambda i, x: (i + 1, kept(x)),
            [start, tf.constant([1])],
            [tf.TensorSpec([], tf.int32), spec],
        )

    good = grow(lambda x: tf.concat([x, x], 0), tf.TensorSpec([None], tf.int32), tf.constant(0))
    return (
        t.run(good),
        good[1].shape.as_list(),
        t.error(lambda: grow(lambda x: x, tf.TensorSpec([None], tf.float32), tf.constant(0))),
        t.error(lambda: grow(lambda x: x, tf.TensorSpec([None], tf.int32), tf.constant(0.0))),
    )


@FAMILY.case()
def rows_of_a_variable(tf, t):
    variable = tf.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    rows = variable.sparse_read([1, 0])
    t.run(tf.global_variables_initializer())
    return t.run(rows), t.run(tf.gradients(rows * rows, variable)[0].values)
