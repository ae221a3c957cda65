"""Pictures (tf.keras.preprocessing.image)."""

from graphflow.keras.preprocessing.image.pictures import array_to_img as array_to_img
from graphflow.keras.preprocessing.image.pictures import img_to_array as img_to_array
from graphflow.keras.preprocessing.image.pictures import load_img as load_img
from graphflow.keras.preprocessing.image.pictures import save_img as save_img
from graphflow.keras.preprocessing.image.transforms import apply_affine_transform as apply_affine_transform
from graphflow.keras.preprocessing.image.transforms import apply_brightness_shift as apply_brightness_shift
from graphflow.keras.preprocessing.image.transforms import apply_channel_shift as apply_channel_shift
from graphflow.keras.preprocessing.image.transforms import random_brightness as random_brightness
from graphflow.keras.preprocessing.image.transforms import random_channel_shift as random_channel_shift
from graphflow.keras.preprocessing.image.transforms import random_rotation as random_rotation
from graphflow.keras.preprocessing.image.transforms import random_shear as random_shear
from graphflow.keras.preprocessing.image.transforms import random_shift as random_shift
from graphflow.keras.preprocessing.image.transforms import random_zoom as random_zoom
from graphflow.keras.preprocessing.image.iterators import Iterator as Iterator
from graphflow.keras.preprocessing.image.iterators import NumpyArrayIterator as NumpyArrayIterator
from graphflow.keras.preprocessing.image.files import DataFrameIterator as DataFrameIterator
from graphflow.keras.preprocessing.image.files import DirectoryIterator as DirectoryIterator
from graphflow.keras.preprocessing.image.generator import ImageDataGenerator as ImageDataGenerator
