"""Functions of TensorFlow's that few programs use: special functions, strings, sorting, volumes, and the like."""

from harness import Family

FAMILY = Family("extras")

FAMILY.expressions(
    """
    tf.parallel_stack([ph(f(2)), ph(f(2))])
    tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3]))
    tf.broadcast_dynamic_shape([2, 1], [3])
    tf.unique_with_counts([3, 1, 3, 2])
    tf.setdiff1d([1, 2, 3, 4], [2, 4])
    tf.argsort([3.0, 1.0, 2.0])
    tf.argsort(ph(f(2, 3)), direction="DESCENDING")
    tf.sort([3, 1, 2], direction="DESCENDING")
    tf.contrib.framework.argsort([3.0, 1.0])
    tf.bincount([1, 1, 3])
    tf.bincount([1, 1, 3], minlength=6)
    tf.bincount([1, 1, 3], weights=[0.5, 0.25, 1.0])
    tf.histogram_fixed_width([0.0, 1.5, 4.9, 9.0], [0.0, 5.0], nbins=5)
    tf.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1])
    tf.confusion_matrix([0, 1], [1, 1], num_classes=3, dtype=tf.float32, weights=[0.5, 2.0])
    tf.space_to_batch([[[[1], [2]], [[3], [4]]]], [[0, 0], [0, 0]], 2)
    tf.batch_to_space([[[[1]]], [[[2]]], [[[3]]], [[[4]]]], [[0, 0], [0, 0]], 2)
    tf.repeat([[1, 2], [3, 4]], 2, axis=1)
    tf.roll([1, 2, 3], [1], [0])
    tf.ensure_shape(ph(f(2, 3), [None, 3]), [2, None])
    tf.searchsorted([1.0, 3.0, 5.0], [2.0, 5.0])
    tf.as_string([1, 2])
    tf.as_string(ph([1.5, 2.25]), precision=2)
    tf.string_join(["a", "b"], separator="-")
    tf.strings.length(["a", "bcd"])
    tf.string_to_number(["1.5", "2"])
    tf.string_to_number(["3"], out_type=tf.int32)
    tf.lin_space(-1.0, 1.0, num=3, name="ls")
    tf.shape_n([ph(f(2)), ph(f(1, 2))])
    tf.contrib.util.constant_value(tf.constant([1, 2]))
    tf.guarantee_const([1.0])
    tf.bitcast(tf.constant([1.0, 2.0]), tf.int32)
    tf.foldl(lambda a, x: a + x, np.array([1, 2, 3]))
    tf.foldl(lambda a, x: a * 10 + x, tf.constant([1, 2, 3]), initializer=7, name="folded")
    tf.foldr(lambda a, x: a * 10 + x, np.array([1, 2, 3]))
    tf.identity_n([ph(1.0), ph(2)])
    tf.contrib.framework.smart_cond(True, lambda: 1, lambda: 2)
    tf.numpy_function(lambda x: x + 1, [ph(i(2))], tf.int32)
    tf.nn.atrous_conv2d(ph(f(1, 5, 5, 1)), ph(f(2, 2, 1, 1)), 2, "VALID")
    tf.nn.conv3d(ph(f(1, 2, 2, 2, 1)), ph(f(2, 2, 2, 1, 1)), [1, 1, 1, 1, 1], "VALID")
    tf.nn.max_pool3d(ph(f(1, 2, 2, 2, 1)), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID")
    tf.nn.max_pool_with_argmax(ph(f(1, 2, 2, 1)), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    (lambda x: tf.hessians(tf.reduce_sum(x ** 3) + x[0] * x[1], x))(ph(f(2)))
    (lambda x: tf.gradients(tf.identity_n([x * x, x])[0], x))(ph(f(2)))
    tf.tensor_scatter_update([1, 2, 3], [[0], [2]], [9, 8])
    tf.tensor_scatter_add([1, 2, 3], [[0], [0]], [9, 8])
    tf.tensor_scatter_sub([1, 2, 3], [[1]], [1])
    tf.batch_gather([[1, 2], [3, 4]], [[1], [0]])
    tf.sparse_segment_sum([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    tf.sparse_segment_mean([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    tf.orthogonal_initializer(seed=7)([3, 3])
    tf.orthogonal_initializer(gain=2.0, seed=7)([4, 2])
    tf.linalg.matvec(ph(f(2, 3)), ph(f(3)))
    tf.linalg.matvec(ph(f(2, 3, 2)), ph(f(2, 3)), transpose_a=True)
    tf.sparse_matmul(ph(f(2, 3)), ph(f(3, 2)))
    tf.svd(ph(f(3, 2)))[0]
    tf.matrix_solve_ls(ph(f(4, 2)), ph(f(4, 1)), fast=True)
    tf.where_v2(ph([True, False, True]), ph(f(3)), 0.0)
    tf.where_v2(ph([[True], [False]]), ph(f(2, 3)), ph(f(3)))
    tf.compat.v2.where(ph([True, False]), 1.0, ph(f(2)))
    tf.is_non_decreasing([1, 2, 2])
    tf.is_strictly_increasing([1, 2, 2])
    tf.is_numeric_tensor(tf.constant(1))
    tf.is_numeric_tensor(tf.constant("a"))
    tf.assert_scalar(ph(1.0))
    tf.assert_type(ph(f(2)), tf.float32).type
    tf.assert_integer(ph(i(2))).type
    tf.truncatediv([7, -7], [2, 2])
    tf.realdiv([7.0], [2.0])
    tf.truncatemod([7, -7], [3, 3])
    tf.math.xlogy([0.0, 2.0], [0.0, 3.0])
    tf.math.xdivy([0.0, 2.0], [0.0, 4.0])
    tf.math.polyval([1.0, 2.0, 3.0], 2.0)
    tf.polygamma([1.0, 2.0], [0.5, 1.5])
    tf.zeta([2.0], [1.0])
    tf.betainc(1.0, 2.0, 0.3)
    tf.igamma([1.5], [0.7])
    tf.igammac([1.5], [0.7])
    tf.clip_by_average_norm(ph(f(2, 3)), 0.1)
    tf.bitwise.bitwise_and([6, 5], [3, 4])
    tf.bitwise.bitwise_or([6, 5], [3, 4])
    tf.bitwise.bitwise_xor([6, 5], [3, 4])
    tf.bitwise.invert([6])
    tf.bitwise.left_shift([1, 2], [3, 1])
    tf.bitwise.right_shift([8, 9], [1, 2])
    tf.nn.weighted_moments(ph(f(2, 3)), [0], [[1.0], [3.0]])
    tf.nn.normalize_moments(4.0, [4.0], [8.0], None)
    tf.random_gamma([3], 2.0, seed=1)
    tf.random_poisson(3.0, [4], seed=1)
    tf.reduce_join([["a", "b"], ["c", "d"]], 1)
    tf.reduce_join([["a", "b"], ["c", "d"]], 0, separator="-")
    tf.math.reduce_std(ph(f(2, 3)), 1)
    tf.math.reduce_variance(ph(f(2, 3)), 0, keepdims=True)
    tf.math.reduce_euclidean_norm(ph(f(2, 3)), 1)
    tf.sparse.to_dense(tf.SparseTensor([[1]], [5], [3]))
    tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2]), ph(f(2, 2)))
    tf.sparse_reduce_sum(tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2]), 1)
    tf.scatter_min(var([1.0, 2.0, 3.0]), [1], [0.5])
    tf.scatter_max(var([1.0, 2.0, 3.0]), [1], [9.5])
    tf.scatter_nd_sub(var([1.0, 2.0, 3.0]), [[1]], [5.0])
    """,
    tolerance=(2e-4, 2e-5),
)

FAMILY.differentiable(
    """
    tf.space_to_batch_nd(ph(f(1, 2, 2, 1)), [2, 2], [[0, 0], [0, 0]])
    tf.batch_to_space_nd(ph(f(4, 1, 1, 1)), [2, 2], [[0, 0], [0, 0]])
    tf.repeat(ph(f(2)), 2)
    tf.roll(ph(f(4)), 1, 0)
    tf.sort(ph(f(5)))
    tf.foldl(lambda a, x: a * x + x, ph(f(3)))
    tf.foldr(lambda a, x: a * x + x, ph(f(3)))
    tf.nn.separable_conv2d(ph(f(1, 3, 3, 2)), ph(f(2, 2, 2, 1)), ph(f(1, 1, 2, 2)), [1, 1, 1, 1], "SAME")
    tf.losses.cosine_distance(ph(f(2, 3)), ph(f(2, 3)), axis=1)
    tf.losses.cosine_distance(ph(f(2, 3)), ph(f(2, 3)), dim=0)
    tf.realdiv(ph(f(2)), ph(pos(2)))
    tf.math.xlogy(ph(f(2)), ph(pos(2)))
    tf.nn.log_poisson_loss(ph(pos(3)), ph(f(3)))
    tf.math.reduce_variance(ph(f(2, 3)), 1)
    tf.math.reduce_std(ph(f(4)))
    """,
    tolerance=(2e-4, 2e-5),
)

FAMILY.errors(
    """
    tf.ensure_shape(ph(f(2, 3), None), [3, None])
    tf.ensure_shape(ph(f(2, 3)), [3, None])
    tf.string_to_number(["a"])
    tf.orthogonal_initializer()([3])
    tf.initializers.identity()([3])
    tf.assert_type(ph(f(2)), tf.int32)
    tf.assert_integer(ph(f(2)))
    tf.assert_scalar(ph(f(2)))
    tf.losses.cosine_distance(ph(f(2)), ph(f(2)))
    tf.bitwise.bitwise_and([1.0], [2.0])
    tf.nn.crelu(ph(b(2)))
    """,
)


_SPD = "np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], np.float32)"
FAMILY.expressions(
    """
    tf.matrix_triangular_solve(tf.cholesky(ph({spd})), ph(f(3, 2)))
    tf.matrix_triangular_solve(ph({spd}), ph(f(3, 1)), lower=False)
    tf.self_adjoint_eigvals(ph({spd}))
    tf.self_adjoint_eig(ph({spd}))[0]
    tf.svd(ph({spd}), compute_uv=False)
    tf.abs(tf.qr(ph({spd}))[1])
    tf.cholesky_solve(tf.cholesky(ph({spd})), ph(f(3, 1)))
    tf.linalg.logdet(ph({spd}))
    tf.linalg.slogdet(ph({spd}))
    """.replace("{spd}", _SPD),
    tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.nn.embedding_lookup_sparse(ph(f(4, 2)), tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 3, 0], [2, 2]), None)
    tf.nn.embedding_lookup_sparse(ph(f(4, 2)), tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 3, 0], [2, 2]),
        tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0.5, 2.0, 1.0], [2, 2]), combiner="sum")
    tf.nn.nce_loss(ph(f(5, 2)), ph(f(5)), ph([[1], [2]], dtype=tf.int64), ph(f(2, 2)), 2, 5,
        sampled_values=(tf.constant([0, 4], tf.int64), tf.constant([[0.5], [0.25]]), tf.constant([0.5, 0.75])))
    tf.nn.sampled_softmax_loss(ph(f(5, 2)), ph(f(5)), ph([[1], [2]], dtype=tf.int64), ph(f(2, 2)), 2, 5,
        sampled_values=(tf.constant([0, 4], tf.int64), tf.constant([[0.5], [0.25]]), tf.constant([0.5, 0.75])))
    tf.nn.conv3d_transpose(ph(f(1, 1, 1, 1, 1)), ph(f(2, 2, 2, 1, 1)), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1])
    tf.edit_distance(tf.SparseTensor([[0, 0]], ["a"], [1, 1]), tf.SparseTensor([[0, 0]], ["b"], [1, 1]))
    tf.edit_distance(tf.SparseTensor([[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3]], list("bear"), [1, 1, 1]),
        tf.SparseTensor([[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 3], [0, 0, 4]], list("beers"), [1, 1, 1]), False)
    tf.edit_distance(tf.SparseTensor([[0, 0], [1, 0], [1, 5]], ["a", "b", "c"], [2, 1]),
        tf.SparseTensor([[0, 7], [1, 0]], ["a", "c"], [2, 1]))
    tf.extract_image_patches(ph(f(1, 3, 3, 1)), [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    tf.string_split(["a b", "c"])
    tf.sparse_retain(tf.SparseTensor([[0], [2]], [5.0, 6.0], [3]), [True, False])
    """,
    tolerance=(1e-4, 1e-5),
)

FAMILY.differentiable(
    """
    tf.nn.crelu(ph(f(2, 3)))
    tf.nn.crelu(ph(d(4), None))
    tf.nn.swish(ph(f(2, 3)))
    tf.nn.swish(ph(d(4), None))
    tf.erfc(ph(f(2, 3)))
    tf.erfc(ph(d(2, 3), None))
    """,
    tolerance=(1e-4, 1e-6),
)

FAMILY.expressions("tf.repeat([1, 2], [3, 1])", refined=True)
