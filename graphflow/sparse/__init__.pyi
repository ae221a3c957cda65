"""Sparse tensors (tf.sparse)."""

from graphflow._core.graph.slices import SparseTensor as SparseTensor
from graphflow._core.ops.distributed.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from graphflow._core.ops.sparse.sparse import sparse_add as _add
from graphflow._core.ops.sparse.composed import sparse_concat as _concat
from graphflow._core.ops.sparse.crossing import sparse_cross as _cross
from graphflow._core.ops.sparse.crossing import sparse_cross_hashed as _cross_hashed
from graphflow._core.ops.sparse.sparse import sparse_fill_empty_rows as _fill_empty_rows
from graphflow._core.ops.sparse.composed import sparse_maximum as _maximum
from graphflow._core.ops.sparse.composed import sparse_merge as _merge
from graphflow._core.ops.sparse.composed import sparse_minimum as _minimum
from graphflow._core.ops.sparse.composed import sparse_reset_shape as _reset_shape
from graphflow._core.ops.sparse.composed import sparse_softmax as _softmax
from graphflow._core.ops.sparse.composed import sparse_to_indicator as _to_indicator
from graphflow._core.ops.sparse.sparse import from_dense as from_dense
from graphflow._core.ops.sparse.sparse import sparse_placeholder as _placeholder
from graphflow._core.ops.sparse.sparse import sparse_reduce_max as _reduce_max
from graphflow._core.ops.sparse.sparse import sparse_reduce_sum as _reduce_sum
from graphflow._core.ops.sparse.sparse import sparse_reorder as _reorder
from graphflow._core.ops.sparse.sparse import sparse_reshape as _reshape
from graphflow._core.ops.sparse.sparse import sparse_retain as _retain
from graphflow._core.ops.sparse.sparse import sparse_slice as _slice
from graphflow._core.ops.sparse.splitting import sparse_split as _split
from graphflow._core.ops.sparse.sparse import sparse_tensor_dense_matmul as _sparse_dense_matmul
from graphflow._core.ops.sparse.sparse import sparse_tensor_to_dense as _to_dense
from graphflow._core.ops.sparse.sparse import sparse_transpose as _transpose

maximum = _maximum
merge = _merge
minimum = _minimum
reset_shape = _reset_shape
softmax = _softmax
to_indicator = _to_indicator
add = _add
concat = _concat
cross = _cross
split = _split
cross_hashed = _cross_hashed
fill_empty_rows = _fill_empty_rows
placeholder = _placeholder
reduce_max = _reduce_max
reduce_sum = _reduce_sum
reorder = _reorder
reshape = _reshape
retain = _retain
slice = _slice
sparse_dense_matmul = _sparse_dense_matmul
to_dense = _to_dense
transpose = _transpose
