"""Protects notebooks: errors name the cell, Ctrl-C ends a run alone, pictures are shown, `%load_ext graphflow`.

The cells run in IPython's shell, as a notebook's kernel has it, in one process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

_DRIVER = """
import json, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # Whoever starts the tests may have it ignored.
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.history_manager.enabled = False
told = []
for cell in json.load(sys.stdin):
    result = shell.run_cell(cell, store_history=True)
    error = result.error_in_exec or result.error_before_exec
    shown = None
    if result.result is not None:
        formatted, _ = shell.display_formatter.format(result.result)
        shown = sorted(formatted)
    told.append([type(error).__name__ if error else None, str(error) if error else "", shown, str(result.result)])
print("TOLD" + json.dumps(told))
"""


def run_cells(*cells: str) -> list[Any]:
    """For each cell the class and the text of its error, the forms of what it shows, and that as text."""
    pytest.importorskip("IPython")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _DRIVER],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        timeout=280,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD")]
    assert lines, done.stderr
    found: list[Any] = json.loads(lines[0].removeprefix("TOLD"))
    return found


def test_cells_of_a_notebook() -> None:
    told = run_cells(
        "%load_ext graphflow",
        "import tensorflow as tf\ntf.__name__, tf.__version__[:4]",
        "x = tf.placeholder(tf.int32, [2], name='x')\n\ny = tf.constant([6, 6]) // x\nsession = tf.Session()",
        "session.run(y, {x: [0, 1]})",
        "session.run(y, {x: [1, 2]}).tolist()",
        "def build():\n    return tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))",
        "build()",
        "tf.get_default_graph()",
        "import signal, threading\n"
        "ended = threading.Event()\n"
        "def interrupt():\n"
        "    while not ended.wait(3.0):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "forever = tf.while_loop(lambda i: tf.constant(True), lambda i: i + 1, [tf.constant(0)])\n"
        "threading.Thread(target=interrupt, daemon=True).start()\n"
        "try:\n"
        "    session.run(forever)\n"
        "finally:\n"
        "    ended.set()",
        "session.run(y, {x: [3, 2]}).tolist()",
        "y.op.traceback[0][:2]",
    )
    assert told[0][0] is None and told[1][3] == "('tensorflow', '1.15')" or told[1][3].endswith("'1.15')")
    kind, text, _, _ = told[3]
    assert kind == "InvalidArgumentError" and "Built at In[3]:3" in text, text
    assert told[4][3] == "[6, 3]"
    assert told[6][0] == "ValueError"
    assert "text/html" in told[7][2]
    assert told[8][0] == "KeyboardInterrupt"
    assert told[9][3] == "[2, 3]"
    assert told[10][3] == "('In[3]', 3)"
