"""The part of a GitHub runner that matters here: it runs the steps of a composite action and obeys what logs say.

Written after the runner's own rules, not after ours: a line is a command when, without the space around it, it begins
with `::name`, or when it holds `##[name]`; `::stop-commands::TOKEN` turns commands off until `::TOKEN::`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import yaml

_COMMAND = re.compile(r"::(?P<name>[a-z-]+)(?: (?P<properties>.*?))?::(?P<data>.*)")
_OLD = re.compile(r"##\[(?P<name>[a-z-]+)[^\]]*\](?P<data>.*)")
OUTPUT = re.compile(r"^(?P<name>[\w-]+)<<(?P<mark>\S+)\n(?P<value>.*?)\n(?P=mark)$", re.M | re.S)
_EXPRESSION = re.compile(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}")


@dataclass
class Shown:
    """One annotation as the runner understands it."""

    level: str
    message: str
    properties: dict[str, str]

    @property
    def place(self) -> str:
        return f"{self.properties.get('file', '')}:{self.properties.get('line', '')}"


@dataclass
class Step:
    """What became of the last step that was run."""

    code: int
    stdout: str
    stderr: str
    summary: str
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> list[Shown]:
        """What either stream of the log made the runner show."""
        return [*obeyed(self.stderr), *obeyed(self.stdout)]


def obeyed(log: str) -> list[Shown]:
    """Every command in a log that a runner would obey."""
    found, stopped_by = [], None
    for line in log.splitlines():
        if stopped_by is not None:
            if line.strip() == f"::{stopped_by}::":
                stopped_by = None
            continue
        told = _COMMAND.match(line.strip()) or _OLD.search(line)
        if told is None:
            continue
        if told["name"] == "stop-commands":
            stopped_by = told["data"]
            continue
        pairs = (pair.split("=", 1) for pair in (told.groupdict().get("properties") or "").split(",") if pair)
        found.append(Shown(told["name"], _read(told["data"]), {name: _read(value, True) for name, value in pairs}))
    assert stopped_by is None, "commands were never turned on again"
    return found


def _read(text: str, is_property: bool = False) -> str:
    signs = [("%0D", "\r"), ("%0A", "\n"), *([("%3A", ":"), ("%2C", ",")] if is_property else []), ("%25", "%")]
    for escaped, sign in signs:
        text = text.replace(escaped, sign)
    return text


def run_action(action: Path, workspace: Path, inputs: dict[str, str], env: dict[str, str] | None = None) -> Step:
    """Run the steps of an action in a checkout, up to the first that fails."""
    told = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
    unknown = set(inputs) - set(told["inputs"])
    assert not unknown, f"the action has no input {unknown}"
    values = {name: str(inputs.get(name, each.get("default", ""))) for name, each in told["inputs"].items()}
    last = None
    for step in told["runs"]["steps"]:
        if _wanted(step.get("if"), values):
            last = _run(step, action, workspace, values, env or {})
            if last.code:
                break
    assert last is not None
    return last


def _wanted(condition: str | None, values: dict[str, str]) -> bool:
    if condition is None:
        return True
    told = re.fullmatch(r"inputs\.([\w-]+) == '(\w+)'", condition)
    assert told is not None, f"this runner does not know the condition {condition}"
    return values[told[1]] == told[2]


def _filled(text: str, values: dict[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: values[found[1]], text)


def _run(step: dict, action: Path, workspace: Path, values: dict[str, str], more: dict[str, str]) -> Step:
    assert step["shell"] == "bash"
    assert "${{" not in step["run"], "an expression in a script is text that somebody else may write"
    files = workspace.parent / f"{workspace.name}-job"
    files.mkdir(exist_ok=True)
    for name in ("summary", "outputs", "script"):
        (files / name).write_text("")
    (files / "script").write_text(step["run"])
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(files),
        "LANG": "C.UTF-8",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(action),
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_STEP_SUMMARY": str(files / "summary"),
        "GITHUB_OUTPUT": str(files / "outputs"),
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        **more,
        **{name: _filled(str(value), values) for name, value in step.get("env", {}).items()},
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(files / "script")],
        cwd=workspace / _filled(step.get("working-directory", "."), values),
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    outputs = {found["name"]: found["value"] for found in OUTPUT.finditer((files / "outputs").read_text())}
    return Step(done.returncode, done.stdout, done.stderr, (files / "summary").read_text(), outputs)
