from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.loopback import Loopback
from steelyard.errors import TargetFailure
from steelyard.suite.case import Case
from steelyard.suite.models import TargetSpec, Variant
from steelyard.targets.base import Request, Response, Target, TargetContext, open_target

CASE = Case("c1", input={"text": "Grüße, 世界", "n": 3, "list": [1, 2]}, expected={"name": "x"}, tags=("a", "b"))


class Bench:
    """Opens targets in a folder of their own and asks them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env: dict[str, str] = {}
        self.schema: dict[str, Any] | None = None
        self.max_connections = 8

    def open(self, kind: str, settings: Any) -> Target:
        around = TargetContext(self.folder, self.schema, self.env, self.max_connections)
        return open_target(TargetSpec(kind, settings), around)

    async def ask(
        self, kind: str, settings: Any, case: Case = CASE, variant: Variant | None = None, repeat: int = 0
    ) -> Response:
        async with self.open(kind, settings) as target:
            return await target.ask(Request(case.without_truth(), variant or Variant(), repeat, case.expected))

    async def fail(self, kind: str, settings: Any, case: Case = CASE, **more: Any) -> TargetFailure:
        with pytest.raises(TargetFailure) as caught:
            await self.ask(kind, settings, case, **more)
        return caught.value


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
def make_ask() -> Callable[..., Request]:
    def make(case: Case = CASE, repeat: int = 0, **values: Any) -> Request:
        return Request(case, Variant(",".join(f"{k}={v}" for k, v in values.items()), values), repeat)

    return make
