"""Takes personal data out of texts: e-mail addresses, phone numbers, names, and whatever a suite's own function finds.

Cases are redacted where they are read and answers where they arrive, so that nothing else is ever stored or sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from pydantic import BaseModel, ConfigDict, Field

from steelyard.errors import UsageError
from steelyard.records import CallResult, Failure
from steelyard.suite.case import Case, CaseSource
from steelyard.suite.draft import Draft
from steelyard.suite.paths import MISSING, compile_path
from steelyard.suite_code import find_callable
from steelyard.user_code import UserCodeError, checked_call, place_in_words

EMAIL, PHONE, NAME = "[EMAIL]", "[PHONE]", "[NAME]"

# In the raw text of JSON a word may follow an escape such as \n, whose letter is no part of it.
_EMAIL = r"(?:(?<=\\[nrtbf])|(?<![\w.+%\\-]))[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"
# With a country code, a leading zero or brackets, or grouped by 3, 3 and 4: dates, prices and parcels are not.
_PHONE = (
    r"(?:(?<=\\[nrtbf])|(?<![\w.,\\-]))(?<!\d )"
    r"(?:(?:\+|0|\(\+?\d)[ ()./-]{0,2}\d?(?:[ ()./-]{0,2}\d){6,14}|[2-9]\d\d[ .-]\d{3}[ .-]\d{4})"
    r"(?![\w-]|[.,]\d)"
)
_PHONE_SIGNS = re.compile(r"[ ()+/.-]")
_DATES = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{4} ?[-/] ?\d{4}")
_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’-]+"
_RELATIONS = (
    "partner|husband|wife|boyfriend|girlfriend|fianc[eé]e?|spouse|ex|friend|boss|manager|colleague|mother|father|mum|"
    "mom|dad|sister|brother|son|daughter|aunt|uncle|cousin|grandmother|grandfather|neighbou?r|roommate"
)
_INTRODUCED = (
    rf"(?i:\b(?:my name is|call me|i am called|i[’']m called|this is|signed,?|named))\s+({_WORD}(?:\s+{_WORD})?)"
    rf"|(?i:\bmy\s+(?:best\s+|late\s+|old\s+|new\s+)?(?:{_RELATIONS}))(?:,)?\s+({_WORD}(?:\s+{_WORD})?)"
)
_SHORTEST_NAME = 2
_SHORTEST_IN_ONE = 10
"""Digits of a phone number that nothing groups; it begins with a zero."""
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


class RedactPart(BaseModel):
    """What is taken out of whatever is stored or sent; nothing unless it is said here."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    emails: bool = Field(default=False, description="Whether e-mail addresses are taken out.")
    phones: bool = Field(default=False, description="Whether phone numbers are taken out.")
    names: list[str] = Field(
        default=[], description="Paths into a case where names of people stand, such as input.userName."
    )
    introduced: bool = Field(
        default=False, description="Whether names that a case introduces are taken out: my name is ..., my partner ..."
    )
    hook: str | None = Field(
        default=None, description="A function of your own, module:function, from a text to the text without the rest."
    )


class Redactor:
    """What a suite takes out of its cases and of everything it is answered."""

    def __init__(self, part: RedactPart, hook: Callable[[str], str] | None = None) -> None:
        self._part = part
        self._hook = hook
        self._names = [compile_path(path) for path in part.names]

    @property
    def paths(self) -> dict[str, Callable[[Any], Any]]:
        """Where names stand in a case, by the path as written, to tell one that leads nowhere."""
        return dict(zip(self._part.names, self._names, strict=True))

    def case(self, case: Case) -> Case:
        """The case without personal data. The names found in it stay with it in memory, for its answers."""
        names = tuple(sorted(set(self._result(case)), key=lambda name: (-len(name), name)))
        result = replace(case, private=names)
        return replace(
            result,
            input=self._tree(case.input, names),
            expected=self._tree(case.expected, names),
            category=self._tree(case.category, names),
            difficulty=self._tree(case.difficulty, names),
            cluster=self._tree(case.cluster, names),
            tags=tuple(self._text(tag, names) for tag in case.tags),
            why=self._text(case.why, names),
        )

    def text(self, text: str, case: Case) -> str:
        """A text that belongs to the case, without personal data."""
        return self._text(text, case.private)

    def redact_call(self, call_result: CallResult, names: tuple[str, ...]) -> CallResult:
        """An answer, or its failure, without personal data; `names` are those that were found in its case."""
        failure = call_result.failure
        try:
            return replace(
                call_result,
                text=None if call_result.text is None else self._answer(call_result.text, names),
                failure=None if failure is None else Failure(failure.kind, self._text(failure.message, names)),
            )
        except UsageError as error:
            # What could not be redacted is not stored.
            return replace(call_result, text=None, failure=Failure("not_redacted", str(error)))

    def identity(self) -> dict[str, Any]:
        """What it takes out, for the signature."""
        return self._part.model_dump(mode="json")

    def _answer(self, text: str, names: tuple[str, ...]) -> str:
        """A raw answer. JSON is redacted inside its texts, so that it stays JSON."""
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.dumps(self._tree(json.loads(text), names), ensure_ascii=False)
            except (ValueError, RecursionError):
                pass  # not JSON after all, or broken: redacted as it stands
        return self._text(_ESCAPED.sub(_letter, text), names)

    def _result(self, case: Case) -> Iterator[str]:
        for path in self._names:
            yield from (name for name in _texts(path(case)) if len(name) >= _SHORTEST_NAME)
        if self._part.introduced:
            for text in _texts(case.input):
                for match in re.finditer(_INTRODUCED, text):
                    yield match[1] or match[2]

    def _text(self, text: str, names: tuple[str, ...]) -> str:
        if self._part.emails:
            text = re.sub(_EMAIL, EMAIL, text)
        if self._part.phones:
            text = re.sub(_PHONE, _phone, text)
        for name in names:
            text = _name_pattern(name).sub(NAME, text)
        return text if self._hook is None else self._hooked(text, self._hook)

    def _hooked(self, text: str, hook: Callable[[str], str]) -> str:
        try:
            redacted: str = checked_call(f"redact.hook {self._part.hook}", hook, text, returns=str)
        except UserCodeError as error:
            # The message itself may quote what was to be taken out.
            cause = error.__cause__
            problem = "returned something else than a text" if cause is None else f"raised {type(cause).__name__}"
            raise UsageError(f"redact.hook {self._part.hook} {problem}{place_in_words(hook)}") from None
        return redacted

    def _tree(self, value: Any, names: tuple[str, ...]) -> Any:
        if isinstance(value, str):
            return self._text(value, names)
        if isinstance(value, dict):
            return {self._text(key, names): self._tree(part, names) for key, part in value.items()}
        if isinstance(value, list):
            return [self._tree(part, names) for part in value]
        return value


class RedactedCases:
    """Cases as they are read, each without its personal data."""

    def __init__(self, source: CaseSource, redactor: Redactor) -> None:
        self.source = source
        self._redactor = redactor

    def __iter__(self) -> Iterator[Case]:
        return map(self._redactor.case, self.source)


def written_cases(cases: CaseSource) -> CaseSource:
    """The cases as their files have them, personal data included."""
    return cases.source if isinstance(cases, RedactedCases) else cases


def build_redactor(raw: Any, draft: Draft) -> Redactor | None:
    """The suite's redactor, or None when it has none or everything wrong with it is noted."""
    if raw is None:
        return None
    part = draft.check_part(RedactPart, raw, ("redact",))
    if part is None:
        return None
    if part == RedactPart():
        draft.add_problem(
            "redact takes nothing out: say what, as in redact: {emails: true}, or leave it away", ("redact",)
        )
        return None
    hook = None
    if part.hook is not None:
        with draft.noting(("redact", "hook")):
            hook = find_callable(part.hook, draft.folder, "redact")
        if hook is None:
            return None
    with draft.noting(("redact", "names"), "redact.names: "):
        return Redactor(part, hook)
    return None


def _phone(result: re.Match[str]) -> str:
    """The mark of a phone number; dates and spans of years stay, and so does a short row of digits."""
    text = result[0]
    grouped = _PHONE_SIGNS.search(text) is not None
    return text if _DATES.fullmatch(text) or not (grouped or len(text) >= _SHORTEST_IN_ONE) else PHONE


@lru_cache(maxsize=1024)
def _name_pattern(name: str) -> re.Pattern[str]:
    """The name and, of two or more words, each of its parts, as whole words in any case and spelling of letters."""
    words = [name, *(part for part in name.split() if len(part) >= _SHORTEST_NAME)]
    spelt = [normalize(form, word) for word in words for form in ("NFC", "NFD")]
    choices = "|".join(re.sub("['’]", "['’]", re.escape(word)) for word in dict.fromkeys(spelt))
    return re.compile(rf"(?:(?<=\\[nrtbf])|(?<![^\W_\\])(?<!\\))(?:{choices})(?![^\W_])", re.IGNORECASE)


def _letter(result: re.Match[str]) -> str:
    """The letter that an escape of JSON stands for; signs that JSON needs escaped stay so."""
    letter = chr(int(result[1], 16))
    return letter if letter.isalpha() else result[0]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list) and value is not MISSING:
        for part in value:
            yield from _texts(part)
