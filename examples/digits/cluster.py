"""Trains the classifier of digits.py on a cluster: variables on parameter servers, a copy of the model on each worker.

    graphflow launch --ps 1 --workers 2 --local-devices 2 examples/digits/cluster.py

Every worker runs this program, builds the same graph, with its own copy of the layers, and makes steps at its own
pace; all change the variables that the parameter servers hold. The chief, worker 0, also reports and draws.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import digits
import numpy as np

import graphflow as gf
from graphflow._core.plan.ir import walk


def short(name: str) -> str:
    """ps 0 cpu 1 for /job:ps/replica:0/task:0/device:CPU:1; of a task, what there is of it."""
    spec = gf.DeviceSpec.from_string(name)
    device = "" if spec.device_type is None else f" {spec.device_type.lower()} {spec.device_index}"
    return f"{spec.job} {spec.task}{device}"


def show_placement(session: gf.Session, model: digits.Model) -> None:
    """Prints where the operations of this worker's training step are placed."""
    plan, _ = session.plan([model.loss, model.step], [model.images, model.labels, model.keep])
    print(f"\n{digits.placement((i.name, i.type, short(i.device)) for i in walk(plan) if i.device)}\n")


def show_tasks(tasks: list[dict[str, Any]]) -> None:
    """Prints what each task held and did."""
    print(f"{'task':<10}{'held':<30}{'runs begun':<12}{'runs shared in':<16}sent")
    for task in tasks:
        variables = task.get("variables", ())
        held = f"{len(variables)} variables, {sum(v['bytes'] for v in variables):,} bytes"
        steps, traffic = task.get("steps", {}), task.get("traffic", {})
        print(
            f"{short(task['task']):<10}{held if variables else 'nothing':<30}"
            f"{steps.get('begun_as_master', '?'):<12}{steps.get('taken_part_in', '?'):<16}"
            f"{traffic.get('messages_out', 0):,} messages, {traffic.get('bytes_out', 0):,} bytes"
        )
    print(flush=True)


def main() -> int:
    """Trains as one worker; the exit code of the chief is 1 where the accuracy is below 96 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500, help="steps of all workers (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("digits.png"), help="the picture (default: %(default)s)"
    )
    arguments = parser.parse_args()

    start = time.perf_counter()
    cluster, job, index = gf.train.task_from_environment()
    server = gf.train.Server.from_environment()
    is_chief = index == 0
    images, labels, held_out_images, held_out_labels = digits.load()
    gf.set_random_seed(digits.SEED)
    with gf.device(gf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{job}/task:{index}")):
        global_step = gf.train.get_or_create_global_step()
        model = digits.Model(global_step)

    # A worker needs the parameter servers and itself; the other workers may be there or not.
    config = gf.ConfigProto(device_filters=["/job:ps", f"/job:{job}/task:{index}"])
    losses: list[float] = []
    steps: list[int] = []
    tasks: list[dict[str, Any]] = []
    hooks = [gf.train.StopAtStepHook(last_step=arguments.steps)]
    with gf.train.MonitoredTrainingSession(server.target, is_chief, hooks=hooks, config=config) as session:
        for batch in digits.batches(len(images), digits.SEED + index):
            if session.should_stop():
                break
            feed = {model.images: images[batch], model.labels: labels[batch], model.keep: 0.8}
            step, loss, _ = session.run([global_step, model.loss, model.step], feed)
            losses.append(float(loss))
            steps.append(int(step))
            if is_chief and len(losses) % 100 == 0:
                print(f"step {step}/{arguments.steps}  loss {np.mean(losses[-50:]):.4f}", flush=True)
            if is_chief and not tasks and step > 0.9 * arguments.steps:
                tasks = gf.train.cluster_status(server.target)
    print(f"made {len(losses)} of {arguments.steps} steps in {time.perf_counter() - start:.1f} s", flush=True)
    if not is_chief:
        return 0

    # The variables are still there: they belong to the parameter servers, not to the session that trained them.
    with gf.Session(server.target, config=config) as session:
        show_placement(session, model)
        accuracy, guesses = session.run(
            [model.accuracy, model.predictions],
            {model.images: held_out_images, model.labels: held_out_labels},
        )
    show_tasks(tasks)
    print(f"held-out accuracy {accuracy:.2%} after {time.perf_counter() - start:.1f} s")
    digits.draw(arguments.out, losses, held_out_images, held_out_labels, guesses, steps)
    print(f"loss curve and wrong images: {arguments.out}")
    return 0 if accuracy >= 0.96 else 1


if __name__ == "__main__":
    sys.exit(main())
