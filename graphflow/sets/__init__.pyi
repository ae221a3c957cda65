"""Sets of values in the last axis of tensors (tf.sets)."""

from graphflow._core.ops.sparse.sets import set_difference as set_difference
from graphflow._core.ops.sparse.sets import set_intersection as set_intersection
from graphflow._core.ops.sparse.sets import set_size as set_size
from graphflow._core.ops.sparse.sets import set_union as set_union
from graphflow._core.ops.sparse.sets import set_difference as _difference
from graphflow._core.ops.sparse.sets import set_intersection as _intersection
from graphflow._core.ops.sparse.sets import set_size as _size
from graphflow._core.ops.sparse.sets import set_union as _union

difference = _difference
intersection = _intersection
size = _size
union = _union
