"""Optimizers that compute outside of the graph, such as SciPy's (tf.contrib.opt.ScipyOptimizerInterface).

The variables are one long vector to such an optimizer. It asks for the loss and its gradient at a point of its choice;
the graph answers with the variables fed, and their values are written once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

import graphflow.logging as logging
from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph.defaults import get_default_graph, get_default_session
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.creation import zeros_like
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.shaping import placeholder, reshape

Values = np.ndarray[Any, Any]
Function = Callable[[Values], Any]


class ExternalOptimizerInterface:
    """What optimizers outside of the graph share; a subclass defines _minimize."""

    def __init__(
        self,
        loss: Tensor,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: Mapping[Any, tuple[Any, Any]] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        """Makes one for a loss.

        Args:
            loss: A scalar.
            var_list: The variables that change; by default those that are trained.
            equalities: Scalars or vectors that are to be 0.
            inequalities: Scalars or vectors that are to be at least 0.
            var_to_bounds: For a variable its least and its greatest value, numbers or arrays.
            **optimizer_kwargs: What the optimizer itself takes.
        """
        self._loss = loss
        self._equalities = list(equalities or [])
        self._inequalities = list(inequalities or [])
        trained = get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)
        self._vars: list[Any] = list(trained if var_list is None else var_list)
        self._packed_bounds = None if var_to_bounds is None else self._pack_bounds(var_to_bounds)
        self._update_placeholders = [placeholder(var.dtype.base_dtype, var.shape) for var in self._vars]
        self._var_updates = [
            var.assign(fed) for var, fed in zip(self._vars, self._update_placeholders, strict=True)
        ]
        self._packed_var = _pack(self._vars)
        self._packed_loss_grad = _pack(_gradients(loss, self._vars))
        self._packed_equality_grads = [_pack(_gradients(each, self._vars)) for each in self._equalities]
        self._packed_inequality_grads = [_pack(_gradients(each, self._vars)) for each in self._inequalities]
        self.optimizer_kwargs = optimizer_kwargs
        ends = np.cumsum([var.shape.num_elements() for var in self._vars]).tolist()
        self._packing_slices = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def _pack_bounds(self, var_to_bounds: Mapping[Any, tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """A pair of bounds for each number of the long vector."""
        packed: list[tuple[Any, Any]] = []
        for var in self._vars:
            shape = var.shape.as_list()
            bounds = [
                np.broadcast_to(one, shape).ravel() for one in var_to_bounds.get(var, (-np.inf, np.inf))
            ]
            packed += zip(*(one.tolist() for one in bounds), strict=True)
        return packed

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[..., Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Finds the least loss, and writes the variables that give it.

        Args:
            session: A session; by default the default session.
            feed_dict: What is fed in each run.
            fetches: What loss_callback is called with.
            step_callback: Is called with the long vector after each step.
            loss_callback: Is called with the values of the fetches whenever the loss was computed.
            **run_kwargs: What the runs take besides.
        """
        session = session or get_default_session()
        feeds, wanted = dict(feed_dict or {}), list(fetches or [])
        if session is None:
            raise ValueError(
                "minimize() needs a session: pass one, or call it where there is a default session."
            )

        def evaluated(
            tensors: list[Tensor], also: list[Any], callback: Callable[..., Any] | None
        ) -> Function:
            def function(vector: Values) -> list[Any]:
                found = session.run([*tensors, *also], {**self._fed(vector), **feeds}, **run_kwargs)
                if callback is not None:
                    callback(*found[len(tensors) :])
                return list(found[: len(tensors)])

            return function

        def each(tensors: Sequence[Any]) -> list[Function]:
            return [_only(evaluated([tensor], [], None)) for tensor in tensors]

        found = self._minimize(
            initial_val=session.run(self._packed_var, feeds, **run_kwargs),
            loss_grad_func=evaluated([self._loss, self._packed_loss_grad], wanted, loss_callback),
            equality_funcs=each(self._equalities),
            equality_grad_funcs=each(self._packed_equality_grads),
            inequality_funcs=each(self._inequalities),
            inequality_grad_funcs=each(self._packed_inequality_grads),
            packed_bounds=self._packed_bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values = self._fed(found).values()
        session.run(
            self._var_updates, dict(zip(self._update_placeholders, values, strict=True)), **run_kwargs
        )

    def _fed(self, vector: Values) -> dict[Any, Values]:
        """For each variable its part of the long vector, in its shape."""
        return {
            var: np.reshape(vector[part], var.shape.as_list())
            for var, part in zip(self._vars, self._packing_slices, strict=True)
        }

    def _minimize(
        self,
        initial_val: Values,
        loss_grad_func: Function,
        equality_funcs: list[Function],
        equality_grad_funcs: list[Function],
        inequality_funcs: list[Function],
        inequality_grad_funcs: list[Function],
        packed_bounds: list[tuple[Any, Any]] | None,
        step_callback: Callable[..., Any] | None,
        optimizer_kwargs: Mapping[str, Any],
    ) -> Values:
        """The long vector of least loss, given that to start from."""
        raise NotImplementedError("A subclass of ExternalOptimizerInterface defines _minimize.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """scipy.optimize.minimize for a loss of the graph; its method is L-BFGS-B unless `method` says another.

    Examples:
        >>> x = gf.Variable([5.0, -3.0])
        >>> optimizer = gf.contrib.opt.ScipyOptimizerInterface(gf.reduce_sum(gf.square(x)))
    """

    _DEFAULT_METHOD: Final = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: Values,
        loss_grad_func: Function,
        equality_funcs: list[Function],
        equality_grad_funcs: list[Function],
        inequality_funcs: list[Function],
        inequality_grad_funcs: list[Function],
        packed_bounds: list[tuple[Any, Any]] | None,
        step_callback: Callable[..., Any] | None,
        optimizer_kwargs: Mapping[str, Any],
    ) -> Values:
        def in_float64(vector: Values) -> tuple[Any, Values]:
            loss, gradient = loss_grad_func(vector)
            return np.float64(loss), gradient.astype("float64")

        def each_in_float64(function: Function) -> Function:
            return lambda vector: np.asarray(function(vector), "float64")

        constraints = [
            {"type": kind, "fun": each_in_float64(function), "jac": each_in_float64(jacobian)}
            for kind, functions, jacobians in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, jacobian in zip(functions, jacobians, strict=True)
        ]
        given = dict(optimizer_kwargs)
        method = given.pop("method", self._DEFAULT_METHOD)
        own = {
            "jac": True, "callback": step_callback, "method": method, "constraints": constraints,
            "bounds": packed_bounds,
        }  # fmt: skip
        for name in own:
            if name in given:
                more = "; pass var_to_bounds instead" if name == "bounds" else ""
                raise ValueError(
                    f"Optimizer keyword arg {name!r} is set automatically and cannot be injected manually{more}."
                )
        result = import_module("scipy.optimize").minimize(
            in_float64, initial_val.astype("float64"), **own, **given
        )
        logging.info(
            "SciPy's %s ended: %s It took %s iterations and %s evaluations; the loss is %s.",
            method,
            result.get("message", ""),
            result.get("nit", "?"),
            result.get("nfev", "?"),
            result.fun,
        )
        found: Values = result.x
        return found


def _only(function: Function) -> Function:
    return lambda vector: function(vector)[0]


def _pack(tensors: Sequence[Any]) -> Tensor:
    """Tensors as one long vector."""
    parts = [reshape(tensor, [-1]) for tensor in tensors]
    return parts[0] if len(parts) == 1 else concat(parts, 0)


def _gradients(tensor: Any, variables: Sequence[Any]) -> list[Any]:
    """The gradients, zeros where there is none."""
    return [
        zeros_like(variable) if gradient is None else gradient
        for variable, gradient in zip(variables, gradients(tensor, list(variables)), strict=True)
    ]
