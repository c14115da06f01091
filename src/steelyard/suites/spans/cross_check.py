"""What the judge says of the spans, compared with the spans: what they show to be wrong is counted and not believed.

The judge's answer is the enhanced result: `scores`, `totalScore`, `missedElements`, `falsePositives`,
`taxonomyErrors`, `granularityErrors`, `categoryScores`, `notes`. Whatever stands the test becomes a finding, and a span
that is no false positive is one that its confidence was right about. Of a case that has gold spans neither is taken:
both are found against the gold, and would be counted twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from steelyard import Case, Checked, Finding

from .extracted import Extracted, plain
from .taxonomy import REASONS, categories, category_of

SEVERITIES = {"critical": "critical", "important": "major", "minor": "minor"}
"""How bad a missed element is, in the judge's words and in those of the suite's findings."""
ISSUES = {"too_fine": "TOO_FINE", "too_coarse": "TOO_COARSE"}
_LOWEST, _HIGHEST = 1, 5
_DIMENSIONS = ("coverage", "precision", "granularity", "taxonomy", "technicalSpecs")

Record = Mapping[str, Any]
Look = Callable[[Record, Extracted], tuple[str, Finding | None]]
"""From one record of a list to what is wrong with it (or ""), and the finding it amounts to."""


def check(response: Record, text: str, case: Case, metrics: Mapping[str, Any]) -> Checked:  # noqa: ARG001 - as it is called
    """What of the judge's answer bears checking. `text` is the answer's spans as JSON."""
    spans = json.loads(text)
    spans = spans.get("spans") if isinstance(spans, dict) else spans
    prompt, gold = _part(case.input, "text"), _part(case.expected, "spans")
    gold_spans = gold if isinstance(gold, list) else None
    extracted = Extracted(_listed(spans), prompt if isinstance(prompt, str) else "", gold_spans)
    checked, findings, wrong = hold_against(response, extracted)
    itself = tuple(against_itself(response, len(extracted)))
    if extracted.has_gold:
        return Checked(checked, (), tuple(wrong), self_contradictions=itself)
    refused = [record["spanIndex"] for record in checked.get("falsePositives", ())]
    return Checked(checked, tuple(findings), tuple(wrong), extracted.claims(refused), itself)


def hold_against(response: Record, extracted: Extracted) -> tuple[dict[str, Any], list[Finding], list[str]]:
    """The answer without what the spans show to be wrong, the findings it amounts to, and what is wrong in words."""
    checked: dict[str, Any] = dict(response)
    findings: list[Finding] = []
    wrong: list[str] = []
    for name, look in _LISTS.items():
        if name in response:
            checked[name] = _believed(response[name], name, look, extracted, findings, wrong)
    _sum_up(checked, wrong)
    _category_scores(checked, wrong)
    _without_absent(checked, extracted)
    return checked, findings, wrong


_AT_MOST = ((0.9, 2), (0.5, 3), (1 / 3, 4))
"""By the share that the judge names as wrong itself, the highest score that fits: one more than the rubric's."""


def against_itself(response: Record, n_spans: int) -> Iterator[str]:
    """Where the scores do not fit the judge's own lists: a high one although it names many as wrong."""
    scores = response.get("scores")
    scores = scores if isinstance(scores, Mapping) else {}
    named = {name: _n_named(response.get(name)) for name in _LISTS}
    right = n_spans - min(n_spans, named["falsePositives"])
    for dimension, name, n in (
        ("coverage", "missedElements", named["missedElements"] + right),
        ("precision", "falsePositives", n_spans),
        ("granularity", "granularityErrors", n_spans),
        ("taxonomy", "taxonomyErrors", n_spans),
    ):
        score, share = scores.get(dimension), named[name] / n if n else 0.0
        highest = next((most for least, most in _AT_MOST if share >= least), _HIGHEST)
        if score is not None and on_scale(score) and score > highest:
            yield f"{dimension} {score:g} of {_HIGHEST}, and {name} lists {named[name]} of {n}"


def _n_named(records: Any) -> int:
    """How many different spans or texts a list names."""
    listed = [record for record in _listed(records) if isinstance(record, Mapping)]
    return len({str(record.get("spanIndex", record.get("text"))) for record in listed})


def _believed(
    records: Any, name: str, look: Look, extracted: Extracted, findings: list[Finding], wrong: list[str]
) -> list[Any]:
    if not isinstance(records, list):
        wrong.append(f"{name} is no list")
        return []
    believed = []
    named: set[str] = set()
    for at, record in enumerate(records):
        problem, finding = look(record, extracted) if isinstance(record, dict) else ("it is no record", None)
        if problem:
            wrong.append(f"{name}[{at}]: {problem}")
            continue
        if finding is not None and finding.place in named:
            continue  # a span that is complained of again is one error
        believed.append(record)
        if finding is not None:
            findings.append(finding)
            named |= {finding.place} - {""}
    return believed


def on_scale(value: Any) -> bool:
    """True for a number from 1 to 5."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and _LOWEST <= value <= _HIGHEST


def _false_positive(record: Record, extracted: Extracted) -> tuple[str, Finding | None]:
    problem = _pointing(record, extracted)
    reason = record.get("reason")
    if not problem and reason not in REASONS:
        problem = f"the reason {_quoted(reason)} is none of {', '.join(REASONS)}"
    if problem:
        return problem, None
    code = "DUPLICATE" if reason == "duplicate" else "FALSE_POSITIVE"
    return "", extracted.finding(code, record["spanIndex"], evidence=f"{reason}, says the judge")


def _taxonomy_error(record: Record, extracted: Extracted) -> tuple[str, Finding | None]:
    problem = _pointing(record, extracted)
    if problem:
        return problem, None
    index, expected = record["spanIndex"], record.get("expectedRole")
    role = extracted.role(index)
    if expected == record.get("assignedRole") or expected == role:
        return f"the expected role {_quoted(expected)} is the one that was assigned", None
    if not _is_role(expected):
        return f"the expected role {_quoted(expected)} is not in the taxonomy", None
    finding = extracted.finding("WRONG_ROLE", index, expected=expected, got=role)
    return "", finding


def _granularity_error(record: Record, extracted: Extracted) -> tuple[str, Finding | None]:
    problem = _pointing(record, extracted)
    # Snapshots of the first version call it a reason and suggest nothing.
    issue, suggestion = record.get("issue", record.get("reason")), record.get("suggestion")
    if problem:
        return problem, None
    if not isinstance(issue, str) or issue not in ISSUES:
        return f"the issue {_quoted(issue)} is none of {', '.join(ISSUES)}", None
    if isinstance(suggestion, str) and plain(suggestion) == plain(extracted.text(record["spanIndex"])):
        return f"the suggestion {_quoted(suggestion)} is the span as it is", None
    return "", extracted.finding(ISSUES[issue], record["spanIndex"], expected=suggestion or None)


def _missed_element(record: Record, extracted: Extracted) -> tuple[str, Finding | None]:
    text, role, severity = record.get("text"), record.get("expectedRole"), record.get("severity")
    if not isinstance(text, str) or not plain(text):
        return "it has no text", None
    if not _is_role(role):
        return f"the expected role {_quoted(role)} is not in the taxonomy", None
    category = category_of(str(role))
    if record.get("category", category) != category:
        return f"the category {_quoted(record['category'])} is not that of the role {_quoted(role)}", None
    if not isinstance(severity, str) or severity not in SEVERITIES:
        return f"the severity {_quoted(severity)} is none of {', '.join(SEVERITIES)}", None
    if not extracted.in_prompt(text):
        return f"{_quoted(text)} is not in the prompt", None
    if (span := extracted.holding(text, category)) is not None:
        return f"{_quoted(text)} was extracted: [{span}] {_quoted(extracted.text(span))}", None
    return "", extracted.missed(text, str(role), SEVERITIES[severity])


def _pointing(record: Record, extracted: Extracted) -> str:
    """What is wrong with the span that a record points to; "" when nothing is."""
    index, text, role = record.get("spanIndex"), record.get("text"), record.get("assignedRole")
    if isinstance(index, bool) or not isinstance(index, int):
        return f"spanIndex {_quoted(index)} is no whole number"
    if not 0 <= index < len(extracted):
        return f"there is no span {index}: there are {len(extracted)}"
    if text is not None and plain(str(text)) != plain(extracted.text(index)):
        return f"span {index} is {_quoted(extracted.text(index))}, not {_quoted(text)}"
    if role is not None and role != extracted.role(index):
        return f"the role of span {index} is {_quoted(extracted.role(index))}, not {_quoted(role)}"
    return ""


def _sum_up(checked: dict[str, Any], wrong: list[str]) -> None:
    """Puts the total right, which is the sum of the five scores."""
    scores = checked.get("scores") if isinstance(checked.get("scores"), dict) else checked
    given = [scores.get(name) for name in _DIMENSIONS] if isinstance(scores, dict) else []
    total = checked.get("totalScore")
    numbers = [number for number in given if isinstance(number, (int, float)) and not isinstance(number, bool)]
    if total is None or len(numbers) < len(_DIMENSIONS):
        return
    if total != sum(numbers):
        wrong.append(f"totalScore {_quoted(total)} is not the sum of the scores, {sum(numbers)}")
        checked["totalScore"] = sum(numbers)


def _category_scores(checked: dict[str, Any], wrong: list[str]) -> None:
    """Keeps the scores of categories that there are, on the scale from 1 to 5."""
    given = checked.get("categoryScores")
    if not isinstance(given, dict):
        return
    good: dict[str, dict[str, Any]] = {}
    for name, scores in given.items():
        if name not in categories():
            wrong.append(f"categoryScores.{name}: there is no such category")
            continue
        good[name] = {}
        for kind, value in scores.items() if isinstance(scores, dict) else ():
            if on_scale(value):
                good[name][kind] = value
            elif value is not None:
                wrong.append(f"categoryScores.{name}.{kind}: {_quoted(value)} is not from 1 to 5")
    checked["categoryScores"] = good


def _without_absent(checked: dict[str, Any], extracted: Extracted) -> None:
    """Takes out the scores of categories that are on neither side: 5 and 5 of nothing is no reading.

    Without gold spans a category is also there when the judge names one of its elements, or scores it below 5.
    """
    given = checked.get("categoryScores")
    if not isinstance(given, dict):
        return
    there = extracted.categories()
    if not extracted.has_gold:
        named = [*checked.get("missedElements", ()), *checked.get("taxonomyErrors", ())]
        there |= {category_of(str(record.get("expectedRole"))) for record in named}
        there |= {name for name, scores in given.items() if any(value < _HIGHEST for value in scores.values())}
    checked["categoryScores"] = {name: scores for name, scores in given.items() if name in there}


def _is_role(role: Any) -> bool:
    """True for a role of the taxonomy, and for a category alone."""
    by_name = categories()
    if not isinstance(role, str) or (category := by_name.get(category_of(role))) is None:
        return False
    return role == category.name or role in category.roles


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _part(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _quoted(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"


_LISTS: Mapping[str, Look] = {
    "missedElements": _missed_element,
    "falsePositives": _false_positive,
    "taxonomyErrors": _taxonomy_error,
    "granularityErrors": _granularity_error,
}
