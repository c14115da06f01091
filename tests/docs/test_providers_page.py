"""The page on providers: its targets and judges can be opened, and its suite is estimated by the command shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from parts.command import invoke
from steelyard import plugins
from steelyard.suite.case import Case
from steelyard.suite.models import TargetSpec, Variant
from steelyard.targets.base import Request, TargetContext, open_target
from steelyard.targets.stored_request import NamedVariables

PAGE = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([\w. ]+) \| `(\{.*\})` \|", PAGE, re.M))
SUITE, JUDGE = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S))


@pytest.mark.parametrize("provider", ROWS)
def test_the_target_of_every_provider_can_be_opened_and_makes_a_request(provider, tmp_path):
    ((kind, settings),) = yaml.safe_load(ROWS[provider]).items()
    target = open_target(TargetSpec(kind, settings), TargetContext(tmp_path, env=NamedVariables()))
    key = target.request_key(Request(Case("c", input="Hello"), Variant()))
    assert key["url"].startswith(("https://", "http://localhost:"))
    assert "Hello" in str(key["body"])


def test_all_named_providers_are_there():
    assert len(ROWS) == 12
    for name, settings in JUDGE["judge"]["judges"].items():
        ((kind, given),) = settings.items()
        assert plugins.find("judges", kind).model_validate(given).model, name


def test_the_suite_of_the_page_is_estimated_without_a_key(tmp_path, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "capitals"
    folder.mkdir()
    (folder / "suite.yaml").write_text(yaml.safe_dump(SUITE))
    (folder / "cases.jsonl").write_text('{"id": "fr", "input": {"country": "France"}, "expected": {"city": "Paris"}}\n')
    for more in ((), ("--target", "gemini"), ("--target", "local", "--model", "llama3.2")):
        assert "no price for" in " ".join(invoke("run", "capitals", "--estimate", *more).split())
