"""What every HTML page of ours stands on: templates that escape everything, and a policy that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from steelyard.report.safe_text import visible

VERDICT_SIGNS = {"PASS": "✓", "FAIL": "✕", "AMBIGUOUS": "?", "INVALID": "⚠"}
"""So that nothing is told by colour alone."""


@cache
def environment() -> Environment:
    """The templates; whatever they print is escaped, and every hidden character spelled out."""
    return Environment(
        loader=PackageLoader("steelyard.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _harmless(value: Any) -> Any:
    """What every printed expression goes through, so that no hidden character can be forgotten."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def asset(name: str) -> str:
    """A file that stands beside the templates."""
    return (files("steelyard.report") / "templates" / name).read_text(encoding="utf-8")


def policy(style: str, script: str) -> str:
    """A content security policy that lets this page's own style and script run, and nothing be fetched."""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
