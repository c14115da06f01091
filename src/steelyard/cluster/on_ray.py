"""A Ray cluster: one of our own on this machine, or one that is there; its workers, and what is sent to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import socket
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.cluster.messages import LeaseItem, Report, Setup
from steelyard.cluster.worker import Worker
from steelyard.cluster.worker_pool import LARGEST_LEASE, SMALLEST_LEASE, Lost, WorkerPool
from steelyard.errors import MissingExtra, UsageError
from steelyard.redact import redact_known
from steelyard.suite.models import SuiteModel

OWN = "ray"
"""What `--on` says for a cluster of our own; any other may be on other machines, and is sent the suite's folder."""
_CPU_SHARE = 0.01
"""Of a core, what a worker asks for: it waits for answers most of the time."""
_MEMORY = 150 * 2**20
"""Bytes that a worker takes: a machine gets no more workers than it has room for."""
_SKIPPED = frozenset({"__pycache__", "node_modules", "venv"})
_LARGE_CASES = 10_000_000
"""Bytes; case files above this are not sent, since cases come with the work."""
_MOST_SENT = 250_000_000
"""Bytes of the packed folder. Ray itself takes somewhat more, but keeps it in the memory of its head."""
_TRIES = 3
_HINTS = (
    ". Check that ray:// names the port for clients (10001 unless chosen otherwise) and HOST:PORT that of the head"
    " (6379), that versions of Ray and Python are the cluster's, and its token (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH);"
    " --on ray starts a cluster of its own",
    ". Is this machine too busy? Nothing was asked yet: try again",
)
"""What to do about a cluster that does not answer: one that is there, and one of our own."""
_OWN_MEMORY = 80 * 2**20
"""Bytes of Ray's object store, which nothing here uses."""


@contextmanager
def workers_on(
    place: str, setups: Sequence[Setup], suite: SuiteModel, *, workers: int | None, concurrency: int, steady: bool
) -> Iterator[WorkerPool]:
    """A pool of workers for these setups of a suite, on a cluster that is left when this ends.

    `workers` is how many were asked for, `concurrency` how many calls may be under way at once in all of them; under a
    `steady` load no call waits for others to fill a lease.
    """
    with contextlib.ExitStack() as closing:
        ray = _connected(place, suite, closing)
        cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
        n = workers or min(cores, max(1, -(-concurrency // SMALLEST_LEASE)))
        wants = max(2 * LARGEST_LEASE, 2 * -(-concurrency // n))
        actor = ray.remote(Worker).options(
            num_cpus=_CPU_SHARE,
            memory=_MEMORY,
            max_concurrency=1_000,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        new_link: Callable[[], _Actor] = lambda: _Actor(ray, actor.remote(tuple(setups), wants))  # noqa: E731
        pool = WorkerPool(new_link, n, wants, **({"gather": 0.0} if steady else {}))
        pool.room = lambda: _room(ray)
        yield pool


def _room(ray: Any) -> str:
    """What a cluster has room for, beside what a worker needs."""
    nodes = [node for node in ray.nodes() if node.get("Alive")]
    total, free = ray.cluster_resources(), ray.available_resources()
    cores, memory = free.get("CPU", 0.0), free.get("memory", 0.0)
    has = (
        f"{len(nodes)} node{'' if len(nodes) == 1 else 's'} of the cluster answer, with {cores:g} of"
        f" {total.get('CPU', 0.0):g} cores and {memory / 1e9:.1f} of {total.get('memory', 0.0) / 1e9:.1f} GB free"
    )
    if cores < _CPU_SHARE or memory < _MEMORY:
        return (
            f"{has}, and a worker needs {_CPU_SHARE:g} cores and {_MEMORY / 1e9:.2f} GB: wait for others, or add nodes"
        )
    return (
        f"{has}, which is enough: the nodes are still unpacking the suite, or cannot start a process"
        " (`ray status`, and runtime_env*.log of a node, show more)"
    )


def check_place(place: str) -> str:
    """The place as given; UsageError when it is none that `--on` knows."""
    host, _, port = place.removeprefix("ray://").rpartition(":")
    if place in (OWN, "auto") or (host and port.isdigit()):
        return place
    raise UsageError(
        f"--on {place}: write ray (a cluster of its own on this machine), auto (the one that RAY_ADDRESS names, or that"
        " runs here), HOST:PORT (its head, from a machine of the cluster) or ray://HOST:PORT"
    )


def _connected(place: str, suite: SuiteModel, closing: contextlib.ExitStack) -> Any:
    """The module of Ray, connected to the cluster at the place until `closing` ends."""
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    variables = {"RAY_USAGE_STATS_ENABLED": "0"}  # it reports to nobody
    if place == OWN:
        if "ray" in sys.modules:
            raise UsageError("--on ray: this process has imported Ray already, and can only use --on auto or ray://...")
        # Nobody else can read it. Ray opens its own folder to everybody, so that one is inside, with a short name.
        home = Path(tempfile.mkdtemp(prefix="steelyard-ray-"))
        closing.callback(shutil.rmtree, home, ignore_errors=True)
        token = home / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        # It listens on loopback alone, and workers are no nicer than this process. Ray reads these when it is imported.
        variables |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_worker_niceness": "0"}
        variables |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        options |= {"address": "local", "include_dashboard": False, "object_store_memory": _OWN_MEMORY}
        options |= {"_temp_dir": str(home / "r"), "_node_ip_address": "127.0.0.1"}
    else:
        options |= {"address": place, "runtime_env": _packed(suite, closing)}
        variables |= {"RAY_NUM_REDIS_GET_RETRIES": "3"}  # else Ray tries a wrong port for minutes
        _refuse_unreachable(place)
    closing.enter_context(_set(variables))
    try:
        import ray
    except ImportError:
        raise MissingExtra("running on Ray", "ray") from None
    for tries_left in reversed(range(_TRIES)):
        try:
            with _quiet_stderr():
                ray.init(**options)
            break
        except Exception as error:
            # The head starts a process for each client and waits 30 s for it, which may be too short on a busy one.
            if not isinstance(error, ConnectionAbortedError) or not tries_left:
                raise UsageError(f"--on {place}: {_first_line(error)}{_HINTS[place == OWN]}") from error
    closing.callback(ray.shutdown)
    return ray


def _refuse_unreachable(place: str) -> None:
    """UsageError when no cluster is there: Ray itself would look for it for minutes, and not say why."""
    address = os.environ.get("RAY_ADDRESS", "") if place == "auto" else place
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"--on {place}: nothing answers at {address} ({reason}): check host and port, and that the cluster runs"
        ) from None


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Without the lines that Ray prints at every try to connect: the error says what they say, and once."""
    sys.stderr.flush()
    before = os.dup(2)
    try:
        with Path(os.devnull).open("w") as nowhere, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def _set(variables: dict[str, str]) -> Iterator[None]:
    """These variables of the environment meanwhile, for Ray and the processes that it starts."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _packed(suite: SuiteModel, closing: contextlib.ExitStack) -> dict[str, Any]:
    """The runtime environment that brings the suite's folder to workers; none for a suite that is installed there.

    Hidden files (`.git`, `.env`) stay here; what `.gitignore` names goes along: suites have data that git has not.
    """
    if not Path(suite.path).exists():
        return {}
    folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="steelyard-suite-")))
    archive, sizes = folder / "suite.zip", dict[str, int]()
    large = {Path(file.path) for file in getattr(suite.cases, "files", ()) if file.path.stat().st_size > _LARGE_CASES}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in _files(suite.folder):
            if path in large:
                continue
            name = str(path.relative_to(suite.folder))
            packed.write(path, name)
            sizes[name] = packed.getinfo(name).compress_size
        # Ray names a package by its content, and for ten minutes refuses one that it could not unpack once, say because
        # its driver was killed meanwhile: each run has a package of its own.
        packed.writestr(f".steelyard-{secrets.token_hex(8)}", b"")
    if (size := archive.stat().st_size) > _MOST_SENT:
        names = sorted(sizes, key=lambda name: -sizes[name])[:3]
        largest = ", ".join(f"{name} ({sizes[name] / 1e6:,.0f} MB)" for name in names)
        raise UsageError(
            f"the suite's folder {suite.folder} is too large to be sent to workers: {size / 1e6:,.0f} MB packed, and at"
            f" most {_MOST_SENT / 1e6:,.0f} MB are; largest: {largest}. Move out what the suite does not need"
        )
    return {"working_dir": str(archive)}


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        yield from (Path(where) / name for name in sorted(names) if not name.startswith("."))


class _Actor:
    """A worker that is an actor of Ray."""

    def __init__(self, ray: Any, handle: Any) -> None:
        self._ray = ray
        self._handle = handle
        self.name = "a node that is not known yet"

    async def start(self) -> str | None:
        problem: str | None
        self.name, problem = await self._call("start")
        return problem

    async def take(self, lease: list[LeaseItem]) -> None:
        await self._call("take", lease)

    async def results(self) -> tuple[list[Report], int]:
        result: tuple[list[Report], int] = await self._call("results")
        return result

    async def close(self) -> None:
        await self._call("close")

    def kill(self) -> None:
        with contextlib.suppress(Exception):
            self._ray.kill(self._handle)

    async def _call(self, method: str, *given: Any) -> Any:
        try:
            return await getattr(self._handle, method).remote(*given)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise Lost(_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    """What went wrong without the traceback of another process, whose last line says why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    shown = lines[:1] + (lines[-1:] if lines[1:] and "Traceback" in str(error) else [])
    return redact_known(" ".join([f"{type(error).__name__}:", *shown]))
