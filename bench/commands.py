"""Whole commands, measured from outside, beside other tools: python -m bench.commands --peers CACHE --out FILE.

Every tool asks the same cases of the same loopback service (50 ms, 100 at once, a chat model) and scores them exactly
and by likeness; a command counts from the start of its process to its end. Other tools get environments of their own in
the folder CACHE, made when they are missing; one that cannot be installed is a row that says so. Figures are kept in
CACHE/figures.json, so that a run that was stopped goes on, and the page is written from all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.report import Figures, write_page
from bench.server import Behaviour, counts, endpoint
from bench.suites import write_suite

CONCURRENCY, DELAY = 100, 0.05
_SCRIPT = Path(__file__).with_name("peers.py")
_THROTTLING = Behaviour(DELAY, throttled=0.05, failed=0.05, retry_after=1)


@dataclass(frozen=True, slots=True)
class Work:
    """One command's task: a folder of its own, the suite and cases in it, and the service to ask."""

    folder: Path
    suite: Path
    url: str

    @property
    def arguments(self) -> list[str]:
        return [str(self.suite.with_name("cases.jsonl")), self.url, str(CONCURRENCY), str(self.folder)]


Command = Callable[[Work], list[str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """How one tool is installed and called; what it cannot do is None."""

    name: str
    version: str
    run: Command
    resume: Command | None = None
    compare: Callable[[Path, Path], list[str]] | None = None
    environment: dict[str, str] = field(default_factory=dict)


def _steelyard() -> Tool:
    program = str(Path(sys.executable).parent / "steelyard")

    def run(work: Work) -> list[str]:
        return [program, "run", str(work.suite), "--concurrency", str(CONCURRENCY), "--store", f"{work.folder}/runs.db"]

    def compare(folder: Path, _: Path) -> list[str]:
        return [program, "compare", "LAST~1", "LAST", "--store", f"{folder}/runs.db"]

    from steelyard import __version__

    return Tool("Steelyard", __version__, run, lambda work: [*run(work), "--resume", "LAST"], compare)


def _python_tool(name: str, version: str, python: str, *, resumes: bool = False, compares: bool = False) -> Tool:
    def of(verb: str) -> Command:
        return lambda work: [python, str(_SCRIPT), name, verb, *work.arguments]

    def compare(a: Path, b: Path) -> list[str]:
        return [python, str(_SCRIPT), name, "compare", str(a), str(b)]

    return Tool(name, version, of("run"), of("resume") if resumes else None, compare if compares else None)


def _installed(name: str, cache: Path, packages: list[str], **able: bool) -> Tool | str:
    """The tool in a virtual environment of its own, or why there is none."""
    home = cache / name
    python = home / "bin" / "python"
    try:
        if not (home / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True)
            install = [str(python), "-m", "pip", "install", "-q", "rapidfuzz", "aiohttp", *packages]
            subprocess.run(install, check=True, capture_output=True, text=True)
            (home / "ready").touch()
    except subprocess.CalledProcessError as error:
        return f"could not be installed: {(error.stderr or 'no environment').strip().splitlines()[-1]}"
    query = f"from importlib.metadata import version; print(version({name!r}))"
    version = subprocess.run([python, "-c", query], check=True, capture_output=True, text=True).stdout.strip()
    return _python_tool(name, version, str(python), **able)


def _promptfoo(cache: Path) -> Tool | str:
    home = cache / "promptfoo"
    home.mkdir(parents=True, exist_ok=True)
    program = home / "node_modules" / ".bin" / "promptfoo"
    if not program.exists():
        if shutil.which("npm") is None:
            return "could not be installed: there is no npm"
        install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), "promptfoo"]
        done = subprocess.run(install, capture_output=True, text=True)
        if done.returncode:
            return f"could not be installed: {done.stderr.strip().splitlines()[-1]}"
    manifest = home / "node_modules" / "promptfoo" / "package.json"
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "OPENAI_API_KEY": "none"}

    def run(work: Work) -> list[str]:
        tests = work.folder / "tests.jsonl"
        lines = map(json.loads, work.suite.with_name("cases.jsonl").read_text().splitlines())
        rows = [{"vars": {"text": case["input"]["text"], "name": case["expected"]["name"]}} for case in lines]
        tests.write_text("".join(json.dumps(row) + "\n" for row in rows))
        likeness = {"type": "levenshtein", "value": "{{name}}", "threshold": 5}
        provider = {"id": "openai:chat:echo", "config": {"apiBaseUrl": f"{work.url}/v1"}}
        config = {
            "prompts": ["{{text}}"],
            "providers": [provider],
            "defaultTest": {"assert": [{"type": "equals", "value": "{{name}}"}, likeness]},
            "tests": f"file://{tests}",
        }
        path = work.folder / "promptfooconfig.json"
        path.write_text(json.dumps(config))
        options = ["--no-cache", "--no-table", "--no-progress-bar", "-j", str(CONCURRENCY)]
        return [str(program), "eval", "-c", str(path), *options, "-o", str(work.folder / "results.json")]

    def resume(_: Work) -> list[str]:
        return [str(program), "eval", "--resume", "--no-table", "--no-progress-bar", "-j", str(CONCURRENCY)]

    return Tool("promptfoo", json.loads(manifest.read_text())["version"], run, resume, None, quiet)


def tools(cache: Path | None, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Tool | str]]:
    """The tools to measure by name, those of others only with a folder for them; a text says why one is not there."""
    makers: dict[str, Callable[[], Tool | str]] = {
        "Steelyard": _steelyard,
        "bare": lambda: _python_tool("bare", "", sys.executable, compares=True),
    }
    if cache is not None:
        makers |= {
            "braintrust": lambda: _installed("braintrust", cache, ["braintrust", "autoevals"]),
            "pydantic-evals": lambda: _installed("pydantic-evals", cache, ["pydantic-evals"], compares=True),
            "inspect-ai": lambda: _installed(
                "inspect-ai", cache, ["inspect-ai", "openai"], resumes=True, compares=True
            ),
            "lm-eval": lambda: _installed("lm-eval", cache, ["lm-eval[api]"], resumes=True),
            "deepeval": lambda: _installed("deepeval", cache, ["deepeval"]),
            "promptfoo": lambda: _promptfoo(cache),
        }
    for name, make in makers.items():
        if wanted(name):
            yield name, make()


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took, with all its child processes."""

    wall: float
    cpu: float
    peak_mb: float
    code: int
    output: str

    @property
    def scored(self) -> int | None:
        """As many cases as the tool says it has scored."""
        said = re.findall(r"([\d,]+) scored|scored ([\d,]+)", self.output)
        # promptfoo says how many passed and how many failed.
        numbers = ["".join(said[-1])] if said else re.findall(r"([\d,]+) (?:passed|failed) \(", self.output)
        return sum(int(number.replace(",", "")) for number in numbers) if numbers else None


def measure(command: list[str], folder: Path, extra: dict[str, str], most: float) -> Spent:
    """Run it to its end, or kill it after so many seconds (then its code is -9)."""
    with (folder / "output.txt").open("w+") as output:
        began = time.perf_counter()
        process = _start(command, folder, extra, output)
        usage = _waited(process, began + most)
        wall = time.perf_counter() - began
        output.seek(0)
        said = output.read()
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode, said)


def _start(command: list[str], folder: Path, extra: dict[str, str], output: Any) -> subprocess.Popen[bytes]:
    home = {"HOME": str(folder), "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo"), "NO_COLOR": "1"}
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ} | home | extra
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )


def _waited(process: subprocess.Popen[bytes], until: float) -> resource.struct_rusage:
    """Its use of the machine; `wait4` counts its own children, too."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.perf_counter() > until:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.005)


def _bytes_in(folder: Path, inputs: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) - inputs.stat().st_size


class Bench:
    """Measures tools one figure at a time, and keeps each."""

    def __init__(self, figures: Figures, folder: Path, most: float) -> None:
        self._figures = figures
        self._folder = folder
        self._most = most

    @contextmanager
    def _work(self, name: str, n: int, behaviour: Behaviour = Behaviour(DELAY)) -> Iterator[Work]:  # noqa: B008
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with endpoint(behaviour) as url:
            yield Work(folder, write_suite(folder / "suite", n, f"{url}/v1"), url)
        shutil.rmtree(folder, ignore_errors=True)

    def run(self, tool: Tool, n: int) -> bool:
        """A whole run of n cases; False when it took too long, and larger ones need not be tried."""
        with self._work(tool.name, n) as work:
            empty = _bytes_in(work.folder, work.suite)
            spent = measure(tool.run(work), work.folder, tool.environment, self._most)
            stored = _bytes_in(work.folder, work.suite) - empty
            self._keep(tool, f"run {n}", spent, bytes=stored, answered=counts(work.url)["answered"])
        return spent.code != -signal.SIGKILL

    def throttled(self, tool: Tool, n: int) -> None:
        """The same of a service that answers 429 (`Retry-After: 1`) to 5 % of the calls and 500 to 5 %."""
        with self._work(tool.name, n, _THROTTLING) as work:
            spent = measure(tool.run(work), work.folder, tool.environment, self._most)
            self._keep(tool, f"throttled {n}", spent, **counts(work.url))

    def compare(self, tool: Tool, n: int) -> None:
        """Two results of n cases are loaded and compared."""
        if tool.compare is None:
            return
        with self._work(tool.name, n) as work:
            ours = tool.name == "Steelyard"
            folders = [work.folder] * 2 if ours else [work.folder / each for each in ("a", "b")]
            for folder in folders:
                folder.mkdir(exist_ok=True)
                measure(tool.run(Work(folder, work.suite, work.url)), folder, tool.environment, self._most)
            spent = measure(tool.compare(*folders), work.folder, tool.environment, self._most)
            self._keep(tool, f"compare {n}", spent)

    def killed(self, tool: Tool, n: int) -> None:
        """`kill -9` when half of the cases are answered; then it goes on, or starts again where it cannot."""
        with self._work(tool.name, n) as work, (work.folder / "killed.txt").open("w") as output:
            began = time.perf_counter()
            process = _start(tool.run(work), work.folder, tool.environment, output)
            while counts(work.url)["answered"] < n // 2 and process.poll() is None:
                if time.perf_counter() - began > self._most:
                    break
                time.sleep(0.02)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            time.sleep(0.2)
            before = counts(work.url)["answered"]
            spent = measure((tool.resume or tool.run)(work), work.folder, tool.environment, self._most)
            self._keep(tool, f"killed {n}", spent, before=before, **counts(work.url))

    def _keep(self, tool: Tool, what: str, spent: Spent, **more: float) -> None:
        figures = {"wall": spent.wall, "cpu": spent.cpu, "peak_mb": spent.peak_mb, "code": spent.code}
        figures["load"] = os.getloadavg()[0]
        failed = spent.scored is None and spent.code not in {0, -signal.SIGKILL}
        self._figures.keep(tool.name, what, {"failed": True} if failed else figures | {"scored": spent.scored} | more)
        print(
            f"{tool.name:<15} {what:<16} {spent.wall:7.2f} s, CPU {spent.cpu:6.2f} s, {spent.peak_mb:5.0f} MB", end=""
        )
        print(f", exit {spent.code}, scored {spent.scored} {more}", flush=True)
        if failed:
            print("".join(f"    {line}\n" for line in spent.output.splitlines()[-6:]), flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.commands", description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, help="folder for other tools and for the figures; without it only ours")
    parser.add_argument("--out", type=Path, help="page to write")
    parser.add_argument("--sizes", default="1000,5000,20000", help="numbers of cases of whole runs")
    parser.add_argument("--only", default="", help="names of tools")
    parser.add_argument("--again", action="store_true", help="measure also what there is a figure of")
    parser.add_argument("--most", type=float, default=120, help="seconds that a command may take")
    parser.add_argument("--remark", default="", help="sentence for the page, such as what else the machine did")
    given = parser.parse_args(arguments)
    sizes, only = [int(n) for n in given.sizes.split(",")], {name.lower() for name in given.only.split(",") if name}
    cache = None if given.peers is None else given.peers.resolve()
    work = (cache or Path(tempfile.gettempdir())) / f"bench-{os.getpid()}"
    figures = Figures(None if cache is None else cache / "figures.json")
    bench = Bench(figures, work, given.most)
    for name, tool in tools(cache, lambda name: not only or name.lower() in only):
        if isinstance(tool, str):
            figures.note(name, tool)
            print(name, tool, flush=True)
            continue
        figures.version(name, tool.version)
        _measure(bench, tool, sizes, lambda what, name=name: given.again or not figures.has(name, what))
    shutil.rmtree(work, ignore_errors=True)
    if given.out is not None:
        machine = (
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        )
        write_page(
            given.out,
            figures,
            f"{datetime.now(UTC).date()}: {machine}.{figures.load()} {given.remark}".rstrip(),
            f"{given.most:g} s",
        )


def _measure(bench: Bench, tool: Tool, sizes: list[int], wanted: Callable[[str], bool]) -> None:
    for n in [6, *sizes]:
        if wanted(f"run {n}") and not bench.run(tool, n):
            break
    n = min(sizes)
    for what, each in (("throttled", bench.throttled), ("compare", bench.compare), ("killed", bench.killed)):
        if wanted(f"{what} {n}"):
            each(tool, n)


if __name__ == "__main__":
    main(sys.argv[1:])
