"""What every test shares: how much is run, and that no plan is given up for a fault.

CI takes a sample of the generated cases, the same every time, so that a red run is red again on the next
machine; `--everything` (`make test-all`) goes over all of them and runs the tests marked slow. `--one-in 12`
(`make check`) takes one test in twelve, of every room, for an answer in minutes. `--few-dtypes` (the emulated GPUs of
`make cuda-check`) takes fewer dtypes of ops that are tested with all of theirs: each is a kernel to compile.

Every plan is verified after each pass, here and in the processes that tests start. tests/plan/test_verify_cost.py says
what that costs, and holds it.

Compiled code that does not agree with NumPy, or a compiler that fails, costs a user speed alone; here it fails the
test, so that every program of the suite checks the compiler.
"""

import gc
import logging
import math
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings

import graphflow as gf
from graphflow._core.codegen.gpu import discovery
from graphflow._core.plan.verify import VARIABLE

settings.register_profile(
    "sample", derandomize=True, max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("everything", settings.get_profile("sample"), max_examples=500)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --everything, --one-in and --few-dtypes."""
    parser.addoption("--everything", action="store_true", help="every generated case, and the slow tests")
    parser.addoption("--one-in", type=int, default=1, help="one test in so many, the same ones every time")
    parser.addoption("--few-dtypes", action="store_true", help="of an op on a GPU float32, and a few others")


def pytest_configure(config: pytest.Config) -> None:
    """Chooses how many examples hypothesis draws, and has every plan verified, that of child processes too."""
    os.environ.setdefault(VARIABLE, "1")
    settings.load_profile("everything" if config.getoption("--everything") else "sample")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects slow tests, unless everything is asked for, those that need a missing GPU, and all but a share."""
    gpus = discovery.found()
    everything, share = config.getoption("--everything"), config.getoption("--one-in")

    def wanted(item: pytest.Item) -> bool:
        if zlib.crc32(item.nodeid.encode()) % share:
            return False
        if item.get_closest_marker("gpu") and (gpus.simulated or not gpus.gpus):
            return False
        if item.get_closest_marker("device") and not gpus.gpus:
            return False
        return everything or item.get_closest_marker("slow") is None

    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = [item for item in items if wanted(item)]


def pytest_collection_finish() -> None:
    """Leaves what is there before the first test, such as all the other tests, out of every look for garbage."""
    gc.collect()
    gc.freeze()


class _Faults(logging.Handler):
    """Collects why plans were given up, if it was a fault."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(getattr(record, "reason", None), "is_a_fault", False):
            self.found.append(record.getMessage())


@pytest.fixture(autouse=True)
def no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test in which a plan stayed on NumPy for a fault, unless it is marked `faulty_compiler`."""
    faults = _Faults()
    logger = logging.getLogger("graphflow")
    logger.addHandler(faults)
    yield
    logger.removeHandler(faults)
    if request.node.get_closest_marker("faulty_compiler") is None:
        assert not faults.found, "\n".join(faults.found)


@pytest.fixture(autouse=True)
def fresh_graph() -> Iterator[None]:
    """No test finds in the default graph what others have left there."""
    yield
    with suppress(AssertionError):  # A graph that outlives a test is its file's.
        gf.reset_default_graph()


@pytest.fixture(autouse=True)
def compiled_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans whose bits are fixed go over at the eighth run, however quick NumPy is: the tests' models are small."""
    monkeypatch.setattr("graphflow._core.runtime.compiled.due.NUMPY_FIRST_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def _compiler_is_awaited_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether kernels were made before, and how busy the machine is, does not show in what a test sees of the log."""
    monkeypatch.setattr("graphflow._core.runtime.compiled.combination.COMPILER_TOLD_SECONDS", math.inf)


@pytest.fixture(scope="session")
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether all generated cases are to be run rather than a sample."""
    return bool(request.config.getoption("--everything"))


@pytest.fixture(scope="session")
def few_dtypes(request: pytest.FixtureRequest) -> bool:
    """Whether kernels that are there for each dtype are to be run for float32 and a few others."""
    return bool(request.config.getoption("--few-dtypes"))
