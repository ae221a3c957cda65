"""How many operations constructs make, by which the seeds of those that follow are counted.

With a graph's seed alone, an operation that draws gets its place in the graph for a seed of its own. So the weights
of a seeded program are TensorFlow's only if all that is built before them counts as many operations as there. Each
case builds constructs, each in a graph of its own, and lists the seeds of all that draws, and of one drawn at the end.
"""

from harness import Family

FAMILY = Family("seeds")


def seeds(tf, constructs):
    """The seeds in the graph of each construct, a function without arguments."""
    found = []
    for construct in constructs:
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            construct()
            tf.random_shuffle([1.0])
            kinds = ("RandomUniform", "TruncatedNormal", "RandomShuffle", "RandomStandardNormal")
            found.append([op.get_attr("seed2") for op in graph.get_operations() if op.type in kinds])
    return found


def core_cells(tf):
    cells = tf.nn.rnn_cell
    return [
        lambda: cells.BasicRNNCell(4),
        lambda: cells.BasicLSTMCell(4),
        lambda: cells.BasicLSTMCell(4, state_is_tuple=False),
        lambda: cells.LSTMCell(4),
        lambda: cells.LSTMCell(4, state_is_tuple=False),
        lambda: cells.LSTMCell(4, use_peepholes=True, cell_clip=1.0, num_proj=2, proj_clip=1.0),
        lambda: cells.LSTMCell(4, initializer=tf.orthogonal_initializer()),
        lambda: cells.GRUCell(4),
        lambda: cells.GRUCell(4, kernel_initializer=tf.glorot_uniform_initializer()),
        lambda: cells.MultiRNNCell([cells.BasicLSTMCell(4) for _ in range(2)]),
        lambda: cells.MultiRNNCell([cells.GRUCell(4) for _ in range(2)], state_is_tuple=False),
        lambda: cells.DropoutWrapper(cells.BasicLSTMCell(4), 0.5, 0.5, 0.5),
        lambda: cells.DropoutWrapper(cells.GRUCell(4), output_keep_prob=tf.placeholder(tf.float32, [])),
        lambda: cells.DropoutWrapper(
            cells.GRUCell(4), 0.5, 0.5, 0.5, variational_recurrent=True, dtype=tf.float32,
            input_size=tf.TensorShape([3]),
        ),
        lambda: cells.ResidualWrapper(cells.GRUCell(3)),
        lambda: cells.DeviceWrapper(cells.GRUCell(3), "/cpu:0"),
    ]  # fmt: skip


def contrib_cells(tf):
    cells, gru = tf.contrib.rnn, tf.nn.rnn_cell.GRUCell
    return [
        lambda: cells.OutputProjectionWrapper(gru(3), 7),
        lambda: cells.InputProjectionWrapper(gru(3), 7),
        lambda: cells.AttentionCellWrapper(gru(4), 3, state_is_tuple=True),
        lambda: cells.LayerNormBasicLSTMCell(4, dropout_keep_prob=0.5),
        lambda: cells.LSTMBlockCell(4),
        lambda: cells.GRUBlockCell(4),
        lambda: cells.GRUBlockCellV2(4),
        lambda: cells.CoupledInputForgetGateLSTMCell(4),
        lambda: cells.UGRNNCell(4),
        lambda: cells.IntersectionRNNCell(4, num_in_proj=4),
        lambda: cells.NASCell(4),
        lambda: cells.IndRNNCell(4),
        lambda: cells.IndyGRUCell(4),
        lambda: cells.IndyLSTMCell(4),
        lambda: cells.SRUCell(4),
        lambda: cells.HighwayWrapper(gru(3)),
    ]


@FAMILY.case()
def zero_states(tf, t):
    made = []
    for cell in core_cells(tf) + contrib_cells(tf):
        made.append(lambda cell=cell: cell().zero_state(2, tf.float32))
        made.append(lambda cell=cell: cell().zero_state(tf.placeholder(tf.int32, []), tf.float32))
    return seeds(tf, made)


def one_step(tf, make):
    cell = make()
    cell(tf.placeholder(tf.float32, [2, 3]), cell.zero_state(2, tf.float32))


@FAMILY.case()
def single_steps(tf, t):
    return seeds(tf, [lambda c=c: one_step(tf, c) for c in core_cells(tf) + contrib_cells(tf)])


@FAMILY.case()
def cells_in_loops(tf, t):
    def run(make):
        tf.nn.dynamic_rnn(make(), tf.placeholder(tf.float32, [2, 5, 3]), dtype=tf.float32)

    return seeds(tf, [lambda c=c: run(c) for c in core_cells(tf) + contrib_cells(tf)])


@FAMILY.case()
def cells_step_by_step(tf, t):
    def run(make):
        steps = tf.unstack(tf.placeholder(tf.float32, [2, 5, 3]), axis=1)
        tf.nn.static_rnn(make(), steps, dtype=tf.float32)

    return seeds(tf, [lambda c=c: run(c) for c in core_cells(tf) + contrib_cells(tf)])


@FAMILY.case()
def loops_of_unknown_sizes_and_lengths(tf, t):
    found = []
    for shape in ([2, 5, 3], [None, None, 3]):
        for kind in (None, tf.int32, tf.int64):
            for time_major in (False, True):
                for both in (False, True):

                    def run(shape=shape, kind=kind, time_major=time_major, both=both):
                        x = tf.placeholder(tf.float32, shape)
                        lengths = None if kind is None else tf.placeholder(kind, [None])
                        cells = [tf.nn.rnn_cell.BasicLSTMCell(4), tf.nn.rnn_cell.GRUCell(4)]
                        function = tf.nn.bidirectional_dynamic_rnn if both else tf.nn.dynamic_rnn
                        given = cells + [x] if both else [tf.nn.rnn_cell.MultiRNNCell(cells), x]
                        function(*given, sequence_length=lengths, dtype=tf.float32, time_major=time_major)

                    found.append(run)
    return seeds(tf, found)


@FAMILY.case()
def other_runs_of_cells(tf, t):
    gru = tf.nn.rnn_cell.GRUCell

    def initial():
        cell, x = gru(4), tf.placeholder(tf.float32, [None, None, 3])
        tf.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(tf.shape(x)[0], tf.float32))

    def both_ways():
        steps = tf.unstack(tf.placeholder(tf.float32, [2, 5, 3]), axis=1)
        tf.nn.static_bidirectional_rnn(gru(4), gru(4), steps, dtype=tf.float32)

    def unknown():
        steps = tf.unstack(tf.placeholder(tf.float32, [None, 5, 3]), axis=1)
        tf.nn.static_rnn(gru(4), steps, dtype=tf.float32)

    def stacked():
        x = tf.placeholder(tf.float32, [2, 5, 3])
        tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
            [gru(4), gru(4)], [gru(4), gru(4)], x, dtype=tf.float32
        )

    def raw():
        cell = gru(4)
        array = tf.TensorArray(tf.float32, 5).unstack(tf.placeholder(tf.float32, [5, 2, 3]))

        def step(time, output, state, kept):
            finished = time >= tf.constant([5, 3])
            if output is None:
                return finished, array.read(0), cell.zero_state(2, tf.float32), output, None
            following = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([2, 3]), lambda: array.read(time))
            return finished, following, state, output, None

        tf.nn.raw_rnn(cell, step)

    return seeds(tf, [initial, both_ways, unknown, stacked, raw])


def images(tf):
    return [tf.placeholder(tf.float32, [size, 8, 8, 3]) for size in (2, None)]


def of_images(tf, functions):
    """Each function of images, of a known number and of an unknown one."""
    return seeds(tf, [lambda f=f, n=n: f(images(tf)[n]) for f in functions for n in (0, 1)])


@FAMILY.case()
def layers(tf, t):
    make, flatten = tf.layers, tf.layers.flatten
    choose = lambda: tf.placeholder(tf.bool, [])  # noqa: E731
    return of_images(tf, [
        lambda x: make.dense(flatten(x), 4, tf.nn.relu),
        lambda x: make.dense(x, 4, use_bias=False),
        lambda x: make.dense(x, 4),
        lambda x: make.conv2d(x, 4, 3, activation=tf.nn.relu),
        lambda x: make.conv2d(x, 4, 3, dilation_rate=2, padding="same"),
        lambda x: make.conv1d(x[:, 0], 4, 3, activation=tf.nn.relu),
        lambda x: make.conv1d(x[:, 0], 4, 3, dilation_rate=2),
        lambda x: make.conv3d(x[:, None], 4, (1, 3, 3)),
        lambda x: make.conv2d_transpose(x, 4, 3, 2),
        lambda x: make.conv3d_transpose(x[:, None], 4, (1, 3, 3)),
        lambda x: make.separable_conv2d(x, 4, 3),
        lambda x: make.separable_conv1d(x[:, 0], 4, 3),
        lambda x: make.max_pooling2d(x, 2, 2),
        lambda x: make.average_pooling1d(x[:, 0], 2, 2),
        lambda x: make.batch_normalization(x),
        lambda x: make.batch_normalization(x, training=True),
        lambda x: make.batch_normalization(x, training=choose()),
        lambda x: make.batch_normalization(x, training=choose(), fused=False),
        lambda x: make.batch_normalization(flatten(x), training=True),
        lambda x: make.batch_normalization(flatten(x), training=choose()),
        lambda x: make.batch_normalization(x, training=True, scale=False, center=False),
        lambda x: make.dropout(x, 0.5, training=True),
        lambda x: make.dropout(x, 0.5, training=choose()),
    ])  # fmt: skip


@FAMILY.case()
def contrib_layers(tf, t):
    make, norm = tf.contrib.layers, tf.contrib.layers.batch_norm
    flatten, choose = make.flatten, lambda: tf.placeholder(tf.bool, [])
    return of_images(tf, [
        lambda x: make.fully_connected(flatten(x), 4),
        lambda x: make.fully_connected(x, 4),
        lambda x: make.fully_connected(flatten(x), 4, normalizer_fn=norm),
        lambda x: make.fully_connected(flatten(x), 4, normalizer_fn=make.layer_norm),
        lambda x: make.stack(flatten(x), make.fully_connected, [4, 5]),
        lambda x: make.repeat(x, 2, make.conv2d, 4, 3),
        lambda x: make.conv2d(x, 4, 3, rate=2),
        lambda x: make.conv2d(x, 4, 3, normalizer_fn=norm, normalizer_params={"is_training": True}),
        lambda x: make.conv2d(x, 4, 3, normalizer_fn=make.instance_norm),
        lambda x: make.conv2d_transpose(x, 4, 3, 2),
        lambda x: make.separable_conv2d(x, 4, 3, 1),
        lambda x: make.separable_conv2d(x, None, 3, 1),
        lambda x: make.max_pool2d(x, 2),
        lambda x: make.dropout(x),
        lambda x: make.dropout(x, 0.3, is_training=choose()),
        lambda x: norm(x),
        lambda x: norm(x, is_training=False),
        lambda x: norm(x, is_training=choose()),
        lambda x: norm(x, is_training=choose(), fused=False),
        lambda x: norm(x, updates_collections=None),
        lambda x: norm(x, updates_collections=None, scale=True, is_training=choose()),
        lambda x: norm(x, updates_collections=None, fused=False),
        lambda x: norm(x, updates_collections=None, fused=False, is_training=choose()),
        lambda x: norm(flatten(x)),
        lambda x: make.layer_norm(x),
        lambda x: make.unit_norm(x, 1),
        lambda x: make.embed_sequence([[1, 2]], 5, 3),
    ])  # fmt: skip
