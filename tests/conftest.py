"""What every test shares: how much is run.

CI takes a sample of the generated cases, the same every time, so that a red run is red again on the next
machine; `--everything` (`make test-all`) goes over all of them and runs the tests marked slow.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from graphflow.kernels.cuda import discovery

settings.register_profile(
    "sample", derandomize=True, max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("everything", settings.get_profile("sample"), max_examples=500)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --everything and --record-kernels."""
    parser.addoption("--everything", action="store_true", help="every generated case, and the slow tests")
    parser.addoption("--record-kernels", type=Path, help="a file for the CUDA kernels that are launched")


def pytest_configure(config: pytest.Config) -> None:
    """Chooses how many examples hypothesis draws."""
    settings.load_profile("everything" if config.getoption("--everything") else "sample")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the slow tests, unless everything is asked for, and those that need a missing GPU."""
    gpus = discovery.found()
    everything = config.getoption("--everything")

    def wanted(item: pytest.Item) -> bool:
        if item.get_closest_marker("gpu") and (gpus.simulated or not gpus.gpus):
            return False
        if item.get_closest_marker("device") and not gpus.gpus:
            return False
        return everything or item.get_closest_marker("slow") is None

    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = [item for item in items if wanted(item)]


@pytest.fixture(scope="session")
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether all generated cases are to be run rather than a sample."""
    return bool(request.config.getoption("--everything"))


@pytest.fixture(scope="session", autouse=True)
def recorded_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Writes the text of each CUDA kernel that is launched, and the dtypes of its arguments, where asked for."""
    path = request.config.getoption("--record-kernels")
    if path is None:
        yield
        return
    from graphflow.kernels.cuda.toolkit import Device, Launch

    found: dict[tuple[str, tuple[str, ...]], None] = {}
    launch = Device.launch

    def recording(self: Any, work: Any) -> None:
        if isinstance(work, Launch):
            kinds = tuple(f"{a.dtype}[]" if hasattr(a, "dtype") else type(a).__name__ for a in work.arguments)
            # Kernels of the smallest integers differ from others in nothing that a compiler would mind.
            if not {"int8[]", "int16[]", "uint16[]"}.intersection(kinds):
                found[work.source, kinds] = None
        launch(self, work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Device, "launch", recording)
        yield
    path.write_text(json.dumps([[source, list(kinds)] for source, kinds in found]))
