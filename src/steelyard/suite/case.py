"""A case, a source of cases and what was found in it, and what their data is hashed and drawn by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Protocol

from steelyard.frozen import frozen

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


def drawn_place(seed: int, case_id: str) -> int:
    """Where a case comes: the smaller, the earlier; 64 bits of a hash."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{case_id}".encode()).digest()[:8])


def drawn_first(seed: int, case_id: str, turn: int) -> int:
    """Which of two arms (0 or 1) is asked first for the how-manieth call of a case: a coin thrown by hash."""
    return hashlib.sha256(f"{seed}\n{turn}\n{case_id}".encode()).digest()[0] & 1
