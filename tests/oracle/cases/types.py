"""Dtypes, shapes, dimensions and device specs as objects; sparse tensors; graph keys and constants."""

from harness import Family

FAMILY = Family("types")

DTYPES = [
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "half",
    "double",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "bool",
    "string",
    "complex64",
    "complex128",
]
for _name in DTYPES:
    FAMILY.expressions(
        """
        [tf.{0}.name, tf.{0}.is_floating, tf.{0}.is_integer, tf.{0}.is_bool, tf.{0}.is_unsigned]
        [str(tf.{0}), tf.{0}.is_complex, tf.{0}.base_dtype == tf.{0}, tf.as_dtype("{0}") is tf.{0}]
        """.format(_name)
    )
    if _name not in ("bfloat16", "string"):
        _path = "tf.%s.as_numpy_dtype" % _name
        FAMILY.expressions("[np.dtype({0}).name, tf.as_dtype({0}).name]".format(_path))

FAMILY.expressions(
    """
    [tf.float32.size, tf.bool.size, tf.int64.size, tf.float16.size]
    [tf.float32.min, tf.float32.max, tf.int32.min, tf.int32.max, tf.uint8.max, tf.int64.max]
    [tf.float32 == "float32", tf.float32 == np.float32, tf.float32 != tf.float64]
    [tf.as_dtype(np.float32).name, tf.as_dtype(np.dtype("int64")).name]
    [tf.as_dtype(np.bool_).name, tf.as_dtype(np.array(["a"]).dtype).name, tf.as_dtype(np.int32).name]
    [tf.float32.real_dtype.name, tf.int32.is_numpy_compatible, tf.float32.as_datatype_enum]
    len({tf.float32, tf.as_dtype("float32"), tf.int32})
    tf.DType is type(tf.float32)
    tf.constant(1.0).dtype == np.float32
    # shapes
    [str(tf.TensorShape([2, None])), str(tf.TensorShape([]))]
    str(tf.TensorShape(None))
    [str(tf.TensorShape([2])), str(tf.TensorShape(3))]
    [tf.TensorShape([2, 3]).ndims, tf.TensorShape(None).ndims, tf.TensorShape([]).ndims, tf.TensorShape([2]).rank]
    [tf.TensorShape([2, 3]).as_list(), tf.TensorShape([2, None]).as_list()]
    [tf.TensorShape([2, 3]).num_elements(), tf.TensorShape([2, None]).num_elements(), tf.TensorShape([]).num_elements()]
    [tf.TensorShape([2, None]).is_fully_defined(), tf.TensorShape([2, 3]).is_fully_defined()]
    [tf.TensorShape(None).is_fully_defined(), tf.TensorShape([]).is_fully_defined()]
    [tf.TensorShape([2, None]).is_compatible_with([2, 3]), tf.TensorShape([2, None]).is_compatible_with([3, 3])]
    [tf.TensorShape(None).is_compatible_with([1]), tf.TensorShape([1]).is_compatible_with([1, 1])]
    [tf.TensorShape([2, 3]) == [2, 3], tf.TensorShape([2, 3]) == tf.TensorShape((2, 3)), tf.TensorShape([2]) != [3]]
    tf.TensorShape(None) == tf.TensorShape(None)
    [len(tf.TensorShape([2, 3])), bool(tf.TensorShape([])), bool(tf.TensorShape(None))]
    [x.value for x in tf.TensorShape([2, None])]
    [tf.TensorShape([2, 3])[0].value, tf.TensorShape([2, 3])[-1].value, str(tf.TensorShape([2, 3, 4])[1:])]
    [str(tf.TensorShape(None)[1:]), tf.TensorShape(None)[0].value, str(tf.TensorShape([1, 2, 3])[:-1])]
    [str(tf.TensorShape([2]).concatenate([3])), str(tf.TensorShape([2]).concatenate(tf.TensorShape(None)))]
    [str(tf.TensorShape([2, None]).merge_with([None, 3])), str(tf.TensorShape(None).merge_with([1]))]
    [str(tf.TensorShape([2, None]).with_rank(2)), str(tf.TensorShape(None).with_rank(2))]
    [str(tf.TensorShape([2, None]).with_rank_at_least(1)), str(tf.TensorShape([2]).with_rank_at_most(3))]
    [str(tf.TensorShape([2]) + [3]), str(tf.TensorShape([2, 3]).dims), str(tf.TensorShape(None).dims)]
    [str(x) for x in tf.TensorShape([tf.Dimension(2), None]).dims]
    str(tf.TensorShape(np.array([2, 3])))
    str(tf.TensorShape(tf.TensorShape([1])))
    [tf.Dimension(3).value, tf.Dimension(None).value, int(tf.Dimension(4))]
    [str(tf.Dimension(None)), repr(tf.Dimension(2))]
    [(tf.Dimension(3) + 2).value, (tf.Dimension(3) * tf.Dimension(None)).value, (7 - tf.Dimension(3)).value]
    [(tf.Dimension(7) // 2).value, (tf.Dimension(7) % 4).value, tf.Dimension(3) == 3]
    [tf.Dimension(3) < 4, tf.Dimension(None) < 4, tf.Dimension(3) >= tf.Dimension(3), tf.Dimension(3) != 4]
    [tf.Dimension(3).is_compatible_with(None), tf.Dimension(3).merge_with(None).value, list(range(5))[tf.Dimension(2)]]
    # device specs
    tf.DeviceSpec(job="worker", task=1, device_type="GPU", device_index=0).to_string()
    tf.DeviceSpec.from_string("/job:ps/task:2/cpu:0").to_string()
    tf.DeviceSpec.from_string("/job:ps/replica:1/device:GPU:3").device_index
    [tf.DeviceSpec.from_string(s).to_string() for s in ("", "/gpu:1", "/cpu:0", "/job:a", "/task:3", "/device:CPU:*")]
    tf.DeviceSpec(job="ps") == tf.DeviceSpec.from_string("/job:ps")
    # graph keys and constants
    [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES, tf.GraphKeys.LOSSES]
    [tf.GraphKeys.SUMMARIES, tf.GraphKeys.QUEUE_RUNNERS, tf.GraphKeys.TABLE_INITIALIZERS, tf.GraphKeys.UPDATE_OPS]
    [tf.GraphKeys.REGULARIZATION_LOSSES, tf.GraphKeys.MOVING_AVERAGE_VARIABLES, tf.GraphKeys.GLOBAL_STEP]
    [tf.GraphKeys.MODEL_VARIABLES, tf.GraphKeys.ACTIVATIONS, tf.GraphKeys.BIASES, tf.GraphKeys.WEIGHTS]
    [tf.GraphKeys.INIT_OP, tf.GraphKeys.LOCAL_INIT_OP, tf.GraphKeys.READY_OP]
    [tf.GraphKeys.SAVERS, tf.GraphKeys.EVAL_STEP]
    tf.newaxis
    [issubclass(tf.errors.InvalidArgumentError, tf.errors.OpError), issubclass(tf.OpError, Exception)]
    [tf.errors.InvalidArgumentError(None, None, "m").message, tf.errors.OutOfRangeError(None, None, "m").error_code]
    [tf.errors.INVALID_ARGUMENT, tf.errors.NOT_FOUND, tf.errors.UNAVAILABLE, tf.errors.ABORTED, tf.errors.CANCELLED]
    # sparse tensors
    tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2])
    tf.SparseTensor(indices=[[0, 1]], values=["a"], dense_shape=[3, 2])
    tf.SparseTensor([[0, 1]], [5.0], [3, 2]).get_shape()
    tf.SparseTensor([[0, 1]], [5.0], [3, 2]).dtype
    tf.SparseTensor([[0, 1]], [5.0], [3, 2]).op.type
    tf.sparse_tensor_to_dense(tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2]))
    tf.sparse_tensor_to_dense(tf.SparseTensor([[1]], [5], [3]), default_value=-1)
    """
)

FAMILY.errors(
    """
    tf.as_dtype("nonsense")
    tf.as_dtype(object())
    tf.as_dtype(None)
    tf.float32.nonsense
    tf.TensorShape([2, "a"])
    tf.TensorShape([-2])
    tf.TensorShape([1.5])
    tf.TensorShape(None).as_list()
    tf.TensorShape([2]).merge_with([3])
    tf.TensorShape([2]).merge_with([2, 2])
    tf.TensorShape([2]).with_rank(3)
    tf.TensorShape([2]).with_rank_at_least(2)
    tf.TensorShape([2]).assert_is_compatible_with([3])
    tf.TensorShape([2, None]).assert_is_fully_defined()
    tf.TensorShape([2]).assert_has_rank(2)
    len(tf.TensorShape(None))
    list(tf.TensorShape(None))
    tf.TensorShape([2])[3]
    tf.Dimension(-1)
    tf.Dimension("a")
    tf.Dimension(2).merge_with(3)
    tf.DeviceSpec.from_string("/nonsense:1")
    tf.DeviceSpec.from_string("/cpu:0/gpu:0")
    tf.SparseTensor([[0, 1]], [5.0, 6.0], [3, 2])
    tf.SparseTensor([0, 1], [5.0, 6.0], [3])
    tf.string.as_numpy_dtype + 1
    ph(f(2, 3)).set_shape([3, 2])
    ph(f(2, 3)).set_shape([2])
    """
)
