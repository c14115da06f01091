"""The real command line, run as a person would, in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from functools import cache
from inspect import signature
from io import TextIOWrapper
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import cast

from click.testing import CliRunner

from steelyard.cli.group import steelyard as group
from steelyard.errors import SteelyardError

_ENV = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ} | {
    "PATH": os.environ["PATH"],
    "HOME": os.environ.get("HOME", "/"),
    "LANG": "C.UTF-8",
    "COLUMNS": "80",
}


_PRELOADED = [
    *("numpy", "aiohttp", "steelyard.weighing", "steelyard.importing"),
    *("steelyard.report.html", "steelyard.report.terminal", "steelyard.report.compare_terminal", "steelyard.cli.show"),
    *("steelyard.attributing", "steelyard.audit", "steelyard.suite.load", "steelyard.store.open", __name__),
]


@cache
def _forks() -> ForkServerContext:
    """Processes that begin where Python has started and read our modules, which takes a second of CPU each time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _main(arguments: list[str], cwd: Path, env: dict[str, str], files: tuple[str, str]) -> None:
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    for stream in (sys.stdout, sys.stderr):
        cast(TextIOWrapper, stream).reconfigure(encoding="utf-8")
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[:0] = [str(cwd), *env.get("PYTHONPATH", "").split(os.pathsep)]
    sys.argv = ["steelyard", *arguments]
    runpy.run_module("steelyard", run_name="__main__", alter_sys=True)


def steelyard(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run `steelyard ARGUMENTS` to its end, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        files = (f"{folder}/out", f"{folder}/err")
        process = fork_steelyard(*arguments, cwd=cwd, files=files, env=env)
        process.join(timeout=120)
        given = [str(one) for one in arguments]
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(given, 120)
        out, err = (Path(file).read_text(encoding="utf-8") if Path(file).exists() else "" for file in files)
    return subprocess.CompletedProcess(given, process.exitcode, out, err)


def fork_steelyard(
    *arguments: object, cwd: Path, files: tuple[str, str], env: dict[str, str] | None = None
) -> ForkServerProcess:
    """Start `steelyard ARGUMENTS`, its output and errors going to these files, and leave it running."""
    given = [str(one) for one in arguments]
    process = _forks().Process(target=_main, args=(given, cwd, _ENV | (env or {}), files))
    process.start()
    return process


def start_steelyard(*arguments: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start `steelyard ARGUMENTS` and leave it running."""
    return subprocess.Popen(
        [sys.executable, "-m", "steelyard", *map(str, arguments)],
        cwd=cwd,
        env=_ENV | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def invoke(*arguments: object, code: int = 0) -> str:
    """What `steelyard ARGUMENTS` prints on standard output, run in this process; of a deliberate error, its message."""
    return outputs(*arguments, code=code)[0]


def outputs(*arguments: object, code: int = 0) -> tuple[str, str]:
    """The same, and what it prints on standard error."""
    # Before 8.2 click put both outputs into one unless it was told not to.
    apart = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
    done = CliRunner(**apart).invoke(group, [str(one) for one in arguments], prog_name="steelyard")
    if isinstance(done.exception, SteelyardError):
        assert done.exception.exit_code == code, str(done.exception)
        return f"{done.stderr}{done.exception}", done.stderr
    assert done.exit_code == code, f"{done.stdout}{done.stderr}{done.exception!r}"
    return done.stdout, done.stderr
