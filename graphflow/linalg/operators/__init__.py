"""Linear operators: matrices known by their structure, and what is computed of them (tf.linalg.LinearOperator...).

All files are imported together, as each has rules of how its structures go together with others.
"""

from __future__ import annotations

import graphflow.linalg.operators.combined
import graphflow.linalg.operators.dense
import graphflow.linalg.operators.diagonal
import graphflow.linalg.operators.low_rank
import graphflow.linalg.operators.structured  # noqa: F401
