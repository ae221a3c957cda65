"""Gives every instruction a device.

The pass completes what the user asked for from the first device that matches. An instruction that names no job runs in
the session's own task. A variable or a queue that names none lives in the first task by name, whatever the session, so
that all clients of a cluster find the same one, as in TensorFlow. Local variables are each session's own.

A write of a variable goes to the variable, and so does what is colocated with it. A handle, as of a queue or a dataset,
means something only on the device that made it. So instructions that are joined by handles go to one device: the one
that the first of them asks for. A branch or a loop runs as a whole, on one device; in a cluster it runs in the task of
the handles that it uses. The gradient of a loop runs on the loop's device, because the loop has left there what the
gradient needs. An instruction inside a branch or loop on a GPU that is not for a GPU runs on the CPU beside it.

Without soft placement a request that cannot be met is an error, which says whether the job, the device or the kernel is
missing. With it, the pass takes another device of the same task.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Collection, Mapping
from dataclasses import field, replace

import graphflow.errors as errors
from graphflow._core.common.records import dataclass
from graphflow._core.graph import devices, dtypes
from graphflow._core.plan.ir import LOCAL, Instruction, Plan, walk
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.sizes import unknown_to_host

_HANDLES = (dtypes.resource, dtypes.variant)
_NUMBERS = frozenset(
    {
        *(dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint16, dtypes.bool_),
    }
)
"""What other devices than CPUs compute with."""
_LISTS = frozenset({"TensorArrayV3", "TensorArrayGradV3"})
"""Types that make lists of tensors."""
_SHARED = frozenset(
    {
        *("FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"),
        *("Barrier", "ResourceConditionalAccumulator", "SparseConditionalAccumulator"),
    }
)
"""Types that make what several clients put into and take from."""


@dataclass(frozen=True)
class _Context(PassContext):
    """The surroundings of a plan that is placed.

    unsized: for each type of device beside the CPU the names of the instructions that it cannot run, as the host does
        not know their sizes before.
    """

    unsized: Mapping[str, Collection[str]] = field(default_factory=dict)


def place(plan: Plan, ctx: PassContext) -> Plan:
    """The plan with a full device name on every instruction; InvalidArgumentError if one cannot be placed."""
    kinds = {_device_type(device) for device in ctx.devices} - {"CPU"}
    unsized = {kind: unknown_to_host(plan, functools.partial(_is_on, ctx, kind)) for kind in kinds}
    return _place(plan, _Context(**vars(ctx), unsized=unsized), {}, {}, "")


def _is_on(ctx: PassContext, kind: str, op_type: str) -> bool:
    return ctx.has_kernel(op_type, kind)


def _place(plan: Plan, ctx: _Context, placed: dict[str, str], values: dict[str, str], around: str) -> Plan:
    instructions: list[Instruction] = []
    variables = {i.outputs[0]: i for i in plan.instructions if i.is_variable}
    for instruction in variables.values():
        device = _resolve(instruction, _with_job(instruction, ctx), ctx)
        placed[instruction.name] = values[instruction.outputs[0]] = device
    for group in _joined_by_handles(plan, ctx) if not around else ():
        device = _device_of_group(group, ctx, values)
        placed.update(dict.fromkeys((i.name for i in group if not _chooses(i, group, device, ctx)), device))
    constructs = [i for i in plan.instructions if i.bodies and not around]
    stacks = {stack: i for i in constructs for stack in _stacks(i, "StackPushV2")}
    for instruction in plan.instructions:
        if instruction.name in placed:
            device = placed[instruction.name]
        else:
            device = _device_of(instruction, ctx, placed, values, around, stacks)
            placed[instruction.name] = device
        where = _inside(around, device, ctx) if around else device
        bodies = tuple(_place(body, ctx, placed, values, where) for body in instruction.bodies)
        if bodies or where != instruction.device:
            instruction = replace(instruction, device=where, bodies=bodies)
        instructions.append(instruction)
    return plan.with_instructions(instructions)


def _with_job(instruction: Instruction, ctx: _Context) -> str:
    """What was asked for what clients share, with the task in which all of them look for it if it names none."""
    wanted = instruction.device
    asked = devices.DeviceSpec.from_string(wanted)
    if asked.job is not None or asked.task is not None:
        return wanted
    home = _first_task(wanted, tuple(ctx.devices))
    return wanted if home == ctx.default_task or _is_local(instruction) else devices.merge(home, wanted)


@functools.lru_cache(maxsize=256)
def _first_task(wanted: str, names: tuple[str, ...]) -> str:
    """The first task of the job whose name comes first; of those with a wanted device, if there are any."""
    found = [name for name in names if matches(wanted, name, "")] or names
    first = min(
        (devices.DeviceSpec.from_string(name) for name in found),
        key=lambda spec: (spec.job or "", spec.replica or 0, spec.task or 0),
    )
    return devices.DeviceSpec(first.job, first.replica, first.task).to_string()


def _is_local(instruction: Instruction) -> bool:
    """Whether it is among the variables that a graph calls its session's own."""
    return LOCAL in instruction.attrs


def _device_of_group(group: list[Instruction], ctx: _Context, values: dict[str, str]) -> str:
    """Where the instructions go that hand each other handles.

    What outlives a run is where it would be in a run without the branches and loops that use it.
    """
    outlives = any(dtypes.resource in i.dtypes and i.type not in _LISTS for i in group)
    asking = [i for i in group if i.device and not (outlives and i.bodies)]
    chosen = asking[0] if asking else group[0]
    shared = any(i.type in _SHARED for i in group)
    device = _resolve(chosen, _with_job(chosen, ctx) if shared else chosen.device, ctx)
    held = {values[n]: (n, i) for i in group if i.bodies for n in i.refs() if n in values}
    if not held:
        return device
    tasks = {_task_part(place) for place in (*held, *([device] if outlives else ()))}
    if len(tasks) > 1:
        raise errors.InvalidArgumentError(
            None,
            next(iter(held.values()))[1].origin,
            "Branches and loops that share "
            f"{group[0].describe()}, which is on {device}, change variables on other tasks: "
            f"{', '.join(f'{name} on {place}' for place, (name, _) in held.items())}. Put them on one task.",
        )
    return next(iter(held))


def _chooses(i: Instruction, group: list[Instruction], device: str, ctx: _Context) -> bool:
    """Whether a branch or loop runs where it asks to, as that is in the task of its group; a GPU's lists bind it."""
    asked = devices.merge(ctx.default_task, i.device)
    bound = "GPU" in (_device_type(device), _device_type(asked)) and any(m.type in _LISTS for m in group)
    return bool(i.bodies) and not bound and _task_part(asked) == _task_part(device)


def _joined_by_handles(plan: Plan, ctx: _Context) -> list[list[Instruction]]:
    """The groups of instructions that hand each other handles, makers of resources first.

    Branches and loops are among them if there are several tasks: within one task, they may be on another device.
    """
    several = len({_task_part(device) for device in ctx.devices}) > 1
    makers = {o: (i, d) for i in plan.instructions for o, d in zip(i.outputs, i.dtypes, strict=True)}
    groups: dict[str, list[Instruction]] = {}
    for i in plan.instructions:
        for name in i.inputs:
            maker, dtype = makers.get(name, (i, None))
            if dtype in _HANDLES and (several or not i.bodies or _shares_list(maker, i)):
                one, other = (groups.setdefault(each.name, [each]) for each in (maker, i))
                if one is not other:
                    one += other
                    groups.update(dict.fromkeys((member.name for member in other), one))
    found = {id(group): group for group in groups.values()}
    for group in found.values():
        group.sort(key=lambda i: (dtypes.resource not in i.dtypes, i.index))
    return list(found.values())


def _shares_list(maker: Instruction, construct: Instruction) -> bool:
    """Whether a branch or loop takes a TensorArray, and one of them asks for a GPU: then both are on one device."""
    return maker.type in _LISTS and "GPU" in (_device_type(maker.device), _device_type(construct.device))


def _stacks(construct: Instruction, op_type: str) -> list[str]:
    """The stacks that operations of a type use in a branch or loop."""
    return [i.attrs["stack"] for body in construct.bodies for i in walk(body) if i.type == op_type]


def _device_of(
    instruction: Instruction,
    ctx: _Context,
    placed: dict[str, str],
    values: dict[str, str],
    around: str,
    stacks: dict[str, Instruction],
) -> str:
    held = {values[name]: name for name in instruction.refs() if name in values}
    if len(held) > 1:
        raise errors.InvalidArgumentError(
            None,
            instruction.origin,
            f"{instruction.describe()} changes variables on several devices: "
            f"{', '.join(f'{name} on {device}' for device, name in held.items())}. Put them on one device.",
        )
    if held:
        return next(iter(held))
    for stack in _stacks(instruction, "StackPopV2") if stacks else ():
        left = stacks.get(stack, instruction)  # The gradient of a loop takes what the loop has left.
        if left is not instruction:
            if left.name not in placed:
                placed[left.name] = _device_of(left, ctx, placed, values, around, stacks)
            return placed[left.name]
    for group in instruction.attrs.get("_class", ()):
        other = (
            group.decode().removeprefix("loc:@")
            if isinstance(group, bytes)
            else str(group).removeprefix("loc:@")
        )
        if other in placed:
            return placed[other]
    if not instruction.device and around:
        return around if _can_run(instruction, around, ctx) else cpu_beside(around, ctx)
    device = _resolve(instruction, instruction.device, ctx)
    return _inside(around, device, ctx) if around else device


def _inside(around: str, device: str, ctx: _Context) -> str:
    """Where what is inside a branch or loop runs, in one part with that: there, or on the CPU beside a GPU."""
    if _device_type(around) == "CPU" or _device_type(device) != "CPU":
        return around
    return cpu_beside(around, ctx)


def cpu_beside(device: str, ctx: PassContext) -> str:
    """The first CPU of a device's task; the device itself if that is none."""
    task = _task_part(device)
    cpus = (d for d in ctx.devices if _device_type(d) == "CPU" and matches(task, d, ctx.default_task))
    return next(cpus, device)


def _resolve(instruction: Instruction, wanted: str, ctx: _Context) -> str:
    candidates = [d for d in ctx.devices if matches(wanted, d, ctx.default_task)]
    runnable = [d for d in candidates if _can_run(instruction, d, ctx)]
    if runnable:
        return runnable[0]
    same_task = [d for d in ctx.devices if matches(_task_part(wanted), d, ctx.default_task)]
    fallback = [d for d in same_task if _can_run(instruction, d, ctx)]
    if ctx.soft_placement and fallback:
        return fallback[0]
    raise errors.InvalidArgumentError(
        None,
        instruction.origin,
        _complaint(instruction, wanted, candidates, same_task, ctx),
    )


def _complaint(
    instruction: Instruction, wanted: str, candidates: list[str], same_task: list[str], ctx: _Context
) -> str:
    there = ", ".join(ctx.devices)
    built = "" if instruction.origin is None else f" Built at {instruction.origin.built}."
    start = f"Cannot assign a device for operation {instruction.name!r} ({instruction.type})"
    if candidates:
        return f"{start}: no kernel for {instruction.type} on {wanted or 'any device'}. Devices here: {there}.{built}"
    if not same_task:
        jobs = sorted({devices.DeviceSpec.from_string(d).job or "" for d in ctx.devices})
        return (
            f"{start}: it was explicitly assigned to {wanted}, but this session has no such job or task "
            "(it knows the jobs: "
            f"{', '.join(jobs)}). Connect to the cluster with gf.Session(server.target), or correct the device.{built}"
        )
    near = difflib.get_close_matches(devices.merge(ctx.default_task, wanted), ctx.devices, 1, 0.0)
    return (
        f"{start}: it was explicitly assigned to {wanted}, but there is no such device. Devices here: "
        f"{there}; the nearest is "
        f"{near[0] if near else there}. {_more_of(wanted)}Use gf.ConfigProto(allow_soft_placement=True) to let "
        f"graphflow choose.{built}"
    )


def _more_of(wanted: str) -> str:
    """How a session comes to have a CPU device of that number."""
    spec = devices.DeviceSpec.from_string(wanted)
    if spec.device_type != "CPU":
        return ""
    count = (spec.device_index or 0) + 1
    return f'A session has {count} CPU devices with gf.ConfigProto(device_count={{"CPU": {count}}}). '


def _can_run(instruction: Instruction, device: str, ctx: _Context) -> bool:
    kind = _device_type(device)
    if kind != "CPU" and not instruction.bodies and not _is_of_numbers(instruction):
        return False
    if instruction.bodies or instruction.is_variable:
        return True
    if instruction.name in ctx.unsized.get(kind, ()):
        return False
    return ctx.has_kernel(instruction.type, kind)


def _is_of_numbers(instruction: Instruction) -> bool:
    """Whether results, what is cast, or elements of a list are of dtypes that other devices than CPUs compute with."""
    if instruction.type in _LISTS:
        return instruction.attrs.get("dtype", dtypes.float32) in _NUMBERS
    return _NUMBERS.issuperset(instruction.dtypes) and instruction.attrs.get("SrcT") is not dtypes.bfloat16


@functools.lru_cache(maxsize=4096)
def _device_type(device: str) -> str:
    return devices.DeviceSpec.from_string(device).device_type or "CPU"


def _task_part(device: str) -> str:
    spec = devices.DeviceSpec.from_string(device)
    return devices.DeviceSpec(spec.job, spec.replica, spec.task).to_string()


@functools.lru_cache(maxsize=4096)
def matches(wanted: str, device: str, default_task: str) -> bool:
    """Whether a full device name fulfils a partial one; a name without a job means `default_task`."""
    asked, given = devices.DeviceSpec.from_string(wanted), devices.DeviceSpec.from_string(device)
    if asked.job is None and asked.task is None:
        asked.merge_from(devices.DeviceSpec.from_string(default_task))
    return all(
        getattr(asked, part) is None or getattr(asked, part) == getattr(given, part)
        for part in ("job", "replica", "task", "device_type", "device_index")
    )
