"""The options of sessions and runs: TensorFlow's ConfigProto, RunOptions and RunMetadata as plain objects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

import graphflow.protos as protos
from graphflow.protos.plain import Later, MessageList, NumberByName, PlainMessage
from graphflow.protos.run_metadata import read_devices, write_run_metadata

TIERS: Final = ("auto", "never", "always")
"""The values that `compiled` may have."""


@dataclass
class GPUOptions(PlainMessage):
    """Options of the GPU devices.

    Args:
        per_process_gpu_memory_fraction: The share of a GPU's memory to take.
        allow_growth: Whether it is taken as it is needed.
        visible_device_list: The GPUs to use, such as "0,2".
        allocator_type: Accepted, and not needed.
        deferred_deletion_bytes: Accepted, and not needed.
        polling_active_delay_usecs: Accepted, and not needed.
        polling_inactive_delay_msecs: Accepted, and not needed.
        force_gpu_compatible: Accepted, and not needed.
        experimental: Accepted, and not needed.
    """

    _protobuf = ("config_pb2", "GPUOptions")
    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    visible_device_list: str = ""
    allocator_type: str = ""
    deferred_deletion_bytes: int = 0
    polling_active_delay_usecs: int = 0
    polling_inactive_delay_msecs: int = 0
    force_gpu_compatible: bool = False
    experimental: Any = field(default_factory=lambda: Later("config_pb2", "GPUOptions.Experimental"))


@dataclass
class OptimizerOptions(PlainMessage):
    """How much the plan's passes do; `opt_level` L0 (-1) switches constant folding off.

    DEFAULT, OFF, ON_1 and ON_2 are values of `global_jit_level`.

    Args:
        opt_level: L0 or L1.
        do_constant_folding: Whether constants are folded.
        do_common_subexpression_elimination: Whether equal operations become one.
        do_function_inlining: Accepted: functions are always inlined.
        global_jit_level: Accepted, and not needed.
        max_folded_constant_in_bytes: Accepted, and not needed.
    """

    _protobuf = ("config_pb2", "OptimizerOptions")
    L1 = 0
    L0 = -1
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2
    opt_level: int = 0
    do_constant_folding: bool = True
    do_common_subexpression_elimination: bool = True
    do_function_inlining: bool = True
    global_jit_level: int = 0
    max_folded_constant_in_bytes: int = 0


@dataclass
class GraphOptions(PlainMessage):
    """Options of the plan.

    Args:
        optimizer_options: A gf.OptimizerOptions.
        enable_bfloat16_sendrecv: Accepted, and not needed.
        infer_shapes: Accepted: shapes are always inferred.
        rewrite_options: Accepted, and not needed: what TensorFlow's rewriting of graphs does, the plan's passes do.
        enable_recv_scheduling: Accepted, and not needed.
        build_cost_model: Accepted, and not needed.
        build_cost_model_after: Accepted, and not needed.
        place_pruned_graph: Accepted, and not needed: plans are placed, which have what is fetched alone.
        timeline_step: Accepted, and not needed.
    """

    _protobuf = ("config_pb2", "GraphOptions")
    optimizer_options: OptimizerOptions = field(default_factory=OptimizerOptions)
    enable_bfloat16_sendrecv: bool = False
    infer_shapes: bool = False
    rewrite_options: Any = field(default_factory=lambda: Later("rewriter_config_pb2", "RewriterConfig"))
    enable_recv_scheduling: bool = False
    build_cost_model: int = 0
    build_cost_model_after: int = 0
    place_pruned_graph: bool = False
    timeline_step: int = 0


@dataclass
class RPCOptions(PlainMessage):
    """How a session talks to the server in its own process.

    Args:
        use_rpc_for_inprocess_master: Accepted, and not needed: such a session sends messages in any case.
        compression_algorithm: Accepted, and not needed.
        compression_level: Accepted, and not needed.
        cache_rpc_response: Accepted, and not needed: what a task has answered is kept until it was heard.
    """

    _protobuf = ("rpc_options_pb2", "RPCOptions")
    use_rpc_for_inprocess_master: bool = False
    compression_algorithm: str = ""
    compression_level: int = 0
    cache_rpc_response: bool = False


def _thread_pool(**values: Any) -> Any:
    return protos.config_pb2.ThreadPoolOptionProto(**values)


@dataclass
class ConfigProto(PlainMessage):
    """Options of a Session.

    Args:
        device_count: How many devices of a type there are, as {"CPU": 2}.
        intra_op_parallelism_threads: Threads that share one big operation; 0 means one per core. Results do not
            depend on it.
        inter_op_parallelism_threads: Accepted; the devices of a process run concurrently in any case.
        use_per_session_threads: Accepted, and not needed.
        placement_period: Accepted, and not needed.
        device_filters: The devices, such as "/job:ps", that the session sees; it asks no other task. Empty: all.
        gpu_options: A GPUOptions.
        allow_soft_placement: Place an op on another device of its task if its own does not exist.
        log_device_placement: Write each op's device to sys.stderr when it is placed.
        graph_options: A GraphOptions.
        operation_timeout_in_ms: Deadline of every run; 0 means none, or that of its master on a cluster: what a
            Server is given here holds for the sessions on it that say nothing else. DeadlineExceededError names
            what is awaited.
        connect_timeout_in_ms: How long a Session on a cluster waits for absent tasks; then UnavailableError names
            them. So long a Server waits for its own name to be known.
        wait_for_left_tasks: Whether it waits, too, for tasks that were there before and that its graph does not
            name.
        replica_wait_in_ms: How long a round of synchronous training waits for workers that are gone; then an error
            names them. 0 means three seconds for a bare Session, and ten minutes for one of MonitoredSession or
            Supervisor.
        rpc_options: Accepted, and not needed.
        cluster_def: Accepted: the session's target says which cluster it is.
        session_inter_op_thread_pool: Accepted, and not needed.
        experimental: Accepted, and not needed.
        isolate_session_state: Accepted, and without effect.
        check_numerics: Raise InvalidArgumentError at the first operation whose result has a NaN or an infinity.
        server_idle_minutes: How long Server.join() goes on when no client is heard of any more; 0 means for ever.
        cluster_keys: The folder of the cluster's key (`graphflow keygen FOLDER`), for a Server and for a Session on
            one; by default what the environment variable GRAPHFLOW_KEYS names, and without any a cluster stays on
            one machine.
        server_bind: Where a Server listens, HOST or HOST:PORT, if that is not its address in the cluster, which the
            others connect to; by default what the environment variable GRAPHFLOW_BIND says. 0.0.0.0 is all that the
            machine has.
        tcp_only: Whether a Server, or a Session on one, talks by TCP even to processes of its own machine, as if
            they were on others: without shared memory and Unix sockets, which are faster.
        compiled: "auto" starts on NumPy and goes over to compiled code when hot, "never" and "always" ask for one
            tier.
        verify_compiled: Whether compiled code has to agree with NumPy on one run before it is used
            (docs/errors.md). None: if what has to be copied of variables and inputs for that stays under 256 MiB.
            True: always. False: never.
        verify_plans: Check each plan after every pass: InternalError names the pass that made a wrong one
            (docs/write-a-pass.md).

    Examples:
        >>> config = gf.ConfigProto(allow_soft_placement=True, compiled="never")
        >>> with gf.Session(config=config) as session:
        ...     print(session.run(gf.constant(1) + 1))
        2
    """

    _protobuf = ("config_pb2", "ConfigProto")
    device_count: dict[str, int] = field(default_factory=NumberByName)
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    use_per_session_threads: bool = False
    placement_period: int = 0
    device_filters: list[str] = field(default_factory=list)
    gpu_options: GPUOptions = field(default_factory=GPUOptions)
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    graph_options: GraphOptions = field(default_factory=GraphOptions)
    operation_timeout_in_ms: int = 0
    connect_timeout_in_ms: int = 10_000
    wait_for_left_tasks: bool = True
    replica_wait_in_ms: int = 0
    rpc_options: RPCOptions = field(default_factory=RPCOptions)
    cluster_def: Any = field(default_factory=lambda: Later("cluster_pb2", "ClusterDef"))
    session_inter_op_thread_pool: list[Any] = field(default_factory=lambda: MessageList(_thread_pool))
    experimental: Any = field(default_factory=lambda: Later("config_pb2", "ConfigProto.Experimental"))
    isolate_session_state: bool = False
    check_numerics: bool = False
    server_idle_minutes: float = 10.0
    cluster_keys: str = ""
    server_bind: str = ""
    tcp_only: bool = False
    compiled: str = "auto"
    verify_compiled: bool | None = None
    verify_plans: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.device_count, NumberByName):
            self.device_count = NumberByName(self.device_count)
        if self.compiled not in TIERS:
            raise ValueError(f"compiled is 'auto', 'never' or 'always', not {self.compiled!r}.")
        if self.verify_compiled is not None and not isinstance(self.verify_compiled, bool):
            raise ValueError(f"verify_compiled is None, True or False, not {self.verify_compiled!r}.")
        for name in (
            "intra_op_parallelism_threads",
            "inter_op_parallelism_threads",
            "operation_timeout_in_ms",
            "connect_timeout_in_ms",
            "replica_wait_in_ms",
            "server_idle_minutes",
        ):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}.")


@dataclass
class RunOptions(PlainMessage):
    """Options of one run: `trace_level` FULL_TRACE fills RunMetadata, `timeout_in_ms` is its deadline.

    Args:
        trace_level: RunOptions.NO_TRACE or FULL_TRACE.
        timeout_in_ms: The longest the run may take, in milliseconds; 0 for no end.
        inter_op_thread_pool: Accepted, and not needed.
        output_partition_graphs: Accepted, and not needed.
        report_tensor_allocations_upon_oom: Accepted, and not needed.
        debug_options: Accepted, and not needed.
        experimental: Accepted, and not needed.
    """

    _protobuf = ("config_pb2", "RunOptions")
    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3
    trace_level: int = 0
    timeout_in_ms: int = 0
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    report_tensor_allocations_upon_oom: bool = False
    debug_options: Any = field(default_factory=lambda: Later("debug_pb2", "DebugOptions"))
    experimental: Any = field(default_factory=lambda: Later("config_pb2", "RunOptions.Experimental"))


@dataclass(frozen=True)
class OutputStats:
    """One result of an operation: the name of its dtype, its shape, and the bytes that its elements take.

    Args:
        dtype: The dtype.
        shape: The shape.
        bytes: The size in bytes.
    """

    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class NodeStats:
    """When one operation, or a piece of compiled code, ran, on which device and thread, and its results.

    Times are microseconds since the start of the run.

    Args:
        node_name: The operation.
        op: Its type.
        device: Where it ran.
        start_us: When it began, in microseconds since 1970.
        duration_us: How long it took, in microseconds.
        thread: The thread that ran it.
        outputs: What it gave.
        kind: "numpy" if NumPy computed it; of compiled code "fused", "kernel", "scalars" or "loop". Then
            `operations` are the names of those that it computes, of which node_name is the first, and `op` is
            their types, joined by +.
        operations: The operations that the piece computes.
        read_bytes: With `written_bytes`: the memory that it took and gave; of operations on NumPy what they
            gave.
        written_bytes: See `read_bytes`.
        reason: Why NumPy computed it in a plan that is compiled, or would in any: its type has no native form.
    """

    node_name: str
    op: str
    device: str
    start_us: float
    duration_us: float
    thread: int
    outputs: tuple[OutputStats, ...] = ()
    kind: str = "numpy"
    operations: tuple[str, ...] = ()
    read_bytes: int = 0
    written_bytes: int = 0
    reason: str = ""

    @property
    def all_start_micros(self) -> float:
        """When it started, as TensorFlow names it."""
        return self.start_us

    @property
    def all_end_rel_micros(self) -> float:
        """How long it took, as TensorFlow names it."""
        return self.duration_us


@dataclass(frozen=True)
class DeviceStats:
    """The operations that ran on one device, in the order in which they ran.

    Args:
        device: The device.
        node_stats: The records of its operations.
    """

    device: str
    node_stats: list[NodeStats]


@dataclass(frozen=True)
class StepStats:
    """The operations of one run, by device.

    Args:
        dev_stats: The records by device.
        clock_errors_us: For each task of a cluster, how far its times may be off: its clock is another
            machine's.
    """

    dev_stats: list[DeviceStats] = field(default_factory=list)
    clock_errors_us: dict[str, float] = field(default_factory=dict)

    def nodes(self) -> list[NodeStats]:
        """The operations of all devices, in the order they ran."""
        return sorted((n for d in self.dev_stats for n in d.node_stats), key=lambda n: n.start_us)


@dataclass
class RunMetadata(PlainMessage):
    """The record of a traced run: `step_stats`, with one NodeStats an operation.

    Args:
        step_stats: The records.
        partition_graphs: Empty: plans are no graphs, and what ran is in the records.
    """

    _protobuf = ("config_pb2", "RunMetadata")
    step_stats: StepStats = field(default_factory=StepStats)
    partition_graphs: list[Any] = field(default_factory=list)

    def _write(self, message: Any) -> None:
        write_run_metadata(self, message)

    def _read(self, message: Any) -> None:
        self.step_stats = StepStats(
            [
                DeviceStats(
                    device,
                    [
                        NodeStats(**{**told, "outputs": tuple(OutputStats(*one) for one in told["outputs"])})
                        for told in nodes
                    ],
                )
                for device, nodes in read_devices(message)
            ]
        )
        self.partition_graphs = list(message.partition_graphs)

    def chrome_trace(self) -> str:
        """The timeline in Chrome's trace format: save it and open it in chrome://tracing or Perfetto.

        A device is a line, with the waits for other devices (Recv) and what goes to them (Send) below its threads; an
        arrow leads from each Send to its Recv.
        """
        nodes = self.step_stats.nodes()
        devices = sorted({s.device for s in nodes})
        events: list[dict[str, Any]] = []
        for pid, device in enumerate(devices):
            events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": device}})
            events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}})
            error = self.step_stats.clock_errors_us.get(device.rpartition("/device:")[0])
            if error:
                told = {"labels": f"clock within {error:.0f} us"}
                events.append({"ph": "M", "name": "process_labels", "pid": pid, "args": told})
        for pid, op in sorted({(devices.index(s.device), s.op) for s in nodes if s.op in _TRACE_ROWS}):
            row = {"name": "waits for other devices" if op == "Recv" else "sends to other devices"}
            events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": _TRACE_ROWS[op], "args": row})
        for s in nodes:
            place = {"pid": devices.index(s.device), "tid": _TRACE_ROWS.get(s.op, s.thread), "ts": s.start_us}
            arguments = {"name": s.node_name, "op": s.op}
            if s.operations:
                arguments |= {"kind": s.kind, "operations": ", ".join(s.operations)}
            if s.op == "Send" and s.outputs:
                arguments["bytes"] = str(s.outputs[0].bytes)
            name = f"{s.op} {s.node_name.partition('->')[0]}" if s.op in _TRACE_ROWS else s.op
            events.append(
                {"ph": "X", "cat": "Op", "name": name, **place, "dur": s.duration_us, "args": arguments}
            )
            if s.op in _TRACE_ROWS:
                arrow = {
                    "cat": "Edge",
                    "name": "edge",
                    "id": s.node_name.removesuffix("/recv").removesuffix("/send"),
                    "ph": "s" if s.op == "Send" else "f",
                }
                end = s.start_us if s.op == "Send" else s.start_us + s.duration_us
                events.append({**arrow, **place, "ts": end, "bp": "e"})
        return json.dumps({"traceEvents": events})


_TRACE_ROWS = {"Recv": 0, "Send": 1}
"""The lines of a device in a timeline that are no threads."""
