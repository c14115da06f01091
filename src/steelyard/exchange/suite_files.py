"""A suite that scores the answers of another tool's file anew, with Steelyard's scorers and without a call."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.exchange.results import ResultFile, ResultSample, SuiteScoring, reading, refuse_twins
from steelyard.frozen import slotted, values_of
from steelyard.wording import percent

SUITE, CASES = "suite.yaml", "cases.jsonl"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_MOST_LABELS = 12
_INSIDE = re.compile(r"include|contain|starts-with|factuality|(?<!exact_)match$")
"""Scorers that look for the truth inside an answer."""
_ALL = re.compile(r"contains-all|^i?contains$")
_ALLOWED = 0.05
"""The share of failed samples that a suite allows when it says nothing."""


@slotted
class _Survey:
    """What is to be known of the samples before a suite can be written of them."""

    cases: dict[str, str] = field(default_factory=dict)
    truths: dict[str, Any] = field(default_factory=dict)
    subjects: dict[str, None] = field(default_factory=dict)
    variants: dict[str, None] = field(default_factory=dict)
    cells: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    has_messages: bool = False

    def add(self, sample: ResultSample) -> None:
        """Take one sample in."""
        refuse_twins(self.cases, sample.case)
        self.truths.setdefault(sample.case.id, sample.case.expected)
        self.subjects[sample.subject] = self.variants[sample.variant] = None
        self.cells[sample.subject, sample.case.id, sample.variant] += 1
        self.failed[sample.case.id] += sample.answer is None
        self.has_messages |= bool(sample.messages)

    @property
    def usable(self) -> set[str]:
        """The cases that can be scored: those with a truth, or all where none has one."""
        held = {case for case, truth in self.truths.items() if truth not in (None, "", [])}
        return held or set(self.truths)

    @property
    def left_out(self) -> str:
        """How many cases cannot be scored, and why; empty when all can."""
        less = self.truths.keys() - self.usable
        if not less:
            return ""
        errors = sum(self.failed[case] > 0 for case in less)
        of_errors = f" ({errors} of them: no answer came, only an error)" if errors else ""
        return f"{len(less)} of {len(self.truths)} cases: the file does not say what was expected{of_errors}"

    @property
    def failed_share(self) -> float:
        """The share of failed samples of those cases."""
        usable = self.usable
        n = sum(count for (_, case, _), count in self.cells.items() if case in usable)
        return sum(self.failed[case] for case in usable) / n


def write_suite(results: ResultFile, path: Path, folder: Path) -> tuple[list[str], str]:
    """Write the suite, its cases and the recorded answers, and give the names of the files, and what is left out.

    Nothing is overwritten.
    """
    survey = _Survey()
    with reading(path):
        for sample in results.samples():
            survey.add(sample)
        if not survey.truths:
            raise UsageError(f"{path} holds no samples: nothing was written")
        files = {name: f"answers{f'-{n}' if n else ''}.jsonl" for n, name in enumerate(survey.subjects)}
        names = [SUITE, CASES, *files.values()]
        if there := [name for name in names if (folder / name).exists()]:
            raise UsageError(f"{folder} already has {', '.join(there)}: choose another folder, nothing was written")
        text = (
            "\n".join([*_head(results, path, survey), *_asked(results, survey, files), *_scored(results, survey)])
            + "\n"
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write_lines(folder / CASES, _cases(results, survey.usable))
            for subject, name in files.items():
                _write_lines(folder / name, _answers(results, subject, survey))
            # Last: without it there is no suite.
            (folder / SUITE).write_text(text, encoding="utf-8")
        except OSError as error:
            for name in names:
                (folder / name).unlink(missing_ok=True)
            raise UsageError(f"cannot write to {folder}: {error.strerror}; nothing was written") from error
    left_out = [survey.left_out, *(results.scoring.left_out if results.scoring else ())]
    return names, "; ".join(filter(None, left_out))


def _write_lines(path: Path, records: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for record in records:
            stream.write(json.dumps({key: value for key, value in record.items() if value is not None}) + "\n")


def _cases(results: ResultFile, usable: set[str]) -> Iterator[dict[str, Any]]:
    left = set(usable)
    for sample in results.samples():
        case = sample.case
        if case.id in left:
            left.remove(case.id)
            yield values_of(case, "id", "input", "expected", "category")


def _answers(results: ResultFile, subject: str, survey: _Survey) -> Iterator[dict[str, Any]]:
    repeats: Counter[tuple[str, str]] = Counter()
    usable = survey.usable
    for sample in results.samples():
        if sample.subject != subject or sample.case.id not in usable:
            continue
        cell = sample.case.id, sample.variant
        yield {
            "case": sample.case.id,
            "variant": sample.variant or None,
            "repeat": repeats[cell] or None,
            "answer": sample.conversation if survey.has_messages else sample.answer,
            **_facts(sample),
        }
        repeats[cell] += 1


def _facts(sample: ResultSample) -> dict[str, Any]:
    failed = {"failed": {"kind": "recorded", "message": sample.failure}} if sample.answer is None else {}
    facts = values_of(sample, "latency", "tokens_in", "tokens_out", "cost", "model")
    return failed | facts | ({"cached": True} if sample.cached else {})


def scorer_for(kind: str, truths: list[Any]) -> tuple[str, str]:
    """The nearest scorer to one of another tool, as a suite file has it, and why it was chosen."""
    texts = [text for truth in truths for text in (truth if isinstance(truth, list) else [truth])]
    named = f"its scorer was {_in_line(kind)}" if kind else "it names no scorer"
    if not any(truths):
        return "{regex: {pattern: '\\S', example: any}}", "no case has an expected value: it only asks for some answer"
    if kind == "equals" and all(isinstance(truth, str | int | float) for truth in truths):
        return "{exact: {expected: expected, ignore: []}}", f"{named}, which asks for the same text"
    if not all(isinstance(text, str | int | float) for text in texts):
        return "{exact: {expected: expected, answer: ''}}", "the expected values are data: each part must be the same"
    if any(isinstance(truth, list) for truth in truths) or _INSIDE.search(kind):
        match = "all" if _ALL.search(kind) else "any"
        return f"{{contains: {{expected: expected, match: {match}}}}}", f"{named}; as whole words, in any letter case"
    if all(_NUMBER.fullmatch(str(text).strip()) for text in texts):
        return "{number: {expected: expected, pick: last}}", f"{named}, and all expected values are numbers"
    labels = sorted({str(text) for text in texts})
    if len(labels) <= _MOST_LABELS and len(truths) >= 3 * len(labels):
        why = f"{named}, and there are {len(labels)} different expected values, which look like labels"
        return f"{{choice: {{expected: expected, labels: {_written(labels)}, inside: true}}}}", why
    return "{exact: {expected: expected}}", f"{named}; letter case and spaces do not count"


def _in_line(text: str) -> str:
    """A text of the file for a comment: what stands on a line of its own would be a part of the suite."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())


def _written(data: Any) -> str:
    """Data as YAML has it on one line: JSON, but for surrogates in pairs, which YAML does not put together."""
    letters = json.dumps(data, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in letters)


def _head(results: ResultFile, path: Path, survey: _Survey) -> Iterator[str]:
    name, tool = _in_line(path.name), _in_line(results.scored_by)
    calls = "Only the judge is called:" if results.scoring and results.scoring.judge else "No call is made:"
    yield f"# The answers in {name}, made with {tool}, scored anew by Steelyard. {calls}"
    yield "#   steelyard run ."
    yield f"# The scores of {results.tool} itself, to hold beside them:"
    yield f"#   steelyard import {name}"
    yield f"\nsuite: {_written(results.name)}"
    yield "\n# Look at: are these the questions, and what should be answered?"
    if survey.left_out:
        yield f"# Left out: {survey.left_out}."


def _asked(results: ResultFile, survey: _Survey, files: dict[str, str]) -> Iterator[str]:
    yield f"cases: {{files: {CASES}}}"
    (subject, file), *others = files.items()
    who = f" of {_in_line(subject)}" if subject else ""
    yield f"\n# The recorded answers{who}. To ask your system, write another target here."
    yield f"target: {{recorded: {file}}}"
    if others:
        yield "# Those of the others: steelyard run . --target NAME"
        yield f"targets: {_written({name: {'recorded': other} for name, other in others})}"
    if len(survey.variants) > 1:
        yield "variants:\n  prompt:"
        for name in survey.variants:
            label, text = results.texts.get(name, ("", ""))
            if label not in ("", name, text):
                yield f"    # {_in_line(label)}"
            yield f"    - {_written({'name': name, 'value': text} if text else name)}"
    elif "" in results.texts:
        label, text = results.texts[""]
        yield f"# Its prompt{f' ({_in_line(label)})' if label not in ('', text) else ''}: {_written(text)}"
    if (repeats := max(survey.cells.values())) > 1:
        yield f"repeats: {repeats}"
    if (share := survey.failed_share) > _ALLOWED:
        yield f"\n# {percent(share)} of the answers are errors: allowed here, to see the rest; above 5 % is INVALID."
        yield f"limits: {{max_inconclusive: {math.ceil(share * 100)} %}}"


def _mapped(scoring: SuiteScoring) -> Iterator[str]:
    if scoring.reads_json:
        yield "\nanswer: {format: json}"
    yield "\n# Look at: is this what a right answer is? For each of its graders:"
    for why in scoring.whys:
        yield f"#   {_in_line(why)}"
    for name in scoring.left_out:
        yield f"# Left out: {_in_line(name)}"
    if scoring.score:
        yield "score:"
        yield from (f"  {_written(name)}: {scorer}" for name, scorer in scoring.score.items())
    if scoring.judge:
        yield "\n# A model judges, which costs calls: `judge check` tests it."
        yield f"judge: {_written(scoring.judge)}"
    if not scoring.passes_exactly:
        yield "\n# There, an answer passes when every grader passes; here, when all together reach what they need."
    yield f"\npass: {scoring.passing}"
    yield "\n# What must hold before you ship:\n# gates:\n#   - pass_rate >= 80 %"


def _scored(results: ResultFile, survey: _Survey) -> Iterator[str]:
    kinds = results.scorers
    if results.scoring is not None and (results.scoring.score or results.scoring.judge):
        yield from _mapped(results.scoring)
        return
    kind = kinds.get(results.counts_alone) or next(iter(kinds.values()), "")
    scorer, why = scorer_for(kind, [survey.truths[case] for case in survey.usable])
    if survey.has_messages:
        scorer = re.sub(r", answer: ''|(?=}}$)", ", answer: completion", scorer, count=1)
        yield "\n# The answer is `completion`; `messages` has the whole conversation with its tool calls."
    if "answer: " in scorer:
        yield "\nanswer: {format: json}"
    yield f"\n# Look at: is this what a right answer is? Chosen since {why}."
    yield f"# Its scorers were: {_in_line(', '.join(f'{name} ({of})' for name, of in kinds.items())) or 'none'}."
    yield "# Others: exact, contains, number, choice, regex, alternatives, or a judge where no text is the right one."
    yield f"score:\n  answer: {scorer}"
    yield "\npass: score >= 100 %"
    yield "\n# What must hold before you ship:\n# gates:\n#   - pass_rate >= 80 %"
