"""Types for annotations: what the functions of graphflow take (TensorLike, ShapeLike, ...).

A function that builds a part of a model is annotated with them as graphflow's own are:

    def scaled(x: gf.typing.TensorLike, by: gf.typing.TensorLike = 2.0) -> gf.Tensor:
        return gf.multiply(x, by)

What comes out is a gf.Tensor, a gf.Variable, a gf.SparseTensor or a gf.Operation.
"""

from __future__ import annotations

from graphflow._core.graph.types import Activation as Activation
from graphflow._core.graph.types import CollectionNames as CollectionNames
from graphflow._core.graph.types import Constraint as Constraint
from graphflow._core.graph.types import DeviceLike as DeviceLike
from graphflow._core.graph.types import DTypeLike as DTypeLike
from graphflow._core.graph.types import Initializer as Initializer
from graphflow._core.graph.types import InitializerLike as InitializerLike
from graphflow._core.graph.types import IntsLike as IntsLike
from graphflow._core.graph.types import IntTensorLike as IntTensorLike
from graphflow._core.graph.types import NumberLike as NumberLike
from graphflow._core.graph.types import Partitioner as Partitioner
from graphflow._core.graph.types import Regularizer as Regularizer
from graphflow._core.graph.types import SessionLike as SessionLike
from graphflow._core.graph.types import ShapeLike as ShapeLike
from graphflow._core.graph.types import SparseTensorLike as SparseTensorLike
from graphflow._core.graph.types import SupportsArray as SupportsArray
from graphflow._core.graph.types import SupportsTensor as SupportsTensor
from graphflow._core.graph.types import TensorLike as TensorLike
from graphflow._core.graph.types import TensorStructure as TensorStructure
from graphflow._core.graph.types import VariableLike as VariableLike
