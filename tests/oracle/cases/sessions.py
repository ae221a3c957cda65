"""Session: fetch structures, feeds and their errors, callables, default sessions, closing."""

from harness import Family

FAMILY = Family("sessions")


@FAMILY.case()
def fetch_structures(tf, t):
    import collections

    pair = collections.namedtuple("pair", ["a", "b"])
    x, y = tf.constant(1.0), tf.constant([2, 3])
    found = [t.run(x), t.run([x]), t.run((x, [y])), t.run({"k": x, "l": [y, {"m": x}]}), t.run([]), t.run({})]
    named = t.run(pair(x, y))
    ordered = t.run(collections.OrderedDict([("z", x), ("a", y)]))
    types = [type(v).__name__ for v in (found[0], found[1], found[2], found[3], named, ordered)]
    return found, [named.a, named.b], list(ordered), types, t.run([x, x, y])


@FAMILY.case()
def fetching_by_name_and_op(tf, t):
    x = tf.constant(1.0, name="x")
    v = tf.Variable(5.0, name="v")
    t.initialize()
    return t.run("x:0"), t.run("v:0"), t.run(x.op), t.run(["x:0", v, "v/Assign"]), t.run(v.initializer)


@FAMILY.case()
def what_is_fetched_has_types(tf, t):
    values = t.run([tf.constant(1.5), tf.constant([1]), tf.constant("a"), tf.constant(["a"])])
    return [type(v).__name__ for v in values], [str(np_type(v)) for v in values]


def np_type(value):
    return getattr(value, "dtype", type(value).__name__)


@FAMILY.case()
def fetching_sparse_things(tf, t):
    sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([1]), tf.constant([3, 1]))
    a, b = t.run([sparse, slices])
    return list(a), [b.values, b.indices, b.dense_shape], type(a).__name__, type(b).__name__


@FAMILY.case()
def feeding(tf, t):
    import numpy as np

    x = tf.placeholder(tf.float32, [None, 2])
    y = x * 2.0
    u, s = tf.placeholder(tf.int32), tf.placeholder(tf.string, [None])
    return [
        t.run(y, {x: [[1, 2]]}),
        t.run(y, {x: np.array([[1.0, 2.0]])}),
        t.run(y, {x: np.arange(4, dtype=np.int64).reshape(2, 2)}),
        t.run(y, {x: np.arange(8.0).reshape(2, 4)[:, ::2]}),
        t.run(y, {x: np.arange(4.0).reshape(2, 2).T}),
        t.run(y, {x: np.arange(2.0).astype(">f4").reshape(1, 2)}),
        t.run(y, {x: np.zeros([0, 2])}),
        t.run(y, {y: [[7.0, 8.0]]}),
        t.run(y, {x.name: [[1.0, 2.0]]}),
        t.run(u + 1, {u: 3}),
        t.run(u + 1, {u: [[1], [2]]}),
        t.run(u + 1, {u: True}),
        t.run(s, {s: ["a", "b"]}),
        t.run(s, {s: np.array(["a", "bc"])}),
        t.run(s, {s: [b"a"]}),
        t.run(x, {x: np.ones([1, 2], np.float32)}),
    ]


@FAMILY.case()
def feeding_wrongly(tf, t):
    import numpy as np

    x, u = tf.placeholder(tf.float32, [None, 2], name="x"), tf.placeholder(tf.int32, [], name="u")
    y, z = x * 2.0, u + 1
    with tf.Graph().as_default():
        foreign = tf.placeholder(tf.float32)
    return [
        t.error(lambda: t.run(y)),
        t.error(lambda: t.run(y, {x: [1.0, 2.0, 3.0]})),
        t.error(lambda: t.run(y, {x: [[1.0, 2.0, 3.0]]})),
        t.error(lambda: t.run(y, {x: "text"})),
        t.error(lambda: t.run(y, {x: None})),
        t.error(lambda: t.run(y, {x: [[1.0], [1.0, 2.0]]})),
        t.error(lambda: t.run(y, {x: tf.constant([[1.0, 2.0]])})),
        t.error(lambda: t.run(y, {3: [[1.0, 2.0]]})),
        t.error(lambda: t.run(y, {foreign: 1.0, x: [[1.0, 2.0]]})),
        t.error(lambda: t.run(y, {"missing:0": 1.0})),
        t.error(lambda: t.run(z, {u: [1]})),
        t.error(lambda: t.run(z, {u: 2**40})),
        t.error(lambda: t.run(y, {x: np.array([[object(), 1]])})),
        t.error(lambda: t.session().run(y, [1])),
    ]


@FAMILY.case()
def fetching_wrongly(tf, t):
    tf.constant(1.0, name="here")
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    return [
        t.error(lambda: t.run(foreign)),
        t.error(lambda: t.run(None)),
        t.error(lambda: t.run(3)),
        t.error(lambda: t.run("missing:0")),
        t.error(lambda: t.run("missing")),
        t.error(lambda: t.run([tf.constant(1), None])),
        t.error(lambda: t.run({"a": object()})),
    ]


@FAMILY.case()
def closed_sessions(tf, t):
    x = tf.constant(1.0)
    session = tf.Session()
    session.run(x)
    session.close()
    session.close()
    with tf.Session() as other:
        inside = other.run(x)
    return inside, t.error(lambda: session.run(x)), t.error(lambda: other.run(x))


@FAMILY.case()
def default_sessions(tf, t):
    x = tf.constant(3.0)
    found = [tf.get_default_session(), t.error(x.eval)]
    with tf.Session() as session:
        found += [tf.get_default_session() is session, x.eval(), session.graph is x.graph]
        with tf.Session().as_default() as inner:
            found.append(tf.get_default_session() is inner)
        found.append(tf.get_default_session() is session)
    kept = tf.Session()
    with kept.as_default():
        found.append(x.eval())
    found.append(kept.run(x))
    kept.close()
    return found + [tf.get_default_session()]


@FAMILY.case()
def interactive_session(tf, t):
    session = tf.InteractiveSession()
    x = tf.constant(3.0)
    value = x.eval()
    session.close()
    return value, tf.get_default_session()


@FAMILY.case()
def callables(tf, t):
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [])
    total = tf.reduce_sum(x) * y
    session = t.session()
    one = session.make_callable(total, [x, y])
    two = session.make_callable([total, x], feed_list=[x, y])
    op = session.make_callable(tf.no_op())
    failures = [t.error(lambda: one([1.0], 2.0))]
    return one([1.0, 2.0], 3.0), two([1.0, 2.0], 3.0), op(), failures


@FAMILY.case()
def empty_graph_session(tf, t):
    with tf.Graph().as_default(), tf.Session() as session:
        return t.error(lambda: session.run(tf.no_op()))


@FAMILY.case()
def session_with_graph_argument(tf, t):
    g = tf.Graph()
    with g.as_default():
        x = tf.constant(2.0)
    with tf.Session(graph=g) as session:
        y = x + 1.0 if tf.get_default_graph() is g else None
        return session.run(x), y is not None, session.graph is g


@FAMILY.case()
def ops_added_between_runs(tf, t):
    x = t.ph(2.0)
    y = x * 2.0
    first = t.run(y)
    z = y + 1.0
    return first, t.run(z), t.run([y, z])


@FAMILY.case()
def fetched_arrays_are_the_users(tf, t):
    v = tf.Variable([1.0, 2.0])
    t.initialize()
    x = t.run(v)
    x[0] = 100.0
    k = tf.constant([1.0, 2.0])
    y = t.run(k)
    y[0] = 100.0
    return t.run(v), t.run(k)


@FAMILY.case()
def config_and_options(tf, t):
    config = tf.ConfigProto(
        device_count={"CPU": 2},
        intra_op_parallelism_threads=1,
        inter_op_parallelism_threads=1,
        allow_soft_placement=True,
        log_device_placement=False,
        operation_timeout_in_ms=5000,
    )
    config.gpu_options.allow_growth = True
    with tf.device("/cpu:1"):
        x = tf.constant([1.0, 2.0]) * 3.0
    with tf.device("/cpu:0"):
        y = tf.reduce_sum(x)
    metadata = tf.RunMetadata()
    with tf.Session(config=config) as session:
        plain = session.run(y)
        traced = session.run(
            y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata
        )
    settings = [config.allow_soft_placement, config.device_count["CPU"]]
    return plain, traced, settings, len(metadata.step_stats.dev_stats) > 0


@FAMILY.case()
def an_unknown_device(tf, t):
    with tf.device("/cpu:7"):
        x = tf.constant(1.0) * 2.0
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        softly = session.run(x)
    return t.error(lambda: t.run(x)), softly


@FAMILY.case()
def feed_of_a_constant_and_of_a_shape_unknown(tf, t):
    k = tf.constant([1.0, 2.0])
    u = tf.placeholder(tf.float32)
    return t.run(k + 1.0, {k: [5.0, 6.0]}), t.run(u * 2.0, {u: [1.0]}), t.run(u * 2.0, {u: [[1.0], [2.0]]})
