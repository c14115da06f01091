"""What every HTML page of ours stands on: templates that escape everything, and a policy that fetches nothing."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from steelyard.report.safe_text import as_text, one_line, visible

_LONGEST_LINE = 600
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


def page(template: str, *, script: str = "", **names: Any) -> str:
    """A whole page that opens from disk, with our style; `names` are what its template is given besides.

    In tables, cells that are `signs` get a badge of their `kinds`, where `verdict_title` is given in that column only.
    """
    style = asset("report.css")
    always = {
        "one_line": one_line,
        "cut_line": lambda value: one_line(as_text(value), _LONGEST_LINE),
        "signs": VERDICT_SIGNS,
        "kinds": {word: word.lower() for word in VERDICT_SIGNS},
        "verdict_title": "",
        "style": Markup(style),  # noqa: S704 - a file of this package
        "script": Markup(script),  # noqa: S704 - a file of this package
        "policy": policy(style, script),
    }
    return environment().get_template(template).render(always | names).lstrip()


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
