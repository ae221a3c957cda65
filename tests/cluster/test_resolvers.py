"""Protects the resolvers: which task a process is, of which cluster, as each engine tells it. Nothing is started here.

The environments of Slurm are recorded ones: what srun 22.05 gave to tasks, without what is no matter here.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.resolvers.found import find_resolver
from graphflow._core.cluster.resolvers.slurm import counts_in, hosts_in, places_of

resolvers = gf.distribute.cluster_resolver
SPEC = {"ps": ["a:1"], "worker": ["b:1", "c:2"]}
TF_CONFIG = '{"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:2"]}, "task": {"type": "worker", "index": 1}%s}'
HOSTS = {
    "JOB_NAME": "worker",
    "TASK_INDEX": "1",
    "PS_HOSTS": "a:1",
    "WORKER_HOSTS": "b:1,c:2",
    "CHIEF_HOSTS": "",
}
SLURM = {
    "SLURM_JOB_ID": "3", "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_STEP_TASKS_PER_NODE": "2,1", "SLURM_DISTRIBUTION": "cyclic", "SLURM_PROCID": "1", "SLURM_NODEID": "1",
    "SLURM_LOCALID": "0", "SLURM_NTASKS": "3", "GRAPHFLOW_JOBS": "worker=2,ps=1",
}  # fmt: skip
POD = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1", "GRAPHFLOW_JOBS": "ps=2,worker=3", "GRAPHFLOW_NAME": "my-run",
    "GRAPHFLOW_SERVICE": "tasks", "GRAPHFLOW_POD": "my-run-worker-2", "GRAPHFLOW_INCARNATION": "9f3c",
}  # fmt: skip


def said(resolver: Any) -> tuple[Any, Any, Any]:
    return resolver.cluster_spec().as_dict(), resolver.task_type, resolver.task_id


# ---- which one -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TF_CONFIG": TF_CONFIG % "", **HOSTS, **SLURM, **POD}, "TFConfigClusterResolver"),
        ({**HOSTS, **SLURM, **POD}, "HostsClusterResolver"),
        ({**SLURM, **POD}, "SlurmClusterResolver"),
        ({**POD, "JOB_NAME": "nightly build", "TASK_INDEX": "7"}, "KubernetesClusterResolver"),
        ({key: value for key, value in SLURM.items() if key != "GRAPHFLOW_JOBS"}, "NoneType"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "NoneType"),
        ({"TF_CONFIG": ""}, "NoneType"),
        ({}, "NoneType"),
    ],
)
def test_what_names_the_cluster_itself_comes_before_what_an_engine_says(
    environment: dict[str, str], expected: str
) -> None:
    assert type(find_resolver(environment)).__name__ == expected


@pytest.mark.parametrize(
    ("environment", "job", "index", "address"),
    [
        (HOSTS, "worker", 1, "c:2"),
        (SLURM, "worker", 0, "n2:12192"),
        (POD, "worker", 2, "my-run-worker-2.tasks:8470"),
    ],
    ids=["hosts", "slurm", "kubernetes"],
)
def test_a_program_and_its_strategies_find_the_task_on_each_engine(
    environment: dict[str, str], job: str, index: int, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    cluster, *task = gf.train.task_from_environment()
    assert task == [job, index] and cluster.task_address(job, index) == address
    strategy = gf.distribute.ParameterServerStrategy.from_environment()
    assert strategy.worker_devices == [f"/job:{job}/task:{index}"]
    assert gf.distribute.CollectiveAllReduceStrategy.from_environment().worker_devices
    config = gf.estimator.RunConfig()
    assert (config.task_type, config.task_id, config.cluster_spec) == (job, index, cluster)
    assert config.master == f"zmq://{address}"


def test_without_an_engine_the_error_says_what_would_name_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match=r"TF_CONFIG is not set.*graphflow launch.*GRAPHFLOW_JOBS"):
        resolvers.resolver_from_environment()


def test_nothing_of_an_engine_is_imported_to_find_the_task() -> None:
    program = (
        "import sys, graphflow as gf; print(gf.train.task_from_environment()[1:]); "
        "print([name for name in ('kubernetes', 'ray', 'zmq', 'numba') if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **SLURM, "TF_CONFIG": ""},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert found.stdout == "('worker', 0)\n[]\n", found.stderr


# ---- as TensorFlow has them ------------------------------------------------------------------------------------------


def test_tf_config() -> None:
    resolver = resolvers.TFConfigClusterResolver(variables={"TF_CONFIG": TF_CONFIG % ', "local_devices": 2'})
    assert said(resolver) == (SPEC, "worker", 1)
    assert resolver.master() == "zmq://c:2" and resolver.master("ps", 0, "grpc") == "grpc://a:1"
    assert resolver.local_devices() == 2 and resolver.environment == ""
    other = resolvers.TFConfigClusterResolver("ps", 0, variables={"TF_CONFIG": TF_CONFIG % ""})
    assert other.task() == (gf.train.ClusterSpec(SPEC), "ps", 0) and other.master() == "zmq://a:1"
    empty = resolvers.TFConfigClusterResolver(variables={})
    assert said(empty) == ({}, None, None) and empty.master() == ""
    given = resolvers.TFConfigClusterResolver(variables={"TF_CONFIG": '{"session_master": "zmq://m:1"}'})
    assert given.master() == "zmq://m:1"
    with pytest.raises(RuntimeError, match="has no"):
        resolvers.TFConfigClusterResolver(
            variables={"TF_CONFIG": '{"cluster": {"ps": ["a:1", "b:1"]}}'}
        ).master()
    with pytest.raises(ValueError, match="no JSON"):
        resolvers.TFConfigClusterResolver(variables={"TF_CONFIG": "{"}).cluster_spec()


def test_what_the_environment_says_is_asked_anew_each_time() -> None:
    variables = dict(HOSTS)
    resolver = resolvers.HostsClusterResolver(variables=variables)
    assert resolver.task_address("worker", 1) == "c:2" and resolver.incarnation() is None
    variables |= {"WORKER_HOSTS": "b:1,d:3", "GRAPHFLOW_INCARNATION": "2"}
    assert resolver.task_address("worker", 1) == "d:3" and resolver.incarnation() == "2"
    resolver.task_type, resolver.task_id = "ps", 0
    assert resolver.task() == (gf.train.ClusterSpec({**SPEC, "worker": ["b:1", "d:3"]}), "ps", 0)


def test_a_cluster_that_is_written_down() -> None:
    spec = gf.train.ClusterSpec(SPEC)
    resolver = resolvers.SimpleClusterResolver(
        spec, "m:1", "ps", 0, num_accelerators={"GPU": 2}, rpc_layer="grpc"
    )
    assert resolver.cluster_spec() is spec and resolver.task() == (spec, "ps", 0)
    assert resolver.master() == "grpc://m:1" and resolver.master("worker", 1) == "grpc://c:2"
    assert resolver.num_accelerators() == {"GPU": 2}
    assert resolvers.SimpleClusterResolver(spec).master("ps", 0) == "a:1"  # As TensorFlow has it: no scheme.
    with pytest.raises(TypeError, match="cluster_spec must be a ClusterSpec"):
        resolvers.SimpleClusterResolver(SPEC)
    with pytest.raises(ValueError, match="does not say which task"):
        resolvers.SimpleClusterResolver(spec).task()


def test_several_resolvers_as_one() -> None:
    simple = resolvers.SimpleClusterResolver
    first = simple(gf.train.ClusterSpec({"worker": ["a:1"]}), task_type="worker", task_id=0, rpc_layer="zmq")
    second = simple(gf.train.ClusterSpec({"worker": ["b:1"], "ps": ["c:1"]}))
    union = resolvers.UnionResolver(first, second)
    assert said(union) == ({"worker": ["a:1", "b:1"], "ps": ["c:1"]}, "worker", 0)
    assert union.master() == "zmq://a:1"
    sparse = simple(gf.train.ClusterSpec({"worker": {3: "d:1"}}))
    assert resolvers.UnionResolver(first, sparse).cluster_spec().as_dict() == {"worker": {0: "a:1", 3: "d:1"}}
    with pytest.raises(KeyError, match=r"\[3\] of the job 'worker'"):
        resolvers.UnionResolver(sparse, sparse).cluster_spec()
    with pytest.raises(ValueError, match="At least one"):
        resolvers.UnionResolver()
    assert gf.contrib.cluster_resolver.UnionClusterResolver is resolvers.UnionResolver


# ---- Slurm -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu", ["gpu"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[01-03,07]", ["n01", "n02", "n03", "n07"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("a,n[1,3]-ib,b7", ["a", "n1-ib", "n3-ib", "b7"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("node-4.cluster.example.org", ["node-4.cluster.example.org"]),
    ],
)
def test_hosts_in_slurms_short_form(text: str, expected: list[str]) -> None:
    assert hosts_in(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n[",
        "n[]",
        "n[1-]",
        "n[3-1]",
        "n[1-2",
        "n]1[",
        "n[[1]]",
        "a,,b",
        "n[x]",
        "n[1-999999999]",
        "n[1-999]" * 3,
        "n" * 254,
        "n[1-100000]" + "x" * 250,
    ],
)
def test_what_is_no_list_of_hosts(text: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"SLURM_X (must be like n\[1-3\],m7|has more than \d+ hosts|has a host of more than 253 letters)",
    ):
        hosts_in(text, "SLURM_X")


def test_numbers_in_slurms_short_form() -> None:
    assert (
        counts_in("1(x3)") == [1, 1, 1]
        and counts_in("2,1") == [2, 1]
        and counts_in("2(x2),1,3(x1)") == [2, 2, 1, 3]
    )
    for text in ("", "x", "2(3)", "1(x999999)", "-1", "2,", "２"):
        with pytest.raises(ValueError, match="must be like"):
            counts_in(text)


def test_where_tasks_are_as_slurm_spreads_them() -> None:
    assert places_of([2, 1, 2], "block") == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)]
    assert places_of([2, 1, 2], "cyclic") == [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)]


def test_a_step_of_slurm() -> None:
    resolver = resolvers.SlurmClusterResolver(variables=SLURM)
    assert said(resolver) == ({"ps": ["n1:12192"], "worker": ["n2:12192", "n1:12193"]}, "worker", 0)
    assert resolver.master() == "zmq://n2:12192" and resolver.get_task_info() == ("worker", 0)
    assert resolver.incarnation() == "0" and resolver.local_devices() == 1
    again = {
        **SLURM,
        "SLURM_RESTART_COUNT": "2",
        "GRAPHFLOW_INCARNATION": "1",
        "GRAPHFLOW_LOCAL_DEVICES": "3",
    }
    resolver = resolvers.SlurmClusterResolver(variables=again)
    assert resolver.incarnation() == "2.1" and resolver.local_devices() == 3
    given = resolvers.SlurmClusterResolver({"worker": 3}, 8888, gpus_per_node=4, variables=SLURM)
    assert said(given) == ({"worker": ["n1:8888", "n2:8888", "n1:8889"]}, "worker", 1)
    assert given.num_accelerators() == {"GPU": 4}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"SLURM_STEP_RESV_PORTS": "12500-12501"}, ["n1:12500", "n2:12500", "n1:12501"]),
        ({"SLURM_STEP_RESV_PORTS": "12500,12507"}, ["n1:12500", "n2:12500", "n1:12507"]),
        ({"SLURM_STEP_RESV_PORTS": "12500-12501", "GRAPHFLOW_PORT": "700"}, ["n1:700", "n2:700", "n1:701"]),
        ({"SLURM_JOB_ID": "65535"}, ["n1:12960", "n2:12960", "n1:12961"]),
    ],
)
def test_ports_on_slurm(more: dict[str, str], expected: list[str]) -> None:
    spec = resolvers.SlurmClusterResolver(variables={**SLURM, **more}).cluster_spec()
    assert spec.job_tasks("ps") + spec.job_tasks("worker") == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"GRAPHFLOW_JOBS": "ps=1,worker=1"}, "2 tasks, but the step has 3: srun --ntasks=2"),
        ({"GRAPHFLOW_JOBS": "ps"}, "GRAPHFLOW_JOBS must name each job once"),
        ({"GRAPHFLOW_JOBS": "ps=1,ps=2"}, "GRAPHFLOW_JOBS must name each job once"),
        ({"GRAPHFLOW_JOBS": "ps=0"}, "at least one task"),
        ({"SLURM_STEP_NODELIST": "n[1-3]"}, "SLURM_STEP_TASKS_PER_NODE has 2 nodes, but the step has 3"),
        ({"SLURM_PROCID": "3"}, "SLURM_PROCID is 3, but the step has 3 tasks"),
        ({"SLURM_PROCID": "x"}, "SLURM_PROCID must be a number"),
        ({"SLURM_DISTRIBUTION": "plane=2"}, "--distribution=block"),
        ({"SLURM_HET_SIZE": "2"}, "several components"),
        ({"SLURM_STEP_RESV_PORTS": "12500"}, "has 1 ports, but a node has 2 tasks: srun --resv-ports=2"),
        ({"GRAPHFLOW_PORT": "65535"}, "beyond 65535"),
        ({"SLURM_RESTART_COUNT": "-1"}, "SLURM_RESTART_COUNT must be a number"),
    ],
)
def test_what_is_wrong_in_a_step_of_slurm_is_named(more: dict[str, str], expected: str) -> None:
    resolver = resolvers.SlurmClusterResolver(variables={**SLURM, **more})
    with pytest.raises(ValueError, match=expected):
        resolver.task()
        resolver.incarnation()


def test_gpus_are_given_out_if_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    third = {**SLURM, "SLURM_PROCID": "2", "SLURM_NODEID": "0", "SLURM_LOCALID": "1"}
    resolvers.SlurmClusterResolver(gpus_per_node=4, variables=third).cluster_spec()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
    resolvers.SlurmClusterResolver(gpus_per_node=4, gpus_per_task=2, variables=third).cluster_spec()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    with pytest.raises(ValueError, match="has 2 GPUs"):
        resolvers.SlurmClusterResolver(gpus_per_node=2, gpus_per_task=2, variables=third).cluster_spec()


# ---- what strangers may say -----------------------------------------------------------------------------------------

RAY = {
    "GRAPHFLOW_RAY_CLUSTER": "c1", "GRAPHFLOW_JOBS": "ps=1,worker=2", "GRAPHFLOW_JOB": "ps", "GRAPHFLOW_TASK": "0",
    "GRAPHFLOW_INCARNATION": "2", "GRAPHFLOW_LEASE_SECONDS": "10",
}  # fmt: skip
WRONG = [
    "", " ", "0", "-1", "1.5", "nan", "inf", "1e400", "9" * 5000, "x" * 300_000, "[" * 100_000, "n[1-", "n[1-131072]",
    "n[1-99999]" + "x" * 100_000, "n[1-99999][1-99999]", "1(x", "1(x131072)", "=", "ps=0", "\u0661", "\x00", "\ud800",
    "a:b", "::1", "{}", "[]", "null", '{"cluster": 5}', '{"cluster": {"ps": [null]}}', '{"task": []}',
    '{"task": {"index": 1e400}}', '{"task": {"index": %s}}' % ("9" * 5000),
    '{"cluster": {"worker": ["a:1"]}, "task": {"type": [], "index": 0}}',
    '{"cluster": {"worker": {"x": "a:1"}}, "local_devices": true}',
    '{"cluster": {"worker": {"%s": "a:1"}}}' % ("9" * 5000),
]  # fmt: skip


@pytest.mark.parametrize("right", [{"TF_CONFIG": TF_CONFIG % ""}, HOSTS, RAY, SLURM, POD])
def test_whatever_an_environment_says_the_error_is_one_of_its_variables_and_short(
    right: dict[str, str],
) -> None:
    drawn = random.Random(17)
    of_one = [right | {name: text} for name in right for text in WRONG]
    of_several = [
        {name: drawn.choice([text, text, *WRONG]) for name, text in right.items()} for _ in range(60)
    ]
    questions = [
        lambda found: found.task(),
        lambda found: (found.incarnation(), found.local_devices()),
        lambda found: (found.master(), found.master("ps", 0), found.master("nobody", -1)),
    ]
    for environment in (*of_one, *of_several):
        for ask in questions:
            try:
                ask(resolvers.resolver_from_environment(environment))
            except ValueError as error:
                assert len(str(error)) < 1500
                assert type(error) is ValueError and (str(error)[0] == '"' or str(error)[0].isupper()), error


# ---- Kubernetes ------------------------------------------------------------------------------------------------------


def test_a_pod_of_a_stateful_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = resolvers.KubernetesClusterResolver(variables={**POD, "GRAPHFLOW_PORT": "999"})
    spec, *task = resolver.task()
    assert task == ["worker", 2] and spec.job_tasks("ps") == [
        "my-run-ps-0.tasks:999",
        "my-run-ps-1.tasks:999",
    ]
    first = tmp_path / "stat"
    monkeypatch.setattr("graphflow._core.cluster.resolvers.kubernetes._FIRST_PROCESS", first)
    for began in ("4711", "8150"):  # A container that fails is begun anew in the same pod: another life, too.
        first.write_text(f"1 (a b) c) S {'0 ' * 18}{began} {'0 ' * 30}")
        assert resolver.incarnation() == f"9f3c.{began}"
    first.unlink()
    assert resolver.incarnation() == "9f3c.0"
    without = {key: value for key, value in POD.items() if key != "GRAPHFLOW_INCARNATION"}
    assert resolvers.KubernetesClusterResolver(variables=without).incarnation() is None
    named = {key: value for key, value in POD.items() if key != "GRAPHFLOW_SERVICE"}
    assert (
        resolvers.KubernetesClusterResolver(variables=named).master("ps", 1)
        == "zmq://my-run-ps-1.my-run:8470"
    )


@pytest.mark.parametrize(
    "pod", ["my-run-worker-3", "my-run-ps", "other-ps-0", "my-run-ps-x", "ps-0", "my-run--1"]
)
def test_a_pod_that_is_no_task_is_told_so(pod: str) -> None:
    resolver = resolvers.KubernetesClusterResolver(variables={**POD, "GRAPHFLOW_POD": pod})
    with pytest.raises(ValueError, match=f"'{pod}', and not my-run-ps-0 to 1 or my-run-worker-0 to 2"):
        resolver.task()


class Api:
    """What TensorFlow's resolver asks of the API."""

    def __init__(self, **phases: str) -> None:
        self._phases = phases

    def list_pod_for_all_namespaces(self, label_selector: str) -> SimpleNamespace:
        return SimpleNamespace(
            items=[
                SimpleNamespace(
                    metadata=SimpleNamespace(name=name),
                    status=SimpleNamespace(phase=phase, pod_ip=f"10.0.0.{at}"),
                )
                for at, (name, phase) in enumerate(self._phases.items())
                if label_selector == "job-name=tensorflow"
            ]
        )


def test_pods_that_the_api_lists() -> None:
    resolver = resolvers.KubernetesClusterResolver(override_client=Api(b="Running", a="Running"))
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470", "10.0.0.0:8470"]}
    assert resolver.master() == "" and resolver.master("worker", 0) == "zmq://10.0.0.1:8470"
    with pytest.raises(RuntimeError, match="Pod 'a' is not running; phase: 'Pending'"):
        resolvers.KubernetesClusterResolver(override_client=Api(a="Pending")).cluster_spec()


def test_accelerators_are_those_that_a_task_says_it_has() -> None:
    server = gf.train.Server.create_local_server()
    try:
        spec = gf.train.ClusterSpec({"local": [server.target.removeprefix("zmq://")]})
        resolver = resolvers.HostsClusterResolver(variables={})
        assert resolver.num_accelerators(config_proto=gf.ConfigProto(device_count={"GPU": 0})) == {}
        resolver.cluster_spec = lambda: spec
        found = resolver.num_accelerators("local", 0)
        assert set(found) <= {"GPU"}
    finally:
        server.stop()
