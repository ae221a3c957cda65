"""Protects notebooks as a front end shows them: a real kernel of Jupyter's runs the cells (nbclient, ipykernel).

What the cells do with more cases is in test_notebooks.py, in IPython's shell without a kernel. The front end has a
process of its own here, in which its sockets end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]

BEGIN = """
import json, sys
from jupyter_client.manager import KernelManager

SECONDS = 240
manager = KernelManager(kernel_name="python3")
manager.kernel_spec.argv = [sys.executable, "-W", "ignore", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
"""
NOTEBOOK = """
import nbclient, nbformat

book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in json.load(sys.stdin)])
nbclient.NotebookClient(book, km=manager, timeout=SECONDS, allow_errors=True).execute()
print(json.dumps([cell.outputs for cell in book.cells]))
"""
INTERRUPT = """
begun, later = json.load(sys.stdin)
manager.start_kernel()
client = manager.client()
client.start_channels()


def answer(cell):
    # A slow kernel may still be asked what it is by now, and answer that.
    while True:
        message = client.get_shell_msg(timeout=SECONDS)
        if message["parent_header"].get("msg_id") == cell:
            return message["content"]


try:
    client.wait_for_ready(timeout=SECONDS)
    cell = client.execute(begun, stop_on_error=False)  # otherwise what is asked soon after an error is not run
    while "runs" not in str(client.get_iopub_msg(timeout=SECONDS)["content"].get("text", "")):
        pass
    manager.interrupt_kernel()
    ended = answer(cell)
    print(json.dumps([ended, answer(client.execute(later))], default=str))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def front_end(program: str, cells: list[str], folder: Path) -> Any:
    """What a front end with a kernel prints, given these cells; no kernel of the machine's is looked for."""
    own = {
        name: str(folder / name)
        for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    }
    path = os.pathsep.join([str(PROJECT), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BEGIN + program],
        input=json.dumps(cells), capture_output=True, text=True, timeout=280, cwd=folder,
        env={**os.environ, **own, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_pictures_errors_and_progress(tmp_path: Path) -> None:
    cells = [
        "import graphflow as gf\n"
        "x = gf.placeholder(gf.int32, [2], name='x')\n\n"
        "y = gf.constant([6, 6]) // x\n"
        "session = gf.Session()",
        "session.run(y, {x: [0, 1]})",
        "gf.get_default_graph()",
        "session.run(y, {x: [1, 2]}).tolist()",
        "with gf.Graph().as_default():\n"
        "    step = gf.train.get_or_create_global_step().assign_add(1)\n"
        "    hooks = [gf.train.StopAtStepHook(num_steps=40)]\n"
        "    with gf.train.MonitoredTrainingSession(hooks=hooks) as training:\n"
        "        while not training.should_stop():\n"
        "            training.run(step)",
    ]
    _, (error,), (picture,), (result,), shown = front_end(NOTEBOOK, cells, tmp_path)
    assert error["output_type"] == "error" and error["ename"] == "InvalidArgumentError"
    assert "Built at In[1]:4" in error["evalue"]
    assert "floordiv" in picture["data"]["text/html"]
    assert result["data"]["text/plain"] == "[6, 3]"
    assert "40/40" in "".join(out.get("text", "") for out in shown), shown


def test_an_interrupt_ends_the_cell_alone(tmp_path: Path) -> None:
    begun = (
        "import graphflow as gf\n"
        "session = gf.Session()\n"
        "def told(i):\n"
        "    print('runs', flush=True)\n"
        "    return i + 1\n"
        "body = lambda i: gf.py_func(told, [i], gf.int32, name='told')\n"
        "forever = gf.while_loop(lambda i: gf.constant(True), body, [0], shape_invariants=[gf.TensorShape(None)])\n"
        "session.run(forever)"
    )
    ended, later = front_end(INTERRUPT, [begun, "assert session.run(gf.constant(3)) == 3"], tmp_path)
    assert ended["ename"] == "KeyboardInterrupt"
    assert later["status"] == "ok"
