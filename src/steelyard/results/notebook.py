"""A report as one HTML block of a notebook.

A page puts it among its own elements without a parser's or a script's help, so that neither a shadow root nor an iframe
that fits is to be had: each rule is one of a class of ours instead.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.report.document import Document

_LONGEST = 1_000
"""Characters of a text in a notebook; where so few have room, folded tables have their first rows alone."""
_RESET = """
{0} {{ padding: .5rem 0; border-radius: 8px; }} {0} .wrap {{ margin: 0; }} {0} header.page {{ padding: .75rem 0; }}
{0} footer {{ padding: 0 0 .5rem; }} {0} table {{ margin: 0; table-layout: auto; border: 0; color: inherit; }}
{0}.steelyard tr, {0}.steelyard tr > * {{ background: none; max-width: none; }} {0} thead {{ border: 0; }}
"""
_THEMES = """
[data-jp-theme-light="true"] {0}, .vscode-light {0} {{ {1} color-scheme: light; }}
[data-jp-theme-light="false"] {0}, .vscode-dark {0}, .vscode-high-contrast {0} {{ {2} color-scheme: dark; }}
"""
"""Notebooks that have a theme of their own, whatever the reader's system has."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_NAMED = re.compile(r'(\bid="|\baria-labelledby="|url\(#)')


def html_block(document: Document) -> str:
    """The report as one element that brings its style, changes nothing around it and needs no script.

    Of samples it has the worst alone: a notebook keeps what a cell shows, and all samples are megabytes.
    """
    from steelyard.report.document import SampleList
    from steelyard.report.render.html import BlockWriter

    blocks = [block for block in document.blocks if not isinstance(block, SampleList)]
    hint = ["All samples: .write_html(FILE)"] if len(blocks) < len(document.blocks) else []
    shown = replace(document, blocks=blocks, last=[*document.last, *hint])
    body = re.sub(r'<a href="#[^"]*">(.*?)</a>', r"\1", BlockWriter(shown, _LONGEST).body())
    # Two blocks of a notebook are one page: ids and rules must differ unless all else is the same.
    own = f"s{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    body = _NAMED.sub(rf"\g<1>{own}-", body)
    used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    return f'<div class="steelyard {own}"><style>{_style(f".steelyard.{own}", used)}</style>{body}</div>'


def _style(scope: str, used: set[str]) -> str:
    """The style of pages for these classes, each rule in the scope alone.

    The scope has two classes, so that it is stronger than what notebooks say of tables and headings.
    """
    from steelyard.report.render.html import asset

    page = _COMMENT.sub("", asset("page.css"))
    light, dark = re.findall(r":root \{([^}]*)\}", page)[:2]

    def scoped(rule: re.Match[str]) -> str:
        names = [name.strip() for name in rule[1].split(",")]
        needed = [name for name in names if used.issuperset(re.findall(r"\.([a-z][\w-]*)", name))]
        own = [scope if name in (":root", "html", "body") else f"{scope} {name}" for name in needed]
        return f"\n{', '.join(own)} {{{rule[2]}}}" if own else ""

    return _RULE.sub(scoped, page) + _RESET.format(scope) + _THEMES.format(scope, light, dark)
