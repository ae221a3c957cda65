"""tf.keras: what models print, how they train where data ends early, layers with states, columns as features."""

from __future__ import annotations

import numpy as np
from harness import Family

FAMILY = Family("keras_models")


def _filled(t, model):
    """Sets all weights to small numbers."""
    for variable in model.weights:
        t.tf.keras.backend.set_value(variable, t.f(*variable.shape.as_list()) * 0.3)


def _summary(model, **arguments):
    lines = []
    model.summary(print_fn=lines.append, **arguments)
    return lines


@FAMILY.case()
def summary_of_a_chain(tf, t):
    L = tf.keras.layers
    model = tf.keras.Sequential(
        [
            L.Conv2D(2, 3, input_shape=(6, 6, 1), name="a_name_that_is_much_too_long_for_it"),
            L.BatchNormalization(),
            L.Flatten(),
            L.Dense(3),
        ],
        name="chain",
    )
    return [_summary(model), _summary(model, line_length=90), _summary(model, positions=[0.3, 0.7, 1.0])]


@FAMILY.case()
def summary_of_a_graph(tf, t):
    L = tf.keras.layers
    a, b = tf.keras.Input((3,), name="first"), tf.keras.Input((None, 2), name="second")
    shared = L.Dense(2, name="shared")
    c = L.Concatenate(name="both")([shared(a), L.GlobalAveragePooling1D(name="mean")(b)])
    inner = tf.keras.Model(a, shared(L.Dense(3, name="before")(a)), name="inner")
    model = tf.keras.Model([a, b], [L.Dense(1, name="one")(c), inner(a)], name="graph")
    twice = tf.keras.Model(a, L.Dense(3, name="again")(shared(a)), name="chain_of_inputs")
    return [_summary(model), _summary(twice), _summary(inner)]


@FAMILY.case()
def summary_of_frozen_layers(tf, t):
    L = tf.keras.layers
    model = tf.keras.Sequential([L.Dense(4, input_shape=(3,)), L.Dense(2)], name="frozen")
    model.layers[0].trainable = False
    before = _summary(model)
    model.compile("sgd", "mse")
    compiled = _summary(model)
    model.layers[0].trainable = True
    return [before, compiled, _summary(model)]


@FAMILY.case()
def shapes_of_inputs_are_lists(tf, t):
    a = tf.keras.Input((3,), name="a")
    model = tf.keras.Model(a, tf.keras.layers.Dense(2, name="b")(a))
    return [[repr(layer.input_shape), repr(layer.output_shape)] for layer in model.layers]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def stateful_layers_in_both_directions(tf, t):
    K = tf.keras
    layer = K.layers.Bidirectional(
        K.layers.LSTM(2, stateful=True, return_sequences=True), batch_input_shape=(2, 3, 2)
    )
    model = K.Sequential([layer, K.layers.Dense(1)])
    _filled(t, model)
    x = t.f(2, 3, 2)
    found = [model.predict(x, batch_size=2) for _ in range(2)]
    model.reset_states()
    model.compile("sgd", "mse")
    history = model.fit(x, t.f(2, 3, 1), batch_size=2, epochs=3, verbose=0, shuffle=False)
    return [
        found,
        model.stateful,
        len(layer.updates),
        len(model.state_updates),
        [float(v) for v in history.history["loss"]],
        model.predict(x, batch_size=2),
        [v.name for v in model.weights],
    ]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def stateful_layers_of_tensors(tf, t):
    K = tf.keras
    inputs = K.Input(batch_shape=(1, 2, 3))
    layer = K.layers.Bidirectional(K.layers.GRU(2, stateful=True, return_state=True), merge_mode="ave")
    model = K.Model(inputs, layer(inputs))
    _filled(t, model)
    x = t.f(1, 2, 3)
    found = [model.predict(x) for _ in range(2)]
    layer.reset_states()
    return [*found, model.predict(x)]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def data_that_ends_within_an_epoch(tf, t):
    K = tf.keras
    model = K.Sequential([K.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=["mae"])
    _filled(t, model)
    data = tf.data.Dataset.from_tensor_slices((t.f(8, 3), t.f(8, 1))).batch(2)
    ended = []
    callback = K.callbacks.LambdaCallback(on_train_end=lambda logs: ended.append(1))
    history = model.fit(data, steps_per_epoch=3, epochs=5, verbose=0, callbacks=[callback])
    return [history.epoch, float(history.history["loss"][0]), ended, model.stop_training, model.get_weights()]


@FAMILY.case(tolerance=(1e-6, 1e-6))
def values_of_variables_without_a_run_of_initializers(tf, t):
    B = tf.keras.backend
    dense = tf.layers.dense(tf.constant(t.f(2, 3)), 2, kernel_initializer=tf.ones_initializer())
    scale = B.variable(3.0)
    added = B.update_add(scale, 1.0)
    found = [B.eval(dense), float(B.get_value(scale)), float(B.eval(added))]
    return [*found, B.get_session().run(dense)]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def feature_columns_in_a_model(tf, t):
    K, C = tf.keras, tf.feature_column
    columns = [
        C.numeric_column("age"),
        C.embedding_column(C.categorical_column_with_identity("kind", 3), 2),
        C.indicator_column(C.categorical_column_with_identity("place", 2)),
    ]
    inputs = {
        "age": K.Input((1,), name="age"),
        "kind": K.Input((1,), name="kind", dtype="int32"),
        "place": K.Input((1,), name="place", dtype="int32"),
    }
    layer = K.layers.DenseFeatures(columns)
    model = K.Model(inputs, K.layers.Dense(1)(layer(inputs)))
    model.compile("sgd", "mse")
    _filled(t, model)
    x = {"age": t.f(4, 1), "kind": np.array([[0], [2], [1], [2]]), "place": np.array([[1], [0], [0], [1]])}
    y = t.f(4, 1)
    losses = [float(model.train_on_batch(x, y)) for _ in range(3)]
    return [losses, [v.name for v in layer.weights], model.predict(x), model.get_weights()]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def feature_columns_of_a_dataset(tf, t):
    K, C = tf.keras, tf.feature_column
    columns = [C.numeric_column("a"), C.bucketized_column(C.numeric_column("b"), [0.0, 1.0])]
    model = K.Sequential([K.layers.DenseFeatures(columns), K.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices(({"a": t.f(6), "b": t.f(6)}, t.f(6))).batch(3).repeat()
    history = model.fit(data, steps_per_epoch=2, epochs=2, verbose=0)
    return [[float(v) for v in history.history["loss"]], [v.name for v in model.weights]]


FAMILY.errors(
    """
    tf.keras.layers.LocallyConnected1D(2, 2, padding="same")
    tf.keras.layers.LocallyConnected2D(2, 2)(tf.keras.Input((None, 4, 2)))
    tf.keras.layers.ConvLSTM2D(2, 2, unroll=True)
    tf.keras.layers.ConvLSTM2D(2, 2)(tf.keras.Input((3, 4)))
    tf.keras.metrics.SensitivityAtSpecificity(1.5)
    tf.keras.layers.TimeDistributed(tf.keras.layers.Flatten())(tf.keras.layers.Masking()(tf.keras.Input((2, 3, 4))))
    tf.keras.layers.Bidirectional(tf.keras.layers.GRU(2), backward_layer=tf.keras.layers.GRU(2))
    tf.keras.layers.Attention()([tf.ones((1, 1, 1))])
    tf.estimator.inputs.numpy_input_fn([1, 2], shuffle=False)()
    tf.estimator.EvalSpec(lambda: 1, name=3)
    tf.keras.utils.multi_gpu_model(tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))]), 2)
    """
)


@FAMILY.case()
def masked_steps_in_both_directions(tf, t):
    L = tf.keras.layers
    inputs = tf.keras.Input((4, 2))
    found = [
        L.Bidirectional(L.LSTM(2, return_sequences=True), merge_mode=mode)(L.Masking()(inputs))
        for mode in ("concat", "sum")
    ]
    backward = L.GRU(3, go_backwards=True, name="back")
    found.append(L.Bidirectional(L.GRU(2, name="on"), backward_layer=backward)(L.Masking()(inputs)))
    model = tf.keras.Model(inputs, found)
    _filled(t, model)
    x = t.f(2, 4, 2)
    x[0, 2:] = 0
    x[1, 0] = 0
    return [list(model.predict(x)), [w.name for w in model.weights]]


@FAMILY.case()
def masks_of_steps(tf, t):
    L = tf.keras.layers
    inputs = tf.keras.Input((2, 3))
    words = L.TimeDistributed(L.Embedding(5, 4, mask_zero=True))(inputs)
    flat = L.TimeDistributed(L.Lambda(lambda x: tf.reduce_sum(x, 1)))(words)
    shown = [L.Lambda(lambda x, mask: tf.cast(mask, tf.int32))(each) for each in (words, flat)]
    model = tf.keras.Model(inputs, shown)
    return list(model.predict(np.array([[[1, 0, 2], [0, 0, 0]], [[0, 3, 0], [4, 4, 4]]])))


@FAMILY.case()
def shapes_of_functions(tf, t):
    L = tf.keras.layers
    product = L.Lambda(lambda x: tf.matmul(x[0], x[1]))
    said = L.Lambda(lambda x: x, output_shape=(None, 10))
    return [
        tf.TensorShape(product.compute_output_shape([(10, 10), (10, 20)])).as_list(),
        said.compute_output_shape((5, 10, 20)).as_list(),
    ]


@FAMILY.case()
def metrics_of_integers(tf, t):
    M = tf.keras.metrics
    target, told = tf.constant([[0, 1, 0], [1, 1, 1]]), tf.constant([[0, 0, 1], [1, 1, 1]])
    weights = tf.constant([1.0, 0.5])
    made = [M.MeanAbsoluteError(), M.MeanSquaredError(), M.RootMeanSquaredError(), M.LogCoshError()]
    found = [metric(target, told, sample_weight=weights) for metric in made]
    total = M.Sum()
    found.append(total([[[1.0, 2.0], [3.0, 2.0], [0.5, 4.0]]], sample_weight=[0.5]))
    t.run(tf.variables_initializer([v for metric in [*made, total] for v in metric.variables]))
    return [t.run(each) for each in found]
