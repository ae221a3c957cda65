"""Cuts a placed and ordered plan into one part for each device, joined by Send and Recv.

A value goes to another device once. The value of a variable goes once for each state of it that is read there. It is
sent at the place of its consumer in the order, so all uses of a variable stay in order on the variable's own device. A
constant goes with the plan, not with every run. An instruction that only waits for others, and for which nobody waits,
is left out: a run ends when all its parts have ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan import build, kinds
from graphflow._core.plan.ir import Instruction, Plan, producers, rename_inputs
from graphflow._core.plan.passes.read_order import BEFORE_READS


@dataclass(frozen=True, eq=False)
class Partition:
    """The parts of a plan by device, and for each fetch the device that has it."""

    parts: Mapping[str, Plan]
    fetch_devices: tuple[str, ...]


def partition(plan: Plan, default_device: str) -> Partition:
    """The parts of a plan. Feeds are given to each part that uses them."""
    used = {i.device for i in plan.instructions}
    if len(used) <= 1:
        device = next(iter(used), default_device)
        return Partition({device: plan}, (device,) * len(plan.fetches))
    cut = _Cut(plan)
    for instruction in _without_idle(plan.instructions):
        cut.place(instruction)
    return cut.finish(default_device)


def _without_idle(instructions: Sequence[Instruction]) -> list[Instruction]:
    awaited: set[str] = set()
    kept = []
    for i in reversed(instructions):
        if i.type != kinds.NO_OP or i.name in awaited:
            awaited.update(i.control)
            kept.append(i)
    return kept[::-1]


class _Cut:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._makers = producers(plan)
        self._by_name = {i.name: i for i in plan.instructions}
        self._variables = {i.outputs[0] for i in plan.instructions if i.is_variable}
        self._parts: dict[str, list[Instruction]] = {}
        self._version: dict[str, int] = {}
        self._here: dict[tuple[str, str, int], str] = {}

    def place(self, instruction: Instruction) -> None:
        part = self._parts.setdefault(instruction.device, [])
        written = set(instruction.writes())
        inputs = tuple(
            n if ref else self._bring(n, instruction.device, instruction.control)
            for n, ref in zip(instruction.inputs, instruction.ref_mask(), strict=True)
        )
        control = tuple(
            self._bring_control(c, instruction.device)
            for c in instruction.control
            if c in self._by_name and not (self._comes_before_reads(c) and self._reads_elsewhere(instruction))
        )
        names = {old: new for old, new in zip(instruction.inputs, inputs, strict=True) if old != new}
        part.append(replace(rename_inputs(instruction, names), inputs=inputs, control=control))
        for name in written:
            self._version[name] = self._version.get(name, 0) + 1

    def _bring(self, value: str, device: str, after: Sequence[str]) -> str:
        """The name under which a value is known on a device, sent there if need be.

        What a variable holds is sent after those instructions among `after` that come before reads.
        """
        maker = self._makers.get(value)
        if maker is None or maker.device == device:
            return value
        version = self._version.get(value, 0) if value in self._variables else 0
        key = (value, device, version)
        if key not in self._here and maker.is_constant:
            copy = replace(
                maker, name=f"{maker.name}->{device}", outputs=(f"{value}->{device}",), device=device
            )
            self._parts.setdefault(device, []).append(copy)
            self._here[key] = copy.outputs[0]
        elif key not in self._here:
            position = maker.outputs.index(value)
            first = [c for c in after if value in self._variables and self._comes_before_reads(c)]
            self._here[key] = self._transfer(
                maker, (value,), value, maker.dtypes[position], maker.shapes[position], device, version,
                tuple(self._bring_control(c, maker.device) for c in first),
            )  # fmt: skip
        return self._here[key]

    def _reads_elsewhere(self, instruction: Instruction) -> bool:
        """Whether none of the variables that it reads is on its device: they are sent in time."""
        taken = [self._makers[n].device for n in instruction.free_variables() if n in self._variables]
        return instruction.device not in taken

    def _comes_before_reads(self, name: str) -> bool:
        instruction = self._by_name.get(name)
        return instruction is not None and instruction.type in BEFORE_READS

    def _bring_control(self, name: str, device: str) -> str:
        maker = self._by_name[name]
        if maker.device == device:
            return name
        key = ("^" + name, device, 0)
        if key not in self._here:
            received = self._transfer(maker, (), "^" + name, dtypes.bool_, (), device, 0)
            self._here[key] = received.removesuffix(":0")
        return self._here[key]

    def _transfer(
        self,
        maker: Instruction,
        inputs: tuple[str, ...],
        value: str,
        dtype: dtypes.DType,
        shape: Dims,
        device: str,
        version: int,
        after: tuple[str, ...] = (),
    ) -> str:
        label = f"{value}#{version}" if version else value
        attrs = {"key": (label, maker.device, device)}
        name = f"{label}->{device}"
        control = after if inputs else (maker.name,)
        send = build.send(maker, name, inputs[0] if inputs else None, attrs, control)
        recv = build.receive(maker, name, device, dtype, shape, attrs)
        self._parts[maker.device].append(send)
        self._parts.setdefault(device, []).append(recv)
        return recv.outputs[0]

    def finish(self, default_device: str) -> Partition:
        fetch_devices = tuple(
            self._makers[f].device if f in self._makers else default_device for f in self._plan.fetches
        )
        parts: dict[str, Plan] = {}
        for device, instructions in self._parts.items():
            own = [f for f, d in zip(self._plan.fetches, fetch_devices, strict=True) if d == device]
            parts[device] = Plan(tuple(instructions), self._plan.feeds, tuple(own), (), self._plan.feed_types)
        if default_device in fetch_devices and default_device not in parts:
            fed = tuple(
                f for f, d in zip(self._plan.fetches, fetch_devices, strict=True) if d == default_device
            )
            parts[default_device] = Plan((), self._plan.feeds, fed, (), self._plan.feed_types)
        return Partition(parts, fetch_devices)
