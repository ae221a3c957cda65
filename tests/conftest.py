"""What every test shares: how much is run.

CI takes a sample of the generated cases, the same every time, so that a red run is red again on the next
machine; `--everything` (`make test-all`) goes over all of them and runs the tests marked slow.
"""

import pytest
from hypothesis import HealthCheck, settings

from graphflow.kernels.cuda import discovery

settings.register_profile(
    "sample", derandomize=True, max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("everything", settings.get_profile("sample"), max_examples=500)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --everything."""
    parser.addoption("--everything", action="store_true", help="every generated case, and the slow tests")


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
