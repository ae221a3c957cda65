"""How a plan is spread over the tasks of a cluster, as text for people: Session.explain."""

from __future__ import annotations

from collections.abc import Iterator

from graphflow._core.graph.devices import short_task
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.partition import Partition
from graphflow._core.plan.segments import Segment, segments


def stage_text(plan: Plan, cut: Partition) -> str:
    """For each task its stages in order: what each receives, computes and sends, and what is fed and fetched."""
    by_task: dict[str, list[tuple[str, list[Segment]]]] = {}
    for device, found in segments(cut).items():
        task, _, name = device.rpartition("/device:")
        by_task.setdefault(task, []).append((name, found))
    lines: list[str] = []
    for task, devices in by_task.items():
        lines.append(f"task {short_task(task)}")
        for name, found in devices:
            for number, stage in enumerate(found, 1):
                which = f" {number} of {len(found)}" if len(found) > 1 else ""
                waits = ", which may wait for other runs" if stage.blocks else ""
                lines.append(f"  stage{which} on {name}{waits}")
                lines += [f"    {line}" for line in _lines(stage, plan, f"{task}/device:{name}")]
        fetched = [
            f for f, d in zip(plan.fetches, cut.fetch_devices, strict=True) if d.startswith(f"{task}/")
        ]
        if fetched:
            lines.append(f"  return {', '.join(fetched)}")
    return "\n".join(lines)


def _lines(stage: Segment, plan: Plan, device: str) -> Iterator[str]:
    fed = [name for name in stage.plan.feeds if name in plan.feeds]
    if fed:
        yield f"feed {', '.join(fed)}"
    for value, sender, _ in stage.receives:
        yield f"receive {value} from {_where(sender, device)}"
    body = str(Plan(stage.plan.instructions, (), (), ()))
    for line in body.splitlines():
        yield line.removesuffix(f" @ {device}").replace(f"->{device}/recv:0", "")
    receivers: dict[str, list[str]] = {}
    for value, _, receiver in stage.sends:
        receivers.setdefault(receiver, []).append(value)
    for receiver, values in receivers.items():
        yield f"send {', '.join(values)} to {_where(receiver, device)}"


def _where(other: str, device: str) -> str:
    """A device as another one calls it: by its own name on the same task, else by its task."""
    task, _, name = other.rpartition("/device:")
    return name if task == device.rpartition("/device:")[0] else short_task(task)
