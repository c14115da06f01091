"""`steelyard.yaml` in the working folder: what holds for every suite that is run from there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from steelyard.suite.alert_settings import AlertSettings, build_alerts
from steelyard.suite.draft import Draft
from steelyard.suite.inside import text_of
from steelyard.suite.located import read_yaml

PROJECT_FILE = "steelyard.yaml"


class ProjectPart(BaseModel):
    """What a project says for all its suites."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    alerts: Any = Field(default=None, description="What to tell of, and where to, where a suite does not say.")


def project_alerts(folder: Path) -> AlertSettings | None:
    """What the project file of a folder says of alerts; None without one, SuiteError with every mistake in it."""
    path = folder / PROJECT_FILE
    if not path.is_file():
        return None
    draft = Draft(read_yaml(text_of(path, PROJECT_FILE), PROJECT_FILE), folder)
    draft.mistakes.extend(draft.located.mistakes)
    data = draft.located.data or {}
    draft.check(ProjectPart, data)
    # Whatever else is wrong: all mistakes are told at once.
    found = build_alerts(data.get("alerts"), draft) if isinstance(data, Mapping) else None
    draft.finish()
    return found
