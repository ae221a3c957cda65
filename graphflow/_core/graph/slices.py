"""Sparse values made of several tensors: rows of a larger tensor (IndexedSlices), and coordinates (SparseTensor).

How a Python value becomes a tensor is known to the ops package only; it installs its conversions here, so that this
package needs no op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from graphflow._core.graph.defaults import SessionLike
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import IntTensorLike, Operation, Tensor, TensorLike
from graphflow._core.graph.shapes import Dims, TensorShape, merge, text

if TYPE_CHECKING:
    from graphflow._core.graph.graph import Graph


class IndexedSlices:
    """Some rows of a tensor: values[i] belongs to row indices[i]; rows named twice are added (tf.IndexedSlices).

    The gradient of gather is of this kind.

    Args:
        values: Of shape [n, ...].
        indices: Int32 or int64 of shape [n].
        dense_shape: The shape of the whole tensor as a vector, or None if it is not known.
    """

    _densify: ClassVar[Callable[..., Tensor]]

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The number of each row."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of the whole tensor."""
        rows = self._values.dims
        return TensorShape(None if rows is None else (None, *rows[1:]))

    @property
    def name(self) -> str:
        """The name of the rows' tensor."""
        return self._values.name

    @property
    def op(self) -> Operation:
        """The operation that makes the rows."""
        return self._values.op

    @property
    def _awaited(self) -> Operation:
        """What control dependencies on the slices wait for."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The type of the rows' elements."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._values.graph

    @property
    def device(self) -> str:
        """The device asked for the rows."""
        return self._values.device

    def consumers(self) -> list[Operation]:
        """The operations that take the rows."""
        return self._values.consumers()

    def as_graph_tensor(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        """The whole tensor, the rows summed into zeros.

        Args:
            dtype: The dtype wanted, or None.
            name: A name for the operation.

        Raises:
            ValueError: For an unknown shape or another dtype.
        """
        if dtype is not None and dtype is not self.dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {self.dtype.name}. "
                "Convert its values with gf.cast."
            )
        if self._dense_shape is None:
            raise ValueError(
                f"IndexedSlices without a dense_shape cannot become a tensor: {self}. Give it its dense_shape."
            )
        return type(self)._densify(self._values, self._indices, self._dense_shape, name)

    @classmethod
    def install_conversion(cls, function: Callable[..., Tensor]) -> None:
        """Installs (values, indices, dense_shape, name) -> Tensor; called by the ops package.

        Args:
            function: The conversion.
        """
        cls._densify = staticmethod(function)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"


class IndexedSlicesValue(NamedTuple):
    """The arrays of an IndexedSlices that was run."""

    values: Any
    indices: Any
    dense_shape: Any


class SparseTensorValue(NamedTuple):
    """The arrays of a SparseTensor: what running one gives, and what may be fed for one."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor given by the coordinates and values of its non-zero elements (tf.SparseTensor).

    Most operations want the indices in row-major order (gf.sparse_reorder). `*` and `/` take a tensor that is
    broadcast to the shape, and give a SparseTensor. ValueError or TypeError if the parts do not fit.

    Args:
        indices: Int64 of shape [n, rank].
        values: Of shape [n].
        dense_shape: Int64 of shape [rank].
    """

    _convert: ClassVar[Callable[..., tuple[Tensor, Tensor, Tensor]]]
    _known_shape: ClassVar[Callable[[Tensor], Dims]]

    if TYPE_CHECKING:  # Installed by the ops package, see install_operator.

        def __mul__(self, other: TensorLike) -> SparseTensor: ...
        def __rmul__(self, other: TensorLike) -> SparseTensor: ...
        def __truediv__(self, other: TensorLike) -> SparseTensor: ...

    def __init__(self, indices: IntTensorLike, values: TensorLike, dense_shape: IntTensorLike) -> None:
        self._indices, self._values, self._dense_shape = type(self)._convert(indices, values, dense_shape)
        places, elements, shape = self._indices.dims, self._values.dims, self._dense_shape.dims
        for dims, rank, what in ((places, 2, "indices"), (elements, 1, "values"), (shape, 1, "dense_shape")):
            if dims is not None and len(dims) != rank:
                raise ValueError(
                    f"The {what} of a SparseTensor must have rank {rank}, but the shape is {text(dims)}."
                )
        if places is not None:
            merge((places[0],), elements)
            merge((places[1],), shape)

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseTensorLike) -> SparseTensor:
        """A SparseTensor of a SparseTensor or SparseTensorValue.

        Args:
            sparse_tensor_value: A SparseTensor or SparseTensorValue.

        Raises:
            TypeError: For anything else.
        """
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value!r}.")
        return SparseTensor(*sparse_tensor_value)

    @classmethod
    def install_conversion(
        cls, convert: Callable[..., tuple[Tensor, Tensor, Tensor]], known_shape: Callable[[Tensor], Dims]
    ) -> None:
        """Installs how parts become tensors, and what is known of a shape vector; called by the ops package.

        Args:
            convert: From a part to a tensor.
            known_shape: From a shape vector to a static shape.
        """
        cls._convert = staticmethod(convert)
        cls._known_shape = staticmethod(known_shape)

    @classmethod
    def install_operator(cls, name: str, function: Callable[..., Any]) -> None:
        """Installs a Python operator such as `__mul__`; called by the ops package.

        Args:
            name: A name for the operation.
            function: What the operator does.
        """
        setattr(cls, name, function)

    @property
    def indices(self) -> Tensor:
        """The coordinates of the elements, one a row."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape as a vector."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape."""
        return TensorShape(type(self)._known_shape(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """What is known of the shape."""
        return self.shape

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        return self._values.op

    @property
    def name(self) -> str:
        """The name of the values' tensor."""
        return self._values.name

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._values.graph

    def consumers(self) -> list[Operation]:
        """The operations that take the values."""
        return self._values.consumers()

    def eval(
        self, feed_dict: Mapping[Any, Any] | None = None, session: SessionLike | None = None
    ) -> SparseTensorValue:
        """Its value in a session, by default the default one.

        Args:
            feed_dict: {tensor: value}: values that take the place of tensors.
            session: The session; by default the default session.

        Returns:
            A SparseTensorValue.

        Raises:
            ValueError: If there is none.
        """
        parts = [self._indices, self._values, self._dense_shape]
        found = self.graph.session_for("eval", self.name, session).run(parts, feed_dict)
        return SparseTensorValue(*found)

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"
        )


SparseTensorLike: TypeAlias = SparseTensor | SparseTensorValue
"""A sparse tensor, or the arrays of one."""
