"""Printing what a checkpoint holds (tensorflow.python.tools.inspect_checkpoint)."""

from __future__ import annotations

import re
from math import prod

import graphflow.errors as errors
from graphflow.train.saving.checkpoint_utils import CheckpointReader


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints one tensor of a checkpoint, all of them, or what there is of each; and how many numbers it holds.

    An error is printed, too.

    Args:
        file_name: The prefix of the checkpoint.
        tensor_name: The tensor to print; without one, names, dtypes and shapes are printed.
        all_tensors: Whether all tensors are printed.
        all_tensor_names: Whether all names are printed.
        count_exclude_pattern: A regular expression; tensors whose names it matches do not count.
    """
    try:
        reader = CheckpointReader(file_name)
        if all_tensors or all_tensor_names:
            for name in sorted(reader.get_variable_to_shape_map()):
                print("tensor_name: ", name)
                if all_tensors:
                    print(reader.get_tensor(name))
        elif tensor_name:
            print("tensor_name: ", tensor_name)
            print(reader.get_tensor(tensor_name))
        else:
            print(reader.debug_string().decode())
        print(f"# Total number of params: {_count(reader, count_exclude_pattern)}")
    except errors.OpError as error:
        print(error)


def _count(reader: CheckpointReader, excluded: str) -> int:
    shapes = reader.get_variable_to_shape_map()
    left_out = {name for name in shapes if excluded and re.search(excluded, name)}
    if excluded:
        numbers = sum(prod(shapes[name]) for name in left_out)
        print(f"# Excluding {len(left_out)} tensors ({numbers} params) that match {excluded} when counting.")
    return sum(prod(shape) for name, shape in shapes.items() if name not in left_out)
