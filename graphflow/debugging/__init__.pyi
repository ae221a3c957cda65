"""Assertions and checks (tf.debugging)."""

from graphflow._core.ops.control_flow.checking import assert_ as _Assert
from graphflow._core.ops.control_flow.checking import verify_tensor_all_finite as _assert_all_finite
from graphflow._core.ops.control_flow.assertions import assert_equal as assert_equal
from graphflow._core.ops.control_flow.assertions import assert_greater as assert_greater
from graphflow._core.ops.control_flow.assertions import assert_greater_equal as assert_greater_equal
from graphflow._core.ops.control_flow.assertions import assert_integer as assert_integer
from graphflow._core.ops.control_flow.assertions import assert_less as assert_less
from graphflow._core.ops.control_flow.assertions import assert_less_equal as assert_less_equal
from graphflow._core.ops.control_flow.assertions import assert_near as assert_near
from graphflow._core.ops.control_flow.value_assertions import assert_proper_iterable as assert_proper_iterable
from graphflow._core.ops.control_flow.value_assertions import assert_same_float_dtype as assert_same_float_dtype
from graphflow._core.ops.control_flow.assertions import assert_negative as assert_negative
from graphflow._core.ops.control_flow.assertions import assert_non_negative as assert_non_negative
from graphflow._core.ops.control_flow.assertions import assert_non_positive as assert_non_positive
from graphflow._core.ops.control_flow.assertions import assert_none_equal as assert_none_equal
from graphflow._core.ops.control_flow.assertions import assert_positive as assert_positive
from graphflow._core.ops.control_flow.assertions import assert_rank as assert_rank
from graphflow._core.ops.control_flow.assertions import assert_rank_at_least as assert_rank_at_least
from graphflow._core.ops.control_flow.assertions import assert_rank_in as assert_rank_in
from graphflow._core.ops.control_flow.assertions import assert_scalar as assert_scalar
from graphflow._core.ops.control_flow.shape_assertions import assert_shapes as assert_shapes
from graphflow._core.ops.control_flow.assertions import assert_type as assert_type
from graphflow._core.ops.control_flow.checking import check_numerics as check_numerics
from graphflow._core.ops.math.comparison import is_finite as is_finite
from graphflow._core.ops.math.comparison import is_inf as is_inf
from graphflow._core.ops.math.comparison import is_nan as is_nan
from graphflow._core.ops.control_flow.assertions import is_non_decreasing as is_non_decreasing
from graphflow._core.ops.control_flow.assertions import is_numeric_tensor as is_numeric_tensor
from graphflow._core.ops.control_flow.assertions import is_strictly_increasing as is_strictly_increasing

Assert = _Assert
assert_all_finite = _assert_all_finite
from graphflow.debugging.profiling import Profile as Profile
from graphflow.debugging.profiling import profile as profile
