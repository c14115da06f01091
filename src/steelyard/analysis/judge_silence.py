"""Why judges came to no reading, counted: a person must see at once what to mend."""

from __future__ import annotations

from collections import Counter

from steelyard.analysis.ballots import is_unanswered
from steelyard.analysis.failure_words import failure_reason
from steelyard.records import Ballot, Judgement

LONGEST = 300
"""Characters of a reason that are kept."""


class Reasons:
    """Counts judgements without a reading by their reason; of each reason the first wording is kept."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._words: dict[str, str] = {}

    def add(self, judgement: Judgement) -> None:
        """One more judgement that came to nothing."""
        key, words = reason_of(judgement)
        self._counts[key] += 1
        self._words.setdefault(key, words[:LONGEST])

    def counted(self) -> dict[str, int]:
        """Each reason in words with its count, most frequent first."""
        ordered = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {self._words[key]: count for key, count in ordered}


def reason_of(judgement: Judgement) -> tuple[str, str]:
    """What tells the reason of a judgement without a reading from others, and the reason in words."""
    silent = [ballot for ballot in judgement.ballots if ballot.mode is None]
    return _reason(silent[0]) if silent else (judgement.told, judgement.told)


def _reason(ballot: Ballot) -> tuple[str, str]:
    """What tells the reason from others, and the reason in words: `judge m: http_401 Incorrect API key provided`."""
    kind, _, message = ballot.told.partition(": ")
    if is_unanswered(ballot):
        key, words = failure_reason(kind, message)
        return f"{ballot.member}: {key}", f"judge {ballot.member}: {words}"
    first = ballot.told.partition(";")[0]
    return f"{ballot.member}: {first}", f"judge {ballot.member}: {first}"
