"""Protects `graphflow launch --on`: what engines are given, and one task of a cluster that an engine has started.

The engines themselves are not here: sbatch and kubectl are stand-ins, which keep what they got.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.launch import kubernetes
from graphflow._core.cluster.launch.children import Child
from graphflow._core.cluster.ports import ReservedPorts
from graphflow.cli.main import main


def stand_in(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name, the only one that is found."""
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    path = tmp_path / "my train.py"
    path.write_text("")
    return path


# ---- Slurm -----------------------------------------------------------------------------------------------------------


def test_the_script_for_slurm(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--ps",
        "2",
        "--workers",
        "3",
        "--chief",
        "--local-devices",
        "2",
        "--restart",
        "4",
        "--import",
        "ext",
    ]
    more = ["--sbatch=--time=1:00", "--sbatch=--gpus-per-task=1", "--python", "/opt/py thon"]
    assert main(["launch", "--on", "slurm", "--print", *options, *more, program.name, "--x", "a b;c"]) == 0
    text = capsys.readouterr().out
    head, *lines = text.splitlines()
    assert head == "#!/bin/bash"
    assert [line for line in lines if line.startswith("#SBATCH")] == [
        "#SBATCH --job-name=my-train",
        "#SBATCH --ntasks=6",
        "#SBATCH --output=my-train-%j.log",
        "#SBATCH --open-mode=append",
        "#SBATCH --time=1:00",
        "#SBATCH --gpus-per-task=1",
    ]
    assert f"cd {shlex.quote(str(program.parent))}" in lines
    assert (
        "export GRAPHFLOW_JOBS=chief=1,ps=2,worker=3" in lines and "export GRAPHFLOW_LOCAL_DEVICES=2" in lines
    )
    words = shlex.split(text[text.index("srun") :])
    assert words[:2] == ["srun", "--ntasks=6"] and "--kill-on-bad-exit=1" in words
    assert words[words.index("/opt/py thon") :] == [
        *["/opt/py thon", "-P", "-m", "graphflow.cli", "launch", "--on", "environment", "--restart", "4"],
        *["--ps-program", "serve", "--import", "ext", "my train.py", "--x", "a b;c"],
    ]
    subprocess.run(["bash", "-n"], input=text, text=True, check=True, timeout=60)
    assert main(["launch", "--on", "slurm", "--print", "--keys", "k e", program.name]) == 0
    text = capsys.readouterr().out
    assert (
        f"export GRAPHFLOW_KEYS={shlex.quote(str(program.parent / 'k e'))}\n" in text and "keygen" not in text
    )


def test_a_key_of_the_job_is_its_users_alone_and_goes_with_it(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script runs as it is; srun is one that looks at the key."""
    assert main(["launch", "--on", "slurm", "--print", program.name]) == 0
    stand_in(program.parent, "srun", 'stat -c %a "$GRAPHFLOW_KEYS" "$GRAPHFLOW_KEYS"/*; exit 3', monkeypatch)
    done = subprocess.run(
        ["bash"],
        input=capsys.readouterr().out,
        env={**os.environ, "HOME": str(program.parent), "SLURM_JOB_ID": "7"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (3, "700\n600\n"), done.stderr
    assert list((program.parent / ".graphflow").iterdir()) == []


def test_keys_that_jobs_have_left_are_removed_by_the_next_one_and_those_in_use_are_not(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """scontrol is one that says of each job what its number stands for."""
    assert main(["launch", "--on", "slurm", "--print", program.name]) == 0
    text = capsys.readouterr().out
    stand_in(program.parent, "srun", ":", monkeypatch)
    says = (
        'case "$4" in 1) s=RUNNING;; 2) s=PENDING;; 3) s=COMPLETING;; 4) s=CANCELLED;; '
        "5) s=COMPLETED;; 6) s=NODE_FAIL;; "
        "7) echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1;; "
        "8) echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1;; esac; "
        'echo "JobId=$4 JobName=x JobState=$s Reason=None"'
    )
    stand_in(program.parent, "scontrol", says, monkeypatch)
    folder = program.parent / ".graphflow"
    for name in [*(f"slurm-here-{number}" for number in range(1, 9)), "slurm-there-4", "token"]:
        (folder / name).mkdir(parents=True)
    subprocess.run(
        ["bash"], input=text, text=True, check=True, timeout=100,
        env={**os.environ, "HOME": str(program.parent), "SLURM_JOB_ID": "9", "SLURM_CLUSTER_NAME": "here"},
    )  # fmt: skip
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["slurm-here-1", "slurm-here-2", "slurm-here-3", "slurm-here-8", "slurm-there-4", "token"]


def test_a_job_is_submitted(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = ["launch", "--on", "slurm", "--name", "night", program.name]
    monkeypatch.setenv("PATH", str(program.parent))
    assert main(launch) == 2
    assert "There is no sbatch here" in capsys.readouterr().err
    stand_in(program.parent, "sbatch", 'cat > got; echo "$@" >> got; echo "12;main"', monkeypatch)
    assert main(launch) == 0
    log = program.parent / "night-12.log"
    assert capsys.readouterr().out == f"job 12 is submitted; its output is in {log}\n"
    got = (program.parent / "got").read_text()
    assert got.startswith("#!/bin/bash\n#SBATCH --job-name=night\n") and got.endswith("--parsable\n")
    stand_in(program.parent, "sbatch", 'cat > got; echo "no such partition" >&2; exit 1', monkeypatch)
    assert main(launch) == 2
    assert capsys.readouterr().err == "graphflow: sbatch: no such partition\n"


def test_an_engine_that_does_not_answer_is_not_waited_for_for_ever(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphflow.cli.launching.engines.ENGINE_ANSWER_SECONDS", 0.2)
    stand_in(program.parent, "sbatch", "exec sleep 600", monkeypatch)
    assert main(["launch", "--on", "slurm", program.name]) == 2
    assert "sbatch has not answered for 0.2 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--on", "slurm", "--python", "py\x1b[2J"], "signs that cannot be printed"),
        (["--on", "slurm", "--sbatch=time=1"], "An option of sbatch is like"),
        (["--on", "slurm", "--sbatch=--time=1\nrm -rf x"], "An option of sbatch is like"),
        (["--on", "slurm", "--name", "My Job"], "small letters"),
        (["--on", "slurm", "--bind", "0.0.0.0"], "--bind is for a cluster on this machine"),
        (["--print"], "--print is for --on"),
        (["--on", "environment"], "TF_CONFIG is not set"),
    ],
)
def test_what_cannot_be_is_said(
    options: list[str], expected: str, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["launch", *options, program.name]) == 2
    assert expected in capsys.readouterr().err


# ---- Kubernetes ------------------------------------------------------------------------------------------------------

FIELDS = {
    "Secret": {"type": str, "stringData": dict},
    "PersistentVolumeClaim": {"spec": {"accessModes": list, "resources": {"requests": {"storage": str}}}},
    "Service": {
        "spec": {"clusterIP": str, "publishNotReadyAddresses": bool, "selector": dict, "ports": list}
    },
    "StatefulSet": {
        "spec": {
            "serviceName": str,
            "replicas": int,
            "podManagementPolicy": str,
            "selector": {"matchLabels": dict},
            "template": {
                "metadata": {"labels": dict},
                "spec": {
                    "automountServiceAccountToken": bool,
                    "enableServiceLinks": bool,
                    "terminationGracePeriodSeconds": int,
                    "securityContext": {"fsGroup": int, "fsGroupChangePolicy": str},
                    "containers": list,
                    "volumes": list,
                },
            },
        }
    },
}
"""The fields of the API that the manifests have, and no others."""
PROBE = {
    "exec": {"command": list}, "initialDelaySeconds": int, "periodSeconds": int, "timeoutSeconds": int,
    "failureThreshold": int,
}  # fmt: skip
CONTAINER = {
    "name": str, "image": str, "command": list, "env": list, "ports": list, "volumeMounts": list,
    "readinessProbe": PROBE,
}  # fmt: skip


def check_fields(value: Any, fields: Any, where: str) -> None:
    if isinstance(fields, dict):
        assert set(value) == set(fields), where
        for name, inner in fields.items():
            check_fields(value[name], inner, f"{where}.{name}")
    else:
        assert type(value) is fields and value not in ("", [], {}), where


def manifests_of_two_jobs() -> list[dict[str, Any]]:
    command = ["python", "launch", "$(HOME)", "--x={task_index}: #"]
    return kubernetes.manifests(
        "run", {"chief": 0, "ps": 2, "worker": 3}, command, ["status"], "image:1", "a key\n"
    )


def test_the_manifests_have_the_fields_of_the_api() -> None:
    found = manifests_of_two_jobs()
    assert [(one["kind"], one["apiVersion"], one["metadata"]["name"]) for one in found] == [
        ("Secret", "v1", "run-keys"),
        ("PersistentVolumeClaim", "v1", "run-checkpoints"),
        ("Service", "v1", "run"),
        ("StatefulSet", "apps/v1", "run-ps"),
        ("StatefulSet", "apps/v1", "run-worker"),
    ]
    head = {"apiVersion": str, "kind": str, "metadata": {"name": str, "labels": dict}}
    for one in found:
        check_fields(one, {**head, **FIELDS[one["kind"]]}, one["kind"])
    for one, probes in zip(found[3:], ({"livenessProbe": PROBE}, {}), strict=True):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        check_fields(container, {**CONTAINER, **probes}, one["metadata"]["name"])
        assert container["command"][2] == "$$(HOME)"
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"] == labels
        assert found[2]["spec"]["selector"].items() <= labels.items()
    secret = found[3]["spec"]["template"]["spec"]["volumes"][0]["secret"]
    for one in found[
        3:
    ]:  # A folder that goes with the pod, and not with its container, counts the lives of its task.
        pod = one["spec"]["template"]["spec"]
        mounts = {mount["mountPath"]: mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        variables = {entry["name"]: entry.get("value") for entry in pod["containers"][0]["env"]}
        assert {"name": mounts[variables["GRAPHFLOW_LIVES"]], "emptyDir": {}} in pod["volumes"]
    assert (
        secret == {"secretName": "run-keys", "defaultMode": 0o440}
        and found[0]["stringData"]["cluster.key"] == "a key\n"
    )
    assert found[2]["spec"]["publishNotReadyAddresses"] and found[2]["spec"]["clusterIP"] == "None"


def test_a_pod_of_the_manifests_finds_its_task_and_the_names_that_the_service_gives() -> None:
    found = manifests_of_two_jobs()
    for one in found[3:]:
        (container,) = one["spec"]["template"]["spec"]["containers"]
        variables = {entry["name"]: entry.get("value", "") for entry in container["env"]}
        job = one["metadata"]["name"].removeprefix("run-")
        variables |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "GRAPHFLOW_POD": f"run-{job}-1"}
        cluster, *task = gf.train.task_from_environment(variables)
        assert task == [job, 1] and cluster.num_tasks("ps") == 2 and cluster.num_tasks("worker") == 3
        (port,) = container["ports"]
        assert (
            cluster.task_address(job, 1) == f"{one['metadata']['name']}-1.{one['spec']['serviceName']}:8470"
        )
        assert port["containerPort"] == found[2]["spec"]["ports"][0]["port"] == 8470
        probe = container["readinessProbe"]["exec"]["command"]
        assert probe == ["status", "zmq://127.0.0.1:8470"]


def test_the_manifests_pass_the_schemas_of_kubernetes() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for one in manifests_of_two_jobs():
        validate.validate(one, "1.31", strict=True)


def test_objects_as_yaml() -> None:
    objects = [
        {
            "a": {"b": ["x", {"c": 1, "d": [True, "yes"]}], "e": {}},
            "f-g/h.i": "1:2 #",
            "j": "l\nm",
            "k": "007",
        }
    ]
    assert kubernetes.as_yaml(objects) == (
        '---\na:\n  b:\n    - x\n    - c: 1\n      d:\n        - true\n        - "yes"\n  e: {}\n'
        'f-g/h.i: "1:2 #"\nj: "l\\nm"\nk: "007"\n'
    )


def test_manifests_are_printed_into_a_file_that_nobody_else_reads_or_applied(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = [
        "launch",
        "--on",
        "kubernetes",
        "--image",
        "a/b:1",
        "--name",
        "run",
        "--workers",
        "1",
        "in/image.py",
    ]
    path = program.parent / "manifests.yaml"
    path.touch(0o644)
    with path.open("w") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        assert main([*launch[:-1], "--print", launch[-1]]) == 0
    assert path.stat().st_mode & 0o777 == 0o600 and "readable for you alone" in capsys.readouterr().err
    text = path.read_text()
    assert text.count("---\n") == 5 and "replicas: 1" in text and "\n            - in/image.py\n" in text
    assert text.index('- "--stay"') < text.index("- in/image.py")
    stand_in(program.parent, "kubectl", 'cat > got; echo "$@"', monkeypatch)
    gf_key = program.parent / "key"
    assert main(["keygen", str(gf_key)]) == 0 and capsys.readouterr()
    assert main([*launch[:-1], "--keys", str(gf_key), launch[-1]]) == 0
    assert capsys.readouterr().out == "apply -f -\n"
    assert json.dumps((gf_key / "cluster.key").read_text()) in (program.parent / "got").read_text()
    assert main(["launch", "--on", "kubernetes", "--print", "x.py"]) == 2
    assert main([*launch[:-1], "--storage", "lots", "x.py"]) == 2
    (gf_key / "cluster.key").chmod(0o644)
    assert main([*launch[:-1], "--keys", str(gf_key), launch[-1]]) == 2
    assert "is not yours alone" in capsys.readouterr().err


def test_a_task_alone_says_how_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """What a probe asks: the other tasks may be missing."""
    with ReservedPorts(2) as reserved:
        ps, worker = [f"localhost:{port}" for port in reserved.ports]
        server = gf.train.Server({"ps": [ps], "worker": [worker]}, "ps", 0)
        try:
            assert main(["status", "--alone", f"zmq://{ps}", "--seconds", "20"]) == 0
            assert "worker" not in capsys.readouterr().out
            assert main(["status", f"zmq://{ps}", "--seconds", "0.2"]) == 1
        finally:
            server.stop()


# ---- one task of a cluster that an engine has started ----------------------------------------------------------------


def one_task(
    program: Path, text: str, job: str, index: int, monkeypatch: pytest.MonkeyPatch, *options: str
) -> int:
    program.write_text(f"import os, signal, sys, time\n{text}")
    with ReservedPorts(3) as reserved:
        ps, *workers = [f"localhost:{port}" for port in reserved.ports]
        config = {"cluster": {"ps": [ps], "worker": workers}, "task": {"type": job, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        return main(
            ["launch", "--on", "environment", "--ps-program", "same", *options, program.name, "{task_index}"]
        )


def test_a_worker_that_fails_does_not_end_what_the_engine_runs(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "print(sys.argv[1], os.environ['GRAPHFLOW_INCARNATION'], flush=True); sys.exit('lost')"
    monkeypatch.setenv("GRAPHFLOW_INCARNATION", "b7")
    assert one_task(program, text, "worker", 1, monkeypatch, "--restart", "1") == 0
    found = capfd.readouterr()
    assert found.out == "[worker 1] 1 b7.0\n[worker 1] 1 b7.1\n"
    assert (
        "is started again, 1 of 1" in found.err
        and "worker 1 failed (exit status 1); the others go on" in found.err
    )


def test_a_server_that_fails_ends_it(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert one_task(program, "sys.exit(5)", "ps", 0, monkeypatch) == 5
    assert "the job cannot go on without it" in capfd.readouterr().err


def test_the_chief_elsewhere_says_when_it_has_ended(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "os.kill(os.getppid(), signal.SIGUSR1); time.sleep(600)"
    before = signal.getsignal(signal.SIGUSR1)
    assert one_task(program, text, "worker", 1, monkeypatch) == 0
    assert signal.getsignal(signal.SIGUSR1) is before
    assert "worker 0 has ended well" in capfd.readouterr().err


def test_the_word_of_the_chiefs_end_does_not_kill_who_has_ended_by_himself_meanwhile(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    before = signal.getsignal(signal.SIGUSR1)
    try:
        text = "assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL"  # The program's own affair.
        assert one_task(program, text, "ps", 0, monkeypatch) == 0
        signal.raise_signal(signal.SIGUSR1)  # The launcher is about to end; so would this process be.
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_chiefs_end_stops_the_servers_of_the_others_and_the_step(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is in this process; scancel is a stand-in."""
    stand_in(program.parent, "scancel", 'echo "$@" > cancelled', monkeypatch)
    monkeypatch.setenv("SLURM_JOB_ID", "4")
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    other = gf.train.Server.create_local_server()
    try:
        cluster = {"ps": [other.target.removeprefix("zmq://")], "worker": ["localhost:1"]}
        config = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        usr1 = signal.getsignal(signal.SIGUSR1)
        try:
            assert main(["launch", "--on", "environment", program.name]) == 0
        finally:
            signal.signal(signal.SIGUSR1, usr1)
        other.join()
    finally:
        other.stop()
    assert (program.parent / "cancelled").read_text() == "--quiet --signal=USR1 4.0\n"


def test_a_task_that_has_ended_well_stays_where_the_engine_would_begin_it_again(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert one_task(program, "sys.exit('lost')", "worker", 1, monkeypatch, "--stay") == 1
    again = "sys.exit('lost' if os.environ['GRAPHFLOW_INCARNATION'].endswith('0') else 0)"
    capfd.readouterr()
    program.write_text(
        f"import os, sys\n{again}"
    )  # One that fails, is begun anew in its container, and ends well.
    words = [
        sys.executable,
        "-P",
        "-m",
        "graphflow.cli",
        "launch",
        "--on",
        "environment",
        "--stay",
        "--restart",
        "1",
        program.name,
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "worker 1 has ended well, and waits to be deleted\n"
        process.terminate()
        assert process.wait(100) == 0
    finally:
        process.kill()
        process.communicate(timeout=60)


def test_a_server_may_ignore_the_signal_that_an_engine_sends_to_all() -> None:
    text = "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_IGN)"
    for ignored in ((signal.SIGTERM,), ()):
        child = Child([sys.executable, "-c", text], os.environ, ignored)
        assert child.stdout.read() == f"{bool(ignored)}\n".encode()
        while child.look() is None:
            time.sleep(0.01)
        child.close()
