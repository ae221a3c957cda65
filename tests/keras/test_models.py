"""Protects what models do besides numbers, which the oracle's cases hold: errors, sessions, phases, callbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.feature_column.layers import concatenate_context_input
from graphflow.keras.backend.convolutions import channels_behind, padding_of_operations
from graphflow.keras.layers.linear_features import LinearModel
from graphflow.keras.preprocessing.sequence import shorter_ones
from graphflow.keras.utils import windows
from graphflow.keras.utils.replicas import replicated

K = gf.keras


@pytest.fixture(autouse=True)
def fresh() -> Any:
    K.backend.clear_session()
    yield
    K.backend.clear_session()


def small(units: int = 1) -> Any:
    model = K.Sequential([K.layers.Dense(units, input_shape=(3,), name="only")], name="small")
    model.compile("sgd", "mse")
    return model


def test_an_input_of_another_shape_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"expected only_input to have shape \(3,\) but got array with shape \(4,\)"
    ):
        small().fit(np.ones((2, 4)), np.ones(2), verbose=0)


def test_a_target_of_another_shape_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"expected only to have shape \(2,\) but got array with shape \(1,\)"
    ):
        small(2).fit(np.ones((2, 3)), np.ones(2), verbose=0)


def test_a_model_that_is_not_compiled_says_so() -> None:
    model = K.Sequential([K.layers.Dense(1, input_shape=(3,))])
    with pytest.raises(RuntimeError, match="compile your model"):
        model.fit(np.ones((2, 3)), np.ones(2))


def test_one_run_trains_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small()
    x, y = np.ones((8, 3)), np.ones(8)
    model.fit(x, y, verbose=0)
    session = K.backend.get_session()
    ran = []
    run = session.run
    monkeypatch.setattr(session, "run", lambda *args, **kwargs: ran.append(1) or run(*args, **kwargs))
    model.fit(x, y, batch_size=2, verbose=0)
    assert len(ran) == 4


def test_dropout_works_in_training_alone() -> None:
    inputs = K.Input((50,))
    model = K.Model(inputs, K.layers.Dropout(0.5)(inputs))
    x = np.ones((2, 50), "f")
    np.testing.assert_array_equal(model.predict(x), x)
    trained = K.backend.function([inputs, K.backend.learning_phase()], [model.output])([x, 1])[0]
    assert (trained == 0).any() and (trained == 2).any()


def test_the_programs_own_session_is_taken() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        K.backend.set_session(session)
        model = small()
        session.run(gf.global_variables_initializer())
        kernel = session.run(model.weights[0])
        np.testing.assert_array_equal(model.get_weights()[0], kernel)


def test_training_ends_at_no_number() -> None:
    model = small()
    x = np.full((4, 3), np.nan)
    history = model.fit(x, np.ones(4), epochs=5, verbose=0, callbacks=[K.callbacks.TerminateOnNaN()])
    assert history.epoch == [0]


def test_a_stateful_layer_goes_on() -> None:
    layer = K.layers.LSTM(2, stateful=True, batch_input_shape=(1, 2, 3))
    model = K.Sequential([layer])
    x = np.ones((1, 2, 3))
    first, second = model.predict(x, batch_size=1), model.predict(x, batch_size=1)
    assert not np.allclose(first, second)
    model.reset_states()
    np.testing.assert_allclose(model.predict(x, batch_size=1), first, atol=1e-6)


def test_a_frozen_layer_is_not_trained() -> None:
    model = K.Sequential([K.layers.Dense(2, input_shape=(3,)), K.layers.Dense(1)])
    model.layers[0].trainable = False
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.train_on_batch(np.ones((2, 3)), np.ones(2))
    after = model.get_weights()
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.array_equal(before[2], after[2])


def test_a_summary_shows_layers(capsys: pytest.CaptureFixture[str]) -> None:
    small().summary()
    printed = capsys.readouterr().out
    assert "only (Dense)" in printed and "(None, 1)" in printed and "Total params: 4" in printed


def test_a_sequence_gives_batches() -> None:
    class Batches(K.utils.Sequence):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            return np.full((2, 3), index, "f"), np.full(2, index, "f")

    model = small()
    history = model.fit_generator(Batches(), epochs=2, verbose=0, workers=2, shuffle=False)
    assert len(history.history["loss"]) == 2
    assert model.predict_generator(Batches(), workers=0).shape == (6, 1)


def test_what_would_be_downloaded_says_where_to_put_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"mnist\.npz is not there, and graphflow downloads nothing"):
        K.datasets.mnist.load_data()


def test_words_are_numbers() -> None:
    tokenizer = K.preprocessing.text.Tokenizer(num_words=4, oov_token="?")
    tokenizer.fit_on_texts(["a b a c", "a b d"])
    numbers = tokenizer.texts_to_sequences(["b a d e"])
    assert numbers == [[3, 2, 1, 1]]
    padded = K.preprocessing.sequence.pad_sequences([[1, 2, 3], [4]], maxlen=2, padding="post")
    assert padded.tolist() == [[2, 3], [4, 0]]


def test_adagrad_by_its_name_begins_with_no_sum_of_squares() -> None:
    assert K.optimizers.get("adagrad").get_config()["initial_accumulator_value"] == 0.0
    assert K.optimizers.Adagrad().get_config()["initial_accumulator_value"] == pytest.approx(0.1)


def test_a_schedule_takes_whole_numbers_as_boundaries() -> None:
    model = K.Sequential([K.layers.Dense(1, input_shape=(3,))])
    model.compile(
        K.optimizers.SGD(K.optimizers.schedules.PiecewiseConstantDecay([1, 2], [0.5, 0.0, 0.0])), "mse"
    )
    x, y = np.ones((4, 3), "f"), np.ones(4, "f")
    model.fit(x, y, epochs=2, verbose=0)
    trained = model.get_weights()
    model.fit(x, y, verbose=0)
    np.testing.assert_array_equal(model.get_weights()[0], trained[0])


def test_the_loss_of_a_dataset_is_the_mean_of_its_batches() -> None:
    model = small()
    model.compile(K.optimizers.SGD(0.0), "mse")
    model.set_weights([np.zeros((3, 1)), np.zeros(1)])
    data = gf.data.Dataset.from_tensor_slices((np.ones((3, 3), "f"), np.array([1.0, 1.0, 3.0], "f"))).batch(2)
    assert model.fit(data, verbose=0).history["loss"] == [5.0]


def test_a_prediction_ends_what_the_metrics_of_an_evaluation_gathered() -> None:
    inputs = K.Input((3,))
    model = K.Model(
        inputs, [K.layers.Dense(1, name=name, kernel_initializer="zeros")(inputs) for name in "ab"]
    )
    model.compile("sgd", "mse")
    x, zeros = np.ones((2, 3), "f"), np.zeros(2, "f")
    model.evaluate(x, [zeros + 4, zeros + 4], verbose=0)
    model.predict(x)
    assert model.test_on_batch(x, [zeros + 1, zeros + 2]) == [5.0, 1.0, 4.0]


@pytest.mark.parametrize("epochs_of_data", [1, 2])
def test_training_ends_where_the_data_does(epochs_of_data: int) -> None:
    data = gf.data.Dataset.from_tensor_slices((np.ones((4, 3), "f"), np.ones(4, "f"))).batch(2)
    ended: list[int] = []
    callback = K.callbacks.LambdaCallback(on_train_end=lambda logs: ended.append(1))
    history = small().fit(
        data.repeat(epochs_of_data), steps_per_epoch=2, epochs=9, verbose=0, callbacks=[callback]
    )
    assert history.epoch == list(range(epochs_of_data)) and ended == [1]


def test_training_ends_where_an_iterator_of_the_program_does() -> None:
    data = gf.data.Dataset.from_tensor_slices((np.ones((4, 3), "f"), np.ones(4, "f"))).batch(2)
    iterator = data.make_initializable_iterator()
    K.backend.get_session().run(iterator.initializer)
    model = small()
    assert model.fit(iterator, epochs=3, verbose=0).epoch == [0]
    with pytest.raises(ValueError, match="there was no batch"):
        model.fit(iterator, epochs=3, verbose=0)


def test_a_batch_is_shared_between_devices() -> None:
    model = small()
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})):
        both = replicated(model, ["/cpu:0", "/cpu:1"], "/cpu:0")
        x = np.random.RandomState(0).rand(7, 3)
        np.testing.assert_allclose(both.predict(x), model.predict(x), atol=1e-6)
        both.compile("sgd", "mse")
        before = model.get_weights()
        both.train_on_batch(x, np.ones(7))
        assert not np.array_equal(before[0], model.get_weights()[0])
    with pytest.raises(ValueError, match=r"needs the devices /gpu:0, /gpu:1, but there are no GPUs"):
        K.utils.multi_gpu_model(model, 2)


def test_a_model_is_an_estimator_of_scikit_learn() -> None:
    def made(units: int = 2) -> Any:
        model = K.Sequential([K.layers.Dense(units, activation="softmax", input_shape=(2,))])
        model.compile(K.optimizers.SGD(1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    x, y = np.eye(2).repeat(8, 0), np.array(["left", "right"]).repeat(8)
    classifier = K.wrappers.scikit_learn.KerasClassifier(made, epochs=9, verbose=0)
    classifier.fit(x, y)
    assert classifier.predict(x[::8]).tolist() == ["left", "right"] and classifier.score(x, y) == 1.0
    assert classifier.predict_proba(x).shape == (16, 2)
    assert classifier.get_params() == {"epochs": 9, "verbose": 0, "build_fn": made}
    with pytest.raises(ValueError, match="unit is not a legal parameter"):
        classifier.set_params(unit=3)
    regressor = K.wrappers.scikit_learn.KerasRegressor(lambda: small(), batch_size=2, verbose=0)
    regressor.fit(np.ones((4, 3)), np.ones(4))
    assert (
        regressor.predict(np.ones((4, 3))).shape == (4,) and regressor.score(np.ones((4, 3)), np.ones(4)) <= 0
    )


def test_batches_are_made_ahead_for_the_program() -> None:
    class Batches(K.utils.Sequence):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return index

    enqueuer = K.utils.OrderedEnqueuer(Batches())
    enqueuer.start(workers=2)
    batches = enqueuer.get()
    assert [next(batches) for _ in range(5)] == [0, 1, 0, 1, 0]
    enqueuer.stop()
    assert not enqueuer.is_running()


def test_a_model_of_sequences_of_columns() -> None:
    column = gf.feature_column
    layer = K.experimental.SequenceFeatures([column.sequence_numeric_column("rain")])
    rain = gf.SparseTensor([[0, 0], [1, 0], [1, 1]], [1.0, 2.0, 3.0], [2, 2])
    values, lengths = layer({"rain": rain})
    found = K.backend.get_session().run([values, lengths])
    assert found[0].tolist() == [[[1.0], [0.0]], [[2.0], [3.0]]] and found[1].tolist() == [1, 2]


def test_a_linear_model_of_columns_is_fit() -> None:
    column = gf.feature_column
    hours = column.numeric_column("hours")
    place = column.categorical_column_with_identity("place", 2)
    model = LinearModel([place, hours], units=2)
    model.compile("sgd", "mse")
    assert model.bias is None
    x = {"hours": np.array([[1.0], [2.0]], "f"), "place": np.array([[1], [0]])}
    first, second = model.fit(x, np.ones((2, 2)), epochs=2, verbose=0).history["loss"]
    assert first == pytest.approx(1.0) and second < first
    names = {v.name: v.shape.as_list() for v in model.weights}
    assert names == {
        "linear_model/hours/weights:0": [1, 2],
        "linear_model/place/weights:0": [2, 2],
        "linear_model/bias_weights:0": [2],
    }
    hours_weights, place_weights, bias = model.get_weights()
    expected = hours_weights * [[1.0], [2.0]] + place_weights[[1, 0]] + bias
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-5)


def test_a_model_of_a_class_compares_with_targets_of_other_shapes() -> None:
    class Sums(K.Model):  # type: ignore[misc]
        def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
            return gf.reduce_sum(inputs, -1, keepdims=True)

    model = Sums()
    model.compile("sgd", "mse")
    assert model.evaluate(np.ones((2, 3)), np.ones((2, 4)), verbose=0) == pytest.approx(4.0)


def test_context_is_put_behind_each_step() -> None:
    steps, context = gf.ones([2, 3, 1]), gf.constant([[2.0, 3.0], [4.0, 5.0]])
    with gf.Session() as session:
        found = session.run(concatenate_context_input(context, steps))
    assert found[0].tolist() == [[1.0, 2.0, 3.0]] * 3 and found[1].tolist() == [[1.0, 4.0, 5.0]] * 3
    with pytest.raises(ValueError, match="context_input must have rank 2"):
        concatenate_context_input(steps, steps)
    with pytest.raises(TypeError, match="sequence_input must have dtype float32"):
        concatenate_context_input(context, gf.ones([2, 3, 1], gf.float64))


def test_variables_of_another_graph_have_their_values() -> None:
    with gf.Graph().as_default():
        elsewhere = K.backend.variable([1.0, 2.0])
        twice = elsewhere * 2.0
    assert K.backend.get_value(elsewhere).tolist() == [1.0, 2.0]
    assert K.backend.function([], [twice])([])[0].tolist() == [2.0, 4.0]


def test_what_programs_take_of_keras_inside() -> None:
    sizes = [
        windows.conv_output_length(7, 3, padding, 2, 1) for padding in ("valid", "same", "causal", "full")
    ]
    assert sizes == [3, 4, 4, 5] and windows.conv_output_length(None, 3, "same", 1) is None
    assert windows.conv_input_length(4, 3, "same", 2) == 7
    lengths = [windows.deconv_output_length(4, 3, padding, None, 2) for padding in ("valid", "same")]
    assert lengths == [9, 8] and windows.deconv_output_length(4, 3, "same", 1, 2) == 8
    assert windows.normalize_tuple(2, 3, "strides") == (2, 2, 2)
    assert (
        windows.normalize_padding("SAME") == "same" and windows.normalize_data_format(None) == "channels_last"
    )
    assert [windows.convert_data_format(f"channels_{end}", 5) for end in ("last", "first")] == [
        "NDHWC",
        "NCDHW",
    ]
    sequences, labels = shorter_ones(3, [[1, 2], [1, 2, 3], []], [4, 5, 6])
    assert sequences == [[1, 2], []] and labels == [4, 6]
    images = np.arange(24.0).reshape(1, 2, 3, 4)
    turned, word = channels_behind(gf.constant(images), "channels_first")
    np.testing.assert_array_equal(K.backend.eval(turned), images.transpose(0, 2, 3, 1))
    assert word == "NHWC" and padding_of_operations("same") == "SAME"


def test_a_layer_says_what_it_gives_without_a_call() -> None:
    """By specs, of its own dtype if it has one, in the structure of its shapes."""
    spec = gf.TensorSpec([None, 4], gf.float16)
    assert gf.keras.layers.Dense(3, dtype="float32").compute_output_signature(spec) == gf.TensorSpec(
        [None, 3]
    )
    assert gf.keras.layers.Flatten().compute_output_signature(spec) == spec

    class Two(gf.keras.layers.Layer):
        def compute_output_shape(self, input_shape: Any) -> Any:
            return [input_shape, (None, 1)]

    assert Two().compute_output_signature(spec) == [spec, gf.TensorSpec([None, 1], gf.float16)]
    with pytest.raises(TypeError, match="TensorSpec"):
        Two().compute_output_signature([4])


def test_a_model_without_weights_is_fit() -> None:
    """Nothing is trained, and the loss is told."""
    model = gf.keras.Sequential([gf.keras.layers.Activation("relu", input_shape=(2,))])
    model.compile("sgd", "mse")
    history = model.fit(np.array([[1.0, -2.0]]), np.array([[1.0, 2.0]]), verbose=0)
    assert history.history["loss"] == [2.0]


LOCAL = {  # As TensorFlow 1.15.5 computes it: the kernel's shape, and the sum of what comes out, plain and by place.
    ("channels_last", 1, "valid"): ([10, 18, 4], 1.4089, -0.5741),
    ("channels_last", 2, "valid"): ([5, 6, 3, 2, 5, 4], -1.3385, 0.2680),
    ("channels_last", 2, "same"): ([5, 6, 3, 3, 6, 4], 8.9992, 1.2061),
    ("channels_last", 3, "valid"): ([720], 4.9257, 0.2382),
    ("channels_last", 3, "same"): ([924], 8.0039, 6.0066),
    ("channels_first", 1, "valid"): ([10, 18, 4], 12.5843, 3.4803),
    ("channels_first", 2, "valid"): ([3, 5, 6, 4, 2, 5], 9.3424, 4.3226),
    ("channels_first", 2, "same"): ([3, 5, 6, 4, 3, 6], -14.1508, -15.4748),
    ("channels_first", 3, "valid"): ([720], 3.4821, 0.7373),
    ("channels_first", 3, "same"): ([924], -0.0866, -0.9460),
}


@pytest.mark.parametrize(("layout", "implementation", "padding"), list(LOCAL))
def test_kernels_of_each_window_are_kept_in_three_ways(
    layout: str, implementation: int, padding: str
) -> None:
    """LocallyConnected2D with implementations 1 to 3."""
    dims = (2, 5, 6, 3) if layout == "channels_last" else (2, 3, 5, 6)
    x = np.random.RandomState(0).rand(*dims).astype(np.float32)
    layer = gf.keras.layers.LocallyConnected2D(
        4, (3, 2), strides=(2, 1), padding=padding, implementation=implementation, data_format=layout
    )
    output = layer(gf.constant(x))
    kernel, total, placed = LOCAL[layout, implementation, padding]
    assert layer.kernel.shape == kernel
    assert output.shape == layer.compute_output_shape(dims)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        layer.kernel.load(np.sin(np.arange(np.prod(kernel))).reshape(kernel).astype(np.float32), session)
        found = session.run(output)
    by_place = (found * np.arange(found.size).reshape(found.shape)).sum() / found.size
    assert (found.sum(), by_place) == pytest.approx((total, placed), abs=2e-3)


def test_kernels_of_each_window_have_their_paddings() -> None:
    """Implementation 1 has none."""
    with pytest.raises(ValueError, match="padding"):
        gf.keras.layers.LocallyConnected1D(1, 2, padding="same")
    with pytest.raises(ValueError, match="implementations"):
        gf.keras.layers.LocallyConnected1D(1, 2, implementation=4)


def test_what_is_put_around_is_a_number_or_numbers() -> None:
    """ValueError for None, as for another number of them."""
    for layer in (
        gf.keras.layers.ZeroPadding1D,
        gf.keras.layers.ZeroPadding2D,
        gf.keras.layers.ZeroPadding3D,
    ):
        with pytest.raises(ValueError, match="padding"):
            layer(padding=None)
    with pytest.raises(ValueError, match="cropping"):
        gf.keras.layers.Cropping1D(cropping=None)


def test_metrics_of_integers_are_those_of_floats() -> None:
    target, told = gf.constant([[0, 1, 0], [1, 1, 1]]), gf.constant([[0, 0, 1], [1, 1, 1]])
    session = K.backend.get_session()
    for metric, expected in (
        (K.metrics.MeanAbsoluteError(), 1 / 3),
        (K.metrics.RootMeanSquaredError(), (1 / 3) ** 0.5),
    ):
        session.run(gf.variables_initializer(metric.weights))
        assert session.run(metric(target, told)) == pytest.approx(expected)
    total = K.metrics.Sum()
    session.run(gf.variables_initializer(total.weights))
    assert session.run(total([[[1.0, 2.0], [3.0, 2.0], [0.5, 4.0]]], sample_weight=[0.5])) == 6.25
    relative = K.metrics.MeanRelativeError([1.0, 2.0])
    again = K.metrics.MeanRelativeError.from_config(relative.get_config())
    assert session.run(again.normalizer).tolist() == [1.0, 2.0]


def test_update_state_gives_the_operation_of_all_that_it_writes() -> None:
    class Largest(K.metrics.Mean):  # type: ignore[misc]
        def update_state(self, values: Any, sample_weight: Any = None) -> None:
            super().update_state(gf.reduce_max(values), sample_weight)

    metric = Largest()
    update = metric.update_state([1.0, 5.0, 3.0])
    assert metric.updates == [update]
    session = K.backend.get_session()
    session.run(gf.variables_initializer(metric.weights))
    session.run(update)
    assert session.run(metric.result()) == 5.0
    assert K.metrics.FalsePositives().accumulator.name.endswith("accumulator:0")


def test_both_directions_give_zeros_for_masked_steps() -> None:
    inputs = K.Input((3, 2))
    both = K.layers.Bidirectional(K.layers.LSTM(2, return_sequences=True))
    model = K.Model(inputs, both(K.layers.Masking()(inputs)))
    found = model.predict(np.array([[[1.0, 1.0], [2.0, 1.0], [0.0, 0.0]]], "f"))
    assert not found[0, 2].any() and found[0, :2].all()


def test_the_layer_that_goes_backwards_may_be_another() -> None:
    class Residual(K.layers.LSTMCell):  # type: ignore[misc]
        def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
            output, new = super().call(inputs, states)
            return output + inputs, new

    inputs = K.Input((3, 2))
    assert K.layers.Bidirectional(K.layers.RNN(Residual(2)))(inputs).shape.as_list() == [None, 4]
    forward = K.layers.GRU(2, name="on")
    layer = K.layers.Bidirectional(forward, backward_layer=K.layers.LSTM(3, go_backwards=True, name="back"))
    assert layer(inputs).shape.as_list() == [None, 5]
    again = K.layers.Bidirectional.from_config(layer.get_config())
    assert (again.forward_layer.name, again.backward_layer.name) == ("forward_on", "backward_back")
    with pytest.raises(ValueError, match="different `go_backwards`"):
        K.layers.Bidirectional(forward, backward_layer=K.layers.GRU(2))
    with pytest.raises(ValueError, match="attribute return_sequences"):
        K.layers.Bidirectional(
            forward, backward_layer=K.layers.GRU(2, go_backwards=True, return_sequences=True)
        )
    with pytest.raises(ValueError, match="with a `Layer` instance"):
        K.layers.Bidirectional("lstm")


def test_masks_of_steps() -> None:
    inputs = K.Input((2, 3))
    words = K.layers.TimeDistributed(K.layers.Embedding(5, 4, mask_zero=True))
    model = K.Model(inputs, K.layers.Lambda(lambda x, mask: gf.cast(mask, gf.int32))(words(inputs)))
    x = np.array([[[1, 0, 2], [0, 0, 0]]])
    assert model.predict(x).tolist() == [[[1, 0, 1], [0, 0, 0]]]
    with pytest.raises(TypeError, match="does not support masking"):
        K.layers.TimeDistributed(K.layers.Flatten())(words(inputs))
    summed = K.layers.TimeDistributed(K.layers.Lambda(lambda x: gf.reduce_sum(x, 1)))
    kept = K.layers.Lambda(lambda x, mask: gf.cast(mask, gf.int32))(summed(words(inputs)))
    assert K.Model(inputs, kept).predict(x).tolist() == [[1, 0]]


def test_the_shape_of_a_function() -> None:
    product = K.layers.Lambda(lambda x: gf.matmul(x[0], x[1]))
    assert product.compute_output_shape([(10, 10), (10, 20)]).as_list() == [10, 20]
    said = K.layers.Lambda(lambda x: x, output_shape=(None, 10))
    assert said.compute_output_shape((5, 10, 20)).as_list() == [5, None, 10]
    again = K.layers.Lambda.from_config(said.get_config())
    assert again.compute_output_shape((5, 10, 20)).as_list() == [5, None, 10]
    nested = K.layers.Lambda(lambda x: (x[1]["a"], {"b": x[0]}))
    found = nested.compute_output_shape(((10, 20), {"a": (10, 5)}))
    assert found[0].as_list() == [10, 5] and found[1]["b"].as_list() == [10, 20]


def test_attention_says_what_it_takes() -> None:
    layer, q, mask = K.layers.Attention(), np.ones((1, 1, 1), "f"), np.array([[True]])
    for inputs, given, match in (
        (q, None, "called on a list"),
        ([q], None, "length 2 or 3"),
        ([q, q], mask, "mask must be a list"),
        ([q, q], [mask], "list of length 2"),
    ):
        with pytest.raises(ValueError, match=match):
            layer(inputs, mask=given)


def test_cells_that_are_no_layers_and_constants() -> None:
    class Scaled(K.layers.Layer):  # type: ignore[misc]
        state_size = units = 2

        def call(self, inputs: Any, states: Any, constants: Any) -> Any:
            new = inputs * constants[0] + states[0]
            return new, [new]

    class Sum:
        state_size = 2

        def call(self, inputs: Any, states: Any) -> Any:
            return inputs + states[0], [inputs + states[0]]

    steps, factor = K.Input((3, 2)), K.Input((1,))
    x, by = np.ones((1, 3, 2), "f"), np.array([[2.0]], "f")
    assert K.Model(steps, K.layers.RNN(Sum())(steps)).predict(x).tolist() == [[3.0, 3.0]]
    layer = K.layers.RNN([Scaled(), Sum()])
    model = K.Model([steps, factor], layer(steps, constants=factor))
    assert model.predict([x, by]).tolist() == [[12.0, 12.0]]
    with K.utils.CustomObjectScope({"Scaled": Scaled}):
        own = K.layers.RNN(Scaled())
        own(steps, constants=factor)
        again = K.layers.RNN.from_config(own.get_config())
    assert K.Model([steps, factor], again([steps, factor])).predict([x, by]).tolist() == [[6.0, 6.0]]


def test_masks_of_layers_of_several_inputs() -> None:
    inputs = [K.Input((2, 1)), K.Input((2, 1))]
    numbers = [K.backend.variable([[1.0, 0.0]]), K.backend.variable([[1.0, 1.0]])]
    assert K.backend.eval(K.layers.Add().compute_mask(inputs, numbers)).tolist() == [[True, False]]
    one = K.layers.Concatenate()
    for given, mask, match in (
        (inputs, numbers[0], "`mask` should be a list"),
        (inputs[0], numbers, "`inputs` should be a list"),
        (inputs, numbers[:1], "same length"),
    ):
        with pytest.raises(ValueError, match=match):
            one.compute_mask(given, mask)
    with pytest.raises(ValueError, match="list of inputs"):
        K.layers.Dot(1).compute_output_shape(1)


def test_losses_that_depend_on_a_variable() -> None:
    x = K.backend.variable(np.ones((2, 3, 2)))
    layer = K.layers.LSTM(5, kernel_regularizer="l1", activity_regularizer="l1")
    layer(x)
    assert len(layer.losses) == 2 and len(layer.get_losses_for(x)) == 1
    assert len(layer.get_losses_for(None)) == 1


def test_a_model_that_computes_its_loss_takes_any_targets() -> None:
    """As programs for the package keras write it, whose Lambda gave such a number an axis."""
    numbers = K.layers.Input((3,))
    wanted = K.layers.Input((1,))
    guess = K.layers.Dense(1, use_bias=False, kernel_initializer="ones")(numbers)
    own = K.layers.Lambda(lambda both: K.backend.sum((both[0] - both[1]) ** 2), output_shape=(1,), name="own")
    model = K.models.Model([numbers, wanted], own([guess, wanted]))
    model.compile("sgd", {"own": lambda y_true, y_pred: y_pred})
    assert model.train_on_batch([np.ones((4, 3)), np.ones((4, 1))], np.zeros(4)) == pytest.approx(16.0)
