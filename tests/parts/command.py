"""The real command line, run as a person would, in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from inspect import signature
from io import TextIOWrapper
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import cast
from unittest.mock import patch

from click.testing import CliRunner

from parts.processes import ENVIRONMENT
from steelyard.cli import steelyard as group
from steelyard.errors import SteelyardError

_ENV = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ} | {
    "PATH": os.environ["PATH"],
    "HOME": os.environ.get("HOME", "/"),
    "LANG": "C.UTF-8",
    "COLUMNS": "80",
}


@cache
def forks() -> ForkServerContext:
    """Processes that begin where Python has started and read our modules, which takes a second of CPU each time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["parts.preloaded"])
    # Python 3.11 does not hand our `sys.path` to the server, which leaves out without a word what it cannot import.
    with patch.dict(os.environ, {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"]}):
        forkserver.ensure_running()
    return context


def _main(module: str, arguments: list[str], cwd: Path, env: dict[str, str], files: tuple[str, str]) -> None:
    assert "parts.preloaded" in sys.modules, "the server of processes could not read our modules"
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    for stream in (sys.stdout, sys.stderr):
        cast(TextIOWrapper, stream).reconfigure(encoding="utf-8")
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[:0] = [str(cwd), *env.get("PYTHONPATH", "").split(os.pathsep)]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def steelyard(
    *arguments: object, cwd: Path, env: dict[str, str] | None = None, module: str = "steelyard"
) -> subprocess.CompletedProcess[str]:
    """Run `steelyard ARGUMENTS`, or another module, to its end, in a process of its own."""
    process = StartedCommand([str(one) for one in arguments], cwd, _ENV | (env or {}), module)
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode is not None
    return subprocess.CompletedProcess(process.arguments, process.returncode, out, err)


class StartedCommand:
    """A command that runs in a forked process, with what tests use of `subprocess.Popen`."""

    def __init__(self, arguments: list[str], cwd: Path, env: dict[str, str], module: str = "steelyard") -> None:
        self.arguments = arguments
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._files = (f"{self._folder.name}/out", f"{self._folder.name}/err")
        arguments_of_main = (module, arguments, cwd, env, self._files)
        self._process: ForkServerProcess = forks().Process(target=_main, args=arguments_of_main)
        self._process.start()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Its output and its errors, once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.arguments, timeout or 0.0)
        out, err = (Path(file).read_text(encoding="utf-8") if Path(file).exists() else "" for file in self._files)
        self._folder.cleanup()
        return out, err


def wait_until(true: Callable[[], object], seconds: float = 120) -> None:
    """Return as soon as `true()` is; AssertionError when that takes too long."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"still not true after {seconds:g} s"
        time.sleep(0.01)


def start_steelyard(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> StartedCommand:
    """Start `steelyard ARGUMENTS` and leave it running."""
    return StartedCommand([str(one) for one in arguments], cwd, _ENV | (env or {}))


def start_process(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """The same from its very beginning, as a shell starts it: takes a second of CPU to read all modules."""
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard", *map(str, arguments)],
        cwd=cwd,
        env=_ENV | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def invoke(*arguments: object, code: int = 0, typed: str = "") -> str:
    """What `steelyard ARGUMENTS` prints on standard output, run in this process; of a deliberate error, its message."""
    return outputs(*arguments, code=code, typed=typed)[0]


def outputs(*arguments: object, code: int = 0, typed: str = "") -> tuple[str, str]:
    """The same, and what it prints on standard error."""
    # Before 8.2 click put both outputs into one unless it was told not to.
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    done = CliRunner(**apart).invoke(group, [str(one) for one in arguments], prog_name="steelyard", input=typed)
    if isinstance(done.exception, SteelyardError):
        assert done.exception.exit_code == code, str(done.exception)
        return f"{done.stderr}{done.exception}", done.stderr
    assert done.exit_code == code, f"{done.stdout}{done.stderr}{done.exception!r}"
    return done.stdout, done.stderr
