"""Default and given names of ops, name scopes and unique names, compared in full."""

from harness import Family

FAMILY = Family("names")

FAMILY.expressions(
    """
    [tf.constant(1).name, tf.constant(2).name, tf.constant(3, name="c").name, tf.constant(3, name="c").name]
    [tf.placeholder(tf.float32).name, tf.placeholder(tf.float32, name="x").name]
    [tf.Variable(1).name, tf.Variable(1).name, tf.Variable(1, name="v").name, tf.Variable(1, name="v").op.name]
    [tf.get_variable("a", []).name, tf.get_variable("b", [1]).op.name]
    (tf.constant(1) + tf.constant(2)).name
    (tf.constant(1) + 2).op.inputs[1].name
    [tf.matmul(f(2, 2), f(2, 2)).name, tf.matmul(f(1, 2, 2), f(1, 2, 2)).name]
    [tf.reduce_sum(f(2)).name, tf.reduce_mean(f(2)).name, tf.reduce_max(f(2)).name, tf.argmax(f(2)).name]
    [x.name for x in tf.split(f(4), 2)]
    [x.name for x in tf.unstack(f(2))]
    [x.name for x in tf.nn.top_k(f(2), 1)]
    [x.name for x in tf.nn.moments(ph(f(2, 2)), [0])]
    [tf.nn.softmax(f(2)).name, tf.nn.relu(f(2)).name, tf.nn.sigmoid(f(2)).name, tf.nn.tanh(f(2)).name]
    tf.nn.conv2d(f(1, 2, 2, 1), f(1, 1, 1, 1), [1, 1, 1, 1], "SAME").name
    [tf.random_normal([1]).name, tf.random_uniform([1]).name, tf.truncated_normal([1]).name]
    [tf.random_normal([1], name="noise").name, tf.random_shuffle([1]).name, tf.multinomial([[0.5]], 1).name]
    [tf.zeros([1]).name, tf.ones([1]).name, tf.zeros_like([1]).name, tf.fill([1], 1).name, tf.range(3).name]
    [tf.cast(1, tf.float32).name, tf.to_float(1).name, tf.reshape([1], [1]).name, tf.transpose([[1]]).name]
    [tf.concat([[1], [2]], 0).name, tf.stack([1, 2]).name, tf.expand_dims(1, 0).name, tf.squeeze([1]).name]
    [tf.gather([1], [0]).name, tf.one_hot([0], 1).name, tf.tile([1], [1]).name, tf.pad([1], [[0, 0]]).name]
    ph(f(3))[0].name
    [tf.shape([1]).name, tf.size(ph(f(2), [None])).name, tf.rank(ph(f(2), None)).name]
    [tf.equal(1, 2).name, tf.where([True], [1], [2]).name, tf.where([True]).name, tf.logical_not(True).name]
    [tf.clip_by_value(1.0, 0.0, 1.0).name, tf.clip_by_norm([1.0], 1.0).name, tf.global_norm([[1.0]]).name]
    [x.name for x in tf.clip_by_global_norm([tf.constant([1.0])], 1.0)[0]]
    [tf.assign(var(1), 2).name, tf.assign_add(var(1), 2).name, var(1).assign(3).name]
    tf.cond(ph(True), lambda: tf.constant(1), lambda: tf.constant(2)).name
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]).name
    [tf.group(tf.no_op()).name, tf.no_op().name, tf.tuple([tf.constant(1)])[0].name]
    [tf.identity(1).name, tf.stop_gradient(1.0).name, tf.Print(1.0, [1]).name, tf.check_numerics(1.0, "m").name]
    [tf.nn.l2_loss(f(2)).name, tf.nn.l2_normalize(f(2), 0).name, tf.nn.bias_add(f(1, 2), f(2)).name]
    tf.nn.batch_normalization(ph(f(2)), 0.0, 1.0, 0.0, 1.0, 1e-3).name
    [tf.nn.dropout(ph(f(2)), 0.5).name, tf.nn.embedding_lookup(ph(f(2)), [0]).name]
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=unit(1, 2), logits=f(1, 2)).name
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=f(1, 2)).name
    tf.nn.sigmoid_cross_entropy_with_logits(labels=unit(2), logits=f(2)).name
    [tf.add_n([ph(1.0), ph(1.0)]).name, tf.add(1, 2).name, tf.subtract(1, 2).name, tf.multiply(1, 2).name]
    [tf.divide(tf.constant(1.0), 2.0).name, tf.div(1, 2).name, tf.mod(3, 2).name, tf.pow(1, 2).name]
    [tf.map_fn(lambda x: x, np.ones(2)).name, tf.scan(lambda a, x: a, np.ones(2)).name]
    tf.py_func(lambda: 1, [], tf.int64).name
    tf.global_variables_initializer().name
    [var(1) and tf.global_variables_initializer().name, tf.variables_initializer([], name="start").name]
    tf.train.GradientDescentOptimizer(0.1).minimize(var(1.0) * 2.0).name
    tf.train.AdamOptimizer().minimize(var(1.0) * 2.0).name
    tf.train.exponential_decay(0.1, 1, 1, 0.5).name
    tf.train.get_or_create_global_step().name
    tf.linspace(0.0, 1.0, 2).name
    tf.einsum("ij,jk->ik", ph(f(1, 1)), ph(f(1, 1))).name
    tf.tensordot(f(2, 2), f(2, 2), 1).name
    tf.sequence_mask([1], 2).name
    tf.boolean_mask([1, 2], [True, False]).name
    """,
    names="full",
)


@FAMILY.case(names="full")
def nested_scopes(tf, t):
    found = []
    with tf.name_scope("outer") as outer:
        found += [outer, tf.constant(1).name, tf.constant(1).name]
        with tf.name_scope("inner") as inner:
            found += [inner, tf.constant(1).name]
        with tf.name_scope("inner") as again:
            found += [again, tf.constant(1, name="k").name]
        with tf.name_scope(None):
            found.append(tf.constant(1).name)
        with tf.name_scope(""):
            found.append(tf.constant(1).name)
    with tf.name_scope("outer"):
        found.append(tf.constant(1).name)
    with tf.name_scope(outer):
        found.append(tf.constant(1).name)
    with tf.name_scope("outer/inner/"):
        found.append(tf.constant(1).name)
    return found


@FAMILY.case(names="full")
def name_scope_arguments(tf, t):
    found = []
    with tf.name_scope(None, "fallback", [t.ph(1.0)]) as scope:
        found.append(scope)
    with tf.name_scope("given", default_name="fallback") as scope:
        found.append(scope)
    with tf.name_scope(name="named") as scope:
        found.append(scope)
    with tf.name_scope(None, default_name="fallback") as scope:
        found.append(scope)
    with tf.get_default_graph().name_scope("direct") as scope:
        found += [scope, tf.get_default_graph().get_name_scope()]
    return found


@FAMILY.case(names="full")
def unique_names(tf, t):
    graph = tf.get_default_graph()
    found = [graph.unique_name("a"), graph.unique_name("a"), graph.unique_name("a_1"), graph.unique_name("A")]
    found += [graph.unique_name("a", mark_as_used=False), graph.unique_name("a")]
    with tf.name_scope("s"):
        found += [graph.unique_name("a"), graph.unique_name("a")]
    found += [tf.constant(1, name="x").name, tf.constant(1, name="X").name, tf.constant(1, name="x_1").name]
    found += [tf.constant(1, name="x").name, tf.constant(1, name="y/z").name, tf.constant(1, name="y/z").name]
    found += [tf.constant(1, name="y").name, tf.constant(1, name="end/").name]
    return found


@FAMILY.case(names="full")
def bad_names(tf, t):
    return [
        t.error(lambda: tf.constant(1, name="with space")),
        t.error(lambda: tf.constant(1, name="-minus")),
        t.error(lambda: tf.constant(1, name="a:b")),
        t.error(lambda: tf.placeholder(tf.float32, name="_under").name),
        t.error(lambda: tf.name_scope("with space").__enter__()),
        t.error(lambda: tf.constant(1, name="1digit").name),
        t.error(lambda: tf.constant(1, name="dots.and-minus_").name),
        t.error(lambda: tf.constant(1, name=5)),
    ]


@FAMILY.case(names="full")
def variables_in_scopes(tf, t):
    found = []
    with tf.name_scope("n"):
        found += [tf.Variable(1.0).name, tf.get_variable("g", []).name]
    with tf.variable_scope("v"):
        found += [tf.Variable(1.0).name, tf.get_variable("g", []).name, tf.constant(1).name]
        with tf.variable_scope("w"):
            found += [tf.get_variable("g", []).name, tf.constant(1).name]
    with tf.variable_scope("v", reuse=True):
        found += [tf.get_variable("g", []).name, tf.constant(1).name]
    with tf.variable_scope("v", auxiliary_name_scope=False):
        found += [tf.get_variable("h", []).name, tf.constant(1).name]
    return found


@FAMILY.case(names="full")
def ops_of_a_variable(tf, t):
    v = tf.Variable([1.0, 2.0], name="v")
    graph = tf.get_default_graph()
    found = [op.name for op in graph.get_operations()]
    found += [v.initializer.name, v.value().name, v.read_value().name, v.initial_value.name, v.op.type]
    w = tf.get_variable("w", [2])
    return (
        found + sorted(op.name for op in graph.get_operations() if op.name.startswith("w")) + [w.value().name]
    )


@FAMILY.case(names="full")
def reading_variables_by_name(tf, t):
    """Programs take a variable's value by the name of the operation that reads it."""
    tf.get_variable("plain", initializer=[1.0, 2.0])
    tf.get_variable("held", initializer=[3.0], use_resource=True)
    graph = tf.get_default_graph()
    found = [graph.get_tensor_by_name(n) for n in ("plain/read:0", "held/Read/ReadVariableOp:0")]
    return [*found, graph.get_operation_by_name("plain/read").name]


@FAMILY.case(names="full")
def slots_of_optimizers(tf, t):
    v = tf.Variable([1.0], name="v")
    loss = tf.reduce_sum(v * v)
    for optimizer in (
        tf.train.AdamOptimizer(),
        tf.train.MomentumOptimizer(0.1, 0.9),
        tf.train.AdagradOptimizer(0.1),
        tf.train.AdadeltaOptimizer(),
        tf.train.RMSPropOptimizer(0.1, centered=True),
        tf.train.FtrlOptimizer(0.1),
    ):
        optimizer.minimize(loss)
    return sorted(x.name for x in tf.global_variables())


@FAMILY.case()
def operations_that_seeds_are_counted_by(tf, t):
    """A seed of an operation that has none of its own follows from how many operations there are before it."""
    tf.zeros(5)
    tf.ones([3])
    tf.sequence_mask(tf.constant([1, 2]), 3)
    tf.sequence_mask(tf.constant([1, 2]), 3, tf.float32)
    memory = tf.placeholder(tf.float32, [2, None, 4])
    tf.contrib.seq2seq.LuongAttention(3, memory, tf.constant([1, 2]))
    operations = tf.get_default_graph().get_operations()
    return [op.type for op in operations[: [op.type for op in operations].index("RandomUniform")]]
