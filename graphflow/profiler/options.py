"""What a profile counts and shows: a dictionary, which ProfileOptionBuilder makes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

TRAINABLE_VARIABLES: Final = "_trainable_variables"
"""What variables that are trained are counted as, besides the type of their operation."""

_ALL: Final[Mapping[str, Any]] = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": True,
    "select": ["micros"],
    "step": -1,
    "output": "stdout",
}


def _with(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(dict(_ALL)) | changes


class ProfileOptionBuilder:
    """Makes the options of gf.profiler.profile, step by step (tf.profiler.ProfileOptionBuilder).

    Args:
        options: Options to begin with.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        begin = _with(max_depth=100, account_displayed_op_only=False)
        self._options = copy.deepcopy(dict(options)) if options is not None else begin

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options that show the parameters of variables that are trained."""
        return _with(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options that show floating-point operations."""
        return _with(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Options that show the times and the results' bytes of a traced run.

        Args:
            min_micros: Operations that took less are not shown.
            min_bytes: Those that gave less are not shown.
            min_accelerator_micros: Has no effect.
            min_cpu_micros: Has no effect.
            min_peak_bytes: Has no effect.
            min_residual_bytes: Has no effect.
            min_output_bytes: Has no effect.

        Returns:
            The options.
        """
        return _with(
            min_micros=min_micros, min_bytes=min_bytes, order_by="micros", select=["micros", "bytes"]
        )

    def build(self) -> dict[str, Any]:
        """The options, a copy."""
        return copy.deepcopy(self._options)

    def _set(self, **changes: Any) -> ProfileOptionBuilder:
        self._options |= changes
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows so many scopes inside one another.

        Args:
            max_depth: How many.

        Returns:
            This builder.
        """
        return self._set(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> ProfileOptionBuilder:
        """Shows what gives at least so many bytes.

        Args:
            min_bytes: How many.
            min_peak_bytes: Has no effect.
            min_residual_bytes: Has no effect.
            min_output_bytes: Has no effect.

        Returns:
            This builder.
        """
        return self._set(min_bytes=min_bytes)

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Shows what takes at least so long.

        Args:
            min_micros: Microseconds.
            min_accelerator_micros: Has no effect.
            min_cpu_micros: Has no effect.

        Returns:
            This builder.
        """
        return self._set(min_micros=min_micros)

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows what has at least so many parameters.

        Args:
            min_params: How many.

        Returns:
            This builder.
        """
        return self._set(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows types of which there are at least so many operations.

        Args:
            min_occurrence: How many.

        Returns:
            This builder.
        """
        return self._set(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows what has at least so many floating-point operations.

        Args:
            min_float_ops: How many.

        Returns:
            This builder.
        """
        return self._set(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Counts operations whose type or device matches one of some patterns.

        Args:
            account_type_regexes: The patterns.

        Returns:
            This builder.
        """
        return self._set(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Shows operations by patterns of their names.

        Args:
            start_name_regexes: From which on they are shown.
            show_name_regexes: Which are shown.
            hide_name_regexes: Which are not.
            trim_name_regexes: Below which none are.

        Returns:
            This builder.
        """
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._set(**{name: list(value) for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Whether only what is shown is counted.

        Args:
            is_true: If not, what is hidden counts for the scopes around it.

        Returns:
            This builder.
        """
        return self._set(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Prints nothing."""
        return self._set(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints to standard output."""
        return self._set(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Prints to a file.

        Args:
            outfile: Its path.

        Returns:
            This builder.
        """
        return self._set(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Writes the times of a traced run for chrome://tracing.

        Args:
            timeline_file: The path.

        Returns:
            This builder.
        """
        return self._set(output=f"timeline:outfile={timeline_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """In which order they are shown.

        Args:
            attribute: "name", or "micros", "bytes", "params", "float_ops", "occurrence", the largest first.

        Returns:
            This builder.
        """
        return self._set(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """What is shown of each.

        Args:
            attributes: Of "micros", "bytes", "params", "float_ops" and "occurrence".

        Returns:
            This builder.
        """
        return self._set(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Which of a Profiler's steps is shown.

        Args:
            step: The step; -1 for the last.

        Returns:
            This builder.
        """
        return self._set(step=step)
