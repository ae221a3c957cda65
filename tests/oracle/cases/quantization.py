"""Numbers rounded as a quantized network has them, dilations of images, square roots of matrices."""

from harness import Family

FAMILY = Family("quantization")

FAMILY.expressions(
    """
    tf.fake_quant_with_min_max_args(ph(f(3, 4) * 4, [None, 4]))
    tf.fake_quant_with_min_max_args(ph(f(7)), -0.5, 1.5, 3)
    tf.fake_quant_with_min_max_args(ph(f(7)), 0.25, 1.5, num_bits=4, narrow_range=True)
    tf.fake_quant_with_min_max_args(ph(f(7)), -2.0, -1.0, 2, True, "mine")
    tf.fake_quant_with_min_max_args_gradient(ph(f(7)), ph(f(7)), -1.0, 0.5, 4)
    tf.fake_quant_with_min_max_vars(ph(f(3, 4)), -0.7, ph(1.1))
    tf.fake_quant_with_min_max_vars(ph(f(3, 4)), ph(-0.7), ph(1.1), num_bits=16)
    tf.fake_quant_with_min_max_vars(ph(f(3, 4)), 0.0, 0.0)
    tf.fake_quant_with_min_max_vars_gradient(ph(f(9)), ph(f(9)), -0.7, 1.1, 5, True)
    tf.fake_quant_with_min_max_vars_gradient(ph(f(9)), ph(f(9)), 0.0, 0.0)
    tf.fake_quant_with_min_max_vars_per_channel(ph(f(2, 5, 3), [None, 5, 3]), [-1.0, 0.0, -0.3], [0.5, 0.0, 1.0])
    tf.fake_quant_with_min_max_vars_per_channel(ph(f(3)), ph(-pos(3)), ph(pos(3)), 6)
    tf.fake_quant_with_min_max_vars_per_channel_gradient(ph(f(4, 3)), ph(f(4, 3)), ph(-pos(3) / 2), ph(pos(3) / 2))
    """,
    tolerance=(1e-6, 1e-7),
)
FAMILY.gradients(
    """
    tf.fake_quant_with_min_max_args(ph(f(3, 4)), -1.0, 1.0, 4)
    tf.fake_quant_with_min_max_vars(ph(f(3, 4)), ph(-0.7), ph(1.1), 4)
    tf.fake_quant_with_min_max_vars(ph(f(3, 4)), ph(0.0), ph(0.0))
    tf.fake_quant_with_min_max_vars_per_channel(ph(f(4, 3)), ph(-pos(3) / 2), ph(pos(3) / 2))
    """
)
FAMILY.errors(
    """
    tf.fake_quant_with_min_max_args(ph(f(3)), num_bits=1)
    tf.fake_quant_with_min_max_args(ph(f(3)), num_bits=17)
    tf.fake_quant_with_min_max_args(ph(f(3)), 1.0, 1.0)
    tf.fake_quant_with_min_max_args(ph(d(3)))
    tf.fake_quant_with_min_max_vars(ph(f(3)), [0.0], 1.0)
    tf.fake_quant_with_min_max_vars_per_channel(ph(f(3)), [0.0, 0.0], [1.0, 1.0])
    tf.fake_quant_with_min_max_vars_per_channel(ph(f(3), None), [0.0, 0.0], [1.0, 1.0])
    """
)

FAMILY.differentiable(
    """
    tf.nn.dilation2d(ph(f(2, 5, 4, 3), [None, 5, 4, 3]), ph(f(2, 3, 3)), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    tf.nn.dilation2d(ph(f(1, 7, 6, 2)), ph(f(2, 2, 2)), [1, 2, 1, 1], [1, 2, 3, 1], "VALID")
    tf.nn.dilation2d(ph(d(1, 4, 4, 1)), ph(d(3, 3, 1)), strides=[1, 3, 2, 1], rates=[1, 2, 1, 1], padding="SAME")
    tf.nn.erosion2d(ph(f(2, 5, 4, 2)), ph(f(2, 3, 2)), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    tf.nn.erosion2d(ph(f(1, 5, 5, 1)), ph(f(2, 2, 1)), [1, 2, 2, 1], [1, 1, 2, 1], "VALID", name="mine")
    tf.linalg.sqrtm(ph(np.array([[4.0, 1.0], [2.0, 3.0]])))
    tf.linalg.sqrtm(ph(np.array([[[2.0, 1.0, 0.0], [-1.0, 2.0, 1.0], [0.5, 0.0, 3.0]]] * 2), [None, 3, 3]))
    """,
    tolerance=(1e-5, 1e-6),
    gradient_tolerance=(1e-4, 1e-5),
)
FAMILY.expressions(
    """
    tf.nn.dilation2d(ph(n(9, 1, 4, 4, 2)), ph(n(4, 2, 2, 2)), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    tf.nn.dilation2d(ph(f(1, 4, 4, 1), None), ph(f(2, 2, 1), None), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    tf.nn.dilation2d(ph(f(1, 3, 3, 1)), filters=ph(f(2, 2, 1)), strides=[1] * 4, padding="SAME",
        dilations=[1] * 4)
    tf.real(tf.linalg.sqrtm(ph(np.array([[2.0, 0.5j], [1.0, 3.0 - 1j]]))))
    tf.imag(tf.linalg.sqrtm(ph(np.array([[2.0, 0.5j], [1.0, 3.0 - 1j]]))))
    tf.linalg.sqrtm(ph(np.array([[0.0, -1.0], [1.0, 0.0]])))
    tf.linalg.sqrtm(ph(np.array([[-1.0, 0.0], [0.0, 1.0]])))
    tf.matrix_square_root(ph(np.zeros([2, 0, 0])))
    """,
    tolerance=(1e-5, 1e-6),
)
FAMILY.errors(
    """
    tf.nn.dilation2d(ph(f(1, 4, 4, 2)), ph(f(2, 2, 1)), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    tf.nn.dilation2d(ph(f(1, 4, 4, 1)), ph(f(2, 2, 1)), [1, 1, 1, 1], [1, 1, 1, 1], "FULL")
    tf.nn.dilation2d(ph(f(4, 4, 1)), ph(f(2, 2, 1)), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    tf.linalg.sqrtm(ph(f(2, 3)))
    tf.linalg.sqrtm(ph(i(2, 2)))
    """
)
