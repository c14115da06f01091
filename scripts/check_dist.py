# ruff: noqa: S603, T201 - a script that starts Python and prints
"""The wheel in dist/ installs in an empty environment and does there what the tutorial says.

Run by `make dist`. Needs what pip needs to install the dependencies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from parts.transcript import play  # noqa: E402 - found by the line above


def main() -> int:
    """0 when the wheel does what the tutorial says."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    os.environ.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as temporary:
        home, folder = Path(temporary, "environment"), Path(temporary, "tutorial")
        folder.mkdir()
        venv.create(home, with_pip=True)
        pip = [home / "bin" / "python", "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel], check=True)
        subprocess.run([*pip, "check"], check=True)
        size = sum(path.lstat().st_size for path in (home / "lib").rglob("*") if not path.is_symlink())
        print(f"{wheel.name}: installed, {size / 1e6:,.0f} MB with its dependencies and pip")
        plugins = subprocess.run(
            [
                home / "bin" / "python",
                "-c",
                "from importlib.metadata import entry_points as e; print(e(group='pytest11'))",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        problems = [] if "steelyard.testing.plugin" in plugins else ["the wheel does not declare the pytest plugin"]
        problems += play((ROOT / "docs" / "tutorial.md").read_text("utf-8"), folder, programs=home / "bin")
    for problem in problems:
        print(problem)
    print("the tutorial, followed with the wheel:", "all as the page says" if not problems else "see above")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
