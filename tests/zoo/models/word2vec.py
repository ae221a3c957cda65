"""word2vec: skip-gram by noise contrastive estimation and by sampled softmax."""

WORDS, WIDTH, SAMPLED = 24, 6, 5


def build(tf, data):
    """Skip-gram with nce_loss and sampled_softmax_loss of given samples, updates of rows, nearest words by top_k."""
    centers = tf.placeholder(tf.int32, [None], name="centers")
    contexts = tf.placeholder(tf.int64, [None, 1], name="contexts")
    noise = tf.placeholder(tf.int64, [SAMPLED], name="noise")
    validation = tf.constant([1, 5, 7], tf.int32)
    # The counts that the sampler by frequency, a Zipf distribution over ranks, gives for these classes.
    ranks = tf.cast(noise, tf.float32)
    probability = (tf.log(ranks + 2.0) - tf.log(ranks + 1.0)) / tf.log(float(WORDS + 1))
    true_ranks = tf.cast(contexts, tf.float32)
    true_probability = (tf.log(true_ranks + 2.0) - tf.log(true_ranks + 1.0)) / tf.log(float(WORDS + 1))
    samples = (noise, true_probability * SAMPLED, probability * SAMPLED)

    embeddings = tf.get_variable(
        "embeddings", [WORDS, WIDTH], initializer=tf.random_uniform_initializer(-1, 1)
    )
    embedded = tf.nn.embedding_lookup(embeddings, centers)
    weights = tf.get_variable(
        "nce_weights", [WORDS, WIDTH], initializer=tf.truncated_normal_initializer(stddev=0.4)
    )
    biases = tf.get_variable("nce_biases", [WORDS], initializer=tf.zeros_initializer())
    nce = tf.reduce_mean(
        tf.nn.nce_loss(
            weights,
            biases,
            contexts,
            embedded,
            SAMPLED,
            WORDS,
            sampled_values=samples,
            remove_accidental_hits=True,
        )
    )
    softmax_weights = tf.get_variable("softmax_weights", [WORDS, WIDTH])
    softmax_biases = tf.get_variable("softmax_biases", [WORDS], initializer=tf.zeros_initializer())
    sampled = tf.reduce_mean(
        tf.nn.sampled_softmax_loss(
            softmax_weights, softmax_biases, contexts, embedded, SAMPLED, WORDS, sampled_values=samples
        )
    )
    train = tf.train.GradientDescentOptimizer(0.5).minimize(nce)
    train_softmax = tf.train.AdagradOptimizer(0.5).minimize(
        sampled, var_list=[softmax_weights, softmax_biases]
    )
    unit = embeddings / tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    similarity = tf.matmul(tf.nn.embedding_lookup(unit, validation), unit, transpose_b=True)
    near, _ = tf.nn.top_k(similarity, 4)

    text = data.randint(0, WORDS, 60)

    def batch(at):
        rows = [(text[i], text[i + d]) for i in range(at, at + 4) for d in (-2, -1, 1, 2)]
        return {
            centers: [a for a, _ in rows],
            contexts: [[b] for _, b in rows],
            noise: data.permutation(WORDS)[:SAMPLED],
        }

    batches = [batch(at) for at in (2, 20, 40)]
    return dict(
        losses={
            "nce": (nce, [embeddings, weights, biases]),
            "sampled": (sampled, [embeddings, softmax_weights, softmax_biases]),
        },
        train=[train, train_softmax],
        feeds=lambda step: batches[step % len(batches)],
        outputs={"near": near},
    )
