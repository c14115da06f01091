"""What the source of a function shows of its findings and measures, before anything is paid for."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from steelyard.records import Finding

FINDING_FIELDS = ("code", "place", "expected", "got", "evidence", "section", "gain")
"""What a finding that is written as a dict may hold."""


def _source(function: Any) -> tuple[ast.AST | None, Callable[[ast.AST], str]]:
    """The syntax tree of a function, and where in its file a node of it stands; None without a source."""
    try:
        plain = inspect.unwrap(function)
        lines, first = inspect.getsourcelines(plain)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        file = Path(inspect.getsourcefile(plain) or "").name
    except (OSError, TypeError, SyntaxError, ValueError):
        return None, lambda _: ""
    return tree, lambda node: f"{file}:{first + getattr(node, 'lineno', 1) - 1}"


def written_codes(function: Any, seen: set[Any]) -> Iterator[tuple[str, str]]:
    """Every finding code that a function, or one of its module that it calls, writes out: its line, and the code."""
    tree, line_of = _source(function)
    if tree is None or function in seen:
        return
    seen.add(function)
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            if "code" in keys and set(keys) <= {*FINDING_FIELDS}:
                yield from _texts(line_of, node.values[keys.index("code")])
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == Finding.__name__:
                yield from _texts(
                    line_of, *node.args[:1], *(item.value for item in node.keywords if item.arg == "code")
                )
            other = getattr(function, "__globals__", {}).get(name)
            if inspect.isfunction(other) and other.__module__ == function.__module__:
                yield from written_codes(other, seen)


def _texts(line_of: Callable[[ast.AST], str], *nodes: ast.AST) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield line_of(node), node.value


def returned_dicts(function: Any) -> Iterator[tuple[str, list[str], bool]]:
    """Every dict that a function returns and writes out: its line, its keys, and whether that is all of them."""
    tree, line_of = _source(function)
    nodes = list(getattr(tree, "body", [])[:1])
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
            keys = [
                key.value for key in node.value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            ]
            yield line_of(node), keys, len(keys) == len(node.value.keys)
        inner = ast.iter_child_nodes(node)
        nodes += [item for item in inner if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
