"""What repeats, times, claims and variants come to, once more: from samples one by one, in plain Python.

`FORMS` has a form for every such metric that reports have and no gate can name. A form gives a number, or the list of
what a mean is of; `names` is what fills the angle brackets of its name.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from itertools import combinations
from statistics import fmean, stdev

from parts.naive_metrics import FAILED, LATENCY, PASSED, STREAMED, Cell, Naive, alike_and_shared, quantile
from steelyard.records import CheckState, Outcome
from steelyard.stats.resampling import draws
from steelyard.suite.case import NONE

UNUSABLE = {
    "no confidence": lambda stated: stated is None,
    "above 1": lambda stated: stated is not None and stated > 1,
    "below 0": lambda stated: stated is not None and stated < 0,
    "not a number": lambda stated: stated is not None and math.isnan(stated),
}
LEAST_CLAIMS = 10
FORMS = {}


def form(*patterns):
    def keep(function):
        FORMS.update(dict.fromkeys(patterns, function))
        return function

    return keep


class NaiveRepeats(Naive):
    """The samples of a whole run; `figure_of` computes one figure of it, or of a case under one variant."""

    bars, leader = (), ""
    """The bars of the histogram and the variant that leads, which are no figures."""

    def figure_of(self, pattern, names, variant=None):
        """Value and, of a mean, n."""
        blanks = re.findall("<(.*?)>", pattern)
        self.variant = variant
        result = FORMS[pattern](self, dict(zip(blanks, names, strict=True)), pattern)
        if isinstance(result, list):
            return (fmean(result) if result else None), len(result)
        return result, None

    def cells(self, samples=None):
        found = defaultdict(list)
        for sample in self.samples if samples is None else samples:
            found[sample.case_id, sample.variant].append(sample)
        return {key: Cell(each, self) for key, each in found.items()}

    def cells_of(self, variant=None):
        """All cells, or those of a variant."""
        return {key: cell for key, cell in self.cells().items() if variant in (None, key[1])}

    def never_of(self, variant=None):
        """Cells that were planned and of which nothing came; every variant is asked every case."""
        planned = self.suite["n_planned"] // self.suite["repeats"]
        of = planned if variant is None else planned // len(self.suite["variants"])
        return of - len(self.cells_of(variant))

    @property
    def never(self):
        return self.never_of()

    def cell_of(self, names):
        return self.cells()[names["case"], self.variant]

    def loud(self):
        return [each for each in self.samples if not self.silent(each)]

    def score(self, sample):
        return None if self.silent(sample) else 0.0 if sample.outcome is Outcome.MALFORMED else sample.score

    @property
    def buckets(self):
        """Name, lower and upper bound, the surest first."""
        declared = (self.suite.get("confidence") or {}).get("buckets") or [
            {"name": "high", "at_least": 0.8},
            {"name": "medium", "at_least": 0.6},
            {"name": "low", "at_least": 0.0},
        ]
        ends = [math.inf, *(each["at_least"] for each in declared)]
        return [(each["name"], each["at_least"], end) for each, end in zip(declared, ends, strict=False)]

    @property
    def n_bins(self):
        return (self.suite.get("confidence") or {}).get("bins", 10)


@form(*(f"repeated.<rule>.{state}" for state in ("passed", "failed", "undecided", "share")))
def _(run, names, pattern):
    least, most, of = re.fullmatch(r"score >= (\d+) % in >= (\d) of (\d) repeats", names["rule"]).groups()
    found = Counter()
    for cell in run.cells_of(run.variant).values():
        scores = [score for each in cell.samples if (score := run.score(each)) is not None]
        hits, planned = sum(score >= int(least) / 100 for score in scores), max(cell.planned, int(of))
        needed = planned * int(most) / int(of)
        found[
            "passed"
            if hits >= needed and len(scores) >= int(of)
            else "undecided"
            if hits + planned - len(scores) >= needed
            else "failed"
        ] += 1
    found["undecided"] += run.never_of(run.variant)
    state = pattern.rpartition(".")[2]
    return [1.0] * found["passed"] + [0.0] * found["failed"] if state == "share" else found[state]


def claims(run, names):
    """The claims that count, as (confidence, right, case), and how many of these have no confidence from 0 to 1."""
    label = names.get("label")
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
def _(run, names, pattern):
    usable, missing = claims(run, names)
    wrong = [float(not right) for _, right, _ in usable]
    return {
        "claims": len(usable),
        "missing": missing,
        "cases": len({case for _, _, case in usable}),
        "errors": sum(wrong),
        "error_rate": wrong,
        "brier": [(stated - right) ** 2 for stated, right, _ in usable],
    }[pattern.rpartition(".")[2]]


def in_bucket(run, names, name):
    low, high = next((low, high) for bucket, low, high in run.buckets if bucket == name)
    return [float(not right) for stated, right, _ in claims(run, names)[0] if low <= stated < high]


@of_claims("bucket.<name>.errors", "bucket.<name>.error_rate")
def _(run, names, pattern):
    wrong = in_bucket(run, names, names["name"])
    return wrong if pattern.endswith("rate") else sum(wrong)


def gaps(usable, n_bins):
    """By bin, how far the confidences are from the number right, and the claims in it."""
    found = [[0.0, 0] for _ in range(n_bins)]
    for stated, right, _ in usable:
        at = bin_of(stated, n_bins)
        found[at] = [found[at][0] + stated - right, found[at][1] + 1]
    return found


@of_claims("ece", "mce", "by_chance", "bin.<n>.right", "bin.<n>.confidence")
def _(run, names, pattern):
    usable, what = claims(run, names)[0], pattern.rpartition(".")[2]
    n_bins = run.n_bins
    if "bin" in pattern.split("."):
        mine = [each for each in usable if bin_of(each[0], n_bins) == int(names["n"]) - 1]
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


def raised(run, names):
    """Bounds and claims of the surest bucket in which more than half are wrong; None without one."""
    found = [(low, high, in_bucket(run, names, name)) for name, low, high in run.buckets]
    full = [each for each in found if len(each[2]) >= LEAST_CLAIMS]
    return next(((low, high, len(wrong)) for low, high, wrong in full if fmean(wrong) > 0.5), None)


@of_claims("raised.threshold", "raised.above", "raised.n")
def _(run, names, pattern):
    found, what = raised(run, names), pattern.rpartition(".")[2]
    if what == "n":
        return len(claims(run, names)[0]) if found is None else found[2]
    return found[1 if what == "threshold" else 0]


def best(run, names):
    """What dropping all claims below a threshold gains, a claim: the most, and the lowest threshold that does."""
    usable = claims(run, names)[0]
    worth = [(stated, 1.0 if right else -1.0) for stated, right, _ in usable]
    steps = sorted({stated for stated, _ in worth})
    gains = {step: -sum(value for stated, value in worth if stated < step) for step in (*steps[1:], math.inf)}
    gains = {0.0: 0.0, **gains}
    most = max(round(gain, 9) for gain in gains.values())
    threshold = min(step for step, gain in gains.items() if round(gain, 9) == most)
    return threshold, gains[threshold] / len(worth)


@of_claims("best.gain", "best.threshold")
def _(run, names, pattern):
    return best(run, names)[pattern.endswith("gain")]


@of_claims("raised.<side>", "best.<side>")
def _(run, names, pattern):
    limit = best(run, names)[0] if "best" in pattern else raised(run, names)[1]
    truth, _, fate = names["side"].partition("_")
    mine = [each for each in claims(run, names)[0] if each[1] is (truth == "right")]
    return sum((stated >= limit) is (fate == "kept") for stated, _, _ in mine)


@form("confidence.unusable.<why>", "confidence.left_out", "confidence.kinds")
def _(run, names, pattern):
    if pattern == "confidence.left_out":
        return sum(len(each.claims) for each in run.samples if run.silent(each))
    mine = [claim for each in run.loud() for claim in each.claims]
    if pattern == "confidence.kinds":
        return len({claim.label for claim in mine})
    return sum(UNUSABLE[names["why"]](claim.confidence) for claim in mine)


def state_of(holds):
    return {True: "passed", False: "failed", None: "undecided"}[holds]


@form(*(f"cases.count.{state}" for state in ("passed", "failed", "undecided", "all", "unknown")))
def _(run, names, pattern):
    found = Counter()
    for cell in run.cells().values():
        hit, _, open_ = cell.brings("cases.passed", ())
        found[state_of(None if open_ else bool(hit))] += 1
        found["all"] += 1
        found["unknown"] += cell.unknown
    found.update(dict.fromkeys(("undecided", "all", "unknown"), run.never))
    return found[pattern.rpartition(".")[2]]


@form(*(f"checks.count.{state}" for state in ("passed", "failed", "undecided")))
def _(run, names, pattern):
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
def _(run, names, pattern):
    wanted, state = names["name"], pattern.rpartition(".")[2]
    cells = run.cells().values()
    # A declared check with all values that it looks for, or one of these values.
    mine = [(cell, name) for cell in cells for name in cell.names if wanted in (name, cell.base(name))]
    if ".answers." in pattern:
        return sum(ran(cell, name)[state] for cell, name in mine)
    return sum(state_of(cell.holds(name)) == state for cell, name in mine)


@form("cases.count.flaky")
def _(run, names, pattern):
    return sum(cell.brings("flaky_rate", ())[0] for cell in run.cells().values())


@form(*(f"case.<case>.{name}" for name in ("clean", "decided")))
def _(run, names, pattern):
    results = run.cell_of(names).repeats()
    return results.count(True) + (results.count(False) if pattern.endswith("decided") else 0)


@form(*(f"case.<case>.check.<name>.{state}" for state in ("passed", "failed", "not_run", "n")))
def _(run, names, pattern):
    return ran(run.cell_of(names), names["name"])[pattern.rpartition(".")[2]]


@form("case.<case>.check.<name>.value.<n>")
def _(run, names, pattern):
    values = [
        check.value
        for sample in run.cell_of(names).samples
        for check in sample.checks
        if check.name == names["name"] and check.state is not CheckState.NOT_RUN and not run.silent(sample)
    ]
    return [value for value in values if value is not None][int(names["n"]) - 1]


def answers(run, cell):
    return [each.items for each in cell.samples if not run.silent(each) and each.items is not None]


def compared(run, cell):
    """Over all pairs of repeats, items in both and items in either."""
    counts = [Counter(item.key for item in each) for each in answers(run, cell)]
    pairs = list(combinations(counts, 2))
    return sum((one & other).total() for one, other in pairs), sum((one | other).total() for one, other in pairs)


@form("stability.comparisons.<what>", "stability.items.keyless", "stability.cells.all")
def _(run, names, pattern):
    cells = run.cells().values()
    if pattern == "stability.items.keyless":
        return sum(not item.key for cell in cells for each in answers(run, cell) for item in each)
    if pattern == "stability.cells.all":
        return sum(cell.stability(()) != "not asked for" for cell in cells) + run.never
    return sum(compared(run, cell)[names["what"] == "presence"] for cell in cells)


@form(*(f"case.<case>.stability.{what}" for what in ("runs", "missing", "presence", "field.<field>")))
def _(run, names, pattern):
    cell = run.cell_of(names)
    read = answers(run, cell)
    if pattern.endswith("runs"):
        return len(read)
    if pattern.endswith("missing"):
        return cell.planned - len(read)
    both, either = compared(run, cell)
    if pattern.endswith("presence"):
        return both / either
    return alike_and_shared(read, run.suite["stability"]["fields"], names["field"])[0] / both


def calls(run, names):
    """The samples of the case that a figure is of, else all of them."""
    return run.cell_of(names).samples if "case" in names else run.samples


@form(*(f"{head}.{what}" for head in ("latency", "case.<case>.latency") for what in ("timeouts", "failures")))
def _(run, names, pattern):
    failed = [each.call_result.failure.kind for each in calls(run, names) if each.outcome is Outcome.TARGET_FAILED]
    return sum((kind == "timeout") is pattern.endswith("timeouts") for kind in failed)


def timed(run, sample):
    return run.value("latency.mean", (), sample) is not None


@form(
    *(
        f"{head}.{point}"
        for head in ("latency.first_byte", "latency.queued", "case.<case>.latency")
        for point in (*LATENCY, "mean", "n")
    ),
    # Gates can name the others.
    *(f"{name}.{point}" for name in STREAMED for point in ("p99", "min", "max", "n")),
)
def _(run, names, pattern):
    name, point = pattern.split(".")[-2:]
    of_calls = [each for each in calls(run, names) if timed(run, each)]
    if name in (*STREAMED, "first_byte"):
        values = [run.streamed(name, each) for each in of_calls]
    else:
        values = [getattr(each.call_result, name) for each in of_calls]
    values = [value for value in values if value is not None]
    return {"n": len, "mean": fmean}.get(point, lambda some: quantile(some, LATENCY[point]))(values)


@form("latency.bar.<n>", "latency.cells")
def _(run, names, pattern):
    if pattern == "latency.cells":
        called = [each for each in run.samples if timed(run, each) or each.outcome is Outcome.TARGET_FAILED]
        return len(run.cells(called))
    answered = [each for each in run.samples if each.call_result.failure is None]
    times = [each.call_result.latency for each in answered if timed(run, each)]
    bar = run.bars[int(names["n"]) - 1]
    return sum(bar.low <= time < bar.high for time in times)


@form("best.<other>", "best.<other>.p")
def _(run, names, pattern):
    apart, scored = [], [each for each in run.samples if run.score(each) is not None]
    for case in {each.case_id for each in run.samples}:
        sides = [
            [run.score(each) for each in scored if (each.case_id, each.variant) == (case, variant)]
            for variant in (run.leader, names["other"])
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
