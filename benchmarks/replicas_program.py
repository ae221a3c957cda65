"""A program of replicas as users write it: a digits classifier between one parameter server and its workers.

Serves `replicas.py`: run as `PYTHON replicas_program.py MODULE SPEC JOB INDEX SESSION SYNC STEPS`, the same source for
every module with TensorFlow 1's API. Each task is a process with a server of its own. A worker prints how long its
training took from its first to its last step, as such programs do, and the global step that it has seen last.

SESSION: "supervisor" or "monitored". SYNC: "sync" or "async".
"""

import json
import math
import os
import sys
import tempfile
import time

import numpy as np
from cluster_workloads import load

PIXELS, HIDDEN, CLASSES, BATCH = 784, 100, 10, 100


def build(tf, spec, index, sync):
    """The model on the worker, its variables on the parameter server; what trains it, and the optimizer."""
    device = f"/job:worker/task:{index}"
    with tf.device(tf.train.replica_device_setter(worker_device=device, cluster=tf.train.ClusterSpec(spec))):
        step = tf.train.get_or_create_global_step()
        images = tf.placeholder(tf.float32, [None, PIXELS])
        labels = tf.placeholder(tf.float32, [None, CLASSES])
        first = tf.Variable(tf.truncated_normal([PIXELS, HIDDEN], stddev=1.0 / 28))
        first_bias = tf.Variable(tf.zeros([HIDDEN]))
        last = tf.Variable(tf.truncated_normal([HIDDEN, CLASSES], stddev=1.0 / math.sqrt(HIDDEN)))
        last_bias = tf.Variable(tf.zeros([CLASSES]))
        hidden = tf.nn.relu(tf.nn.xw_plus_b(images, first, first_bias))
        found = tf.nn.softmax(tf.nn.xw_plus_b(hidden, last, last_bias))
        loss = -tf.reduce_sum(labels * tf.log(tf.clip_by_value(found, 1e-10, 1.0)))
        optimizer = tf.train.AdamOptimizer(0.01)
        if sync:
            workers = len(spec["worker"])
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers, total_num_replicas=workers)
        train = optimizer.minimize(loss, global_step=step)
    return train, step, images, labels, optimizer


def train_supervised(tf, target, config, chief, sync, built, loop):
    """With a Supervisor, whose session the program trains with."""
    _, step, _, _, optimizer = built
    options = {}
    if sync:
        options["local_init_op"] = optimizer.chief_init_op if chief else optimizer.local_step_init_op
        options["ready_for_local_init_op"] = optimizer.ready_for_local_init_op
        runner, tokens = optimizer.get_chief_queue_runner(), optimizer.get_init_tokens_op()
    supervisor = tf.train.Supervisor(
        is_chief=chief,
        logdir=tempfile.mkdtemp(),
        init_op=tf.global_variables_initializer(),
        recovery_wait_secs=1,
        global_step=step,
        **options,
    )
    session = supervisor.prepare_or_wait_for_session(target, config=config)
    if sync and chief:
        session.run(tokens)
        supervisor.start_queue_runners(session, [runner])
    loop(session.run, lambda: False)


def train_monitored(tf, target, config, chief, sync, built, loop, steps):
    """With a MonitoredTrainingSession and its hooks."""
    optimizer = built[4]
    hooks = [tf.train.StopAtStepHook(last_step=steps)]
    if sync:
        hooks.append(optimizer.make_session_run_hook(chief, num_tokens=0))
    with tf.train.MonitoredTrainingSession(
        master=target, is_chief=chief, checkpoint_dir=tempfile.mkdtemp(), hooks=hooks, config=config
    ) as session:
        loop(session.run, session.should_stop)


def main(module, spec, job, index, kind, mode, steps):
    tf = load(module)
    spec, index, steps, sync = json.loads(spec), int(index), int(steps), mode == "sync"
    server = tf.train.Server(tf.train.ClusterSpec(spec), job_name=job, task_index=index)
    if job == "ps":
        print(json.dumps({"serves": True}), flush=True)
        server.join()
    chief = index == 0
    built = build(tf, spec, index, sync)
    train, step, images, labels, _ = built
    random = np.random.RandomState(index)
    means = np.random.RandomState(7).rand(CLASSES, PIXELS)

    def loop(run, should_stop):
        begun, last = time.time(), 0
        while not should_stop():
            numbers = random.randint(0, CLASSES, BATCH)
            batch = (means[numbers] + 0.3 * random.randn(BATCH, PIXELS)).astype("f")
            _, last = run([train, step], {images: batch, labels: np.eye(CLASSES, dtype="f")[numbers]})
            if last >= steps:
                break
        print(json.dumps({"seconds": time.time() - begun, "step": int(last)}), flush=True)

    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    if kind == "supervisor":
        train_supervised(tf, server.target, config, chief, sync, built, loop)
    else:
        train_monitored(tf, server.target, config, chief, sync, built, loop, steps)
    sys.stdout.flush()
    if chief and sync:
        time.sleep(1)  # The others may still wait for the last round's tokens, which the chief hands out.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:8])
