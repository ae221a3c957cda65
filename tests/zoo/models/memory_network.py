"""End-to-end memory network of three hops."""

import numpy as np

WORDS, WIDTH, HOPS, MEMORIES, SENTENCE, BATCH = 14, 6, 3, 5, 4, 3


def encoding():
    """Weights of the words of a sentence by their positions."""
    place, unit = np.arange(1, SENTENCE + 1)[:, None], np.arange(1, WIDTH + 1)[None]
    weights = 1 + 4 * (unit - (WIDTH + 1) / 2) * (place - (SENTENCE + 1) / 2) / WIDTH / SENTENCE
    return weights.astype(np.float32)


def build(tf, data):
    """MemN2N: adjacent tying of embeddings, the word 0 kept zero, sums of bags of words, annealed and clipped SGD."""
    stories = tf.placeholder(tf.int32, [None, MEMORIES, SENTENCE], name="stories")
    queries = tf.placeholder(tf.int32, [None, SENTENCE], name="queries")
    answers = tf.placeholder(tf.float32, [None, WORDS], name="answers")
    rate = tf.placeholder(tf.float32, [], name="learning_rate")
    initializer = tf.random_normal_initializer(stddev=0.1)
    nothing = tf.zeros([1, WIDTH])
    position = tf.constant(encoding(), name="encoding")

    with tf.variable_scope("memn2n"):
        first = tf.concat([nothing, tf.get_variable("A", [WORDS - 1, WIDTH], initializer=initializer)], 0)
        tables = [first] + [
            tf.concat([nothing, tf.get_variable(f"C_{hop}", [WORDS - 1, WIDTH], initializer=initializer)], 0)
            for hop in range(HOPS)
        ]
        times = [
            tf.get_variable(f"T_{hop}", [MEMORIES, WIDTH], initializer=initializer) for hop in range(HOPS + 1)
        ]
        u = tf.reduce_sum(tf.nn.embedding_lookup(first, queries) * position, 1)
        attention = []
        for hop in range(HOPS):
            memory = tf.reduce_sum(tf.nn.embedding_lookup(tables[hop], stories) * position, 2) + times[hop]
            turned = tf.transpose(tf.expand_dims(u, -1), [0, 2, 1])
            probabilities = tf.nn.softmax(tf.reduce_sum(memory * turned, 2))
            attention.append(probabilities)
            weights = tf.transpose(tf.expand_dims(probabilities, -1), [0, 2, 1])
            output = (
                tf.reduce_sum(tf.nn.embedding_lookup(tables[hop + 1], stories) * position, 2) + times[hop + 1]
            )
            found = tf.reduce_sum(tf.transpose(output, [0, 2, 1]) * weights, 2)
            u = u + found
            if hop == 1:
                u = tf.nn.relu(u)
        logits = tf.matmul(u, tf.transpose(tables[-1], [1, 0]))
    loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=answers))
    optimizer = tf.train.GradientDescentOptimizer(rate)
    pairs = [(tf.clip_by_norm(g, 2.0), v) for g, v in optimizer.compute_gradients(loss)]
    train = optimizer.apply_gradients(pairs, name="train_op")

    def batch():
        story = data.randint(1, WORDS, (BATCH, MEMORIES, SENTENCE))
        story[:, -1, 2:] = 0
        return {
            stories: story,
            queries: data.randint(0, WORDS, (BATCH, SENTENCE)),
            answers: np.eye(WORDS, dtype="f")[data.randint(1, WORDS, BATCH)],
        }

    batches = [batch() for _ in range(3)]

    def feeds(step):
        """A batch, and a rate that is halved every eight steps."""
        fed = dict(batches[step % len(batches)])
        fed[rate] = 0.05 * 0.5 ** (step // 8)
        return fed

    return dict(
        losses={"loss": loss},
        train=[train],
        feeds=feeds,
        outputs={"logits": logits, "attention": tf.stack(attention)},
    )
