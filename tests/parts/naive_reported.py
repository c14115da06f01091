"""Every metric that reports have and no gate can name, computed once more: from samples one by one, in plain Python.

`FORMS` has a form for every registered name. A form gives a number, a number with its n, or the list of what a mean is
of.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean

from parts.naive_metrics import Cell, Naive
from steelyard.records import Outcome
from steelyard.suite.case import NONE

FORMS = {}


def form(*patterns):
    def keep(function):
        FORMS.update(dict.fromkeys(patterns, function))
        return function

    return keep


@dataclass
class At:
    """One figure: what fills its angle brackets, its slice and, of an entry of a list, what the report says there."""

    names: dict
    factor: str = ""
    slice: str = ""
    item: object = None

    def name(self, blank):
        return self.names[f"<{blank}>"]


class NaiveReport(Naive):
    """The samples of a whole run; `figure_at` computes one figure of its report."""

    def figure_at(self, pattern, at):
        """Value and, where its form says so, n."""
        result = FORMS[pattern](self, at, pattern)
        if isinstance(result, list):
            return (fmean(result) if result else None), len(result)
        return result if isinstance(result, tuple) else (result, None)

    def part(self, at):
        if not at.factor:
            return self.samples
        if at.factor == "tag":
            return [each for each in self.samples if at.slice in each.tags]
        return [each for each in self.samples if named(getattr(each, at.factor)) == at.slice]

    def loud(self):
        return [each for each in self.samples if not self.silent(each)]

    def cells(self, samples=None):
        found = defaultdict(list)
        for sample in self.samples if samples is None else samples:
            found[sample.case_id, sample.variant].append(sample)
        return {key: Cell(each, self) for key, each in found.items()}

    @property
    def never(self):
        """Cells that were planned and of which nothing came."""
        return self.suite["n_planned"] // self.suite["repeats"] - len(self.cells())

    def cell_at(self, at):
        row = next(each for each in at.path if "case_id" in each)
        return self.cells()[row["case_id"], row["variant"]]

    def score(self, sample):
        return None if self.silent(sample) else 0.0 if sample.outcome is Outcome.MALFORMED else sample.score

    def weights(self, sample):
        """By component, its part of the weights that the sample was scored with."""
        total = sum(self.components[each.name]["weight"] for each in sample.scores if each.value is not None)
        return {name: each["weight"] / total if total else 0.0 for name, each in self.components.items()}

    def counts_in_score(self, sample, finding):
        """Whether a finding is of an answer that could not be read, or of a component with weight."""
        return sample.outcome is Outcome.MALFORMED or self.components[finding.component]["weight"] > 0

    def fixed(self, sample, code):
        mine = [each for each in sample.findings if each.code == code]
        if sample.outcome is Outcome.MALFORMED:
            return 1.0 if mine else 0.0
        part = self.weights(sample)
        return min(1.0, sample.score + sum(each.gain * part[each.component] for each in mine))

    @staticmethod
    def report_claims(at):
        """The figures of all claims, or of one kind: the bounds of buckets and bins stand in them."""
        return next(each for each in reversed(at.path) if "buckets" in each)

    def scored(self):
        return [each for each in self.samples if self.score(each) is not None]

    def not_passed(self, *codes):
        failing = [each for each in self.loud() if each.outcome is Outcome.MALFORMED or each.passed is False]
        return [each for each in failing if not codes or any(one.code in codes for one in each.findings)]


def named(value):
    return NONE if value is None else value


@form("samples")
def _(run, at, pattern):
    return len(run.samples), len(run.samples)


@form("outcomes.<outcome>", "outcomes.excluded", "outcomes.planned")
def _(run, at, pattern):
    mine = run.part(at)
    if pattern.endswith("planned"):
        planned = len(mine) + (0 if at.factor else run.absent)
        return planned, planned
    if pattern.endswith("excluded"):
        return sum(each.outcome is Outcome.SCORED and each.mode != run.mode for each in mine if run.mode), len(mine)
    return sum(each.outcome == at.name("outcome") for each in mine), len(mine)


@form("first_failures.<kind>", *(f"reused.{name}" for name in ("cached", "answers", "provider_cached")))
def _(run, at, pattern):
    answered = sum(each.outcome is not Outcome.TARGET_FAILED for each in run.samples)
    calls = [each.call_result for each in run.samples]
    if pattern == "reused.answers":
        return answered, answered
    if pattern == "reused.cached":
        unanswered = sum(each.call_result.cached for each in run.samples if each.outcome is Outcome.TARGET_FAILED)
        return sum(call.cached for call in calls), answered + unanswered
    if pattern == "reused.provider_cached":
        return sum(call.provider_cached and not call.cached for call in calls), answered
    failed = [call for call in calls if call.tries > 1 or (call.tries and call.failure is not None)]
    kinds = [call.first_failure or (call.failure.kind if call.failure else "unknown") for call in failed]
    return kinds.count(at.name("kind")), sum(call.tries > 0 for call in calls)


@form("reused.copied", "reused.copied_cells")
def _(run, at, pattern):
    """The same text and response id as an earlier repeat; no run here has answers of a provider's cache."""
    seen, copies = set(), []
    for each in sorted(run.samples, key=lambda sample: sample.repeat):
        call = each.call_result
        key = (each.case_id, each.variant, call.response_id, call.text)
        copies += [key[:2]] if call.response_id is not None and key in seen else []
        seen.add(key)
    return len(copies if pattern == "reused.copied" else set(copies))


@form("failures.<kind>", "steps.<step>")
def _(run, at, pattern):
    if pattern == "steps.<step>":
        return sum(each.step == at.name("step") for each in run.samples), len(run.samples)
    failures = [each.call_result.failure for each in run.samples]
    return sum(each is not None and each.kind == at.name("kind") for each in failures), len(failures)


@form("if_fixed.<code>")
def _(run, at, pattern):
    return [run.fixed(each, at.name("code")) for each in run.scored()]


@form("gain.<code>")
def _(run, at, pattern):
    name = at.name("code")
    samples = run.scored()
    if name not in run.components:
        return [run.fixed(each, name) - run.score(each) for each in samples]
    low, high = run.components[name]["scale"]
    lacks = [
        run.weights(each)[name] * (high - one.value) / (high - low)
        for each in samples
        for one in each.scores
        if one.name == name and one.value is not None
    ]
    return sum(lacks) / len(samples), len(samples)


@form("findings.<code>.without")
def _(run, at, pattern):
    return [float(all(one.code != at.name("code") for one in each.findings)) for each in run.loud()]


@form("failing.samples", "failing.grave", "failing.<code>.samples")
def _(run, at, pattern):
    grave = {each["code"] for each in run.suite["taxonomy"] if each["severity"] in ("critical", "major")}
    weighed = {one.code for each in run.loud() for one in each.findings if run.counts_in_score(each, one)}
    codes = {"failing.samples": (), "failing.grave": grave - weighed}
    known = [each for each in run.loud() if each.outcome is Outcome.MALFORMED or each.passed is not None]
    return len(run.not_passed(*(codes[pattern] if pattern in codes else [at.name("code")]))), len(known)


@form("confusion.<n>", "confusion.<n>.samples")
def _(run, at, pattern):
    row = (at.item.code, at.item.expected, at.item.got)
    found = [[(one.code, str(one.expected), str(one.got)) for one in each.findings].count(row) for each in run.loud()]
    return (sum(map(bool, found)) if pattern.endswith("samples") else sum(found)), len(found)


@form("section.<section>", "section.<section>.samples", "section.<section>.<code>")
def _(run, at, pattern):
    code = at.name("code") if pattern.endswith("<code>") else None
    found = [
        sum(one.section == at.name("section") and code in (None, one.code) for one in each.findings)
        for each in run.loud()
    ]
    return (sum(map(bool, found)) if pattern.endswith("samples") else sum(found)), len(found)


def groups(run, factor):
    found = defaultdict(list)
    for sample in run.samples:
        for name in sample.tags if factor == "tag" else [named(getattr(sample, factor))]:
            found[name].append(sample)
    return found


def below(run, name):
    """Whether a component lies below one half in an answer that could be read; None where it was not scored."""
    low, high = run.components[name]["scale"]

    def wrong(sample):
        value = next((each.value for each in sample.scores if each.name == name), None)
        return None if value is None or run.silent(sample) else (value - low) / (high - low) < 0.5

    return wrong


def has(run, code):
    return lambda sample: None if run.silent(sample) else any(each.code == code for each in sample.findings)


def not_passing(run, sample):
    known = not run.silent(sample) and (sample.outcome is Outcome.MALFORMED or sample.passed is not None)
    return (not sample.passed) if known else None


def all_patterns(run):
    """By the words before the numbers, the samples in which it could be seen, and those in which it was."""
    own = {each["code"] for each in run.components.values() if each.get("kind") != "flag"}
    codes = sorted({one.code for each in run.loud() for one in each.findings} - own)
    troubles = [(f"{name} below 50 %", below(run, name)) for name in run.components]
    troubles += [(code, has(run, code)) for code in codes]
    looked = [
        (f"{what} {words} {group} (", wrong, mine)
        for what, wrong in troubles
        for words, factor in (("in", "category"), ("with tag", "tag"))
        for group, mine in groups(run, factor).items()
        if factor != "tag" or len(mine) < len(run.samples)
    ]
    looked += [
        (f"{factor} {group}: ", lambda sample: not_passing(run, sample), mine)
        for factor in ("difficulty", "variant", "tag")
        for group, mine in groups(run, factor).items()
        if len(mine) < len(run.samples)
    ]
    found = {}
    for words, wrong, mine in looked:
        seen = [each for each in mine if wrong(each) is not None]
        bad = [each for each in seen if wrong(each)]
        if len({each.case_id for each in bad}) > 1:
            found[words] = seen, bad
    return found


@form("patterns", "pattern.<n>", "pattern.<n>.cases", "pattern.<n>.n")
def _(run, at, pattern):
    found = all_patterns(run)
    if pattern == "patterns":
        return len(found), len(run.loud())
    seen, bad = next(each for words, each in found.items() if at.item.sentence.startswith(words))
    cases = len({each.case_id for each in bad})
    return {"cases": (cases, cases), "n": (len(seen), len(seen))}.get(pattern.rpartition(".")[2], (len(bad), len(seen)))


@form("labels.texts", "labels.otherwise", "pass_rate.labels", "pass_rate.sensitivity", "pass_rate.specificity")
def _(run, at, pattern):
    """Labels are people's alone, given for the very text."""
    judged = [each for each in run.loud() if each.outcome is Outcome.SCORED and each.passed is not None]
    labelled = [(each, run.labels.get((each.case_id, each.variant, each.repeat))) for each in judged]
    labelled = [(each, passes) for each, passes in labelled if passes is not None]
    if pattern.startswith("labels."):
        return (len(labelled) if pattern == "labels.texts" else 0), len(judged)
    if pattern == "pass_rate.labels":
        return [float(passes) for _, passes in labelled]
    wanted = pattern == "pass_rate.sensitivity"
    return [float(each.passed is wanted) for each, passes in labelled if passes is wanted]


@form("mode.<mode>.average", "mode.<mode>.n", "mode.<mode>.dimension.<dimension>")
def _(run, at, pattern):
    mine = [each for each in run.samples if each.outcome is Outcome.SCORED and each.mode == at.name("mode")]
    if pattern.endswith("<dimension>"):
        values = [one.value for each in mine for one in each.scores if one.name == at.name("dimension")]
        return [value for value in values if value is not None]
    return (len(mine), len(run.samples)) if pattern.endswith(".n") else [each.score for each in mine]


def judgements(run):
    return [each.judgement for each in run.samples if each.judgement is not None]


def alike(text):
    """A reason without what differs from call to call."""
    return [word for word in text.replace(":", " ").split() if not re.search(r"\d", word.removeprefix("http_"))]


def why_silent(judgement):
    vote = next(iter(judgement.votes), None)
    return judgement.message if vote is None else f"judge {vote.member}: {vote.message.partition(';')[0]}"


@form("inconclusive.<n>")
def _(run, at, _):
    reasons = [why_silent(each) for each in judgements(run) if each.mode is None]
    failures = [each.call_result.failure for each in run.samples]
    reasons += [f"target: {each.kind} {each.message}" for each in failures if each is not None]
    n = sum(alike(each) == alike(at.item) for each in reasons)
    return n, n


@form("failure_causes.<n>")
def _(run, at, _):
    reason = f"{at.item.kind} {at.item.code} {at.item.message}"
    failures = [each.call_result.failure for each in run.samples]
    return sum(alike(f"{each.kind} {each.message}") == alike(reason) for each in failures if each is not None)


@form(*(f"case.<case>.repeat.<repeat>.{what}" for what in ("score", "latency")))
def _(run, at, pattern):
    mine = [each for each in run.part(at) if each.case_id == at.name("case")]
    for sample in mine:
        if str(sample.repeat + 1) != at.name("repeat"):
            continue
        if pattern.endswith("latency"):
            return sample.call_result.latency or None
        return 0.0 if sample.outcome is Outcome.MALFORMED else sample.score
    return None
