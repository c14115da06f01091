"""One stored sample with all that is shown of it, in a browser and in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from steelyard.frozen import frozen
from steelyard.records import CallResult, RunHeader, Sample
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.judge.run import failing_flags
from steelyard.report.model import SampleDetail
from steelyard.report.pictures import Palette
from steelyard.report.sample_detail import extraction, judgement_reader, sample_detail
from steelyard.report.samples import WHOLE_RESPONSE, SampleReader, answer_blocks, checks_table
from steelyard.store.excerpt import Excerpt
from steelyard.suite.case import Case
from steelyard.suite.models import Component
from steelyard.suite.paths import MISSING, compile_path, path_step, split_path

_REQUEST = "Request as sent (variables by name)"
_MOST_COMPARED = 60
_LONGEST_SHOWN = 3_000
"""Characters of a text that a terminal shows unless all is asked for."""


@frozen
class ShownSample:
    """A sample as it is stored; `request` is what was sent, None when it cannot be known."""

    header: RunHeader
    excerpt: Excerpt
    request: Any
    detail: SampleDetail
    fields: Sequence[Mapping[str, Any]]
    """Each place that a scorer reads, and the other fields, of the truth beside what the answer has there."""
    best: str = ""
    """Of a malformed answer, the part that is nearest to what was asked for."""

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        sample = self.excerpt.sample
        return {
            "run": {"id": self.header.id, "suite": self.header.suite_name},
            "position": sample.position,
            "sample": self.detail,
            "answer": sample.call_result.text,
            "answer_is_cut": self.excerpt.cut,
            "case_is_cut": self.excerpt.case_cut,
            "request": self.request,
            # What was not timed, such as a recorded answer, took no 0 seconds.
            "call": asdict(replace(sample.call_result, text=None)) | {"latency": sample.call_result.latency or None},
            "checks": sample.checks,
            "fields": list(self.fields),
        }

    def document(self, *, full: bool) -> doc.Document:
        """The same for a terminal; `full` cuts nothing."""
        sample, case, header = self.excerpt.sample, self.excerpt.case, self.header
        reader = SampleReader(header, [], Palette(header, (), []), header.description.repeats)
        block = reader.sample(replace(self.detail, pictures=()))
        facts = doc.Facts([(name, text) for name, text in _call_facts(sample.call_result) if text])
        title, asked = ("Input", case.input) if self.request is None else (_REQUEST, self.request)
        settings = (header.options.asked_by or {}).get("settings", {})
        if self.request is not None and settings.get("when_refused", "fail") != "fail":
            title += f", or with response_format {settings['when_refused']} where the server refused this one"
        shown: list[doc.Block] = [*block.blocks[:1], facts, doc.Quote(title, fmt.laid_out(asked))]
        shown += [_fields_table(self.fields)] if self.fields else []
        if case.expected is not None and (full or not self.fields):
            shown.append(doc.Quote("Expected", fmt.laid_out(case.expected)))
        shown += self._answer(full=full)
        shown += [doc.Text("The answer goes on; --full reads up to 5,000,000 characters.")] if self.excerpt.cut else []
        if not full:
            shown = [replace(item, text=_cut(item.text)) if isinstance(item, doc.Quote) else item for item in shown]
        scoring = [item for item in block.blocks if isinstance(item, doc.Table)]
        folds = [item for item in block.blocks if isinstance(item, doc.Fold) and item.title != WHOLE_RESPONSE]
        judged = [doc.Section(item.title, item.blocks) for item in folds]
        headline = doc.Headline(block.status, block.why, f"{block.status} {block.score}".strip())
        blocks = [headline, *shown, *scoring, checks_table(sample.checks), *judged]
        return doc.Document(block.name, blocks, context=(f"run {header.id}", f"suite {header.suite_name}"))

    def _answer(self, *, full: bool) -> list[doc.Block]:
        """The answer, beginning with the part that was read or, of a malformed one, that should have been."""
        text = self.excerpt.sample.call_result.text
        part = fmt.laid_out(self.detail.read) if self.detail.read is not None else self.best
        whole = answer_blocks(replace(self.detail, answer=text, read=None))
        if not text or not part or len(text.strip()) <= len(part):
            return whole
        title = "Answer" if self.detail.read is not None else "Answer, the part that is nearest to what was asked for"
        if full:
            return [doc.Quote(title, part), doc.Section(WHOLE_RESPONSE, whole)]
        return [doc.Quote(title, part), doc.Text(f"Part of a response of {len(text):,} characters: --full shows all.")]


def shown_sample(header: RunHeader, excerpt: Excerpt, request: Any) -> ShownSample:
    """A stored sample with what was read out of its answer, field by field beside its truth."""
    sample, case = excerpt.sample, excerpt.case
    # What is cut is no JSON any more, and a judge's quotes need not be in it.
    found = None if excerpt.cut else extraction(header)(sample)
    read = None if found is None else found.value
    judgement, alone = judgement_reader(header)(sample, case), sample.step in (None, "whole")
    detail = sample_detail(sample, case, None if alone else read, judgement, failing_flags(header))
    described = header.description
    fields = _fields(sample, case, read, described.components, described.answer.schema_data)
    return ShownSample(header, excerpt, request, detail, fields, "" if found is None else found.best)


def _cut(text: str) -> str:
    left = len(text) - _LONGEST_SHOWN
    return text if left <= 0 else f"{text[:_LONGEST_SHOWN]}\n... {left:,} more characters: --full shows them"


def _call_facts(call: CallResult) -> Iterator[tuple[str, str]]:
    """What is known of a call, as labels and values."""
    yield "Model", call.model or ""
    yield "Status", "" if call.status is None else str(call.status)
    first = f"; the first attempt failed: {call.first_failure}" if call.first_failure else ""
    yield "Tries", f"{call.tries}{first}" if call.tries > 1 else ""
    tokens = [f"{n:,} {way}" for n, way in ((call.tokens_in, "in"), (call.tokens_out, "out")) if n is not None]
    yield "Tokens", ", ".join(tokens)
    yield "Cost", "" if call.cost is None else fmt.money(call.cost)
    yield "Cached", "yes" if call.cached else ""


_LONGEST_CELL = 160


def _fields_table(fields: Sequence[Mapping[str, Any]]) -> doc.Table:
    def name(field: Mapping[str, Any]) -> str:
        of_truth = f" (truth: {field['truth']})" if field["truth"] != field["name"] else ""
        return f"{'!= ' if field['differs'] else ''}{field['name']}{of_truth}"

    def cell(field: Mapping[str, Any], side: str, none: str) -> str:
        if field[side] is None:
            return none
        sides = (field["expected"], field["got"])
        if field["same"] or not all(isinstance(value, str) for value in sides):
            return fmt.laid_out(field[side])
        return fmt.clipped_pair(*sides, _LONGEST_CELL)[side == "got"]

    return doc.table(
        "Expected and got",
        fields,
        ("Field", name),
        (doc.words("Expected"), lambda field: cell(field, "expected", "nothing" if field["asked"] else "")),
        (doc.words("Got"), lambda field: cell(field, "got", "nothing" if field["answered"] else "not asked for")),
        most=_MOST_COMPARED,
    )


def _fields(
    sample: Sample, case: Case, got: Any, components: Sequence[Component], schema: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Each place that a scorer reads, the truth beside what the answer has there, and whether they differ; then the
    other fields of truth and answer by name, in which nothing is marked: equal names need not mean the same."""
    if not isinstance(got, Mapping | list):
        return []
    rows = list(_scored_fields(sample, case, got, components))
    expected = case.expected if isinstance(case.expected, Mapping) else {}
    if not isinstance(got, Mapping) or (not expected and not rows):
        return rows
    of_truth, of_answer = ({_first_step(row[side]) for row in rows} for side in ("truth", "name"))
    truth = {name: value for name, value in expected.items() if name not in of_truth}
    others = {name: value for name, value in got.items() if name not in of_answer}
    # A truth may have more than answers are asked for: what else is right, say, or what only people want to know.
    named = {*((schema or {}).get("properties") or expected), *got}
    rows += [
        _field(str(name), truth.get(name), others.get(name))
        | {"asked": name in truth, "answered": name in named, "differs": False}
        for name in {**truth, **others}
    ]
    return rows[:_MOST_COMPARED]


def _first_step(path: str) -> str:
    return str(next(iter(split_path(path)), ""))


def _scored_fields(sample: Sample, case: Case, got: Any, components: Sequence[Component]) -> Iterator[dict[str, Any]]:
    scores = {score.name: score.value for score in sample.scores}
    done = set()
    for component in components:
        path, at = (component.params.get(name) for name in ("expected", "answer"))
        at = path_step(component.name) if at is None else at
        truth = f"{path}." if isinstance(path, str) else ""
        if not truth.startswith("expected.") or not isinstance(at, str) or not at or (path, at) in done:
            continue
        done.add((path, at))
        values = [compile_path(str(path))(case), compile_path(at)(got)]
        before, after = (None if value is MISSING else value for value in values)
        row = _field(at, before, after)
        # What a scorer accepts in full is no difference to it.
        full = scores.get(component.name) == component.scale[1]
        differs = before is not None and not row["same"] and not full
        shown = truth.removeprefix("expected.").removesuffix(".")
        more = {"asked": values[0] is not MISSING, "answered": True, "differs": differs, "scored_by": component.name}
        yield row | more | {"truth": shown}


def _field(name: str, before: Any, after: Any) -> dict[str, Any]:
    # Numbers and texts of the same value are the same to a reader; how they were scored stands below.
    same = before == after or _text(before) == _text(after)
    nested = isinstance(before, Mapping | list) or isinstance(after, Mapping | list)
    base = {"name": name, "expected": before, "got": after, "same": same, "nested": nested}
    return base | {"truth": name, "scored_by": ""}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
