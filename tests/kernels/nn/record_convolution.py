"""Records what TensorFlow 1.15's CPU kernels compute; run it in an environment that has tensorflow==1.15.5.

    python tests/kernels/nn/record_convolution.py

writes tests/kernels/nn/data/convolution.npz: for each case its sizes, its inputs and the results of convolutions,
depthwise convolutions and pools with their gradients. Inputs are small integers, so that every sum is exact in float32
and largest elements have equals. TensorFlow 1.15 has no gradients of dilated convolutions on a CPU.
"""

import os

import numpy as np
import tensorflow as tf

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "convolution.npz")
# rows, columns, channels, outputs, window rows, window columns, row stride, column stride, dilation
CASES = (
    (5, 7, 2, 3, 3, 3, 1, 1, 1),
    (8, 9, 3, 5, 5, 3, 2, 2, 1),
    (7, 6, 1, 4, 2, 4, 3, 3, 1),
    (9, 9, 2, 2, 3, 3, 1, 1, 2),
    (4, 4, 2, 3, 1, 1, 2, 2, 1),
    (6, 6, 2, 3, 1, 1, 1, 1, 1),
    (3, 3, 2, 3, 5, 5, 1, 1, 1),
    (3, 3, 2, 3, 5, 5, 2, 2, 1),
    (8, 9, 2, 3, 2, 2, 1, 2, 1),
)


def record(case, padding, generator):
    rows, columns, channels, outputs, height, width, row_stride, column_stride, dilation = case
    strides, ksize = [1, row_stride, column_stride, 1], [1, height, width, 1]
    exact = dilation == 1

    def integers(*shape):
        return tf.constant(generator.randint(-3, 4, [int(size) for size in shape]).astype("f"))

    x, w = integers(2, rows, columns, channels), integers(height, width, channels, outputs)
    y = tf.nn.conv2d(x, w, strides, padding, dilations=[1, dilation, dilation, 1])
    found = {"x": x, "w": w, "y": y}
    if exact:
        found["dy"] = integers(*y.shape)
        found["dx"], found["dw"] = tf.gradients(y, [x, w], found["dy"])
        found["largest"] = tf.nn.max_pool(x, ksize, strides, padding)
        found["mean"] = tf.nn.avg_pool(x, ksize, strides, padding)
        found["pool_dy"], found["second"] = integers(*found["largest"].shape), integers(*x.shape)
        found["largest_dx"] = tf.gradients(found["largest"], x, found["pool_dy"])[0]
        found["mean_dx"] = tf.gradients(found["mean"], x, found["pool_dy"])[0]
        found["largest_second"] = tf.raw_ops.MaxPoolGradGrad(
            orig_input=x, orig_output=found["largest"], grad=found["second"], ksize=ksize, strides=strides,
            padding=padding,
        )  # fmt: skip
    if exact and row_stride == column_stride:
        found["depthwise_w"] = integers(height, width, channels, 2)
        found["depthwise"] = tf.nn.depthwise_conv2d_native(x, found["depthwise_w"], strides, padding)
        found["depthwise_dy"] = integers(*found["depthwise"].shape)
        found["depthwise_dx"], found["depthwise_dw"] = tf.gradients(
            found["depthwise"], [x, found["depthwise_w"]], found["depthwise_dy"]
        )
    with tf.Session() as session:
        return session.run(found)


def main():
    generator = np.random.RandomState(0)
    recorded = {}
    for case in CASES:
        for padding in ("SAME", "VALID"):
            rows, columns, _, _, height, width, _, _, dilation = case
            if padding == "VALID" and ((height - 1) * dilation >= rows or (width - 1) * dilation >= columns):
                continue
            with tf.Graph().as_default():
                name = " ".join(map(str, case + (padding,)))
                for key, value in record(case, padding, generator).items():
                    whole = np.array_equal(value, value.astype(np.int16))
                    recorded[name + "/" + key] = value.astype(np.int16) if whole else value
    np.savez_compressed(PATH, **recorded)


if __name__ == "__main__":
    main()
