"""Protects notebooks as a front end shows them: a real kernel of Jupyter's runs the cells (nbclient, ipykernel).

What the cells do with more cases is in test_notebooks.py, in IPython's shell without a kernel.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from jupyter_client.manager import KernelManager

PROJECT = Path(__file__).resolve().parents[2]
SECONDS = 240


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelManager]:
    """A kernel that runs this Python; no kernel of the machine's is looked for."""
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PROJECT), *filter(None, sys.path)]))
    manager = KernelManager(kernel_name="python3")
    manager.kernel_spec.argv = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
    ]
    yield manager
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


def notebook(*cells: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def test_pictures_errors_and_progress(kernel: KernelManager, tmp_path: Path) -> None:
    book = notebook(
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
    )
    client = nbclient.NotebookClient(book, km=kernel, timeout=SECONDS, allow_errors=True)
    client.execute(cwd=str(tmp_path))
    outputs = [cell.outputs for cell in book.cells]
    (error,) = outputs[1]
    assert error.output_type == "error" and error.ename == "InvalidArgumentError"
    assert "Built at In[1]:4" in error.evalue
    (picture,) = outputs[2]
    assert "text/html" in picture.data and "floordiv" in picture.data["text/html"]
    (result,) = outputs[3]
    assert result.data["text/plain"] == "[6, 3]"
    shown = "".join(out.get("text", "") for out in outputs[4])
    assert "40/40" in shown, outputs[4]


def test_an_interrupt_ends_the_cell_alone(kernel: KernelManager) -> None:
    kernel.start_kernel()
    client = kernel.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=SECONDS)
        client.execute(
            "import graphflow as gf\n"
            "session = gf.Session()\n"
            "def told(i):\n"
            "    print('runs', flush=True)\n"
            "    return i + 1\n"
            "body = lambda i: gf.py_func(told, [i], gf.int32, name='told')\n"
            "forever = gf.while_loop(lambda i: gf.constant(True), body, [0], shape_invariants=[gf.TensorShape(None)])\n"
            "session.run(forever)"
        )
        while "runs" not in str(client.get_iopub_msg(timeout=SECONDS)["content"].get("text", "")):
            pass
        kernel.interrupt_kernel()
        assert client.get_shell_msg(timeout=SECONDS)["content"]["ename"] == "KeyboardInterrupt"
        client.execute("assert session.run(gf.constant(3)) == 3")
        assert client.get_shell_msg(timeout=SECONDS)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
