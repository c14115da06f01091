"""Two small scorers under names of their own, and suites written into a folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from steelyard import registry
from steelyard.scoring.base import Reading, Scorer
from steelyard.suite.case import Case
from steelyard.suite.paths import MISSING, compile_path


class Same(Scorer):
    """1 when the answer is the truth, letter for letter."""

    version: ClassVar[int] = 1
    has_strict: ClassVar[bool] = True

    expected: str
    also: tuple[str, ...] = ()
    strict: bool = False

    def read(self, answer: Any, case: Case) -> Reading:
        return Reading(1.0 if answer == self.truth(case) else 0.0)

    def truth(self, case: Case) -> Any:
        value = compile_path(self.expected)(case)
        return None if value is MISSING else value


class Between(Scorer):
    """1 when the answer lies between two bounds of the case."""

    case_paths: ClassVar[tuple[str, ...]] = ("low", "high")

    low: str
    high: str
    unit: str = "cents"

    def read(self, answer: Any, case: Case) -> Reading:
        return Reading(0.0)

    def truth(self, case: Case) -> Any:
        value = compile_path(self.low)(case)
        return None if value is MISSING else value

    def check(self, case: Case) -> str | None:
        low, high = compile_path(self.low)(case), compile_path(self.high)(case)
        if isinstance(low, int) and isinstance(high, int) and low > high:
            return f"{self.low.rpartition('.')[2]} {low} is above {self.high.rpartition('.')[2]} {high}"
        return None


@pytest.fixture(autouse=True)
def two_scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    known = registry._places
    mine = {"same": f"{__name__}:Same", "between": f"{__name__}:Between"}
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this_module())
    monkeypatch.setattr(registry, "_places", lambda kind: known(kind) | (mine if kind == "scorers" else {}))


def _this_module() -> Any:
    import types

    module = types.ModuleType(__name__)
    module.Same, module.Between = Same, Between  # type: ignore[attr-defined]
    return module


GOOD: dict[str, Any] = {
    "suite": "greetings",
    "cases": "cases.json",
    "target": {"python": "answers:greet"},
    "score": {"text": {"same": {"expected": "expected.text"}}},
}
CASES: list[dict[str, Any]] = [
    {"id": "a", "input": "morning", "expected": {"text": "Good morning"}},
    {"id": "b", "input": "evening", "expected": {"text": "Good evening"}},
]

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes `suite.yaml` (text, or GOOD with some keys replaced) and the files given, and says where it is."""

    def write(suite: str | dict[str, Any] | None = None, **files: Any) -> Path:
        folder = tmp_path / "suite"
        folder.mkdir(exist_ok=True)
        for name, content in {"cases.json": CASES, **files.pop("files", {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        # JSON is YAML: the suite can be built as data.
        text = suite if isinstance(suite, str) else json.dumps(GOOD | (suite or {}), indent=1)
        (folder / "suite.yaml").write_text(text, encoding="utf-8")
        return folder / "suite.yaml"

    return write
