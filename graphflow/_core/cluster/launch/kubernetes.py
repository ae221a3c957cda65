"""Clusters as StatefulSets of Kubernetes: the manifests for kubectl.

A StatefulSet a job gives each task a name that stays; a headless service gives it an entry in the DNS, before it is
ready too, since the tasks wait for one another. Nothing asks the API, so pods get no token for it. The key is a secret,
which is mounted read-only.

A pod that Kubernetes does not reach may live on when another one has its name, and be heard again. So a folder of each
pod counts the lives of its task, and who has heard of a later one refuses the earlier one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from graphflow._core.cluster.environment import BIND_VARIABLE
from graphflow._core.cluster.resolvers.base import (
    INCARNATION_VARIABLE,
    JOBS_VARIABLE,
    LOCAL_DEVICES_VARIABLE,
    PORT_VARIABLE,
)
from graphflow._core.cluster.resolvers.kubernetes import NAME_VARIABLE, POD_VARIABLE, PORT, SERVICE_VARIABLE
from graphflow._core.cluster.resolvers.pod_lives import LIVES_VARIABLE
from graphflow._core.common.timeouts import LAUNCHER_CHIEF_SECONDS
from graphflow._core.transport import keys

CHECKPOINTS: Final = "/checkpoints"
"""Where the volume is that all tasks share."""
_KEYS: Final = "/etc/graphflow-keys"
_LIVES: Final = "/var/lib/graphflow-lives"
_GROUP: Final = 1000
"""The group that may read the key and write the volume, of which every process of the pods is."""
_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

Manifest = dict[str, Any]


def manifests(
    name: str,
    jobs: Mapping[str, int],
    command: Sequence[str],
    status: Sequence[str],
    image: str,
    key: str,
    served: bool = True,
    local_devices: int = 1,
    storage: str = "10Gi",
    access: str = "ReadWriteMany",
) -> list[Manifest]:
    """The objects of a cluster, in the order in which they are to be made.

    command: what each task runs. status: asks a target, its last argument, whether a task answers. key: the text of the
    file of the cluster's key. served: whether a ps is a server alone, which answers from the start for as long as it is
    well; of a program that cannot be said.
    """
    labels = {"app.kubernetes.io/name": "graphflow", "app.kubernetes.io/instance": name}

    def of(kind: str, version: str, called: str, **rest: Any) -> Manifest:
        return {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": called, "labels": labels},
            **rest,
        }

    ports = [{"name": "graphflow", "port": PORT, "targetPort": PORT}]
    claim = {"accessModes": [access], "resources": {"requests": {"storage": storage}}}
    found = [
        of("Secret", "v1", f"{name}-keys", type="Opaque", stringData={keys.FILE: key}),
        of("PersistentVolumeClaim", "v1", f"{name}-checkpoints", spec=claim),
        of(
            "Service", "v1", name,
            spec={"clusterIP": "None", "publishNotReadyAddresses": True, "selector": labels, "ports": ports},
        ),
    ]  # fmt: skip
    settings = {
        JOBS_VARIABLE: ",".join(f"{job}={count}" for job, count in sorted(jobs.items()) if count),
        NAME_VARIABLE: name,
        SERVICE_VARIABLE: name,
        PORT_VARIABLE: str(PORT),
        LOCAL_DEVICES_VARIABLE: str(local_devices),
        BIND_VARIABLE: "0.0.0.0",
        keys.VARIABLE: _KEYS,
        LIVES_VARIABLE: _LIVES,
    }
    fields = {POD_VARIABLE: "metadata.name", INCARNATION_VARIABLE: "metadata.uid"}
    environment: list[Manifest] = [{"name": key, "value": value} for key, value in settings.items()]
    environment += [
        {"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in fields.items()
    ]
    for job, count in sorted(jobs.items()):
        if not count:
            continue
        own = {**labels, "graphflow/job": job}
        container: Manifest = {
            "name": "task",
            "image": image,
            "command": [word.replace("$(", "$$(") for word in command],  # It would put variables in.
            "env": environment,
            "ports": [{"name": "graphflow", "containerPort": PORT}],
            "readinessProbe": _probe(status, 30, 3),
            "volumeMounts": [
                {"name": "keys", "mountPath": _KEYS, "readOnly": True},
                {"name": "checkpoints", "mountPath": CHECKPOINTS},
                {"name": "lives", "mountPath": _LIVES},
            ],
        }
        if served and job == "ps":
            # A server that does not answer for minutes, on a busy node too, hangs.
            container["livenessProbe"] = _probe(status, 60, 5)
        volumes = [
            {"name": "keys", "secret": {"secretName": f"{name}-keys", "defaultMode": 0o440}},
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": f"{name}-checkpoints"}},
            {"name": "lives", "emptyDir": {}},
        ]
        pod = {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,  # The variables of all services of a namespace are in nobody's way.
            "terminationGracePeriodSeconds": int(1.5 * LAUNCHER_CHIEF_SECONDS),
            # Whatever is in the volume would be gone through at each begin of a pod, while others write there.
            "securityContext": {"fsGroup": _GROUP, "fsGroupChangePolicy": "OnRootMismatch"},
            "containers": [container],
            "volumes": volumes,
        }
        spec = {
            "serviceName": name,
            "replicas": count,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": own}, "spec": pod},
        }
        found.append(of("StatefulSet", "apps/v1", f"{name}-{job}", spec=spec))
    return found


def _probe(status: Sequence[str], period: int, failures: int) -> Manifest:
    return {
        "exec": {"command": [*status, f"zmq://127.0.0.1:{PORT}"]},
        "initialDelaySeconds": 5,
        "periodSeconds": period,
        "timeoutSeconds": 20,
        "failureThreshold": failures,
    }


def as_yaml(objects: Sequence[Manifest]) -> str:
    """Objects of dictionaries, lists, texts and numbers as documents of YAML; most texts stand as JSON has them."""
    return "".join("---\n" + "".join(f"{line}\n" for line in _lines(found)) for found in objects)


def _lines(value: Any) -> Iterator[str]:
    """The lines of a dictionary or a list that is not empty."""
    entries = value.items() if isinstance(value, dict) else [("-", entry) for entry in value]
    for key, entry in entries:
        head = "-" if isinstance(value, list) else f"{_scalar(key)}:"
        if not isinstance(entry, dict | list) or not entry:
            yield f"{head} {_scalar(entry)}"
        elif head == "-":
            first, *rest = _lines(entry)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
        else:
            yield head
            yield from (f"  {line}" for line in _lines(entry))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)
