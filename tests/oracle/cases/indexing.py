"""Slices, gathers, scatters, segments and embeddings: everything that goes by index."""

from harness import Family

FAMILY = Family("indexing")

FAMILY.differentiable(
    """
    ph(f(4))[0]
    ph(f(4))[-1]
    ph(f(4))[1:3]
    ph(f(4))[:-1]
    ph(f(4))[::2]
    ph(f(4))[::-1]
    ph(f(5))[3:0:-2]
    ph(f(3, 4))[1]
    ph(f(3, 4))[1, 2]
    ph(f(3, 4))[:, 1]
    ph(f(3, 4))[..., 0]
    ph(f(3, 4))[:, None, 1:3]
    ph(f(3, 4))[tf.newaxis]
    ph(f(2, 3, 4))[0, ..., 1]
    ph(f(2, 3, 4))[..., ::2, None]
    ph(f(2, 3, 4))[:, 1:, :2]
    ph(f(3, 4), [None, 4])[:2]
    ph(f(3, 4), [None, 4])[:, -1]
    ph(f(3, 4), [None, None])[1:, 1]
    ph(f(3, 4), None)[0]
    ph(f(3, 4))[ph(1)]
    ph(f(3, 4))[ph(0):ph(2)]
    ph(f(3, 4))[:ph(2), 1]
    ph(f(3, 4))[5:]
    tf.slice(ph(f(3, 4)), [1, 0], [2, 3])
    tf.slice(ph(f(3, 4)), [0, 1], [-1, 2])
    tf.slice(ph(f(3, 4), [None, 4]), [0, 0], [-1, 2])
    tf.slice(ph(f(3, 4)), ph([0, 1]), ph([2, 2]))
    tf.strided_slice(ph(f(4, 3)), [0, 0], [3, 3], [2, 1])
    tf.strided_slice(ph(f(4, 3)), [1], [3])
    tf.gather(ph(f(4)), [0, 2, 2])
    tf.gather(ph(f(4, 3)), [[0, 1], [3, 0]])
    tf.gather(ph(f(4, 3)), 1)
    tf.gather(ph(f(4, 3)), [2, 0], axis=1)
    tf.gather(ph(f(2, 3, 2)), [[2, 0]], axis=1)
    tf.gather(ph(f(4, 3), [None, 3]), ph([1, 0], [None]))
    tf.gather(ph(f(4, 3), None), ph([1, 0]))
    tf.gather_nd(ph(f(3, 2)), [[0, 1], [2, 0]])
    tf.gather_nd(ph(f(3, 2)), [[2], [0]])
    tf.gather_nd(ph(f(2, 2, 2)), [[[0, 1]], [[1, 0]]])
    tf.scatter_nd([[1], [3], [1]], ph(f(3)), [5])
    tf.scatter_nd([[0], [2]], ph(f(2, 2)), [3, 2])
    tf.segment_sum(ph(f(4, 2)), [0, 0, 1, 3])
    tf.segment_mean(ph(f(4)), [0, 0, 1, 1])
    tf.segment_max(ph(f(4, 2)), [0, 0, 1, 1])
    tf.segment_min(ph(f(4)), [0, 0, 1, 1])
    tf.unsorted_segment_sum(ph(f(4, 2)), [2, 0, 2, 0], 3)
    tf.unsorted_segment_max(ph(f(4)), [1, 0, 1, 0], 2)
    tf.unsorted_segment_min(ph(f(4)), [1, 0, 1, 0], 2)
    tf.unsorted_segment_mean(ph(f(4)), [1, 0, 1, 0], 2)
    tf.unsorted_segment_prod(ph(f(4)), [1, 0, 1, 0], 2)
    tf.unsorted_segment_sqrt_n(ph(f(4)), [1, 0, 1, 0], 2)
    tf.dynamic_partition(ph(f(4)), [0, 1, 0, 1], 2)
    tf.dynamic_stitch([[0, 2], [1, 3]], [ph(f(2)), ph(f(2))])
    tf.nn.embedding_lookup(ph(f(4, 3)), [1, 3, 1])
    tf.nn.embedding_lookup(ph(f(4, 3)), [[0, 1], [2, 3]])
    tf.nn.embedding_lookup([ph(f(2, 3)), ph(f(2, 3))], [0, 1, 2, 3])
    tf.nn.embedding_lookup([ph(f(2, 3)), ph(f(2, 3))], [0, 1, 2, 3], partition_strategy="div")
    tf.nn.embedding_lookup([ph(f(2, 3)), ph(f(1, 3))], [2, 0, 1], "div")
    tf.nn.embedding_lookup([ph(f(2, 2)), ph(f(2, 2)), ph(f(1, 2))], [[4, 0], [1, 2]])
    tf.nn.embedding_lookup([ph(f(2, 2)), ph(f(2, 2)), ph(f(1, 2))], [[4, 0], [1, 2]], partition_strategy="div")
    tf.nn.embedding_lookup(ph(f(4, 3)), [1, 3], max_norm=0.5)
    tf.nn.embedding_lookup(var(np.ones([3, 2], np.float32)), ph([0, 2, 0], [None]))
    """
)

FAMILY.expressions(
    """
    tf.constant([1, 2, 3, 4])[1:3]
    tf.constant(["a", "b"])[0]
    ph(i(3, 3))[-1, ::-1]
    ph(b(3))[1:]
    ph(f(3, 4), None)[..., 0]
    ph(f(3, 4), None)[:, 1]
    ph(f(3, 4), [None, 4])[0]
    ph(f(3, 4), [None, 4])[1:-1]
    ph(f(3, 4))[tf.constant(1), 2]
    ph(f(3, 4))[np.int64(1)]
    ph(f(3, 4))[tf.constant(1, tf.int64)]
    ph(f(3, 4))[...]
    ph(f(3, 4))[:]
    ph(f(3))[2:1]
    ph(f(3))[-10:10]
    ph(f(2, 2))[0:1, 0:1]
    var([1.0, 2.0, 3.0])[1]
    var([[1.0, 2.0], [3.0, 4.0]])[:, 0]
    tf.shape(ph(f(3, 4), [None, 4]))[0]
    tf.shape(ph(f(3, 4), [None, 4]))[1:]
    tf.shape(ph(f(3, 4), [None, 4]))[-1]
    tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, 2])
    tf.slice(input_=[1, 2, 3], begin=[1], size=[-1], name="cut")
    tf.slice(ph(f(3), None), [1], [1])
    tf.slice([1, 2, 3], [3], [0])
    tf.strided_slice([1, 2, 3, 4], [0], [4], [2])
    tf.strided_slice([[1, 2], [3, 4]], [1], [2], shrink_axis_mask=1)
    tf.strided_slice([1, 2, 3], [0], [0], end_mask=1, name="strided")
    tf.strided_slice([1, 2, 3], [0], [2], begin_mask=1)
    tf.strided_slice([1, 2, 3], [0], [1], new_axis_mask=1)
    tf.strided_slice([[1, 2], [3, 4]], [0, 0], [0, 1], ellipsis_mask=1)
    tf.gather([1, 2, 3], [2, 0])
    tf.gather(params=["a", "b"], indices=[1], name="picked")
    tf.gather([1, 2, 3], tf.constant([1], tf.int64))
    tf.gather(ph(f(3, 4)), ph([1, 2]), axis=-1)
    tf.gather(ph(f(2, 3)), [[0, 2], [1, 1]], batch_dims=1, axis=1)
    tf.gather([1, 2, 3], np.zeros([0], np.int32))
    tf.gather(var([1.0, 2.0, 3.0]), [0, 1])
    tf.gather([1, 2, 3], [0], validate_indices=False)
    tf.gather_nd(params=[[1, 2], [3, 4]], indices=[[0, 0], [1, 1]], name="pickednd")
    tf.gather_nd([[1, 2], [3, 4]], [1])
    tf.gather_nd(ph(f(2, 2), None), [[1, 0]])
    tf.gather_nd(ph(f(2, 2)), [[1, 0]], batch_dims=0)
    tf.scatter_nd([[0], [0]], [1, 2], [2])
    tf.scatter_nd(indices=[[1, 1]], updates=[5.0], shape=[2, 2], name="spread")
    tf.scatter_nd(ph([[1]]), ph([2.0]), ph([3]))
    tf.segment_sum([1, 2, 3], [0, 0, 1])
    tf.segment_sum(data=ph(f(3, 2), [None, 2]), segment_ids=[0, 0, 2], name="segments")
    tf.segment_prod([1, 2, 3, 4], [0, 0, 1, 1])
    tf.math.segment_max([1, 5, 3], [0, 0, 2])
    tf.segment_mean([1.0, 2.0, 4.0], [0, 0, 2])
    tf.unsorted_segment_sum([1, 2, 3], [1, 0, 1], 3)
    tf.unsorted_segment_sum(data=[[1, 2]], segment_ids=[[0, 1]], num_segments=2, name="unsorted")
    tf.unsorted_segment_sum([1, 2, 3], [1, -1, 1], 2)
    tf.unsorted_segment_max([1.0, 2.0], [0, 0], 2)
    tf.unsorted_segment_sum(ph(f(3), [None]), ph([1, 0, 1], [None]), ph(2))
    tf.dynamic_partition([1, 2, 3, 4], [1, 0, 1, 0], 2)
    tf.dynamic_partition(data=ph(f(3, 2)), partitions=ph([0, 2, 0]), num_partitions=3, name="sorted_out")
    tf.dynamic_stitch([[0, 1], [1]], [[10, 11], [12]])
    tf.dynamic_stitch(indices=[[1], [0]], data=[["b"], ["a"]], name="sewn")
    tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 0])
    tf.nn.embedding_lookup(params=ph(f(4, 2), [None, 2]), ids=ph([1, 2], [None]), name="emb")
    tf.nn.embedding_lookup(ph(f(4, 2)), tf.constant([3, 0], tf.int64))
    tf.nn.embedding_lookup(ph(f(4, 2)), 2)
    tf.nn.embedding_lookup([ph(f(4, 2))], [2, 3])
    tf.sparse_to_dense([1, 3], [5], [7, 8])
    tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], 1.0, default_value=-1.0)
    tf.sparse_to_dense(2, [4], 1)
    """
)

FAMILY.errors(
    """
    ph(f(3, 4))[3]
    ph(f(3, 4))[-4]
    ph(f(3, 4))[0, 0, 0]
    ph(f(3, 4))[..., ...]
    ph(f(3, 4))[1.5]
    ph(f(3, 4))["a"]
    ph(f(3, 4))[::0]
    ph(f(3, 4))[None:2.5]
    ph(f(3, 4))[ph(5)]
    ph(f(3, 4), None)[5]
    ph(f(3), [None])[7]
    tf.constant(1)[0]
    tf.slice(ph(f(3, 4)), [0], [1])
    tf.slice(ph(f(3)), [2], [5])
    tf.slice(ph(f(3)), [-1], [1])
    tf.slice(ph(f(3), None), [2], [5])
    tf.gather([1, 2, 3], [3])
    tf.gather([1, 2, 3], ph([-1]))
    tf.gather([1, 2, 3], [0.5])
    tf.gather(1, [0])
    tf.gather(ph(f(2, 2)), [0], axis=2)
    tf.gather(ph(f(3, 2)), ph([0, 7]))
    tf.gather_nd(ph(f(2, 2)), [[2, 0]])
    tf.gather_nd(ph(f(2, 2)), [[0, 0, 0]])
    tf.scatter_nd([[5]], [1.0], [3])
    tf.scatter_nd([[0]], [1.0, 2.0], [3])
    tf.segment_sum([1, 2, 3], [1, 0, 1])
    tf.segment_sum([1, 2, 3], [0, 0])
    tf.unsorted_segment_sum([1, 2], [0, 5], 2)
    tf.unsorted_segment_sum([1, 2], [0], 2)
    tf.dynamic_partition([1, 2], [0, 5], 2)
    tf.nn.embedding_lookup(ph(f(4, 2)), [4])
    tf.nn.embedding_lookup(ph(f(4, 2)), [-1])
    tf.nn.embedding_lookup([], [0])
    tf.nn.embedding_lookup(None, [0])
    tf.nn.embedding_lookup([ph(f(2, 2)), ph(f(2, 2))], [0], partition_strategy="nonsense")
    tf.nn.embedding_lookup(ph(f(4, 2)), [0.5])
    """
)

FAMILY.errors(
    "ph(f(3, 4))[True]",
    ignore=("error",),
    reason="the class that TensorFlow raises is an accident of its Python code",
)

FAMILY.expressions(
    """
    tf.unravel_index([2, 5, 7], [3, 3])
    tf.unravel_index(22, [7, 4])
    tf.unravel_index(ph([31, 0], [None]), ph([7, 6]))
    tf.unravel_index(np.array([621]), np.array([10, 10, 10]))
    tf.gather_nd(ph(f(2, 3, 4)), [[[0], [2]], [[1], [1]]], batch_dims=1)
    tf.gather_nd(ph(f(2, 3, 4)), ph([[[0], [2]], [[1], [1]]], None), batch_dims=1)
    tf.scatter_nd([[4], [3], [3], [7]], ["a", "b", "c", "d"], [8])
    tf.required_space_to_batch_paddings([4, 5], [3, 2])
    tf.required_space_to_batch_paddings([4, 5], [3, 2], [[1, 0], [0, 1]])
    tf.required_space_to_batch_paddings(ph([4, 5]), [3, 2], [[1, 0], [0, 1]])
    tf.space_to_batch_nd(ph(f(3, 4, 6, 2), [3, None, None, 2]), ph([2, 3], [2]), [[0, 0], [0, 0]])
    tf.space_to_batch(ph(f(1, 2, 2, 1), None), ph([[0, 0], [0, 0]]), 2)
    """
)

FAMILY.errors(
    """
    tf.unravel_index([[2]], [3, 3])
    tf.gather_nd(ph(f(2, 3, 4)), [[[0], [2]], [[1], [1]]], batch_dims=3)
    tf.scatter_nd(tf.zeros([3, 2, 2], tf.int32), ph(f(2, 2, 2)), [2, 2, 2])
    tf.scatter_nd(tf.zeros([2, 2, 1], tf.int32), ph(f(2, 2)), [2, 2, 2])
    tf.scatter_nd(tf.zeros([2, 2, 2], tf.int32), ph(f(2, 2, 2)), [0, 3, 2])
    tf.scatter_nd(ph(np.zeros([2, 2, 2], np.int32)), ph(f(2, 2, 2), None), ph([0, 3, 2]))
    tf.scatter_nd_update(tf.Variable(f(2, 2, 2)), tf.zeros([3, 2, 2], tf.int32), ph(f(2, 2, 2)))
    tf.space_to_batch_nd(ph(f(1, 3, 3, 1)), [3, 3], [[0, 0]])
    tf.space_to_batch_nd(ph(f(1, 2, 2)), [1, 1], [[0, -1], [0, 0]])
    tf.expand_dims(1, axis=[0, 1])
    tf.reverse(ph(f(2, 3)), [-30])
    tf.matrix_transpose(ph(f(3)))
    """
)
