"""Workloads of a cluster over loopback, the same source for every module with TensorFlow 1's API.

Serves `cluster.py`: run as `PYTHON cluster_workloads.py MODULE WORKLOAD`, it starts the servers as processes of their
own, builds the graph, prints "ready", and answers each line on its input: "measure" with the seconds a step takes,
"count" with the messages and bytes of a step where the module counts them, "quit".
"""

import importlib
import json
import os
import socket
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np

SECONDS = 0.4  # of one measurement
STEPS_COUNTED = 50


def load(module):
    if module == "tensorflow":
        import tensorflow as tf

        if not tf.__version__.startswith("1."):
            tf = tf.compat.v1
            tf.disable_eager_execution()
            tf.disable_resource_variables()
        return tf
    return importlib.import_module(module)


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def _config(tf, tcp_only):
    """The options of servers and sessions; graphflow's others are faster within one machine."""
    return tf.ConfigProto(tcp_only=True) if tcp_only and tf.__name__ == "graphflow" else tf.ConfigProto()


class Cluster:
    """Servers in processes of their own, and the targets for sessions."""

    def __init__(self, module, ps, workers, tcp_only=False):
        ports = _free_ports(ps + workers)
        addresses = ["127.0.0.1:%d" % port for port in ports]
        self.spec = {"ps": addresses[:ps], "worker": addresses[ps:]}
        self.processes, self.targets = [], {}
        for job in self.spec:
            for index in range(len(self.spec[job])):
                command = [
                    sys.executable,
                    os.path.abspath(__file__),
                    "--serve",
                    module,
                    json.dumps(self.spec),
                    job,
                ]
                process = subprocess.Popen(
                    [*command, str(index), *(["tcp"] if tcp_only else [])],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    universal_newlines=True,
                )
                self.processes.append(process)
                for line in process.stdout:
                    if line.startswith("TARGET"):
                        self.targets[job, index] = line.split()[1]
                        break
                else:
                    raise RuntimeError("a server ended as it began")

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def serve(module, spec, job, index, tcp_only=""):
    tf = load(module)
    server = tf.train.Server(
        tf.train.ClusterSpec(json.loads(spec)),
        job_name=job,
        task_index=int(index),
        config=_config(tf, bool(tcp_only)),
    )
    print("TARGET", server.target, flush=True)
    server.join()


def _on(tf, job, task=0):
    return tf.device("/job:%s/task:%d" % (job, task))


def null_step(tf):
    with _on(tf, "ps"):
        variable = tf.Variable(tf.zeros([]))
    with _on(tf, "worker"):
        step = (variable + 1.0).op
    return lambda s: s.run(step)


def null_step_of(ps, workers):
    """A step in which every worker adds up one variable of every ps."""

    def build(tf):
        variables = []
        for task in range(ps):
            with _on(tf, "ps", task):
                variables.append(tf.Variable(tf.zeros([])))
        sums = []
        for task in range(workers):
            with _on(tf, "worker", task):
                sums.append(tf.add_n([v + 0.0 for v in variables]).op)
        step = tf.group(*sums)
        return lambda s: s.run(step)

    return build


def null_step_16(tf):
    variables = []
    for number in range(16):
        with _on(tf, "ps", number % 2):
            variables.append(tf.Variable(tf.zeros([])))
    sums = []
    for task in range(2):
        with _on(tf, "worker", task):
            sums.append(tf.add_n([tf.identity(v) for v in variables]).op)
    step = tf.group(*sums)
    return lambda s: s.run(step)


def pull_100mb(tf):
    with _on(tf, "ps"):
        variable = tf.Variable(tf.zeros([25000000]))
    with _on(tf, "worker"):
        largest = tf.reduce_max(variable)
    return lambda s: s.run(largest)


def push_100mb(tf):
    with _on(tf, "ps"):
        variable = tf.Variable(tf.zeros([25000000]))
    with _on(tf, "worker"):
        gradient = tf.ones([25000000]) * tf.Variable(1.0)
    with _on(tf, "ps"):
        step = tf.assign_sub(variable, gradient).op
    return lambda s: s.run(step)


def fetch_40mb(tf):
    with _on(tf, "worker"):
        variable = tf.Variable(tf.zeros([10000000]))
    return lambda s: s.run(variable)


def mlp_step(tf):
    rng = np.random.RandomState(0)
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")):
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.float32, [None, 10])
        hidden, sizes = x, [784, 256, 256, 10]
        for layer in range(3):
            weights = tf.Variable(rng.randn(sizes[layer], sizes[layer + 1]).astype("f") * 0.1)
            hidden = tf.matmul(hidden, weights) + tf.Variable(tf.zeros([sizes[layer + 1]]))
            if layer < 2:
                hidden = tf.nn.relu(hidden)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=hidden, labels=y))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: rng.rand(128, 784).astype("f"), y: np.eye(10, dtype="f")[rng.randint(0, 10, 128)]}
    return lambda s: s.run([train, loss], feeds)


def sparse_step(tf):
    with _on(tf, "ps"):
        table = tf.Variable(tf.zeros([200000, 64]))
    with _on(tf, "worker"):
        ids = tf.placeholder(tf.int32, [None])
        loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids)))
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    feeds = {ids: np.random.RandomState(0).randint(0, 200000, 1024).astype("i4")}
    return lambda s: s.run(train, feeds)


# name: (build, ps tasks, worker tasks, megabytes that a step moves or 0)
WORKLOADS = {
    "null_step": (null_step, 1, 1, 0),
    "null_step_16": (null_step_16, 2, 2, 0),
    "pull_100mb": (pull_100mb, 1, 1, 100),
    "push_100mb": (push_100mb, 1, 1, 100),
    "pull_100mb_tcp": (pull_100mb, 1, 1, 100),
    "push_100mb_tcp": (push_100mb, 1, 1, 100),
    "fetch_40mb": (fetch_40mb, 1, 1, 40),
    "mlp_step": (mlp_step, 1, 1, 0),
    "sparse_step": (sparse_step, 1, 1, 0),
}
for _ps in (1, 2, 4):
    for _workers in (1, 2, 4, 8):
        WORKLOADS["null_%d_%d" % (_ps, _workers)] = (null_step_of(_ps, _workers), _ps, _workers, 0)


def _seconds_of_step(step):
    """The median over the steps of about SECONDS."""
    taken = []
    end = time.perf_counter() + SECONDS
    while len(taken) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def _traffic(target):
    """Messages and bytes that all tasks have sent or got from clients; None where the module does not count them."""
    from graphflow._core.cluster.client.control import cluster_status

    traffic = [task["traffic"] for task in cluster_status(target)]
    return [sum(t[key] for t in traffic) for key in ("messages_out", "messages_in", "bytes_out", "bytes_in")]


def _count(module, target, step):
    """Messages and bytes of a step; what asking for the counts sends is taken off."""
    if module != "graphflow":
        return {}
    first = _traffic(target)
    second = _traffic(target)
    for _ in range(STEPS_COUNTED):
        step()
    third = _traffic(target)
    out, into, bytes_out, bytes_in = ((c - b) - (b - a) for a, b, c in zip(first, second, third))
    # What a task sends a task is counted at both ends; a client's request and its answer once each. Rounded, as tasks
    # tell each other now and then that they are there.
    return {
        "messages": round((out + into + 2 * STEPS_COUNTED) / 2 / STEPS_COUNTED),
        "bytes": round(max(bytes_out, bytes_in) / STEPS_COUNTED),
    }


def main(module, name):
    tf = load(module)
    build, ps, workers, _ = WORKLOADS[name]
    tcp_only = name.endswith("_tcp")
    cluster = Cluster(module, ps, workers, tcp_only)
    try:
        target = cluster.targets["worker", 0]
        with tf.Graph().as_default():
            run = build(tf)
            with tf.Session(target, config=_config(tf, tcp_only)) as session:
                session.run(tf.global_variables_initializer())
                end = time.time() + 2.0
                for number in range(2000):
                    run(session)
                    if time.time() > end and number > 12:
                        break
                print(json.dumps({"ready": True}), flush=True)
                for line in sys.stdin:
                    if line.strip() == "measure":
                        print(json.dumps({"seconds": _seconds_of_step(lambda: run(session))}), flush=True)
                    elif line.strip() == "count":
                        print(json.dumps(_count(module, target, lambda: run(session))), flush=True)
                    else:
                        break
    finally:
        cluster.close()


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(*sys.argv[2:])
    else:
        main(*sys.argv[1:3])
