"""tf.keras: networks for images, by names, shapes and numbers of the same weights; and pictures changed at random."""

from __future__ import annotations

import zlib

import numpy as np
from harness import Family

FAMILY = Family("keras_images")


def _told(model):
    """Numbers of weights, and sums over names of layers and over names and shapes of weights."""
    names = " ".join(layer.name for layer in model.layers)
    weights = " ".join("%s %s" % (v.name, v.shape.as_list()) for v in model.weights)
    shapes = [repr(model.input_shape), repr(model.output_shape)]
    sums = [zlib.crc32(text.encode()) for text in (names, weights)]
    return [model.name, model.count_params(), len(model.layers), shapes, sums]


def _fill(model):
    """Weights of waves, of a size that keeps the outputs of deep networks within bounds."""
    values = []
    for number, variable in enumerate(model.weights):
        shape = tuple(variable.shape.as_list())
        count = int(np.prod(shape))
        if len(shape) == 1:
            ones = "gamma" in variable.name or "variance" in variable.name
            value = np.full(count, 1.0 if ones else 0.01 * (number % 3))
        else:
            apart = "depthwise" in variable.name
            entering = np.prod(shape[:2]) if apart else np.prod(shape[:-1])
            value = np.sin(np.arange(count) * (0.37 + 0.01 * (number % 7))) * np.sqrt(2.0 / entering)
        values.append(value.reshape(shape).astype(np.float32))
    model.set_weights(values)


def _network_case(name, top, size):
    def build(tf, t):
        network = getattr(tf.keras.applications, name)
        if top:
            return _told(network(weights=None))
        model = network(weights=None, include_top=False, pooling="avg", input_shape=(size, size, 3))
        _fill(model)
        image = np.cos(np.arange(size * size * 3) * 0.11).reshape(1, size, size, 3).astype(np.float32)
        return [_told(model), model.predict(image)]

    build.__name__ = "%s %s" % (name, "with classifier" if top else "without classifier")
    return build


for _name in [
    "VGG16",
    "ResNet50",
    "ResNet50V2",
    "InceptionV3",
    "Xception",
    "DenseNet121",
    "MobileNet",
    "MobileNetV2",
]:
    FAMILY.case(initialize=False)(_network_case(_name, True, 0))
for _name, _size in (("MobileNet", 32), ("MobileNetV2", 32), ("ResNet50V2", 32), ("Xception", 71)):
    FAMILY.case(tolerance=(1e-3, 1e-4), initialize=False)(_network_case(_name, False, _size))


@FAMILY.case(tolerance=(1e-5, 1e-4))
def images_as_networks_take_them(tf, t):
    A = tf.keras.applications
    images = t.unit(2, 3, 4, 3) * 255
    return [getattr(A, name).preprocess_input(images.copy()) for name in ("vgg16", "densenet", "xception")]


def _pictures(t):
    return np.floor(t.unit(4, 6, 8, 3) * 255).astype(np.float32)


_GENERATORS = """
rotation_range=30
width_shift_range=0.3,height_shift_range=2,fill_mode='constant',cval=7.0
shear_range=20,fill_mode='reflect'
zoom_range=0.4,fill_mode='wrap'
zoom_range=(0.5,0.9),horizontal_flip=True,vertical_flip=True
width_shift_range=[-2,1],channel_shift_range=20.0
brightness_range=(0.5,1.5)
rescale=0.5,samplewise_center=True,samplewise_std_normalization=True
featurewise_center=True,featurewise_std_normalization=True
zca_whitening=True,zca_epsilon=100.0
rotation_range=20,zoom_range=0.2,shear_range=5,width_shift_range=0.1,horizontal_flip=True,rescale=1/255.0
""".strip().splitlines()


def _generator_case(arguments):
    def build(tf, t):
        make = tf.keras.preprocessing.image.ImageDataGenerator
        generator = eval("make(%s)" % arguments, {"make": make})
        pictures = _pictures(t)
        if "featurewise" in arguments or "zca" in arguments:
            generator.fit(pictures)
        batches = generator.flow(pictures, np.arange(4), batch_size=3, seed=5)
        return [[x, y] for x, y in (next(batches) for _ in range(3))]

    build.__name__ = "generator " + arguments
    return build


for _text in _GENERATORS:
    FAMILY.case(tolerance=(1e-3, 2e-2))(_generator_case(_text))


@FAMILY.case()
def subsets_of_arrays(tf, t):
    make = tf.keras.preprocessing.image.ImageDataGenerator(validation_split=0.25)
    pictures = _pictures(t)
    parts = [make.flow(pictures, np.zeros(4), shuffle=False, subset=s) for s in ("training", "validation")]
    return [[len(part), next(part)[0]] for part in parts]
