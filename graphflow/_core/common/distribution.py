"""The version of this library, and the name under which it is distributed, which is not the name that programs import.

The package index has a `graphflow` of other authors, with the same import name. Installed beside this one it would lie
in the same folder, and the files of whichever came last would be those that run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

VERSION = "0.1.0"
DISTRIBUTION: Final = "graphflow-engine"
_OTHER: Final = re.compile(r"graphflow-[^-]+(-py[\d.]+)?\.(dist|egg)-info", re.IGNORECASE)


def to_install(extra: str) -> str:
    """The command that installs what an extra of this library needs."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def check_alone(folders: Iterable[str]) -> None:
    """ImportError if the other package of this name is installed into the folder in which a package lies.

    folders: those of the package, as in its __path__.
    """
    for folder in folders:
        try:
            names = os.listdir(os.path.dirname(folder))
        except OSError:  # An archive, for one.
            continue
        for name in names:
            if _OTHER.fullmatch(name):
                raise ImportError(
                    f"Another package named 'graphflow' lies in the folder of this one ({os.path.dirname(folder)} "
                    f"has {name}), and their files are mixed. Remove both, and install this one: pip uninstall -y "
                    f"graphflow {DISTRIBUTION}; pip install {DISTRIBUTION}",
                    name="graphflow",
                )
