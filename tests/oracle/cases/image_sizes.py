"""Images of another size or at another place: resizing, cropping, padding, flips and turns, with their gradients."""

from harness import Family

FAMILY = Family("image_sizes")

FAMILY.differentiable(
    """
    tf.image.resize_bilinear(ph(f(2, 3, 4, 2)), [5, 7])
    tf.image.resize_bilinear(ph(f(1, 5, 6, 3)), [2, 3], name="small")
    tf.image.resize_bilinear(ph(f(1, 3, 4, 1)), [3, 4])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 1)), [5, 6], align_corners=True)
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2)), [1, 6], align_corners=True)
    tf.image.resize_bilinear(ph(f(1, 3, 4, 1)), [5, 2], half_pixel_centers=True)
    tf.image.resize_nearest_neighbor(ph(f(2, 3, 4, 2)), [5, 7])
    tf.image.resize_nearest_neighbor(ph(f(1, 6, 5, 1)), [2, 3], align_corners=True)
    tf.image.resize_nearest_neighbor(ph(f(1, 3, 4, 1)), [5, 9], align_corners=True)
    tf.image.resize_nearest_neighbor(ph(f(1, 5, 4, 2)), [3, 7], half_pixel_centers=True)
    tf.image.resize_nearest_neighbor(ph(f(1, 3, 4, 1), [1, None, 4, 1]), [5, 2])
    tf.image.resize_bicubic(ph(f(2, 3, 4, 2)), [5, 7])
    tf.image.resize_bicubic(ph(f(1, 6, 5, 1)), [2, 3], align_corners=True)
    tf.image.resize_bicubic(ph(f(1, 3, 4, 1)), [5, 7], half_pixel_centers=True)
    tf.image.resize_images(ph(f(3, 4, 2)), [5, 3])
    tf.image.resize_images(ph(f(2, 3, 4, 2)), (5, 3), tf.image.ResizeMethod.BICUBIC, align_corners=True)
    tf.image.resize_images(ph(f(3, 4, 2)), [6, 3], method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)
    tf.image.resize_image_with_pad(ph(f(3, 4, 1)), 5, 5)
    tf.image.crop_to_bounding_box(ph(f(2, 4, 5, 1)), 1, 2, 2, 3)
    tf.image.pad_to_bounding_box(ph(f(3, 4, 1)), 1, 2, 5, 7)
    tf.image.resize_image_with_crop_or_pad(ph(f(3, 6, 1)), 5, 3)
    tf.image.central_crop(ph(f(5, 8, 2)), 0.5)
    tf.image.flip_left_right(ph(f(2, 3, 2)))
    tf.image.rot90(ph(f(2, 3, 2)), 3)
    """
)

FAMILY.expressions(
    """
    tf.image.resize_area(ph(f(2, 4, 6, 2)), [2, 3])
    tf.image.resize_area(ph(f(1, 5, 7, 1)), [3, 4])
    tf.image.resize_area(ph(f(1, 3, 4, 1)), [5, 6])
    tf.image.resize_area(ph(f(1, 3, 4, 1)), [5, 6], align_corners=True)
    tf.image.resize_area(ph(n(9, 1, 5, 7, 1)), [2, 2])
    tf.image.resize_bilinear(ph(n(256, 1, 3, 4, 1).astype(np.uint8)), [4, 6])
    tf.image.resize_bilinear(ph(i(1, 3, 4, 1)), [2, 2])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 1).astype(np.float16)), [2, 5])
    tf.image.resize_bicubic(ph(n(256, 1, 3, 4, 1).astype(np.uint8)), [5, 3])
    tf.image.resize_nearest_neighbor(ph(n(256, 1, 3, 4, 1).astype(np.uint8)), [4, 6])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2), [None, None, None, 2]), ph([2, 5]))
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2), None), [2, 5])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2), None), ph([2, 5], None))
    tf.image.resize_images(ph(f(3, 4, 2), [None, None, 2]), [5, 3])
    tf.image.resize_images(ph(f(3, 4, 2), [3, None, 2]), tf.stack([ph(5), 3]))
    tf.image.resize_images(ph(f(3, 4, 2)), [3, 4])
    tf.image.resize_images(ph(n(9, 3, 4, 2)), [3, 4], name="same")
    tf.image.resize_images(ph(f(3, 4, 2)), [6, 6], preserve_aspect_ratio=True)
    tf.image.resize_images(ph(f(3, 4, 2), [None, None, 2]), [6, 6], preserve_aspect_ratio=True)
    tf.image.resize_images(ph(n(256, 3, 4, 2).astype(np.uint8)), [2, 3], "nearest")
    tf.image.resize_images(ph(f(3, 4, 2)), [2, 3], "area")
    tf.image.resize(ph(f(3, 4, 2)), [2, 3])
    tf.image.resize(ph(f(3, 4, 2)), size=[4, 4], method=tf.image.ResizeMethod.AREA, name="scaled")
    [tf.image.ResizeMethod.BILINEAR, tf.image.ResizeMethod.NEAREST_NEIGHBOR, tf.image.ResizeMethod.BICUBIC,
        tf.image.ResizeMethod.AREA]
    tf.image.resize_image_with_pad(ph(f(2, 3, 4, 1)), 6, 5)
    tf.image.resize_image_with_pad(ph(f(3, 4, 1), [None, None, 1]), 6, 5)
    tf.image.crop_to_bounding_box(ph(f(4, 5, 1), [None, None, 1]), 1, 2, 2, 3)
    tf.image.crop_to_bounding_box(ph(f(4, 5, 1)), ph(1), 2, ph(2), 3)
    tf.image.crop_to_bounding_box(ph(f(4, 5, 1), None), 1, 2, 2, 3)
    tf.image.pad_to_bounding_box(ph(f(2, 3, 4, 1)), 1, 2, 5, 7)
    tf.image.pad_to_bounding_box(ph(f(3, 4, 1), [None, None, 1]), 1, 2, ph(5), 7)
    tf.image.pad_to_bounding_box(ph(f(3, 4, 1), None), 1, 2, 5, 7)
    tf.image.resize_image_with_crop_or_pad(ph(f(2, 3, 6, 1)), 4, 8)
    tf.image.resize_image_with_crop_or_pad(ph(f(3, 6, 1), [None, None, 1]), 5, 3)
    tf.image.resize_image_with_crop_or_pad(ph(f(3, 6, 1)), ph(2), 3)
    tf.image.resize_image_with_crop_or_pad(ph(f(3, 6, 1), None), 5, 3)
    tf.image.resize_with_crop_or_pad(ph(n(9, 3, 6, 1)), 5, 3)
    tf.image.central_crop(ph(f(5, 8, 2), [None, None, 2]), 0.5)
    tf.image.central_crop(ph(f(2, 5, 8, 2), [None, 5, None, 2]), 0.7)
    tf.image.central_crop(ph(f(5, 8, 2)), 1.0)
    tf.image.flip_left_right(ph(n(9, 2, 3, 1)))
    tf.image.flip_left_right(ph(f(2, 2, 3, 1)))
    tf.image.flip_left_right(ph(f(2, 3, 1), None))
    tf.image.flip_left_right(ph(f(2, 3, 1), [None, 3, 1]))
    tf.image.flip_up_down(ph(f(2, 3, 1)))
    tf.image.flip_up_down(ph(f(2, 2, 3, 1)))
    tf.image.rot90(ph(f(2, 3, 1)))
    tf.image.rot90(ph(f(2, 3, 1)), ph(-2))
    tf.image.rot90(ph(f(2, 2, 3, 1)), 5, name="turned")
    tf.image.rot90(ph(f(2, 2, 3, 1), [None, None, 3, 1]), 2)
    tf.image.transpose_image(ph(f(2, 3, 1)))
    tf.image.transpose_image(ph(f(2, 2, 3, 1)))
    tf.image.transpose(ph(f(2, 3, 1)), name="across")
    tf.image.extract_image_patches(ph(f(1, 4, 4, 1)), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    tf.image.extract_patches(ph(f(1, 4, 4, 1)), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], padding="SAME")
    """
)

FAMILY.differentiable(
    """
    tf.image.crop_and_resize(ph(f(2, 4, 5, 2)), ph([[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.0, 1.0]]), [1, 0], [3, 4])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 1)), ph([[-0.3, 0.1, 0.6, 1.4]]), [0], [3, 3], extrapolation_value=0.5)
    tf.image.crop_and_resize(ph(f(1, 4, 5, 1)), ph([[0.8, 0.9, 0.1, 0.2]]), [0], crop_size=[3, 2])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 1)), ph([[0.11, 0.2, 0.8, 0.93]]), [0], [1, 1])
    """
)
FAMILY.expressions(
    """
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], box_indices=[0], crop_size=[3, 3],
        method="nearest")
    tf.image.crop_and_resize(image=ph(n(256, 1, 4, 5, 2).astype(np.uint8)), boxes=[[0.1, 0.2, 0.8, 0.9]],
        box_ind=[0], crop_size=[2, 2])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2), [None, None, None, 2]), ph([[0.1, 0.2, 0.8, 0.9]], [None, 4]),
        ph([0], [None]), [3, 3])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2), None), ph([[0.1, 0.2, 0.8, 0.9]], None), [0], ph([3, 3]))
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), np.zeros([0, 4], np.float32), np.zeros([0], np.int32), [3, 3])
    """
)
FAMILY.gradients(
    """
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], [0], [3, 3], method="nearest")
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2), [None, None, None, 2]), ph([[0.1, 0.2, 0.8, 0.9]]), [0], [3, 3])
    """
)

# The weights are float32 there and here, so that a gradient in float64 has no more digits.
FAMILY.differentiable(
    """
    tf.image.resize_bilinear(ph(d(1, 3, 4, 1)), [4, 5])
    tf.image.resize_bicubic(ph(d(1, 3, 4, 1)), [2, 5])
    tf.image.crop_and_resize(ph(d(1, 4, 5, 2)), ph([[0.1, 0.2, 0.8, 0.9]]), [0], [3, 3])
    """,
    tolerance=(2e-6, 2e-6),
)
FAMILY.expressions(
    """
    tf.image.resize_nearest_neighbor(ph(f(1, 3, 4, 2), [None, 3, None, 2]), tf.stack([2, ph(5)]))
    """,
    refined=True,
)

FAMILY.errors(
    """
    tf.image.resize_bilinear(ph(f(3, 4, 2)), [2, 2])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2)), [2, 2, 2])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2)), 2)
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2)), [0, 2])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2)), [-1, 2])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2)), [2.5, 2.5])
    tf.image.resize_bilinear(ph(f(1, 0, 4, 2)), [2, 2])
    tf.image.resize_bilinear(ph(f(1, 3, 4, 2)), [2, 2], align_corners=True, half_pixel_centers=True)
    tf.image.resize_bilinear(ph(["a"]), [2, 2])
    tf.image.resize_images(ph(f(3, 4)), [2, 2])
    tf.image.resize_images(ph(f(3, 4, 2), None), [2, 2])
    tf.image.resize_images(ph(f(3, 4, 2)), [2, 2], method=7)
    tf.image.resize_images(ph(f(3, 4, 2)), [2, 2, 2])
    tf.image.resize_images(ph(f(3, 4, 2)), 2)
    tf.image.resize_images(ph(f(3, 4, 2)), "a")
    tf.image.resize_images(ph(f(3, 4, 2)), [0, 2])
    tf.image.resize_image_with_pad(ph(f(3, 4, 2)), 0, 2)
    tf.image.crop_to_bounding_box(ph(f(4, 5, 1)), 1, 2, 4, 3)
    tf.image.crop_to_bounding_box(ph(f(4, 5, 1)), -1, 2, 2, 3)
    tf.image.crop_to_bounding_box(ph(f(4, 5, 1)), 1, 2, 0, 3)
    tf.image.crop_to_bounding_box(ph(f(4, 5, 1), [None, None, 1]), 1, 2, 4, 3)
    tf.image.crop_to_bounding_box(ph(f(4, 5)), 1, 2, 2, 3)
    tf.image.crop_to_bounding_box(ph(f(4, 0, 1)), 1, 2, 2, 3)
    tf.image.pad_to_bounding_box(ph(f(3, 4, 1)), 1, 2, 3, 7)
    tf.image.pad_to_bounding_box(ph(f(3, 4, 1)), -1, 2, 5, 7)
    tf.image.pad_to_bounding_box(ph(f(3, 4, 1), [None, None, 1]), ph(1), 2, 3, 7)
    tf.image.resize_image_with_crop_or_pad(ph(f(3, 4, 1)), 0, 3)
    tf.image.resize_image_with_crop_or_pad(ph(f(3, 4)), 2, 3)
    tf.image.resize_image_with_crop_or_pad(ph(f(3, 4, 1)), ph(0), 3)
    tf.image.central_crop(ph(f(5, 8, 2)), 0.0)
    tf.image.central_crop(ph(f(5, 8, 2)), 1.5)
    tf.image.central_crop(ph(f(5, 8, 2), None), 0.5)
    tf.image.central_crop(ph(f(5, 8)), 0.5)
    tf.image.flip_left_right(ph(f(5, 8)))
    tf.image.flip_left_right(ph(f(1, 1, 5, 8, 1)))
    tf.image.flip_left_right(ph(f(0, 5, 1)))
    tf.image.flip_left_right(ph(f(0, 5, 1), [None, 5, 1]))
    tf.image.flip_left_right(ph(f(5, 1), None))
    tf.image.rot90(ph(f(5, 8)))
    tf.image.rot90(ph(f(5, 8, 1)), [1])
    tf.image.transpose_image(ph(f(5, 8)))
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], [1], [3, 3])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8]], [0], [3, 3])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], [0, 0], [3, 3])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], [0], [0, 3])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], [0], [3, 3], method="cubic")
    tf.image.crop_and_resize(ph(f(4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], [0], [3, 3])
    tf.image.crop_and_resize(ph(f(1, 4, 5, 2)), [[0.1, 0.2, 0.8, 0.9]], [0], [3, 3], box_indices=[0])
    tf.gradients(tf.image.resize_area(ph(f(1, 3, 4, 1)), [2, 2], name="a"), t.inputs)
    tf.gradients(tf.gradients(tf.image.resize_bilinear(ph(f(1, 3, 4, 1)), [2, 2]) ** 2, t.inputs), t.inputs)
    """
)

# What is drawn is TensorFlow's with the same seed, run after run.
FAMILY.expressions(
    """
    tf.image.random_flip_left_right(ph(f(2, 3, 1)), seed=1)
    tf.image.random_flip_left_right(ph(f(2, 3, 1)))
    tf.image.random_flip_left_right(ph(f(5, 1, 3, 1)), seed=3)
    tf.image.random_flip_left_right(ph(f(5, 1, 3, 1), [None, None, None, 1]), seed=3)
    tf.image.random_flip_left_right(ph(f(2, 3, 1), [None, None, 1]), seed=4)
    tf.image.random_flip_up_down(ph(f(2, 3, 1)), seed=2)
    tf.image.random_flip_up_down(ph(f(4, 3, 2, 1)), seed=2)
    tf.image.random_crop(ph(f(5, 6, 1)), [3, 2, 1], seed=5)
    """,
    runs=4,
)
