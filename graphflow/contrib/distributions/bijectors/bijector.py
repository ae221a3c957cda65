"""What all bijectors offer, each direction derived from what a class gives.

A class has hooks named as TensorFlow names them (`_forward`, `_inverse`, `_inverse_log_det_jacobian`, ...), so that a
program's own subclasses work as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.array.array import identity, ones, rank, shape
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math.reductions import reduce_sum


class Bijector:
    """A function of events that can be inverted (tf.contrib.distributions.bijectors.Bijector).

    What `forward` gave is known: `inverse` of it gives the tensor that it was made of, and computes nothing.

    Args:
        graph_parents: Tensors that it depends on.
        is_constant_jacobian: Whether its Jacobian is the same everywhere.
        validate_args: Whether values are checked at the run.
        dtype: The dtype of what it takes; None for any.
        forward_min_event_ndims: The least rank of an event that it takes; by default that of what it gives.
        inverse_min_event_ndims: The least rank of an event that it gives; by default that of what it takes.
        name: A name for the operations.

    Raises:
        ValueError: If both ranks are left out.
    """

    def __init__(
        self,
        graph_parents: Sequence[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: DTypeLike | None = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
            )
        forward, inverse = forward_min_event_ndims, inverse_min_event_ndims
        forward = inverse if forward is None else forward
        inverse = forward if inverse is None else inverse
        assert forward is not None and inverse is not None
        self._graph_parents = list(graph_parents or ())
        self._forward_min_event_ndims, self._inverse_min_event_ndims = forward, inverse
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._name = name or type(self).__name__.lower()
        self._sources: WeakKeyDictionary[Tensor, Tensor] = WeakKeyDictionary()
        self._images: WeakKeyDictionary[Tensor, Tensor] = WeakKeyDictionary()

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it depends on."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """The least rank of an event that it takes."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """The least rank of an event that it gives."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether its Jacobian is the same everywhere."""
        return self._is_constant_jacobian

    @property
    def validate_args(self) -> bool:
        """Whether values are checked at the run."""
        return self._validate_args

    @property
    def dtype(self) -> DType | Any:
        """The dtype of what it takes; None for any."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of its operations."""
        return self._name

    # -- shapes ------------------------------------------------------------------------------------------------
    def forward_event_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The static shape of what becomes of an event of a shape.

        Args:
            input_shape: The shape of an event that it takes.
        """
        return TensorShape(self._forward_event_shape(TensorShape(input_shape)))

    def inverse_event_shape(self, output_shape: ShapeLike) -> TensorShape:
        """The static shape of what an event of a shape was.

        Args:
            output_shape: The shape of an event that it gives.
        """
        return TensorShape(self._inverse_event_shape(TensorShape(output_shape)))

    def forward_event_shape_tensor(
        self, input_shape: IntTensorLike, name: str = "forward_event_shape_tensor"
    ) -> Tensor:
        """The shape of what becomes of an event of a shape, int32 (rank,).

        Args:
            input_shape: The shape of an event that it takes.
            name: A name for the operation.
        """
        with self._scope(name, [input_shape]):
            return identity(self._forward_event_shape_tensor(convert_to_tensor(input_shape)))

    def inverse_event_shape_tensor(
        self, output_shape: IntTensorLike, name: str = "inverse_event_shape_tensor"
    ) -> Tensor:
        """The shape of what an event of a shape was, int32 (rank,).

        Args:
            output_shape: The shape of an event that it gives.
            name: A name for the operation.
        """
        with self._scope(name, [output_shape]):
            return identity(self._inverse_event_shape_tensor(convert_to_tensor(output_shape)))

    # -- values ------------------------------------------------------------------------------------------------
    def forward(self, x: TensorLike, name: str = "forward") -> Tensor:
        """What becomes of `x`.

        Args:
            x: A tensor whose last axes are events.
            name: A name for the operation.
        """
        return self._call_forward(x, name)

    def inverse(self, y: TensorLike, name: str = "inverse") -> Tensor:
        """What `y` was.

        Args:
            y: A tensor whose last axes are events.
            name: A name for the operation.
        """
        return self._call_inverse(y, name)

    def forward_log_det_jacobian(
        self, x: TensorLike, event_ndims: int | Tensor, name: str = "forward_log_det_jacobian"
    ) -> Tensor:
        """The logarithm of how much space is stretched at `x`.

        Args:
            x: A tensor whose last axes are events.
            event_ndims: How many axes an event has, at least forward_min_event_ndims.
            name: A name for the operation.

        Returns:
            A tensor without the axes of events.

        Raises:
            ValueError: If `event_ndims` is too small.
        """
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def inverse_log_det_jacobian(
        self, y: TensorLike, event_ndims: int | Tensor, name: str = "inverse_log_det_jacobian"
    ) -> Tensor:
        """The logarithm of how much the inverse stretches space at `y`.

        Args:
            y: A tensor whose last axes are events.
            event_ndims: How many axes an event has, at least inverse_min_event_ndims.
            name: A name for the operation.

        Returns:
            A tensor without the axes of events.

        Raises:
            ValueError: If `event_ndims` is too small.
        """
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    # -- hooks -------------------------------------------------------------------------------------------------
    def _forward_event_shape(self, input_shape: TensorShape) -> Any:
        return input_shape

    def _inverse_event_shape(self, output_shape: TensorShape) -> Any:
        return output_shape

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return output_shape

    def _call_forward(self, x: Any, name: str, **kwargs: Any) -> Tensor:
        with self._scope(name, [x]):
            given = self._checked(x, "x")
            if kwargs:
                found: Tensor = self._hook("forward", "_forward")(given, **kwargs)
                return found
            if given not in self._images:
                image = self._images[given] = self._hook("forward", "_forward")(given)
                self._sources.setdefault(image, given)
            return self._images[given]

    def _call_inverse(self, y: Any, name: str, **kwargs: Any) -> Tensor:
        with self._scope(name, [y]):
            given = self._checked(y, "y")
            if kwargs:
                found: Tensor = self._hook("inverse", "_inverse")(given, **kwargs)
                return found
            if given not in self._sources:
                source = self._sources[given] = self._hook("inverse", "_inverse")(given)
                self._images.setdefault(source, given)
            return self._sources[given]

    def _call_forward_log_det_jacobian(self, x: Any, event_ndims: Any, name: str, **kwargs: Any) -> Tensor:
        with self._scope(name, [x]):
            given, least = self._checked(x, "x"), self._forward_min_event_ndims
            rule = getattr(self, "_forward_log_det_jacobian", None)
            if rule is not None:
                return self._whole(given, rule(given, **kwargs), least, event_ndims)
            y = self._call_forward(given, name, **kwargs)
            other = self._hook("log_det_jacobian", "_inverse_log_det_jacobian")(y, **kwargs)
            return -self._whole(given, other, least, event_ndims)

    def _call_inverse_log_det_jacobian(self, y: Any, event_ndims: Any, name: str, **kwargs: Any) -> Tensor:
        with self._scope(name, [y]):
            given, least = self._checked(y, "y"), self._inverse_min_event_ndims
            rule = getattr(self, "_inverse_log_det_jacobian", None)
            if rule is not None:
                return self._whole(given, rule(given, **kwargs), least, event_ndims)
            x = self._call_inverse(given, name, **kwargs)
            other = self._hook("log_det_jacobian", "_forward_log_det_jacobian")(x, **kwargs)
            return -self._whole(given, other, least, event_ndims)

    def _whole(self, value: Tensor, logarithm: Any, least: int, event_ndims: Any) -> Tensor:
        """The logarithm for whole events, from that of the smallest events that there may be."""
        known = (
            event_ndims if isinstance(event_ndims, int) else constant_value(convert_to_tensor(event_ndims))
        )
        if known is None:
            raise ValueError(f"{type(self).__name__}: event_ndims must be known when the graph is built.")
        if int(known) < least:
            raise ValueError(f"event_ndims ({int(known)}) must be larger than min_event_ndims ({least})")
        more = int(known) - least
        if not more:
            return convert_to_tensor(logarithm)
        # A Jacobian that is the same everywhere may come as one number for all events.
        last = rank(value) - least
        spread = ones(shape(value)[last - more : last], logarithm.dtype)
        return reduce_sum(spread * logarithm, axis=list(range(-more, 0)))

    def _hook(self, what: str, name: str) -> Any:
        rule = getattr(self, name, None)
        if rule is None:
            raise NotImplementedError(f"{what} not implemented: {type(self).__name__} has no {name}.")
        return rule

    def _checked(self, value: Any, name: str) -> Tensor:
        given = convert_to_tensor(value, name=name, preferred_dtype=self._dtype)
        if self._dtype is not None and given.dtype.base_dtype != self._dtype:
            raise TypeError(
                f"Input had dtype {given.dtype.name} but expected {getattr(self._dtype, 'name', self._dtype)}."
            )
        return given

    @contextmanager
    def _scope(self, name: str, values: Sequence[Any]) -> Iterator[None]:
        with op_scope(self._name, "", [*self._graph_parents, *values]), op_scope(name, "", []):
            yield
