"""SaverDef: what is written of a saver beside its graph."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass
class SaverDef:
    """The names of a saver's ops in its graph, and what it keeps (TensorFlow's message of that name).

    Args:
        filename_tensor_name: The tensor of the file's name.
        save_tensor_name: The tensor whose run saves.
        restore_op_name: The operation that restores.
        max_to_keep: How many checkpoints stay.
        sharded: Whether each device has a file.
        keep_checkpoint_every_n_hours: One in so many hours stays for ever.
        version: The format.
    """

    filename_tensor_name: str = ""
    save_tensor_name: str = ""
    restore_op_name: str = ""
    max_to_keep: int = 0
    sharded: bool = False
    keep_checkpoint_every_n_hours: float = 0.0
    version: int = 2

    LEGACY: ClassVar[int] = 0
    V1: ClassVar[int] = 1
    V2: ClassVar[int] = 2

    @staticmethod
    def of(other: Any) -> SaverDef:
        """A copy of one, or of TensorFlow's message.

        Args:
            other: A SaverDef, or its message.
        """
        return SaverDef(**{name: getattr(other, name) for name in asdict(SaverDef())})
