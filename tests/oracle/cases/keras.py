"""tf.keras: names of weights, numbers of layers, losses, metrics, optimizers and training, from the same weights.

Weights are set to numbers of the harness, since what an initializer draws depends on how many operations a graph has.
"""

from __future__ import annotations

import numpy as np
from harness import Family

FAMILY = Family("keras")


def _filled(t, model):
    """Sets all weights to small numbers; variances stay positive."""
    values = []
    for v in model.weights:
        shape = tuple(v.shape.as_list())
        values.append(t.pos(*shape) if "variance" in v.name else t.f(*shape) * 0.3)
    for variable, value in zip(model.weights, values):
        t.tf.keras.backend.set_value(variable, value)


def _outputs(t, layers, *data):
    """Names of weights, configuration's keys, and outputs with and without training, of layers behind one another."""
    K = t.tf.keras
    inputs = [K.Input(x.shape[1:], dtype=str(x.dtype)) for x in data]
    out = inputs[0] if len(inputs) == 1 else inputs
    for layer in layers:
        out = layer(out)
    model = K.Model(inputs, out)
    _filled(t, model)
    shapes = [tuple(o.shape.as_list()) for o in model.outputs]
    found = model.predict(list(data) if len(data) > 1 else data[0])
    return [[v.name for v in model.weights], [str(s) for s in shapes], found]


_LAYERS = """
Dense(3)|2,4
Dense(3,activation='tanh',use_bias=False)|2,5,4
Activation('elu')|2,4
Flatten()|2,3,4
Reshape((4,3))|2,2,6
Permute((2,1))|2,3,4
RepeatVector(3)|2,4
Lambda(lambda x:x*2.0)|2,4
Conv1D(3,2,padding='causal',dilation_rate=2)|2,6,4
Conv2D(3,(2,3),strides=2,padding='same',activation='relu')|2,6,5,2
Conv2DTranspose(3,3,strides=2,padding='same')|2,4,5,2
Conv2DTranspose(3,3,padding='same',dilation_rate=2)|2,4,6,2
Conv2DTranspose(3,(3,2),dilation_rate=(2,2),activation='tanh')|2,4,5,2
SeparableConv2D(4,3,dilation_rate=2)|2,6,6,2
DepthwiseConv2D(2,dilation_rate=2)|2,6,6,2
Conv3D(2,2,dilation_rate=2)|1,4,4,5,2
SeparableConv2D(4,3,depth_multiplier=2)|2,6,5,2
SeparableConv1D(4,3)|2,6,2
DepthwiseConv2D(3,depth_multiplier=2,strides=2)|2,7,7,2
Conv3D(2,2)|1,3,4,3,2
MaxPooling1D()|2,6,3
MaxPooling2D((2,3),padding='same')|2,6,5,2
AveragePooling2D()|2,6,5,2
GlobalAveragePooling1D()|2,6,3
GlobalMaxPooling2D()|2,6,5,2
GlobalAveragePooling2D()|2,6,5,2
BatchNormalization()|4,3
BatchNormalization(scale=False)|2,3,4,2
BatchNormalization(axis=1,momentum=0.5)|2,3,4
ZeroPadding2D(((1,0),(2,1)))|1,3,4,2
ZeroPadding1D(2)|1,3,4
UpSampling2D((2,3))|1,3,4,2
UpSampling2D(2,interpolation='bilinear')|1,3,4,2
UpSampling1D(2)|1,3,4
Cropping2D(((1,0),(1,1)))|1,4,5,2
Cropping1D(1)|1,4,5
LeakyReLU()|2,4
PReLU()|2,4
ELU(0.5)|2,4
ThresholdedReLU(0.3)|2,4
Softmax()|2,4
ReLU(1.0,0.1,0.2)|2,4
LayerNormalization()|2,3,4
SimpleRNN(3)|2,4,5
SimpleRNN(3,return_sequences=True,go_backwards=True)|2,4,5
GRU(3)|2,4,5
GRU(3,return_sequences=True,reset_after=True)|2,4,5
LSTM(3)|2,4,5
LSTM(3,return_sequences=True,unroll=True,recurrent_activation='sigmoid')|2,4,5
LSTM(3,implementation=2,use_bias=False)|2,4,5
RNN([K.layers.LSTMCell(3),K.layers.GRUCell(2)],return_sequences=True)|2,4,5
Bidirectional(K.layers.LSTM(3,return_sequences=True))|2,4,5
Bidirectional(K.layers.GRU(3),merge_mode='sum')|2,4,5
TimeDistributed(K.layers.Dense(3))|2,4,5
TimeDistributed(K.layers.Conv2D(2,2))|2,3,4,4,1
Add()|2,3;2,3
Subtract()|2,3;2,3
Multiply()|2,3;2,3;2,3
Average()|2,3;2,3
Maximum()|2,3;2,3
Minimum()|2,3;2,3
Concatenate()|2,3;2,4
Concatenate(axis=1)|2,3,2;2,4,2
Dot(1)|2,3;2,3
Dot((1,2),normalize=True)|2,3,2;2,4,3
Attention()|2,3,4;2,5,4
AdditiveAttention()|2,3,4;2,5,4
Dropout(0.5)|2,4
GaussianNoise(0.5)|2,4
SpatialDropout1D(0.5)|2,4,3
LocallyConnected1D(3,2,strides=2)|2,7,4
LocallyConnected2D(3,(2,3),strides=2,activation='tanh')|2,5,6,2
ConvLSTM2D(3,2,padding='same',return_sequences=True)|2,3,4,5,2
ConvLSTM2D(2,(2,3),strides=2,return_state=True,use_bias=False)|2,3,5,6,2
RNN(K.experimental.PeepholeLSTMCell(3))|2,4,5
""".strip().splitlines()


def _layer_case(text):
    expression, shapes = text.split("|")

    def build(tf, t):
        K = tf.keras
        layer = eval("K.layers." + expression, {"K": K})
        data = [t.f(*map(int, s.split(","))) for s in shapes.split(";")]
        return _outputs(t, [layer], *data)

    build.__name__ = "layer_" + expression
    return build


for _text in _LAYERS:
    FAMILY.case(tolerance=(1e-5, 1e-5))(_layer_case(_text))


@FAMILY.case(tolerance=(1e-5, 1e-5))
def masks_go_through_recurrent_layers(tf, t):
    K = tf.keras
    L = K.layers
    layers = [
        L.Embedding(7, 3, mask_zero=True),
        L.LSTM(4, return_sequences=True),
        L.Bidirectional(L.GRU(2, return_sequences=True)),
        L.GlobalAveragePooling1D(),
    ]
    return _outputs(t, layers, np.array([[1, 2, 0, 0], [3, 0, 4, 5]], np.int32))


@FAMILY.case(tolerance=(1e-5, 1e-5))
def masking_of_values(tf, t):
    K = tf.keras
    data = t.f(2, 4, 3)
    data[0, 2:] = 0.0
    return _outputs(t, [K.layers.Masking(), K.layers.SimpleRNN(2), K.layers.Dense(1)], data)


_LOSSES = """
mse
mae
mape
msle
squared_hinge
hinge
categorical_hinge
logcosh
categorical_crossentropy
binary_crossentropy
kullback_leibler_divergence
poisson
cosine_similarity
cosine_proximity
""".strip().splitlines()


def _loss_case(name):
    def build(tf, t):
        K = tf.keras
        target, predicted = t.unit(4, 3), t.unit(4, 3)
        session = t.session()
        return session.run(getattr(K.losses, name)(tf.constant(target), tf.constant(predicted)))

    build.__name__ = "loss_" + name
    return build


for _name in _LOSSES:
    FAMILY.case(tolerance=(1e-5, 1e-5))(_loss_case(_name))

_LOSS_CLASSES = """
MeanSquaredError()
MeanAbsoluteError(reduction='sum')
BinaryCrossentropy(from_logits=True)
BinaryCrossentropy(label_smoothing=0.2)
CategoricalCrossentropy()
CategoricalCrossentropy(from_logits=True,label_smoothing=0.1)
Huber(0.5)
LogCosh()
KLDivergence()
Poisson(reduction='none')
CosineSimilarity()
Hinge()
""".strip().splitlines()


def _loss_class_case(text):
    def build(tf, t):
        K = tf.keras
        loss = eval("K.losses." + text, {"K": K})
        target, predicted = tf.constant(t.unit(4, 3)), tf.constant(t.unit(4, 3))
        weights = tf.constant(t.pos(4))
        return t.session().run([loss(target, predicted), loss(target, predicted, sample_weight=weights)])

    build.__name__ = "loss_class_" + text
    return build


for _name in _LOSS_CLASSES:
    FAMILY.case(tolerance=(1e-5, 1e-5))(_loss_class_case(_name))

_METRICS = """
Accuracy()|classes
BinaryAccuracy(threshold=0.4)|units
CategoricalAccuracy()|units
SparseCategoricalAccuracy()|sparse
TopKCategoricalAccuracy(k=2)|units
Mean()|values
Sum()|values
MeanSquaredError()|units
RootMeanSquaredError()|units
MeanAbsoluteError()|units
CosineSimilarity()|units
KLDivergence()|units
Precision()|binary
Recall(thresholds=[0.3,0.6])|binary
TruePositives()|binary
FalseNegatives(thresholds=0.7)|binary
AUC(num_thresholds=20)|binary
AUC(num_thresholds=10,curve='PR')|binary
MeanIoU(num_classes=3)|classes
SensitivityAtSpecificity(0.6,num_thresholds=7)|binary
SpecificityAtSensitivity(0.4)|binary
""".strip().splitlines()


def _metric_case(text):
    expression, kind = text.split("|")

    def build(tf, t):
        K = tf.keras
        metric = eval("K.metrics." + expression, {"K": K})
        batches = []
        for _ in range(2):
            if kind == "units":
                batches.append((t.unit(4, 3), t.unit(4, 3)))
            elif kind == "binary":
                batches.append((t.b(6).astype(np.float32), t.unit(6)))
            elif kind == "sparse":
                batches.append((t.n(3, 4, 1), t.unit(4, 3)))
            elif kind == "classes":
                batches.append((t.n(3, 5), t.n(3, 5)))
            else:
                batches.append((t.f(5),))
        found = []
        feeds = [tf.placeholder(a.dtype, a.shape) for a in batches[0]]
        update = metric(*feeds)
        for arrays in batches:
            session = K.backend.get_session()
            found.append(session.run(update, dict(zip(feeds, arrays))))
        metric.reset_states()
        found.append(session.run(update, dict(zip(feeds, batches[1]))))
        return [metric.name, found]

    build.__name__ = "metric_" + expression
    return build


for _text in _METRICS:
    FAMILY.case(tolerance=(1e-5, 1e-5))(_metric_case(_text))

_OPTIMIZERS = """
SGD()
SGD(0.1,momentum=0.9)
SGD(0.1,momentum=0.9,nesterov=True,decay=0.1)
SGD(lr=0.1,clipnorm=0.3)
SGD(0.1,clipvalue=0.1)
RMSprop(0.01)
RMSprop(0.01,momentum=0.5)
RMSprop(0.01,centered=True)
Adam(0.01)
Adam(0.01,amsgrad=True,decay=0.01)
Adagrad(0.1)
Adadelta(1.0)
Adamax(0.01)
Nadam(0.01)
Ftrl(0.1,l1_regularization_strength=0.01)
SGD(K.optimizers.schedules.ExponentialDecay(0.1,2,0.5))
SGD(K.experimental.CosineDecay(0.1,3,alpha=0.1))
SGD(K.experimental.CosineDecayRestarts(0.1,2))
SGD(K.experimental.LinearCosineDecay(0.1,3))
""".strip().splitlines()


def _optimizer_case(text):
    def build(tf, t):
        K = tf.keras
        layers = [K.layers.Embedding(5, 3, input_length=2), K.layers.Flatten(), K.layers.Dense(2)]
        model = K.Sequential(layers)
        optimizer = eval("K.optimizers." + text, {"K": K})
        model.compile(optimizer, "mse")
        _filled(t, model)
        x, y = np.array([[0, 1], [3, 1], [4, 0]]), t.f(3, 2)
        losses = [float(model.train_on_batch(x, y)) for _ in range(4)]
        names = [v.name for v in optimizer.weights]
        return [losses, model.get_weights(), names]

    build.__name__ = "optimizer_" + text
    return build


for _text in _OPTIMIZERS:
    FAMILY.case(tolerance=(2e-5, 2e-5))(_optimizer_case(_text))


def _history(history):
    return {key: [float(v) for v in values] for key, values in sorted(history.history.items())}


@FAMILY.case(tolerance=(2e-5, 2e-5))
def fit_with_validation(tf, t):
    K = tf.keras
    model = K.Sequential(
        [
            K.layers.Dense(
                4, activation="relu", input_shape=(3,), kernel_regularizer=K.regularizers.l2(0.01)
            ),
            K.layers.BatchNormalization(momentum=0.8),
            K.layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy", "mae"])
    _filled(t, model)
    x, y = t.f(10, 3), K.utils.to_categorical(t.n(3, 10), 3)
    history = model.fit(x, y, batch_size=4, epochs=3, validation_split=0.2, shuffle=False, verbose=0)
    return [
        _history(history),
        model.metrics_names,
        [float(v) for v in model.evaluate(x, y, verbose=0)],
        model.predict(x),
    ]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def fit_with_class_and_sample_weights(tf, t):
    K = tf.keras
    model = K.Sequential([K.layers.Dense(3, activation="softmax", input_shape=(3,))])
    model.compile(
        "sgd", "sparse_categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["accuracy"]
    )
    _filled(t, model)
    x, y, w = t.f(9, 3), t.n(3, 9), t.pos(9)
    first = model.fit(
        x, y, batch_size=4, class_weight={0: 1.0, 1: 2.0, 2: 0.5}, shuffle=False, verbose=0, epochs=2
    )
    second = model.fit(x, y, batch_size=4, sample_weight=w, shuffle=False, verbose=0)
    return [
        _history(first),
        _history(second),
        [float(v) for v in model.evaluate(x, y, sample_weight=w, verbose=0)],
    ]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def fit_several_inputs_and_outputs(tf, t):
    K = tf.keras
    a, b = K.Input((3,), name="a"), K.Input((2,), name="b")
    both = K.layers.concatenate([K.layers.Dense(3)(a), b])
    model = K.Model([a, b], [K.layers.Dense(1, name="first")(both), K.layers.Dense(2, name="second")(both)])
    model.compile(
        "sgd",
        {"first": "mse", "second": "mae"},
        loss_weights={"first": 0.3, "second": 2.0},
        metrics={"first": ["mae"]},
    )
    _filled(t, model)
    x, y = {"a": t.f(6, 3), "b": t.f(6, 2)}, {"first": t.f(6, 1), "second": t.f(6, 2)}
    history = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    return [
        _history(history),
        model.metrics_names,
        model.predict([x["a"], x["b"]]),
        [v.name for v in model.weights],
    ]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def fit_a_class_of_its_own(tf, t):
    K = tf.keras

    class Own(K.Model):
        def __init__(self):
            super(Own, self).__init__()
            self.first = K.layers.Dense(3, activation="relu")
            self.norm = K.layers.BatchNormalization()
            self.last = [K.layers.Dense(2), K.layers.Dense(1)]

        def call(self, inputs, training=None):
            out = self.norm(self.first(inputs), training=training)
            for layer in self.last:
                out = layer(out)
            return out

    model = Own()
    model.compile(K.optimizers.SGD(0.01), "mse")
    x, y = t.f(8, 3), t.f(8, 1)
    model.train_on_batch(x, y)
    _filled(t, model)
    history = model.fit(x, y, epochs=2, batch_size=4, shuffle=False, verbose=0)
    return [_history(history), model.predict(x), sorted(v.name for v in model.weights)]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def sequential_without_input_shape(tf, t):
    K = tf.keras
    model = K.Sequential([K.layers.Dense(3, activation="tanh"), K.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mse"])
    x, y = t.f(8, 3), t.f(8)
    model.fit(x, y, verbose=0)
    _filled(t, model)
    return [
        _history(model.fit(x, y, epochs=2, batch_size=3, shuffle=False, verbose=0)),
        [v.name for v in model.weights],
    ]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def shared_layers_and_operations_between(tf, t):
    K = tf.keras
    a = K.Input((3,))
    shared = K.layers.Dense(3, name="shared")
    out = tf.nn.relu(shared(a)) + tf.square(shared(shared(a))) * 0.5
    model = K.Model(a, K.layers.Dense(1)(out))
    _filled(t, model)
    model.compile(tf.train.AdamOptimizer(0.01), "mse")
    x, y = t.f(5, 3), t.f(5, 1)
    losses = [float(model.train_on_batch(x, y)) for _ in range(3)]
    b = K.Input((3,))
    again = K.Model(b, model(b))
    return [losses, again.predict(x), len(model.weights)]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def fit_on_a_dataset_and_a_generator(tf, t):
    K = tf.keras
    model = K.Sequential([K.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=["mae"])
    _filled(t, model)
    x, y = t.f(8, 3), t.f(8, 1)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(4).repeat()
    first = model.fit(dataset, epochs=2, steps_per_epoch=2, verbose=0)

    def batches():
        while True:
            for i in range(0, 8, 2):
                yield x[i : i + 2], y[i : i + 2]

    second = model.fit_generator(batches(), steps_per_epoch=4, epochs=1, verbose=0, workers=1)
    tested = model.evaluate(dataset, steps=2, verbose=0)
    return [_history(first), _history(second), [float(v) for v in tested], model.predict(dataset, steps=2)]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def callbacks_that_change_training(tf, t):
    K = tf.keras
    model = K.Sequential([K.layers.Dense(1, input_shape=(3,))])
    model.compile(K.optimizers.SGD(0.5), "mse")
    _filled(t, model)
    x, y = t.f(8, 3), t.f(8, 1)
    callbacks = [
        K.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)),
        K.callbacks.EarlyStopping("loss", min_delta=0.05, patience=1),
    ]
    first = model.fit(x, y, epochs=9, shuffle=False, verbose=0, callbacks=callbacks)
    reduce = K.callbacks.ReduceLROnPlateau("loss", 0.5, patience=1, min_delta=10.0)
    second = model.fit(x, y, epochs=5, shuffle=False, verbose=0, callbacks=[reduce])
    return [_history(first), _history(second)]


@FAMILY.case(tolerance=(2e-5, 2e-5))
def configurations(tf, t):
    K = tf.keras
    model = K.Sequential(
        [
            K.layers.Conv2D(2, 3, activation="relu", input_shape=(6, 6, 1), kernel_regularizer="l2"),
            K.layers.MaxPooling2D(),
            K.layers.Flatten(),
            K.layers.Dropout(0.5),
            K.layers.Dense(2, kernel_constraint="max_norm", kernel_initializer="he_normal"),
        ]
    )
    return [
        repr([sorted(layer.get_config()) for layer in model.layers]),
        repr(model.layers[0].get_config()["kernel_size"]),
    ]


FAMILY.errors(
    """
    tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,))]).fit(f(2, 4), f(2, 3))
    tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,))]).predict(f(2, 5))
    tf.keras.Sequential([tf.keras.layers.Dense(3, nonsense=4)])
    tf.keras.Sequential().add(3)
    tf.keras.layers.LayerNormalization(axis={"axis": -1})
    tf.keras.layers.LayerNormalization(axis=3).build((2, 2, 2))
    tf.keras.layers.LayerNormalization(axis=[-1, -1]).build((2, 2, 2))
    tf.keras.layers.LayerNormalization(axis=[-1, 2]).build((2, 2, 2))
    tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(5))(tf.keras.Input((10,)))
    tf.keras.layers.Dense(3)(tf.keras.Input((None,)))
    tf.keras.layers.Concatenate()([tf.keras.Input((2, 3)), tf.keras.Input((3, 4))])
    tf.keras.layers.Dense(3, activation="nonsense")
    tf.keras.losses.get("nonsense")
    tf.keras.optimizers.get("nonsense")
    tf.keras.Input()
    tf.keras.Model(tf.keras.Input((3,)), tf.keras.layers.Dense(2)(tf.keras.Input((3,))))
    tf.keras.layers.Reshape((5,))(tf.keras.Input((4,)))
    """
)
