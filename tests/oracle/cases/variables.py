"""Variables: construction, reading, assigning, scatter updates, collections, initialisation and its errors."""

from harness import Family

FAMILY = Family("variables")

FAMILY.expressions(
    """
    tf.Variable(1)
    tf.Variable(1.5)
    tf.Variable("text")
    tf.Variable(True)
    tf.Variable([1.0, 2.0])
    tf.Variable([[1, 2], [3, 4]], dtype=tf.float32)
    tf.Variable(np.arange(3))
    tf.Variable(np.zeros([2, 0], np.float32))
    tf.Variable(d(2), name="weights")
    tf.Variable(tf.zeros([2, 3]))
    tf.Variable(tf.constant([1.0, 2.0]), trainable=False, name="held")
    tf.Variable(initial_value=7, dtype=tf.int64)
    tf.Variable(lambda: tf.constant(3.0))
    tf.Variable(lambda: [1, 2], dtype=tf.float64)
    tf.Variable(1.0, expected_shape=[])
    tf.Variable(tf.range(3))
    tf.Variable(2.0, validate_shape=False)
    tf.Variable(tf.constant([1.0, 2.0]), validate_shape=False).shape
    tf.Variable(1.0, collections=["mine"]).name
    tf.Variable([1.0, 2.0]).value()
    tf.Variable([1.0, 2.0]).read_value()
    tf.Variable([1.0, 2.0]).initialized_value()
    tf.Variable([1.0, 2.0]).initial_value
    tf.Variable([1.0, 2.0]).shape
    tf.Variable([1.0, 2.0]).get_shape()
    tf.Variable([1.0, 2.0]).dtype.base_dtype
    tf.Variable([1.0, 2.0]).op.name
    tf.Variable([1.0, 2.0]).device
    tf.Variable([1.0, 2.0]).trainable
    tf.Variable([1.0], trainable=False).trainable
    tf.Variable([1.0]).initializer
    tf.Variable([1.0]).constraint is None
    tf.Variable([1.0, 2.0]) * 2.0
    tf.matmul(var([[1.0, 2.0]]), var([[3.0], [4.0]]))
    tf.Variable(var([1.0, 2.0]).initialized_value() * 2.0)
    tf.assign(var([1.0, 2.0]), [3.0, 4.0])
    tf.assign(var(1), 5)
    tf.assign(ref=var(1.0), value=ph(2.0), name="set")
    tf.assign(var([1.0]), tf.constant([1.0, 2.0]), validate_shape=False)
    tf.assign(var(1.0), 2.0, use_locking=True)
    tf.assign_add(var([1.0, 2.0]), [3.0, 4.0])
    tf.assign_sub(var([1, 2]), [3, 4], name="less")
    var([1.0, 2.0]).assign([3.0, 4.0])
    var([1.0, 2.0]).assign_add(ph([0.5, 1.5]))
    var([1.0, 2.0]).assign_sub([1.0, 1.0])
    var(1).assign(2, read_value=False)
    tf.scatter_update(var([1.0, 2.0, 3.0]), [0, 2], [9.0, 8.0])
    tf.scatter_update(var([[1.0, 2.0], [3.0, 4.0]]), 1, [9.0, 8.0])
    tf.scatter_update(ref=var([1, 2, 3]), indices=[1], updates=[7], name="put")
    tf.scatter_add(var([1.0, 2.0, 3.0]), [0, 0], [9.0, 8.0])
    tf.scatter_add(var([1.0, 2.0, 3.0]), [0, 1], 5.0)
    tf.scatter_sub(var([[1.0, 2.0], [3.0, 4.0]]), [1], [[1.0, 1.0]])
    tf.scatter_mul(var([1.0, 2.0, 3.0]), [1, 1], [2.0, 5.0])
    tf.scatter_div(var([1.0, 2.0, 3.0]), [1], [2.0])
    tf.scatter_nd_update(var([1.0, 2.0, 3.0]), [[0], [2]], [9.0, 8.0])
    tf.scatter_nd_add(var([[1.0, 2.0], [3.0, 4.0]]), [[0, 1], [0, 1]], [5.0, 6.0])
    var([1.0, 2.0, 3.0]).scatter_sub(tf.IndexedSlices(tf.constant([1.0]), tf.constant([2])))
    var([1.0, 2.0, 3.0]).scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([2])))
    var([1.0, 2.0, 3.0]).scatter_update(tf.IndexedSlices(tf.constant([1.0]), tf.constant([2])))
    var(0).count_up_to(3)
    tf.is_variable_initialized(var(1))
    tf.report_uninitialized_variables()
    [var(1.0).name, [x.name for x in tf.global_variables()], [x.name for x in tf.trainable_variables()]]
    tf.get_variable("v", initializer=[1.0, 2.0])
    tf.get_variable("v", initializer=tf.constant([1, 2]))
    tf.get_variable("v", [2], initializer=tf.zeros_initializer())
    tf.get_variable("v", shape=(2, 1), initializer=tf.ones_initializer)
    tf.get_variable("v", [2], tf.int32)
    tf.get_variable("v", [2], tf.bool)
    tf.get_variable("v", [], tf.float64, tf.constant_initializer(2.5))
    tf.get_variable("v", [2], initializer=lambda shape, dtype=None, partition_info=None: tf.ones(shape, dtype) * 3)
    tf.get_variable("v", 3, initializer=tf.zeros_initializer())
    tf.get_variable("v", tf.TensorShape([2]), initializer=tf.zeros_initializer(), trainable=False)
    tf.get_variable("v", initializer=1.0, dtype=tf.float32)
    tf.get_variable(name="v", dtype=tf.float32, initializer=np.ones([2], np.float32))
    tf.get_variable("v", [2], initializer=tf.zeros_initializer(), use_resource=True)
    tf.get_variable("v", [2], initializer=tf.zeros_initializer(), validate_shape=True, caching_device=None)
    tf.get_local_variable("lv", [2], initializer=tf.zeros_initializer())
    """
)

FAMILY.errors(
    """
    tf.Variable()
    tf.Variable(None)
    tf.Variable(ph([1.0, 2.0], None))
    tf.Variable([1.0, [2.0]])
    tf.Variable("a", dtype=tf.float32)
    tf.assign(var([1.0, 2.0]), [1.0, 2.0, 3.0])
    tf.assign(var(1.0), 1) + "a"
    tf.assign(var(1), 1.5)
    tf.assign(var(1.0), "a")
    tf.assign_add(var([1.0, 2.0]), [1.0])
    tf.assign_add(var(1.0), tf.constant(1))
    tf.assign(var([1.0, 2.0]), ph([1.0, 2.0, 3.0], None))
    tf.scatter_update(var([1.0, 2.0]), [2], [1.0])
    tf.scatter_update(var([1.0, 2.0]), [0], [1.0, 2.0])
    tf.scatter_add(var([1.0, 2.0]), [-1], [1.0])
    tf.scatter_nd_update(var([1.0, 2.0]), [[5]], [1.0])
    tf.get_variable("v")
    tf.get_variable("v", [2, None])
    tf.get_variable("v", [2], initializer=tf.constant([1.0, 2.0]))
    tf.get_variable("v", [3], initializer=[1.0, 2.0])
    tf.get_variable("v", [2], initializer=3)
    [tf.get_variable("v", [2]), tf.get_variable("v", [2])]
    tf.get_variable("bad name", [2])
    tf.Variable([1.0, 2.0], trainable=True)[5]
    var([1.0]).eval()
    tf.Variable(1.0).load(2.0)
    """
)

FAMILY.errors(
    """
    tf.Variable(1.0, collections=3)
    tf.assign(tf.constant(1.0), 2.0)
    tf.assign(3, 2.0)
    run(tf.variables_initializer([3]))
    """,
    ignore=("error",),
    reason="the class that TensorFlow raises is an accident of its Python code",
)


@FAMILY.case(initialize=False)
def uninitialized_variable_is_an_error(tf, t):
    v = tf.Variable([1.0, 2.0])
    w = v + 1.0
    failures = [t.error(lambda: t.run(v)), t.error(lambda: t.run(w))]
    failures.append(t.error(lambda: t.run(tf.assign_add(v, [1.0, 1.0]))))
    return failures, t.run(tf.assign(v, [3.0, 4.0])), t.run(w)


@FAMILY.case()
def reports_of_the_uninitialized(tf, t):
    v, w = tf.Variable(1.0, name="v"), tf.get_variable("w", [])
    local = tf.Variable(2.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    report, some = tf.report_uninitialized_variables(), tf.report_uninitialized_variables([v])
    is_set = tf.is_variable_initialized(w)
    found = [t.run(report), t.run(is_set)]
    t.run(v.initializer)
    found += [t.run(report), t.run(some)]
    t.run(tf.global_variables_initializer())
    found += [t.run(report), t.run(is_set)]
    t.run(tf.local_variables_initializer())
    found += [t.run(report), t.run(local)]
    return found


@FAMILY.case()
def collections_of_variables(tf, t):
    tf.Variable(1.0, name="a")
    tf.Variable(1.0, trainable=False, name="b")
    tf.Variable(1.0, collections=["mine"], name="c")
    tf.get_variable("d", [], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
    tf.get_variable("e", [], trainable=False)
    tf.get_local_variable("f", [])
    with tf.variable_scope("s"):
        tf.get_variable("g", [])
    functions = (
        tf.global_variables,
        tf.trainable_variables,
        tf.local_variables,
        tf.model_variables,
        tf.moving_average_variables,
        tf.all_variables,
    )
    found = [[x.name for x in function()] for function in functions]
    found += [[x.name for x in tf.get_collection("mine")], [x.name for x in tf.global_variables("s/")]]
    found += [[x.name for x in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="s")]]
    found += [[x.name for x in tf.trainable_variables(scope="a")]]
    return found


@FAMILY.case()
def writes_are_seen_by_later_runs(tf, t):
    v = tf.Variable([1.0, 2.0])
    double, add = v.assign(v * 2.0), v.assign_add([10.0, 10.0])
    t.initialize()
    found = [t.run(v), t.run(double), t.run(v), t.run(add), t.run(double.op), t.run(v)]
    t.initialize()
    return found + [t.run(v)]


@FAMILY.case()
def eval_load_and_session_argument(tf, t):
    v = tf.Variable([1.0, 2.0])
    session = t.session()
    with session.as_default():
        v.initializer.run()
        before = v.eval()
        v.load([5.0, 6.0])
        after = v.eval()
        tf.assign(v, [7.0, 8.0]).eval()
    v.load([0.0, 0.0], session)
    return before, after, v.eval(session), v.eval(session=session)


@FAMILY.case()
def two_sessions_have_their_own_values(tf, t):
    v = tf.Variable(1.0)
    graph = tf.get_default_graph()
    with tf.Session(graph=graph) as first, tf.Session(graph=graph) as second:
        first.run(v.initializer)
        second.run(v.initializer)
        first.run(v.assign(5.0))
        return first.run(v), second.run(v)


@FAMILY.case()
def initial_values_that_depend_on_one_another(tf, t):
    a = tf.Variable(3.0)
    b = tf.Variable(a.initialized_value() * 2.0)
    c = tf.Variable(b.initialized_value() + a.initialized_value())
    return a, b, c


@FAMILY.case()
def feeding_a_variable_and_its_ops(tf, t):
    v = tf.Variable([1.0, 2.0])
    y = v * 10.0
    t.initialize()
    return t.run(y, {v: [3.0, 4.0]}), t.run(y)


@FAMILY.case()
def a_changed_shape_without_validation(tf, t):
    v = tf.Variable(tf.constant([1.0, 2.0]), validate_shape=False)
    grow = tf.assign(v, tf.constant([1.0, 2.0, 3.0]), validate_shape=False)
    t.initialize()
    first = t.run(v)
    t.run(grow)
    return first, t.run(v), v.shape


@FAMILY.case()
def initializing_some(tf, t):
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    t.run(tf.variables_initializer([v]))
    return t.run(v), t.error(lambda: t.run(w)), t.run(tf.initialize_variables([w])), t.run(w)


@FAMILY.case()
def deprecated_initializers(tf, t):
    v = tf.Variable(1.0)
    t.run(tf.initialize_all_variables())
    t.run(tf.initialize_local_variables())
    return t.run(v)


@FAMILY.case()
def an_assignment_returns_the_new_value(tf, t):
    v = tf.Variable(1.0)
    new = tf.assign_add(v, 1.0)
    result = new * 100.0
    t.initialize()
    return t.run(result), t.run(result), t.run(v)


@FAMILY.case()
def variables_as_dictionary_keys_and_identity(tf, t):
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    return len({v: 1, w: 2}), v == w, v is v, isinstance(v, tf.Variable), isinstance(v, tf.Tensor)


@FAMILY.case()
def constraint_is_kept(tf, t):
    def positive(x):
        return tf.maximum(x, 0.0)

    v = tf.get_variable("v", [2], initializer=tf.zeros_initializer(), constraint=positive)
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(v * [1.0, -1.0]))
    t.initialize()
    t.run(step)
    return v.constraint is positive, t.run(v)


def _writers(tf):
    rows = ("update", "add", "sub", "mul", "div", "min", "max")
    found = [(name, getattr(tf, name), ([3.0, 1.0, 2.0],)) for name in ("assign", "assign_add", "assign_sub")]
    found += [(f"scatter_{k}", getattr(tf, f"scatter_{k}"), ([0, 1], [3.0, 5.0])) for k in rows]
    found += [(f"nd_{k}", getattr(tf, f"scatter_nd_{k}"), ([[1], [2]], [30.0, 50.0])) for k in rows[:3]]
    return found


@FAMILY.case()
def what_a_write_gives_is_written_again(tf, t):
    pairs = []
    for first, one, its in _writers(tf):
        for second, other, others in _writers(tf):
            v = tf.Variable([2.0, 4.0, 6.0])
            result = other(one(v, *its), *others)
            pairs.append((first, second, v, result, tf.is_variable_initialized(result)))
    t.initialize()
    return [(first, second, t.run(result), t.run(v)) for first, second, v, result, _ in pairs], all(
        t.run([known for *_, known in pairs])
    )


@FAMILY.case()
def a_reference_goes_through_branches_and_loops(tf, t):
    outcomes = []
    for truth in (True, False):
        decision = t.ph(truth)
        v = tf.Variable([2.0, 4.0, 6.0])
        x = tf.assign_add(v, [1.0, 1.0, 1.0])
        inside = tf.cond(
            decision, lambda x=x: tf.scatter_mul(x, [0], [3.0]), lambda x=x: tf.scatter_mul(x, [1], [3.0])
        )
        outside = tf.scatter_sub(inside, [2], [1.0])
        w = tf.Variable([2.0, 4.0])
        y = tf.assign_sub(w, [1.0, 1.0])
        turns = tf.while_loop(
            lambda i: i < 3,
            lambda i, y=y: i + tf.cast(tf.reduce_max(tf.scatter_mul(y, [0], [2.0])) > 0.0, tf.int32),
            [0],
        )
        outcomes.append((v, outside, w, turns))
    t.initialize()
    return [(t.run(outside), t.run(v), t.run(turns), t.run(w)) for v, outside, w, turns in outcomes]


@FAMILY.case()
def a_written_variable_added_to_itself(tf, t):
    v = tf.Variable([2.0, 4.0])
    x = tf.assign_add(v, [1.0, 1.0])
    doubled = tf.assign_add(x, x)
    n = tf.Variable(0)
    counted = tf.count_up_to(tf.assign_add(n, 1), 5)
    t.initialize()
    return t.run(doubled), t.run(v), t.run(counted), t.run(n)


@FAMILY.case()
def parts_of_a_variable_are_assigned(tf, t):
    made = []
    for value, write in (
        ([[7.0, 8.0], [9.0, 10.0]], lambda v: v[1:3]),
        ([7.0, 8.0, 9.0], lambda v: v[:, 1]),
        ([[1.0], [2.0]], lambda v: v[::2, tf.newaxis, 0]),
        (5.0, lambda v: v[2, 1]),
        ([[3.0, 4.0]], lambda v: v[-1:]),
        ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], lambda v: v[...]),
    ):
        v = tf.Variable([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        made.append((v, write(v).assign(value), tf.assign(write(v), value)))
    t.initialize()
    return [(t.run(first), t.run(v), t.run(second)) for v, first, second in made]


@FAMILY.case()
def rows_in_each_batch_are_replaced(tf, t):
    v = tf.Variable([[1, 2, 3], [4, 5, 6]])
    w = tf.Variable([[[1.0], [2.0]], [[3.0], [4.0]]])
    t.initialize()
    first = tf.batch_scatter_update(v, [[0, 2], [1, 0]], [[10, 20], [30, 40]])
    second = tf.batch_scatter_update(w, [[1], [0]], [[[5.0]], [[6.0]]])
    return t.run(first), t.run(v), t.run(second)


@FAMILY.case()
def a_variable_that_copies_agree_on_when_read_is_not_trained(tf, t):
    on_read = tf.VariableSynchronization.ON_READ
    made = [
        tf.Variable(1.0, synchronization=on_read),
        tf.Variable(1.0, synchronization=on_read, trainable=True),
        tf.Variable(1.0, synchronization=tf.VariableSynchronization.NONE),
    ]
    return [v.trainable for v in made], len(tf.trainable_variables())


@FAMILY.case()
def uninitialized_variables_fail_an_assertion(tf, t):
    v, w = tf.Variable([1, 2]), tf.Variable([3.0])
    check = tf.assert_variables_initialized([v, w])
    before = t.error(lambda: t.run(check))
    t.initialize()
    return before, t.run(check)


@FAMILY.case()
def scopes_are_left_from_the_inside(tf, t):
    def nested(make):
        outer = make()
        outer.__enter__()
        with make():
            found = t.error(lambda: outer.__exit__(None, None, None))
        return found

    return nested(lambda: tf.variable_scope("a")), nested(lambda: tf.device("/cpu:0"))


@FAMILY.case()
def text_attributes_are_bytes(tf, t):
    with tf.container("held"):
        v = tf.Variable(1.0)
    pool = tf.nn.max_pool(tf.zeros([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return v.op.get_attr("container"), pool.op.get_attr("padding"), pool.op.get_attr("data_format")
