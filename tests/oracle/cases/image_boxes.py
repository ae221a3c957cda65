"""Boxes in images: drawn, sampled, suppressed."""

from harness import Family

FAMILY = Family("image_boxes")

FAMILY.expressions(
    """
    tf.image.draw_bounding_boxes(ph(unit(1, 6, 7, 3)), [[[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 0.4, 0.5]]])
    tf.image.draw_bounding_boxes(ph(unit(1, 6, 7, 1)), [[[-0.1, 0.2, 0.8, 1.5]]], name="drawn")
    tf.image.draw_bounding_boxes(ph(unit(1, 5, 5, 4)), [[[0.5, 0.5, 0.2, 0.9], [1.5, 0.0, 2.0, 0.5], [0.3,
        0.3, 0.3, 0.3]]])
    tf.image.draw_bounding_boxes(ph(unit(2, 4, 4, 3), [None, None, None, 3]), np.full([2, 12, 4], 0.5,
        np.float32) + [-0.3, -0.3, 0.3, 0.3])
    tf.image.draw_bounding_boxes(ph(unit(1, 5, 5, 3)), [[[0.1, 0.1, 0.9, 0.9], [0.4, 0.4, 0.6, 0.6]]],
        colors=[[0.25, 0.5, 0.75]])
    tf.image.non_max_suppression([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0,
        10.1, 1, 11.1], [0, 100, 1, 101.0]], [0.9, 0.75, 0.6, 0.95, 0.5, 0.3], 3)
    tf.image.non_max_suppression([[1, 1, 0, 0], [0, 0.1, 1, 1.1], [0.1, 0.1, 0.1, 0.5], [0, 10, 1, 11.0]],
        [0.9, 0.9, 0.5, 0.9], max_output_size=10, iou_threshold=0.3, score_threshold=0.6)
    tf.image.non_max_suppression(ph(unit(20, 4)), ph(unit(20)), 7, iou_threshold=0.2, name="kept")
    tf.image.non_max_suppression(ph(unit(20, 4), [None, 4]), ph(unit(20), [None]), ph(7))
    tf.image.non_max_suppression(ph(unit(5, 4)), ph(unit(5)), 0)
    tf.image.non_max_suppression(ph(unit(700, 4)), ph(unit(700)), 300, 0.4)
    tf.image.non_max_suppression(np.zeros([0, 4], np.float32), np.zeros([0], np.float32), 3)
    tf.image.non_max_suppression_padded(ph(unit(8, 4)), ph(unit(8)), 6, 0.1, pad_to_max_output_size=True)
    tf.image.non_max_suppression_padded(ph(unit(8, 4)), ph(unit(8)), 6, 0.1)
    tf.image.non_max_suppression_padded(ph(unit(8, 4)), ph(unit(8)), ph(6), 0.1, pad_to_max_output_size=True)
    tf.image.non_max_suppression_with_scores(ph(unit(12, 4)), ph(unit(12)), 8, 0.2)
    tf.image.non_max_suppression_with_scores(ph(unit(12, 4)), ph(unit(12)), 8, 1.0, 0.1, soft_nms_sigma=0.5)
    tf.image.combined_non_max_suppression(ph(unit(2, 9, 1, 4)), ph(unit(2, 9, 3)), 2, 5, 0.3)
    tf.image.combined_non_max_suppression(ph(f(1, 9, 2, 4)), ph(unit(1, 9, 2)), 3, 10, 0.3, 0.4, pad_per_class=True)
    tf.image.combined_non_max_suppression(ph(f(1, 9, 2, 4), [None, 9, None, 4]), ph(unit(1, 9, 2), [None, 9, 2]), ph(3),
        8, iou_threshold=0.3, clip_boxes=False, name="all")
    tf.image.non_max_suppression_overlaps(ph(np.maximum(unit(6, 6), np.eye(6)).astype(np.float32)),
        ph(unit(6)), 4, 0.5)
    tf.image.non_max_suppression_overlaps(ph(np.maximum(unit(9, 9), np.eye(9)).astype(np.float32)),
        ph(unit(9)), 6, 0.4, score_threshold=0.2)
    """
)

# What is drawn is TensorFlow's with the same seeds, run after run.
FAMILY.expressions(
    """
    tf.image.sample_distorted_bounding_box([40, 50, 3], [[[0.1, 0.2, 0.8, 0.9]]], seed=3)
    tf.image.sample_distorted_bounding_box(tf.constant([40, 50, 3]), bounding_boxes=tf.zeros([1, 0, 4]),
        seed=1, seed2=5, min_object_covered=0.3, aspect_ratio_range=[0.5, 2.0], area_range=[0.3, 0.9],
        max_attempts=20, use_image_if_no_bounding_boxes=True, name="part")
    tf.image.sample_distorted_bounding_box(ph([199, 333, 3]), ph([[[0.0, 0.0, 0.3, 0.3], [0.7, 0.7, 1.0,
        1.0]]]), seed=9, min_object_covered=0.9)
    tf.image.sample_distorted_bounding_box(ph(np.array([640, 480, 3])), [[[0.45, 0.45, 0.55, 0.55]]], seed=9,
        seed2=4, min_object_covered=1.0, aspect_ratio_range=[0.9, 1.1], area_range=[0.01, 0.05])
    tf.image.sample_distorted_bounding_box([40, 50, 3], [[[0.5, 0.2, 0.4, 0.9]]], seed=3)
    tf.image.sample_distorted_bounding_box([5, 3, 3], [[[0.0, 0.0, 1.0, 1.0]]], seed=2)
    tf.image.sample_distorted_bounding_box([30, 30, 3], [[[0.0, 0.0, 1.0, 1.0]]], seed=2,
        min_object_covered=0.99, area_range=[0.1, 0.2], max_attempts=3)
    """,
    runs=5,
)


@FAMILY.case(runs=4)
def a_distorted_part_of_an_image(tf, t):
    image = t.ph(t.n(256, 9, 8, 3).astype("uint8"))
    begin, size, box = tf.image.sample_distorted_bounding_box(
        tf.shape(image),
        bounding_boxes=[[[0.0, 0.0, 1.0, 1.0]]],
        seed=11,
        min_object_covered=0.1,
        aspect_ratio_range=(0.75, 1.33),
        area_range=(0.5, 1.0),
        max_attempts=100,
        use_image_if_no_bounding_boxes=True,
    )
    part = tf.slice(image, begin, size)
    part.set_shape([None, None, 3])
    return [box, tf.image.resize_images(part, [4, 4])]


FAMILY.expressions(
    """
    tf.image.extract_glimpse(ph(unit(2, 6, 7, 2)), [3, 2], [[0.1, -0.2], [0.0, 0.3]])
    tf.image.extract_glimpse(ph(unit(2, 6, 7, 2)), [2, 3], [[1.2, 2.0], [3.0, 2.9]], centered=False, normalized=False)
    tf.image.extract_glimpse(ph(unit(1, 6, 7, 1)), [2, 2], [[0.4, 0.6]], centered=False)
    tf.image.extract_glimpse(ph(unit(2, 6, 7, 2), [None, None, None, 2]), ph([3, 2]), ph([[0.1, -0.2], [0.0,
        0.3]]), normalized=False, name="look")
    """
)

FAMILY.errors(
    """
    tf.image.draw_bounding_boxes(ph(unit(6, 7, 3)), [[[0.1, 0.2, 0.8, 0.9]]])
    tf.image.draw_bounding_boxes(ph(unit(1, 6, 7, 2)), [[[0.1, 0.2, 0.8, 0.9]]])
    tf.image.draw_bounding_boxes(ph(unit(1, 6, 7, 3)), [[0.1, 0.2, 0.8, 0.9]])
    tf.image.draw_bounding_boxes(ph(n(9, 1, 6, 7, 3)), [[[0.1, 0.2, 0.8, 0.9]]])
    tf.image.sample_distorted_bounding_box([40, 50, 3], tf.zeros([1, 0, 4]), seed=3)
    tf.image.sample_distorted_bounding_box([40, 50, 3], [[[0.1, 0.2, 1.8, 0.9]]], seed=3)
    tf.image.sample_distorted_bounding_box([40, 50], [[[0.1, 0.2, 0.8, 0.9]]], seed=3)
    tf.image.sample_distorted_bounding_box([40, 50, 3], [[0.1, 0.2, 0.8, 0.9]], seed=3)
    tf.image.sample_distorted_bounding_box([40, 50, 3], [[[0.1, 0.2, 0.8, 0.9]]], min_object_covered=-1.0)
    tf.image.non_max_suppression(ph(unit(5, 3)), ph(unit(5)), 2)
    tf.image.non_max_suppression(ph(unit(5, 4)), ph(unit(4)), 2)
    tf.image.non_max_suppression(ph(unit(5, 4)), ph(unit(5)), 2, iou_threshold=1.5)
    tf.image.non_max_suppression(ph(unit(5, 4)), ph(unit(5)), [2])
    tf.image.non_max_suppression_overlaps(ph(unit(5, 4)), ph(unit(5)), 2)
    tf.image.combined_non_max_suppression(ph(unit(9, 1, 4)), ph(unit(2, 9, 3)), 2, 5)
    tf.image.combined_non_max_suppression(ph(unit(2, 9, 2, 4)), ph(unit(2, 9, 3)), 2, 5)
    tf.image.combined_non_max_suppression(ph(unit(2, 9, 1, 4)), ph(unit(2, 9, 3)), 2, 0)
    tf.image.combined_non_max_suppression(ph(unit(2, 9, 1, 4)), ph(unit(2, 9, 3)), 2, 5, 1.5)
    tf.image.extract_glimpse(ph(unit(6, 7, 2)), [3, 2], [[0.1, -0.2]])
    tf.image.extract_glimpse(ph(unit(2, 6, 7, 2)), [3, 2], [[0.1, -0.2]])
    """
)
