"""Array ops beside the common ones: sparse tensors, strings, and gradients of gathers, scatters and segments."""

from harness import Family

FAMILY = Family("rearranging")

FAMILY.differentiable(
    """
    tf.gather(ph(f(2, 3, 4)), [[0, 2], [1, 1]], axis=1)
    tf.gather(ph(f(2, 3, 4)), [1, 3, 1], axis=-1)
    tf.gather(ph(f(2, 3, 4)), [[0, 2], [1, 1]], axis=1, batch_dims=1)
    tf.gather(ph(f(2, 3)), [[0, 2], [1, 1]], batch_dims=1)
    tf.gather_nd(ph(f(2, 3)), [[0], [1]], batch_dims=1)
    tf.gather_nd(ph(f(2, 3, 2)), [[[0], [2]], [[1], [1]]], batch_dims=1)
    tf.batch_gather(ph(f(2, 3)), [[0, 0], [2, 1]])
    tf.tensor_scatter_update(ph(f(4)), [[1], [3]], ph(f(2)))
    tf.tensor_scatter_add(ph(f(4, 2)), [[1], [1]], ph(f(2, 2)))
    tf.tensor_scatter_sub(ph(f(4)), [[1], [3]], ph(f(2)))
    tf.where(ph(b(2, 3)), ph(f(2, 3)), ph(f(2, 3)))
    tf.where(ph([True, False]), ph(f(2, 3)), ph(f(2, 3)))
    tf.where_v2(ph(b(2, 3)), ph(f(3)), ph(f(2, 1)))
    tf.pad(ph(f(3, 3), [None, 3]), [[1, 2], [0, 1]], "REFLECT")
    tf.pad(ph(f(3)), [[3, 2]], "SYMMETRIC")
    tf.repeat(ph(f(2, 2)), 3, axis=1)
    tf.reverse_sequence(ph(f(3, 2)), [1, 3], seq_axis=0, batch_axis=1)
    tf.roll(ph(f(2, 3)), [1, -1], [0, 1])
    tf.broadcast_to(ph(f(2, 1)), [3, 2, 2])
    tf.space_to_depth(ph(f(1, 4, 2, 2)), 2)
    tf.depth_to_space(ph(f(1, 2, 1, 8)), 2)
    tf.space_to_batch_nd(ph(f(2, 3, 2)), [2], [[0, 1]])
    tf.batch_to_space_nd(ph(f(4, 2, 1)), [2], [[1, 0]])
    tf.matrix_transpose(ph(f(2, 3, 2)))
    tf.sort(ph(f(2, 3)), axis=0)
    tf.nn.top_k(ph(f(2, 3, 4)), 2).values
    tf.unsorted_segment_sum(ph(f(2, 2, 3)), [[0, 1], [1, -1]], 2)
    tf.unsorted_segment_prod(ph([2.0, 0.0, 3.0, 0.0, 0.0]), [0, 0, 1, 2, 2], 3)
    tf.unsorted_segment_max(ph(f(4, 2)), [1, 0, 1, -1], 2)
    tf.unsorted_segment_mean(ph(f(4, 2)), [1, 0, 1, -1], 2)
    tf.sparse_segment_sum(ph(f(3, 2)), [0, 2, 2], [0, 1, 1])
    tf.sparse_segment_mean(ph(f(3, 2)), [0, 2, 2], [0, 1, 1])
    tf.sparse_segment_sqrt_n(ph(f(3, 2)), [0, 2, 2], [0, 1, 1])
    tf.sparse_segment_mean(ph(f(3, 2)), [0, 2, 2], [0, 2, 2], num_segments=4)
    tf.segment_mean(ph(f(4, 2)), [0, 0, 2, 2])
    tf.segment_max(ph([1.0, 1.0, 3.0]), [0, 0, 1])
    tf.dynamic_partition(ph(f(2, 2, 3)), [[0, 1], [1, 0]], 2)
    tf.identity_n([ph(f(2)), ph(f(3))])
    tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], ph(f(2)), ph(1.5))
    tf.sparse_tensor_to_dense(tf.SparseTensor([[0, 1], [2, 0]], ph(f(2)), [3, 2]))
    tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 1], [2, 0]], ph(f(2)), [3, 2]), ph(f(2, 4)))
    tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 1], [2, 0]], ph(f(2)), [3, 2]), ph(f(4, 3)),
        adjoint_a=True, adjoint_b=True)
    (tf.SparseTensor([[0, 1], [1, 1], [2, 0]], ph(f(3)), [3, 2]) * ph(f(2))).values
    (ph(f(3, 1)) * tf.SparseTensor([[0, 1], [2, 0], [2, 1]], ph(f(3)), [3, 2])).values
    (ph(f(3, 2), [None, None]) * tf.SparseTensor([[0, 1], [2, 0]], ph(f(2)), [3, 2])).values
    (tf.SparseTensor([[0, 1], [2, 0]], ph(f(2)), [3, 2]) / ph(f(3, 2))).values
    tf.sparse_reduce_sum(tf.SparseTensor([[0, 1], [0, 2], [1, 0]], ph(f(3)), [2, 3]), 1)
    tf.sparse_reduce_sum(tf.SparseTensor([[0, 1], [0, 2], [1, 0]], ph(f(3)), [2, 3]), keep_dims=True)
    tf.sparse_reorder(tf.SparseTensor([[1, 1], [0, 2], [1, 0]], ph(f(3)), [2, 3])).values
    tf.sparse_retain(tf.SparseTensor([[0, 1], [0, 2], [1, 0]], ph(f(3)), [2, 3]), ph([True, False, True])).values
    tf.sparse_add(tf.SparseTensor([[0, 1]], ph(f(1)), [2, 2]), tf.SparseTensor([[0, 1], [1, 0]], ph(f(2)),
        [2, 2])).values
    tf.sparse_add(tf.SparseTensor([[0, 1]], ph(f(1)), [2, 2]), ph(f(2, 2)))
    tf.sparse_slice(tf.SparseTensor([[0, 1], [0, 2], [1, 0]], ph(f(3)), [2, 3]), [0, 1], [2, 2]).values
    tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 1], [2, 0]], ph(f(2)), [3, 2]), 5.0)[0].values
    """,
    names="none",
    refined=True,
)

FAMILY.gradients(
    """
    tf.square(tf.gather(ph(f(3, 2)), [1, 1], axis=1))
    tf.square(tf.pad(ph(f(3)), [[2, 1]], "REFLECT"))
    tf.square(ph(f(3, 4))[1:, ::2])
    tf.square(tf.tile(ph(f(2)), [3]))
    tf.square(tf.concat([ph(f(2)), ph(f(3))], 0))
    tf.square(tf.unsorted_segment_sum(ph(f(3)), [0, 1, 0], 2))
    tf.square(tf.gather_nd(ph(f(2, 2)), [[0, 1]]))
    tf.square(tf.transpose(ph(f(2, 3, 2)), [2, 0, 1]))
    """,
    order=2,
)

FAMILY.expressions(
    """
    (tf.SparseTensor([[0, 1], [2, 0]], ph(f(2)), [3, 2]) * ph(2.5)).values
    (tf.SparseTensor([[0, 1], [0, 0]], ph(f(2)), [1, 2]) / 4.0).values
    (tf.SparseTensor([[0, 1], [2, 0]], [7, -9], [3, 2]) / 2).values
    (tf.SparseTensor([[0, 1], [2, 0]], [7, -9], [3, 2]) * [[2], [3], [4]]).values
    # Its gradient is left out: TensorFlow 1.15 puts it into the wrong columns.
    tf.gather(ph(f(2, 3, 4)), [[0, 2], [1, 1]], axis=2, batch_dims=1)
    tf.sparse_placeholder(tf.float32, [2, None]).dense_shape.shape
    tf.sparse_placeholder(tf.float32, [2, 3]).shape
    tf.sparse_placeholder(tf.float32, tf.constant([2, 3], tf.int64)).dense_shape
    tf.sparse_placeholder(tf.float32, tf.constant([2, 3], tf.int64)).indices.shape
    tf.sparse_placeholder(tf.float32, shape=tf.shape(ph(f(2, 3)), out_type=tf.int64), name="fed").dense_shape
    str(tf.sparse_placeholder(tf.float32, ph(np.array([2, 3]), [None], dtype=tf.int64)).indices.shape)
    tf.SparseTensor([[0, 1]], [1.0], [2, 3])
    tf.SparseTensor([[0, 1]], [1.0], [2, 3]).shape
    tf.SparseTensor(indices=[[1, 0]], values=["a"], dense_shape=[2, 1])
    tf.sparse_tensor_to_dense(tf.SparseTensor([[0, 1]], ["a"], [2, 2]), "none")
    tf.sparse_tensor_to_dense(tf.SparseTensor([[1], [0]], [1, 2], [3]), validate_indices=False, name="whole")
    tf.sparse_reduce_max(tf.SparseTensor([[0, 1], [0, 2]], [-1.0, -2.0], [2, 3]), 1)
    tf.sparse_reduce_sum(tf.SparseTensor([[0, 1], [0, 2]], [1, 2], [2, 3]), [0], keep_dims=True)
    tf.sparse_reshape(tf.SparseTensor([[0, 1], [1, 2]], [1, 2], [2, 3]), [3, -1])
    tf.sparse_transpose(tf.SparseTensor([[0, 1], [1, 2]], [1, 2], [2, 3]))
    tf.sparse_transpose(tf.SparseTensor([[0, 1, 0], [1, 2, 3]], [1, 2], [2, 3, 4]), [2, 0, 1])
    tf.sparse_concat(0, [tf.SparseTensor([[0, 1]], [1], [1, 2]), tf.SparseTensor([[0, 0]], [2], [2, 2])])
    tf.sparse_concat(1, [tf.SparseTensor([[0, 1]], [1], [2, 2]), tf.SparseTensor([[0, 0]], [2], [2, 2])])
    tf.sparse_slice(tf.SparseTensor([[0, 1], [1, 2]], [1, 2], [2, 3]), [0, 1], [1, 9])
    tf.sparse_add(tf.SparseTensor([[0]], [1.0], [2]), tf.SparseTensor([[0], [1]], [-1.0, 2.0], [2]), 0.5)
    tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 1], [2, 0]], [1, 2], [4, 2]), 7)
    tf.sparse.from_dense(ph([[0.0, 1.0], [2.0, 0.0]]))
    tf.as_string([True, False])
    tf.as_string([1.5, -2.25])
    tf.as_string([3.14159], precision=3, scientific=True)
    tf.as_string([3.5, 1e10], shortest=True)
    tf.as_string([7, -42], width=6, fill="0")
    tf.as_string(ph(1.5), width=8)
    tf.string_join([["a", "b"], "-", ["c", "d"]])
    tf.string_split(["a b", "", "c  d e"])
    tf.string_split(["a,b;c"], ",;")
    tf.string_split(["a,,b"], ",", skip_empty=False)
    tf.string_split(["abc"], "")
    tf.strings.split(["a b  c", "d"]).values
    tf.strings.split(["a,b,,c"], ",").values
    tf.string_to_number(["-1e3", " 7 "])
    tf.string_to_number(["12"], tf.int64)
    tf.substr(["hello", "world"], 1, 3)
    tf.substr(["hello", "world"], [1, -2], [2, 9])
    tf.regex_replace(["a1b22", "xyz"], "[0-9]+", "#")
    tf.regex_replace(["john smith"], "(\\\\w+) (\\\\w+)", "\\\\2 \\\\1")
    tf.regex_replace(["aaa"], "a", "b", replace_global=False)
    tf.strings.regex_full_match(["abc", "abd"], "ab[c]")
    tf.regex_replace(["a1b22", "xyz"], ph("([0-9])+"), ph("<\\\\1>"), replace_global=False)
    tf.regex_replace(["ab"], tf.constant("b"), "")
    tf.strings.regex_full_match(ph(["abc", "abd"], [None]), tf.constant("ab[c]"))
    tf.string_strip(["  a b ", "c"])
    tf.strings.lower(["AbC"])
    tf.strings.upper(["AbC"])
    tf.strings.length(["h\\u00e9"])
    tf.strings.length(["h\\u00e9"], unit="UTF8_CHAR")
    tf.strings.unicode_transcode([b"\\t\\x7f\\x85a", b"\\xed\\xa0x\\xe2\\x82"], "UTF-8", "UTF-8", "replace", 63, True)
    tf.strings.unicode_transcode([b"a\\x85\\xe9"], "windows-1252", "UTF-8")
    tf.strings.unicode_transcode([b"a\\xff"], "US-ASCII", "UTF-16-BE", replacement_char=63, name="t")
    tf.strings.unicode_transcode(ph([b"\\x00a\\xd8\\x01", b"\\xff\\xfea\\x00"], [None]), "UTF-16", "UTF-8", "ignore")
    tf.strings.unicode_transcode([b"\\x00\\x11\\x00\\x00\\x00\\x00\\x00a"], "UTF-32", "UTF-32-BE", replacement_char=63)
    tf.strings.unsorted_segment_join([["a", "b"], ["c", "d"], ["e", "f"]], [2, 0, 2], 3, ":")
    tf.strings.unsorted_segment_join(ph(["a", "b", "c"], [None]), ph([1, 0, 1], [None]), ph(2))
    tf.strings.unsorted_segment_join([["a", "b"], ["c", "d"]], [[1, 0], [1, 1]], 2, separator="-", name="j")
    tf.as_string(ph([1 + 2j]), width=12, fill="0")
    tf.as_string([True, False], width=7)
    tf.string_split(["a b", b"\\xf0\\x9f c"])
    tf.string_to_number(["0xF", "-0xf ", "-INF", "1e400"], tf.float64)
    tf.reduce_join([["a", "b"], ["c", "d"]])
    tf.reduce_join([["a", "b"], ["c", "d"]], 0, separator="+")
    tf.reduce_join([["a", "b"], ["c", "d"]], [0, 1], keep_dims=True)
    tf.encode_base64(["hello?>"])
    tf.encode_base64(["hello?>"], pad=True)
    tf.decode_base64(["aGVsbG8_Pg"])
    tf.decode_raw(["abcd", "efgh"], tf.uint8)
    tf.decode_raw(["\\x01\\x02"], tf.int16, little_endian=False)
    tf.bitcast([1.0, 2.0], tf.int32)
    tf.bitcast(tf.constant([1, 2], tf.int64), tf.int32)
    tf.bitcast([[1, 2]], tf.int64)
    tf.searchsorted([[1, 3, 5], [2, 4, 6]], [[0, 3], [4, 9]])
    tf.searchsorted([1, 3, 5], [3, 6], side="right", out_type=tf.int64)
    tf.linspace(0.0, 1.0, 5)
    tf.range(0.0, 1.0, 0.3)
    tf.range(5, 0, -2)
    tf.eye(2, 3, batch_shape=[2])
    tf.meshgrid([1, 2, 3], [4, 5])
    tf.meshgrid([1, 2], [3, 4], [5, 6], indexing="ij")
    tf.setdiff1d(["a", "b"], ["b"])
    tf.unique_with_counts(ph(["b", "a", "b"], [None]))
    tf.histogram_fixed_width([-1, 0, 3, 9, 12], [0, 10], 5)
    tf.confusion_matrix([[0], [1]], [0, 2])
    """,
    names="none",
    refined=True,
)

FAMILY.errors(
    """
    (tf.SparseTensor([[0, 1], [2, 0]], [7, -9], [3, 2]) * ph(f(2))).values
    (tf.SparseTensor([[0, 1], [2, 0]], [7.0, -9.0], [3, 2]) * [1.0, 2.0, 3.0]).values
    (tf.SparseTensor([[0], [2]], [7.0, -9.0], [3]) / [[1.0, 2.0, 3.0]]).values
    tf.SparseTensor([[0, 1], [2, 0]], [7.0, -9.0], [3, 2]) + 1.0
    tf.gather(ph(f(2, 3)), ph([3]), axis=1)
    tf.batch_gather([[1, 2]], ph([[5]]))
    tf.tensor_scatter_update(ph(f(4)), ph([[9]]), [1.0])
    tf.sparse_tensor_to_dense(tf.SparseTensor([[1], [0]], [1, 2], [3]))
    tf.sparse_tensor_to_dense(tf.SparseTensor([[0], [0]], [1, 2], [3]))
    tf.sparse_tensor_to_dense(tf.SparseTensor([[5]], [1], [3]))
    tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 1]], [1.0], [2, 2]), ph(f(3, 2)))
    tf.sparse_reshape(tf.SparseTensor([[0, 1]], [1], [2, 3]), [4, -1]).values
    tf.sparse_reshape(tf.SparseTensor([[0, 1]], [1], [2, 3]), [4, -1]).indices
    tf.sparse_add(ph(f(2)), ph(f(2)))
    tf.SparseTensor([0, 1], [1.0], [2, 3])
    tf.SparseTensor.from_value(3)
    tf.substr(["ab"], 5, 1)
    tf.string_join([["a", "b"], ["c"]])
    tf.regex_replace(["a"], tf.constant(["a"]), "b")
    tf.regex_replace(["a"], ph(["a"], None), "b")
    tf.strings.regex_full_match(["a"], ph("("))
    tf.string_split(["a b"], [" "])
    tf.string_split(["a b"], ph([" ", "a"], None))
    tf.string_to_number(["infinity"])
    tf.string_to_number(["0x10"], tf.int32)
    tf.strings.unicode_transcode(["a"], "nope", "UTF-8")
    tf.strings.unicode_transcode([b"\\xff"], "UTF-8", "UTF-8", errors="strict")
    tf.strings.unicode_transcode(["a"], "UTF-8", "UTF-7")
    tf.strings.unicode_transcode(["a"], "UTF-8", "UTF-8", errors="skip")
    tf.strings.unicode_transcode(["a"], "UTF-8", "UTF-8", replacement_char=0x110000)
    tf.strings.unsorted_segment_join(["a", "b"], [0, -1], 2)
    tf.strings.unsorted_segment_join(["a", "b"], [0, 2], 2)
    tf.strings.unsorted_segment_join(["a", "b"], [0], 2)
    tf.strings.to_hash_bucket_strong(["a"], 7, [1])
    tf.strings.to_hash_bucket(["a"], 0)
    tf.as_string([1], precision=2)
    tf.as_string([1], scientific=True)
    tf.as_string([1.5], fill="x")
    tf.as_string([1.5], shortest=True, scientific=True)
    tf.decode_raw(["abc"], tf.int16)
    tf.decode_base64(["a"])
    tf.regex_replace(["a"], "(", "b")
    tf.sort([1, 2], direction="UP")
    tf.meshgrid([1], indexing="no")
    tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))
    tf.space_to_depth(ph(f(1, 3, 3, 1)), 2)
    tf.depth_to_space(ph(f(1, 1, 1, 3)), 2)
    tf.reverse_sequence(ph(f(2, 3)), ph([1, 9]), 1)
    tf.bincount(ph([-1, 2]))
    tf.confusion_matrix(ph([5]), ph([0]), num_classes=2)
    tf.unsorted_segment_sum(ph(f(2)), ph([0, 7]), 3)
    tf.segment_sum(ph(f(2)), ph([1, 0]))
    tf.sparse_segment_sum(ph(f(2)), ph([5]), [0])
    tf.dynamic_stitch([[0, 1]], [ph(f(3))])
    """
)
