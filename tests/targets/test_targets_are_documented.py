from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard import plugins

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "targets.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("kind", ["chat", "command", "http", "python", "recorded"])
def test_every_setting_has_its_row_and_every_row_its_setting(kind):
    fields = plugins.find("targets", kind).Settings.model_fields
    names = {field.alias or name for name, field in fields.items()}
    assert set(re.findall(r"^\| `(\w+)` \|", section(kind), re.M)) == names


@pytest.mark.parametrize("kind", ["anthropic", "gemini", "bedrock"])
def test_a_protocol_of_a_provider_has_rows_of_its_own_for_what_is_not_as_in_chat(kind):
    own, chat = (plugins.find("targets", name).Settings.model_fields for name in (kind, "chat"))
    differ = {name for name in own if name not in chat or own[name].default != chat[name].default}
    rows = set(re.findall(r"^\| `(\w+)` \|", section(kind), re.M))
    assert differ <= rows <= set(own)
    for name in own:
        assert f"`{name}`" in section(kind) + section("chat")


def test_every_kind_of_failure_is_documented():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/steelyard/targets").glob("*.py"))
    kinds = set(re.findall(r'(?:TargetFailure|_failure)\(\s*"(\w+)"', sources))
    assert len(kinds) > 15
    assert kinds - set(re.findall(r"`(\w+)`", section("Failures"))) == set()
