"""What every view says in words: the headline, what kind of run this was, and what it was scored with."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from steelyard.analysis.model import SampleLine
from steelyard.decide.disclosures import Disclosed, disclosures
from steelyard.decide.gates import GateResult
from steelyard.decide.verdict import NOT_FINISHED
from steelyard.records import Load, Outcome, RunHeader, RunState, Verdict
from steelyard.report import format as fmt
from steelyard.report.format import clipped
from steelyard.report.judge.run import corrected_rate, excluded_sentence, mode_sentence
from steelyard.report.model import Report, SampleDetail
from steelyard.report.verdicts import NO_VERDICT
from steelyard.store.base import SampleFinding
from steelyard.store.headers import is_partial, missing_repeats
from steelyard.suite.case import cell_name
from steelyard.suite.ledger import stored_lines, worth
from steelyard.suite.values import load_in_words, sample_in_words
from steelyard.suite.yaml import listed

_KINDS = "what failed: "
_LONGEST_REASON = 240
_MOST_FAILING = 12
_CONCLUSIVE = (Outcome.SCORED, Outcome.MALFORMED)

VERDICT_MEANINGS = {
    Verdict.PASS: "every {gate} passes",
    Verdict.FAIL: "at least one {gate} fails",
    Verdict.AMBIGUOUS: "this run cannot tell",
    Verdict.INVALID: "no valid result: neither pass nor fail",
    None: "the suite declares no gates",
}


def verdict_word(report: Report) -> str:
    """PASS, FAIL, AMBIGUOUS, INVALID, or NO VERDICT."""
    return report.decision.verdict.value if report.decision.verdict else NO_VERDICT


def verdict_title(report: Report) -> str:
    """The verdict, and whether it is that of a part of the suite."""
    return "; ".join(filter(None, [verdict_word(report), _part(report), _without(report)]))


def verdict_meaning(report: Report) -> str:
    """What the verdict says, in a few words: why the run is suspect first, whether of a part of the suite last."""
    suspect = [f"SUSPECT: {text.partition(';')[0]}" for text in report.header.suspect[:1]]
    return "; ".join(filter(None, [*suspect, bare_meaning(report), _part(report), _without(report)]))


def bare_meaning(report: Report) -> str:
    """What the verdict says, in a few words."""
    deciding = [gate for gate in report.decision.gates if not gate.secondary]
    if report.decision.verdict is None and report.decision.gates and not deciding:
        return "all criteria are secondary, so none decides"
    if report.decision.verdict is Verdict.AMBIGUOUS and any(item.name for item in deciding):
        return "neither pass nor fail"
    kinds = {"criterion" if item.name else "gate" for item in deciding} or {"gate"}
    # A criterion that decides nothing may fail beside a PASS.
    extra = [gate for gate in report.decision.gates if gate.secondary and not gate.left_out]
    others = any(item.verdict is not Verdict.PASS for item in extra)
    gate = " and ".join(sorted(kinds, reverse=True)) + (" that decides" if others else "")
    meaning = VERDICT_MEANINGS[report.decision.verdict].format(gate=gate)
    left_out = sum(gate.left_out for gate in report.decision.gates)
    return f"{meaning}, {left_out} left out" if left_out and report.decision.verdict is Verdict.PASS else meaning


def suspect_first(report: Report) -> list[str]:
    """Why the run is suspect, then why the verdict is what it is."""
    return [*(f"suspect: {text}" for text in report.header.suspect), *reasons(report)]


def reasons(report: Report) -> list[str]:
    """Why the verdict is what it is, without what its meaning and the warnings already say."""
    texts = {bare_meaning(report), *(f"suspect: {warning}" for warning in report.header.suspect)}
    return [reason for reason in all_reasons(report) if reason not in texts]


def all_reasons(report: Report) -> list[str]:
    """Every reason of the verdict, and why most samples without a reading have none where that is many."""
    why, stopped = commonest_failure(report), report.header.options.stopped
    # What stopped a run that has not finished: an outage, or its spending limit.
    results = [
        f"{NOT_FINISHED}: {stopped}" if stopped and text.startswith(NOT_FINISHED) else text
        for text in report.decision.reasons
    ]
    if report.summary.failure_causes:
        # The verdict knows only the kinds; here the codes and messages are known, too.
        named = f"{_KINDS}{causes_in_words(report)}"
        results = [named if reason.startswith(_KINDS) else reason for reason in results]
    if not why:
        return results
    # What failed is then said in full.
    if len(report.summary.why_inconclusive) == 1:
        results = [reason for reason in results if not reason.startswith(_KINDS)]
    at = len(results)
    if report.decision.verdict is Verdict.INVALID:
        at = 1 + next((n for n, text in enumerate(results) if not text.startswith("suspect: ")), 0)
    return [*results[:at], why, *results[at:]]


def commonest_failure(report: Report) -> str:
    """`9 of 9: judge good: http_401 Incorrect API key provided` where too many samples are inconclusive or excluded,
    and of several causes each with its count; else ""."""
    overall = report.summary.overall
    failed = sum(n for outcome, n in overall.outcomes.items() if outcome not in _CONCLUSIVE) + overall.count(
        "outcomes.excluded"
    )
    planned = max(overall.n_planned, report.n_samples)
    allowed = report.header.description.limits.max_inconclusive
    causes = Counter(report.summary.why_inconclusive)
    if overall.count("outcomes.excluded") and report.summary.judge is not None:
        from steelyard.analysis.judge.reasons import ONLY_SCORES

        why = report.summary.judge.why_excluded
        causes.update({f"excluded: {text.removeprefix(f'{ONLY_SCORES}: ')}": n for text, n in why.items()})
    if not causes or failed <= allowed * planned + 1e-9:
        return ""
    imported = report.header.options.imported
    if imported is not None and imported.tool and imported.notes:
        # Of another tool's run it says more what its errors do to its figure.
        return imported.notes[0]
    reason, count = causes.most_common(1)[0]
    samples = "" if failed == planned else " samples"
    if len(causes) == 1:
        return f"{count:,} of {planned:,}{samples}: {clipped(reason, _LONGEST_REASON)}"
    return f"{failed:,} of {planned:,}{samples}: {fmt.causes(dict(causes.most_common()))}"


def causes_in_words(report: Report) -> str:
    """`MODEL_FAILURE: model 'm' not found (12), http_500 out of memory (2)`: why calls failed, with counts."""
    return fmt.causes({str(cause): cause.count for cause in report.summary.failure_causes})


def badness(detail: SampleDetail) -> int:
    """Where a sample stands among the worst: 0 without a reading, 1 flagged, 2 failed, 3 all others."""
    if detail.line.score is None:
        return 0
    if detail.flagged and not is_excluded(detail):
        return 1
    return 2 if detail.passed is False else 3


def pass_rate(report: Report) -> str:
    """The headline figure: the pass rate with its threshold, interval and n, and beside it the one that labels tell."""
    corrected = corrected_rate(report)
    extra = f"; by the labels {corrected}" if corrected else ""
    limits = limits_of(report, "pass_rate")
    return fmt.pass_rate(report.summary.overall["pass_rate"], report.summary.passing, limits) + extra


def limits_of(report: Report, metric: str) -> list[float]:
    """What gates compare a figure of the whole run with: it is never shown equal to a threshold that it misses."""
    return [gate.threshold for gate in report.decision.gates if gate.metric == metric and not gate.baseline]


def outcome_word(header: RunHeader, outcome: str) -> str:
    """An outcome as people say it: `target failed`; without a judge it is a scorer that failed."""
    if outcome == Outcome.JUDGE_FAILED and header.description.judge is None:
        return "scorer failed"
    return outcome.replace("_", " ")


def is_conclusive(line: SampleLine) -> bool:
    """True when the sample says something about the system."""
    return line.outcome in _CONCLUSIVE


def gate_name(gate: GateResult) -> str:
    """A gate as it was written, with the slice it was evaluated on in the place of a `*`; a criterion by its name."""
    if gate.name:
        return f"{gate.name}: {gate.gate}"
    written, _, rest = gate.gate.partition(" ")
    # What it skips is said once, among the reasons.
    return f"{gate.metric} {rest.removesuffix(' skip small')}" if "*" in written and rest else gate.gate


def sample_name(line: SampleLine | SampleFinding, *, repeats: int = 1) -> str:
    """The name of a sample, or of the one a finding is in: the case, with variant and repeat where there are more."""
    name = cell_name(line.case_id, line.variant)
    return f"{name} #{line.repeat + 1}" if repeats > 1 or line.repeat > 0 else name


def anchor(line: SampleLine | SampleFinding) -> str:
    """The id of a sample in a page."""
    name = "\0".join([line.case_id, line.variant, str(line.repeat)])
    return f"sample-{sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"


def signature_line(header: RunHeader) -> str:
    """Everything that could change the numbers, in one line."""
    signed = header.signature
    return signed.text or " ".join(f"{key}:{value}" for key, value in signed.to_data().items())


def outcomes_sentence(report: Report) -> str:
    """How the samples ended: `49 of 50 samples: 47 scored, 1 malformed, 1 target failed, 1 missing`."""
    counts = report.summary.overall.outcomes
    available = [outcome.value for outcome in Outcome]
    names = [*available, *(name for name in counts if name not in available)]
    parts = [f"{counts[name]:,} {outcome_word(report.header, name)}" for name in names if counts.get(name)]
    planned = max(report.summary.overall.n_planned, report.n_samples)
    total = fmt.counted(planned, "sample")
    if planned > report.n_samples:
        total = f"{report.n_samples:,} of {total}"
        parts.append(f"{planned - report.n_samples:,} missing")
    excluded = report.summary.overall.count("outcomes.excluded")
    message = f" ({excluded:,} of the scored excluded)" if excluded else ""
    return f"{total}: {', '.join(parts)}{message}" if parts else total


def notes(report: Report) -> list[str]:
    """What a reader must know before reading a figure: partial, unfinished, strict, repeats."""
    header, part = report.header, _part(report)
    options = header.options
    chosen = [f"only {', '.join(options.only)}"] if options.only else []
    chosen += [sample_in_words(options.sample)] if options.sample is not None else []
    chosen += [f"limit {options.limit}"] if options.limit is not None else []
    tool = options.imported.tool if options.imported is not None else ""
    results = [
        tool and f"scored by {tool}, not by Steelyard: its scores as they are, and no pass rule, gate or band of ours",
        *(options.imported.notes if options.imported is not None and tool else ()),
        f"{part} ({', '.join(chosen)})" if part and chosen else part,
        _unfinished(report),
        "strict: scored by the strict rules" if options.strict else "",
        f"{report.summary.repeats} repeats of each case" if report.summary.repeats > 1 else "",
        _load(options.load),
        mode_sentence(report),
        excluded_sentence(report),
        contested_sentence(report),
        worth([line.suggestion for line in stored_lines(header.description.ledger) if line.suggestion])[1],
    ]
    return [note for note in results if note]


def disclosed(report: Report) -> list[Disclosed]:
    """What was cached, repeated, retried or edited on the way to the verdict."""
    return disclosures(report.header, report.summary, report.decision.gates)


def disclosed_texts(report: Report) -> list[str]:
    """The same as sentences alone."""
    return [item.text for item in disclosed(report)]


def contested_sentence(report: Report) -> str:
    """How many cases experts contest, and which; "" for none."""
    cases = [case_id for case_id, _ in report.contested]
    verb = "case is" if len(cases) == 1 else "cases are"
    return f"{len(cases):,} {verb} contested by experts: {listed(cases)}" if cases else ""


def _without(report: Report) -> str:
    """What gates were evaluated without; "" where they stand on all cases."""
    left_out = report.without_contested
    if left_out is None:
        return ""
    n, samples = len(left_out.cases), left_out.n_samples
    if not n:
        return "no case is contested, none left out"
    some = fmt.counted(n, "contested case")
    verdict = left_out.with_all.verdict
    both = f"with them {verdict.value if verdict else NO_VERDICT}, pass rate {fmt.with_base(left_out.pass_rate)}"
    return f"without {some} ({fmt.counted(samples, 'sample')}): {listed(left_out.cases)}; {both}"


def _part(report: Report) -> str:
    """How many cases and repeats a run of a part of the suite has, or whose cases; "" of any other."""
    header = report.header
    if not is_partial(header):
        return ""
    variants = report.summary.slices.get("variant") or header.description.variant_names
    planned, per_case = header.n_planned or report.n_samples, len(variants) * max(report.summary.repeats, 1)
    scored, available = None if planned % per_case else planned // per_case, header.description.n_cases
    parts = []
    options = header.options
    if (options.only or options.limit is not None or options.sample is not None) and scored is not None:
        if available is None:
            parts.append(fmt.counted(scored, "case"))
        elif scored < available:
            parts.append(f"{scored:,} of {fmt.counted(available, 'case')}")
    if other := header.options.other_cases:
        parts.append(f"the cases of {other} instead of the suite's own")
    if missing := missing_repeats(header):
        made = header.description.repeats
        parts.append(f"{made:,} of {fmt.counted(made + missing, 'repeat')}")
    return ": ".join(filter(None, ("partial", ", ".join(parts))))


def resume_command(header: RunHeader) -> str:
    """The command that goes on with a run that has not ended."""
    return f"steelyard run {header.suite_path or header.suite_name} --resume {header.id}"


def rescore_command(header: RunHeader, *, judge_again: bool = False) -> str:
    """The command that scores the answers of a run again, by its suite as it is now."""
    again = " --judge-again" if judge_again else ""
    return f"steelyard rescore {header.id}" + (f" --suite {header.suite_path}" if header.suite_path else "") + again


def _unfinished(report: Report) -> str:
    header = report.header
    if header.state is RunState.ENDED:
        return ""
    done = f"{report.n_samples:,} of {fmt.counted(header.n_planned, 'planned sample')}"
    if header.state is RunState.INTERRUPTED:
        return f"interrupted: {done}; resume with {resume_command(header)}"
    return (
        f"still running, or killed: {done} so far; if it is not running any more, resume with run --resume {header.id}"
    )


def _load(load: Load | None) -> str:
    """How the calls were made, where that was not the usual way: at a rate, or after a warm-up."""
    if load is None:
        return ""
    text = [f"open load: {load_in_words(load)}"] if load.rate else []
    if load.held_up:
        text.append(f"{fmt.counted(load.held_up, 'call')} had to wait for one of the {load.concurrency:,} under way")
    if load.warm_up:
        failed = f", {load.warm_up_failed:,} of which failed" if load.warm_up_failed else ""
        text.append(f"after {fmt.counted(load.warm_up, 'warm-up call')}{failed}")
    return "; ".join(text)


def times_have_a_part(report: Report) -> bool:
    """True when times have a part of their own: of a suite that looks at repeats or times, under an open load, of
    streamed answers, and where the client was the bottleneck."""
    summary = report.summary
    if summary.latency is None:
        return False
    if summary.latency.bottleneck:
        return True
    limits = report.header.description.latency
    asked = summary.checks is not None or summary.stability is not None
    looked_at = bool(limits.below or limits.above or limits.normal)
    return asked or looked_at or any(name in summary.overall for name in ("first_token.n", "latency.queued.n"))


def not_shown(report: Report) -> str:
    """Says how many samples the list leaves out; empty when it shows all."""
    missing = report.n_samples - len(report.details)
    if missing <= 0:
        return ""
    return (
        f"{len(report.details):,} of {report.n_samples:,} samples are shown, the worst first; {missing:,} are not shown"
    )


def more_findings(detail: SampleDetail, most: int | None = None) -> str:
    """Says how many findings of a sample are not listed when at most `most` are; empty when all are."""
    listed = len(detail.findings) if most is None else min(len(detail.findings), most)
    left_off = max(detail.n_findings or 0, len(detail.findings)) - listed
    return f"{fmt.counted(left_off, 'more finding')} not shown" if left_off > 0 else ""


def status(detail: SampleDetail) -> str:
    """One word for a sample with its details."""
    return status_of(detail.line.outcome, detail.passed, excluded=is_excluded(detail))


def status_of(outcome: str, passed: bool | None, *, excluded: bool = False) -> str:
    """One word for a sample: passed, failed, malformed, inconclusive, or scored when nothing says what passes.

    `excluded` is one that another kind of judge has read than the run's.
    """
    if outcome not in _CONCLUSIVE:
        return "inconclusive"
    if excluded:
        return "excluded"
    if outcome == Outcome.MALFORMED:
        return "malformed"
    return "scored" if passed is None else "passed" if passed else "failed"


def is_excluded(detail: SampleDetail) -> bool:
    """True for a sample that another kind of judge has read than the run's: it is in no figure."""
    return detail.judgement is not None and detail.judgement.excluded


def excluded_text(detail: SampleDetail) -> str:
    """Why a sample is in no figure."""
    why = detail.judgement.exclusion_reason if detail.judgement else ""
    return f"excluded: {why}" if why else "excluded"


def scale_of(header: RunHeader, component: str) -> tuple[float, float]:
    """The declared scale of a component; 0..1 when the suite says nothing else."""
    return next((item.scale for item in header.description.components if item.name == component), (0.0, 1.0))


def failing_sentence(report: Report) -> str:
    """Which grave errors of what has no weight are in the failing samples; "" when there are none.

    `In 14 of 30 failing samples, although they have no weight: DEATH 1, MEDICAL 2`.
    """
    overall = report.summary.overall
    codes = overall.counts("failing.<code>.samples")
    if not codes:
        return ""
    named = [f"{code} {count:,}" for code, count in list(codes.items())[:_MOST_FAILING]]
    left_off = len(codes) - len(named)
    named += [f"and {fmt.counted(left_off, 'more code')}"] if left_off else []
    of = f"{overall.count('failing.grave'):,} of {fmt.counted(overall.count('failing.samples'), 'failing sample')}"
    return f"In {of}, critical or major, although they have no weight in the score: {', '.join(named)}"
