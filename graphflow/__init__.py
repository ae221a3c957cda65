"""graphflow: dataflow graphs with TensorFlow 1's names, run in this process or on a cluster.

import graphflow as gf

x = gf.placeholder(gf.float32, [None, 2])
y = gf.reduce_sum(x * 2.0)
with gf.Session() as sess:
    print(sess.run(y, {x: [[1.0, 2.0]]}))
"""

from __future__ import annotations

from graphflow._core.common import distribution as _distribution
from graphflow._core.common.namespaces import attach

_distribution.check_alone(__path__)
__version__ = _distribution.VERSION
newaxis = None

__getattr__, __dir__, __all__ = attach(__name__)


def load_ipython_extension(ipython: object) -> None:
    """Has `import tensorflow` give graphflow in a notebook (%load_ext graphflow)."""
    from graphflow import as_tensorflow

    as_tensorflow.install()
