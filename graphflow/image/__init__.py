"""Images (tf.image): their size, place and colours, random changes of them, boxes in them, and files that hold them."""

from __future__ import annotations

from graphflow.namespaces import exports, missing
from graphflow.ops.patches import extract_image_patches as extract_image_patches
from graphflow.ops.patches import extract_patches as extract_patches
from graphflow.ops.random import random_crop as random_crop

globals().update(
    exports(
        "ops.image_boxes", "ops.image_colors", "ops.resizing", "image.adjust", "image.colors", "image.dtypes",
        "image.files", "image.geometry", "image.quality", "image.sizes",
        names="IMAGE_EXPORTS",
    )
)  # fmt: skip

__getattr__ = missing("gf.image", globals())
