"""Reductions along axes, scans along an axis, and arg-reductions, with the deprecated argument names."""

from harness import Family

FAMILY = Family("reductions")

for _name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_logsumexp"):
    FAMILY.differentiable(
        """
        tf.{0}(ph(f(2, 3)))
        tf.{0}(ph(f(2, 3)), 0)
        tf.{0}(ph(f(2, 3)), -1)
        tf.{0}(ph(f(2, 3, 2)), [0, 2])
        tf.{0}(ph(f(2, 3, 2)), axis=(1, -1))
        tf.{0}(ph(f(2, 3)), 1, True)
        tf.{0}(ph(f(2, 3), [None, 3]), 1, keepdims=True)
        tf.{0}(ph(f(2, 3), None), 1)
        tf.{0}(ph(f(2, 3), [None, 3]))
        tf.{0}(ph(d(2, 3)), 1)
        tf.{0}(ph(f(), []))
        """.format(_name)
    )
    FAMILY.expressions(
        """
        tf.{0}(ph(f(2, 3)), reduction_indices=1)
        tf.{0}(ph(f(2, 3)), reduction_indices=[0, 1], keep_dims=True)
        tf.{0}(ph(f(2, 3)), 1, keep_dims=True)
        tf.{0}(ph(f(2, 3)), [])
        tf.{0}(ph(f(2, 3)), axis=np.array([0]))
        tf.{0}(ph(f(2, 3)), axis=tf.constant(1))
        tf.{0}(ph(f(2, 3)), axis=ph(1))
        tf.{0}(ph(f(2, 3)), axis=ph(1), keepdims=True)
        tf.{0}(ph(f(0, 3), [None, 3]), 0)
        tf.{0}(ph(f(2, 0)), 0)
        tf.{0}([1.0, 2.0, 3.0], name="reduced")
        tf.{0}(input_tensor=ph(f(2, 2)), axis=0, keepdims=False, name="r")
        tf.{0}(ph(f(2, 3, 4), [2, None, 4]), [0, 1])
        tf.{0}(ph(f(2, 3), None))
        tf.{0}(ph(f(2, 3), None), keepdims=True)
        """.format(_name)
    )
    FAMILY.errors(
        """
        tf.{0}(ph(f(2, 3)), 2)
        tf.{0}(ph(f(2, 3)), -3)
        tf.{0}(ph(f(2, 3)), [0, 5])
        tf.{0}(ph(f(2, 3)), 1.5)
        tf.{0}(ph(f(2, 3), None), 2)
        tf.{0}(ph(f(2, 3)), axis=0, reduction_indices=1)
        tf.{0}(ph(b(2, 3)))
        tf.{0}("text")
        """.format(_name)
    )
    if _name != "reduce_logsumexp":
        FAMILY.expressions("tf.{0}(ph(i(3, 3)), 0)\ntf.{0}(ph(l(3, 3)))\ntf.{0}([1, 2, 4])".format(_name))

for _name in ("reduce_all", "reduce_any"):
    FAMILY.expressions(
        """
        tf.{0}(ph(b(2, 3)))
        tf.{0}(ph(b(2, 3)), 0)
        tf.{0}(ph(b(2, 3), [None, 3]), 1, keepdims=True)
        tf.{0}(ph(b(2, 3)), reduction_indices=[1], keep_dims=True)
        tf.{0}(ph(b(0)))
        tf.{0}([True, False], name="whole")
        """.format(_name)
    )
    FAMILY.errors("tf.{0}(ph(f(2)))\ntf.{0}(ph(b(2)), 1)".format(_name))

for _name in ("argmax", "argmin"):
    FAMILY.expressions(
        """
        tf.{0}(ph(f(2, 3)))
        tf.{0}(ph(f(2, 3)), 1)
        tf.{0}(ph(f(2, 3)), axis=-1)
        tf.{0}(ph(f(2, 3)), dimension=1)
        tf.{0}(ph(f(2, 3), [None, 3]), 1)
        tf.{0}(ph(f(2, 3), None), 1)
        tf.{0}(ph(f(2, 3)), 1, output_type=tf.int32)
        tf.{0}([1, 3, 3, 1])
        tf.{0}(ph(d(2, 2, 2)), 1, name="best")
        tf.{0}(ph(f(2, 3)), ph(0))
        tf.{0}(input=[[1.0, 2.0], [4.0, 3.0]], axis=0)
        """.format(_name)
    )
    FAMILY.errors(
        """
        tf.{0}(ph(f(2, 3)), 2)
        tf.{0}(ph(f(0, 3)), 0)
        tf.{0}(ph(f(2, 3)), axis=0, dimension=1)
        tf.{0}("text")
        tf.{0}(1.0)
        tf.{0}(ph(f(2, 3)), [0, 1])
        """.format(_name)
    )

for _name in ("cumsum", "cumprod"):
    FAMILY.differentiable(
        """
        tf.{0}(ph(f(4)))
        tf.{0}(ph(f(2, 3)), 1)
        tf.{0}(ph(f(2, 3)), axis=-1, exclusive=True)
        tf.{0}(ph(f(2, 3)), 0, reverse=True)
        tf.{0}(ph(f(2, 3), [None, 3]), 1, exclusive=True, reverse=True)
        """.format(_name)
    )
    FAMILY.expressions(
        """
        tf.{0}([1, 2, 3, 4])
        tf.{0}(ph(f(2, 3), None), axis=ph(1), name="running")
        tf.{0}(ph(f(0, 2)))
        """.format(_name)
    )
    FAMILY.errors("tf.{0}(ph(f(2)), 1)\ntf.{0}(ph(f(2)), 0.5)\ntf.{0}(1.0)".format(_name))

FAMILY.expressions(
    """
    tf.count_nonzero([[0, 1], [2, 0]])
    tf.count_nonzero(ph([[0.0, 1.0], [2.0, 3.0]]), 1)
    tf.count_nonzero([[0, 1], [2, 0]], axis=0, keepdims=True, dtype=tf.int32)
    tf.count_nonzero(ph(b(2, 3)), reduction_indices=1, name="some")
    tf.count_nonzero(["", "a"])
    tf.math.reduce_sum(ph(f(2, 3)), axis=1)
    tf.math.argmax(ph(f(2, 3)), 1)
    tf.arg_max(ph(f(2, 3)), 1)
    tf.arg_min(ph(f(2, 3)), 1)
    tf.reduce_max([[-1.0, float("-inf")], [float("-inf"), float("-inf")]], 1)
    tf.reduce_logsumexp([1000.0, 1000.0])
    tf.reduce_mean(tf.cast(ph(b(5)), tf.float32))
    tf.reduce_sum(var([1.0, 2.0]))
    tf.reduce_max([[True]] and [3, 1])
    tf.nn.zero_fraction(ph([0.0, 1.0, 0.0, 2.0]))
    tf.nn.zero_fraction(ph([[0.0, 1.0]]), name="sparsity")
    tf.norm(ph(f(2, 3)))
    tf.norm(ph(f(2, 3)), axis=1)
    tf.norm(ph(f(2, 3)), ord=1, axis=0)
    tf.norm(ph(f(2, 3)), ord=np.inf, axis=1, keepdims=True)
    tf.norm(ph(f(2, 3)), ord="euclidean", keep_dims=True)
    tf.norm(ph(f(2, 3)), ord="fro", axis=[0, 1])
    tf.norm(ph(f(2, 3)), ord=3, axis=-1, name="size_of_it")
    tf.norm(ph(f(2, 3), [None, 3]), axis=1)
    tf.linalg.norm(ph(f(4)))
    """
)

FAMILY.expressions(
    """
    tf.reduce_max([1.0, float("nan"), 2.0])
    tf.reduce_min([float("nan"), 2.0])
    """,
    ignore=("value",),
    reason="whether TensorFlow's answer is NaN depends on where the NaN stands",
)

FAMILY.differentiable(
    """
    tf.norm(ph(f(2, 3)), axis=-1, keepdims=True)
    tf.norm(ph(f(2, 2)))
    tf.norm(ph(f(2, 3)), ord=1)
    """
)

FAMILY.gradients(
    """
    tf.reduce_max(ph([1.0, 3.0, 3.0]))
    tf.reduce_min(ph([[1.0, 1.0], [2.0, 0.0]]), 1)
    tf.reduce_prod(ph([2.0, 0.0, 3.0]))
    tf.reduce_prod(ph([[2.0, 0.0], [0.0, 3.0]]), 0)
    tf.reduce_mean(ph(f(2, 3), None), ph([0]))
    tf.reduce_sum(ph(f(2, 3), None), ph(-1), keepdims=True)
    """
)

FAMILY.errors(
    """
    tf.norm(ph(f(2)), ord="nonsense")
    tf.norm(ph(f(2, 3)), ord="fro", axis=0)
    tf.norm(ph(f(2, 3)), ord=-1)
    tf.norm(ph(f(2, 3)), axis=5)
    """
)
