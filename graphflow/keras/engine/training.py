"""Model: a network that is compiled, trained, evaluated, and predicts (tf.keras.Model)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph.elements import Tensor
from graphflow.data.dataset import Dataset
from graphflow.keras import optimizers
from graphflow.keras.backend import settings, state
from graphflow.keras.engine import feeding, loops
from graphflow.keras.engine.batches import is_dataset, is_stream
from graphflow.keras.engine.compiled import Compiled, phase_feed, predicting
from graphflow.keras.engine.input_layer import Input
from graphflow.keras.engine.network import Network
from graphflow.keras.engine.node import history_of
from graphflow.keras.saving import model_files
from graphflow.keras.typing import Arrays, Elements, Losses, Metrics


class Model(Network):
    """Layers put together, to be compiled and trained (tf.keras.Model).

    Model(inputs, outputs) is what lies between the tensors; a class derived from it makes layers in __init__ and calls
    them in `call`, which may take `training` and `mask`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._compiled: Compiled | None = None
        self._compile_arguments: dict[str, Any] | None = None
        self._predicting: Any = None
        self._predicted: Any = None
        self.optimizer: Any = None
        self.stop_training = False
        self.history: Any = None

    # ---- compiling ------------------------------------------------------------------------------------------------

    def compile(
        self,
        optimizer: Elements = "rmsprop",
        loss: Losses = None,
        metrics: Metrics = None,
        loss_weights: Sequence[float] | dict[str, float] | None = None,
        sample_weight_mode: str | Sequence[str | None] | dict[str, str] | None = None,
        weighted_metrics: Metrics = None,
        target_tensors: Any = None,
        **kwargs: Any,
    ) -> None:
        """Says how it is trained (tf.keras.Model.compile).

        Args:
            optimizer: An optimizer of tf.keras or tf.train, or its name.
            loss: A loss for all outputs, or a list or dictionary of them.
            metrics: What is logged besides: names, functions or objects; "accuracy" is the one that fits.
            loss_weights: What the losses of outputs are multiplied by.
            sample_weight_mode: "temporal" if steps have weights, not examples.
            weighted_metrics: Metrics that take the weights of examples.
            target_tensors: Tensors that stand for the targets.
            **kwargs: distribute and run_eagerly must not be asked for.

        Raises:
            ValueError: Losses, metrics or weights are for other outputs than it has.
        """
        for key, value in kwargs.items():
            if key not in ("distribute", "run_eagerly", "cloning", "experimental_run_tf_function") or (
                value and key in ("distribute", "run_eagerly")
            ):
                raise ValueError(
                    f"compile() takes no {key}={value!r}: models run as graphs, in this process."
                )
        self.optimizer = optimizers.get(optimizer)
        self.loss = loss
        self._compile_arguments = {
            "loss": loss, "metrics": metrics, "loss_weights": loss_weights, "sample_weight_mode": sample_weight_mode,
            "weighted_metrics": weighted_metrics, "target_tensors": target_tensors,
        }  # fmt: skip
        self._compiled = None
        if self.outputs is not None and self.inputs is not None:
            self._compiled = Compiled(self, self.optimizer, **self._compile_arguments)

    @property
    def compiled(self) -> Compiled:
        """What compile has made; RuntimeError before, ValueError before the shape of inputs is known."""
        if self._compile_arguments is None:
            raise RuntimeError(
                f"You must compile your model before training/testing: call {self.name}.compile(optimizer, loss)."
            )
        if self._compiled is None:
            if self.outputs is None:
                raise ValueError(
                    f"The model {self.name!r} has no inputs yet: fit it, or build(input_shape) it, first."
                )
            self._compiled = Compiled(self, self.optimizer, **self._compile_arguments)
        return self._compiled

    @property
    def total_loss(self) -> Any:
        """The loss in all, with regularisation."""
        return self.compiled.total_loss

    @property
    def targets(self) -> list[Any]:
        """The tensors of the targets."""
        return [e.target for e in self.compiled.trained]

    @property
    def metrics_names(self) -> list[str]:
        """The names of what training and testing return."""
        return self._compiled.metrics_names if self._compiled is not None else ["loss"]

    @property
    def metrics(self) -> list[Any]:
        """The metrics it was compiled with, and those added to it."""
        return self._compiled.metrics if self._compiled is not None else []

    def reset_metrics(self) -> None:
        """Sets the state of metrics to its beginning."""
        if self._compiled is not None:
            self._compiled.reset_metrics()

    # ---- the shape of inputs --------------------------------------------------------------------------------------

    def _set_inputs(self, inputs: Any) -> None:
        """Calls a model whose inputs are not known yet on placeholders, or tensors, like the data."""

        def start(name: str, value: Any) -> Any:
            if isinstance(value, Tensor):
                return Input(tensor=value, name=name)
            array = np.asarray(value)
            array = array[:, None] if array.ndim == 1 else array
            kind = state_dtype(array.dtype)
            return Input(batch_shape=(None, *array.shape[1:]), dtype=kind, name=name)

        many = list(inputs) if isinstance(inputs, list | tuple) and not np.isscalar(inputs[0]) else None
        if isinstance(inputs, dict):
            tensors: Any = {key: start(key, value) for key, value in inputs.items()}
        elif many is not None and all(hasattr(v, "shape") for v in many):
            tensors = [start(f"input_{i}", value) for i, value in enumerate(many, 1)]
        else:
            tensors = start("input_1" if not hasattr(self, "_stack") else f"{self.name}_input", inputs)
        self._begin_with(tensors)

    def _begin_with(self, tensors: Any) -> None:
        if hasattr(self, "_start_from"):
            self._start_from(tensors)
            return
        arguments = {"training": state.learning_phase()} if self._takes_training else {}
        outputs = self(tensors, **arguments)
        self.inputs: Any = nest.flatten(tensors)
        self.outputs: Any = nest.flatten(outputs)
        self.input_names: list[str] = [history_of(t).layer.name for t in self.inputs]  # type: ignore[union-attr]
        self.output_names: list[str] = [f"output_{i}" for i, _ in enumerate(self.outputs, 1)]

    def _ensure_inputs(self, x: Any) -> None:
        """Sees the shape of the data, if that is not known yet; a dataset's is that of its elements."""
        if self.inputs is not None and self.outputs is not None:
            return
        if is_dataset(x):
            x = _example(x)
        elif is_stream(x):
            raise ValueError(
                f"The model {self.name!r} has no inputs yet: build(input_shape) it before a generator."
            )
        self._set_inputs(x)

    # ---- training -------------------------------------------------------------------------------------------------

    def fit(
        self,
        x: Arrays = None,
        y: Arrays = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Sequence[Any] | None = None,
        validation_split: float = 0.0,
        validation_data: Arrays = None,
        shuffle: bool | str = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Arrays = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: int | Sequence[int] = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Trains it (tf.keras.Model.fit).

        Args:
            x: Inputs: an array, a list or dictionary of them; or a dataset, generator or Sequence that gives
                (inputs, targets) or (inputs, targets, weights).
            y: Targets, if x is arrays.
            batch_size: Examples of a batch, 32 by default.
            epochs: The number at which training ends.
            verbose: 0 prints nothing, 1 a bar, 2 a line for each epoch.
            callbacks: Objects of tf.keras.callbacks.Callback.
            validation_split: The share of the last examples that are kept for validation.
            validation_data: (inputs, targets) or (inputs, targets, weights), or as x is.
            shuffle: Whether examples are shuffled before each epoch; "batch": by whole batches.
            class_weight: The weight of examples by class.
            sample_weight: The weights of examples.
            initial_epoch: The number at which training begins.
            steps_per_epoch: Batches of an epoch; needed for generators.
            validation_steps: Batches of a validation.
            validation_freq: After how many epochs it is validated, or after which.
            max_queue_size: Batches of a generator that are made ahead.
            workers: Threads that make them.
            use_multiprocessing: Whether processes do.
            **kwargs: nb_epoch, the old name of epochs.

        Returns:
            The History: its attribute `history` has the loss and metrics of each epoch.

        Raises:
            RuntimeError: It is not compiled.
            ValueError: Data does not fit the model; the message names the input or target.
        """
        epochs = kwargs.pop("nb_epoch", epochs)
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        if x is None and self.inputs is None:
            raise ValueError("fit() was given no data.")
        x, y, sample_weight = _target_tensors(x, y, sample_weight)
        self._ensure_inputs(x)
        queue = (workers, use_multiprocessing, max_queue_size)
        given: Any = x
        if not is_stream(x):
            given = feeding.given_of(self, x, y, sample_weight, class_weight)
        validation: Any = None
        if validation_data is not None:
            validation = self._tested(validation_data, batch_size, validation_steps, queue)
        elif validation_split:
            given, kept = given.split(validation_split)
            validation = self._tested(kept, batch_size, validation_steps, queue)
        source = feeding.source_of(
            self, given, y, sample_weight, class_weight, lambda weights: self.compiled.function(True, weights),
            batch_size, shuffle, steps_per_epoch, *queue,
        )  # fmt: skip
        settings = loops.Settings(
            epochs, initial_epoch, verbose, callbacks, batch_size or 32, validation_freq
        )
        tested = None if validation is None else (validation.batches, validation)
        try:
            return loops.train(self, source.batches, source, tested, settings)
        finally:
            for one in (source, validation):
                if one is not None:
                    one.batches.close()

    def _tested(self, data: Any, batch_size: int | None, steps: int | None, queue: Any) -> Any:
        x, y, weight = (
            (data, None, None)
            if is_stream(data) or isinstance(data, feeding.Given)
            else feeding.element_of(tuple(data) if isinstance(data, list) else data)
        )
        return feeding.source_of(
            self, x, y, weight, None, lambda weights: self.compiled.function(False, weights), batch_size, False, steps,
            *queue,
        )  # fmt: skip

    def evaluate(
        self,
        x: Arrays = None,
        y: Arrays = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Arrays = None,
        steps: int | None = None,
        callbacks: Sequence[Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The loss, or a list of the loss and the metrics (tf.keras.Model.evaluate).

        Args:
            x: The inputs: an array, a list or dictionary of them, tensors, a data set, a generator or a Sequence.
            y: The targets, of the same kind; None if `x` gives them too.
            batch_size: How many examples make a batch, 32 by default.
            verbose: 1 to show progress, 0 not to.
            sample_weight: A weight for each example, or for each step of each.
            steps: How many batches are taken; by default all.
            callbacks: Callbacks that are told of each batch.
            max_queue_size: How many batches of a generator or Sequence wait to be taken.
            workers: How many threads make batches of a generator or Sequence.
            use_multiprocessing: Whether processes make batches, rather than threads.

        Returns:
            A float, or a list of floats in the order of `metrics_names`.
        """
        self._ensure_inputs(x)
        source = feeding.source_of(
            self, x, y, sample_weight, None, lambda weights: self.compiled.function(False, weights), batch_size,
            False, steps, workers, use_multiprocessing, max_queue_size,
        )  # fmt: skip
        try:
            found = loops.test(
                self, source.batches, source, loops.Settings(1, 0, verbose, callbacks, batch_size)
            )
        finally:
            source.batches.close()
        return found[0] if len(found) == 1 else found

    def predict(
        self,
        x: Arrays,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Sequence[Any] | None = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The outputs for inputs (tf.keras.Model.predict).

        Args:
            x: The inputs: an array, a list or dictionary of them, tensors, a data set, a generator or a Sequence.
            batch_size: How many examples make a batch, 32 by default.
            verbose: 1 to show progress, 0 not to.
            steps: How many batches are taken; by default all.
            callbacks: Callbacks that are told of each batch.
            max_queue_size: How many batches of a generator or Sequence wait to be taken.
            workers: How many threads make batches of a generator or Sequence.
            use_multiprocessing: Whether processes make batches, rather than threads.

        Returns:
            An array, or a list of one for each output.
        """
        self._ensure_inputs(x)
        source = feeding.predict_source(
            self, x, self._predict_function(), batch_size, steps, workers, use_multiprocessing, max_queue_size
        )
        try:
            found = loops.predict(
                self, source.batches, source, loops.Settings(1, 0, 0, callbacks, batch_size)
            )
        finally:
            source.batches.close()
        return found[0] if len(found) == 1 else found

    def _predict_function(self) -> Any:
        outputs = tuple(map(id, self.outputs))
        if self._predicting is None or self._predicted != outputs:
            self._predicting, self._predicted = predicting(self), outputs
        return self._predicting

    # ---- by batches -----------------------------------------------------------------------------------------------

    def train_on_batch(
        self,
        x: Arrays,
        y: Arrays = None,
        sample_weight: Arrays = None,
        class_weight: dict[int, float] | None = None,
        reset_metrics: bool = True,
    ) -> Any:
        """One step of training (tf.keras.Model.train_on_batch).

        Args:
            x: The inputs: an array, or a list or dictionary of them.
            y: The targets, of the same kind.
            sample_weight: A weight for each example, or for each step of each.
            class_weight: A weight for each class, by its number.
            reset_metrics: Whether the metrics are of this batch alone; otherwise of all since they were last reset.

        Returns:
            The loss, or a list of the loss and the metrics in the order of `metrics_names`.
        """
        return self._on_batch(True, x, y, sample_weight, class_weight, reset_metrics)

    def test_on_batch(
        self, x: Arrays, y: Arrays = None, sample_weight: Arrays = None, reset_metrics: bool = True
    ) -> Any:
        """The loss of a batch, or a list of the loss and the metrics (tf.keras.Model.test_on_batch).

        Args:
            x: The inputs: an array, or a list or dictionary of them.
            y: The targets, of the same kind.
            sample_weight: A weight for each example, or for each step of each.
            reset_metrics: Whether the metrics are of this batch alone; otherwise of all since they were last reset.

        Returns:
            The loss, or a list of the loss and the metrics in the order of `metrics_names`.
        """
        return self._on_batch(False, x, y, sample_weight, None, reset_metrics)

    def _on_batch(self, training: bool, x: Any, y: Any, weight: Any, classes: Any, reset: bool) -> Any:
        self._ensure_inputs(x)
        given = feeding.given_of(self, x, y, weight, classes)
        found = feeding.plain_numbers(self.compiled.function(training, given.with_weights)(given.arrays))
        if reset and len(found) > 1:
            self.reset_metrics()
        return found[0] if len(found) == 1 else found

    def predict_on_batch(self, x: Arrays) -> Any:
        """The outputs for a batch (tf.keras.Model.predict_on_batch).

        Args:
            x: The inputs: an array, or a list or dictionary of them.

        Returns:
            An array, or a list of one for each output.
        """
        self._ensure_inputs(x)
        found = self._predict_function()(feeding.inputs_of(self, x))
        return found[0] if len(found) == 1 else found

    # ---- generators -----------------------------------------------------------------------------------------------

    def fit_generator(self, generator: Arrays, steps_per_epoch: int | None = None, epochs: int = 1, verbose: int = 1,
                      callbacks: Sequence[Any] | None = None, validation_data: Arrays = None,
                      validation_steps: int | None = None, validation_freq: int | Sequence[int] = 1,
                      class_weight: dict[int, float] | None = None, max_queue_size: int = 10, workers: int = 1,
                      use_multiprocessing: bool = False, shuffle: bool = True,
                      initial_epoch: int = 0) -> Any:  # fmt: skip
        """`fit` on a generator or Sequence (tf.keras.Model.fit_generator).

        Args:
            generator: What gives batches (inputs, targets) or (inputs, targets, weights).
            steps_per_epoch: How many batches make an epoch; by default the length of a Sequence.
            epochs: The number of the epoch to stop at.
            verbose: 0 to show nothing, 1 for progress, 2 for a line an epoch.
            callbacks: Callbacks that are told of each batch.
            validation_data: What the model is tested with after an epoch: arrays (x, y), a generator or a Sequence.
            validation_steps: How many batches of it are taken.
            validation_freq: After how many epochs it is tested, or a list of epochs.
            class_weight: A weight for each class, by its number.
            max_queue_size: How many batches of a generator or Sequence wait to be taken.
            workers: How many threads make batches of a generator or Sequence.
            use_multiprocessing: Whether processes make batches, rather than threads.
            shuffle: Whether the batches of a Sequence come in another order each epoch.
            initial_epoch: The number of the epoch to begin with.

        Returns:
            A History.
        """
        return self.fit(
            generator, None, None, epochs, verbose, callbacks, 0.0, validation_data, shuffle, class_weight, None,
            initial_epoch, steps_per_epoch, validation_steps, validation_freq, max_queue_size, workers,
            use_multiprocessing,
        )  # fmt: skip

    def evaluate_generator(self, generator: Arrays, steps: int | None = None, callbacks: Sequence[Any] | None = None,
                           max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False,
                           verbose: int = 0) -> Any:  # fmt: skip
        """`evaluate` on a generator or Sequence (tf.keras.Model.evaluate_generator).

        Args:
            generator: What gives batches (inputs, targets) or (inputs, targets, weights).
            steps: How many batches are taken; by default all.
            callbacks: Callbacks that are told of each batch.
            max_queue_size: How many batches of a generator or Sequence wait to be taken.
            workers: How many threads make batches of a generator or Sequence.
            use_multiprocessing: Whether processes make batches, rather than threads.
            verbose: 1 to show progress, 0 not to.

        Returns:
            A float, or a list of floats in the order of `metrics_names`.
        """
        return self.evaluate(
            generator,
            None,
            None,
            verbose,
            None,
            steps,
            callbacks,
            max_queue_size,
            workers,
            use_multiprocessing,
        )

    def predict_generator(self, generator: Arrays, steps: int | None = None, callbacks: Sequence[Any] | None = None,
                          max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False,
                          verbose: int = 0) -> Any:  # fmt: skip
        """`predict` on a generator or Sequence (tf.keras.Model.predict_generator).

        Args:
            generator: What gives batches of inputs, or (inputs, targets).
            steps: How many batches are taken; by default all.
            callbacks: Callbacks that are told of each batch.
            max_queue_size: How many batches of a generator or Sequence wait to be taken.
            workers: How many threads make batches of a generator or Sequence.
            use_multiprocessing: Whether processes make batches, rather than threads.
            verbose: 1 to show progress, 0 not to.

        Returns:
            An array, or a list of one for each output.
        """
        return self.predict(
            generator, None, verbose, steps, callbacks, max_queue_size, workers, use_multiprocessing
        )

    # ---- files ----------------------------------------------------------------------------------------------------

    def save(
        self,
        filepath: str,
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
        signatures: Any = None,
    ) -> None:
        """Writes layers, weights and the optimizer with its state, for load_model (tf.keras.Model.save).

        Args:
            filepath: The path of the file, or of a SavedModel's folder.
            overwrite: Whether what is there is replaced; otherwise FileExistsError is raised.
            include_optimizer: Whether how it is trained, and the optimizer's state, are written.
            save_format: "h5" for an HDF5 file, or "tf" for a SavedModel; by default, as in TensorFlow 1.15, it is an
                HDF5 file, unless there is a folder of that name.
            signatures: Changes nothing: the graph of a SavedModel gives the model's outputs.
        """
        model_files.save_model(self, filepath, overwrite, include_optimizer, save_format, signatures)

    @property
    def learning_phase_feed(self) -> dict[Any, Any]:
        """The feed with which a run of the program's own trains."""
        return phase_feed(True)


def state_dtype(dtype: Any) -> Any:
    """The dtype of a placeholder for arrays: floats are of the default dtype."""
    kind = np.dtype(dtype).kind
    return settings.floatx() if kind == "f" else "string" if kind in "OSU" else np.dtype(dtype)


def _example(dataset: Any) -> Any:
    """Arrays of the shapes and dtypes of a dataset's inputs."""
    types, shapes = dataset.output_types, dataset.output_shapes
    if isinstance(types, tuple):
        types, shapes = types[0], shapes[0]

    def one(kind: Any, shape: Any) -> Any:
        sizes = [0 if d is None else d for d in shape.as_list()]
        return np.zeros(sizes, kind.as_numpy_dtype)

    return nest.map_structure(one, types, shapes)


def _target_tensors(x: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    if isinstance(x, Dataset) and y is not None:
        raise ValueError("You passed a dataset as x; its elements have the targets: y must be None.")
    return x, y, weight
