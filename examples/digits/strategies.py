"""Trains one model function under any distribution strategy, on the digits of digits.py.

    python examples/digits/strategies.py one_device
    python examples/digits/strategies.py mirrored
    graphflow launch --ps 1 --workers 2 examples/digits/strategies.py in_graph
    graphflow launch --ps 1 --workers 2 examples/digits/strategies.py parameter_server
    graphflow launch --ps 1 --workers 2 examples/digits/strategies.py parameter_server_sync
    graphflow launch --ps 0 --workers 2 examples/digits/strategies.py all_reduce

The functions `logits` and `tower` are the same in all of them, and know nothing of devices.
"""

import argparse
import sys
from typing import Any

import digits

import graphflow as gf

STRATEGIES = {
    "one_device": lambda: gf.distribute.OneDeviceStrategy("/cpu:0"),
    "mirrored": lambda: gf.distribute.MirroredStrategy(num_devices=2),
    "in_graph": gf.distribute.InGraphStrategy.from_environment,
    "parameter_server": gf.distribute.ParameterServerStrategy.from_environment,
    "parameter_server_sync": lambda: gf.distribute.ParameterServerStrategy.from_environment(synchronous=True),
    "all_reduce": gf.distribute.CollectiveAllReduceStrategy.from_environment,
}
LOCAL = ("one_device", "mirrored")


def logits(images: Any, training: bool) -> Any:
    """The model."""
    hidden = gf.layers.dense(gf.reshape(images, [-1, 64]), 64, name="hidden")
    hidden = gf.nn.relu(gf.layers.batch_normalization(hidden, training=training, name="normal"))
    return gf.layers.dense(hidden, 10, name="output")


def tower(batch: Any) -> Any:
    """A step on a batch."""
    images, labels = batch
    loss = gf.losses.sparse_softmax_cross_entropy(labels, logits(images, True))
    step = gf.train.get_or_create_global_step()
    with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
        return gf.train.AdamOptimizer(0.005).minimize(loss, global_step=step)


def main() -> int:
    """Trains as one program of the cluster; the exit code of the first is 1 where the accuracy is below 90 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("strategy", choices=STRATEGIES)
    parser.add_argument("--steps", type=int, default=300, help="steps of all workers (default: %(default)s)")
    arguments = parser.parse_args()

    target, is_chief = "", True
    if arguments.strategy not in LOCAL:
        _, _, index = gf.train.task_from_environment()
        server = gf.train.Server.from_environment()
        target, is_chief = server.target, index == 0
        if arguments.strategy == "in_graph" and not is_chief:
            server.join()  # One program builds the towers of all workers.
            return 0
    strategy = STRATEGIES[arguments.strategy]()

    images, labels, held_out_images, held_out_labels = digits.load()
    with strategy.scope():
        data = gf.data.Dataset.from_tensor_slices((images, labels)).shuffle(2000).repeat().batch(32)
        iterator = strategy.distribute_dataset(data)
        train_ops = strategy.call_for_each_tower(tower, iterator.get_next())
        train_op = gf.group(strategy.unwrap(train_ops))
        with gf.variable_scope(gf.get_variable_scope(), reuse=True):
            guesses = gf.argmax(logits(gf.constant(held_out_images), False), 1)
    accuracy = gf.reduce_mean(gf.cast(gf.equal(guesses, held_out_labels), gf.float32))

    config = gf.ConfigProto(device_count={"CPU": 2})
    hooks = [gf.train.StopAtStepHook(last_step=arguments.steps)]
    found = 0.0
    with gf.train.MonitoredTrainingSession(target, is_chief, hooks=hooks, config=config) as session:
        while not session.should_stop():
            session.run(train_op)
            if is_chief and not session.should_stop():
                found = session.run_step_fn(lambda context: float(context.session.run(accuracy)))
    if not is_chief:
        return 0
    print(f"{arguments.strategy}: held-out accuracy {found:.2%} after {arguments.steps} steps", flush=True)
    if arguments.strategy == "in_graph":
        gf.train.stop_cluster(target)
    return 0 if found >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
