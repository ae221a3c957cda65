"""What moves over a link, the same source for every module with TensorFlow 1's API, and raw TCP.

Serves `links.py`, which runs it in two network namespaces:

    links_workloads.py serve MODULE SPEC             the parameter server, at one end
    links_workloads.py client MODULE SPEC WORKLOAD   the worker and its client, at the other end
    links_workloads.py listen raw SPEC               the other end of raw TCP
    links_workloads.py client raw SPEC WORKLOAD
    links_workloads.py train SPEC INDEX REDUCER      a worker of two that train together, of graphflow alone

Each prints "ready" and answers lines on its input: "measure" with the seconds of a step.
What comes over the link is looked at in one element, so that it is the link that is measured, and no arithmetic.
"""

import json
import socket
import subprocess
import sys
import time

from cluster_workloads import _on, load, null_step, serve

MEGABYTES = 100
ELEMENTS = MEGABYTES * 250000
SECONDS = 0.4  # of one measurement
LONG = 0.7  # seconds of a step that is measured once


def _looked_at(tf, value):
    return tf.slice(value, [0], [1]).op


def pull(tf):
    with _on(tf, "ps"):
        variable = tf.Variable(tf.zeros([ELEMENTS]))
    with _on(tf, "worker"):
        step = _looked_at(tf, variable)
    return lambda s: s.run(step)


def push(tf):
    with _on(tf, "worker"):
        variable = tf.Variable(tf.zeros([ELEMENTS]))
    with _on(tf, "ps"):
        step = _looked_at(tf, variable)
    return lambda s: s.run(step)


def fetch(tf):
    with _on(tf, "ps"):
        variable = tf.Variable(tf.zeros([ELEMENTS]))
    return lambda s: s.run(variable)


# name: (build, megabytes that a step moves or 0, the job whose server the session connects to)
WORKLOADS = {
    "pull_100mb": (pull, MEGABYTES, "worker"),
    "push_100mb": (push, MEGABYTES, "worker"),
    "fetch_100mb": (fetch, MEGABYTES, "ps"),
    "null_step": (null_step, 0, "worker"),
}


def _seconds_of_step(step):
    """The seconds of a step: the median over those of about SECONDS, or of one that takes LONG.

    The first is not among them, since memory that was not used for seconds has been given back.
    """
    start = time.perf_counter()
    step()
    first = time.perf_counter() - start
    if first > LONG:
        return first
    taken = []
    end = time.perf_counter() + SECONDS
    while len(taken) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2]


def _answer(step):
    """Answers "measure" with the seconds of a step, until "quit"."""
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        print(json.dumps({"seconds": _seconds_of_step(step)}), flush=True)


def client(module, spec, workload):
    tf = load(module)
    build, megabytes, job = WORKLOADS[workload]
    command = [sys.executable, __file__, "serve", module, json.dumps(spec), "worker"]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True)
    try:
        worker.stdout.readline()
        with tf.Graph().as_default():
            run = build(tf)
            with tf.Session("grpc://" + spec[job][0], config=tf.ConfigProto()) as session:
                session.run(tf.global_variables_initializer())
                for _ in range(15 if megabytes else 1500):
                    run(session)
                _answer(lambda: run(session))
    finally:
        worker.kill()
        worker.wait()


def _receive(connection, memory):
    place = 0
    while place < len(memory):
        found = connection.recv_into(memory[place:])
        if not found:
            raise EOFError
        place += found


def listen(spec):
    host, port = spec["ps"][0].split(":")
    with socket.create_server((host, int(port))) as listener:
        print("TARGET", spec["ps"][0], flush=True)
        connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    memory, one = memoryview(bytearray(4 * ELEMENTS)), memoryview(bytearray(1))
    while True:
        _receive(connection, one)
        if one[0] == ord("p"):
            _receive(connection, memory)
        connection.sendall(memory if one[0] == ord("g") else one)


def raw(spec, workload):
    host, port = spec["ps"][0].split(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    memory, one = memoryview(bytearray(4 * ELEMENTS)), memoryview(bytearray(1))

    def get():
        connection.sendall(b"g")
        _receive(connection, memory)

    def put():
        connection.sendall(b"p")
        connection.sendall(memory)
        _receive(connection, one)

    def ask():
        connection.sendall(b"n")
        _receive(connection, one)

    step = {"push_100mb": put, "null_step": ask}.get(workload, get)
    step()
    _answer(step)


def train(spec, index, reducer):
    """Answers "steps N" with the seconds of one of N steps, and the loss after them."""
    import numpy as np

    import graphflow as gf

    addresses, index = {"worker": [spec["ps"][0], spec["worker"][0]]}, int(index)
    server = gf.train.Server(addresses, "worker", index)
    given = None if reducer == "none" else getattr(gf.distribute, reducer)()
    strategy = gf.distribute.CollectiveAllReduceStrategy(addresses, "worker", index, reducer=given)
    random = np.random.RandomState(0)
    images, wanted = random.normal(size=(512, 784)).astype("f"), random.normal(size=(784, 10)).astype("f")
    labels = np.argmax(images @ wanted, 1)

    def tower(batch):
        x, y = batch
        for units in (1024, 1024):
            x = gf.layers.dense(x, units, activation=gf.nn.relu)
        loss = gf.losses.sparse_softmax_cross_entropy(y, gf.layers.dense(x, 10))
        return loss, gf.train.GradientDescentOptimizer(0.05).minimize(loss)

    gf.set_random_seed(1)
    with strategy.scope():
        data = gf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(32)
        iterator = strategy.distribute_dataset(data)
        loss, step = strategy.call_for_each_tower(tower, iterator.get_next())
        begin = gf.global_variables_initializer()
    with gf.Session(server.target) as session:
        session.run(begin)
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            count = int(line.split()[1])
            start, losses = time.perf_counter(), []
            for _ in range(count):
                losses.append(float(session.run([loss, step])[0]))
            seconds = (time.perf_counter() - start) / count
            print(json.dumps({"seconds": seconds, "loss": sum(losses[-8:]) / len(losses[-8:])}), flush=True)


def main(what, *arguments):
    if what == "serve":
        module, spec, job = arguments
        serve(module, spec, job, 0)
    elif what == "train":
        train(json.loads(arguments[0]), *arguments[1:])
    elif what == "listen":
        listen(json.loads(arguments[1]))
    elif arguments[0] == "raw":
        raw(json.loads(arguments[1]), arguments[2])
    else:
        client(arguments[0], json.loads(arguments[1]), arguments[2])


if __name__ == "__main__":
    main(*sys.argv[1:])
