"""What is wrong with cases and their truth, case by case, with what to do about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from steelyard.auditing.cases import case_flaws
from steelyard.auditing.filling import resolved
from steelyard.auditing.guesses import even
from steelyard.frozen import frozen
from steelyard.scoring.base import Answered, Scorer
from steelyard.scoring.building import build_answer
from steelyard.scoring.checks import PathCheck
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.expectations import Expectations
from steelyard.scoring.functions import FunctionScorer
from steelyard.scoring.list_checks import CountCheck
from steelyard.scoring.names import KeywordsOrFuzzy
from steelyard.scoring.numbers import Number
from steelyard.scoring.spelling import has_phrase, normalise
from steelyard.scoring.text import Choice, Contains, Exact
from steelyard.store.base import Store
from steelyard.store.case_rows import case_row
from steelyard.suite.case import Case
from steelyard.suite.models import SuiteModel
from steelyard.suite.paths import split_path
from steelyard.suite.yaml import shown
from steelyard.truth.suggestions import chosen_runs
from steelyard.user_code import is_own

FEWEST_RUNS = 5
"""Fewer runs do not tell that a case is passed or failed by all."""
_OTHERS = 200
"""Truths of other cases that a keyword is looked for in."""
_UNSEARCHED = (Exact, Choice, Number, FunctionScorer)
"""Scorers without keywords or patterns that could match anything."""
_FEWEST_OTHERS = 5
_FAR = 1e18
_STOP_WORDS = """
a an and are as at be by for from in is it its of on or that the this to was with
de der die das la le les el un une und et il en
"""
_KINDS: dict[str, tuple[str, str]] = {
    "duplicate": ("error", "retire one of them"),
    "two_truths": ("error", "correct one of them, or retire it"),
    "in_prompt": ("error", "take it out of the prompt"),
    "keyword": ("error", "take it out, or write a longer one"),
    "keywords_apart": ("error", "give the keywords of this truth"),
    "matches_anything": ("error", "write a narrower truth"),
    "range": ("error", "narrow it, or take it away"),
    "truth_in_input": ("error", "take it out of what the target is sent"),
    "near_duplicate": ("warning", "retire one, or give both one cluster"),
    "always_failed": ("warning", "is its truth right? see steelyard truth suggest"),
    "always_passed": ("note", "a harder case would tell systems apart"),
}
"""How bad each kind is, and what to do about it; the worst first."""
Flaws = Iterator[tuple[str, str, str]]
"""The kind, the case ("" for the suite) and what is wrong."""


@frozen
class LintFinding:
    """One thing that is wrong."""

    kind: str
    severity: str
    """`error`, `warning` or `note`."""
    case: str
    place: str
    """File and line of the case; "" when it is about the suite."""
    message: str
    fix: str


def lint(suite: SuiteModel, store: Store | None = None) -> list[LintFinding]:
    """Everything that is wrong, errors first; with a store also cases that every run passes or fails."""
    cases, evaluator = list(suite.cases), Evaluator(suite)
    flaws = [*_flaws(suite), *_keywords(evaluator, cases), *_ranges(suite, evaluator, cases)]
    flaws += [] if store is None else _always(suite, store, cases)
    places, severities = {case.id: case.source for case in cases}, ["error", "warning", "note"]
    results = [
        LintFinding(kind, _KINDS[kind][0], case, places.get(case, ""), message, _KINDS[kind][1])
        for kind, case, message in flaws
    ]
    return sorted(results, key=lambda item: severities.index(item.severity))


def _flaws(suite: SuiteModel) -> Flaws:
    """What `audit` finds in the cases, each pair by itself."""
    flaws = case_flaws(suite)
    yield from (("duplicate", other, f"asks the very same as {case}") for case, other in flaws.same)
    for case, other in flaws.two_truths:
        yield "two_truths", other, f"asks the very same as {case}, with another truth"
    yield from (("near_duplicate", other, f"asks almost the same as {case}") for case, other in flaws.near)
    yield from (("truth_in_input", "", message) for message in flaws.given_away)
    yield from (("in_prompt", case, "stands in a prompt") for case in flaws.shown)


def _keywords(evaluator: Evaluator, cases: Sequence[Case]) -> Flaws:
    """Keywords and patterns that match whatever is said."""
    drawn = [cases[at] for at in even(len(cases), _OTHERS)]
    for component, scorer in evaluator.components:
        # One of a suite's own need not know a perfect answer.
        if is_own(type(scorer)) or not scorer.needs_truth or isinstance(scorer, _UNSEARCHED):
            continue
        truths = [truth for case in drawn if isinstance(truth := scorer.truth(case), str)]
        others = list({normalise(truth): truth for truth in truths}.values())
        matches_anything = _matcher(scorer, others)
        for case in cases:
            words = scorer.keywords_of(case) if isinstance(scorer, Contains | KeywordsOrFuzzy) else ()
            for word in words:
                if matches_anything(word):
                    yield "keyword", case.id, f"{component.name}: the keyword {word!r} stands in almost any answer"
            name = scorer.truth(case) if isinstance(scorer, KeywordsOrFuzzy) and words else None
            if name is not None and not any(_names(name, word) for word in words):
                message = f"{component.name}: the truth {shown(name)} contains none of its own keywords"
                yield "keywords_apart", case.id, f"{message} ({', '.join(words)})"
            if _fits_all(scorer, case, others):
                yield "matches_anything", case.id, f"{component.name}: the truths of other cases earn full marks, too"


def _names(name: str, keyword: str) -> bool:
    """Whether a keyword stands in a name, by the rule of either kind."""
    return keyword.lower() in name.lower() or has_phrase(normalise(name), normalise(keyword))


def _matcher(scorer: Scorer, truths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a keyword matches anything: stop words, single letters, and what stands in half of all truths."""
    # By the rule that is not strict, a part of a word will do.
    inside = isinstance(scorer, KeywordsOrFuzzy) and not scorer.strict
    texts = [text.lower() if inside else normalise(text) for text in truths]

    @cache
    def matches_anything(word: str) -> bool:
        plain = normalise(word)
        short = plain in _STOP_WORDS.split() or (inside and len(plain) == 1 and plain.isascii())
        n = sum(word.lower() in text if inside else has_phrase(text, plain) for text in texts)
        return short or (len(texts) >= _FEWEST_OTHERS and 2 * n > len(texts))

    return matches_anything


def _fits_all(scorer: Scorer, case: Case, others: Sequence[str]) -> bool:
    """Whether the truths of other cases are all right for this one; nearly always the first is not."""
    own, n = scorer.truth(case), 0
    for truth in others if isinstance(own, str) else ():
        if normalise(truth) != normalise(str(own)):
            if (scorer.read(build_answer({scorer.answer or "": truth}), case).value or 0.0) < 1:
                return False
            n += 1
    return n >= _FEWEST_OTHERS


def _ranges(suite: SuiteModel, evaluator: Evaluator, cases: Sequence[Case]) -> Flaws:
    """Ranges that hold every value which the schema of answers allows."""
    schema = resolved(suite.answer.schema_data)
    for component, scorer in evaluator.components:
        for case in cases if isinstance(scorer, Number) else ():
            path = scorer.answer or ""
            if all(scorer.read(build_answer({path: end}), case).value == 1 for end in _limits(schema, path)):
                message = f"{component.name}: every number that an answer may hold is near enough to the truth"
                yield "range", case.id, message
        for name, rule in scorer.checks.items() if isinstance(scorer, Expectations) else ():
            for case in cases:
                if any(_cannot_fail(rule, asked, schema) for asked in rule.asked(case)):
                    yield "range", case.id, f"the check {name} passes for whatever the schema allows"


def _cannot_fail(rule: Any, asked: Any, schema: Any) -> bool:
    if isinstance(rule, CountCheck):
        part = _part(schema, ".".join(map(str, rule.answer_places()[0].start)))
        most = part.get("maxItems")
        open_end = asked.high is None or (most is not None and asked.high >= most)
        return (asked.low is None or asked.low <= part.get("minItems", 0)) and open_end
    if not isinstance(rule, PathCheck) or (asked.low is None and asked.high is None):
        return False
    (place,) = rule.answer_places()
    ends = [build_answer({place.start_text: end}) for end in _limits(schema, place.start_text)]
    return place.single and all(asked.look(Answered("", end)).passed for end in ends)


def _part(schema: Any, path: str) -> dict[str, Any]:
    for step in split_path(path):
        schema = (schema.get("properties") or {}).get(step) if isinstance(schema, dict) else None
    return schema if isinstance(schema, dict) else {}


def _limits(schema: Any, path: str) -> tuple[float, float]:
    """The least and the largest number that an answer may hold there."""
    part = _part(schema, path)
    return part.get("minimum", -_FAR), part.get("maximum", _FAR)


def _always(suite: SuiteModel, store: Store, cases: Sequence[Case]) -> Flaws:
    """Cases that every run passes, or none, as they are now: another question or truth is another case."""
    runs = chosen_runs(store, suite)
    now = {case.id: int(case_row(case)[1], 16) for case in cases} if len(runs) >= FEWEST_RUNS else {}
    outcomes: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for run in runs if now else ():
        columns, hashes = store.columns(run.id), store.contents(run.id).case_hash
        for code, passed, hashed in zip(columns.case.tolist(), columns.passed.tolist(), hashes.tolist(), strict=True):
            name = columns.case_ids[code]
            if now.get(name) == hashed:
                outcomes[name][run.id].add(passed)
    for name, by_run in outcomes.items():
        ways = set().union(*by_run.values())
        if len(by_run) >= FEWEST_RUNS and ways in ({0}, {1}):
            how = "passed" if ways == {1} else "failed"
            yield f"always_{how}", name, f"{how} in all {len(by_run)} runs"
