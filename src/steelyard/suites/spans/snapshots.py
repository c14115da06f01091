"""Snapshots of the seed's tool: camelCase JSON with one result a prompt, older ones with fewer fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from steelyard import Case, RecordedRun, RecordedSample, RunHeader, Sample, Summary, UsageError

from .cross_check import on_scale
from .prompts import metadata, section_of
from .summary import KINDS, PromptResult, differences, rounded, summarise, total_of, wrong_totals
from .taxonomy import categories

_ANSWERED = ("spans", "meta")
"""What the labeller gave; it is kept as its answer, the prompt as the case, all else beside them."""
_PROMPT = "output"
_FAILED, _EXCLUDED, _MALFORMED, _RAW = "Judge failed", "Excluded", "Malformed answer", "rawOutput"
"""How the error of an exported result begins where the labeller answered, and the field of an answer that cannot be
read: all of it comes back when the file is imported again."""
_NO_REPLY = re.compile(
    r"no answer|time[d ]*out|network|connect|socket|fetch failed|rate limit|abort|http", re.IGNORECASE
)
"""What a note on a failed call says when there was no reply; any other is about a reply that could not be used."""
_TOTALS = (5, 25)
"""The lowest and the highest total."""


class Format:
    """Reads and writes snapshots in the seed's shape; whatever is read is written again as it was."""

    def read(self, document: Any) -> RecordedRun:
        """The prompts with their spans and what the judge said; zeros with a "Judge failed" note are a failed call."""
        results = document.get("results") if isinstance(document, dict) else None
        if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
            raise UsageError("it has no list of results")
        stored = document.get("summary")
        then = [evaluated(result) for result in results]
        names = [_name(result, at) for at, result in enumerate(results)]
        problems = tuple(wrong_totals(zip(names, then, strict=True)))
        if isinstance(stored, dict):
            problems += tuple(differences(stored, summarise(then), then))
        return RecordedRun(
            samples=_samples(results),
            created_at=_moment(document.get("timestamp")),
            judge=str(document.get("judgeModel") or ""),
            target=_pipeline(results),
            stored=_fields_not_stored(document, ["results"]),
            differences=problems,
        )

    def write(
        self,
        header: RunHeader,
        summary: Summary,  # noqa: ARG002 - these snapshots sum up what was checked, and nothing else
        samples: Iterable[tuple[Sample, Case]],
    ) -> dict[str, Any]:
        """The run as such a snapshot: as it was when it was imported, else with a summary of what was checked."""
        if (original := header.options.original) is not None:
            results = [_result_then(sample, case, original.samples[sample.position or 0]) for sample, case in samples]
            fields = {**original.document["fields"], "results": results}
            return {name: fields[name] for name in original.document["names"]}
        judge = header.description.judge
        mode = None if judge is None else judge.mode
        written = [_result(sample, case, mode) for sample, case in samples]
        members = [member.model or member.name for member in judge.members] if judge else []
        return {
            "timestamp": datetime.fromtimestamp(header.created_at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "promptCount": len(written),
            "sourceFile": header.suite_name,
            "judgeModel": ", ".join(members),
            "results": [result for result, _ in written],
            "summary": summarise([entry for _, entry in written]),
        }


def _samples(results: Sequence[dict[str, Any]]) -> list[RecordedSample]:
    prompts: dict[str, str] = {}
    samples = []
    for at, result in enumerate(results):
        prompt = _prompt(result)
        name = _name(result, at)
        # The same prompt again is a repeat; another one under the same name is another case.
        case_id, n = name, 2
        while prompts.setdefault(case_id, prompt) != prompt:
            case_id, n = f"{name}#{n}", n + 1
        samples.append(_sample(result, Case(case_id, {"text": prompt})))
    return samples


def _holds_spans(result: Mapping[str, Any]) -> bool:
    """Whether the spans were kept; a list that is empty though some were counted does not hold them."""
    spans = result.get("spans")
    return isinstance(spans, list) and bool(spans or not result.get("spanCount"))


def _name(result: Mapping[str, Any], at: int) -> str:
    return str(result.get("promptId") or f"prompt-{at + 1}")


def _sample(result: dict[str, Any], case: Case) -> RecordedSample:
    judged, latency, error = _judged(result), result.get("latencyMs"), result.get("error")
    kind, _, said = error.partition(": ") if isinstance(error, str) else ("", "", "")
    if kind in (_FAILED, _EXCLUDED, _MALFORMED):
        error = None  # the labeller answered
    why_failed = (
        said or "no reason is recorded" if kind == _FAILED else "" if kind == _MALFORMED else _judge_failure(judged)
    )
    if isinstance(raw := result.get(_RAW), str) and kind == _MALFORMED:
        return RecordedSample(case, raw, latency=_seconds(latency), stored=_fields_not_stored(result, [_PROMPT]))
    answered = error is None and _holds_spans(result)
    # Of a record without the five scores, its total is all there is.
    total = None if why_failed or error is not None or judged.get("scores") else total_of(judged)
    answer = {name: result[name] for name in _ANSWERED if name in result}
    return RecordedSample(
        case=case,
        answer=json.dumps(answer, ensure_ascii=False) if answered else None,
        # A record without spans may still hold what they were worth.
        failure="" if answered or (error is None and not why_failed) else str(error or "no spans were recorded"),
        latency=_seconds(latency),
        response=None if why_failed else judged,
        judge_failure=why_failed,
        unanswered=_NO_REPLY.search(why_failed) is not None,
        score=None if total is None else (total - _TOTALS[0]) / (_TOTALS[1] - _TOTALS[0]),
        stored=_fields_not_stored(result, [_PROMPT, *_ANSWERED] if answered else [_PROMPT]),
    )


def _seconds(latency: Any) -> float | None:
    return latency / 1000 if isinstance(latency, (int, float)) else None


def _fields_not_stored(result: Mapping[str, Any], elsewhere: Sequence[str]) -> dict[str, Any]:
    """The names of all fields, and those fields that are kept nowhere else."""
    # A prompt that is no text is no prompt, and stays where it was.
    moved = [name for name in elsewhere if name != _PROMPT or isinstance(result.get(name), str)]
    return {"names": list(result), "fields": {name: value for name, value in result.items() if name not in moved}}


def _result_then(sample: Sample, case: Case, original: Mapping[str, Any]) -> dict[str, Any]:
    """The result as it was read."""
    answer = {} if sample.call_result.text is None else json.loads(sample.call_result.text)
    fields = {_PROMPT: case.input["text"], **answer, **original["fields"]}
    return {name: fields[name] for name in original["names"]}


def _result(sample: Sample, case: Case, mode: str | None) -> tuple[dict[str, Any], PromptResult]:
    """A sample of our own as a result of the seed's tool, and the same for the summary.

    What is in no figure of the report has an error that says so, and is in no figure of the summary.
    """
    prompt = case.input["text"]
    spans, meta = _answer(sample.call_result.text)
    about = metadata(prompt, spans)
    tagged = [{**span, "section": section_of(span, about["sections"])} for span in spans]
    failure, response = sample.call_result.failure, _reply(sample)
    latency = round(sample.call_result.latency * 1000)
    message, judged = None if failure is None else f"{failure.kind}: {failure.message}", sample.judgement
    why = next((finding.evidence for finding in sample.findings if finding.evidence), "there is no judgement")
    if message is None and sample.outcome == "malformed":
        message = f"{_MALFORMED}: {why}"
    elif message is None and (judged is None or judged.mode is None):
        votes = judged.votes if judged is not None else ()
        said = votes[0].message if len(votes) == 1 else judged.message if judged is not None else ""
        answered = any(remark.code == "VIOLATION" for vote in votes for remark in vote.remarks)
        message = f"{_FAILED}: {'' if answered else 'no answer: '}{said or why}"
    elif message is None and judged is not None and judged.mode != mode:
        message = f"{_EXCLUDED}: judged by {judged.mode}, the run by {mode}"
    result = {
        "promptId": case.id,
        _PROMPT: prompt,
        "spanCount": len(spans),
        "spans": tagged,
        "meta": meta,
        "judgeResult": response,
        "error": message,
        "latencyMs": latency,
        "sections": about["sections"],
        "metadata": about,
    }
    if sample.outcome == "malformed":
        result[_RAW] = sample.call_result.text
    stated = None if message else response
    return result, PromptResult(prompt, tagged, stated, message is not None, latency, meta, about["sections"])


def _answer(text: str | None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    try:
        answer = json.loads(text or "{}")
    except ValueError:
        return [], {}
    spans = answer.get("spans") if isinstance(answer, dict) else None
    meta = answer.get("meta") if isinstance(answer, dict) else None
    listed = [span for span in spans if isinstance(span, dict)] if isinstance(spans, list) else []
    return listed, meta if isinstance(meta, dict) else {}


def _reply(sample: Sample) -> dict[str, Any] | None:
    """What the judge said and what bears checking, with the scores as they count; None when it came to nothing."""
    judgement = sample.judgement
    if judgement is None or judgement.mode is None:
        return None
    votes = [vote for vote in judgement.votes if vote.mode is judgement.mode]
    nearest = min(votes, key=lambda vote: sum(abs(vote.capped[name] - judgement.capped[name]) for name in vote.capped))
    scores = dict(judgement.capped)
    # Of a basic reading nothing else was checked.
    believed = ("notes",) if judgement.mode == "basic" else nearest.response
    response = {name: nearest.response[name] for name in believed if name in nearest.response}
    given = response.get("categoryScores")
    by_category = given if isinstance(given, dict) else {}
    response["categoryScores"] = {name: _scored(by_category.get(name)) for name in categories()}
    return {**response, "scores": scores, "totalScore": rounded(sum(scores.values()))}


def _scored(category: Any) -> dict[str, float | None]:
    """Coverage and precision of a category, null where they are not known."""
    given = category if isinstance(category, dict) else {}
    return {kind: given[kind] if on_scale(given.get(kind)) else None for kind in KINDS}


def evaluated(result: Mapping[str, Any]) -> PromptResult:
    """A result as it stands in a snapshot: what the judge said is taken as it is, to redo the seed's own sums."""
    judged, spans, sections = _judged(result), result.get("spans"), result.get("sections")
    latency, count = result.get("latencyMs"), result.get("spanCount")
    failed = bool(result.get("error")) or bool(_judge_failure(judged))
    listed = [span for span in spans if isinstance(span, dict)] if isinstance(spans, list) else []
    prompt = _prompt(result)
    return PromptResult(
        prompt=prompt,
        spans=listed,
        response=None if failed else judged,
        failed=failed,
        latency=latency if isinstance(latency, (int, float)) else None,
        meta=result["meta"] if isinstance(result.get("meta"), dict) else {},
        sections=sections if isinstance(sections, dict) else metadata(prompt, listed)["sections"],
        span_count=count if isinstance(count, int) and not _holds_spans(result) else None,
    )


def _prompt(result: Mapping[str, Any]) -> str:
    return next((text for name in (_PROMPT, "input") if isinstance(text := result.get(name), str)), "")


def _judged(result: Mapping[str, Any]) -> Any:
    """What the judge said; of a record that holds no more than a total, that total."""
    total = result.get("totalScore", result.get("score"))
    return {"totalScore": total} if "judgeResult" not in result and total is not None else result.get("judgeResult")


def _judge_failure(judged: Any) -> str:
    """Why a judge's result is none; "" when it is one. All zeros are what the seed's tool writes for a failed call."""
    if not isinstance(judged, dict):
        return "no judgement was recorded"
    total = total_of(judged)
    if not judged.get("scores") and (total is None or not _TOTALS[0] <= total <= _TOTALS[1]):
        return f"a total of {total!r} is not from 5 to 25" if total is not None else "no scores were recorded"
    notes = judged.get("notes")
    scores = judged.get("scores")
    numbers = list(scores.values()) if isinstance(scores, dict) else []
    if isinstance(notes, str) and notes.strip().lower().startswith(_FAILED.lower()) and not any(numbers):
        return notes.strip()
    return "all scores are 0, which is not on the scale" if numbers and not any(numbers) else ""


def _moment(timestamp: Any) -> float | None:
    """When it was written; None for a snapshot that does not say."""
    try:
        moment = datetime.fromisoformat(str(timestamp).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _pipeline(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Which labeller gave the spans, as far as the results say."""
    metas = [meta for result in results if isinstance(meta := result.get("meta"), dict)]
    versions = {name: sorted({str(meta[name]) for meta in metas if meta.get(name)}) for name in ("source", "version")}
    return {name: ", ".join(values) for name, values in versions.items() if values}
