"""The criteria of an experiment as people write them: `better`, `not worse`, or a gate on the candidate."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.errors import SuiteError
from steelyard.suite.criteria import overlap
from steelyard.suite.draft import Draft
from steelyard.suite.gate_checks import Known, check_gate
from steelyard.suite.gates import Gate, parse_gate
from steelyard.suite.located import Located
from steelyard.suite.problems import Place
from steelyard.suite.spelling import meant

FACTORS = ("target", "service", "model", "prompt", "parameter", "variant", "judge", "load")
"""What an experiment may mean to change."""
WORDS = ("better", "not better", "worse", "not worse")
"""What is said of the comparison of both arms; everything else is a gate on the candidate."""


def word_of(text: str) -> str | None:
    """The word about the comparison that a criterion is, or None when it is a gate."""
    plain = " ".join(text.lower().split())
    return plain if plain in WORDS else None


def check_file_criteria(adopt: Sequence[str], reject: Sequence[str], factor: str, draft: Draft) -> None:
    """Tell the draft every mistake that can be seen without the suite, each at its place."""
    gates: dict[str, list[Gate]] = {"adopt": [], "reject": []}
    for which, at, text in _all(adopt, reject):
        place: Place = ("criteria", which, at)
        if word_of(text) is None:
            try:
                gates[which].append(parse_gate(text))
            except ValueError as error:
                hint = meant(text.strip(), WORDS)
                told = f"{text!r} is no criterion{hint}" if hint else str(error).replace("gate ", "criterion ", 1)
                draft.tell(f"criteria.{which}: {told}", place)
        elif factor == "judge":
            draft.tell(
                f"criteria.{which}: {text!r} can never be told when the judge is what changes: two judges are two"
                " scales. Write gates, or see how far each judge can be trusted: steelyard judge check",
                place,
            )
    _tell_contradictions(adopt, reject, gates, draft)


def _tell_contradictions(
    adopt: Sequence[str], reject: Sequence[str], gates: dict[str, list[Gate]], draft: Draft
) -> None:
    """Criteria to adopt and to reject that could hold at once leave nobody the wiser."""
    both = [
        (mine, other)
        for mine in map(word_of, adopt)
        for other in map(word_of, reject)
        if mine and other and set(_MEANS[mine]) & set(_MEANS[other])
    ]
    both += [(mine.text, other.text) for mine in gates["adopt"] for other in gates["reject"] if overlap(mine, other)]
    for mine, other in both:
        draft.tell(
            f"criteria: {mine!r} (adopt) and {other!r} (reject) could hold at once: leave room between them",
            ("criteria", "reject"),
        )


_MEANS = {
    "better": ("better",),
    "not better": ("same", "worse"),
    "worse": ("worse",),
    "not worse": ("same", "better"),
}


def holds_for(word: str, moved: str) -> bool | None:
    """Whether a word is true of a comparison that came out as `moved`; None when nobody can tell."""
    return moved in _MEANS[word] if moved in ("better", "worse", "same") else None


def check_on_suite(adopt: Sequence[str], reject: Sequence[str], known: Known, located: Located) -> None:
    """SuiteError with every gate that its suite cannot decide: a metric or name it does not have, one that cannot fail.

    Called before anything is run, so that no experiment ends with a criterion that stands on nothing.
    """
    found = []
    for which, at, text in _all(adopt, reject):
        if word_of(text) is None and (wrong := check_gate(parse_gate(text), known)):
            told = wrong.removeprefix("gate ")
            found.append(located.mistake(f"criteria.{which}: {told}", ("criteria", which, at)))
    if found:
        raise SuiteError(found)


def _all(adopt: Sequence[str], reject: Sequence[str]) -> list[tuple[str, int, str]]:
    return [
        (which, at, text) for which, texts in (("adopt", adopt), ("reject", reject)) for at, text in enumerate(texts)
    ]
