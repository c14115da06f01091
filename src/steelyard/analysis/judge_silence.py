"""Why judges came to no reading, counted: a person must see at once what to mend."""

from __future__ import annotations

from collections import Counter

from steelyard.analysis.ballots import is_unanswered
from steelyard.analysis.failure_words import failure_words
from steelyard.records import Ballot, Judgement

_LONGEST = 300


class Reasons:
    """Counts judgements without a reading by their reason; of each reason the first wording is kept."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._words: dict[str, str] = {}

    def add(self, judgement: Judgement) -> None:
        """One more judgement that came to nothing."""
        silent = [ballot for ballot in judgement.ballots if ballot.mode is None]
        key, words = _reason(silent[0]) if silent else (judgement.told, judgement.told)
        self._counts[key] += 1
        self._words.setdefault(key, words[:_LONGEST])

    def counted(self) -> dict[str, int]:
        """Each reason in words with its count, most frequent first."""
        ordered = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {self._words[key]: count for key, count in ordered}


def _reason(ballot: Ballot) -> tuple[str, str]:
    """What tells the reason from others, and the reason in words: `judge m: http_401 Incorrect API key provided`.

    Messages of servers hold numbers that differ from call to call, so the kind of a failure is what tells.
    """
    kind, _, message = ballot.told.partition(": ")
    if is_unanswered(ballot):
        return f"{ballot.member}: {kind}", f"judge {ballot.member}: {failure_words(kind, message)}"
    first = ballot.told.partition(";")[0]
    return f"{ballot.member}: {first}", f"judge {ballot.member}: {first}"
