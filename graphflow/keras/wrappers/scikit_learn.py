"""Models in the form of scikit-learn's estimators (tf.keras.wrappers.scikit_learn)."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow.keras.engine.sequential import Sequential
from graphflow.keras.losses import categorical_crossentropy
from graphflow.keras.typing import Arrays
from graphflow.keras.utils.arrays import to_categorical

__all__ = ["KerasClassifier", "KerasRegressor"]


def _takes(function: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class _Wrapper:
    """A function that makes compiled models, with arguments of it and of `fit`, `predict` and `evaluate`.

    Without a function a class derived from it makes them by `__call__`.
    """

    model: Any

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        """Keeps the arguments.

        Args:
            build_fn: A function that gives a compiled model.
            **sk_params: Arguments of it, and of the model's `fit`, `predict`, `predict_classes` and `evaluate`.

        Raises:
            ValueError: None of these takes an argument.
        """
        self.build_fn = build_fn
        self.sk_params: dict[str, Any] = sk_params
        self.check_params(sk_params)

    def _builder(self) -> Callable[..., Any]:
        found: Any = self if self.build_fn is None else self.build_fn
        routine = inspect.isfunction(found) or inspect.ismethod(found)
        made: Callable[..., Any] = found if routine else found.__call__
        return made

    def check_params(self, params: dict[str, Any]) -> None:
        """Looks for mistakes in the names of arguments.

        Args:
            params: Arguments by name.

        Raises:
            ValueError: Neither the function that makes models nor `fit` and its like take one.
        """
        known = (Sequential.fit, Sequential.predict, Sequential.predict_classes, Sequential.evaluate)
        for name in params:
            # `fit` takes what it refuses later: its old names.
            plain = any(name in inspect.signature(function).parameters for function in known)
            if not plain and name != "nb_epoch" and not _takes(self._builder(), name):
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """The arguments it was given.

        Args:
            **params: Change nothing.

        Returns:
            Arguments by name, build_fn among them.
        """
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Changes arguments.

        Args:
            **params: Arguments by name.

        Returns:
            Itself.

        Raises:
            ValueError: One is not known.
        """
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def filter_sk_params(
        self, fn: Callable[..., Any], override: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The arguments that a function takes.

        Args:
            fn: The function.
            override: Arguments that come before them.

        Returns:
            Arguments by name.
        """
        own = {
            name: value for name, value in self.sk_params.items() if name in inspect.signature(fn).parameters
        }
        return {**own, **(override or {})}

    def fit(self, x: Arrays, y: Arrays, **kwargs: Any) -> Any:
        """Makes a model and trains it.

        Args:
            x: Inputs [examples, ...].
            y: Targets.
            **kwargs: Arguments of the model's `fit`.

        Returns:
            The History.
        """
        self.model = self._builder()(**self.filter_sk_params(self._builder()))
        if _is_categorical(self.model.loss) and np.ndim(y) != 2:
            y = to_categorical(y)
        return self.model.fit(x, y, **{**copy.deepcopy(self.filter_sk_params(Sequential.fit)), **kwargs})


def _is_categorical(loss: Any) -> bool:
    return loss == "categorical_crossentropy" or getattr(loss, "fn", loss) is categorical_crossentropy


class KerasClassifier(_Wrapper):
    """A model that tells classes apart, as scikit-learn has it (tf.keras.wrappers.scikit_learn.KerasClassifier)."""

    _estimator_type = "classifier"

    def fit(self, x: Arrays, y: Arrays, **kwargs: Any) -> Any:
        """Makes a model and trains it.

        Args:
            x: Inputs [examples, ...].
            y: Classes [examples], of any kind, or [examples, classes] of 0 and 1.
            **kwargs: Arguments of the model's `fit`.

        Returns:
            The History.

        Raises:
            ValueError: The classes have another shape.
        """
        target = np.asarray(y)
        if target.ndim == 2 and target.shape[1] > 1:
            self.classes_: Any = np.arange(target.shape[1])
        elif target.ndim in (1, 2):
            self.classes_ = np.unique(target)
            target = np.searchsorted(self.classes_, target)
        else:
            raise ValueError(f"Invalid shape for y: {target.shape}")
        self.n_classes_: int = len(self.classes_)
        return super().fit(x, target, **kwargs)

    def predict(self, x: Arrays, **kwargs: Any) -> Any:
        """The classes of inputs.

        Args:
            x: Inputs [examples, ...].
            **kwargs: Arguments of the model's `predict_classes`.

        Returns:
            An array of classes.
        """
        return self.classes_[
            self.model.predict_classes(x, **self.filter_sk_params(Sequential.predict_classes, kwargs))
        ]

    def predict_proba(self, x: Arrays, **kwargs: Any) -> Any:
        """The probabilities of classes.

        Args:
            x: Inputs [examples, ...].
            **kwargs: Arguments of the model's `predict_proba`.

        Returns:
            An array [examples, classes].
        """
        found = self.model.predict_proba(x, **self.filter_sk_params(Sequential.predict_proba, kwargs))
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Arrays, y: Arrays, **kwargs: Any) -> float:
        """The share of right predictions.

        Args:
            x: Inputs [examples, ...].
            y: Their classes.
            **kwargs: Arguments of the model's `evaluate`.

        Returns:
            The accuracy.

        Raises:
            ValueError: The model was not compiled with it.
        """
        target: Any = np.searchsorted(self.classes_, y)
        if _is_categorical(self.model.loss) and target.ndim != 2:
            target = to_categorical(target)
        found = self.model.evaluate(x, target, **self.filter_sk_params(Sequential.evaluate, kwargs))
        by_name = dict(
            zip(self.model.metrics_names, found if isinstance(found, list) else [found], strict=True)
        )
        accuracy = by_name.get("accuracy", by_name.get("acc"))
        if accuracy is None:
            raise ValueError('The score is the accuracy: compile the model with metrics=["accuracy"].')
        return float(accuracy)


class KerasRegressor(_Wrapper):
    """A model that gives numbers, as scikit-learn has it (tf.keras.wrappers.scikit_learn.KerasRegressor)."""

    _estimator_type = "regressor"

    def predict(self, x: Arrays, **kwargs: Any) -> Any:
        """The outputs for inputs, without axes of 1.

        Args:
            x: Inputs [examples, ...].
            **kwargs: Arguments of the model's `predict`.

        Returns:
            An array.
        """
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))

    def score(self, x: Arrays, y: Arrays, **kwargs: Any) -> float:
        """The loss, negative, so that more is better.

        Args:
            x: Inputs [examples, ...].
            y: Targets.
            **kwargs: Arguments of the model's `evaluate`.

        Returns:
            The number.
        """
        found = self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs))
        return -float(found[0] if isinstance(found, list) else found)
