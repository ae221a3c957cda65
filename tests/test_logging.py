"""Protects the log: levels, what a line says, where it goes, lines that repeat, programs with their own set-up."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import graphflow as gf


def call(program: str) -> tuple[str, str]:
    """What a program writes to standard output and to standard error."""
    project = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=project, check=True
    )
    return done.stdout, done.stderr


def test_a_line_says_level_time_file_and_line() -> None:
    out, err = call("import graphflow as gf\ngf.logging.info('no')\ngf.logging.warning('lost %d', 3)\n")
    assert out == ""
    assert re.fullmatch(r"WARNING \d{4}-\d\d-\d\d \d\d:\d\d:\d\d <string>:3: lost 3\n", err)


def test_the_library_writes_to_the_same_log() -> None:
    program = "import logging, graphflow as gf\ngf.logging.set_verbosity(gf.logging.INFO)\n"
    _, err = call(program + "logging.getLogger('graphflow.train.steps').info('from inside')")
    assert err.startswith("INFO ")
    assert err.endswith("from inside\n")


def test_handlers_of_the_program_get_each_line_once() -> None:
    program = (
        "import logging, sys, graphflow as gf\nlogging.basicConfig(stream=sys.stdout, format='%(message)s')\n"
    )
    assert call(program + "gf.logging.error('once')") == ("once\n", "")


def test_importing_graphflow_sets_up_nothing() -> None:
    program = "import logging, graphflow\nprint(logging.getLogger('graphflow').handlers, logging.getLogger().handlers)"
    assert call(program) == ("[] []\n", "")


@pytest.fixture()
def verbose(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    before = gf.logging.get_verbosity()
    gf.logging.set_verbosity(gf.logging.DEBUG)
    yield caplog
    gf.logging.set_verbosity(before)


def test_levels_and_their_names(verbose: pytest.LogCaptureFixture) -> None:
    log = gf.logging
    assert (log.DEBUG, log.INFO, log.WARN, log.ERROR, log.FATAL) == (10, 20, 30, 40, 50)
    for function in (log.debug, log.info, log.warn, log.warning, log.error, log.fatal):
        function("%s", function.__name__)
    log.log(log.INFO, "at %d", 20)
    log.vlog(15, "between")
    log.TaskLevelStatusMessage("status")
    log.log_if(log.INFO, "yes", True)
    log.log_if(log.INFO, "no", False)
    levels = [record.levelno for record in verbose.records]
    assert levels == [10, 20, 30, 30, 40, 50, 20, 15, 40, 20]
    assert {Path(record.pathname).name for record in verbose.records} == {"test_logging.py"}
    log.flush()


def test_the_threshold_is_kept(verbose: pytest.LogCaptureFixture) -> None:
    gf.logging.set_verbosity("ERROR")
    assert gf.logging.get_verbosity() == gf.logging.ERROR
    gf.logging.warning("not seen")
    gf.logging.error("seen")
    assert [record.getMessage() for record in verbose.records] == ["seen"]
    assert logging.getLogger("graphflow").level == gf.logging.ERROR


def test_lines_that_repeat_are_counted_apart(verbose: pytest.LogCaptureFixture) -> None:
    for number in range(7):
        gf.logging.log_every_n(gf.logging.INFO, "every %d", 3, number)
        gf.logging.log_first_n(gf.logging.INFO, "first %d", 2, number)
    found = [record.getMessage() for record in verbose.records]
    assert found == ["every 0", "first 0", "first 1", "every 3", "every 6"]
