"""Random ops with seeds: the numbers themselves, run after run, and the statistics and shapes without."""

from harness import Family

FAMILY = Family("random")

# With an op seed: two runs, the second of which goes on where the first stopped.
FAMILY.expressions(
    """
    tf.random_normal([5], seed=1)
    tf.random_normal([2, 3], mean=1.0, stddev=2.0, seed=1)
    tf.random_normal([3], 1.0, 0.5, tf.float64, 1, "noise")
    tf.random_normal([3], stddev=tf.constant([1.0, 2.0, 3.0]), seed=1)
    tf.random_normal([], seed=1)
    tf.random_normal([0, 2], seed=1)
    tf.random_normal(tf.constant([2, 2]), seed=1)
    tf.random_normal(tf.shape(ph(f(2, 3), [None, 3])), seed=1)
    tf.random_normal([257], seed=1)[250:]
    tf.random_normal([3], dtype=tf.float16, seed=1)
    tf.truncated_normal([5], seed=1)
    tf.truncated_normal([2, 3], mean=1.0, stddev=2.0, seed=1)
    tf.truncated_normal([3], dtype=tf.float64, seed=1, name="cut")
    tf.truncated_normal([300], seed=1)[290:]
    tf.random_uniform([5], seed=1)
    tf.random_uniform([2, 3], minval=-1.0, maxval=1.0, seed=1)
    tf.random_uniform([2, 3], -1, 1, seed=1)
    tf.random_uniform([3], maxval=10.0, dtype=tf.float64, seed=1, name="flat")
    tf.random_uniform([6], maxval=10, dtype=tf.int32, seed=1)
    tf.random_uniform([6], minval=-5, maxval=5, dtype=tf.int64, seed=1)
    tf.random_uniform([], seed=1)
    tf.random_uniform([300], seed=1)[290:]
    tf.random_uniform([3], dtype=tf.float16, seed=1)
    tf.random_uniform((2, ph(2)), seed=1)
    tf.random.normal([3], seed=1)
    tf.random.uniform([3], seed=1)
    tf.random.truncated_normal([3], seed=1)
    tf.random_shuffle([1, 2, 3, 4, 5, 6], seed=1)
    tf.random_shuffle(ph(f(4, 2), [None, 2]), seed=1)
    tf.random.shuffle(value=[1.0, 2.0, 3.0], seed=1, name="mixed")
    tf.multinomial([[0.1, 0.2, 0.7], [2.0, 0.0, 0.0]], 6, seed=1)
    tf.multinomial(tf.log([[0.5, 0.5]]), num_samples=8, seed=1, name="drawn")
    tf.multinomial(ph(f(2, 3), [None, 3]), 2, seed=1, output_dtype=tf.int32)
    tf.random.categorical([[0.1, 0.2, 0.7]], 5, seed=1)
    tf.random.multinomial([[0.1, 0.2, 0.7]], 5, seed=1)
    tf.random_crop(ph(f(4, 4)), [2, 2], seed=1)
    tf.random_crop([1, 2, 3, 4, 5], [3], seed=1, name="piece")
    tf.nn.dropout(ph(f(4, 4)), 0.5, seed=1)
    tf.nn.dropout(ph(f(4, 4)), rate=0.25, seed=1)
    tf.nn.dropout(ph(f(2, 4), [None, 4]), keep_prob=0.5, noise_shape=[2, 1], seed=1, name="drop")
    tf.nn.dropout(ph(f(4)), ph(0.5), seed=1)
    tf.nn.dropout(ph(f(4), None), 0.5, seed=1)
    tf.nn.dropout(ph(f(2, 3)), 0.5, noise_shape=[1, None], seed=1)
    """,
    runs=2,
)

# With the graph's seed alone: the op's seed is then the number of ops built before it.
FAMILY.expressions(
    """
    tf.random_normal([3])
    tf.random_uniform([3])
    tf.truncated_normal([3])
    tf.random_shuffle([1, 2, 3, 4, 5])
    tf.multinomial([[0.5, 0.5]], 5)
    tf.random_uniform([5], maxval=10, dtype=tf.int32)
    [tf.random_normal([2]), tf.random_normal([2])]
    [tf.random_normal([2], seed=5), tf.random_normal([2], seed=5)]
    tf.nn.dropout(tf.ones([8]), 0.5)
    """,
    runs=2,
)

FAMILY.expressions(
    """
    tf.get_seed(None)
    tf.get_seed(5)
    tf.random.get_seed(5)
    [tf.set_random_seed(7), tf.get_seed(3)][1]
    [tf.set_random_seed(7), tf.random_normal([3], seed=1)][1]
    [tf.set_random_seed(7), tf.random_normal([3])][1]
    [tf.random.set_random_seed(0), tf.random_normal([3], seed=0)][1]
    tf.get_default_graph().seed
    """,
)

FAMILY.gradients(
    """
    tf.nn.dropout(ph(f(4, 4)), 0.5, seed=1)
    tf.random_normal([3], seed=1) * ph(f(3))
    tf.random_normal([3], mean=ph(1.0), stddev=ph(2.0), seed=1)
    tf.random_uniform([3], ph(0.0), ph(2.0), seed=1)
    """
)

FAMILY.errors(
    """
    tf.random_normal([-1], seed=1)
    tf.random_normal("a")
    tf.random_normal([2], dtype=tf.int32)
    tf.random_normal([2.5])
    tf.random_uniform([2], dtype=tf.int32)
    tf.random_uniform([2], minval=5, maxval=5, dtype=tf.int32)
    tf.random_uniform([2], dtype=tf.uint8)
    tf.random_uniform([2], dtype=tf.string)
    tf.truncated_normal([2], dtype=tf.int32)
    tf.multinomial([0.5, 0.5], 2)
    tf.multinomial([[0.5, 0.5]], -1)
    tf.multinomial([[1, 2]], "a")
    tf.random_crop(ph(f(2)), [5])
    tf.random_crop(ph(f(2, 2)), [1])
    tf.nn.dropout(ph(f(2, 3)), 0.5, noise_shape=[3, 1], seed=1)
    """
)


@FAMILY.case()
def the_graph_seed_of_a_fresh_graph(tf, t):
    found = []
    for seed in (1, 1, 2, None):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(seed)
            x = tf.random_uniform([2], seed=9)
            with tf.Session(graph=graph) as session:
                found.append(session.run(x))
    return found


@FAMILY.case()
def a_new_session_starts_the_sequence_again(tf, t):
    x = tf.random_normal([2], seed=4)
    found = []
    for _ in range(2):
        with tf.Session() as session:
            found += [session.run(x), session.run(x)]
    return found


@FAMILY.case()
def one_tensor_is_drawn_once_a_run(tf, t):
    x = tf.random_uniform([3], seed=2)
    a, b = t.run([x + 0.0, x * 1.0])
    return a, b


@FAMILY.case()
def unseeded_numbers_differ(tf, t):
    with tf.Graph().as_default() as graph:
        x, y = tf.random_normal([4]), tf.random_normal([4])
        with tf.Session(graph=graph) as session:
            a, b = session.run([x, y])
            c = session.run(x)
    return bool((a != b).any()), bool((a != c).any())


@FAMILY.case()
def statistics(tf, t):
    normal, cut = tf.random_normal([20000], 1.0, 2.0, seed=3), tf.truncated_normal([20000], seed=3)
    flat, whole = (
        tf.random_uniform([20000], -1.0, 3.0, seed=3),
        tf.random_uniform([20000], 0, 7, tf.int32, seed=3),
    )
    a, b, c, d = t.run([normal, cut, flat, whole])
    near = lambda x, y: bool(abs(float(x) - y) < 0.05)  # noqa: E731
    return [
        near(a.mean(), 1.0),
        near(a.std(), 2.0),
        near(b.mean(), 0.0),
        near(b.std(), 0.88),
        bool(abs(b).max() <= 2.0),
        near(c.mean(), 1.0),
        bool(c.min() >= -1.0 and c.max() < 3.0),
        near(d.mean(), 3.0),
        sorted(set(d.tolist())),
    ]
