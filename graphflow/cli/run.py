"""graphflow run: a program of TensorFlow 1's as it is; what it imports as tensorflow is graphflow.

It runs in this process as Python itself would run it: its arguments, __main__, the first folder of sys.path, its exit
status and its tracebacks, in which nothing of this file stands.
"""

from __future__ import annotations

import argparse
import atexit
import importlib.util
import os
import signal
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final

from graphflow import as_tensorflow
from graphflow.as_tensorflow import python2
from graphflow.as_tensorflow.age import note_for
from graphflow.cli.main import UsageError

_EPILOG: Final = """\
examples:
  graphflow run train.py --steps 1000
  graphflow run -m package.train --steps 1000
  graphflow run --py2 train.py
  graphflow launch --workers 2 graphflow run worker.py --task_index={task_index}

`import tensorflow` gives graphflow in this process, also where TensorFlow is installed. A process that the program
starts with a command of its own needs `graphflow run` in that command.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Runs a Python program in which `import tensorflow` gives graphflow."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "graphflow run [--py2] [-m] PROGRAM [arguments ...]"
    parser.add_argument("-m", action="store_true", dest="as_module", help="PROGRAM is the name of a module")
    parser.add_argument(
        "--py2", action="store_true",
        help="the program, with what lies in its folder, is written for Python 2: it is converted as it runs",
    )  # fmt: skip
    parser.add_argument(
        "program", metavar="PROGRAM", help="a Python file, or a folder or archive with __main__.py"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=run_program)


def run_program(arguments: argparse.Namespace) -> int:
    """Runs the program; the exit status is that which Python would end with."""
    program = arguments.program
    if not arguments.as_module and not os.path.exists(program):
        raise UsageError(f"There is no file {program}.")
    as_tensorflow.install()
    sys.argv[:] = [program, *arguments.arguments]
    interrupted: list[BaseException] = []
    # What the program registers comes before.
    atexit.register(lambda: _end_by_interrupt() if interrupted else None)
    try:
        main, code = (
            _found_module(program, arguments.py2)
            if arguments.as_module
            else _found_file(program, arguments.py2)
        )
        sys.modules["__main__"] = main
        exec(code, vars(main))
    except Exception as error:
        _tell(error)
        return 1
    except KeyboardInterrupt as error:
        _tell(error)
        interrupted.append(error)
        return 130
    return 0


def _first_folder(folder: str) -> None:
    """Puts the folder of the program where Python has it, which was that of this command."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _main_module(spec: ModuleSpec | None, file: str, loader: Any, package: str | None) -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(
        __builtins__=__builtins__,
        __file__=file,
        __spec__=spec,
        __loader__=loader,
        __package__=package,
        __cached__=None,
    )
    return main


def _convert(folder: str) -> None:
    """Has what lies in the program's folder be converted from Python 2."""
    try:
        python2.install(folder)
    except ModuleNotFoundError as error:
        raise UsageError(str(error)) from error


def _found_file(program: str, py2: bool) -> tuple[ModuleType, CodeType]:
    """The module and the code of a file, or of the __main__.py in a folder or an archive."""
    if os.path.isdir(program) or importlib.util.spec_from_file_location("__main__", program) is None:
        place = os.path.abspath(program)
        if py2:
            _convert(place)
        spec = python2.find_spec("__main__", [place]) if py2 else PathFinder.find_spec("__main__", [place])
        if spec is not None and spec.loader is not None:
            _first_folder(place)
            return _of_spec(spec, "")
        if os.path.isdir(program):
            raise UsageError(f"There is no __main__.py in the folder {program}.")
    _first_folder(os.path.dirname(os.path.realpath(program)))
    loader = SourceFileLoader("__main__", program)
    data = loader.get_data(program)
    if py2:
        _convert(os.path.dirname(os.path.realpath(program)))
        code = python2.converted(data, program, inside=False)
        return _main_module(None, os.path.abspath(program), loader, None), code
    # Compiled here: a loader may keep code in a folder beside it, which Python does not do for a program.
    code = compile(data, program, "exec", dont_inherit=True)
    return _main_module(None, os.path.abspath(program), loader, None), code


def _found_module(name: str, py2: bool) -> tuple[ModuleType, CodeType]:
    """The module and the code of a module by name; of a package, of its __main__."""
    _first_folder(os.getcwd())
    if py2:
        _convert(os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    if spec is None or spec.loader is None:
        raise UsageError(f"There is no module {name} to run, nor a package with a __main__.py.")
    sys.argv[0] = spec.origin or name
    return _of_spec(spec, spec.parent)


def _of_spec(spec: ModuleSpec, package: str | None) -> tuple[ModuleType, CodeType]:
    loader: Any = spec.loader
    code = loader.get_code(spec.name)
    return _main_module(spec, spec.origin or "", loader, package), code


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that is the program's."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def _tell(error: BaseException) -> None:
    """Writes what Python would of an error that nobody has caught, and what to do if it comes of the program's age."""
    if isinstance(error, UsageError):
        raise error
    note = note_for(error)
    if note is not None:
        error.add_note(note)
    error = error.with_traceback(_of_program(error.__traceback__))
    sys.excepthook(type(error), error, error.__traceback__)


def _end_by_interrupt() -> None:
    """Ends the process by SIGINT, as Python does after a KeyboardInterrupt that nobody has caught."""
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
