"""graphflow: dataflow graphs with TensorFlow 1's names, run in this process or on a cluster.

import graphflow as gf

x = gf.placeholder(gf.float32, [None, 2])
y = gf.reduce_sum(x * 2.0)
with gf.Session() as sess:
    print(sess.run(y, {x: [[1.0, 2.0]]}))
"""

from __future__ import annotations

from graphflow._core.common.distribution import VERSION as __version__
from graphflow._core.common.distribution import check_alone as _check_alone
from graphflow._core.common.namespaces import attach

_check_alone(__path__)
newaxis = None

__getattr__, __dir__, __all__ = attach(__name__)
