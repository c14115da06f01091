"""What the pages of docs/ need to be a site: they are written for a code host, and some link to files outside docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^```(\w+) file=(\S+)$", re.M)
_TABLE = re.compile(r"(?<=[^\n|])\n(?=\|)")


def on_config(config: Any) -> Any:
    """The navigation as docs/README.md lists the pages, each where it stands first."""
    nav: list[Any] = [{"Home": "README.md"}]
    listed: set[str] = set()
    for section in (ROOT / "docs" / "README.md").read_text("utf-8").split("\n## ")[1:]:
        pages = [link[2] for link in _LINK.finditer(section) if link[2].endswith(".md") and link[2] not in listed]
        listed.update(pages)
        nav.append({section.partition("\n")[0]: list(dict.fromkeys(pages))})
    config.nav = nav
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Files of examples as titles of their blocks; links to what is no page of the site as the path in the sources."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def outside(link: re.Match[str]) -> str:
        text, name, _ = link.groups()
        place = (folder / name).resolve()
        site = place.is_relative_to(ROOT / "docs") and place.relative_to(ROOT / "docs").parts[0] not in _LEFT_OUT
        if site or not place.is_relative_to(ROOT):
            return link[0]
        path = place.relative_to(ROOT)
        return f"{text} (`{path}`)"

    prose = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    prose[::2] = [_LINK.sub(outside, _TABLE.sub("\n\n", part)) for part in prose[::2]]
    return _FENCE.sub(r'```\1 title="\2"', "".join(prose))


_LEFT_OUT = ("ci", "kubernetes")
"""Folders of docs/ that hold files for other programs."""
