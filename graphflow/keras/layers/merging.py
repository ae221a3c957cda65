"""Layers of several inputs: sums, products, concatenation, attention (tf.keras.layers)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from graphflow._core.graph import shapes
from graphflow.keras import ops
from graphflow.keras.backend import products
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.layers.base import ConfiguredLayer
from graphflow.keras.typing import Shapes, Tensors


class _Merge(ConfiguredLayer):
    """A layer of several inputs, element by element; those of lower rank get axes behind the batch's."""

    supports_masking = True
    _exactly: int | None = None

    def build(self, input_shape: Shapes) -> None:
        """Looks at the shapes; ValueError if they do not go together."""
        if not isinstance(input_shape, list | tuple) or len(input_shape) < 2:
            raise ValueError(
                f"The layer {self.name!r} ({type(self).__name__}) should be called on a list of at least 2 inputs."
            )
        if self._exactly is not None and len(input_shape) != self._exactly:
            raise ValueError(
                f"The layer {self.name!r} takes exactly {self._exactly} inputs, got {len(input_shape)}."
            )
        self._joined([shapes.as_shape(s).as_list() for s in input_shape])
        self.built = True

    def _joined(self, sizes: Sequence[Sequence[int | None]]) -> list[int | None]:
        ranks = max(len(s) for s in sizes)
        found: list[int | None] = []
        for axis in range(ranks):
            here = {s[axis - ranks] for s in sizes if len(s) >= ranks - axis} - {1}
            known = here - {None}
            if len(known) > 1:
                raise ValueError(
                    f"The layer {self.name!r} ({type(self).__name__}) cannot merge inputs of shapes "
                    f"{[tuple(s) for s in sizes]}: operands could not be broadcast together."
                )
            found.append(None if None in here else next(iter(known)) if known else 1)
        return found

    def call(self, inputs: Tensors) -> Any:
        """The inputs merged."""
        if not isinstance(inputs, list | tuple):
            raise ValueError(
                f"The layer {self.name!r} should be called on a list of inputs, not on {inputs!r}."
            )
        ranks = [len(shape_of(t)) for t in inputs]
        same = list(inputs)
        for index, rank in enumerate(ranks):
            for _ in range(max(ranks) - rank):
                same[index] = ops.expand_dims(same[index], 1)
        return self._merged(same)

    def _merged(self, inputs: list[Any]) -> Any:
        return reduce(self._pair, inputs)

    def _pair(self, one: Any, other: Any) -> Any:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shapes broadcast."""
        if not isinstance(input_shape, list | tuple):
            raise ValueError(
                f"The layer {self.name!r} has a list of inputs, not one of shape {input_shape!r}."
            )
        return shapes.TensorShape(self._joined([shapes.as_shape(s).as_list() for s in input_shape]))

    def _masks(self, inputs: Any, mask: Any) -> list[Any]:
        """A bool tensor or None for each input; ValueError if there are not as many."""
        for name, each in (("mask", mask), ("inputs", inputs)):
            if not isinstance(each, list | tuple):
                raise ValueError(f"`{name}` should be a list.")
        if len(mask) != len(inputs):
            raise ValueError(
                f"`inputs` and `mask` should have the same length, not {len(inputs)} and {len(mask)}."
            )
        return [None if one is None else ops.cast(one, "bool") for one in mask]

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """What no mask masks."""
        if mask is None:
            return None
        found = [one for one in self._masks(inputs, mask) if one is not None]
        return reduce(ops.logical_and, found) if found else None


class Add(_Merge):
    """The sum (tf.keras.layers.Add)."""

    def _pair(self, one: Any, other: Any) -> Any:
        return one + other


class Subtract(_Merge):
    """The first less the second (tf.keras.layers.Subtract)."""

    _exactly = 2

    def _pair(self, one: Any, other: Any) -> Any:
        return one - other


class Multiply(_Merge):
    """The product (tf.keras.layers.Multiply)."""

    def _pair(self, one: Any, other: Any) -> Any:
        return one * other


class Average(Add):
    """The mean (tf.keras.layers.Average)."""

    def _merged(self, inputs: list[Any]) -> Any:
        return super()._merged(inputs) / len(inputs)


class Maximum(_Merge):
    """The largest (tf.keras.layers.Maximum)."""

    def _pair(self, one: Any, other: Any) -> Any:
        return ops.maximum(one, other)


class Minimum(_Merge):
    """The smallest (tf.keras.layers.Minimum)."""

    def _pair(self, one: Any, other: Any) -> Any:
        return ops.minimum(one, other)


class Concatenate(_Merge):
    """The inputs behind one another along an axis (tf.keras.layers.Concatenate).

    Args:
        axis: The axis, counted from the end if negative.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self._keep(axis=axis)

    def _joined(self, sizes: Sequence[Sequence[int | None]]) -> list[int | None]:
        first = list(sizes[0])
        axis = self.axis % len(first)
        for other in sizes[1:]:
            fits = len(other) == len(first) and all(
                i == axis or a is None or b is None or a == b
                for i, (a, b) in enumerate(zip(first, other, strict=False))
            )
            if not fits:
                raise ValueError(
                    f"The layer {self.name!r} requires inputs with matching shapes except for the concat axis "
                    f"{self.axis}. Got inputs shapes: {[tuple(s) for s in sizes]}"
                )
        along = [s[axis] for s in sizes]
        first[axis] = None if None in along else sum(n or 0 for n in along)
        return first

    def call(self, inputs: Tensors) -> Any:
        """The inputs behind one another.

        Args:
            inputs: Tensors whose sizes are the same on all other axes.

        Returns:
            A tensor.
        """
        return ops.concat(list(inputs), self.axis)

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The masks behind one another; nothing of an input without one is masked.

        Args:
            inputs: The tensors.
            mask: A mask or None for each.

        Returns:
            A bool tensor, or None if there is no mask.
        """
        masks = [] if mask is None else self._masks(inputs, mask)
        if all(one is None for one in masks):
            return None
        found = []
        for tensor, one in zip(inputs, masks, strict=True):
            if one is None:
                found.append(ops.ones_like(tensor, dtype="bool"))
            else:
                found.append(ops.expand_dims(one, -1) if len(one.shape) < len(tensor.shape) else one)
        return ops.reduce_all(ops.concat(found, self.axis), axis=-1)


class Dot(_Merge):
    """The sum of products along an axis of each of two inputs (tf.keras.layers.Dot).

    Args:
        axes: The axis, or one for each input; the batch's is 0.
        normalize: Whether the result is the cosine.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.
    """

    _exactly = 2

    def __init__(self, axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes = axes
        self.normalize = normalize
        self._keep(axes=axes, normalize=normalize)

    def _both(self, ranks: Sequence[int]) -> list[int]:
        given = [self.axes] * 2 if isinstance(self.axes, int) else list(self.axes)
        return [axis % rank for axis, rank in zip(given, ranks, strict=True)]

    def _joined(self, sizes: Sequence[Sequence[int | None]]) -> list[int | None]:
        axes = self._both([len(s) for s in sizes])
        if None not in (sizes[0][axes[0]], sizes[1][axes[1]]) and sizes[0][axes[0]] != sizes[1][axes[1]]:
            raise ValueError(
                f"The layer {self.name!r} cannot sum along axes {self.axes} of shapes {[tuple(s) for s in sizes]}: "
                "dimension incompatibility."
            )
        first = [n for i, n in enumerate(sizes[0]) if i != axes[0]]
        second = [n for i, n in enumerate(sizes[1]) if i not in (0, axes[1])]
        return first + second if len(first + second) > 1 else [*first, *second, 1]

    def call(self, inputs: Tensors) -> Any:
        """The sums of products.

        Args:
            inputs: Two tensors [batch, ...].

        Returns:
            A tensor of the axes that are left.
        """
        axes = self._both([len(shape_of(t)) for t in inputs])
        if self.normalize:
            inputs = [ops.l2_normalize(t, axis=a) for t, a in zip(inputs, axes, strict=True)]
        return products.batch_dot(inputs[0], inputs[1], axes)

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """None.

        Args:
            inputs: Changes nothing.
            mask: Changes nothing.

        Returns:
            None.
        """
        return None


class BaseDenseAttention(ConfiguredLayer):
    """Values weighted by how well keys fit queries; called on [query, value] or [query, value, key].

    A subclass defines `_calculate_scores`, under the name that it has in TensorFlow.
    """

    supports_masking = True

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal = causal
        self._keep(causal=causal)

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The weighted values [batch, queries, size]."""
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self._calculate_scores(query, key)
        allowed: Any = None
        if mask is not None and len(mask) > 1 and mask[1] is not None:
            allowed = ops.expand_dims(mask[1], 1)
        if self.causal:
            rows = ops.cumsum(ops.ones_like(scores, dtype="int32"), -2)
            columns = ops.cumsum(ops.ones_like(scores, dtype="int32"), -1)
            lower = ops.greater_equal(rows, columns)
            allowed = lower if allowed is None else ops.logical_and(lower, allowed)
        result = self._apply_scores(scores, value, allowed)
        if mask is not None and mask[0] is not None:
            result = result * ops.cast(ops.expand_dims(mask[0], -1), result.dtype)
        return result

    def _apply_scores(self, scores: Any, value: Any, scores_mask: Any = None) -> Any:
        """Values weighted by scores [batch, queries, values]; what a mask of that shape excludes counts for nothing."""
        scores = ops.convert_to_tensor(scores)
        if scores_mask is not None:
            scores = scores - 1.0e9 * ops.cast(ops.logical_not(scores_mask), scores.dtype)
        return ops.matmul(ops.softmax(scores), value)

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The query's mask."""
        self._check(inputs, mask)
        return ops.convert_to_tensor(mask[0]) if mask is not None and mask[0] is not None else None

    def _check(self, inputs: Any, mask: Any) -> None:
        """ValueError unless inputs are [query, value] or [query, value, key], and masks those of two."""
        kind = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(
                f"{kind} layer must be called on a list of inputs, [query, value] or [query, value, key]."
            )
        if not 2 <= len(inputs) <= 3:
            raise ValueError(f"{kind} layer accepts inputs list of length 2 or 3, got {len(inputs)}.")
        if mask is None:
            return
        if not isinstance(mask, list):
            raise ValueError(f"{kind} layer mask must be a list, [query_mask, value_mask], got {mask!r}.")
        # Of inputs with a key there are three masks if they come with the inputs; the key has the value's.
        if len(mask) not in (2, len(inputs)):
            raise ValueError(
                f"{kind} layer mask must be a list of length 2, [query_mask, value_mask], got {len(mask)}."
            )


class Attention(BaseDenseAttention):
    """Dot-product attention (tf.keras.layers.Attention; Luong et al. 2015).

    Args:
        use_scale: Whether the scores are multiplied by a scalar that is trained.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.
    """

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self._keep(use_scale=use_scale)

    def build(self, input_shape: Shapes) -> None:
        """Makes the scale, if there is one.

        Args:
            input_shape: The shapes of query and value, and of the key if there is one.
        """
        self.scale = self.add_weight("scale", (), initializer="ones") if self.use_scale else None
        self.built = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        scores = ops.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


class AdditiveAttention(BaseDenseAttention):
    """Additive attention (tf.keras.layers.AdditiveAttention; Bahdanau et al. 2014).

    Args:
        use_scale: Whether the features are multiplied by a vector that is trained.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.
    """

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale
        self._keep(use_scale=use_scale)

    def build(self, input_shape: Shapes) -> None:
        """Makes the scale, if there is one.

        Args:
            input_shape: The shapes of query and value, and of the key if there is one.
        """
        size = shapes.as_shape(input_shape[1]).as_list()[-1]
        self.scale = self.add_weight("scale", (size,)) if self.use_scale else None
        self.built = True

    def _calculate_scores(self, query: Any, key: Any) -> Any:
        summed = ops.tanh(ops.expand_dims(query, 2) + ops.expand_dims(key, 1))
        return ops.reduce_sum(summed if self.scale is None else self.scale * summed, axis=-1)


def add(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """The sum of tensors, as a layer (tf.keras.layers.add).

    Args:
        inputs: A list of tensors whose sizes are the same or broadcast.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor.
    """
    return Add(**kwargs)(inputs)


def subtract(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """The first tensor less the second, as a layer (tf.keras.layers.subtract).

    Args:
        inputs: A list of tensors whose sizes are the same or broadcast.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor.
    """
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """The product of tensors, as a layer (tf.keras.layers.multiply).

    Args:
        inputs: A list of tensors whose sizes are the same or broadcast.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor.
    """
    return Multiply(**kwargs)(inputs)


def average(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """The mean of tensors, as a layer (tf.keras.layers.average).

    Args:
        inputs: A list of tensors whose sizes are the same or broadcast.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor.
    """
    return Average(**kwargs)(inputs)


def maximum(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """The largest of tensors, as a layer (tf.keras.layers.maximum).

    Args:
        inputs: A list of tensors whose sizes are the same or broadcast.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor.
    """
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Sequence[Any], **kwargs: Any) -> Any:
    """The smallest of tensors, as a layer (tf.keras.layers.minimum).

    Args:
        inputs: A list of tensors whose sizes are the same or broadcast.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor.
    """
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Sequence[Any], axis: int = -1, **kwargs: Any) -> Any:
    """Tensors behind one another, as a layer (tf.keras.layers.concatenate).

    Args:
        inputs: Tensors whose sizes are the same on all other axes.
        axis: The axis, counted from the end if negative.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor.
    """
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Sequence[Any], axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> Any:
    """Sums of products of two tensors, as a layer (tf.keras.layers.dot).

    Args:
        inputs: Two tensors [batch, ...].
        axes: The axis, or one for each input; the batch's is 0.
        normalize: Whether the result is the cosine.
        **kwargs: The arguments of every layer, such as `name` and `dtype`.

    Returns:
        A tensor of the axes that are left.
    """
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
