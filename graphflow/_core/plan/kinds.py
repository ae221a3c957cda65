"""The types of instructions that the plan's passes and the tiers look for, by name: each is written once.

Those of operations are the names of their definitions. If, While, Send, Recv have no definition: the plan makes them.
"""

from __future__ import annotations

from typing import Final

IF: Final = "If"
WHILE: Final = "While"
SEND: Final = "Send"
RECEIVE: Final = "Recv"

ASSIGN: Final = "Assign"
CONST: Final = "Const"
IDENTITY: Final = "Identity"
NO_OP: Final = "NoOp"
RESTORE: Final = "RestoreV2"
STATE_READ: Final = "ReadResourceState"
COLLECTIVE_START: Final = "CollectiveBegin"
COLLECTIVE_DONE: Final = "CollectiveEnd"
