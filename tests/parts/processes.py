"""What a process started by a test needs to import the code under test and these parts, wherever both lie."""

from __future__ import annotations

import os
from pathlib import Path

import steelyard

_FOLDERS = (Path(__file__).parents[1], Path(steelyard.__file__).parents[1])

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, _FOLDERS))}
