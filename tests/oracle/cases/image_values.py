"""Values of pixels: brightness, contrast, colours, dtypes and what measures images, with their gradients."""

from harness import Family

FAMILY = Family("image_values")

FAMILY.differentiable(
    """
    tf.image.adjust_brightness(ph(unit(2, 3, 3)), 0.2)
    tf.image.adjust_gamma(ph(unit(2, 3, 3)), 2.0, 1.5)
    tf.image.per_image_standardization(ph(unit(3, 4, 3)))
    tf.image.per_image_standardization(ph(unit(2, 3, 4, 1)))
    tf.image.rgb_to_grayscale(ph(unit(2, 3, 3)))
    tf.image.grayscale_to_rgb(ph(unit(2, 3, 1)))
    tf.image.rgb_to_hsv(ph(unit(4, 5, 3)))
    tf.image.rgb_to_yiq(ph(unit(2, 3, 3)))
    tf.image.yiq_to_rgb(ph(unit(2, 3, 3)))
    tf.image.rgb_to_yuv(ph(unit(2, 3, 3)))
    tf.image.yuv_to_rgb(ph(unit(2, 3, 3)))
    tf.image.convert_image_dtype(ph(unit(2, 3, 3)), tf.float64)
    tf.image.total_variation(ph(unit(3, 4, 2)))
    tf.image.total_variation(ph(unit(2, 3, 4, 2)), name="tv")
    tf.image.psnr(ph(unit(2, 3, 4, 2)), ph(unit(2, 3, 4, 2)), 1.0)
    tf.image.image_gradients(ph(unit(2, 3, 4, 2)))
    tf.image.sobel_edges(ph(unit(1, 3, 4, 2)))
    """,
    tolerance=(2e-5, 5e-6),
)
FAMILY.differentiable(
    """
    tf.image.ssim(ph(unit(2, 6, 7, 2)), ph(unit(2, 6, 7, 2)), 1.0, filter_size=4)
    (lambda x: tf.image.ssim_multiscale(ph(x), ph(x * np.float32(0.8)), 1.0, [0.4, 0.6],
        filter_size=4))(unit(1, 11, 12, 1))
    """,
    tolerance=(2e-4, 2e-5),
)

# Greys, black, and pixels of which two channels are the same.
FAMILY.differentiable(
    """
    tf.image.rgb_to_hsv(ph([[0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [0.2, 0.2, 0.7], [0.7, 0.2, 0.2], [0.2, 0.7,
        0.7], [0.7, 0.7, 0.1]]))
    tf.image.rgb_to_hsv(ph([[0.0, 0.4, 0.9], [0.9, 0.0, 0.4], [0.4, 0.9, 0.0], [0.0, 0.0, 0.3], [0.3, 0.0, 0.0]]))
    """
)

FAMILY.expressions(
    """
    tf.image.adjust_contrast(ph(unit(2, 3, 3)), 1.5)
    tf.image.adjust_contrast(ph(unit(2, 2, 3, 3)), ph(0.5))
    tf.image.adjust_contrast(ph(n(256, 2, 3, 3).astype(np.uint8)), 2.0)
    tf.image.adjust_hue(ph(unit(2, 3, 3)), 0.2)
    tf.image.adjust_hue(ph(unit(2, 3, 3), [None, None, 3]), -0.7, name="hue")
    tf.image.adjust_hue(ph(n(256, 2, 3, 3).astype(np.uint8)), 0.3)
    tf.image.adjust_saturation(ph(unit(2, 3, 3)), 0.5)
    tf.image.adjust_saturation(ph(unit(2, 3, 3)), ph(2.5))
    tf.image.adjust_saturation(ph(n(256, 2, 3, 3).astype(np.uint8)), 1.5)
    tf.image.adjust_brightness(ph(n(256, 2, 3, 3).astype(np.uint8)), 0.3)
    tf.image.adjust_brightness(ph(unit(2, 3, 3)), delta=ph(-0.4))
    tf.image.adjust_gamma(ph(n(256, 2, 3, 3).astype(np.uint8)), 0.5)
    tf.image.adjust_gamma(ph(unit(2, 3, 3)), ph(2.0))
    tf.image.hsv_to_rgb(ph(unit(4, 5, 3)))
    tf.image.hsv_to_rgb(ph(f(4, 3)), name="back")
    tf.image.rgb_to_hsv(ph(unit(4, 5, 3), [None, None, None]))
    tf.image.rgb_to_hsv(ph(d(2, 3), None))
    tf.image.rgb_to_grayscale(ph(n(256, 2, 3, 3).astype(np.uint8)), name="grey")
    tf.image.rgb_to_grayscale(ph(unit(2, 2, 3, 3), [None, None, None, 3]))
    tf.image.grayscale_to_rgb(ph(n(256, 2, 3, 1).astype(np.uint8), [None, None, 1]))
    tf.image.grayscale_to_rgb(ph(unit(2, 2, 3, 1)), name="rgb")
    tf.image.per_image_standardization(ph(n(256, 3, 4, 3).astype(np.uint8)))
    tf.image.per_image_standardization(tf.ones([2, 3, 1]))
    tf.image.per_image_standardization(ph(unit(3, 4, 3), [None, None, 3]))
    tf.image.convert_image_dtype(ph(n(256, 2, 3, 1).astype(np.uint8)), tf.float32)
    tf.image.convert_image_dtype(ph(n(256, 2, 3, 1).astype(np.uint8)), tf.uint16)
    tf.image.convert_image_dtype(ph(n(256, 2, 3, 1) * 8000000), tf.uint8, saturate=True)
    tf.image.convert_image_dtype(ph(n(100, 2, 3, 1).astype(np.int8)), dtype=tf.int32)
    tf.image.convert_image_dtype(ph(i(2, 3, 1) * 1000), tf.int8)
    tf.image.convert_image_dtype(ph(f(2, 3, 1)), tf.uint8, saturate=True, name="bytes")
    tf.image.convert_image_dtype(ph(unit(2, 3, 1)), tf.uint8)
    tf.image.convert_image_dtype(ph(unit(2, 3, 1)), tf.int16)
    tf.image.convert_image_dtype(ph(unit(2, 3, 1)), tf.float16)
    tf.image.convert_image_dtype(ph(unit(2, 3, 1)), tf.float32, name="same")
    tf.image.psnr(ph(n(256, 3, 4, 3).astype(np.uint8)), ph(n(256, 3, 4, 3).astype(np.uint8)), 255, name="ratio")
    tf.image.psnr(ph(unit(3, 4, 3), [None, None, 3]), ph(unit(3, 4, 3)), 1.0)
    tf.image.ssim(ph(n(256, 12, 13, 1).astype(np.uint8)), ph(n(256, 12, 13, 1).astype(np.uint8)), 255)
    tf.image.image_gradients(ph(n(9, 1, 3, 4, 1)))
    tf.image.sobel_edges(ph(unit(1, 3, 4, 2), [None, None, None, 2]))
    """,
    tolerance=(3e-5, 1e-5),
)

FAMILY.errors(
    """
    tf.image.adjust_contrast(ph(unit(2, 3)), 1.5)
    tf.image.adjust_contrast(ph(unit(2, 3, 3)), [1.5])
    tf.image.adjust_hue(ph(unit(2, 3, 4)), 0.2)
    tf.image.adjust_hue(ph(unit(2, 3)), 0.2)
    tf.image.adjust_saturation(ph(unit(2, 3, 1)), 0.2)
    tf.image.adjust_gamma(ph(unit(2, 3, 3)), -1.0)
    tf.image.adjust_gamma(ph(unit(2, 3, 3)), ph(-1.0))
    tf.image.rgb_to_hsv(ph(unit(2, 3, 4)))
    tf.image.rgb_to_hsv(ph(unit(2, 3, 4), None))
    tf.image.rgb_to_hsv(ph(i(2, 3, 3)))
    tf.image.hsv_to_rgb(ph(1.0))
    tf.image.rgb_to_grayscale(ph(unit(2, 3, 4)))
    tf.image.grayscale_to_rgb(ph(unit(2, 3, 2)))
    tf.image.grayscale_to_rgb(ph(unit(2, 3, 2), [None, None, None]))
    tf.image.grayscale_to_rgb(ph(unit(2)))
    tf.image.convert_image_dtype(ph(unit(2, 3, 1)), tf.string)
    tf.image.per_image_standardization(ph(unit(2, 3)))
    tf.image.total_variation(ph(unit(2, 3)))
    tf.image.psnr(ph(unit(3, 4, 3)), ph(unit(3, 5, 3)), 1.0)
    tf.image.psnr(ph(unit(3, 4, 3)), ph(unit(3, 5, 3), [3, None, 3]), 1.0)
    tf.image.psnr(ph(unit(3, 4)), ph(unit(3, 4)), 1.0)
    tf.image.ssim(ph(unit(3, 4, 3)), ph(unit(3, 4, 3)), 1.0)
    tf.image.image_gradients(ph(unit(3, 4, 3)))
    tf.image.random_brightness(ph(unit(3, 4, 3)), -0.1)
    tf.image.random_contrast(ph(unit(3, 4, 3)), 0.5, 0.5)
    tf.image.random_contrast(ph(unit(3, 4, 3)), -0.5, 0.5)
    tf.image.random_hue(ph(unit(3, 4, 3)), 0.6)
    tf.image.random_saturation(ph(unit(3, 4, 3)), 2.0, 1.0)
    tf.image.random_jpeg_quality(ph(unit(3, 4, 3)), 90, 80)
    tf.gradients(tf.image.adjust_hue(ph(unit(2, 3, 3)), 0.1, name="h"), t.inputs)
    tf.gradients(tf.image.adjust_contrast(ph(unit(2, 3, 3)), 0.1), t.inputs)
    """
)

# What is drawn is TensorFlow's with the same seed, run after run.
FAMILY.expressions(
    """
    tf.image.random_brightness(ph(unit(2, 2, 3)), max_delta=0.3, seed=1)
    tf.image.random_brightness(ph(unit(2, 2, 3)), 0.3)
    tf.image.random_contrast(ph(unit(2, 2, 3)), lower=0.2, upper=1.8, seed=1)
    tf.image.random_hue(ph(unit(2, 2, 3)), max_delta=0.4, seed=1)
    tf.image.random_saturation(ph(n(256, 2, 2, 3).astype(np.uint8)), lower=0.5, upper=1.5, seed=1)
    """,
    runs=3,
    tolerance=(3e-5, 1e-5),
)


@FAMILY.case(runs=3, names="none", tolerance=(3e-5, 1e-5))
def augmentation_with_the_seed_of_the_graph(tf, t):
    image = tf.convert_to_tensor(t.unit(6, 7, 3))
    image = tf.random_crop(image, [4, 4, 3])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, max_delta=0.2)
    image = tf.image.random_contrast(image, lower=0.5, upper=1.5)
    return tf.image.per_image_standardization(image)


@FAMILY.case(runs=3, names="none", tolerance=(3e-5, 1e-5))
def distorted_colours_with_seeds(tf, t):
    image = tf.image.convert_image_dtype(t.n(256, 3, 4, 3).astype("uint8"), tf.float32)
    image = tf.image.random_brightness(image, max_delta=32.0 / 255.0, seed=1)
    image = tf.image.random_saturation(image, lower=0.5, upper=1.5, seed=2)
    image = tf.image.random_hue(image, max_delta=0.2, seed=3)
    image = tf.image.random_contrast(image, lower=0.5, upper=1.5, seed=4)
    return tf.clip_by_value(image, 0.0, 1.0)
