"""One question with its ground truth."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Case:
    """A case as every room sees it, whatever shape its file had."""

    id: str
    input: Any = None
    expected: Any = None
    category: str | None = None
    difficulty: str | None = None
    cluster: str | None = None
    """The document, user or seed that it comes from: cases of one are alike, and one unit of evidence."""
    tags: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    why: str = ""
    source: str = field(default="", compare=False)
    """File and line it came from, for messages; not part of its identity."""
    private: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Names that were taken out of it and must not come back with an answer; never stored or sent."""

    def without_truth(self) -> Case:
        """The case as the system under test may see it."""
        return replace(self, expected=None, private=())

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


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def canonical(data: Any) -> bytes:
    """The one spelling of plain data that is hashed: sorted keys, no spaces, UTF-8."""
    return _ENCODER.encode(data).encode("utf-8", "surrogatepass")


def digest(data: Any) -> str:
    """A short stable name for plain data: the first 16 hex digits of SHA-256 over its canonical form."""
    return hashlib.sha256(canonical(data)).hexdigest()[:16]
