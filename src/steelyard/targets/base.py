"""What a target is, its settings and templates, and opening one by its kind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import resource
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from steelyard import plugins
from steelyard.errors import Problem, SteelyardError, SuiteError, TargetFailure, UsageError
from steelyard.frozen import frozen, slotted
from steelyard.plugins import in_one_line, place_in_words, raised_in_words
from steelyard.records import RunHeader, Sample
from steelyard.redact import looks_secret, redact_known
from steelyard.suite.case import MISSING, Attachment, Case, compile_path, json_writer
from steelyard.suite.files import text_inside
from steelyard.suite.judge import MODELS
from steelyard.suite.mapping import Template, compile_template
from steelyard.suite.models import TargetSpec, Variant
from steelyard.suite.prices import Prices


@frozen
class Request:
    """One call: which case, under which variant, for the how-manieth time (from 0).

    The engine gives `case` without its truth, so that no template or function can show it to the system under test.
    `truth` is for settings that say what counts as an answer, such as an error that a case expects.
    """

    case: Case
    variant: Variant
    repeat: int = 0
    truth: Any = None
    private: tuple[str, ...] = ()
    """Names that were taken out of the case and must not come back with the answer; not for the target."""


@slotted
class Response:
    """What came back. `text` is exactly what the system said; nothing is repaired here.

    Structured data is given as its JSON text, so that what is stored is what was scored.
    """

    text: str
    status: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    model: str | None = None
    latency: float | None = None
    """Seconds of the system's own work, when the target knows better than the engine's clock, which also counts waits
    inside this process."""
    first_byte: float | None = None
    """Seconds from sending the question to the first byte of the answer's body; None when the target cannot tell."""
    cut_off: bool = False
    """True when the system says that the answer broke off at the limit of tokens."""
    first_token: float | None = None
    """Seconds from sending the question to the first part of a streamed answer; None when it was not streamed."""
    tokens_cached: int | None = None
    """Of the tokens sent, those that came from the provider's cache."""
    tokens_written: int | None = None
    """Of the tokens sent, those that were written to it."""
    response_id: str | None = None
    """The provider's own id of the answer."""
    cached: bool = False
    """True when the provider, or a gateway before it, says that this is an earlier answer from its cache."""


_STATUS, _MODEL = (int, type(None)), (str, type(None))


def checked_response(response: Any, function: Any) -> Response:
    """The reply of a target; TargetFailure `bad_answer` when it is none, or has no text."""
    fits = isinstance(response, Response) and isinstance(response.text, str)
    if fits and isinstance(response.status, _STATUS) and isinstance(response.model, _MODEL):
        return response  # type: ignore[no-any-return]
    problem = f"{in_one_line(response)} ({type(response).__name__}), not a Response with a text"
    raise TargetFailure("bad_answer", f"the target{place_in_words(function)} returned {problem}", retry=False)


def failure_of(error: BaseException, function: Any) -> BaseException:
    """What the engine is to see of what a target raised: its failure, unless it was Ctrl-C or is being cancelled."""
    task = asyncio.current_task()
    cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    if cancelled or isinstance(error, SteelyardError | KeyboardInterrupt):
        return error
    return TargetFailure("raised", raised_in_words(error, function), retry=False)


@frozen
class TargetContext:
    """What a target may know of where it runs."""

    folder: Path
    answer_schema: dict[str, Any] | None = None
    env: dict[str, str] = field(default_factory=dict)
    """The environment secrets are read from; never stored."""
    max_connections: int = 8
    prices: Prices = field(default_factory=dict)
    """Of the price file; those in settings go before them."""


class Target(Protocol):
    """The system under test. Users implement this; plug-ins register it under an entry point.

    Built as `TargetClass(settings, context)`, where `TargetClass.Settings` is the pydantic model of its part of
    the suite file. Used as an async context manager around all calls of a run. One that has no use for a case's files
    says so with `sends_attachments = False`; for the others, a file that cannot be sent fails the case unasked. One
    that only gives back what was answered before says `makes_no_calls = True`: then its answers need no price. One
    that may well cost nothing says `may_be_free = True`: a spending limit then counts the answers that state a cost.

    One that can tell whether the system is still there has a further method, `async def gone(self) -> str | None`: why
    it is not, in words, or None. It is asked after the last call, and when a call finds nobody to answer; a system
    that is gone makes the run INVALID. With the attribute `may_come_back = True` it is waited for as in any outage.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    async def ask(self, ask: Request) -> Response:
        """One answer, or TargetFailure. Timeouts, retries and limits are the engine's business."""
        ...

    def identity(self) -> dict[str, Any]:
        """Kind, model, address and settings that can change the answer: part of the signature, free of secrets."""
        ...

    def request_key(self, ask: Request) -> Any:
        """The full request as plain data, free of secrets, for the response cache; None when it must not be cached,
        TargetFailure when it cannot be made."""
        ...

    def secrets(self) -> list[str]:
        """Values that must never reach store, log or report; the engine redacts them."""
        ...


# Opens a target by its kind, built-in or plug-in.


def open_target(spec: TargetSpec, target_context: TargetContext) -> Target:
    """The target a suite declares, ready to be entered; UsageError when it lacks something it needs.

    The spec's settings may be validated already or still be plain data, as code that builds a target by hand has them.
    """
    kind = _kind(spec.kind)
    target: Target = kind(_settings(spec, kind), target_context)
    return target


def _kind(name: str) -> Any:
    try:
        return plugins.find("targets", name)
    except KeyError:
        available = ", ".join(plugins.names("targets"))
        raise UsageError(f"there is no target of kind {name!r}; there are: {available}") from None


def _settings(spec: TargetSpec, kind: Any) -> Any:
    if isinstance(spec.settings, kind.Settings):
        return spec.settings
    try:
        return kind.Settings.model_validate(spec.settings)
    except ValidationError as error:
        raise SuiteError(
            [
                Problem(
                    item["msg"].removeprefix("Value error, "),
                    ".".join(["target", spec.kind, *(str(part) for part in item["loc"])]),
                )
                for item in error.errors()
            ]
        ) from None


# What the settings of all kinds of target share: strictness, shorthand, secrets by name, texts from files.

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class TargetSettings(BaseModel):
    """Base of all settings: what is not known is a mistake, and nothing changes after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    shorthand: ClassVar[str | None] = None
    """The setting that a bare text or list in the suite file sets."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, given: Any) -> Any:
        if cls.shorthand is not None and (isinstance(given, str | list) or callable(given)):
            return {cls.shorthand: given}
        return given


class FromEnv(BaseModel):
    """A value taken from an environment variable, so that it is never in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str = Field(description="Name of the environment variable that holds the value.", min_length=1)
    prefix: str = Field(default="", description="Text put before the value, such as `ApiKey `.")

    def read(self, target_context: TargetContext, what: str) -> str:
        """The value with its prefix; UsageError naming the variable when it is not set."""
        return self.prefix + read_variable(self.env, target_context, what)


class TextFile(BaseModel):
    """A text kept in a file of the suite's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(description="Path of the file, inside the suite's folder.", min_length=1)


def read_variable(name: str, target_context: TargetContext, what: str) -> str:
    """The variable's value; UsageError naming it when it is not set or empty."""
    value = target_context.env.get(name, "")
    if not _VARIABLE.fullmatch(name):
        raise UsageError(
            f"{what}: the value is not the name of an environment variable; if it is the key itself,"
            " take it out of the file, export it, and write the variable's name"
        )
    if not value.strip():
        state = "empty" if name in target_context.env else "not set"
        raise UsageError(f"{what} needs the environment variable {name}, which is {state}: export {name}=... first")
    return value.strip()


def without_secrets(given: dict[str, str | FromEnv]) -> dict[str, str | FromEnv]:
    """The headers or parameters as given; ValueError naming every one that holds a secret in plain sight."""
    plain = [name for name, value in given.items() if isinstance(value, str) and looks_secret(name)]
    if plain:
        look = "looks like a secret: put it" if len(plain) == 1 else "look like secrets: put them"
        raise ValueError(f"{', '.join(plain)} {look} in the environment and write {{env: NAME}} here")
    return given


Values = Annotated[dict[str, str | FromEnv], AfterValidator(without_secrets)]
"""Headers, parameters or variables: texts, or what is taken from the environment; no secret in plain sight."""


def listed(given: Any) -> Any:
    """The value of a setting that takes several: a single one may stand alone."""
    return [given] if isinstance(given, int | str) else given


Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""Texts as a list; a single one may stand alone."""


def _checked_path(text: str) -> str:
    compile_path(text)
    return text


CasePath = Annotated[str, AfterValidator(_checked_path)]
"""A dotted path."""


def names_header(headers: Iterable[str], name: str) -> bool:
    """True when one of the headers is `name`, in whatever letter case."""
    return any(header.lower() == name.lower() for header in headers)


def text_of(given: str | TextFile, target_context: TargetContext, what: str) -> tuple[str, str]:
    """The text and the place to name in messages: written inline, or read from a file of the suite."""
    if isinstance(given, str):
        return given, what
    try:
        return text_inside(target_context.folder, given.file), given.file
    except ValueError as error:
        raise SuiteError([Problem(str(error), what)]) from None


# The request of a stored sample: made again of the settings that its run stored and of its case.

_WITH_REQUESTS = (*MODELS, "command", "http")
_NOT_SENT = {"token", "price", "usage", "max_bytes", "connect_timeout", "trust_env", "start", "ready"}
_STORED = ("settings", "more", "variants")
_HIDDEN = "[secret]"
_NUMBER = re.compile(r"[-+]?[\d.,]+")
"""Of an option such as `--max-tokens`, whose name only looks like a secret's."""


def asked_by(spec: TargetSpec, variants: Iterable[Variant], target_context: TargetContext) -> dict[str, Any] | None:
    """A target as plain data to store: settings, with the texts of their files, what else can change an answer, and
    variants. Requests can be made again by it, and targets of two runs compared.

    Values from the environment stand by name, what looks like a secret is left out. None where settings are no model.
    """
    settings = spec.settings
    if not isinstance(settings, TargetSettings):
        return None
    stored = settings.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=_NOT_SENT)
    more = settings.model_dump(mode="json", exclude_defaults=True, include={"usage"})
    for name in type(settings).model_fields:
        if isinstance(value := getattr(settings, name), TextFile):
            stored[name] = text_of(value, target_context, f"target {spec.kind}, {name}")[0]
    if (start := getattr(settings, "start", None)) is not None:
        stored["base_url"] = getattr(settings, "base", None)
        more["start"] = start.identity()
    by_name = {variant.name: variant.values for variant in variants}
    return {name: _without_secrets(part) for name, part in zip(_STORED, (stored, more, by_name), strict=True)}


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _HIDDEN if isinstance(item, str) and looks_secret(name) else _without_secrets(item)
            for name, item in value.items()
        }
    if isinstance(value, str):
        return redact_known(value)
    return hidden_arguments([_without_secrets(item) for item in value]) if isinstance(value, list) else value


def hidden_arguments(words: Iterable[Any]) -> list[Any]:
    """The arguments of a command without the values of options that look like secrets, such as `--api-key`."""
    results: list[Any] = []
    option = False
    for word in words:
        name, sign, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        secret = name.startswith("-") and looks_secret(name)
        if option and isinstance(word, str) and not _NUMBER.fullmatch(word):
            results.append(_HIDDEN)
        else:
            results.append(f"{name}={_HIDDEN}" if secret and sign and not _NUMBER.fullmatch(value) else word)
        option = secret and not sign
    return results


class NamedVariables(dict[str, str]):
    """An environment in which every variable stands for itself, and that has no proxies."""

    def get(self, name: str, default: Any = None) -> Any:
        return default if name.lower().endswith("_proxy") else f"${name}"


def request_again(header: RunHeader, sample: Sample, case: Case) -> Any:
    """A sample's request as it was sent, as plain data, variables by name; None when it cannot be known."""
    kind, stored = header.target.kind, header.options.asked_by
    folder, schema = Path(header.suite_path).parent, header.description.answer.schema_data
    ask = Request(case.without_truth(), Variant(sample.variant, {}), sample.repeat, case.expected, case.private)
    try:
        return requests_by(kind, stored, folder, schema)(ask)
    except SteelyardError:
        return None


def requests_by(
    kind: str, stored: Mapping[str, Any] | None, folder: Path, schema: dict[str, Any] | None
) -> Callable[[Request], Any]:
    """From a call to its request by what `asked_by` gave, as plain data; nothing is sent, and variables stand by name.

    TargetFailure when it cannot be made; it is None where nothing was stored.
    """
    if stored is None or kind not in _WITH_REQUESTS:
        return lambda _: None
    target = open_target(TargetSpec(kind, dict(stored["settings"])), TargetContext(folder, schema, NamedVariables()))
    variants = stored["variants"]

    def request(ask: Request) -> Any:
        variant = Variant(ask.variant.name, dict(variants.get(ask.variant.name, {})))
        return target.request_key(replace(ask, variant=variant))

    return request


# Fills texts, trees of texts and typed values from one call: the bodies, headers and prompts of targets.

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
        return {"place": value.place, "media_type": value.media_type}
    return str(value)  # dates, as YAML reads them


_write = json_writer((", ", ": "), _plain)


def _render(template: Template, ask: Request) -> str:
    try:
        return template.render(ask.case, ask.variant.values, ask.repeat)
    except SuiteError as error:
        raise _unfilled(error) from None


def _unfilled(error: SuiteError) -> TargetFailure:
    return TargetFailure("bad_template", str(error), retry=False)


# How many files this process may open: a call has a connection, or the pipes of a program.

_OTHER_FILES = 256
_OPEN_AT_LEAST, _SPARE_FILES = 32, 24
"""Files that a process has open where that cannot be counted, and those kept free: for the store, modules, reports."""


def room_for_files(needed: int) -> tuple[int, int]:
    """How many of these files this process may open besides what it has open and needs otherwise, and the system's
    limit; the limit is raised as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return needed, soft
    try:
        n_open = sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        n_open = _OPEN_AT_LEAST
    return max(0, min(needed, soft - n_open - _SPARE_FILES)), soft
