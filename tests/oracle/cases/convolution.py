"""Convolution and pooling over images and sequences."""

from harness import Family

FAMILY = Family("convolution")

FAMILY.differentiable(
    """
    tf.nn.conv2d(ph(f(1, 4, 4, 2)), ph(f(3, 3, 2, 2)), [1, 1, 1, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 4, 4, 2)), ph(f(3, 3, 2, 2)), [1, 1, 1, 1], "VALID")
    tf.nn.conv2d(ph(f(1, 5, 4, 1)), ph(f(2, 3, 1, 2)), strides=[1, 2, 2, 1], padding="SAME")
    tf.nn.conv2d(ph(f(1, 5, 4, 1)), ph(f(2, 3, 1, 2)), strides=[1, 2, 1, 1], padding="VALID")
    tf.nn.conv2d(ph(f(2, 3, 3, 1), [None, 3, 3, 1]), ph(f(1, 1, 1, 2)), [1, 1, 1, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 6, 6, 1), [None, None, None, 1]), ph(f(4, 4, 1, 1)), [1, 3, 3, 1], "SAME")
    tf.nn.conv2d(ph(d(1, 3, 3, 1)), ph(d(2, 2, 1, 1)), [1, 1, 1, 1], "SAME")
    tf.nn.max_pool(ph(f(1, 4, 4, 2)), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    tf.nn.max_pool(ph(f(1, 5, 5, 1)), ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
    tf.nn.max_pool(ph(f(2, 4, 4, 1), [None, None, None, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    tf.nn.avg_pool(ph(f(1, 4, 4, 2)), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    tf.nn.avg_pool(ph(f(1, 5, 5, 1)), ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
    tf.nn.avg_pool(ph(f(1, 3, 3, 1), [None, 3, 3, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    tf.nn.conv1d(ph(f(1, 5, 2)), ph(f(3, 2, 2)), 1, "SAME")
    tf.nn.conv1d(ph(f(1, 5, 2)), ph(f(2, 2, 1)), stride=2, padding="VALID")
    tf.nn.conv2d_transpose(ph(f(1, 2, 2, 1)), ph(f(3, 3, 2, 1)), [1, 4, 4, 2], [1, 2, 2, 1])
    tf.nn.conv2d_transpose(ph(f(1, 2, 2, 1)), ph(f(2, 2, 1, 1)), [1, 3, 3, 1], [1, 1, 1, 1], padding="VALID")
    tf.nn.depthwise_conv2d(ph(f(1, 4, 4, 2)), ph(f(2, 2, 2, 2)), [1, 1, 1, 1], "SAME")
    tf.nn.depthwise_conv2d(ph(f(1, 4, 4, 2)), ph(f(3, 3, 2, 1)), [1, 1, 1, 1], "VALID")
    """,
    tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.nn.conv2d(input=ph(f(1, 3, 3, 1)), filter=ph(f(2, 2, 1, 1)), strides=[1, 1, 1, 1], padding="SAME", name="c")
    tf.nn.conv2d(ph(f(1, 3, 3, 1)), filters=ph(f(2, 2, 1, 1)), strides=1, padding="SAME")
    tf.nn.conv2d(ph(f(1, 3, 3, 1)), ph(f(2, 2, 1, 1)), [1, 1, 1, 1], "SAME", use_cudnn_on_gpu=False)
    tf.nn.conv2d(ph(f(1, 3, 3, 1)), ph(f(2, 2, 1, 1)), [1, 1, 1, 1], "SAME", data_format="NHWC")
    tf.nn.conv2d(ph(f(1, 4, 4, 1), None), ph(f(2, 2, 1, 1)), [1, 1, 1, 1], "VALID")
    tf.nn.conv2d(ph(f(1, 4, 4, 1)), ph(f(2, 2, 1, 3), [None, None, 1, 3]), [1, 1, 1, 1], "VALID")
    tf.nn.conv2d(ph(f(0, 4, 4, 1), [None, 4, 4, 1]), ph(f(2, 2, 1, 1)), [1, 1, 1, 1], "VALID")
    tf.nn.conv2d(ph(f(1, 3, 3, 1)), var(np.ones([2, 2, 1, 1], np.float32)), [1, 1, 1, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 5, 5, 1)), ph(f(2, 2, 1, 1)), [1, 1, 1, 1], "VALID", dilations=[1, 2, 2, 1])
    tf.nn.max_pool(value=ph(f(1, 4, 4, 1)), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", name="p")
    tf.nn.max_pool(ph(f(1, 4, 4, 1)), 2, 2, "VALID")
    tf.nn.max_pool(ph(f(1, 4, 4, 1)), [1, 2, 2, 1], [1, 2, 2, 1], "VALID", data_format="NHWC")
    tf.nn.max_pool2d(ph(f(1, 4, 4, 1)), 2, 2, "SAME")
    tf.nn.max_pool(ph(f(1, 3, 3, 1) - 5), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    tf.nn.avg_pool(value=ph(f(1, 4, 4, 1)), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", name="p")
    tf.nn.avg_pool(ph(f(1, 4, 4, 1), None), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    tf.nn.avg_pool2d(ph(f(1, 4, 4, 1)), 2, 1, "VALID")
    tf.nn.pool(ph(f(1, 4, 4, 1)), [2, 2], "MAX", "VALID")
    tf.nn.pool(ph(f(2, 7, 6, 2), [None, 7, 6, 2]), [2, 3], "MAX", "VALID", [3, 2])
    tf.nn.pool(ph(f(2, 6, 2)), [2], "AVG", "VALID", dilation_rate=[2])
    tf.nn.pool(ph(f(1, 5, 4, 4, 2)), [2, 2, 1], "AVG", "VALID", dilations=[1, 2, 3])
    tf.nn.pool(ph(f(1, 4, 4, 1)), [2, 2], "AVG", "SAME", strides=[2, 2])
    tf.nn.convolution(ph(f(1, 4, 4, 1)), ph(f(2, 2, 1, 1)), "VALID")
    tf.nn.convolution(ph(f(1, 5, 1)), ph(f(2, 1, 1)), "SAME", strides=[2])
    tf.nn.conv1d(ph(f(1, 5, 2)), ph(f(3, 2, 2)), 1, "SAME", name="sequence")
    tf.nn.conv2d_transpose(ph(f(1, 2, 2, 1)), ph(f(2, 2, 1, 1)), tf.stack([ph(1), 4, 4, 1]), [1, 2, 2, 1], name="up")
    """,
    tolerance=(1e-4, 1e-5),
)

FAMILY.gradients(
    """
    tf.nn.max_pool(ph([[[[1.0], [1.0]], [[1.0], [1.0]]]]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    tf.nn.conv2d(ph(f(1, 4, 4, 1)), var(np.ones([2, 2, 1, 2], np.float32)), [1, 1, 1, 1], "SAME")
    """
)
FAMILY.gradients(
    """
    tf.nn.conv2d(ph(f(1, 3, 3, 1)), ph(f(2, 2, 1, 1)), [1, 1, 1, 1], "VALID")
    tf.nn.avg_pool(tf.square(ph(f(1, 2, 2, 1))), [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    tf.nn.max_pool(tf.square(ph(f(1, 2, 2, 1))), [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    """,
    order=2,
    tolerance=(1e-4, 1e-5),
)

FAMILY.errors(
    """
    tf.nn.conv2d(ph(f(1, 4, 4, 2)), ph(f(3, 3, 3, 2)), [1, 1, 1, 1], "SAME")
    tf.nn.pool(ph(f(1, 4, 4, 1)), [2, 2], "MAX", "SAME", [2, 1])
    tf.nn.pool(ph(f(1, 4, 4, 1)), [2, 2], "MAX", "VALID", [2, 1], [2, 1])
    tf.nn.pool(ph(f(1, 4, 4, 1)), [2, 2], "MAX", "VALID", strides=[3, 3])
    tf.nn.conv2d(ph(f(4, 4, 2)), ph(f(3, 3, 2, 2)), [1, 1, 1, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 4, 4, 2)), ph(f(3, 2, 2)), [1, 1, 1, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 2, 2, 1)), ph(f(3, 3, 1, 1)), [1, 1, 1, 1], "VALID")
    tf.nn.conv2d(ph(f(1, 4, 4, 1)), ph(f(3, 3, 1, 1)), [1, 1, 1, 1], "OTHER")
    tf.nn.conv2d(ph(f(1, 4, 4, 1)), ph(f(3, 3, 1, 1)), [1, 0, 0, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 4, 4, 1)), ph(f(3, 3, 1, 1)), [1, 1, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 4, 4, 1)), ph(f(3, 3, 1, 1)), [2, 1, 1, 1], "SAME")
    tf.nn.conv2d(ph(i(1, 4, 4, 1)), ph(i(3, 3, 1, 1)), [1, 1, 1, 1], "SAME")
    tf.nn.conv2d(ph(f(1, 4, 4, 1)), ph(f(3, 3, 1, 1)), [1, 1, 1, 1])
    tf.nn.conv2d(ph(f(1, 4, 4, 2), None), ph(f(3, 3, 3, 2), None), [1, 1, 1, 1], "SAME")
    tf.nn.max_pool(ph(f(4, 4)), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    tf.nn.max_pool(ph(f(1, 4, 4, 1)), [1, 5, 5, 1], [1, 1, 1, 1], "VALID")
    tf.nn.max_pool(ph(f(1, 4, 4, 1)), [1, 2, 2, 1], [1, 2, 2, 1], "NONE")
    tf.nn.avg_pool(ph(f(1, 4, 4, 1)), [2, 2, 2], [1, 2, 2, 1], "SAME")
    tf.nn.avg_pool(ph(i(1, 4, 4, 1)), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    """
)

# Volumes; TensorFlow computes those with the channels in front on GPUs alone, so they are compared transposed.
FAMILY.differentiable(
    """
    tf.nn.pool(ph(f(1, 3, 4, 4, 2)), [2, 2, 2], "MAX", "VALID")
    tf.nn.pool(ph(f(1, 3, 4, 4, 2)), [2, 2, 3], "AVG", "SAME", strides=[1, 2, 2], name="p")
    tf.nn.convolution(ph(f(1, 3, 4, 4, 2)), ph(f(2, 2, 2, 2, 1)), "VALID")
    tf.nn.convolution(ph(f(1, 3, 4, 4, 1)), ph(f(2, 2, 2, 1, 2)), "SAME", strides=[1, 2, 2])
    """,
    refined=True,
)


def _in_front(tf, x):
    """Volumes with the channels in front, and back, where they are computed so."""
    return tf.transpose(x, [0, 4, 1, 2, 3])


def _volumes(use):
    def build(tf, t):
        x, kernel = t.ph(t.f(1, 3, 4, 5, 2)), t.ph(t.f(2, 2, 2, 2, 3))
        if tf.__name__ == "tensorflow":
            y = use(tf, x, kernel, "NDHWC", lambda five: five)
            return y, tf.gradients(y * y, [x, kernel])
        y = tf.transpose(
            use(tf, _in_front(tf, x), kernel, "NCDHW", lambda five: [five[0], five[4], *five[1:4]]),
            [0, 2, 3, 4, 1],
        )
        return y, tf.gradients(y * y, [x, kernel])

    return build


for _label, _use in {
    "conv3d": lambda tf, x, k, layout, order: tf.nn.conv3d(x, k, order([1, 1, 2, 1, 1]), "SAME", layout),
    "convolution": lambda tf, x, k, layout, order: tf.nn.convolution(
        x, k, "VALID", [1, 2, 1], data_format=layout
    ),
    "conv3d_transpose": lambda tf, x, k, layout, order: tf.nn.conv3d_transpose(
        x, tf.transpose(k, [0, 1, 2, 4, 3]), order([1, 6, 4, 5, 3]), order([1, 2, 1, 1, 1]), "SAME", layout
    ),
    "max_pool3d": lambda tf, x, k, layout, order: (
        tf.nn.max_pool3d(x, order([1, 2, 2, 1, 1]), order([1, 1, 2, 1, 1]), "VALID", layout)
        * tf.reduce_sum(k)
    ),
    "pool": lambda tf, x, k, layout, order: (
        tf.nn.pool(x, [2, 1, 2], "AVG", "SAME", data_format=layout) * tf.reduce_sum(k)
    ),
    "layers.conv3d": lambda tf, x, k, layout, order: (
        tf.layers.conv3d(
            x,
            2,
            2,
            data_format="channels_last" if layout == "NDHWC" else "channels_first",
            kernel_initializer=tf.constant_initializer(0.5),
        )
        * tf.reduce_sum(k)
    ),
    "layers.max_pooling3d": lambda tf, x, k, layout, order: (
        tf.layers.max_pooling3d(
            x, 2, 1, data_format="channels_last" if layout == "NDHWC" else "channels_first"
        )
        * tf.reduce_sum(k)
    ),
    "layers.conv3d_transpose": lambda tf, x, k, layout, order: (
        tf.layers.conv3d_transpose(
            x,
            1,
            2,
            (2, 1, 1),
            data_format="channels_last" if layout == "NDHWC" else "channels_first",
            kernel_initializer=tf.constant_initializer(0.5),
        )
        * tf.reduce_sum(k)
    ),
}.items():
    FAMILY.generated(
        "channels in front, %s" % _label, _volumes(_use), _label, names="none", tolerance=(1e-4, 1e-5)
    )
