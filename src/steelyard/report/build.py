"""Puts a report together from what the store holds; memory is bounded by the samples shown, not by the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from steelyard import plugins
from steelyard.analysis.model import SampleLine, Summary
from steelyard.analysis.stored import summary_of
from steelyard.decide.baselines import stored_results
from steelyard.decide.gates import Decision
from steelyard.decide.verdict import as_ended, decide
from steelyard.frozen import frozen
from steelyard.metrics.run_data import RunData
from steelyard.records import CallResult, Outcome, RunHeader, Sample
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.judge.run import failing_flags
from steelyard.report.model import Report, SampleDetail, needs_models
from steelyard.report.pictures import Palette
from steelyard.report.samples import (
    WHOLE_RESPONSE,
    SampleReader,
    answer_blocks,
    checks_table,
    judgement_reader,
    sample_detail,
    sample_line,
)
from steelyard.report.wording import badness
from steelyard.scoring.extract import Extracted, extract_json
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.store.base import Store
from steelyard.store.excerpt import Excerpt
from steelyard.suite.case import MISSING, Case, compile_path, path_step, split_path
from steelyard.suite.models import Component

_INCONCLUSIVE_SHARE = 10
"""Of a cut list, one sample in so many may be an inconclusive one."""
_MOST_FOUND = 200
_MOST_CODES = 50
"""Of so many codes, what is worth most to fix first, so many findings each are kept for the views."""


def build_report(
    store: Store,
    header: RunHeader,
    *,
    max_details: int = 1000,
    max_findings: int = _MOST_FOUND,
    figures: tuple[Summary, Decision] | None = None,
    brief: bool = False,
) -> Report:
    """The report of a run: figures over all samples, details of all or, beyond `max_details`, of the worst, and up to
    `max_findings` findings of each code.

    `figures` are those of a run that has just been summed up and decided; without them they are computed. `brief` is
    for what stands on one screen: it leaves out the slowest samples, single findings and details that explain nothing.
    """
    return store.one_view(
        lambda: _built(store, header, max_details, max_findings, *(figures or _figures(store, header)), brief=brief)
    )


def _figures(store: Store, header: RunHeader) -> tuple[Summary, Decision]:
    summary = summary_of(store, header)
    decision = decide(
        summary,
        header.description,
        state=header.state,
        suspect=header.suspect,
        gone=header.options.broken,
        relative=stored_results(header),
    )
    return summary, as_ended(decision, header)


def _built(
    store: Store,
    header: RunHeader,
    max_details: int,
    max_findings: int,
    summary: Summary,
    decision: Decision,
    *,
    brief: bool,
) -> Report:
    n_samples, judged = sum(summary.overall.outcomes.values()), header.description.judge is not None
    flags, listed = failing_flags(header), summary.samples
    # They say why calls failed, a scorer broke, or what a judge said does not count.
    explained = judged or bool(summary.overall.counts("failures.<kind>")) or summary.n_scorer_errors > 0
    details = _details(store, header, summary, n_samples, max_details) if explained or not brief else []
    worst = _lines(store, header, [cell.position for cell in listed.worst], flags)
    return Report(
        header=header,
        summary=summary,
        decision=decision,
        worst=worst,
        bad_repeats={cell_of(line): cell.failing for line, cell in zip(worst, listed.worst, strict=True)},
        slowest=[] if brief else _lines(store, header, listed.slowest, flags),
        details=details,
        n_samples=n_samples,
        grid=[] if brief or len(details) >= n_samples else _grid(store, header, details),
        findings={
            figure.code: store.findings(header.id, figure.code, limit=max_findings)
            for figure in ([] if brief else summary.codes[:_MOST_CODES])
        },
        spending=store.judge_spending(header.id) if judged or needs_models(header) else None,
        contested=_contested(store, header),
    )


def cell_of(line: SampleLine) -> tuple[str, str]:
    """Case and variant of a sample."""
    return line.case_id, line.variant


def _lines(store: Store, header: RunHeader, positions: Sequence[int], flags: Sequence[str]) -> list[SampleLine]:
    return [sample_line(sample, flags) for sample, _ in store.samples_at(header.id, positions)]


def _grid(store: Store, header: RunHeader, details: Sequence[SampleDetail]) -> list[SampleDetail]:
    """All samples of the cases that come first in the details, as many as there are details; of several variants."""
    suite = header.description
    if len(suite.variants) < 2:
        return []
    most = max(1, len(details) // (len(suite.variants) * max(1, suite.repeats)))
    cases = list(dict.fromkeys(detail.line.case_id for detail in details))[:most]
    return _Reader(header).worst_first(store.samples(header.id, case_ids=cases)) if cases else []


def _contested(store: Store, header: RunHeader) -> tuple[tuple[str, str], ...]:
    """The contested cases, each with why; none where no expert answered any."""
    if not store.people.labels(suite=header.suite_name):
        return ()
    contested = plugins.find("features", "contested_cases")(store, header)
    return tuple((item.case_id, item.why) for item in contested)


def case_states(store: Store, header: RunHeader) -> dict[tuple[str, str], bool | None]:
    """By case and variant of a suite with expectations, whether it passes over its repeats, as `cases.passed` counts
    it; None where that is undecided. Empty for a suite without."""
    data = RunData(store.columns(header.id), header.description, store.checks(header.id))
    states = [] if data.counted is None else data.counted.state.tolist()
    return {data.cells.name(cell)[:2]: None if state < 0 else bool(state) for cell, state in enumerate(states)}


def _details(store: Store, header: RunHeader, summary: Summary, n_samples: int, max_details: int) -> list[SampleDetail]:
    detail = _Reader(header)
    if n_samples <= max_details:
        return detail.worst_first(store.samples(header.id))
    unread = summary.samples.inconclusive[: max(max_details // _INCONCLUSIVE_SHARE, 1)]
    scored = summary.samples.lowest[: max_details - len(unread)]
    return detail.worst_first(store.samples_at(header.id, [*unread, *scored]))


def _extraction(header: RunHeader) -> Callable[[Sample], Extracted | None]:
    """A function from a sample to what is found in its answer; None for one that has no answer or is not JSON."""
    shape = header.description.answer
    validator = None if shape.schema_data is None else SchemaValidator(shape.schema_data)

    def extracted(sample: Sample) -> Extracted | None:
        text = sample.call_result.text
        if text is None or shape.format == "text" or (sample.step is None and sample.outcome is not Outcome.MALFORMED):
            return None
        return extract_json(text, validator, repair=shape.repair)

    return extracted


def _found_in_text(header: RunHeader) -> Callable[[Sample], Any]:
    """A function from a sample to the JSON that was read out of other text; None when the text was JSON alone."""
    extracted = _extraction(header)

    def read(sample: Sample) -> Any:
        found = None if sample.step in (None, "whole") else extracted(sample)
        return None if found is None else found.value

    return read


class _Reader:
    """Reads the samples of one run as details."""

    def __init__(self, header: RunHeader) -> None:
        self._read, self._judged = _found_in_text(header), judgement_reader(header)
        self._flags = failing_flags(header)

    def worst_first(self, pairs: Iterable[tuple[Sample, Case]]) -> list[SampleDetail]:
        """Inconclusive samples first, so that they are never out of sight, then flagged ones, then the lowest scores.

        What fails comes before what passes, whatever the score.
        """
        details = [
            sample_detail(sample, case, self._read(sample), self._judged(sample, case), self._flags)
            for sample, case in pairs
        ]
        return sorted(details, key=lambda detail: (badness(detail), detail.line.score or 0.0))


# One stored sample with all that is shown of it, in a browser and in a terminal.

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
    found = None if excerpt.cut else _extraction(header)(sample)
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
