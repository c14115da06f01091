"""Texts with holes, filled from a case: sandboxed Jinja in which an unknown name is an error, never an empty string."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from steelyard.errors import Problem, SuiteError
from steelyard.suite.case import Case
from steelyard.suite.models import Variant

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.runtime import Context
    from jinja2.sandbox import ImmutableSandboxedEnvironment


_TRUTH_SHOWN = "the template would show the truth to the system under test"
_NOT_FENCED = "the filter fenced is for the templates of a judge"
FENCE = "fence"
"""The name under which `fill` is given the function behind the filter `fenced`."""
NAMES = ("case", "input", "variant", "repeat")
"""Names that a template of a prompt, body or argument may use."""
JUDGE_NAMES = ("case", "input", "expected", "text", "metrics", "rubric", "shortened", "to_answer")
"""Names that a template of a judge may use."""
SHOWN_NAMES = ("part",)
"""Names that a template of how something is shown to a judge may use."""
_HOLE = re.compile(r"\{\{ *([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*) *\}\}", re.ASCII)


def _as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _fenced(context: Context, value: Any) -> str:
    """The value between the marks of this one call, by the function that whoever fills the template brings along."""
    fence = context.get(FENCE)
    if not callable(fence):
        raise ValueError(_NOT_FENCED)
    return str(fence(value))


def _null_is_nothing(value: Any) -> Any:
    return "" if value is None else value


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    # Imported when it is needed: most suites have no holes, or such as `{{ input.text }}`, which targets fill.
    from jinja2 import StrictUndefined, pass_context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # Prompts and request bodies are not HTML: escaping would change what the model is asked.
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, finalize=_null_is_nothing
    )
    environment.filters["json"] = environment.filters["tojson"] = _as_json
    environment.filters["fenced"] = pass_context(_fenced)
    # A template must give the same text each time, and `range(10**9)` must not hang a run.
    for name in ("lipsum", "cycler", "joiner"):
        environment.globals.pop(name, None)
    environment.filters.pop("random", None)
    return environment


class Template:
    """A compiled text; `render` fills it for one call, `fill` from any names."""

    __slots__ = ("_template", "text", "where")

    def __init__(self, text: str, where: str, names: tuple[str, ...] | None) -> None:
        self.text = text
        self.where = where
        self._template: Any = None
        if _needs_no_check(text, names):
            return
        from jinja2 import TemplateError, TemplateSyntaxError, meta

        try:
            tree = _environment().parse(text)
            unknown = meta.find_undeclared_variables(tree) - set(_environment().globals)
            if names is not None and (unknown := unknown - set(names)):
                raise SuiteError([_unknown_name(sorted(unknown)[0], names, text, where)])
            if names is not None and "expected" not in names and (line := _line_of_truth(tree)):
                raise SuiteError([Problem(_TRUTH_SHOWN, *_place(where, line))])
            if "text" not in (names or ()) and (line := _line_of_fence(tree)):
                raise SuiteError([Problem(_NOT_FENCED, *_place(where, line))])
            self._template = _environment().from_string(text)
        except TemplateSyntaxError as error:
            message = f"the template does not compile: {error.message}"
            raise SuiteError([Problem(message, *_place(where, error.lineno))]) from None
        except (TemplateError, RecursionError, ValueError, TypeError) as error:
            raise SuiteError([Problem(f"the template does not compile: {error}", *_place(where, None))]) from None

    def render(self, case: Case, variant: Variant | Mapping[str, Any], repeat: int = 0) -> str:
        """The text for one call; SuiteError naming the file and the case when a name in it is not there."""
        values = variant.values if isinstance(variant, Variant) else variant
        try:
            return self.fill({"case": case, "input": case.input, "variant": values, "repeat": repeat})
        except SuiteError as error:
            messages = [Problem(f"{m.message} (case {case.id})", m.file, m.line) for m in error.problems]
            raise SuiteError(messages) from None

    def fill(self, names: Mapping[str, Any]) -> str:
        """The text with these names; SuiteError when one in it is not there or cannot be used so."""
        try:
            self._template = self._template or _environment().from_string(self.text)
            return str(self._template.render(names))
        except Exception as error:  # noqa: BLE001 - a template computes freely; whatever breaks is a mistake in it
            raise SuiteError([Problem(_broken(error), self.where)]) from None


def _needs_no_check(text: str, names: tuple[str, ...] | None) -> bool:
    """Whether all holes are plain paths from names that may be used: Jinja would find nothing wrong with that."""
    parts = _HOLE.split(text)
    if any(part.endswith("{") or any(mark in part for mark in ("{{", "{%", "{#")) for part in parts[::2]):
        return False
    steps = [path.split(".") for path in parts[1::2]]
    return names is not None and all(first in names and rest[:1] != ["expected"] for first, *rest in steps)


def _broken(error: Exception) -> str:
    """Why a template could not be filled."""
    from jinja2.exceptions import SecurityError, UndefinedError

    if isinstance(error, SecurityError):
        return f"the template does something that is not allowed: {error}"
    message = error.message if isinstance(error, UndefinedError) else error
    return f"the template cannot be filled: {message or type(error).__name__}"


def compile_template(text: str, *, where: str, names: tuple[str, ...] | None = NAMES) -> Template:
    """The text as a Template; SuiteError naming `where` when it does not compile or speaks of unknown names.

    `names` are the names it may use (None: any).
    """
    return Template(text, where, names)


def _line_of_truth(tree: nodes.Template) -> int | None:
    """Where the template speaks of `case.expected`, which is never filled."""
    from jinja2 import nodes

    named: list[tuple[nodes.Node, nodes.Node, Any]] = [
        (node, node.node, node.attr) for node in tree.find_all(nodes.Getattr)
    ]
    named += [(node, node.node, getattr(node.arg, "value", None)) for node in tree.find_all(nodes.Getitem)]
    for node, owner, key in named:
        if key == "expected" and isinstance(owner, nodes.Name) and owner.name == "case":
            return node.lineno
    return None


def _line_of_fence(tree: nodes.Template) -> int | None:
    from jinja2 import nodes

    return next((result.lineno for result in tree.find_all(nodes.Filter) if result.name == "fenced"), None)


def _unknown_name(name: str, names: tuple[str, ...], text: str, where: str) -> Problem:
    line = next((at for at, row in enumerate(text.splitlines(), 1) if name in row), None)
    allowed = ", ".join(sorted(names))
    return Problem(f"the template uses {name!r}, which does not exist; there are: {allowed}", *_place(where, line))


def _place(where: str, line: int | None) -> tuple[str, int | None]:
    """File and line of a mistake; a `where` that already ends in a line keeps its own."""
    head, _, tail = where.rpartition(":")
    if head and tail.isdigit():
        return head, int(tail)
    return where, line
