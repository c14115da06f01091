"""Plays a Markdown page: writes its files, applies its changes, runs its commands, compares what they print.

The page's conventions:

    ```yaml file=suite.yaml    a file with this text (any language)
    ```diff file=suite.yaml    a change to a file: lines begin with " ", "-" or "+"
    ```sh                      commands after "$ ", then what they print; "..." stands for any number of lines
    ```console                 shown, not run

`$ echo $?` gives the exit code of the command before it. A command that does not end with 0 must be followed by it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parts.command import steelyard

_FENCE = re.compile(r"^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$", re.M | re.S)
_RUN = re.compile(r"[a-z0-9-]+-\d{8}-\d{6}-\w{4}|(?<= in )\d+\.\d+s$")
"""What differs from time to time: names of runs, and how long pytest took."""
_SHOW_CODE = "echo $?"
_OTHER = "STEELYARD_OTHER_ENVIRONMENT"


@dataclass(frozen=True)
class Block:
    language: str
    file: str
    text: str
    line: int


@dataclass(frozen=True)
class Step:
    command: str
    output: list[str]
    line: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(found["language"], found["file"] or "", found["text"], page.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(page)
    ]


def play(page: str, folder: Path, env: dict[str, str] | None = None, programs: Path | None = None) -> list[str]:
    """Everything in which the page is not true, with its line; empty when it is.

    `programs` is the folder of programs of another environment, which is then used in the place of this one.
    """
    around = _environment(folder, env or {})
    if programs is not None:
        around = {**around, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", _OTHER: "1"}
    return list(_play(page, folder, around))


def _play(page: str, folder: Path, env: dict[str, str]) -> Iterator[str]:
    for block in blocks(page):
        if block.language == "diff":
            complaint = _change(folder / block.file, block)
            if complaint:
                yield complaint
        elif block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            yield from _run(_steps(block), folder, env)


def _change(path: Path, block: Block) -> str | None:
    lines = block.text.splitlines()
    before = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("-", " ", ""))
    after = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("+", " ", ""))
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.count(before) != 1:
        return f"line {block.line}: the lines to change stand {text.count(before)} times in {block.file}"
    path.write_text(text.replace(before, after), encoding="utf-8")
    return None


def _steps(block: Block) -> list[Step]:
    steps: list[Step] = []
    for at, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.startswith("$ "):
            steps.append(Step(line[2:], [], at))
        elif steps:
            steps[-1].output.append(line)
    return steps


def _run(steps: list[Step], folder: Path, env: dict[str, str]) -> Iterator[str]:
    code = 0
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        done = _done(step.command, code, folder, env)
        code = done.returncode
        if code and (after is None or after.command != _SHOW_CODE):
            yield f"line {step.line}: {step.command} ended with {code}, which the page does not say\n{done.stderr}"
        difference = _difference(step.output, done.stdout or done.stderr)
        if difference:
            yield f"line {step.line}: {step.command}: {difference}"


def _done(command: str, code: int, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What a command did; one of ours without a shell, which need not read all our modules again."""
    module, _, _ = command.partition(" ")
    if module in ("steelyard", "pytest") and _OTHER not in env and not re.search(r"[|<>&;*$`]", command):
        return steelyard(*shlex.split(command)[1:], cwd=folder, env=env, module=module)
    shell = ["sh", "-c", f"(exit {code}); {command}"]
    return subprocess.run(shell, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def _difference(message: list[str], printed: str) -> str | None:
    expected, real = _plain(message), _plain(printed.splitlines())
    at, skipping = 0, False
    for line in expected:
        if line == "...":
            skipping = True
            continue
        if skipping and line in real[at:]:
            at = real.index(line, at)
        elif skipping or real[at : at + 1] != [line]:
            return f"the page says {line!r}, but it prints\n{printed}"
        at, skipping = at + 1, False
    return None if skipping or at == len(real) else f"it also prints {real[at]!r}"


def _plain(lines: list[str]) -> list[str]:
    spaced = (" ".join(_RUN.sub("RUN", line).split()) for line in lines)
    return [line for line in spaced if line]


def _environment(folder: Path, more: dict[str, str]) -> dict[str, str]:
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    for name, arguments in (("steelyard", "-m steelyard"), ("python", "")):
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        script.chmod(0o755)
    return {
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "COLUMNS": "80",
        **more,
    }
