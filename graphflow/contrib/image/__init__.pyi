"""Images turned, shifted, tilted, warped and coloured, and parts of them (tf.contrib.image)."""

from graphflow.contrib.image.colors import adjust_hsv_in_yiq as adjust_hsv_in_yiq
from graphflow.contrib.image.projective import angles_to_projective_transforms as angles_to_projective_transforms
from graphflow.contrib.image.projective import compose_transforms as compose_transforms
from graphflow.contrib.image.projective import flat_transforms_to_matrices as flat_transforms_to_matrices
from graphflow.contrib.image.projective import matrices_to_flat_transforms as matrices_to_flat_transforms
from graphflow.contrib.image.colors import random_hsv_in_yiq as random_hsv_in_yiq
from graphflow.contrib.image.projective import rotate as rotate
from graphflow.contrib.image.projective import transform as transform
from graphflow.contrib.image.projective import translate as translate
from graphflow.contrib.image.projective import translations_to_projective_transforms as translations_to_projective_transforms
from graphflow.contrib.image.components import bipartite_match as bipartite_match
from graphflow.contrib.image.components import connected_components as connected_components
from graphflow.contrib.image.splines import interpolate_spline as interpolate_spline
from graphflow.contrib.image.warping import dense_image_warp as dense_image_warp
from graphflow.contrib.image.warping import sparse_image_warp as sparse_image_warp
