"""Fills texts, trees of texts and typed values from one call: the bodies, headers and prompts of targets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from steelyard.errors import Problem, SuiteError, TargetFailure
from steelyard.frozen import values_of
from steelyard.suite.case import Attachment, Case, json_writer
from steelyard.suite.paths import MISSING, compile_path
from steelyard.suite.templates import Template, compile_template
from steelyard.targets.base import Request
from steelyard.user_code import in_one_line

Filler = Callable[[Request], Any]
"""From one call to the value for it; TargetFailure `bad_template` when the case lacks what the template names."""

TextFiller = Callable[[Request], str]

_HOLE = re.compile(r"\{\{|\{%|\{#")
_ONE_EXPRESSION = re.compile(r"^\s*\{\{[-+]?((?:(?!\{\{|\}\}).)+?)[-+]?\}\}\s*$", re.S)
_PLAIN_PATH = re.compile(r"^(input|variant|repeat|case\.[^\W\d]\w*)((?:\.[^\W\d]\w*|\.\d+)*)$")
_PLAIN_HOLE = re.compile(r"\{\{\s*((?:input|variant|case\.[^\W\d]\w*)(?:\.[^\W\d]\w*)*)\s*\}\}")
_ONE_VARIANT = re.compile(r"^\s*\{\{\s*variant\.([^\W\d]\w*)\s*\}\}\s*$")


def text_filler(text: str, where: str) -> TextFiller:
    """Gives the text for each call; a text without holes is given as it is."""
    if not _HOLE.search(text):
        return lambda _: text
    template = compile_template(text, where=where)
    return _plain_filler(text, template) or (lambda ask: _render(template, ask))


def _plain_filler(text: str, template: Template) -> TextFiller | None:
    """Fills holes that are plain paths to texts ten times faster than the template, which is asked for all else."""
    texts = _PLAIN_HOLE.split(text)
    paths = texts[1::2]
    # Jinja writes line ends anew, and takes a name such as `items` for the method of a group.
    if "\r" in text or any(map(_HOLE.search, texts[::2])) or any(hasattr(dict, n) for p in paths for n in p.split(".")):
        return None
    getters = [_getter(path) for path in paths]
    filled = "%s".join([part.replace("%", "%%") for part in texts[::2]])

    def fill(ask: Request) -> str:
        values = tuple([get(ask) for get in getters])
        return filled % values if all(type(value) is str for value in values) else _render(template, ask)

    return fill


def has_holes(text: str) -> bool:
    """Whether a text is a template."""
    return _HOLE.search(text) is not None


def address_filler(text: str, where: str) -> TextFiller:
    """Gives the address for each call, without a slash at its end; TargetFailure `bad_url` when it is none."""
    fill, fixed = text_filler(text, where), not has_holes(text)

    def filled(ask: Request) -> str:
        url = fill(ask)
        if fixed:
            return url
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise TargetFailure("bad_url", f"{where} came out as {in_one_line(url)}, which is no address", retry=False)
        return url.rstrip("/")

    return filled


def host_template(url: str) -> str:
    """The part of a template that the host of an address depends on: up to the first slash after `://`."""
    start = url.find("://") + 3 if "://" in url.partition("{{")[0] else 0
    end = re.compile(r"/(?![^{]*\}\})").search(url, start)
    # Where a template begins with a hole, that may be all of the address but its path.
    return url[: end.start()] if end else url


def refuse_hosts_of_cases(url: str, name: str) -> None:
    """ValueError when the host of an address depends on anything but variants: keys would go where a case says."""
    host = host_template(url)
    try:
        compile_template(host, where=name, names=("variant",))
    except SuiteError:
        compile_template(host, where=name)
        raise ValueError(
            f"{name}: the host of {url!r} depends on the case, which would choose where keys go: use variants there"
        ) from None


def prompt_filler(text: str, where: str) -> TextFiller:
    """As `text_filler`; a text that is only `{{ variant.name }}` takes that variant's value as the template itself."""
    alone = _ONE_VARIANT.match(text)
    if alone is None:
        return text_filler(text, where)
    name, plain = alone.group(1), text_filler(text, where)

    def fill(ask: Request) -> str:
        value = ask.variant.values.get(name)
        return _variant_filler(value, f"variant {name}")(ask) if isinstance(value, str) else plain(ask)

    return fill


@lru_cache(maxsize=256)
def _variant_filler(text: str, where: str) -> TextFiller:
    return text_filler(text, where)


def value_filler(text: str, where: str) -> Filler:
    """As `text_filler`, but a text that is exactly one `{{ expression }}` gives the value with its type."""
    alone = _ONE_EXPRESSION.match(text)
    if alone is None:
        return text_filler(text, where)
    plain = compile_template(text, where=where)
    get = _getter(alone.group(1).strip())
    typed = compile_template("{{ (" + alone.group(1) + ") | json }}", where=where)

    def fill(ask: Request) -> Any:
        value = get(ask)
        if value is not MISSING:
            return value
        try:
            return json.loads(typed.render(ask.case, ask.variant.values, ask.repeat))
        except SuiteError as error:
            _render(plain, ask)  # says which name is missing, where the JSON filter only says that it is
            raise _unfilled(error) from None

    return fill


def _getter(expression: str) -> Filler:
    """Reads a plain path such as `input.text` ten times faster than a template does; MISSING for all else."""
    match = _PLAIN_PATH.match(expression)
    if match is None:
        return lambda _: MISSING
    root, rest = match.groups()
    if root == "repeat":
        return lambda ask: MISSING if rest else ask.repeat
    if root == "variant":
        in_variant = compile_path(rest.removeprefix("."))
        return lambda ask: in_variant(ask.variant.values)
    in_case = compile_path(root.removeprefix("case.") + rest)
    return lambda ask: in_case(ask.case)


def tree_filler(tree: Any, where: str) -> Filler:
    """Gives the tree with every text in it filled, keeping the types of lone expressions."""
    if isinstance(tree, str):
        return value_filler(tree, where)
    if isinstance(tree, dict):
        parts = {str(key): tree_filler(value, f"{where}.{key}") for key, value in tree.items()}
        return lambda ask: {key: part(ask) for key, part in parts.items()}
    if isinstance(tree, list):
        items = [tree_filler(value, f"{where}.{at}") for at, value in enumerate(tree)]
        return lambda ask: [item(ask) for item in items]
    return lambda _: tree


def path_filler(path: str, where: str) -> Filler:
    """Gives what stands at a dotted path of the case, such as `input`."""
    try:
        get = compile_path(path)
    except ValueError as error:
        raise SuiteError([Problem(str(error), where)]) from None

    def fill(ask: Request) -> Any:
        value = get(ask.case)
        if value is MISSING:
            raise TargetFailure("bad_template", f"{where}: case {ask.case.id} has nothing at {path}", retry=False)
        return value

    return fill


def body_filler(body: Any, where: str) -> Filler:
    """A JSON body: a tree of templates, or one text that is a template or else a path into the case."""
    if isinstance(body, str) and not _HOLE.search(body):
        return path_filler(body, where)
    return tree_filler(body, where)


def to_json(value: Any) -> str:
    """JSON text of what a body holds, parts of cases included."""
    return _write(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Case):
        return value.as_data()
    if isinstance(value, Attachment):
        return values_of(value, "place", "media_type")
    return str(value)  # dates, as YAML reads them


_write = json_writer((", ", ": "), _plain)


def _render(template: Template, ask: Request) -> str:
    try:
        return template.render(ask.case, ask.variant.values, ask.repeat)
    except SuiteError as error:
        raise _unfilled(error) from None


def _unfilled(error: SuiteError) -> TargetFailure:
    return TargetFailure("bad_template", str(error), retry=False)
