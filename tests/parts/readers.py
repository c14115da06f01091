"""Every place where a text that a system, server or judge wrote is read, as functions of that text."""

import json
from collections.abc import Callable

from parts.small_judge import FINE, answer, judge
from steelyard import plugins
from steelyard.failures import failure_reason
from steelyard.judging.ask import rules_judges
from steelyard.judging.complaints import complaint_check
from steelyard.judging.fence import new_fence
from steelyard.judging.judgement import JudgeReader
from steelyard.loading.load import load_suite
from steelyard.records import CallResult, Failure, JudgeCall
from steelyard.redact import SecretRedactor
from steelyard.report.format import as_text, one_line, visible
from steelyard.scoring.evaluate import Evaluator
from steelyard.scoring.extract import extract_json
from steelyard.scoring.json_schema import compile_schema
from steelyard.suite.case import Case
from steelyard.suite.redaction import Redactor, RedactPart
from steelyard.suites.review.reviewing import review
from steelyard.suites.spans.labeller import label

Reader = Callable[[str], object]

_CASE = Case(
    "c",
    input={"text": "A red fox runs; my name is Anna Berg."},
    expected={
        "name": "Large oak table",
        "words": ["oak", "table"],
        "number": 12.5,
        "start": 1890,
        "end": 1910,
        "low": 300,
        "high": 800,
        "spans": [{"text": "fox", "start": 6, "end": 9, "role": "animal"}],
        "items": ["chair", "lamp"],
    },
    private=("Anna Berg",),
)
_SCORERS = {
    "alternatives": {"expected": "expected.name", "also": "expected.words"},
    "choice": {"expected": "expected.words", "labels": ["oak", "table"]},
    "contains": {"expected": "expected.words"},
    "exact": {"expected": "expected.name", "ignore": ["case", "space", "punctuation"]},
    "keywords_or_fuzzy": {"expected": "expected.name", "keywords": "expected.words"},
    "money_range": {"low": "expected.low", "high": "expected.high"},
    "number": {"expected": "expected.number"},
    "year_range": {"start": "expected.start", "end": "expected.end"},
}


def readers() -> dict[str, Reader]:
    """By name, everything that reads; the parts of a structured answer are made of the text as well."""
    return {**_core(), **_scorers(), **_judge(), **_suites()}


def _core() -> dict[str, Reader]:
    named = compile_schema({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}})
    personal = Redactor(RedactPart(emails=True, phones=True, names=["input.text"], introduced=True))
    secret = SecretRedactor(["sk-a+b/c=0123456789", "öffentlich-nicht", "aaaaaaaaaaaa"])
    return {
        "climb": extract_json,
        "climb with a schema": lambda text: extract_json(text, named),
        "redact an answer": lambda text: personal.redact_call(CallResult(text=text), ("Anna Berg", "Aa")),
        "redact a failure": lambda text: personal.redact_call(CallResult(failure=Failure("x", text)), ("Anna Berg",)),
        "redact a case": lambda text: personal.case(Case("c", input={"text": text[:400], "more": text})),
        "redact secrets": secret,
        "words of a failure": lambda text: failure_reason("http_500", text),
        "shown in a report": lambda text: (visible(text), one_line(text, 200), as_text({"a": text})),
    }


def _scorers() -> dict[str, Reader]:
    found: dict[str, Reader] = {}
    for name, parameters in _SCORERS.items():
        scorer = plugins.find("scorers", name)(**parameters).at("part")
        found[name] = lambda text, scorer=scorer: scorer.read({"part": text}, _CASE)
        if scorer.has_strict:
            strict = scorer.model_copy(update={"strict": True})
            found[f"{name} strict"] = lambda text, scorer=strict: scorer.read({"part": text}, _CASE)
    return found


def _judge() -> dict[str, Reader]:
    reader = JudgeReader(judge())
    about = "She said “the users' hopes may return, in time”, and left. You could consider staying.\n"

    def read(text: str, judged: str = about, *, cut_off: bool = False) -> object:
        return reader.read([JudgeCall("model", 0, 0, CallResult(text=text, cut_off=cut_off))], judged, _CASE, FINE)

    return {
        "judge": read,
        "judge, cut off": lambda text: read(text, cut_off=True),
        "judge's notes": lambda text: read(json.dumps(answer(5, 5, notes=text, weaknesses=pieces(text, 9)))),
        "judged text": lambda text: read(json.dumps(answer(5, 5, notes='tone: "could ... staying", "a a a"')), text),
        "judged text in notes": lambda text: read(json.dumps(answer(5, 5, notes=f'"{text[:2000]}" ... "a"')), text * 2),
        "judge copies": lambda text: read(text + "x", text),
        "fence": lambda text: new_fence(text)(text),
    }


def _suites() -> dict[str, Reader]:
    found: dict[str, Reader] = {}
    for name, answers in _ANSWERS.items():
        suite = load_suite(name)
        case, weigher = next(iter(suite.cases)), Evaluator(suite)
        for kind, as_answer in answers.items():
            found[f"{name} {kind}"] = lambda text, weigher=weigher, case=case, as_answer=as_answer: weigher.evaluate(
                as_answer(text), case
            )
        if suite.judge is not None:
            reader = JudgeReader(
                suite.judge, rules_judges(suite.judge, suite.folder), complaint_check(suite.judge, suite.folder)
            )
            found[f"{name} by rules"] = (
                lambda text, weigher=weigher, case=case, reader=reader, as_answer=answers["many"]: _judged(
                    reader, weigher, case, as_answer(text)
                )
            )
    found["review a document"] = lambda text: review.__wrapped__(text, "naval_v3", "high")
    found["label a prompt"] = lambda text: label(Case("c", input={"text": text}))
    return found


def _judged(reader: JudgeReader, evaluator: Evaluator, case: Case, text: str) -> object:
    weighed = evaluator.evaluate(text, case)
    return None if weighed.to_judge is None else reader.read([], weighed.to_judge, case, weighed.metrics)


def pieces(text: str, count: int) -> list[str]:
    """The text in so many parts of one length, and a few that overlap them."""
    size = max(1, len(text) // count)
    return [text[at : at + size] for at in range(0, len(text), size)] + [text[:size], text[1 : size * 2]]


def _spans(text: str, count: int) -> str:
    spans = [
        {"text": one or "a", "role": "subject.identity", "start": at % 90, "end": at % 97 + 1, "confidence": 0.5}
        for at, one in enumerate(pieces(text, count))
    ]
    return json.dumps({"spans": spans})


def _observations(text: str, count: int) -> str:
    observations = [
        {
            "id": "o",
            "span": [at, at + 5],
            "severity": "info",
            "category": one,
            "standard_ref": one or "a",
            "message": "m",
        }
        for at, one in enumerate(pieces(text, count))
    ]
    return json.dumps({"observations": observations, "meta": {"model_id": "m", "latency_ms": 1}, "errors": []})


def _boxed(text: str, count: int) -> str:
    cards = [{"text": one, "box": [at % 9 / 10, 0, 1, at % 7 / 10]} for at, one in enumerate(pieces(text, count))]
    return json.dumps({"cards": cards})


_ANSWERS: dict[str, dict[str, Reader]] = {
    "antiques": {
        "raw": str,
        "fields": lambda text: json.dumps(
            dict.fromkeys(("name", "maker", "era"), text[:120])
            | {"estimatedValueMin": text[:20], "estimatedValueMax": 3}
        ),
    },
    "cards": {
        "raw": str,
        "few": lambda text: json.dumps({"piles": [{"label": text[:99], "cards": pieces(text, 9)}]}),
        "piles": lambda text: json.dumps({"piles": [{"label": one, "cards": [one]} for one in pieces(text, 300)]}),
        "many": lambda text: _boxed(text, 300),
    },
    "spans": {"raw": str, "few": lambda text: _spans(text, 9), "many": lambda text: _spans(text, 300)},
    "review": {"raw": str, "few": lambda text: _observations(text, 9), "many": lambda text: _observations(text, 300)},
    "tarot": {"many": str},
}
