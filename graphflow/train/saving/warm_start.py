"""warm_start: variables of a new model begin with the values of another one's checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow.train.saving.checkpoint_utils import init_from_checkpoint
from graphflow.train.saving.vocabularies import VocabInfo, begin_with_vocabulary

_PART: Final = re.compile(r"/part_\d+$")


def _chosen(wanted: Any) -> list[Any]:
    graph = get_default_graph()
    if wanted is None or isinstance(wanted, str):
        return list(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, wanted))
    if not isinstance(wanted, list | tuple):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(wanted)}")
    if all(isinstance(name, str) for name in wanted):
        return [v for name in wanted for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, name)]
    return list(wanted)


def warm_start(
    ckpt_to_initialize_from: str, vars_to_warm_start: str | Sequence[Any] | None = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Gives variables of the default graph the values of a checkpoint as their first ones (tf.train.warm_start).

    Args:
        ckpt_to_initialize_from: The checkpoint, or its folder.
        vars_to_warm_start: A regular expression over the names of trained variables, a list of such of all variables,
            or a list of variables; None for those trained ones alone that `var_name_to_vocab_info` names.
        var_name_to_vocab_info: gf.train.VocabInfo for the variables whose rows are for words of another vocabulary
            than in the checkpoint.
        var_name_to_prev_var_name: The names in the checkpoint of those variables that have another one there.

    Raises:
        ValueError: If a variable with another name or vocabulary is none of them, or the checkpoint lacks one.
    """
    grouped: dict[str, list[Any]] = {}
    for variable in _chosen(vars_to_warm_start):
        grouped.setdefault(_PART.sub("", variable.op.name), []).append(variable)
    renamed, vocabularies = dict(var_name_to_prev_var_name or {}), dict(var_name_to_vocab_info or {})
    for what, names in (
        ("var_name_to_prev_var_name", renamed),
        ("var_name_to_vocab_info", vocabularies),
    ):
        unused = sorted(set(names) - set(grouped))
        if unused:
            raise ValueError(
                f"You provided the following variables in {what} that were not used: {unused}.  Perhaps "
                f"you misspelled them?  Here is the list of viable variable names: {sorted(grouped)}"
            )
    for name, vocabulary in vocabularies.items():
        begin_with_vocabulary(grouped.pop(name), ckpt_to_initialize_from, renamed.get(name, name), vocabulary)
    if not vars_to_warm_start:
        return
    init_from_checkpoint(
        ckpt_to_initialize_from,
        {renamed.get(name, name): v if len(v) > 1 else v[0] for name, v in grouped.items()},
    )
