"""tf.contrib.image: images turned, shifted and tilted, with their gradients, and colours changed in YIQ."""

from harness import Family

FAMILY = Family("contrib_images")

FAMILY.differentiable(
    """
    tf.contrib.image.rotate(ph(f(2, 5, 4, 2)), 0.4)
    tf.contrib.image.rotate(ph(f(2, 5, 4, 2), [None, None, 4, 2]), [0.4, -1.2], "BILINEAR")
    tf.contrib.image.rotate(ph(f(5, 4)), 3.1, interpolation="bilinear")
    tf.contrib.image.translate(ph(f(3, 4, 2)), [1, -1])
    tf.contrib.image.translate(ph(f(2, 3, 4, 1)), [[0.5, 0.0], [-1.25, 1.5]], "BILINEAR")
    tf.contrib.image.transform(ph(f(2, 4, 5, 1)), [0.9, 0.2, -0.3, 0.1, 1.2, 0.4, 0.02, -0.03], "BILINEAR")
    tf.contrib.image.transform(ph(f(3, 4)), [1, 0, 0.5, 0, 1, -0.5, 0, 0], output_shape=[2, 6])
    tf.contrib.image.dense_image_warp(ph(f(2, 4, 5, 2)), ph(f(2, 4, 5, 2) * 3 + 0.1))
    tf.contrib.image.dense_image_warp(ph(f(1, 2, 3, 1)), ph(f(1, 2, 3, 2)))
    tf.contrib.image.interpolate_spline(ph(f(2, 4, 2)), ph(f(2, 4, 3)), ph(f(2, 5, 2) + 0.3), 2)
    tf.contrib.image.interpolate_spline(ph(f(1, 4, 2)), ph(f(1, 4, 1)), ph(f(1, 5, 2) + 0.3), 1, 0.1)
    tf.contrib.image.interpolate_spline(ph(f(1, 4, 2)), ph(f(1, 4, 1)), ph(f(1, 5, 2) + 0.3), 3, 0.1)
    tf.contrib.resampler.resampler(ph(f(2, 4, 5, 3)), ph(f(2, 3, 2, 2) * 3 + 1))
    tf.contrib.resampler.resampler(ph(f(1, 2, 2, 1)), ph(f(1, 2) * 0.4))
    """,
    names="none",
    gradient_tolerance=(1e-4, 1e-5),
)

FAMILY.expressions(
    """
    tf.contrib.image.rotate(np.arange(12, dtype=np.uint8).reshape(3, 4), 1.57)
    tf.contrib.image.transform(np.arange(12, dtype=np.int64).reshape(3, 4) * 10, [1, 0, 0.3, 0, 1, 0, 0, 0], "BILINEAR")
    tf.contrib.image.transform(f(3, 4), [1, 0, 0, 0, 1, 0, -0.5, -0.5])
    tf.contrib.image.angles_to_projective_transforms([0.3, -0.5], 7.0, 5.0)
    tf.contrib.image.angles_to_projective_transforms(0.3, 7.0, 5.0)
    tf.contrib.image.translations_to_projective_transforms([[1.0, 2.0], [-3.0, 0.5]])
    tf.contrib.image.compose_transforms([1, 0.1, 2, 0.2, 1, 3, 0.01, 0.02], [0.5, 0, 1, 0, 0.25, 2, 0, 0.1])
    tf.contrib.image.flat_transforms_to_matrices(f(2, 8))
    tf.contrib.image.matrices_to_flat_transforms(f(2, 3, 3))
    tf.contrib.image.sparse_image_warp(f(2, 4, 5, 1), f(2, 3, 2) + 1, f(2, 3, 2) * 1.5 + 1)
    tf.contrib.image.sparse_image_warp(f(1, 4, 5, 2), [[[1.0, 1.5]]], [[[2.0, 2.5]]], num_boundary_points=1)
    tf.contrib.image.sparse_image_warp(f(1, 4, 5, 2), [[[1.0, 1.5]]], [[[2.0, 2.5]]], 1, 0.1, 2)
    tf.contrib.image.connected_components(np.array([[1, 1, 0, 2], [0, 1, 2, 2], [3, 0, 0, 2], [3, 1, 1, 1]]))
    tf.contrib.image.connected_components(np.array([[[1, 0], [0, 1]], [[1, 1], [0, 1]]], bool))
    tf.contrib.image.connected_components(np.ones([5, 5], np.float32) * np.array([1, 0, 1, 0, 1], "f"))
    tf.contrib.image.bipartite_match(f(3, 4), 3)
    tf.contrib.image.bipartite_match(f(4, 3), [2])
    tf.contrib.image.bipartite_match(f(4, 3), 4, top_k=2)
    tf.contrib.image.bipartite_match(np.ones([3, 3], np.float32), 3.0)
    """,
    names="none",
)

FAMILY.errors(
    """
    tf.contrib.image.rotate(ph(f(3, 4), None), 1.0)
    tf.contrib.image.rotate(f(3), 1.0)
    tf.contrib.image.transform(f(3, 4), f(1, 1, 8))
    tf.contrib.image.transform(f(3, 4), f(8), output_shape=[1, 2, 3])
    tf.contrib.image.flat_transforms_to_matrices(f(2, 2, 8))
    tf.contrib.image.transform(np.array([["a"]]), f(8))
    tf.contrib.image.connected_components(f(3))
    tf.contrib.image.dense_image_warp(f(1, 1, 4, 1), f(1, 1, 4, 2))
    """
)
