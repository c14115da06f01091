"""A case, a source of cases and what was found in it, and paths into cases and answers."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from steelyard.errors import UsageError
from steelyard.frozen import frozen

if TYPE_CHECKING:
    import regex

NONE = "(none)"
"""The slice of cases that have no category or no difficulty while others do."""


@frozen
class Attachment:
    """An image or other file sent with a case: a path inside the suite's folder, or a URL."""

    place: str
    media_type: str
    digest: str = ""
    """Of the file's bytes, so that another picture under the same name is another question.

    "" for a URL, "missing" for a file that cannot be read.
    """
    size: tuple[int, int] | None = None
    """Width and height of a picture in pixels, when its file could be read."""

    @property
    def is_url(self) -> bool:
        """True when the target fetches it itself."""
        return self.place.startswith(("http://", "https://"))

    def as_data(self) -> dict[str, Any]:
        """The attachment as plain JSON-able data."""
        data: dict[str, Any] = {"place": self.place, "media_type": self.media_type, "digest": self.digest}
        return data if self.size is None else data | {"size": list(self.size)}


@frozen
class Case:
    """A case as every room sees it, whatever shape its file had."""

    id: str
    input: Any = None
    expected: Any = None
    category: str | None = None
    difficulty: str | None = None
    cluster: str | None = None
    """The document, user or seed that it comes from: cases of one are one cluster in intervals and tests."""
    tags: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    why: str = ""
    source: str = field(default="", compare=False)
    """File and line it came from, for messages; not part of its identity."""
    private: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Names that were taken out of it and must not come back with an answer; never stored or sent."""
    pending: bool = field(default=False, compare=False, repr=False)
    """Whether its truth is still to be found: it is shown to people, and counts in no figure."""

    def without_truth(self) -> Case:
        """The case as the system under test may see it."""
        # `replace` takes four times as long.
        return Case(
            self.id,
            self.input,
            None,
            self.category,
            self.difficulty,
            self.cluster,
            self.tags,
            self.attachments,
            self.why,
            self.source,
        )

    @property
    def unit(self) -> str:
        """The name of the unit of evidence: of its cluster or, when it has none, of itself."""
        return unit_name(self.id, self.cluster)

    @property
    def question(self) -> str:
        """A short name of what is asked: an answer to one case is an answer to another with the same question."""
        return digest([self.input, [attachment.digest or attachment.place for attachment in self.attachments]])

    def as_data(self) -> dict[str, Any]:
        """The case as plain JSON-able data."""
        return {
            "id": self.id,
            "input": self.input,
            "expected": self.expected,
            "category": self.category,
            "difficulty": self.difficulty,
            "tags": list(self.tags),
            "attachments": [attachment.as_data() for attachment in self.attachments],
            "why": self.why,
            **({} if self.cluster is None else {"cluster": self.cluster}),
        }


class CaseSource(Protocol):
    """Cases that can be read again and again without holding them in memory."""

    def __iter__(self) -> Iterator[Case]: ...


@frozen
class CaseSurvey:
    """What one pass over all cases found: how many, which names occur how often, and what they hash to.

    The digests do not depend on the order of the cases. `cases_digest` covers everything asked (id, input, category,
    difficulty, tags, cluster, attachments with their bytes), `truth_digest` what is expected, `input_digest` only what
    a target sees.
    """

    n: int = 0
    n_pending: int = 0
    """Cases whose truth is pending; they are in no other number and in no digest."""
    n_pending_known: int = 0
    """Those of them that have all of the truth that scorers read."""
    categories: dict[str, int] = field(default_factory=dict)
    difficulties: dict[str, int] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    fields: dict[str, dict[str, int]] = field(default_factory=dict)
    """By field that the suite slices by, how many cases each slice has."""
    n_clusters: int = 0
    """How many clusters the cases name; 0 when none does."""
    cases_digest: str = ""
    truth_digest: str = ""
    input_digest: str = ""
    noted_truths: dict[str, str] = field(default_factory=dict)
    """Digests of the truth of those cases that the ledger speaks of."""

    @property
    def slices(self) -> dict[str, dict[str, int]]:
        """By what cases are sliced by, how many cases each slice has; those that have no category are in none."""
        return {"category": self.categories, "difficulty": self.difficulties, "tag": self.tags, **self.fields}


def cell_name(case_id: str, variant: str) -> str:
    """What a case under a variant is called, over all its repeats: `furn-003 [careful]`."""
    return f"{case_id} [{variant}]" if variant else case_id


def unit_name(case_id: str, cluster: str | None) -> str:
    """What names a unit of evidence; no id of a case can be the same, since ids can be printed."""
    return case_id if cluster is None else f"\n{cluster}"


def bare_truth(expected: Any) -> Any:
    """The truth without what it does not hold: absent, null and `{field: null}` are one truth, and so are 5 and 5.0."""
    if isinstance(expected, dict):
        held = {name: bare_truth(value) for name, value in expected.items()}
        return {name: value for name, value in held.items() if value is not None} or None
    if isinstance(expected, list):
        return [bare_truth(value) for value in expected]
    return int(expected) if isinstance(expected, float) and expected.is_integer() else expected


def json_writer(
    separators: tuple[str, str],
    default: Callable[[Any], Any] | None = None,
    *,
    sort_keys: bool = False,
    allow_nan: bool = True,
) -> Callable[[Any], str]:
    """What `json.JSONEncoder(ensure_ascii=False, ...).encode` does, without its C part being built again in every call,
    which takes longer than a small record; data that holds itself is a RecursionError."""
    item, key = separators
    encoder = json.JSONEncoder(
        ensure_ascii=False, sort_keys=sort_keys, allow_nan=allow_nan, separators=separators, default=default
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    write = json.encoder.encode_basestring
    chunks = make(None, encoder.default, write, None, key, item, sort_keys, False, allow_nan)
    return lambda data: "".join(chunks(data, 0))


_spelled = json_writer((",", ":"), sort_keys=True)


def canonical(data: Any) -> bytes:
    """The one spelling of plain data that is hashed: sorted keys, no spaces, UTF-8."""
    return _spelled(data).encode("utf-8", "surrogatepass")


def digest(data: Any) -> str:
    """A short stable name for plain data: the first 16 hex digits of SHA-256 over its canonical form."""
    return hashlib.sha256(canonical(data)).hexdigest()[:16]


# Paths into cases and answers: dotted ones, JSONPath, and patterns that cannot run away.

MOST_SEARCHED: Final = 10_000
"""Characters of one text in an answer that a pattern of an expectation looks at; the rest is cut off."""

MOST_SEARCHED_IN_ALL: Final = 100_000
"""Characters of all texts together that one check looks at: a pattern's time may grow with the square of a text."""

LONGEST_SEARCH: Final = 0.5
"""Seconds of CPU that one search may take. Some patterns take a time that doubles with each character of the text."""


class Unsearchable(ValueError):
    """An answer that is too large or nested too deeply to be searched."""


class Searched:
    """What one check may still look at."""

    def __init__(self) -> None:
        self._left = MOST_SEARCHED_IN_ALL

    def head(self, text: str) -> str:
        """The part of the text that is searched; Unsearchable when too much was searched before it."""
        head = text[:MOST_SEARCHED]
        self._left -= len(head)
        if self._left < 0:
            raise Unsearchable(f"the answer holds more than {MOST_SEARCHED_IN_ALL} characters to search")
        return head


def fits(pattern: regex.Pattern[str], text: str, *, whole: bool = False) -> bool:
    """True when the pattern is found in the text, or, `whole`, is all of it.

    ValueError with a sentence when that takes too long: what the text is worth is then not known.
    """
    try:
        return (pattern.fullmatch if whole else pattern.search)(text, timeout=LONGEST_SEARCH) is not None
    except TimeoutError:
        raise ValueError(
            f"the pattern {pattern.pattern!r} gave no result within {LONGEST_SEARCH:g} s on a text of {len(text):,}"
            " characters: write it without a repeat inside a repeat"
        ) from None


class _Missing:
    """The type of MISSING: false, and says so when printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What a path gives when there is nothing at that place; a null that is there is None."""

EVERY: Final = "[]"
"""The step that goes on with every element of a list."""

_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^.\[\]"]+)')
_FIELDS = frozenset(item.name for kind in (Case, Attachment) for item in fields(kind))

Getter = Callable[[Any], Any]


def split_path(text: str) -> tuple[str, ...]:
    """The steps of a path, `[]` being a step of its own; ValueError with a sentence when it is not a path."""
    steps: list[str] = []
    place = 0
    while place < len(text):
        if steps and text.startswith(EVERY, place):
            steps.append(EVERY)
            place += len(EVERY)
            continue
        if steps:
            if text[place] != ".":
                raise ValueError(_broken(text, place))
            place += 1
        match = _STEP.match(text, place)
        if match is None:
            if not steps and text.startswith(EVERY, place):
                steps.append(EVERY)
                place += len(EVERY)
                continue
            raise ValueError(_broken(text, place))
        quoted, plain = match.groups()
        steps.append(re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain.strip())
        if not steps[-1] and quoted is None:
            raise ValueError(_broken(text, place))
        place = match.end()
    return tuple(steps)


def path_step(name: str) -> str:
    """A key as a step of a path, in quotes where it has signs that a path has."""
    if any(sign in name for sign in '.[]"\\'):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return name


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What groups of keys hold, by path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{path_step(key)}" if path else path_step(key))
    elif value is not MISSING:
        yield path, value


def put(data: Any, steps: Sequence[str], value: Any) -> Any:
    """The data with a value at a path, or, for MISSING, with none there."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(data, list) and step.isdecimal() and int(step) < len(data):
        inner = put(data[int(step)], rest, value)
        return [*data[: int(step)], *([] if inner is MISSING else [inner]), *data[int(step) + 1 :]]
    if data is not None and data is not MISSING and not isinstance(data, dict):
        raise UsageError(f"there is no {step!r} in {data!r}: it is no group of keys")
    fields: dict[str, Any] = data if isinstance(data, dict) else {}
    inner = put(fields.get(step, MISSING), rest, value)
    return {key: item for key, item in (fields | {step: inner}).items() if item is not MISSING}


def in_answer(path: str) -> str | None:
    """The rest of a path that begins with `answer.`, which leads into the answer; None for one into the case."""
    first, _, rest = path.partition(".")
    return rest if first == "answer" and rest else None


@lru_cache(maxsize=4096)
def compile_path(text: str) -> Getter:
    """A function from data (or a Case) to the value at the path, or MISSING; it never raises.

    `""` is the whole. A step into a list is a number from 0; `[]` goes on with each element and gives a list without
    the elements that lack the rest of the path. ValueError with a sentence when the text is not a path.
    """
    return _getter(split_path(text))


def _getter(steps: Sequence[str]) -> Getter:
    if EVERY in steps:
        at = list(steps).index(EVERY)
        return _every(_getter(steps[:at]), _getter(steps[at + 1 :]))
    walk = tuple((step, int(step) if step.isascii() and step.isdigit() else None) for step in steps)

    def get(data: Any) -> Any:
        for key, index in walk:
            if isinstance(data, dict):
                data = data.get(key, MISSING)
            elif isinstance(data, (list, tuple)):
                if index is None or index >= len(data):
                    return MISSING
                data = data[index]
            elif isinstance(data, (Case, Attachment)) and key in _FIELDS:
                data = getattr(data, key, MISSING)
            else:
                return MISSING
        return data

    return get


def _every(before: Getter, after: Getter) -> Getter:
    def get(data: Any) -> Any:
        items = before(data)
        if not isinstance(items, (list, tuple)):
            return MISSING
        return [value for value in map(after, items) if value is not MISSING]

    return get


def _broken(text: str, place: int) -> str:
    return f"{text!r} is not a path: it breaks at character {place + 1}; write steps joined by dots, like expected.name"


# One step of a query that leads to at most one place. Names with escapes are left to the library.
_PLACE_STEP = re.compile(
    # All that is not ASCII is a letter. Said by what is none: Python takes 5 ms to compile the range of letters.
    r"""\.(?P<name>[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*)"""
    r"""|\[(?P<index>0|-?[1-9]\d{0,15})\]|\['(?P<single>[^'\\]*)'\]|\["(?P<double>[^"\\]*)"\]"""
)

MOST_VALUES: Final = 50_000
"""Values in an answer, inner ones included, that a query which branches is let loose on."""

Values = list[Any]
Step = str | int


@frozen
class AnswerPlace:
    """A place that may hold one value, or any number of them."""

    text: str
    single: bool
    """True when the path itself leads to at most one value."""
    start: tuple[Step, ...]
    """The steps before it branches: what must be there for anything to be found or missed."""
    values: Callable[[Any], Values | None]
    """From an answer to the values there; None when not even the start of the path is there. Raises Unsearchable."""

    @property
    def start_text(self) -> str:
        """The start as a dotted path."""
        return ".".join(str(step) for step in self.start)


@lru_cache(maxsize=4096)
def compile_place(text: str) -> AnswerPlace:
    """The place that a text names; ValueError with a sentence when it names none."""
    return _query(text) if text.lstrip().startswith("$") else _dotted(text)


def _dotted(text: str) -> AnswerPlace:
    steps, get = split_path(text), compile_path(text)
    if EVERY not in steps:
        return AnswerPlace(text, True, steps, lambda answer: _single(get(answer)))
    branches = steps.count(EVERY)

    def values(answer: Any) -> Values | None:
        results = get(answer)
        if results is MISSING:
            return None
        for _ in range(branches - 1):
            results = [value for part in results for value in part]
        return list(results)

    return AnswerPlace(text, False, steps[: steps.index(EVERY)], values)


def _query(text: str) -> AnswerPlace:
    query = text.strip()
    start, rest = _start(query[1:])
    if not rest:
        return AnswerPlace(query, True, start, lambda answer: _single(_walk(answer, start)))
    find = _compiled(query)

    def values(answer: Any) -> Values | None:
        # The library would read a text as a JSON document of its own.
        if not isinstance(answer, (dict, list)) or _walk(answer, start) is MISSING:
            return None
        return find(answer)

    return AnswerPlace(query, False, start, values)


def _start(rest: str) -> tuple[tuple[Step, ...], str]:
    """The leading steps that lead to at most one place, and the text after them."""
    steps: list[Step] = []
    while step := _PLACE_STEP.match(rest):
        index = step["index"]
        names = (step["name"], step["single"], step["double"])
        steps.append(int(index) if index is not None else next(name for name in names if name is not None))
        rest = rest[step.end() :]
    return tuple(steps), rest


def _walk(answer: Any, steps: tuple[Step, ...]) -> Any:
    """As RFC 9535 has it: a name only leads into an object, a number only into a list, from its end when below 0."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(answer, dict) or step not in answer:
                return MISSING
        elif not isinstance(answer, list) or not -len(answer) <= step < len(answer):
            return MISSING
        answer = answer[step]
    return answer


def _single(value: Any) -> Values | None:
    return None if value is MISSING else [value]


def _compiled(query: str) -> Callable[[Any], Values]:
    """The query by the library, which is only imported for queries that branch."""
    import jsonpath

    try:
        compiled = _environment().compile(query)
    except (jsonpath.JSONPathError, RecursionError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{query!r} is not a JSONPath (RFC 9535): {message}") from None

    def find(answer: Any) -> Values:
        _refuse_many(answer)
        _under_way.searched = Searched()
        try:
            return list(compiled.findall(answer))
        except RecursionError:
            raise Unsearchable("the answer is nested too deeply to be searched") from None

    return find


def _refuse_many(answer: Any) -> None:
    """Unsearchable for an answer with so many values that the library would hold up the whole run over them."""
    left, layer = MOST_VALUES, [answer]
    while layer:
        inner = [value.values() if isinstance(value, dict) else value for value in layer]
        left -= sum(map(len, inner))
        if left < 0:
            raise Unsearchable(f"the answer holds more than {MOST_VALUES:,} values to search")
        layer = [value for values in inner for value in values if isinstance(value, (dict, list))]


class _UnderWay(threading.local):
    """What the query that is under way may still look at; the library has no place for it."""

    searched = Searched()


_under_way = _UnderWay()


@lru_cache(maxsize=1)
def _environment() -> Any:
    import jsonpath
    from jsonpath.function_extensions import Match, Search

    environment = jsonpath.JSONPathEnvironment(strict=True)

    def limited(function: type[Match] | type[Search], *, whole: bool) -> Any:
        class Limited(function):  # type: ignore[misc, valid-type]
            """The library's function, on the head of a long text and for a limited time."""

            def __call__(self, value: object, pattern: object) -> bool:
                compiled = self.check_cache(pattern) if isinstance(pattern, str) else None
                if compiled is None or not isinstance(value, str):
                    return False
                return fits(compiled, _under_way.searched.head(value), whole=whole)

        return Limited()

    environment.function_extensions |= {"match": limited(Match, whole=True), "search": limited(Search, whole=False)}
    return environment


def drawn_place(seed: int, case_id: str) -> int:
    """Where a case comes: the smaller, the earlier; 64 bits of a hash."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{case_id}".encode()).digest()[:8])


def drawn_first(seed: int, case_id: str, turn: int) -> int:
    """Which of two arms (0 or 1) is asked first for the how-manieth call of a case: a coin thrown by hash."""
    return hashlib.sha256(f"{seed}\n{turn}\n{case_id}".encode()).digest()[0] & 1
