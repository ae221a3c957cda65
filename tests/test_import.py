"""Protects the cost of `import graphflow`: what is not needed yet is not imported.

It is counted by modules and not by the clock. Each program below needs what the one before it does, and some more.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

HEAVY = ("numba", "llvmlite", "zmq", "cloudpickle", "multiprocessing", "matplotlib", "asyncio", "scipy")
RUNS = (
    "graphflow._core.kernels",
    "graphflow._core.compiler",
    "graphflow._core.codegen",
    "graphflow._core.runtime",
    "graphflow._core.plan",
    "graphflow._core.resources",
    "graphflow._core.session",
)
CLUSTER = (
    "graphflow._core.cluster.protocol",
    "graphflow._core.cluster.server.service",
    "graphflow._core.transport.router",
)
"""What only a cluster needs; which of its rooms a session in this process looks at is its own affair."""
PROGRAMS = {
    "import graphflow": ("import graphflow", ("numpy", *HEAVY, *RUNS, *CLUSTER, "graphflow._core.graph", "difflib")),
    "a graph": (
        "import graphflow as gf; x = gf.placeholder(gf.float32, [2]); w = gf.Variable(gf.ones([2]));"
        "loss = gf.reduce_sum(gf.square(x * w)); gf.gradients(loss, w)",
        (*HEAVY, *RUNS, *CLUSTER),
    ),
    "a model": (
        "import graphflow as gf; y = gf.layers.dense(gf.zeros([1, 2]), 3);"
        "gf.train.GradientDescentOptimizer(0.1).minimize(gf.losses.mean_squared_error(gf.ones([1, 3]), y))",
        (*HEAVY, *CLUSTER, "graphflow._core.compiler", "graphflow._core.codegen", "graphflow._core.kernels"),
    ),
    "a session": (
        "import graphflow as gf; x = gf.constant(1.0); session = gf.Session(); session.run(x + x); session.close()",
        (*HEAVY, *CLUSTER, "graphflow._core.codegen.cpu", "graphflow._core.codegen.gpu.toolkit",
         "graphflow._core.compiler.gpu", "graphflow.train", "graphflow.layers", "graphflow.contrib", "google.protobuf"),
    ),
    "compiled code": (
        "import graphflow as gf; session = gf.Session(config=gf.ConfigProto(compiled='always'));"
        "x = gf.placeholder(gf.float32, [1, 4, 4, 1]); size = [1, 2, 2, 1];"
        "y = gf.nn.max_pool(gf.exp(x), size, size, 'SAME');"
        "fed = [[[[1.0]] * 4] * 4]; [session.run(y, {x: fed}) for _ in range(2)];"
        "assert 'compiled for' in session.explain(y, {x: fed}), session.explain(y, {x: fed}); session.close()",
        ("numba", *CLUSTER, "graphflow.train", "graphflow.contrib", "google.protobuf"),
    ),
    "a command's help": (
        "import graphflow.cli.main as cli\ntry: cli.main(['--help'])\nexcept SystemExit: pass",
        ("numpy", *HEAVY, *RUNS, *CLUSTER),
    ),
    "an address of a cluster": (
        "import graphflow as gf; gf.train.ClusterSpec({'ps': ['localhost:1']})", (*HEAVY, *RUNS, *CLUSTER)
    ),
}  # fmt: skip
"""Programs, and what of the library and of others they do without."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_loads_what_it_needs(name: str) -> None:
    program, without = PROGRAMS[name]
    project = Path(__file__).resolve().parent.parent
    process = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print('\\nLOADED', *sys.modules)"],
        capture_output=True, text=True, check=True, cwd=project, timeout=100,
    )  # fmt: skip
    loaded = set(process.stdout.rpartition("LOADED")[2].split())
    assert "graphflow" in loaded
    assert not loaded.intersection(without)


@pytest.mark.timeout(300)  # Nothing of an archive is compiled beforehand: seconds, on busy cores a minute.
def test_a_program_runs_from_an_archive(tmp_path: Path) -> None:
    """As zipapp makes one of a program and its packages: what is found in folders is found there, too."""
    package = Path(__file__).resolve().parent.parent / "graphflow"
    with zipfile.ZipFile(tmp_path / "program.pyz", "w") as archive:
        for path in sorted(package.rglob("*")):
            if "__pycache__" not in path.parts and path.is_file():
                archive.write(path, path.relative_to(package.parent))
        archive.writestr(
            "__main__.py",
            "import graphflow as gf\n"
            "v = gf.Variable([1.0, 2.0])\n"
            "train = gf.train.GradientDescentOptimizer(0.25).minimize(gf.reduce_sum(gf.square(v)))\n"
            "with gf.Session() as session:\n"
            "    session.run(gf.global_variables_initializer())\n"
            "    session.run(train)\n"
            "    print(gf.__file__, session.run(v).tolist())\n",
        )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.pyz")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stdout == f"{tmp_path}/program.pyz/graphflow/__init__.py [0.5, 1.0]\n", done.stderr
