"""Every metric computed once more, naively: from the samples one by one, in plain Python, by the words of its formula.

An oracle: nothing here looks at columns, groups or contributions.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import combinations, permutations
from statistics import fmean

from steelyard.records import CheckState, Outcome

CONCLUSIVE = (Outcome.SCORED, Outcome.MALFORMED)
PASSED, FAILED, NOT_RUN = CheckState.PASSED, CheckState.FAILED, CheckState.NOT_RUN
BADNESS = {CheckState.PASSED: 0, CheckState.NOT_RUN: 1, CheckState.FAILED: 2}
LEAST = {0.5: 1, 0.95: 20, 0.99: 100}
CALLS = {"cost.total": "cost", "tokens.in": "tokens_in", "tokens.out": "tokens_out"}
STREAMED = ("first_token", "tokens_per_second")
LATENCY = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "min": 0.0, "max": 1.0}


def streamed(name, call, latency, *, told=True):
    """When the first token or byte came, or how many tokens came a second after the first; None of what was not
    streamed or not timed. `told` says that the run knows of some: then a call that timed out before it was waited for
    so long."""
    if name != "tokens_per_second":
        value = getattr(call, name)
        if value is None and call.failure is not None and latency is not None and told:
            return latency - (call.queued or 0.0)
        return None if latency is None else value
    if latency is None or call.first_token is None or call.failure is not None:
        return None
    seconds, tokens = latency - (call.queued or 0.0) - call.first_token, (call.tokens_out or 0) - 1
    return tokens / seconds if seconds > 0 and tokens > 0 else None


class Naive:
    """The samples of a run, or of a slice of it; `absent` were planned and are missing."""

    def __init__(self, samples, suite, absent, labels=(), run=None):
        self.run, self.told = run or samples, {}
        self.samples, self.suite, self.absent, self.labels = samples, suite, absent, dict(labels)
        self.components = {each["name"]: each for each in suite["components"]}
        self.mode = (suite.get("judge") or {}).get("mode")

    def streamed(self, name, sample):
        if name not in self.told:
            timed = [each.call_result for each in self.run if self.value("latency.mean", (), each) is not None]
            self.told[name] = any(getattr(call, name, None) is not None for call in timed)
        return streamed(name, sample.call_result, self.value("latency.mean", (), sample), told=self.told[name])

    def silent(self, sample):
        """Whether a sample says nothing about the system."""
        aside = sample.outcome is Outcome.SCORED and self.mode is not None and sample.mode != self.mode
        return sample.outcome not in CONCLUSIVE or aside

    def figure(self, pattern, names):
        """Value, n and missing."""
        head = pattern.partition(".")[0]
        if head in ("cases", "checks", "check", "pass_all", "flaky_rate", "stability"):
            return self.over_cells(pattern, names)
        if pattern in ("scored_rate", "inconclusive_rate"):
            hits = [
                not self.silent(each) and each.outcome is Outcome.SCORED
                if pattern == "scored_rate"
                else self.silent(each)
                for each in self.samples
            ]
            n, total = len(hits) + self.absent, sum(hits) + (self.absent if pattern == "inconclusive_rate" else 0)
            return (total / n if n else None), n, 0
        if pattern == "pass_rate.corrected":
            return self.corrected()
        if "<measure>" in pattern:
            return self.measure(*names, readable=pattern.endswith(".readable"))
        values = [self.value(pattern, names, sample) for sample in self.samples]
        known = [value for value in values if value is not None]
        missing = len(values) - len(known) + self.absent
        return self.together(pattern, known), len(known), missing

    def corrected(self):
        """By whether the judge passes them, the share of labelled samples that pass; malformed ones never do."""
        heard = [each for each in self.samples if not self.silent(each)]
        read = [each for each in heard if each.outcome is Outcome.SCORED and each.passed is not None]
        malformed = sum(each.outcome is Outcome.MALFORMED for each in heard)
        n, total, told = len(read) + malformed, 0.0, 0
        for side in (True, False):
            of_side = [each for each in read if each.passed is side]
            said = [self.labels.get((each.case_id, each.variant, each.repeat)) for each in of_side]
            said = [each for each in said if each is not None]
            told += len(said)
            if not said:
                return None, n, len(self.samples) - n + self.absent
            total += len(of_side) * sum(said) / len(said)
        return (total / n if told >= min(10, len(read)) else None), n, len(self.samples) - n + self.absent

    def together(self, pattern, available):
        if not available:
            return None
        if pattern in ("findings.total", "findings.<code>", "findings.<code>.samples", "attempts.total", *CALLS):
            return math.fsum(available)
        if pattern == "median" or (pattern.startswith(("latency.", *STREAMED)) and not pattern.endswith(".mean")):
            return quantile(available, LATENCY.get(pattern.partition(".")[2], 0.5))
        return fmean(available)

    def value(self, pattern, names, sample):
        """What one sample brings; None when it is not in the metric."""
        if pattern.startswith("latency."):
            call = sample.call_result
            if call.failure is not None and call.failure.kind == "timeout" and not call.cached:
                return call.latency  # waited for so long: a lower bound
            failed = sample.outcome is Outcome.TARGET_FAILED or call.failure is not None
            return None if failed or call.cached or call.latency <= 0 else call.latency
        if pattern.startswith(STREAMED):
            return self.streamed(pattern.partition(".")[0], sample)
        if pattern in CALLS:
            return getattr(sample.call_result, CALLS[pattern])
        if pattern in ("attempts.total", "first_attempt_failure_rate"):
            call = sample.call_result
            first_failed = call.tries > 1 or sample.outcome is Outcome.TARGET_FAILED
            return None if not call.tries else call.tries if pattern == "attempts.total" else float(first_failed)
        if self.silent(sample):
            return None
        malformed = sample.outcome is Outcome.MALFORMED
        if pattern in ("average", "median"):
            return 0.0 if malformed else sample.score
        if pattern == "pass_rate":
            return 0.0 if malformed else None if sample.passed is None else float(sample.passed)
        if pattern == "malformed_rate":
            return float(malformed)
        if pattern == "band.<band>":
            band = self.suite["bands"][-1]["name"] if malformed and sample.band is None else sample.band
            return None if band is None else float(band == names[0])
        if pattern.startswith("findings."):
            found = sum(pattern == "findings.total" or each.code == names[0] for each in sample.findings)
            return float(min(found, 1) if pattern.endswith((".rate", ".samples")) else found)
        return self.component(pattern, names[0], sample, malformed)

    def component(self, pattern, name, sample, malformed):
        low, high = self.components[name].get("scale") or (0.0, 1.0)
        value = next((each.value for each in sample.scores if each.name == name), None)
        if value is None and malformed and self.components[name].get("when_unknown") != "skip":
            value = low
        if value is None or pattern.endswith(".points"):
            return value
        return (value - low) / (high - low)

    def measure(self, component, measure, readable):
        declared = self.components[component]
        means = (declared.get("means") or {}).get(measure)
        parts = [declared["measures"][name] for name in (means["of"] if means else [measure])]
        sums, n = [[0.0, 0.0] for _ in parts], 0
        for sample in self.samples:
            if readable and sample.outcome is Outcome.MALFORMED:
                continue
            counts = next((each.counts for each in sample.scores if each.name == component), {})
            flagged = declared.get("kind") == "flag" and sample.outcome in CONCLUSIVE and counts.get("flagged", 0) > 0
            if self.silent(sample) and not flagged:
                continue
            pairs = [(counts.get(part["numerator"]), counts.get(part["denominator"])) for part in parts]
            n += any(None not in pair for pair in pairs)
            for total, pair in zip(sums, pairs, strict=True):
                if None not in pair:
                    total[0], total[1] = total[0] + pair[0], total[1] + pair[1]
        ratios = [above / below for above, below in sums if below > 0]
        return (fmean(ratios) if ratios else None), n, len(self.samples) - n + self.absent

    def over_cells(self, pattern, names):
        cells = defaultdict(list)
        for sample in self.samples:
            cells[sample.case_id, sample.variant].append(sample)
        repeats = self.suite["repeats"]
        never = self.suite["n_planned"] // repeats - len(cells) if self.absent else 0
        found = [Cell(each, self).brings(pattern, names) for each in cells.values()]
        if not pattern.startswith("stability."):
            if "pass_all" in pattern and int(names[0]) > repeats:
                return None, 0, len(found) + never
            hits, of, open_ = (math.fsum(each[at] for each in found) for at in range(3))
            of, open_ = of + never, open_ + never
            return (hits / of if of > open_ else None), of - open_, open_
        values = [each for each in found if each is not None and each != "not asked for"]
        missing = sum(each is None for each in found) + never
        return (fmean(values) if values else None), len(values), missing


class Cell:
    """The repeats of one case under one variant."""

    def __init__(self, samples, run):
        self.run, self.samples, self.planned = run, samples, max(len(samples), run.suite["repeats"])
        self.states = []
        for sample in samples:
            states = {}
            for check in sample.checks:
                state = CheckState.NOT_RUN if run.silent(sample) else check.state
                states[check.name] = max(states.get(check.name, state), state, key=BADNESS.__getitem__)
            self.states.append(states)
        self.names = {name for states in self.states for name in states}
        expect = run.suite.get("expect") or {}
        self.declared = {check["name"]: check["required_repeats"] for check in expect.get("checks", ())}
        self.usual = expect.get("required_repeats", "all")

    @property
    def unknown(self):
        """Whether its checks are not known: it has none, and nothing that is conclusive."""
        return not self.names and all(self.run.silent(sample) for sample in self.samples)

    def base(self, name):
        return name if name in self.declared else name.partition(":")[0]

    def holds(self, name):
        rule = self.declared.get(self.base(name), self.usual)
        if rule == "first":
            first = next(
                (states for sample, states in zip(self.samples, self.states, strict=True) if sample.repeat == 0), {}
            )
            state = first.get(name, CheckState.NOT_RUN)
            return None if state is CheckState.NOT_RUN else state is PASSED
        passed, failed = (sum(states.get(name) is state for states in self.states) for state in (PASSED, FAILED))
        return self.most(passed, failed) if rule == "majority" else False if failed else passed == self.planned or None

    def most(self, passed, failed):
        return True if 2 * passed > self.planned else False if 2 * failed >= self.planned else None

    def brings(self, pattern, names):
        if pattern.startswith("stability."):
            return self.stability(names)
        if pattern == "flaky_rate":
            return self.flaky(self.repeats())
        if pattern.endswith("pass_all.<k>"):
            return self.pass_all(self.repeats() if pattern.startswith("pass") else self.by_checks(), int(names[0]))
        holding = {name: self.holds(name) for name in self.names}
        if pattern == "cases.passed":
            rest = [self.rest(sample) for sample in self.samples]
            holding["rest"] = self.most_of_all(rest, [sample.repeat for sample in self.samples])
            together = [name for name in self.names if self.declared.get(self.base(name), self.usual) == "majority"]
            if together:
                states = [{each.get(name) for name in together} for each in self.states]
                if self.usual == "majority":
                    states = [
                        one | {NOT_RUN if other is None else PASSED if other else FAILED}
                        for one, other in zip(states, rest, strict=True)
                    ]
                holding["all at once"] = self.most(states.count({PASSED}), sum(FAILED in each for each in states))
            if False in holding.values():
                return 0, 1, 0
            return (0, 1, 1) if None in holding.values() else (1, 1, 0)
        if not holding:
            return 0, int(self.unknown), int(self.unknown)
        mine = [holds for name, holds in holding.items() if not names or self.base(name) == names[0]]
        return mine.count(True), len(mine), mine.count(None)

    def most_of_all(self, states, repeats):
        """Whether something that is True, False or not known in each repeat holds as often as the suite asks for."""
        passed, failed = states.count(True), states.count(False)
        if self.usual == "first":
            return next((state for state, repeat in zip(states, repeats, strict=True) if repeat == 0), None)
        return (
            self.most(passed, failed)
            if self.usual == "majority"
            else False
            if failed
            else passed == self.planned or None
        )

    def rest(self, sample):
        """Whether a sample passes apart from its checks, which the suite's score does not hold; None: not known."""
        if self.run.silent(sample):
            return None
        return False if sample.outcome is Outcome.MALFORMED else sample.passed

    def repeats(self):
        """By repeat, whether it passes under all rules: True, False, or None where nobody knows."""
        results = []
        for sample, states in zip(self.samples, self.states, strict=True):
            rest, found = self.rest(sample), [states.get(name) for name in self.names]
            clean = all(state is PASSED for state in found)
            results.append(False if rest is False or FAILED in states.values() else True if rest and clean else None)
        return results

    def by_checks(self):
        """The same by checks alone."""
        return [
            False
            if FAILED in states.values()
            else True
            if self.names and all(states.get(name) is PASSED for name in self.names)
            else None
            for states in self.states
        ]

    def pass_all(self, results, k):
        """Value, 1, and whether it is undecided: every choice of k repeats, written out."""

        def share(results):
            chosen = list(combinations(results, k))
            return sum(map(all, chosen)) / len(chosen)

        if k > self.run.suite["repeats"]:
            return 0, 1, 1
        known = [each for each in results if each is not None]
        unknown = self.planned - len(known)
        lowest, highest = share(known + [False] * unknown), share(known + [True] * unknown)
        if lowest == highest:
            return lowest, 1, 0
        return (share(known), 1, 0) if len(known) >= k else (lowest, 1, 1)

    def flaky(self, results):
        mixed = True in results and False in results
        known = sum(each is not None for each in results)
        return mixed, 1, not mixed and (known < self.planned or self.planned < 2)

    def stability(self, names):
        answers = [each.items for each in self.samples if not self.run.silent(each) and each.items is not None]
        if not answers and any(each.outcome is Outcome.SCORED for each in self.samples):
            return "not asked for"
        if names:
            alike, of = alike_and_shared(answers, self.run.suite["stability"]["fields"], names[0])
        else:
            counts = [Counter(item.key for item in answer) for answer in answers]
            alike = sum((one & other).total() for one, other in combinations(counts, 2))
            of = sum((one | other).total() for one, other in combinations(counts, 2))
        return alike / of if of else None


def alike_and_shared(answers, fields, name):
    """Over all pairs of repeats, how alike a field is in the items that both have, and how many these are.

    Items have the same key; where several do, the best of all ways to pair them counts.
    """
    at, total, shared = list(fields).index(name), 0.0, 0
    for pair in combinations(answers, 2):
        for key in {item.key for item in pair[0]}:
            few, many = sorted(([item.values[at] for item in one if item.key == key] for one in pair), key=len)
            shared += len(few)
            total += max(
                sum(alike(*both, fields[name]) for both in zip(few, some, strict=True))
                for some in permutations(many, len(few))
            )
    return total, shared


def alike(one, other, how):
    """1 for the same data; of two stretches that overlap, what they share of what they cover."""
    if how == "equal" or not all(isinstance(each, list) and each[0] < each[1] for each in (one, other)):
        return float(type(one) is type(other) and one == other)
    common = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return common / (one[1] - one[0] + other[1] - other[0] - common)


def quantile(values, point):
    """On the straight line between the two nearest; none of too few."""
    if len(values) < LEAST.get(point, 1):
        return None
    ranked = sorted(values)
    place = point * (len(ranked) - 1)
    below = math.floor(place)
    return ranked[below] + (ranked[min(below + 1, len(ranked) - 1)] - ranked[below]) * (place - below)
