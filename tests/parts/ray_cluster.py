"""A Ray cluster of two real nodes on loopback with a token of its own, in a process of its own.

    with RayCluster() as cluster:
        subprocess.run([..., "--on", "auto"], env=cluster.environment)
        cluster.kill_worker(); cluster.kill_node(); cluster.add_node()

Ray is imported in that process alone: what it does to a process stays out of the tests.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any, Self

import psutil

from parts.loopback import free_port
from parts.processes import ENVIRONMENT


class RayCluster:
    """Node 0 is the head, which drivers connect to; node 1 can be killed and added again."""

    def __init__(self, **environment: str) -> None:
        """`environment` is what the nodes have besides the usual, as a cluster has keys in its own."""
        # Names of sockets are short, so the folder of a test will not do.
        self.home = Path(tempfile.mkdtemp(prefix="sy-"))
        (self.home / "token").write_text(secrets.token_hex(32))
        self.client_port = free_port()
        self._variables = {
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
            "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120",  # seconds; its 30 do not do while other tests run
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(self.home / "token"),
            "RAY_TMPDIR": str(self.home),
        }
        self._own = environment

    def __enter__(self) -> Self:
        try:
            self._start()
        except RuntimeError:
            # Ray waits 30 s for a node of its own, which is too short while other tests run.
            self._stop()
            self._start()
        return self

    def _start(self) -> None:
        self._errors = (self.home / "stderr").open("w")
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(free_port()), str(self.client_port)],
            env=ENVIRONMENT | self._variables | self._own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.address = self._reply()["address"]
        self.environment = ENVIRONMENT | self._variables | {"RAY_ADDRESS": self.address}

    def __exit__(self, *exc_info: object) -> None:
        self._stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def _stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        started = psutil.Process(self._process.pid).children(recursive=True)
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._errors.close()
        for process in psutil.wait_procs(started, timeout=5)[1]:
            process.kill()

    def workers(self) -> list[psutil.Process]:
        """The processes of Steelyard's workers that are there now."""
        return [
            process
            for process in psutil.Process(self._process.pid).children(recursive=True)
            if "".join(_cmdline(process)).startswith("ray::Worker")
        ]

    def kill_worker(self) -> None:
        """`kill -9` of one worker, if there is any."""
        for process in self.workers()[:1]:
            process.kill()

    def kill_node(self) -> None:
        """`kill -9` of everything that belongs to node 1."""
        self._tell("kill")

    def add_node(self) -> None:
        """Start node 1 anew."""
        self._tell("add")

    def files_with(self, text: str) -> list[Path]:
        """All files of Ray's sessions, its logs included, that hold this text."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        return [path for path in files if text.encode() in path.read_bytes()]

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        self._reply()

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                reply: dict[str, Any] = json.loads(line)
                return reply
        raise RuntimeError(f"the cluster did not start: {(self.home / 'stderr').read_text()[-2000:]}")


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def main(port: int, client_port: int) -> None:
    """Start two nodes, then kill and add the second as told, until there is nothing more to be told."""
    from ray.cluster_utils import Cluster

    (Path(os.environ["RAY_TMPDIR"]) / "ray").mkdir(exist_ok=True)  # Ray notes the address there before it is made
    node = {"num_cpus": 2, "node_ip_address": "127.0.0.1", "object_store_memory": 80 * 2**20}
    head = node | {"gcs_server_port": port, "include_dashboard": False}
    if os.environ.get("STEELYARD_RAY_CLIENT"):
        head["ray_client_server_port"] = client_port
    cluster = Cluster(initialize_head=True, head_node_args=head)
    # As on machines of their own: a node unpacks what it is sent once more, also where another one is using it.
    folders = (f"unpacked-{number}" for number in count())
    second = cluster.add_node(**node, runtime_env_dir_name=next(folders))
    print(json.dumps({"address": cluster.address}), flush=True)
    for line in sys.stdin:
        if line.strip() == "kill":
            if second in cluster.worker_nodes:  # an earlier test may have left it so
                cluster.remove_node(second, allow_graceful=False)
        else:
            second = cluster.add_node(**node, runtime_env_dir_name=next(folders))
        print(json.dumps({"done": line.strip()}), flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
