"""Answers that know nothing: empty, constant, echoed, over-wide."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from steelyard.auditing.filling import completed, filled, nulls, resolved, schema_of
from steelyard.auditing.guesses import MOST_JOINED, even, guessed, is_repeated, mixture, most_frequent
from steelyard.frozen import frozen
from steelyard.records import CheckState, Outcome
from steelyard.scoring.base import Scorer
from steelyard.scoring.building import build_answer, merged
from steelyard.scoring.evaluate import Evaluated, Evaluator
from steelyard.scoring.expectations import Expectations
from steelyard.scoring.unknown import truth_parts
from steelyard.suite.case import Case
from steelyard.suite.models import EXPECT, SuiteModel
from steelyard.suite.paths import EVERY, split_path
from steelyard.suite.yaml import listed

NULL = "null"
CONSTANT = "constant"
PARTLY = "partly right"
WRONG = "wrong"
STUFFED = "stuffed"
EVERYTHING = "everything"
FEWEST_CASES = 4
"""Of fewer cases, the items of all are mostly those of the one."""
TRUTH = "truth"
ANSWERED = 200
"""The HTTP status that every probe comes with: a system that knows nothing still answers."""
_CONSTANT = "unknown"
_N_TRIED = 20
"""Answers of each kind that are tried as the one for all cases, and cases that they are tried on."""
_MOST_ECHOED = 20
"""Parts of a question that are given back one by one."""


@frozen
class Probe:
    """A way to answer every case without the skill that the suite means to score.

    `kind` is "null" (knows nothing), "constant" (knows which truths are frequent), "stuffed" (knows the words of some
    cases), "everything" (lists the items of all, or lies over the question), "partly right" (right but for the
    measures named by `blind`), "wrong" (right for another case) or "truth". `answer` gives the raw text for the case
    at a position.
    """

    name: str
    about: str
    kind: str
    answer: Callable[[int], str]
    may_be_malformed: bool = False
    """True for an answer that need not be in the shape asked for; any other says nothing unless it was read."""
    blind: frozenset[str] = frozenset()
    must_be_read: bool = False
    """True for an answer that was built to fit: what it earns is not known unless it is read. For any other, being
    rejected is the best that can happen, and it earns nothing."""


class ProbeMaker:
    """Makes the probes of one suite over a list of its cases.

    `evaluate` is how they are scored, a judge that is code included; `recorded` are answers of the suite's own.
    """

    def __init__(
        self,
        suite: SuiteModel,
        cases: list[Case],
        evaluate: Callable[[str, Case], Evaluated] | None = None,
        recorded: Sequence[str] = (),
    ) -> None:
        self._suite = suite
        self._recorded = recorded
        self._cases = cases
        self._schema = suite.answer.schema_data
        self._json = suite.answer.format == "json"
        self._evaluator = Evaluator(suite)
        self._evaluate = evaluate or (lambda text, case: self._evaluator.evaluate(text, case, ANSWERED))
        self.untested: list[str] = []
        """Probes that could not be built, and why; known once all are made."""
        self._scorers = self._evaluator.components
        parts = [self._truth_parts(case) for case in cases]
        self._has_truth = any(parts)
        shapes = [_document(part) for part in parts if part] + [
            build_answer({path: _CONSTANT}) for path in self._places()
        ]
        shapes = [shape for shape in shapes if isinstance(shape, (dict, list))] or [{"answer": _CONSTANT}]
        # What the scorers look for, where the schema does not name it or there is none.
        self._looked_for, self._as_texts = schema_of(shapes), schema_of(shapes, loose=True)
        self._truths = [self._truth(at, [*self._no_items(cases[at]), *item]) for at, item in enumerate(parts)]

    def probes(self) -> Iterator[Probe]:
        """All probes, the truth last."""
        yield Probe("empty", "no answer at all", NULL, lambda _: "", may_be_malformed=True)
        yield Probe("{}", "an empty object", NULL, lambda _: "{}", may_be_malformed=True)
        null_fields = self._text(merged(nulls(self._looked_for), nulls(resolved(self._schema)) or {}) or {})
        yield Probe("nulls", "every field null", NULL, lambda _: null_fields, may_be_malformed=True)
        constant = self._filled(0, _CONSTANT, self._looked_for)
        yield Probe("constant", "the same filler for every case", NULL, lambda _: constant, must_be_read=True)
        yield from self._constants()
        yield from self._echoes()
        yield from self._keywords()
        if nothing := self._of_all([]):
            yield Probe("none", "a well-formed answer without items", NULL, lambda _: nothing)
        if len(self._cases) >= FEWEST_CASES and (everything := self._of_all(self._cases)):
            yield Probe("everything", "every item of every case", EVERYTHING, lambda _: everything)
        for name in dict.fromkeys(name for _, scorer in self._scorers for name in self._blankets_of(scorer)):
            yield Probe(name, "one span over everything", EVERYTHING, partial(self._blanket, name))
        if widest := self._widest():
            yield Probe("widest", "ranges from nothing to infinity", NULL, lambda _: widest)
        yield from self._without_groups()
        if not self._has_truth and self._has_no_one_truth():
            self.untested.append("a right answer, and that of another case (no truth of the cases says what is right)")
            return
        if len(set(self._truths)) > 1:
            yield Probe("another", "the truth of another case", WRONG, self._another, must_be_read=True)
        if failing := self._not_built():
            named = listed(failing, MOST_JOINED)
            self.untested.append(f"a right answer (none could be built that passes all checks of {named})")
            return
        yield Probe("truth", "the truth itself", TRUTH, lambda at: self._truths[at], must_be_read=True)

    def _not_built(self) -> list[str]:
        """Cases with checks for which no answer could be built that passes them all; of a truth, `audit` says so."""
        if not any(isinstance(scorer, Expectations) for _, scorer in self._scorers):
            return []
        results = [(case, self._evaluated(self._truths[at], at)) for at, case in enumerate(self._cases)]
        return [
            case.id
            for case, scored in results
            if scored is None or any(check.state is not CheckState.PASSED for check in scored.checks)
        ]

    def _echoes(self) -> Iterator[Probe]:
        yield Probe("echo", "the question given back", NULL, self._given_back, may_be_malformed=self._json)
        if self._json:
            yield Probe("echo fields", "the question in every text field", NULL, lambda at: self._echo(at))
        for number, name in enumerate(self._parts_of_questions(), start=1):
            yield Probe(f"echo {number}", f"{name} of the question alone", NULL, partial(self._echo, name=name))

    def _keywords(self) -> Iterator[Probe]:
        if stuffed := self._stuffed():
            fitting = self._stuffed(cut=True)
            was_cut = fitting is not None and fitting != stuffed
            yield Probe("keywords", "every keyword of every case", NULL, lambda _: stuffed, may_be_malformed=was_cut)
            if was_cut:
                about = "as many keywords as the schema lets in"
                yield Probe("keywords cut", about, STUFFED, lambda _: fitting or "")

    def _has_no_one_truth(self) -> bool:
        expects = any(component.scorer_name == EXPECT for component, _ in self._scorers)
        untold = any(scorer.needs_truth and type(scorer).truth is Scorer.truth for _, scorer in self._scorers)
        return self._suite.judge is not None or expects or untold

    def _constants(self) -> Iterator[Probe]:
        """The best answers that are the same for every case; none of few cases."""
        if len(self._cases) < FEWEST_CASES:
            self.untested.append(f"one answer for all cases (it takes {FEWEST_CASES} cases)")
            return
        found = self._best_found() if self._has_no_one_truth() else None
        if found is not None:
            yield Probe("best found", "one answer for all cases", CONSTANT, lambda _: found, must_be_read=True)
        elif not self._has_truth:
            self.untested.append("one answer for all cases (no truth, check or recorded answer to make one of)")
        if not self._has_truth:
            return
        ((common, n),) = Counter(self._truths).most_common(1)
        if n > 1:
            about = "the truth that most cases have"
            yield Probe("most frequent", about, CONSTANT, lambda _: common, must_be_read=True)
        best = self._built([self._best_part(name, parts) for name, parts in self._parts_by_component().items()])
        if best != common or n == 1:
            yield Probe("best parts", "the best constant of each part", CONSTANT, lambda _: best, must_be_read=True)

    def _best_found(self) -> str | None:
        """The answer that passes and earns most over all cases, made of checks, truths, texts that are expected,
        examples of the schema and recorded answers; None where there are none."""
        checks = [scorer for _, scorer in self._scorers if isinstance(scorer, Expectations)]
        sizes = [None, *range(1, MOST_JOINED + 1)]
        joined = [[parts] for scorer in checks for n in sizes if (parts := scorer.passing(self._cases, n))]
        place = (self._suite.judge.of if self._suite.judge else None) or ""
        texts = Counter(text for case in self._cases if (text := max(_all_texts(case.expected), key=len, default="")))
        tried = [self._built(parts) for parts in joined]
        tried += [text for text, _ in Counter(self._truths).most_common(_N_TRIED)] if self._has_truth else []
        tried += [self._built([{place: text}]) for text, _ in texts.most_common(_N_TRIED)]
        tried += list(map(self._text, (resolved(self._schema) or {}).get("examples", [])))
        tried += [text for text, _ in Counter(self._recorded).most_common(_N_TRIED)]
        some = even(len(self._cases), _N_TRIED)
        totals = {text: total for text in tried if (total := self._total(text, some)) is not None}
        return max(totals, key=totals.__getitem__, default=None)

    def _total(self, text: str, places: Sequence[int]) -> tuple[int, float] | None:
        """How many of some cases an answer passes, and what it earns; None where it can be read in none."""
        results = [scored for at in places if (scored := self._evaluated(text, at)) is not None]
        if all(item.outcome is Outcome.MALFORMED for item in results):
            return None
        return sum(bool(item.passed) for item in results), sum(item.score for item in results)

    def guesses(self) -> list[str]:
        """Answers that guess every part among the different truths; none unless some part is a choice of few."""
        if not self.choice_weight:
            return []
        return [self._built(parts) for parts in guessed(list(self._parts_by_component().values()), _CONSTANT)]

    @property
    def choice_weight(self) -> float:
        """The share of the weight of parts that are a choice of few: by the schema, or since their truths repeat."""
        result = self._parts_by_component()
        is_enough = len(self._cases) >= FEWEST_CASES
        choices = {
            name
            for name, parts in result.items()
            if (is_enough and is_repeated(parts)) or any(map(self._is_choice, parts[0]))
        }
        weights = {component.name: component.weight for component, _ in self._scorers}
        return sum(weights[name] for name in choices) / sum(weights.values()) if choices else 0.0

    def _parts_by_component(self) -> dict[str, list[dict[str, Any]]]:
        """By component, what it looks for in those cases that have a truth for it."""
        results = {
            component.name: [parts for case in self._cases if (parts := truth_parts(component, scorer, case))]
            for component, scorer in self._scorers
            if component.weight > 0
        }
        return {name: parts for name, parts in results.items() if parts}

    def _best_part(self, name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
        """The constant by which the component gives most: its most frequent truth, or a mixture of its truths."""
        places = dict.fromkeys(path for part in parts for path in part)
        mixed = {path: mixture([part[path] for part in parts if path in part]) for path in places}
        modal = most_frequent(parts)
        return modal if mixed == modal else max((modal, mixed), key=lambda item: self._earns(name, item))

    def _earns(self, name: str, part: dict[str, Any]) -> float:
        text = self._built([part])
        results = [self._evaluated(text, at) for at in even(len(self._cases))]
        return sum(score.value or 0.0 for item in results if item for score in item.scores if score.name == name)

    def poor_answer(self, at: int) -> str:
        """An answer to the case at a position that can be read and deserves little: the truth of another case, or one
        that fits and says nothing."""
        nothing = "There is nothing to say about this."
        if len(set(self._truths)) > 1:
            return self._another(at)
        return self._filled(at, nothing, self._as_texts)

    def _places(self) -> Iterator[str]:
        """Where scorers, checks and the judge look in an answer."""
        if self._suite.judge is not None:
            yield self._suite.judge.of or ""
        for _, scorer in self._scorers:
            if not scorer.needs_truth:  # else its truths say where
                yield from (getattr(scorer, name, None) or "" for name in scorer.answer_paths)
            if isinstance(scorer, Expectations):
                places = (place for rule in scorer.checks.values() for place in rule.answer_places())
                yield from (place.start_text if place.text.startswith("$") else place.text for place in places)

    def _truth_parts(self, case: Case) -> list[dict[str, Any]]:
        """Of each component, what it looks for by path into the answer."""
        results = (truth_parts(component, scorer, case) for component, scorer in self._scorers)
        return [parts for parts in results if parts]

    def _no_items(self, case: Case) -> Iterator[dict[str, Any]]:
        """For scorers of sets that skip the case: no items, since filler in an empty list would be one too many."""
        for component, scorer in self._scorers:
            if scorer.needs_truth and not truth_parts(component, scorer, case):
                yield scorer.everything_at([case])

    def _truth(self, at: int, parts: list[dict[str, Any]]) -> str:
        """An answer that is right for all components; where they want different things at one place, the best."""
        parts += [within for _, scorer in self._scorers if (within := scorer.truth_within(_document(parts)))]
        if _document(parts) == _document(parts[::-1]):
            return self._built(parts, at)
        made = [self._built([*parts[:last], *parts[last + 1 :], parts[last]], at) for last in range(len(parts))]
        made.append(self._built(parts, at, join=True))
        scored = [(self._evaluated(text, at), text) for text in dict.fromkeys(made)]
        return max(scored, key=lambda item: -1.0 if item[0] is None else item[0].score)[1]

    def _evaluated(self, text: str, at: int) -> Evaluated | None:
        """What the scorers make of an answer; None where one breaks, which is told when the probe is tried."""
        try:
            return self._evaluate(text, self._cases[at])
        except Exception:  # noqa: BLE001 - whatever a user's scorer raises
            return None

    def _given_back(self, at: int) -> str:
        question = self._cases[at].input
        return self._text(question) if self._json and isinstance(question, (dict, list)) else _words(question)

    def _parts_of_questions(self) -> list[str]:
        """The names of what a question holds, where it holds several texts."""
        asked = [case.input for case in self._cases if isinstance(case.input, dict)]
        texts = list(dict.fromkeys(name for item in asked for name, value in item.items() if _words(value)))
        return texts[:_MOST_ECHOED] if len(texts) > 1 else []

    def _echo(self, at: int, name: str | None = None) -> str:
        question = self._cases[at].input
        words = _words(question if name is None else question.get(name) if isinstance(question, dict) else None)
        return self._filled(at, words, self._as_texts)

    def _another(self, at: int) -> str:
        n = len(self._truths)
        others = (self._truths[(at + step) % n] for step in range(1, n))
        return next(text for text in others if text != self._truths[at])

    def _stuffed(self, *, cut: bool = False) -> str | None:
        words: dict[str, dict[str, None]] = {}
        for _, scorer in self._scorers:
            for case in self._cases:
                words.setdefault(scorer.answer or "", {}).update(dict.fromkeys(scorer.keywords_of(case)))
        texts = {path: " ".join(result) for path, result in words.items() if result}
        parts = {path: text[: self._room(path)] if cut else text for path, text in texts.items()}
        return self._built([parts]) if parts else None

    def _is_choice(self, path: str) -> bool:
        here = self._schema_at(path)
        items = here.get("items")
        among = [here, items] if isinstance(items, dict) else [here]
        return any(bool(place.get("enum")) or place.get("type") == "boolean" for place in among)

    def _room(self, path: str) -> int | None:
        """How long the schema lets a text at this place be; None when it does not say."""
        room = self._schema_at(path).get("maxLength")
        return room if isinstance(room, int) else None

    def _schema_at(self, path: str) -> dict[str, Any]:
        """What the schema says of this place; empty when nothing."""
        here: Any = resolved(self._schema)
        for step in split_path(path):
            inner = (here.get("items") if step == EVERY else here.get("properties", {}).get(step)) if here else None
            here = inner if isinstance(inner, dict) else {}
        return here if isinstance(here, dict) else {}

    def _of_all(self, cases: list[Case]) -> str | None:
        """An answer that holds the items of all these cases."""
        parts = [parts for _, scorer in self._scorers if (parts := scorer.everything_at(cases))]
        return self._built(parts) if parts else None

    def _blankets_of(self, scorer: Any) -> Mapping[str, Any]:
        return next((result for case in self._cases if (result := scorer.blankets(case))), {})

    def _blanket(self, name: str, at: int) -> str:
        held = ((scorer, scorer.blankets(self._cases[at]).get(name)) for _, scorer in self._scorers)
        return self._built([{scorer.answer or "": value} for scorer, value in held if value is not None], at)

    def _without_groups(self) -> Iterator[Probe]:
        blind = frozenset(f"score.{item.name}.{name}" for item, it in self._scorers for name in it.blind_measures)
        made = (it.partly_right(case) for _, it in self._scorers if it.blind_measures for case in self._cases)
        for name in next(filter(None, made), {}):
            answer = partial(self._partly_right, name)
            yield Probe(name, "the right items, and groups that say nothing", PARTLY, answer, blind=blind)

    def _partly_right(self, name: str, at: int) -> str:
        case, parts = self._cases[at], []
        for component, scorer in self._scorers:
            value = scorer.partly_right(case).get(name)
            parts.append(truth_parts(component, scorer, case) if value is None else {scorer.answer or "": value})
        return self._built([part for part in parts if part], at)

    def _widest(self) -> str | None:
        parts = [parts for _, scorer in self._scorers if (parts := scorer.widest_at())]
        return self._built(parts) if parts else None

    def _built(self, parts: Sequence[Mapping[str, Any]], at: int = 0, *, join: bool = False) -> str:
        """An answer of these parts, with filled in what the schema asks for and what the scorers look for besides."""
        document = _document(parts, join=join)
        if not self._json:
            return self._text("" if document is None else document)
        fitting = completed(self._schema, document, _CONSTANT) if self._schema else document
        whole = completed(self._looked_for, fitting, _CONSTANT)
        # Elements of lists have no field that they must have; a scorer may not read one that has none.
        with_elements = merged(filled(self._looked_for, _CONSTANT), fitting)
        return self._readable(at, whole, with_elements, fitting, document)

    def _filled(self, at: int, text: str, looked_for: dict[str, Any]) -> str:
        """An answer with this text wherever a text can stand."""
        if not self._json:
            return text
        fitting, loose = filled(self._schema, text) if self._schema else None, filled(looked_for, text)
        return self._readable(at, loose if fitting is None else completed(looked_for, fitting, text), fitting, loose)

    def _readable(self, at: int, *answers: Any) -> str:
        """The first of these answers that is not malformed for the case; the first of all where every one is."""
        texts = list(dict.fromkeys(self._text(answer) for answer in answers if answer is not None))
        if len(texts) < 2:
            return texts[0]
        readings = ((text, self._evaluated(text, at)) for text in texts)
        read = (text for text, scored in readings if scored is None or scored.outcome is not Outcome.MALFORMED)
        return next(read, texts[0])

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) and not self._json else json.dumps(value, ensure_ascii=False)


def _all_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _all_texts(inner)


def _words(value: Any) -> str:
    """All text in an input, as an echo would give it back."""
    if isinstance(value, dict):
        return " ".join(filter(None, map(_words, value.values())))
    if isinstance(value, list):
        return " ".join(filter(None, map(_words, value)))
    return "" if value is None else str(value)


def _document(parts: Sequence[Mapping[str, Any]], *, join: bool = False) -> Any:
    """One document that holds all of these parts; where two want different things at one place, the last."""
    document = None
    for part in parts:
        document = merged(document, build_answer(part), join=join)
    return document
