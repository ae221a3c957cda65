"""How the compiler process and the compile server are started: apart from everything that a working directory, a
program's folder or the environment could put in the way of what it imports.

`python -m` looks for modules in the working directory first, then where PYTHONPATH says, then where .pth files say: a
numba.py or base64.py there would run, and a math.py break it. The process needs Python's own modules, NumPy, llvmlite,
Numba, and a few modules of this package. So Python is told to look for its own modules alone (-P -s -S, without any
PYTHON... of the environment, which is what -I does, but that a Python which needs PYTHONHOME finds itself); after them
come the folders that NumPy and llvmlite of this process were loaded from, and the one that Numba lies in; and this
package is reached by its place, as an empty shell around those modules. That place may be an archive, or what an
editable install says. Its working directory is the root, so that Numba reads no .numba_config.yaml. The compile server
needs Python's own modules and this package's alone; it starts its compiler processes in the same way.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

from graphflow._core.common.files.own_files import own_folder

WORKING_DIRECTORY: Final = "/"
_PACKAGES: Final = ("graphflow", "graphflow._core.common", "graphflow._core.codegen.cpu")
_PROGRAM: Final = """# graphflow: compiles kernels
import json, os, sys, types
folders, packages, module, given = json.loads(sys.argv[1])
if module.endswith("server") and os.fork():
    os._exit(0)
sys.path.extend(folders)
for name, places in packages:
    sys.modules[name] = module_of_package = types.ModuleType(name)
    module_of_package.__path__ = places
from importlib import import_module
import_module("graphflow._core.codegen.cpu." + module).main(given)
"""
_SERVER_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONHOME")


def command() -> list[str]:
    """The command that starts a compiler process; FileNotFoundError if there is no Python to start."""
    return _command("compiler_process", os.getpid(), _folders())


def server_command(given: Mapping[str, Any]) -> list[str]:
    """The command that starts the compile server with what service/server.py is given; FileNotFoundError as above.

    The process that it starts ends at once, when it has begun another, which is nobody's child.
    """
    return _command("service.server", {**given, "folders": _folders()}, [])


def worker_command(folders: list[str]) -> list[str]:
    """The command that starts a compiler process of the server, which was given the folders of packages."""
    return _command("compiler_process", os.getpid(), folders)


def _command(module: str, given: object, folders: list[str]) -> list[str]:
    packages = [
        (name, [os.path.abspath(place) for place in sys.modules[name].__path__]) for name in _PACKAGES
    ]
    options = ["-P", "-s", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    return [interpreter(), *options, "-c", _PROGRAM, json.dumps([folders, packages, module, given])]


def environment() -> dict[str, str]:
    """The environment of the compiler process: that of this one, without what steers Python and Numba.

    What the system's loader is told (LD_LIBRARY_PATH, LD_PRELOAD) stays: this process was started with it as well, and
    libraries may be found by it alone.
    """
    found = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    home = os.environ.get("PYTHONHOME", "")
    if os.path.isabs(home) and not sys.flags.ignore_environment:
        found["PYTHONHOME"] = home
    return found


def server_environment() -> dict[str, str]:
    """The environment of the compile server: it outlives the program that starts it, whose affairs are not its own."""
    found = environment()
    return {
        name: value for name, value in found.items() if name in _SERVER_VARIABLES or name.startswith("LD_")
    }


def interpreter() -> str:
    """A Python of this version: the one that runs, or if a program has Python in it, that beside its library.

    FileNotFoundError if there is none; a program that was frozen would start itself.
    """
    if not getattr(sys, "frozen", False):
        if os.path.basename(sys.executable or "").startswith("python"):
            return os.path.abspath(sys.executable)
        name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        for prefix in (sys.exec_prefix, sys.base_exec_prefix):
            path = os.path.join(prefix, "bin", name)
            if os.access(path, os.X_OK):
                return path
    raise FileNotFoundError(
        f"there is no Python that could be started to compile: this process is {sys.executable or 'no Python'}"
    )


def _folders() -> list[str]:
    """The folders that the compiler process imports packages from."""
    loaded = [os.path.dirname(os.path.dirname(_file(name))) for name in ("numpy", "llvmlite")]
    candidates = [*loaded, *safe_entries(frozenset(os.stat(folder).st_uid for folder in loaded))]
    for folder in candidates:
        spec = PathFinder.find_spec("numba", [folder])
        if spec is not None and spec.origin is not None and spec.submodule_search_locations:
            return list(dict.fromkeys([folder, *loaded]))
    return list(dict.fromkeys(loaded))  # its error says that Numba is not there


def _file(name: str) -> str:
    return os.path.abspath(import_module(name).__file__ or "")


def safe_entries(trusted: frozenset[int]) -> Iterator[str]:
    """Where this process looks for modules, without the working directory, the program's folder, and those that others
    may write; those `trusted`, as the owners of NumPy, may.
    """
    program = getattr(sys.modules.get("__main__"), "__file__", None)
    excluded = {os.path.realpath(os.path.dirname(program))} if program else set()
    with suppress(FileNotFoundError):  # it was removed meanwhile
        excluded.add(os.path.realpath(os.getcwd()))
    for entry in sys.path:
        if not os.path.isabs(entry) or os.path.realpath(entry) in excluded:
            continue
        try:
            own_folder(Path(entry), make=False, trusted=trusted)
        except OSError:
            continue
        yield entry
