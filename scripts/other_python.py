"""Print the newest installed Python that the project supports, other than the one that runs this: version and path.

Prints nothing when there is none. Looks for `python3.N` on PATH, and among the versions of pyenv.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def supported() -> list[str]:
    """The versions that pyproject.toml declares as tested, newest first: `3.13`, `3.12`, ..."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    found = [
        match[1] for text in declared if (match := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))
    ]
    return sorted(found, key=lambda version: int(version.partition(".")[2]), reverse=True)


def installed(version: str) -> Iterator[Path]:
    """Where a Python of this version may be."""
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)


def runs(python: Path) -> bool:
    """Whether it starts and can make virtual environments; a shim of pyenv may stand for a version that is off."""
    command = [str(python), "-c", "import ensurepip, venv"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0  # noqa: S603 - a Python of this machine


def main() -> None:
    """Print the version and the path."""
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    for version in supported():
        python = None if version == mine else next(filter(runs, installed(version)), None)
        if python is not None:
            sys.stdout.write(f"{version} {python}\n")
            return


if __name__ == "__main__":
    main()
