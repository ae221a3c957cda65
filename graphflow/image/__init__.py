"""Images (tf.image): their size, place and colours, random changes of them, boxes in them, and files that hold them."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing
from graphflow._core.ops.array.patches import extract_image_patches as extract_image_patches
from graphflow._core.ops.array.patches import extract_patches as extract_patches
from graphflow._core.ops.random import random_crop as random_crop

globals().update(
    exports(
        "_core.ops.image.boxes",
        "_core.ops.image.colors",
        "_core.ops.image.resizing",
        "image.adjust",
        "image.colors",
        "image.dtypes",
        "image.files",
        "image.geometry",
        "image.quality",
        "image.sizes",
        names="IMAGE_EXPORTS",
    )
)

__getattr__ = missing("gf.image", globals())
