"""Values that stay in the session between runs (tf.get_session_handle and its kin)."""

from __future__ import annotations

from typing import Any, Final, Protocol

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.shaping import placeholder
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import no_outputs, scalar_of

SESSION_VALUES: Final = "session_values"
"""The name under which a store has such values."""


def _kept_infer(op: Operation) -> Signature:
    return [(op.attrs["dtype"], None)]


KEEP = op_def(
    "GetSessionHandle", ("value: T=any",), infer=scalar_of(dtypes.string), gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("handle",),
)  # fmt: skip
KEPT = op_def(
    "GetSessionTensor", ("handle: string",), infer=_kept_infer, gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True, outputs=("value",),
)  # fmt: skip
DROP = op_def(
    "DeleteSessionTensor", ("handle: string",), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True
)


def device_of(handle: str) -> str:
    """The device on which the value of a handle is."""
    return handle.rpartition(";")[2]


def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """A handle of a value that stays in the session.

    Fetched, it is an object with `handle`, a string to be fed, `eval()` and `delete()`; it may be fed in place of the
    value, too. The value is there until the object is gone, or the session is closed.

    Args:
        data: The value.
        name: A name for the operation.

    Returns:
        A scalar of strings.

    Raises:
        TypeError: If `data` is no tensor.

    Examples:
        >>> a = gf.constant(10) * 5
        >>> with gf.Session() as session:
        ...     kept = session.run(gf.get_session_handle(a))
        ...     fed, value = gf.get_session_tensor(kept.handle, gf.int32)
        ...     print(session.run(value * 10, {fed: kept.handle}))
        500
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"`data` must be of type Tensor, got {data!r}.")
    with data.graph.colocate_with(data.op):
        return apply(KEEP, (data,), None, name).outputs[0]


def get_session_tensor(handle: str, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A placeholder for a handle, and the value that stays in the session under it.

    Args:
        handle: One such handle, which says on which device values are looked for.
        dtype: Of the value.
        name: A name for the operation.

    Returns:
        The placeholder and the value.
    """
    with get_default_graph().device(device_of(handle)):
        holder = placeholder(dtypes.string, [])
        return holder, apply(KEPT, (holder,), {"dtype": as_dtype(dtype)}, name).outputs[0]


def delete_session_tensor(handle: str, name: str | None = None) -> tuple[Tensor, Operation]:
    """A placeholder for a handle, and an operation that ends the stay of its value in the session.

    Args:
        handle: One such handle, which says on which device values are looked for.
        name: A name for the operation.

    Returns:
        The placeholder and the operation.
    """
    with get_default_graph().device(device_of(handle)):
        holder = placeholder(dtypes.string, [])
        return holder, apply(DROP, (holder,), None, name)


class _Session(Protocol):
    """What a handle asks of its session."""

    @property
    def graph(self) -> Graph: ...

    @property
    def store(self) -> Any: ...

    def run(self, fetches: Any, feed_dict: Any = None) -> Any: ...


class TensorHandle:
    """A value that stays in a session until this object is gone.

    handle: the text that stands for it. dtype: of the value. session: where it is.
    """

    def __init__(self, handle: bytes, dtype: DType, session: _Session) -> None:
        self.handle = handle.decode()
        self.dtype = dtype
        self._session = session
        self._is_ours = True
        """Whether it goes with this object."""

    def __str__(self) -> str:
        return self.handle

    def __del__(self) -> None:
        if self._is_ours and self._is_here:
            self._values.drop(self.handle)

    @property
    def _values(self) -> Any:
        return self._session.store.others().get(SESSION_VALUES)

    @property
    def _is_here(self) -> bool:
        """Whether the session has it, and not a task of a cluster."""
        return self._values is not None and bool(self._values.holds(self.handle))

    def _check(self) -> None:
        if not self._is_ours:
            raise TypeError(f"Persistent tensor {self.handle} may have already been deleted.")

    def eval(self) -> Any:
        """The value; TypeError if it may have been deleted."""
        self._check()
        if self._is_here:
            return self._values.get(self.handle, self.dtype)
        with self._session.graph.as_default():
            holder, value = get_session_tensor(self.handle, self.dtype)
        return self._session.run(value, {holder: self.handle})

    def delete(self) -> None:
        """Deletes the value; TypeError if it may have been deleted."""
        self._check()
        self._is_ours = False
        if self._is_here:
            self._values.drop(self.handle)
            return
        with self._session.graph.as_default():
            holder, drop = delete_session_tensor(self.handle)
        self._session.run(drop, {holder: self.handle})

    def get_raw_handle(self) -> str:
        """The text; the value stays until delete_session_tensor is run with it, or the session is closed."""
        self._is_ours = False
        return self.handle
