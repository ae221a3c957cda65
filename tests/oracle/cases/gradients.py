"""tf.gradients itself: grad_ys, stop_gradients, sparse gradients, second order, custom gradients, errors."""

from harness import Family

FAMILY = Family("gradients")

FAMILY.gradients(
    """
    tf.square(ph(f(3)))
    tf.exp(ph(f(3)))
    tf.tanh(ph(f(3)))
    tf.sigmoid(ph(f(3)))
    tf.log(ph(pos(3)))
    tf.sqrt(ph(pos(3)))
    tf.rsqrt(ph(pos(3)))
    tf.sin(ph(f(3)))
    tf.cos(ph(f(3)))
    tf.reciprocal(ph(pos(3)))
    tf.erf(ph(f(3)))
    tf.log1p(ph(pos(3)))
    tf.expm1(ph(f(3)))
    tf.pow(ph(pos(3)), 3.0)
    tf.pow(ph(pos(2)), ph(f(2)))
    ph(f(2, 2)) * ph(f(2))
    ph(f(2, 2)) / ph(pos(2))
    tf.matmul(ph(f(2, 3)), ph(f(3, 2)))
    tf.square(tf.matmul(ph(f(2, 3)), ph(f(3, 2)), transpose_a=False))
    tf.nn.softmax(ph(f(2, 3)))
    tf.nn.log_softmax(ph(f(2, 3)))
    tf.nn.relu(ph(f(4))) * ph(f(4))
    tf.nn.elu(ph(f(4)))
    tf.nn.softplus(ph(f(4)))
    tf.nn.selu(ph(f(4)))
    tf.nn.sigmoid_cross_entropy_with_logits(labels=unit(3), logits=ph(f(3)))
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=ph(unit(2, 3)), logits=ph(f(2, 3)))
    tf.reduce_mean(tf.square(ph(f(2, 3))), 1)
    tf.reduce_prod(ph(f(3)))
    tf.reduce_logsumexp(ph(f(2, 3)), 1)
    tf.reduce_max(tf.square(ph(f(2, 3))), 1)
    tf.nn.l2_normalize(ph(f(2, 3)), 1)
    tf.nn.moments(ph(f(3, 2)), [0])[1]
    tf.square(tf.gather(ph(f(3, 2)), [0, 2, 0]))
    tf.square(tf.concat([ph(f(2)), ph(f(1))], 0))
    tf.square(tf.stack([ph(f(2)), ph(f(2))]))
    tf.square(ph(f(3, 3))[1:, ::2])
    tf.square(tf.pad(ph(f(2)), [[1, 1]]))
    tf.square(tf.tile(ph(f(2)), [2]))
    tf.square(tf.transpose(ph(f(2, 3))))
    tf.cumsum(tf.square(ph(f(3))))
    tf.maximum(tf.square(ph(f(3))), ph(f(3)))
    tf.where(ph(b(3)), tf.square(ph(f(3))), tf.exp(ph(f(3))))
    tf.segment_sum(tf.square(ph(f(3))), [0, 0, 1])
    tf.einsum("ij,jk->ik", ph(f(2, 2)), ph(f(2, 2)))
    tf.clip_by_value(tf.square(ph(f(4))), 0.1, 1.0)
    tf.squared_difference(ph(f(2)), ph(f(2)))
    tf.atan(ph(f(3)))
    tf.tan(ph(unit(3)))
    tf.asin(ph(unit(3)))
    tf.cast(tf.square(tf.cast(ph(f(2)), tf.float64)), tf.float32)
    """,
    order=2,
    tolerance=(2e-4, 2e-5),
)

FAMILY.expressions(
    """
    (lambda x: tf.gradients(x * x, x))(ph(f(2)))
    (lambda x: tf.gradients(x * x, x)[0].dtype)(ph(d(2)))
    (lambda x: tf.gradients(ys=[x * x, x * 3.0], xs=[x]))(ph(f(2)))
    (lambda x: tf.gradients(x * x, x, grad_ys=tf.constant([1.0, -1.0])))(ph(f(2)))
    (lambda x: tf.gradients([x * x, x], [x], grad_ys=[[2.0, 2.0], None]))(ph(f(2)))
    (lambda x: tf.gradients(x * x, x, name="g"))(ph(f(2)))
    (lambda x: tf.gradients(x * x, x, colocate_gradients_with_ops=True))(ph(f(2)))
    (lambda x: tf.gradients(x * x, x, gate_gradients=True))(ph(f(2)))
    (lambda x: tf.gradients([x * x, x], x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE))(ph(f(2)))
    (lambda x, y: tf.gradients(x * x, [x, y]))(ph(f(2)), ph(f(2)))
    (lambda x, y: tf.gradients(x * x, [x, y], unconnected_gradients="zero"))(ph(f(2)), ph(f(3)))
    (lambda x: tf.gradients(x, x))(ph(f(2)))
    (lambda x: tf.gradients(tf.constant(1.0), x))(ph(f(2)))
    (lambda x: tf.gradients(tf.stop_gradient(x * x), x))(ph(f(2)))
    (lambda x: tf.gradients(tf.stop_gradient(x) * x, x))(ph(f(2)))
    (lambda x: tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x))(ph(f(2)))
    (lambda x: tf.gradients(tf.argmax(x), x))(ph(f(2)))
    (lambda x: tf.gradients(tf.round(x) * 2.0, x))(ph(f(2)))
    (lambda x: tf.gradients(tf.shape(x), x))(ph(f(2)))
    (lambda x: tf.gradients(tf.to_float(tf.shape(x)), x))(ph(f(2)))
    (lambda v: tf.gradients(v * v, v))(var([1.0, 2.0]))
    (lambda v: tf.gradients(tf.square(v), [v]))(var([1.0, 2.0], trainable=False))
    (lambda v: tf.gradients(tf.gather(v, [0, 2, 0]), v))(var([1.0, 2.0, 3.0]))
    (lambda v: tf.gradients(tf.nn.embedding_lookup(v, [1, 1]) * 2.0, v))(var([[1.0, 2.0], [3.0, 4.0]]))
    (lambda v: tf.gradients(tf.gather(v, [0]) + tf.reduce_sum(v), v))(var([1.0, 2.0, 3.0]))
    (lambda v: tf.gradients([tf.gather(v, [0]), tf.gather(v, [1])], v))(var([1.0, 2.0, 3.0]))
    (lambda x: tf.gradients(tf.gather(x, [0, 2, 0]), x))(ph(f(3)))
    (lambda v: tf.gradients(tf.gather(tf.concat([tf.zeros([1]), v], 0), [0, 2, 3, 2]), v))(var([1.0, 2.0, 3.0]))
    (lambda v: tf.gradients(tf.gather(tf.concat([v, [[5.0, 6.0]]], -2), [[0, 2], [2, 1]]), v))(var(f(2, 2)))
    (lambda a, b: tf.gradients(tf.gather(tf.concat([a, b, a], 0), tf.constant([5, 1, 3, 0, 5], tf.int64)),
        [a, b]))(ph(f(2, 3), [None, 3]), ph(f(2, 3)))
    (lambda a, b: tf.gradients(tf.gather(tf.concat([a, b], 1), [2, 0, 2]), [a, b], grad_ys=f(3, 5)))(ph(f(3, 2)),
        ph(f(3, 3)))
    (lambda a, b: tf.gradients(tf.gather(tf.concat([a, b], -1), [2, 0]), [a, b], grad_ys=f(2, 3)))(ph(f(3, 2)),
        ph(f(3, 1)))
    (lambda v: tf.gradients(tf.gather(tf.concat([tf.zeros([1]), v], 0), [1]) + v[0], v))(ph(f(3)))
    (lambda v: tf.gradients(tf.gather(-v, [0, 2, 0]), v, grad_ys=[[1.0, 2.0, 3.0]]))(var([1.0, 2.0, 3.0]))
    (lambda v: tf.gradients(tf.gather(tf.cast(v, tf.float64), [0, 2, 0]), v))(var([1.0, 2.0, 3.0]))
    (lambda a, b: tf.gradients(tf.gather(tf.add_n([a, b, a]), [0, 2]), [a, b]))(ph(f(3)), ph(f(3)))
    (lambda a, b: tf.gradients(tf.gather(tf.accumulate_n([a, b]), [0, 2]), [a, b]))(ph(f(3)), ph(f(3)))
    (lambda a, b: tf.gradients(tf.gather(a + b, [0, 2]), [a, b]))(ph(f(3)), ph(f(3)))
    (lambda a, b: tf.gradients(tf.gather(a * b, [0, 2]), [a, b]))(ph(f(3)), ph(f(3)))
    (lambda v: tf.gradients(tf.gather(tf.tile(v, [2]), [0, 4]), v))(ph(f(3)))
    (lambda v: tf.gradients(tf.gather(tf.reshape(v, [3, 2]), [0, 2, 0]), v))(ph(f(6)))
    (lambda v: tf.gradients(tf.gather(tf.stop_gradient(v) + tf.identity(tf.gather(v, [0, 1])), [1, 1]), v))(ph(f(2)))
    tf.nn.embedding_lookup(tf.concat([tf.zeros([1, 2]), var(f(3, 2))], 0), [[0, 1], [3, 3]])
    (lambda x: tf.gradients(tf.gather(x, [1], axis=1), x))(ph(f(2, 3)))
    (lambda x: tf.convert_to_tensor(tf.gradients(tf.gather(x, [0, 2, 0]), x)[0]))(ph(f(3, 2)))
    (lambda x: tf.gradients(tf.gather(tf.square(x), [0, 2, 0]), x))(ph(f(3)))
    (lambda x: tf.gradients(tf.gradients(x ** 3, x), x))(ph(f(2)))
    (lambda x: tf.gradients(tf.gradients(tf.gradients(tf.exp(x * 2.0), x), x), x))(ph(f(2)))
    (lambda x, y: tf.gradients(x * y + y, [x, y], stop_gradients=[x]))(ph(f(2)), ph(f(2)))
    (lambda a: (lambda b: tf.gradients(a + b, [a, b], stop_gradients=[a, b]))(a * 2.0))(ph(1.0))
    (lambda a: (lambda b: tf.gradients(a + b, [a, b]))(a * 2.0))(ph(1.0))
    (lambda x: (lambda y: tf.gradients(y * y, y))(x * 2.0))(ph(f(2)))
    (lambda x: tf.gradients(x + x + x * x, x))(ph(f(2)))
    (lambda x: tf.gradients(tf.unstack(x)[0] * 2.0, x))(ph(f(2)))
    (lambda x: tf.gradients(tf.split(x, 2)[1], x))(ph(f(4)))
    (lambda x: tf.gradients(tf.nn.top_k(x, 2).values, x))(ph(f(4)))
    (lambda x: tf.gradients(tf.linspace(0.0, 1.0, 3) * x, x))(ph(2.0))
    (lambda x: tf.gradients(tf.Print(x * x, [x]), x))(ph(f(2)))
    (lambda x: tf.gradients(tf.tuple([x * x, x * 2.0])[0], x))(ph(f(2)))
    (lambda x: tf.gradients(tf.py_func(lambda v: v, [x], tf.float32), x))(ph(f(2)))
    (lambda x, y: tf.gradients(x, y, unconnected_gradients=tf.UnconnectedGradients.ZERO))(ph(f(2)), ph(f(2)))
    tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2]), tf.constant([4, 1]))
    tf.convert_to_tensor(tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([2, 2]), tf.constant([4, 1])))
    tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2])).dtype
    tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2])).dense_shape
    tf.clip_by_norm(tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 2]), tf.constant([4, 1])), 1.0)
    tf.global_norm([tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 2]))])
    tf.clip_by_global_norm([tf.IndexedSlices(tf.constant([[3.0]]), tf.constant([0])), tf.constant([4.0])], 1.0)
    """.replace("", ""),
    names="none",
)

FAMILY.errors(
    """
    tf.gradients("a", ph(f(2)))
    (lambda x: tf.gradients(x * x, x, grad_ys=tf.constant([1, 2])))(ph(f(2)))
    (lambda x: tf.gradients(x * x, x, grad_ys=[1.0, 2.0, 3.0]))(ph(f(2)))
    (lambda x: tf.gradients([x * x], x, grad_ys=[None, None]))(ph(f(2)))
    (lambda x: tf.gradients(x * x, x, grad_ys=tf.constant([1.0, 2.0, 3.0])))(ph(f(2)))
    (lambda x: tf.gradients(tf.dynamic_partition(tf.unique(x)[0], [0], 1)[0], x))(ph([1.0]))
    (lambda x: tf.gradients(tf.unique(x)[0], x))(ph([1.0]))
    """
)


@FAMILY.case(names="none")
def custom_gradient(tf, t):
    @tf.custom_gradient
    def clipped_log(x):
        y = tf.log(x)
        return y, lambda dy: tf.clip_by_value(dy / x, -1.0, 1.0)

    x = t.ph([0.01, 2.0])
    y = clipped_log(x)
    return y, tf.gradients(y * 3.0, x)


@FAMILY.case(names="none")
def custom_gradient_of_two_arguments(tf, t):
    @tf.custom_gradient
    def product(x, y):
        def backward(dz):
            return dz * 10.0, dz * 20.0

        return x * y, backward

    x, y = t.ph([1.0, 2.0]), t.ph([3.0, 4.0])
    z = product(x, y)
    return z, tf.gradients(z, [x, y])


@FAMILY.case(names="none")
def gradient_override_map(tf, t):
    name = "OracleTripled%d" % id(t)

    @tf.RegisterGradient(name)
    def tripled(op, grad):
        return grad * 3.0

    x = t.ph([1.0, 2.0])
    with tf.get_default_graph().gradient_override_map({"Square": name}):
        y = tf.square(x)
    z = tf.square(x)
    return tf.gradients(y, x), tf.gradients(z, x)


@FAMILY.case(names="none")
def registering_a_gradient_twice_is_an_error(tf, t):
    name = "OracleTwice%d" % id(t)
    tf.RegisterGradient(name)(lambda op, grad: grad)
    return t.error(lambda: tf.RegisterGradient(name)(lambda op, grad: grad)), t.error(
        lambda: tf.RegisterGradient(3)
    )


@FAMILY.case(names="none")
def no_gradient_and_missing_gradient(tf, t):
    x = t.ph([1.0, 2.0])
    with tf.get_default_graph().gradient_override_map({"Square": "OracleNeverRegistered"}):
        y = tf.square(x)
    return t.error(lambda: tf.gradients(y, x))


@FAMILY.case(names="none")
def gradients_through_a_network(tf, t):
    x, w1, b1, w2 = t.ph(t.f(3, 4)), t.var(t.f(4, 5)), t.var(t.f(5)), t.var(t.f(5, 2))
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
    logits = tf.matmul(hidden, w2)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 1], logits=logits))
    return loss, tf.gradients(loss, [x, w1, b1, w2])


@FAMILY.case(names="none")
def gradients_on_another_graph(tf, t):
    x = t.ph([1.0])
    with tf.Graph().as_default():
        y = tf.constant([1.0])
    return t.error(lambda: tf.gradients(y, x)), t.error(lambda: x + y)


@FAMILY.case(names="none")
def gradient_in_regard_to_an_inner_tensor(tf, t):
    x = t.ph([1.0, 2.0])
    y = x * x
    z = tf.reduce_sum(y * y) + tf.reduce_sum(x)
    return tf.gradients(z, [x, y])


@FAMILY.case(names="none")
def jacobian_vector_product_by_double_backward(tf, t):
    x, v = t.ph([0.5, 1.5]), t.ph([1.0, 2.0])
    y = tf.stack([x[0] * x[1], tf.sin(x[0])])
    u = tf.ones([2])
    back = tf.gradients(y, x, grad_ys=u)[0]
    return tf.gradients(back, u, grad_ys=v)
