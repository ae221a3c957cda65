"""A Kubernetes on this machine: a control plane and two nodes, each a network namespace with a cable to a switch.

It is the real one: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and on each node a containerd and a
kubelet of its own, with pods on a bridge. There is no kube-proxy, since headless Services need none, and for the DNS
kubernetes_names.py stands in. Each of the three has process numbers and mounts of its own, so all of a node ends with
its first process, as if its power were cut.

`tests/engines/install_kubernetes.sh FOLDER` gets the programs: those that a distribution has by apt, Kubernetes' own
from Debian's source package, which is built in some ten minutes. They are looked for in the folder that
KUBERNETES_PROGRAMS names, and then on PATH.

What `graphflow launch --on kubernetes --print` writes goes in as it is, but for this: the image is a small one without
files of a system, so the machine's /usr, its Python and this project are mounted, read-only, where they are here. The
volume for the checkpoints is one of the type "local" that both nodes have, since they share the machine's disk.

What is not as elsewhere: a silent node is given up after 8 s, or as it is told, not after 40; kubelets look at their
pods every 5 s, and not every minute, since one of Kubernetes 1.20 may overlook until then that a pod has ended; no
process is spared by the kernel when memory runs out, which a machine may not permit.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from graphflow._core.cluster.launch.children import end_with_parent

PROJECT: Final = Path(__file__).resolve().parents[2]
PROGRAMS: Final = (
    "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "etcd", "containerd",
    "containerd-shim-runc-v2", "runc", "ctr", "busybox", "ip", "nsenter", "unshare", "openssl",
)  # fmt: skip
PLUGINS: Final = ("/usr/lib/cni", "/opt/cni/bin")
"""Where the programs that give pods a network may lie."""
WITHIN: Final = 180.0
NETWORK: Final = "10.233.17"
PODS: Final = "10.234"
DOMAIN: Final = "cluster.local"
IMAGE: Final = "graphflow.test/train:1"
USER: Final = 1000
"""Who the processes of the image are, as in examples/kubernetes/Dockerfile."""
NODES: Final = ("n1", "n2")
_PAUSE_IMAGE: Final = "graphflow.test/pause:1"
_OWN: Final = os.environ.get("KUBERNETES_PROGRAMS", "")
_PATH: Final = f"{_OWN}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/local/sbin"
_CGROUPS: Final = Path("/sys/fs/cgroup")
_KERNEL: Final = {
    "vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}  # fmt: skip
"""What a kubelet sets of its machine. These are files of each node's own: the machine stays as it is."""
_BOX: Final = """
mount --make-rshared /
mount -t tmpfs -o mode=755 graphflow /run && mkdir /run/netns
mount -t tmpfs -o mode=755 graphflow /var/log && mkdir "$FOLDER/data"
mount -t tmpfs graphflow "$FOLDER/data"
for path in "$FOLDER"/kernel/*; do
    at=/proc/sys/$(basename "$path" | tr . /)
    [ ! -e "$at" ] || mount --bind "$path" "$at"
done
ip link set lo up
sysctl -q -w net.ipv4.ip_forward=1 2>/dev/null || echo 1 > /proc/sys/net/ipv4/ip_forward
"""
"""The beginning of a node or the control plane: what its programs write elsewhere goes with it."""


def _found(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


def lack() -> str:
    """Why there cannot be a Kubernetes here; "" if there can."""
    if sys.platform != "linux" or os.geteuid():
        return "nodes of Kubernetes, which are network namespaces with containers, need root on Linux"
    absent = [name for name in PROGRAMS if _found(name) is None]
    if not any((Path(folder) / "bridge").exists() for folder in PLUGINS):
        absent.append("bridge of the CNI's plugins")
    if absent:
        return f"Kubernetes is not installed: there is no {', '.join(absent)}; see install_kubernetes.sh"
    if not (_CGROUPS / "memory").is_dir():
        return "the kubelet of Kubernetes 1.20 needs cgroups of version 1"
    return ""


def _run(
    *words: str, check: bool = True, text: str | None = None, within: float = 60
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=within, env={**os.environ, "PATH": _PATH}, check=False,
        input=text, stdin=subprocess.DEVNULL if text is None else None,
    )  # fmt: skip
    assert not (check and done.returncode), (words, done.stdout, done.stderr)
    return done


class _Box:
    """The control plane or a node: a network, process numbers and mounts of its own, and programs that begin there."""

    def __init__(self, name: str, folder: Path, number: int) -> None:
        self.name, self.folder = name, folder
        self.address = f"{NETWORK}.{number + 1}"
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self, script: str) -> None:
        """Begins its programs; the script is one of a shell."""
        with (self.folder / "out").open("ab") as out:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.name}", "unshare", "--mount", "--pid", "--fork",
                 "--kill-child", "--mount-proc", "bash", "-c", f"{_BOX}{script}\nwait\n"],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=self.folder, preexec_fn=end_with_parent(()),
                env={"PATH": _PATH, "FOLDER": str(self.folder), "HOME": str(self.folder)},
            )  # fmt: skip

    def end(self) -> None:
        """Ends all of its processes at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def processes(self) -> list[int]:
        """Its processes, in numbers of the machine."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"FOLDER={self.folder}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
        return found


class Kubernetes:
    """A context manager, at whose end nothing is left: no process, mount, namespace or cgroup.

    folder: short, since Unix sockets lie in it. files: what the image has in the folder where its programs begin.
    gives_up_after: seconds after which a silent node counts as not ready, which nobody says to most of them: 40 then.
    """

    def __init__(self, folder: Path, files: Mapping[str, str], gives_up_after: int = 8) -> None:
        self._gives_up_after = gives_up_after
        self._folder, self._files = folder, files
        prefix = f"gf-k8s-{os.getpid()}"
        self._switch, names = f"{prefix}-switch", ("control", *NODES)
        self._control, *nodes = self._boxes = [
            _Box(f"{prefix}-{name}", folder / name, number) for number, name in enumerate(names)
        ]
        self._nodes = dict(zip(NODES, nodes, strict=True))
        self._cgroup = prefix
        self._token = secrets.token_hex(16)
        self._api = f"https://{self._control.address}:6443"
        self._stack = ExitStack()

    # ---- its beginning and its end ----

    def __enter__(self) -> Kubernetes:
        with ExitStack() as stack:
            stack.callback(self._end)
            self._make_network()
            self._write()
            self._control.begin(self._control_plane())
            self.until(lambda: self.asked("get", "--raw", "/readyz", check=False) == "ok", "the API's server")
            for node in NODES:
                self.begin(node)
            for node in NODES:
                self.until(lambda node=node: self.ready(node), f"node {node}")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _end(self) -> None:
        for box in reversed(self._boxes):
            box.end()
        for name in (self._switch, *(box.name for box in self._boxes)):
            _run("ip", "netns", "del", name, check=False)
        for root in _CGROUPS.glob(f"*/{self._cgroup}"):
            for path in [*sorted(root.rglob("*/"), reverse=True), root]:
                limit = time.monotonic() + 10
                while path.is_dir() and time.monotonic() < limit:
                    with suppress(OSError):  # The last of its processes may be ending.
                        path.rmdir()
                        break
                    time.sleep(0.05)

    def _make_network(self) -> None:
        switch = self._switch
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "bridge", "up")
        for number, box in enumerate(self._boxes):
            own = ["ip", "-n", box.name]
            _run("ip", "netns", "add", box.name)
            peer = ["type", "veth", "peer", "name", "wire", "netns", box.name]
            _run("ip", "link", "add", f"port{number}", "netns", switch, *peer)
            _run("ip", "-n", switch, "link", "set", f"port{number}", "master", "bridge", "up")
            _run(*own, "addr", "add", f"{box.address}/24", "dev", "wire")
            _run(*own, "link", "set", "wire", "up")
            for other, node in enumerate(self._nodes.values(), 1):
                if node is not box:
                    _run(*own, "route", "add", f"{PODS}.{other}.0/24", "via", node.address)

    def _write(self) -> None:
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": self._api, "insecure-skip-tls-verify": True}}],
            "users": [{"name": "here", "user": {"token": self._token}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
        }  # fmt: skip
        (self._folder / "config").write_text(json.dumps(config))
        for box in self._boxes:
            (box.folder / "kernel").mkdir(parents=True)
            for name, value in _KERNEL.items():
                (box.folder / "kernel" / name.replace("/", ".")).write_text(value)
        (self._control.folder / "tokens").write_text(f"{self._token},admin,admin,system:masters\n")
        _run("openssl", "genrsa", "-out", str(self._control.folder / "accounts"), "2048")
        busybox = Path(str(_found("busybox"))).read_bytes()
        write_image(
            self._folder / "pause.tar",
            _PAUSE_IMAGE,
            {"busybox": busybox},
            ["/busybox", "sleep", "2147483647"],
        )
        links = {name: f"usr/{name}" for name in ("bin", "lib", "lib64", "sbin")}
        program = {f"app/{name}": text.encode() for name, text in self._files.items()}
        write_image(self._folder / "train.tar", IMAGE, program, ["/bin/sh"], links)

    def _control_plane(self) -> str:
        accounts, config = "accounts", f"--kubeconfig={self._folder}/config"
        return "\n".join(
            f"{' '.join(words)} > {words[0].rpartition('/')[2]}.log 2>&1 &"
            for words in (
                ["etcd", '--data-dir="$FOLDER/data/etcd"'],  # Memory: a disk that is busy would make leaders change.
                [
                    "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--service-cluster-ip-range=10.96.0.0/16",
                    f"--advertise-address={self._control.address}", '--cert-dir="$FOLDER/data"',
                    "--token-auth-file=tokens", f"--service-account-key-file={accounts}",
                    f"--service-account-signing-key-file={accounts}", "--service-account-issuer=https://here",
                    "--kubelet-preferred-address-types=InternalIP",
                ],
                [
                    "kube-controller-manager", config, "--leader-elect=false", "--node-monitor-period=1s",
                    f"--node-monitor-grace-period={self._gives_up_after}s",
                    f"--service-account-private-key-file={accounts}",
                ],
                ["kube-scheduler", config, "--leader-elect=false"],
                [
                    f"PYTHONPATH={PROJECT} {sys.executable}", "-m", "tests.engines.kubernetes_names", self._api,
                    self._token, DOMAIN,
                ],
            )
        )  # fmt: skip

    # ---- nodes ----

    def begin(self, node: str) -> None:
        """Begins a node, for the first time or after it has ended."""
        box = self._nodes[node]
        number = NODES.index(node) + 1
        cgroup = f"{self._cgroup}/{node}"
        for root in _CGROUPS.iterdir():
            if (root / "tasks").exists():
                (root / cgroup).mkdir(parents=True, exist_ok=True)
                for path in (root / self._cgroup, root / cgroup):
                    for name in ("cpuset.cpus", "cpuset.mems"):
                        if (path / name).exists():
                            (path / name).write_text((path.parent / name).read_text())
                    if (path / "cpu.shares").exists():  # As many tasks would have that are in no group.
                        (path / "cpu.shares").write_text(str(8 * 1024))
        plugins = next(folder for folder in PLUGINS if (Path(folder) / "bridge").exists())
        (box.folder / "containerd.toml").write_text(
            _CONTAINERD.format(folder=box.folder, pause=_PAUSE_IMAGE, plugins=plugins)
        )
        (box.folder / "cni").mkdir(exist_ok=True)
        bridge = {
            "cniVersion": "0.3.1", "name": "pods", "plugins": [{
                "type": "bridge", "bridge": "pods", "isDefaultGateway": True, "hairpinMode": True,
                "ipam": {
                    "type": "host-local", "ranges": [[{"subnet": f"{PODS}.{number}.0/24"}]], "dataDir": "/run/cni",
                },
            }],
        }  # fmt: skip
        (box.folder / "cni" / "pods.conflist").write_text(json.dumps(bridge))
        kubelet = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}, "cgroupRoot": f"/{cgroup}", "enforceNodeAllocatable": [],
            "clusterDNS": [self._control.address], "clusterDomain": DOMAIN, "failSwapOn": False,
            "makeIPTablesUtilChains": False, "nodeStatusUpdateFrequency": "2s",
            "evictionHard": {f"{name}.available": "0%" for name in ("memory", "nodefs", "imagefs")},
            "volumePluginDir": str(box.folder / "plugins"), "protectKernelDefaults": True,
            "syncFrequency": "5s",
        }  # fmt: skip
        (box.folder / "kubelet.json").write_text(json.dumps(kubelet))
        socket = box.folder / "containerd.sock"
        ctr = f"ctr --address {socket} --namespace k8s.io"
        images = f"{self._folder}/pause.tar {self._folder}/train.tar"
        box.begin(f"""
containerd --config containerd.toml > containerd.log 2>&1 &
until {ctr} version > /dev/null 2>&1; do sleep 0.1; done
for image in {images}; do {ctr} images import "$image"; done
kubelet --config kubelet.json --kubeconfig {self._folder}/config --container-runtime remote \\
    --container-runtime-endpoint unix://{socket} --root-dir {box.folder}/kubelet --cert-dir {box.folder}/kubelet/pki \\
    --hostname-override {node} --node-ip {box.address} > kubelet.log 2>&1 &
""")

    def end(self, node: str) -> None:
        """Ends a node: its kubelet, its containerd and all containers, at once."""
        self._nodes[node].end()

    def plug(self, node: str, there: bool) -> None:
        """Pulls the cable of a node, or puts it back."""
        port = f"port{NODES.index(node) + 1}"
        _run("ip", "-n", self._switch, "link", "set", port, "up" if there else "down")

    def ready(self, node: str) -> bool:
        """Whether the API says that a node is ready."""
        conditions = self.object("node", node).get("status", {}).get("conditions", ())
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def processes(self, pod: str) -> dict[int, list[str]]:
        """The command lines of a pod's processes, by their numbers on this machine, in the order of these."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                variables = (path / "environ").read_bytes().split(b"\0")
                if (
                    f"GRAPHFLOW_POD={pod}".encode() in variables
                    and f"GF_HERE={self._cgroup}".encode() in variables
                ):
                    words = (path / "cmdline").read_bytes().decode().split("\0")
                    if words != [""]:
                        found[int(path.name)] = words[:-1]
        return dict(sorted(found.items()))

    # ---- the API ----

    def asked(self, *words: str, text: str | None = None, check: bool = True) -> str:
        """What kubectl says."""
        inside = ["nsenter", f"--net=/run/netns/{self._control.name}"]
        config = f"--kubeconfig={self._folder}/config"
        return _run(
            *inside, str(_found("kubectl")), config, *words, text=text, check=check, within=WITHIN
        ).stdout

    def object(self, kind: str, name: str) -> dict[str, Any]:
        """An object of the API; {} if there is none."""
        text = self.asked("get", kind, name, "--ignore-not-found", "-o", "json", check=False)
        found: dict[str, Any] = json.loads(text or "{}")
        return found

    def until(self, there: Callable[[], object], what: str, more: Callable[[], str] = str) -> None:
        """Waits for a state."""
        limit = time.monotonic() + WITHIN
        while not there():
            assert time.monotonic() < limit, f"waited for {what}\n{more()}\n{self.text()}"
            time.sleep(0.1)

    def text(self) -> str:
        """What the API knows, and the ends of all logs."""
        known = self.asked("get", "nodes,pods,pv,pvc,events", "-o", "wide", check=False)
        logs = [path for box in self._boxes for path in [*box.folder.glob("*.log"), box.folder / "out"]]
        ends = [f"--- {path}\n{path.read_text(errors='replace')[-2000:]}" for path in logs if path.exists()]
        return "\n".join([known, *ends])

    def mounted(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """A manifest with what the machine has in place of files of the image; see the module's docstring."""
        if manifest["kind"] == "StatefulSet":
            pod = manifest["spec"]["template"]["spec"]
            container = pod["containers"][0]
            for number, path in enumerate(_places()):
                name = f"machine-{number}"
                pod["volumes"].append({"name": name, "hostPath": {"path": path, "type": "Directory"}})
                container["volumeMounts"].append({"name": name, "mountPath": path, "readOnly": True})
            container["env"].append({"name": "GF_HERE", "value": self._cgroup})  # Whose container it is.
        return manifest


def _places() -> list[str]:
    """The folders that a Python with this project needs, without those that lie in others of them."""
    wanted = ["/usr", sys.base_prefix, sys.prefix, str(PROJECT), *filter(os.path.isdir, sys.path)]
    found: list[str] = []
    for path in sorted({os.path.realpath(path) for path in wanted}):
        if not any(path == other or path.startswith(f"{other}/") for other in found):
            found.append(path)
    return found


def volume(name: str, folder: Path) -> dict[str, Any]:
    """A volume that both nodes have."""
    both = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(NODES)}]}
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteMany"], "local": {"path": str(folder)},
            "persistentVolumeReclaimPolicy": "Retain",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [both]}},
        },
    }  # fmt: skip


def write_image(
    path: Path, name: str, files: Mapping[str, bytes], command: Sequence[str], links: Mapping[str, str] = {}
) -> None:
    """Writes an image of one layer, in the form that `docker save` has."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for place in ("app", "tmp"):
            entry = tarfile.TarInfo(place)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(entry)
        for place, data in files.items():
            entry = tarfile.TarInfo(place)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
        for place, target in links.items():
            entry = tarfile.TarInfo(place)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    data = layer.getvalue()
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine),
        "os": "linux", "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(data).hexdigest()}"]},
        "config": {
            "Cmd": list(command), "WorkingDir": "/app", "User": str(USER),
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", f"PYTHONPATH={PROJECT}", "HOME=/tmp"],
        },
    }  # fmt: skip
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w") as tar:
        for place, content in (
            ("layer.tar", data),
            ("config.json", json.dumps(config).encode()),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            entry = tarfile.TarInfo(place)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


_CONTAINERD: Final = """\
version = 2
root = "{folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{folder}/cni"
"""
