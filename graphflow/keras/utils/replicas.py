"""A model on several devices, each with a part of the batch (tf.keras.utils.multi_gpu_model)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.ops.state.scopes import device
from graphflow.keras import layers, ops
from graphflow.keras.backend import state
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Elements


def multi_gpu_model(
    model: Elements, gpus: int | Sequence[int], cpu_merge: bool = True, cpu_relocation: bool = False
) -> Model:
    """A model whose batch several GPUs share (tf.keras.utils.multi_gpu_model).

    Args:
        model: The model, of which the new one has the weights.
        gpus: How many GPUs, two at least; or their numbers.
        cpu_merge: Whether the parts of the output are put together on the CPU, rather than on the first GPU.
        cpu_relocation: Whether the weights are new ones, on the CPU.

    Returns:
        A model of the same inputs and outputs.

    Raises:
        ValueError: There are not so many GPUs, or fewer than two are asked for.
    """
    wanted = list(range(gpus)) if isinstance(gpus, int) else list(gpus)
    if len(wanted) < 2:
        raise ValueError(f"multi_gpu_model() shares a batch between two GPUs or more, but gpus={gpus!r}.")
    there = [d.name for d in state.get_session().list_devices() if d.device_type == "GPU"]
    missing = [n for n in wanted if not any(name.lower().endswith(f"gpu:{n}") for name in there)]
    if missing:
        raise ValueError(
            f"multi_gpu_model(gpus={gpus!r}) needs the devices {', '.join(f'/gpu:{n}' for n in wanted)}, but there are "
            f"{', '.join(there) or 'no GPUs'}."
        )
    if cpu_relocation:
        with device("/cpu:0"):
            model = type(model).from_config(model.get_config())
    devices = [f"/gpu:{n}" for n in wanted]
    return replicated(model, devices, "/cpu:0" if cpu_merge else devices[0])


def replicated(model: Any, devices: Sequence[str], merged_on: str) -> Model:
    """A model whose batch is cut into a part for each device, and whose outputs are put together on one."""
    outputs: list[list[Any]] = [[] for _ in model.outputs]
    for number, name in enumerate(devices):
        with device(name), ops.name_scope(f"replica_{number}"):
            parts = []
            for tensor in model.inputs:
                arguments = {"i": number, "parts": len(devices)}
                part = layers.Lambda(_part, arguments=arguments)(tensor)
                part.set_shape((None, *shape_of(tensor)[1:]))
                parts.append(part)
            found = model(parts[0] if len(parts) == 1 else parts)
        for own, one in zip(outputs, found if isinstance(found, list) else [found], strict=True):
            own.append(one)
    with device(merged_on):
        merged = [
            layers.Concatenate(axis=0, name=name)(own)
            for name, own in zip(model.output_names, outputs, strict=True)
        ]
    return Model(model.inputs, merged)


def _part(data: Any, i: int, parts: int) -> Any:
    """One of so many parts of a batch; the last one has what is left."""
    count = ops.shape(data)[0]
    step = count // parts
    return data[step * i :] if i == parts - 1 else data[step * i : step * (i + 1)]
