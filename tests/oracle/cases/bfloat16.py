"""bfloat16: placeholders, constants, casts, variables, arithmetic and its gradients.

Each result is within one unit of its last place, which is 1/128 of it. TensorFlow rounds every partial sum, so where
many numbers are added up it is less exact than graphflow, and here the bound is wider.
"""

from harness import Family

FAMILY = Family("bfloat16")
SUMS = (4e-2, 4e-2)

FAMILY.expressions(
    """
    ph(f(3, 4), dtype=tf.bfloat16)
    tf.constant([1.5, -2.0], tf.bfloat16)
    tf.constant(f(2, 2).astype(tf.bfloat16.as_numpy_dtype))
    tf.convert_to_tensor(1.5, tf.bfloat16)
    tf.zeros([2], tf.bfloat16)
    tf.fill([2], tf.cast(1.5, tf.bfloat16))
    tf.one_hot([1, 0], 3, dtype=tf.bfloat16)
    tf.cast([1.00390625, 1.01171875, 3e38, 3.4e38, 1e-40, -1.00390626], tf.bfloat16)
    tf.cast([257, 258, 259, 1000003], tf.bfloat16)
    tf.cast(d(4), tf.bfloat16)
    tf.cast(b(4), tf.bfloat16)
    tf.to_bfloat16(f(4))
    tf.saturate_cast(tf.constant([1e39, -1e39, 2.0], tf.float64), tf.bfloat16)
    [tf.cast(ph(f(4), dtype=tf.bfloat16), k) for k in (tf.float32, tf.float64, tf.float16)]
    [tf.cast(ph(f(4), dtype=tf.bfloat16), k) for k in (tf.int32, tf.bool, tf.complex64)]
    tf.bitcast(ph(f(4), dtype=tf.bfloat16), tf.uint16)
    [float(tf.bfloat16.max), float(tf.bfloat16.min), tf.bfloat16.size, tf.bfloat16.is_numpy_compatible]
    [tf.as_dtype(tf.bfloat16.as_numpy_dtype).name, np.dtype(tf.bfloat16.as_numpy_dtype).name]
    [tf.less(ph(f(4), dtype=tf.bfloat16), 0.5), tf.equal(ph(f(2), dtype=tf.bfloat16), 1.0)]
    tf.is_nan(ph(f(4), dtype=tf.bfloat16))
    tf.argmax(ph(f(3, 4), dtype=tf.bfloat16), 1)
    tf.nn.top_k(ph(f(3, 4), dtype=tf.bfloat16), 2)
    tf.unique(ph(np.array([2.0, 1.0, 2.0], "f"), dtype=tf.bfloat16))
    tf.scatter_nd([[0], [0]], ph(f(2, 4), dtype=tf.bfloat16), [2, 4])
    tf.dynamic_partition(ph(f(3, 4), dtype=tf.bfloat16), [0, 1, 0], 2)
    tf.range(tf.cast(ph(5), tf.int32))
    tf.floor(ph(f(4), dtype=tf.bfloat16))
    tf.sign(ph(f(4), dtype=tf.bfloat16))
    tf.random_uniform([5], dtype=tf.bfloat16, seed=1)
    tf.random_normal([5], dtype=tf.bfloat16, seed=1)
    tf.truncated_normal([5], dtype=tf.bfloat16, seed=1)
    tf.foldl(lambda x, y: x + y, ph(f(3, 4), dtype=tf.bfloat16))
    tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + x), [0, ph(f(3), dtype=tf.bfloat16)])[1]
    tf.cond(tf.reduce_sum(ph(f(3, 4), dtype=tf.bfloat16)) > 0, lambda: tf.constant([1.5, 2.0], tf.bfloat16) * 2,
        lambda: tf.constant([1.5, 2.0], tf.bfloat16) * 3)
    tf.losses.mean_squared_error(ph(f(3), dtype=tf.bfloat16), ph(f(3), dtype=tf.bfloat16))
    tf.matmul(ph(f(2, 3), dtype=tf.bfloat16), ph(f(3, 2)))
    """,
    names="none",
    refined=True,
)

FAMILY.differentiable(
    """
    ph(f(3, 4), dtype=tf.bfloat16) + ph(f(4), dtype=tf.bfloat16)
    ph(f(3, 4), dtype=tf.bfloat16) * ph(f(3, 1), dtype=tf.bfloat16)
    ph(f(3, 4), dtype=tf.bfloat16) - 1
    2.0 * ph(f(3, 4), dtype=tf.bfloat16)
    ph(f(3, 4), dtype=tf.bfloat16) / ph(pos(3, 4), dtype=tf.bfloat16)
    -tf.abs(ph(f(3, 4), dtype=tf.bfloat16))
    tf.square(ph(f(3, 4), dtype=tf.bfloat16))
    tf.sqrt(ph(pos(3, 4), dtype=tf.bfloat16))
    tf.log(ph(pos(3, 4), dtype=tf.bfloat16))
    tf.exp(ph(f(3, 4), dtype=tf.bfloat16))
    tf.tanh(ph(f(3, 4), dtype=tf.bfloat16))
    tf.maximum(ph(f(3, 4), dtype=tf.bfloat16), ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.relu(ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.relu6(ph(f(3, 4), dtype=tf.bfloat16) * 4)
    tf.nn.softsign(ph(f(3, 4), dtype=tf.bfloat16))
    tf.cast(tf.cast(ph(f(3, 4), dtype=tf.bfloat16), tf.float32) * 2.0, tf.bfloat16)
    tf.reshape(ph(f(3, 4), dtype=tf.bfloat16), [2, 6])
    tf.transpose(ph(f(3, 4), dtype=tf.bfloat16))
    tf.concat([ph(f(3, 4), dtype=tf.bfloat16), ph(f(1, 4), dtype=tf.bfloat16)], 0)
    tf.stack([ph(f(3), dtype=tf.bfloat16), ph(f(3), dtype=tf.bfloat16)], 1)
    tf.gather(ph(f(3, 4), dtype=tf.bfloat16), [0, 2, 0])
    ph(f(3, 4), dtype=tf.bfloat16)[1:, ::2]
    tf.where(b(3, 4), ph(f(3, 4), dtype=tf.bfloat16), ph(f(3, 4), dtype=tf.bfloat16))
    tf.pad(ph(f(3, 4), dtype=tf.bfloat16), [[1, 0], [0, 1]])
    tf.tile(ph(f(3, 1), dtype=tf.bfloat16), [1, 2])
    tf.reduce_max(ph(f(3, 4), dtype=tf.bfloat16), 1)
    tf.nn.max_pool(ph(f(1, 4, 4, 1), dtype=tf.bfloat16), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    tf.clip_by_value(ph(f(3, 4), dtype=tf.bfloat16), -1.0, 1.0)
    """,
    names="none",
    refined=True,
    gradient_tolerance=(2e-2, 1e-2),
)

FAMILY.differentiable(
    """
    tf.matmul(ph(f(3, 4), dtype=tf.bfloat16), ph(f(4, 5), dtype=tf.bfloat16))
    tf.reduce_sum(ph(f(3, 4), dtype=tf.bfloat16))
    tf.reduce_sum(ph(f(3, 4), dtype=tf.bfloat16), 0)
    tf.reduce_mean(ph(f(3, 4), dtype=tf.bfloat16), 1)
    tf.reduce_prod(ph(f(3, 4), dtype=tf.bfloat16), 1)
    tf.cumsum(ph(f(3, 4), dtype=tf.bfloat16), 1)
    tf.add_n([ph(f(3), dtype=tf.bfloat16), ph(f(3), dtype=tf.bfloat16)])
    tf.nn.bias_add(ph(f(3, 4), dtype=tf.bfloat16), ph(f(4), dtype=tf.bfloat16))
    tf.nn.softmax(ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.sigmoid(ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.softplus(ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.l2_loss(ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.conv2d(ph(f(1, 4, 4, 2), dtype=tf.bfloat16), ph(f(2, 2, 2, 3), dtype=tf.bfloat16), [1, 1, 1, 1], "SAME")
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=unit(3, 4), logits=ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=n(4, 3), logits=ph(f(3, 4), dtype=tf.bfloat16))
    tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(unit(3), tf.bfloat16), logits=ph(f(3), dtype=tf.bfloat16))
    tf.segment_sum(ph(f(3, 4), dtype=tf.bfloat16), [0, 0, 1])
    tf.unsorted_segment_sum(ph(f(3, 4), dtype=tf.bfloat16), [0, 0, 1], 2)
    """,
    names="none",
    refined=True,
    tolerance=SUMS,
)

for _optimizer in (
    "GradientDescentOptimizer(0.1)",
    "MomentumOptimizer(0.1, 0.9)",
    "AdamOptimizer(0.1)",
    "AdagradOptimizer(0.1)",
    "RMSPropOptimizer(0.1)",
):
    FAMILY.generated(
        "a step of " + _optimizer,
        lambda tf, t, made=_optimizer: _trained(tf, t, eval("tf.train." + made, {"tf": tf})),
        "tf.train." + _optimizer,
        names="none",
        tolerance=(2e-2, 1e-2),
    )


def _trained(tf, t, optimizer):
    w = tf.get_variable("w", dtype=tf.bfloat16, initializer=tf.constant([1.5, -0.75, 0.25], tf.bfloat16))
    loss = tf.reduce_sum(tf.square(w * tf.constant([1.0, 2.0, 3.0], tf.bfloat16)))
    step = optimizer.minimize(loss)
    t.initialize()
    for _ in range(3):
        t.run(step)
    return [t.run(w), t.run(w.assign_add(w)), t.run(w.assign([1.0, 2.0, 3.0]))]


FAMILY.errors(
    """
    tf.constant("a", tf.bfloat16)
    ph(f(2), dtype=tf.bfloat16) + ph(f(2))
    tf.fft(ph(f(2), dtype=tf.bfloat16))
    tf.invert(ph(f(2), dtype=tf.bfloat16))
    run(ph(f(2), dtype=tf.bfloat16), {t.inputs[0]: ["a", "b"]})
    """,
    reason="Which of the two classes is not the same for all dtypes.",
    ignore=("error",),
)
