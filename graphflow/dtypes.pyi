"""Types of elements, as tf.dtypes; each is defined in the module of its subject."""

from graphflow._core.graph.dtypes import DType as DType
from graphflow._core.graph.dtypes import as_dtype as as_dtype
from graphflow._core.ops.strings import as_string as as_string
from graphflow._core.graph.dtypes import bfloat16 as bfloat16
from graphflow._core.graph.dtypes import bool_ as _bool
bool = _bool
from graphflow._core.ops.math.casting import cast as cast
from graphflow._core.ops.math.numeric import complex_ as _complex
complex = _complex
from graphflow._core.graph.dtypes import complex128 as complex128
from graphflow._core.graph.dtypes import complex64 as complex64
from graphflow._core.graph.dtypes import float64 as _double
double = _double
from graphflow._core.graph.dtypes import float16 as float16
from graphflow._core.graph.dtypes import float32 as float32
from graphflow._core.graph.dtypes import float64 as float64
from graphflow._core.graph.dtypes import float16 as _half
half = _half
from graphflow._core.graph.dtypes import int16 as int16
from graphflow._core.graph.dtypes import int32 as int32
from graphflow._core.graph.dtypes import int64 as int64
from graphflow._core.graph.dtypes import int8 as int8
from graphflow._core.graph.dtypes import resource as resource
from graphflow._core.ops.math.numeric import saturate_cast as saturate_cast
from graphflow._core.graph.dtypes import string as string
from graphflow._core.graph.dtypes import uint16 as uint16
from graphflow._core.graph.dtypes import uint32 as uint32
from graphflow._core.graph.dtypes import uint64 as uint64
from graphflow._core.graph.dtypes import uint8 as uint8
from graphflow._core.graph.dtypes import variant as variant
