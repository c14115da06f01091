"""Every metric that reports have and no gate can name, computed once more: from samples one by one, in plain Python.

`FORMS` has a form for every registered name. A form gives a number, or the list of what a mean is of.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from itertools import combinations
from statistics import fmean, stdev

from parts.naive_metrics import FAILED, LATENCY, PASSED, STREAMED, Cell, Naive, alike_and_shared, quantile
from steelyard.records import CheckState, Outcome, Vote
from steelyard.stats.arrays import draws
from steelyard.suite.case import NONE

UNUSABLE = {
    "no confidence": lambda stated: stated is None,
    "above 1": lambda stated: stated is not None and stated > 1,
    "below 0": lambda stated: stated is not None and stated < 0,
    "not a number": lambda stated: stated is not None and math.isnan(stated),
}
LEAST_CLAIMS = 10
SUMS = {
    "calls": lambda call: 1,
    "tries": lambda call: call.tries,
    "failed": lambda call: call.failure is not None,
    "cached": lambda call: call.cached,
    "latency": lambda call: call.latency if call.failure is None else 0.0,
    "tokens_in": lambda call: call.tokens_in or 0,
    "tokens_out": lambda call: call.tokens_out or 0,
    "n_tokens": lambda call: call.tokens_in is not None or call.tokens_out is not None,
    "cost": lambda call: call.cost or 0.0,
    "n_cost": lambda call: call.cost is not None,
}
FORMS = {}


def form(*patterns):
    def keep(function):
        FORMS.update(dict.fromkeys(patterns, function))
        return function

    return keep


class NaiveReport(Naive):
    """The samples of a whole run; `figure_at` computes one figure of its report."""

    def figure_at(self, pattern, at):
        """Value and, of a mean, n."""
        result = FORMS[pattern](self, at, pattern)
        if isinstance(result, list):
            return (fmean(result) if result else None), len(result)
        return result, None

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
    return len(run.samples)


@form("<slice>.outcomes.<outcome>", "<slice>.outcomes.excluded", "<slice>.outcomes.planned")
def _(run, at, pattern):
    mine = run.part(at)
    if pattern.endswith("planned"):
        return len(mine) + (0 if at.factor else run.absent)
    if pattern.endswith("excluded"):
        return sum(each.outcome is Outcome.SCORED and each.mode != run.mode for each in mine)
    return sum(each.outcome == at.name("outcome") for each in mine)


@form("first_failures.<kind>", *(f"reused.{name}" for name in ("cached", "answers", "provider_cached")))
def _(run, at, pattern):
    if pattern == "reused.answers":
        return sum(each.outcome is not Outcome.TARGET_FAILED for each in run.samples)
    calls = [each.call_result for each in run.samples]
    if pattern == "reused.cached":
        return sum(call.cached for call in calls)
    if pattern == "reused.provider_cached":
        return sum(call.provider_cached and not call.cached for call in calls)
    failed = [call for call in calls if call.tries > 1 or (call.tries and call.failure is not None)]
    kinds = [call.first_failure or (call.failure.kind if call.failure else "unknown") for call in failed]
    return kinds.count(at.name("kind"))


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
        return sum(each.step == at.name("step") for each in run.samples)
    failures = [each.call_result.failure for each in run.samples]
    return sum(each is not None and each.kind == at.name("kind") for each in failures)


@form(*(f"<slice>.repeated.<rule>.{state}" for state in ("passed", "failed", "undecided")))
def _(run, at, pattern):
    least, most, of = re.fullmatch(r"score >= (\d+) % in >= (\d) of (\d) repeats", at.name("rule")).groups()
    found = Counter()
    for cell in run.cells(run.part(at)).values():
        scores = [score for each in cell.samples if (score := run.score(each)) is not None]
        hits, planned = sum(score >= int(least) / 100 for score in scores), max(cell.planned, int(of))
        # The unknown repeats as failed, and as passed.
        worst, best = (n * int(of) >= planned * int(most) for n in (hits, hits + planned - len(scores)))
        found["passed" if worst and len(scores) >= int(of) else "undecided" if best else "failed"] += 1
    planned = run.suite["n_planned"] // run.suite["repeats"]
    planned = {"": planned, "variant": planned // len(run.suite["variants"])}.get(at.factor, 0)
    found["undecided"] += max(0, planned - found.total())
    return found[pattern.rpartition(".")[2]]


@form("if_fixed.<code>")
def _(run, at, pattern):
    return [run.fixed(each, at.name("code")) for each in run.scored()]


@form("gain.<code>", "gain.<component>")
def _(run, at, pattern):
    name = at.name("code" if pattern == "gain.<code>" else "component")
    samples = run.scored()
    if name not in run.components:
        return fmean(run.fixed(each, name) - run.score(each) for each in samples)
    low, high = run.components[name]["scale"]
    lacks = [
        run.weights(each)[name] * (high - one.value) / (high - low)
        for each in samples
        for one in each.scores
        if one.name == name and one.value is not None
    ]
    return sum(lacks) / len(samples)


@form("findings.<component>.without")
def _(run, at, pattern):
    return [float(all(one.code != at.name("component") for one in each.findings)) for each in run.loud()]


@form("failing.samples", "failing.grave", "failing.<code>.samples")
def _(run, at, pattern):
    codes = {"failing.samples": (), "failing.grave": at.item.get("codes", ())}
    return len(run.not_passed(*(codes[pattern] if pattern in codes else [at.name("code")])))


@form("confusion.<n>", "confusion.<n>.samples")
def _(run, at, pattern):
    row = (at.item["code"], at.item["expected"], at.item["got"])
    found = [[(one.code, one.expected, one.got) for one in each.findings].count(row) for each in run.loud()]
    return sum(map(bool, found)) if pattern.endswith("samples") else sum(found)


@form("section.<section>", "section.<section>.samples", "section.<section>.<code>")
def _(run, at, pattern):
    code = at.name("code") if pattern.endswith("<code>") else None
    found = [
        sum(one.section == at.name("section") and code in (None, one.code) for one in each.findings)
        for each in run.loud()
    ]
    return sum(map(bool, found)) if pattern.endswith("samples") else sum(found)


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
        return len(found)
    seen, bad = next(each for words, each in found.items() if at.item["sentence"].startswith(words))
    return {"cases": len({each.case_id for each in bad}), "n": len(seen)}.get(pattern.rpartition(".")[2], len(bad))


@form("mode.<mode>.average", "mode.<mode>.n", "mode.<mode>.dimension.<dimension>")
def _(run, at, pattern):
    mine = [each for each in run.samples if each.outcome is Outcome.SCORED and each.mode == at.name("mode")]
    if pattern.endswith("<dimension>"):
        values = [one.value for each in mine for one in each.scores if one.name == at.name("dimension")]
        return [value for value in values if value is not None]
    return len(mine) if pattern.endswith(".n") else [each.score for each in mine]


def judgements(run):
    return [each.judgement for each in run.samples if each.judgement is not None]


def votes(run):
    return [vote for each in judgements(run) for vote in each.votes or (Vote("", 0, None, "failed"),)]


def remarked(vote, code):
    return float(any(each.code == code for each in vote.remarks))


def answered(vote):
    return vote.mode is not None or remarked(vote, "VIOLATION")


def alike(text):
    """A reason without what differs from call to call."""
    return [word for word in text.replace(":", " ").split() if not re.search(r"\d", word.removeprefix("http_"))]


def why_silent(judgement):
    vote = next(iter(judgement.votes), None)
    return judgement.message if vote is None else f"judge {vote.member}: {vote.message.partition(';')[0]}"


@form("inconclusive.<n>")
def _(run, at, pattern):
    reason = list(at.item)[int(at.name("n")) - 1]
    reasons = [why_silent(each) for each in judgements(run) if each.mode is None]
    if pattern == "inconclusive.<n>":
        failures = [each.call_result.failure for each in run.samples]
        reasons += [f"target: {each.kind} {each.message}" for each in failures if each is not None]
    return sum(alike(each) == alike(reason) for each in reasons)


@form("failure_causes.<n>")
def _(run, at, _):
    reason = f"{at.item['kind']} {at.item['code']} {at.item['message']}"
    failures = [each.call_result.failure for each in run.samples]
    return sum(alike(f"{each.kind} {each.message}") == alike(reason) for each in failures if each is not None)


def claims(run, at):
    """The claims that count, as (confidence, right, case), and how many of these have no confidence from 0 to 1."""
    label = at.name("label") if "<label>" in at.names else None
    mine = [
        (claim.confidence, claim.right, sample.case_id)
        for sample in run.loud()
        for claim in sample.claims
        if label in (None, claim.label or NONE)
    ]
    usable = [each for each in mine if not any(wrong(each[0]) for wrong in UNUSABLE.values())]
    return usable, len(mine) - len(usable)


def bin_of(stated, n_bins):
    return max(at for at in range(n_bins) if at == 0 or stated >= at / n_bins)


def of_claims(*names):
    return form(*(f"{head}.{name}" for head in ("confidence", "confidence.label.<label>") for name in names))


@of_claims("claims", "missing", "cases", "errors", "error_rate", "brier")
def _(run, at, pattern):
    usable, missing = claims(run, at)
    wrong = [float(not right) for _, right, _ in usable]
    return {
        "claims": len(usable),
        "missing": missing,
        "cases": len({case for _, _, case in usable}),
        "errors": sum(wrong),
        "error_rate": wrong,
        "brier": [(stated - right) ** 2 for stated, right, _ in usable],
    }[pattern.rpartition(".")[2]]


def in_bucket(run, at, bucket):
    surest = max(each["high"] for each in run.report_claims(at)["buckets"])
    return [
        float(not right)
        for stated, right, _ in claims(run, at)[0]
        if bucket["low"] <= stated and (stated < bucket["high"] or bucket["high"] == surest)
    ]


@of_claims("bucket.<name>.errors", "bucket.<name>.error_rate")
def _(run, at, pattern):
    wrong = in_bucket(run, at, at.item)
    return wrong if pattern.endswith("rate") else sum(wrong)


def gaps(usable, n_bins):
    """By bin, how far the confidences are from the number right, and the claims in it."""
    found = [[0.0, 0] for _ in range(n_bins)]
    for stated, right, _ in usable:
        at = bin_of(stated, n_bins)
        found[at] = [found[at][0] + stated - right, found[at][1] + 1]
    return found


@of_claims("ece", "mce", "by_chance", "bin.<n>.right", "bin.<n>.confidence")
def _(run, at, pattern):
    usable, what = claims(run, at)[0], pattern.rpartition(".")[2]
    n_bins = len(run.report_claims(at)["calibration"]["bins"])
    if "bin" in pattern.split("."):
        mine = [each for each in usable if bin_of(each[0], n_bins) == int(at.name("n")) - 1]
        return [float(right) for _, right, _ in mine] if what == "right" else fmean(stated for stated, _, _ in mine)
    whole = gaps(usable, n_bins)
    if what == "ece":
        return sum(abs(gap) for gap, _ in whole) / len(usable)
    if what == "mce":
        return max(abs(gap) / n for gap, n in whole if n >= LEAST_CLAIMS)
    # The same draws of cases; what they do to the gaps is added up here.
    cases = sorted({case for _, _, case in usable})
    by_case = [gaps([each for each in usable if each[2] == case], n_bins) for case in cases]
    moved = []
    for times in draws(len(cases)).tolist():
        drawn = [sum(n * case[b][0] for n, case in zip(times, by_case, strict=True)) for b in range(n_bins)]
        n = sum(n * sum(count for _, count in case) for n, case in zip(times, by_case, strict=True))
        moved.append(sum(abs(gap - whole[b][0]) for b, gap in enumerate(drawn)) / n)
    return fmean(moved)


def raised(run, at):
    """The surest bucket in which more than half are wrong; None without one."""
    buckets = sorted(run.report_claims(at)["buckets"], key=lambda each: -each["low"])
    full = [(each, wrong) for each in buckets if len(wrong := in_bucket(run, at, each)) >= LEAST_CLAIMS]
    return next(((each, len(wrong)) for each, wrong in full if fmean(wrong) > 0.5), None)


@of_claims("raised.threshold", "raised.above", "raised.n")
def _(run, at, pattern):
    found, what = raised(run, at), pattern.rpartition(".")[2]
    if what == "n":
        return len(claims(run, at)[0]) if found is None else found[1]
    return found[0]["high" if what == "threshold" else "low"]


def best(run, at):
    """What dropping all claims below a threshold gains, a claim: the most, and the lowest threshold that does."""
    usable, utility = claims(run, at)[0], at.path[0]["confidence"]["utility"]
    worth = [(stated, utility["right" if right else "wrong"]) for stated, right, _ in usable]
    steps = sorted({stated for stated, _ in worth})
    gains = {step: -sum(value for stated, value in worth if stated < step) for step in (*steps[1:], math.inf)}
    gains = {0.0: 0.0, **gains}
    most = max(round(gain, 9) for gain in gains.values())
    threshold = min(step for step, gain in gains.items() if round(gain, 9) == most)
    return threshold, gains[threshold] / len(worth)


@of_claims("best.gain", "best.threshold")
def _(run, at, pattern):
    return best(run, at)[pattern.endswith("gain")]


@of_claims("raised.<side>", "best.<side>")
def _(run, at, pattern):
    limit = best(run, at)[0] if "best" in pattern else raised(run, at)[0]["high"]
    truth, _, fate = at.name("side").partition("_")
    mine = [each for each in claims(run, at)[0] if each[1] is (truth == "right")]
    return sum((stated >= limit) is (fate == "kept") for stated, _, _ in mine)


@form("confidence.unusable.<why>", "confidence.left_out", "confidence.kinds")
def _(run, at, pattern):
    if pattern == "confidence.left_out":
        return sum(len(each.claims) for each in run.samples if run.silent(each))
    mine = [claim for each in run.loud() for claim in each.claims]
    if pattern == "confidence.kinds":
        return len({claim.label for claim in mine})
    return sum(UNUSABLE[at.name("why")](claim.confidence) for claim in mine)


def state_of(holds):
    return {True: "passed", False: "failed", None: "undecided"}[holds]


@form(*(f"cases.count.{state}" for state in ("passed", "failed", "undecided", "all", "unknown")))
def _(run, at, pattern):
    found = Counter()
    for cell in run.cells().values():
        hit, _, open_ = cell.brings("cases.passed", ())
        found[state_of(None if open_ else bool(hit))] += 1
        found["all"] += 1
        found["unknown"] += cell.unknown
    found.update(dict.fromkeys(("undecided", "all", "unknown"), run.never))
    return found[pattern.rpartition(".")[2]]


@form(*(f"checks.count.{state}" for state in ("passed", "failed", "undecided")))
def _(run, at, pattern):
    cells = run.cells().values()
    found = Counter(state_of(cell.holds(name)) for cell in cells for name in cell.names)
    found["undecided"] += sum(cell.unknown for cell in cells) + run.never
    return found[pattern.rpartition(".")[2]]


def ran(cell, name):
    passed, failed = (sum(each.get(name) is state for each in cell.states) for state in (PASSED, FAILED))
    return {"passed": passed, "failed": failed, "not_run": cell.planned - passed - failed, "n": cell.planned}


@form(
    *(f"check.<name>.cells.{state}" for state in ("passed", "failed", "undecided")),
    *(f"check.<name>.answers.{state}" for state in ("passed", "failed", "not_run")),
)
def _(run, at, pattern):
    name, state = at.name("name"), pattern.rpartition(".")[2]
    mine = [cell for cell in run.cells().values() if name in cell.names]
    if ".answers." in pattern:
        return sum(ran(cell, name)[state] for cell in mine)
    return sum(state_of(cell.holds(name)) == state for cell in mine)


@form("cases.count.flaky")
def _(run, at, pattern):
    return sum(cell.brings("flaky_rate", ())[0] for cell in run.cells().values())


@form("<case>.clean", "<case>.decided", "<case>.passes.clean", "<case>.passes.decided")
def _(run, at, pattern):
    results = run.cell_at(at).repeats()
    return results.count(True) + (results.count(False) if pattern.endswith("decided") else 0)


@form(*(f"<case>.check.<name>.{state}" for state in ("passed", "failed", "not_run", "n")))
def _(run, at, pattern):
    return ran(run.cell_at(at), at.name("name"))[pattern.rpartition(".")[2]]


@form("<case>.check.<name>.value.<n>")
def _(run, at, pattern):
    values = [
        check.value
        for sample in run.cell_at(at).samples
        for check in sample.checks
        if check.name == at.name("name") and check.state is not CheckState.NOT_RUN and not run.silent(sample)
    ]
    return [value for value in values if value is not None][int(at.name("n")) - 1]


def answers(run, cell):
    return [each.items for each in cell.samples if not run.silent(each) and each.items is not None]


def compared(run, cell):
    """Over all pairs of repeats, items in both and items in either."""
    counts = [Counter(item.key for item in each) for each in answers(run, cell)]
    pairs = list(combinations(counts, 2))
    return sum((one & other).total() for one, other in pairs), sum((one | other).total() for one, other in pairs)


@form("stability.comparisons.<what>", "stability.items.keyless", "stability.cells.all")
def _(run, at, pattern):
    cells = run.cells().values()
    if pattern == "stability.items.keyless":
        return sum(not item.key for cell in cells for each in answers(run, cell) for item in each)
    if pattern == "stability.cells.all":
        return sum(cell.stability(()) != "not asked for" for cell in cells) + run.never
    return sum(compared(run, cell)[at.name("what") == "presence"] for cell in cells)


@form(*(f"<case>.stability.{what}" for what in ("runs", "missing", "presence", "field.<field>")))
def _(run, at, pattern):
    cell = run.cell_at(at)
    read = answers(run, cell)
    if pattern.endswith("runs"):
        return len(read)
    if pattern.endswith("missing"):
        return cell.planned - len(read)
    both, either = compared(run, cell)
    if pattern.endswith("presence"):
        return both / either
    return alike_and_shared(read, run.suite["stability"]["fields"], at.name("field"))[0] / both


def calls(run, at):
    """The samples of the case that a figure is of, else all of them."""
    return run.cell_at(at).samples if any("case_id" in each for each in at.path) else run.samples


@form(*(f"{head}.{what}" for head in ("latency", "<case>.latency") for what in ("timeouts", "failures")))
def _(run, at, pattern):
    failed = [each.call_result.failure.kind for each in calls(run, at) if each.outcome is Outcome.TARGET_FAILED]
    return sum((kind == "timeout") is pattern.endswith("timeouts") for kind in failed)


def timed(run, sample):
    return run.value("latency.mean", (), sample) is not None


@form(
    *(
        f"{head}.{point}"
        for head in (
            "latency.first_byte",
            "latency.queued",
            "<case>.latency",
            *(f"latency.{name}" for name in STREAMED),
        )
        for point in (*LATENCY, "mean", "n")
    )
)
def _(run, at, pattern):
    name, point = pattern.split(".")[-2:]
    of_calls = [each for each in calls(run, at) if timed(run, each)]
    if name in (*STREAMED, "first_byte"):
        values = [run.streamed(name, each) for each in of_calls]
    else:
        values = [getattr(each.call_result, name) for each in of_calls]
    values = [value for value in values if value is not None]
    return {"n": len, "mean": fmean}.get(point, lambda some: quantile(some, LATENCY[point]))(values)


@form("latency.bar.<n>", "latency.cells")
def _(run, at, pattern):
    if pattern == "latency.cells":
        called = [each for each in run.samples if timed(run, each) or each.outcome is Outcome.TARGET_FAILED]
        return len(run.cells(called))
    answered = [each for each in run.samples if each.call_result.failure is None]
    times = [each.call_result.latency for each in answered if timed(run, each)]
    return sum(at.item["low"] <= time < at.item["high"] for time in times)


@form("best.<other>", "best.<other>.p")
def _(run, at, pattern):
    apart = []
    for case in {each.case_id for each in run.samples}:
        sides = [
            [run.score(each) for each in run.scored() if (each.case_id, each.variant) == (case, at.item[side])]
            for side in ("first", "other")
        ]
        apart += [fmean(sides[0]) - fmean(sides[1])] if all(sides) else []
    return two_sided_t(apart) if pattern.endswith(".p") else apart


def two_sided_t(values):
    """Student's t, its density added up in small steps."""
    df = len(values) - 1
    t = abs(fmean(values)) / (stdev(values) / math.sqrt(len(values)))
    factor = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    n = 20_000
    middles = ((at + 0.5) * t / n for at in range(n))
    return 1 - 2 * sum(factor * (1 + x * x / df) ** (-(df + 1) / 2) for x in middles) * t / n


@form("<sample>.score", "<sample>.latency")
def _(run, at, pattern):
    row = at.item
    sample = next(each for each in run.cell_at(at).samples if each.repeat == row["repeat"])
    if pattern.endswith("latency"):
        return sample.call_result.latency
    return 0.0 if sample.outcome is Outcome.MALFORMED else sample.score
