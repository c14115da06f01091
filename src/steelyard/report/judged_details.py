"""What a judge said of one sample, as a report shows it, with long texts cut where a person would stop reading."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from steelyard.answer.ladder import climb
from steelyard.records import REMARKS, Ballot, Judgement, Remark, RunHeader, Sample
from steelyard.report.model import BallotDetail, JudgementDetail, Marked
from steelyard.report.safe_text import as_text, clipped, laid_out, shortened
from steelyard.suite.paths import MISSING, compile_path

_LONGEST_TEXT = 20_000
_LONGEST_SAID = 2_000
_LONGEST_RULE = 300
_MOST_BALLOTS = 20
_MOST_FIELDS = 20
_MOST_REMARKS = 30

JudgementReader = Callable[[Sample], JudgementDetail | None]


def judgement_reader(header: RunHeader) -> JudgementReader:
    """A function from a sample of the run to what its judge said; None for samples without a judgement."""
    described = header.suite.get("judge") or {}
    names = _names(described)
    judged_text = _judged_text(str(described.get("of") or ""))

    def read(sample: Sample) -> JudgementDetail | None:
        if sample.judgement is None:
            return None
        text = judged_text(sample)
        return _detail(sample.judgement, names, str(described.get("mode") or ""), text)

    return read


def _names(described: Mapping[str, Any]) -> tuple[str, ...]:
    rubric = described.get("rubric") or {}
    return tuple(str(each["name"]) for kind in ("dimensions", "flags") for each in rubric.get(kind) or ())


def _judged_text(of: str) -> Callable[[Sample], str | None]:
    """From a sample to the part of its answer that was judged; None when that is the whole."""
    if not of:
        return lambda _sample: None
    place = compile_path(of)

    def text(sample: Sample) -> str | None:
        part = place(climb(sample.attempt.text or "", None, repair=True).value)
        if part is MISSING or part is None:
            return None
        return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=2)

    return text


def _detail(judgement: Judgement, names: Sequence[str], main: str, text: str | None) -> JudgementDetail:
    return JudgementDetail(
        mode=judgement.mode.value if judgement.mode else None,
        marks=_marks(judgement, names),
        ballots=tuple(_ballot(ballot, names) for ballot in judgement.ballots[:_MOST_BALLOTS]),
        remarks=_remarks(judgement.remarks),
        told=clipped(judgement.told, _LONGEST_SAID),
        text=None if text is None else shortened(text, _LONGEST_TEXT),
        shortened=any(call.shortened for call in judgement.calls),
        metrics=dict(judgement.metrics) if len(as_text(dict(judgement.metrics))) <= _LONGEST_SAID else None,
        aside=judgement.mode is not None and bool(main) and judgement.mode.value != main,
    )


def _marks(said: Judgement | Ballot, names: Sequence[str]) -> tuple[Marked, ...]:
    known = names or tuple(said.bound)
    return tuple(
        Marked(name, said.raw.get(name), said.bound.get(name), clipped(said.bound_by.get(name, ""), _LONGEST_RULE))
        for name in known
        if name in said.raw or name in said.bound
    )


def _ballot(ballot: Ballot, names: Sequence[str]) -> BallotDetail:
    others = [
        (name, value)
        for name, value in ballot.reply.items()
        if name not in names and value not in (None, "") and not _holds_the_marks(value, names)
    ]
    return BallotDetail(
        member=ballot.member,
        repeat=ballot.repeat,
        mode=ballot.mode.value if ballot.mode else None,
        rung=ballot.rung,
        marks=_marks(ballot, names),
        said=tuple((clipped(name, 100), _said(value)) for name, value in others[:_MOST_FIELDS]),
        remarks=_remarks(ballot.remarks),
        told=clipped(ballot.told, _LONGEST_SAID),
    )


def _holds_the_marks(value: Any, names: Sequence[str]) -> bool:
    """True for the field of an answer that the scores stand in: they are shown as marks already."""
    return isinstance(value, dict) and bool(value) and set(value) <= set(names)


def _said(value: Any) -> str:
    """What a field of the answer holds; a list of texts as lines."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return shortened("\n".join(f"- {each}" for each in value), _LONGEST_SAID)
    return shortened(laid_out(value), _LONGEST_SAID)


def _remarks(remarks: Sequence[Remark]) -> tuple[str, ...]:
    told = [remark_words(remark) for remark in remarks[:_MOST_REMARKS]]
    more = len(remarks) - len(told)
    return (*told, f"{more} more remarks") if more > 0 else tuple(told)


def remark_words(remark: Remark) -> str:
    """A remark as one sentence: `MADE_UP_QUOTE (tone): "it will end well"`."""
    of = f" ({remark.dimension})" if remark.dimension else ""
    return clipped(f"{remark.code}{of}: {remark.told or REMARKS.get(remark.code, '')}", _LONGEST_RULE)
