"""Every metric of a judge computed once more: from samples one by one, in plain Python, scipy, sklearn, krippendorff.

`FORMS` has a form for every registered name. A form gives the list of what a share or mean is of, None for what is
missing; or value, n and missing. An oracle: nothing here looks at columns or contributions.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from itertools import combinations
from statistics import fmean, stdev

import krippendorff
import numpy as np
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from steelyard.records import Vote
from steelyard.suite.labels import Label, is_labelled, labels_of
from steelyard.suite.models import SuiteModel

FORMS = {}
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
CODES = {
    "broken_rules": "RULE_BROKEN",
    "made_up_quotes": "MADE_UP_QUOTE",
    "unproven": "UNPROVEN",
    "contradictions": "CONTRADICTION",
    "self_contradictions": "SELF_CONTRADICTION",
    "too_few_reasons": "TOO_FEW_REASONS",
}
ENOUGH_TEXTS, ENOUGH_PEOPLE = 30, 3


def form(*patterns):
    def keep(function):
        FORMS.update({f"judge.{pattern}": function for pattern in patterns})
        return function

    return keep


def remarked(item, code):
    return float(any(each.code == code for each in item.remarks))


def answered(vote):
    return vote.mode is not None or remarked(vote, "VIOLATION")


class NaiveJudge:
    """The judged samples of a run, with their cases."""

    def __init__(self, pairs, suite):
        self.described = SuiteModel.from_data(suite)
        judge = self.described.judge
        self.mode, self.scale, self.neutral = judge.mode, judge.rubric.scale, judge.rubric.neutral
        self.answers_in = judge.must_answer.place if judge.must_answer else None
        self.epsilon = judge.epsilon
        self.texts = [Text(sample, case, judge) for sample, case in pairs if sample.judgement is not None]

    @property
    def votes(self):
        return [vote for text in self.texts for vote in text.votes]

    @property
    def dimensions(self):
        return [item.name for item in self.described.judge.rubric.dimensions]

    def figure(self, pattern, names):
        """Value, n and missing."""
        result = FORMS[pattern](self, pattern.removeprefix("judge."), *names)
        if isinstance(result, tuple):
            return result
        known = [value for value in result if value is not None]
        return (fmean(known) if known else None), len(known), len(result) - len(known)


class Text:
    """One judged text."""

    def __init__(self, sample, case, judge):
        self.case, self.judgement = sample.case_id, sample.judgement
        self.votes = sample.judgement.votes or (Vote("", 0, None, "failed"),)
        self.main = sample.judgement.mode == judge.mode
        self.length = len(sample.call_result.text or "") if sample.call_result.text is not None else None
        labels = labels_of(case, judge) if judge.labels else {}
        self.has_labels = bool(labels)
        self.own = is_labelled(sample.call_result.text or "", case, judge.labelled)
        self.labels = labels if self.own else {}

    def score(self, name, kind="uncapped"):
        value = getattr(self.judgement, kind).get(name) if self.main else None
        return None if value is None else float(value)

    def label(self, name):
        label = self.labels.get(name)
        return label if isinstance(label, Label) else None


def stated(run, vote, name):
    return float(vote.uncapped[name]) if vote.mode == run.mode and name in vote.uncapped else None


@form(*CODES)
def _(run, pattern):
    return [remarked(vote, CODES[pattern]) if vote.mode == run.mode else None for vote in run.votes]


@form("failed", "cut_off")
def _(run, pattern):
    hit = (lambda vote: remarked(vote, "CUT_OFF")) if pattern == "cut_off" else (lambda vote: float(vote.mode is None))
    return [hit(vote) if answered(vote) else None for vote in run.votes]


@form("unanswered", "basic", "strict", "step.<step>.rate")
def _(run, pattern, *names):
    hit = {
        "unanswered": lambda vote: not answered(vote),
        "basic": lambda vote: vote.mode == "basic",
        "strict": lambda vote: vote.step == "strict",
        "step.<step>.rate": lambda vote: vote.step == names[0],
    }[pattern]
    return [float(hit(vote)) for vote in run.votes]


@form("rebutted_findings", "unanswered_findings")
def _(run, pattern):
    answers = [
        item["answer"]
        for vote in run.votes
        if vote.mode == run.mode
        for item in vote.response.get(run.answers_in) or ()
    ]
    return [float(answer == pattern.partition("_")[0]) for answer in answers]


@form("disagreement")
def _(run, _pattern):
    several = [sum(vote.mode == run.mode for vote in text.judgement.votes) > 1 for text in run.texts]
    return [
        remarked(text.judgement, "DISAGREEMENT") if many else None
        for text, many in zip(run.texts, several, strict=True)
    ]


@form("shortened")
def _(run, _pattern):
    asked = [[vote for vote in text.judgement.votes if vote.mode != "rules" and answered(vote)] for text in run.texts]
    return [float(any(vote.shortened for vote in mine)) if mine else None for mine in asked]


def total(values):
    known = [value for value in values if value is not None]
    return (sum(known) if known else None), len(known), len(values) - len(known)


@form("texts", "texts.failed", "texts.excluded", "texts.labelled", "texts.labelled_otherwise", "votes")
def _(run, pattern):
    hit = {
        "texts": lambda text: True,
        "texts.failed": lambda text: text.judgement.mode is None,
        "texts.excluded": lambda text: text.judgement.mode not in (None, run.mode),
        "texts.labelled": lambda text: text.has_labels and text.own,
        "texts.labelled_otherwise": lambda text: text.has_labels and not text.own,
    }
    return total([1] * len(run.votes) if pattern == "votes" else [int(hit[pattern](text)) for text in run.texts])


@form("mode.<mode>", "step.<step>", "remark.<remark>")
def _(run, pattern, name):
    if pattern == "remark.<remark>":
        return total([int(remarked(vote, name)) if vote.mode == run.mode else None for vote in run.votes])
    return total([int(getattr(vote, pattern.partition(".")[0]) == name) for vote in run.votes])


@form("spending.<what>")
def _(run, _pattern, name):
    return total([SUMS[name](call.call_result) for text in run.texts for call in text.judgement.calls])


def alike(text):
    """A reason without what differs from call to call."""
    return " ".join(word for word in text.replace(":", " ").split() if not re.search(r"\d", word.removeprefix("http_")))


def why_silent(judgement):
    vote = next((vote for vote in judgement.votes if vote.mode is None), None)
    return judgement.message if vote is None else f"judge {vote.member}: {vote.message.partition(';')[0]}"


@form("why_failed.<n>")
def _(run, _pattern, number):
    found = Counter(alike(why_silent(text.judgement)) for text in run.texts if text.judgement.mode is None)
    n = sorted(found.values(), reverse=True)[int(number) - 1]
    return n, n, 0


@form("why_excluded.<n>")
def _(run, _pattern, number):
    """Of these runs the first basic vote of a text broke off, or lacks the field of reasons or quotes."""
    votes = [
        next((vote for vote in text.judgement.votes if vote.mode == "basic"), None)
        for text in run.texts
        if text.judgement.mode not in (None, run.mode)
    ]
    found = Counter(bool(remarked(vote, "CUT_OFF")) for vote in votes)
    n = sorted(found.values(), reverse=True)[int(number) - 1]
    return n, n, 0


@form("top_share.<dimension>", "middle_share.<dimension>", "flag.<flag>.share")
def _(run, pattern, name):
    low, high = {
        "top": (run.scale[1], run.scale[1]),
        "middle": (run.neutral, min(run.neutral + 1, run.scale[1])),
        "flag": (1, 1),
    }[re.split("[_.]", pattern)[0]]
    scores = [text.score(name) for text in run.texts]
    return [None if score is None else float(low <= score <= high) for score in scores]


@form(*(f"dimension.<dimension>.{what}" for what in ("capped", "uncapped_mean", "capped_mean")))
def _(run, pattern, name):
    pairs = [(text.score(name), text.score(name, "capped")) for text in run.texts]
    value = {
        "capped": lambda raw, after: float(raw != after),
        "uncapped_mean": lambda raw, _: raw,
        "capped_mean": lambda _, after: after,
    }[pattern.rpartition(".")[2]]
    return [None if raw is None or after is None else value(raw, after) for raw, after in pairs]


def computed(figure, *columns):
    """A figure of the rows that are known in all columns; of two columns of which one does not vary there is none."""
    rows = [row for row in zip(*columns, strict=True) if None not in row]
    sides = list(zip(*rows, strict=True))
    varies = len(columns) == 1 or all(len(set(side)) > 1 for side in sides)
    value = figure(*sides) if rows and varies else None
    return None if value is None or math.isnan(value) else value, len(rows), len(columns[0]) - len(rows)


@form("spread.<dimension>")
def _(run, _pattern, name):
    return computed(lambda scores: stdev(scores) if len(scores) > 1 else None, [text.score(name) for text in run.texts])


def correlation(run, one, other):
    pairs = [(stated(run, vote, one), stated(run, vote, other)) for vote in run.votes]
    return computed(lambda *sides: stats.pearsonr(*sides)[0], *zip(*pairs, strict=True))


@form("correlation.<dimension>.<other>")
def _(run, _pattern, one, other):
    return correlation(run, one, other)


@form("together.<dimension>")
def _(run, _pattern, name):
    found = [correlation(run, *pair) for pair in combinations(run.dimensions, 2) if name in pair]
    value, n, missing = max(found, key=lambda item: abs(item[0] or 0))
    return None if value is None else abs(value), n, missing


@form("length.<dimension>", "length.<dimension>.correlation", "length.<dimension>.labels")
def _(run, pattern, name):
    texts = [text for text in run.texts if text.label(name)] if pattern.endswith("labels") else run.texts
    scores = [text.label(name).best if pattern.endswith("labels") else text.score(name) for text in texts]
    value, n, missing = computed(lambda *sides: stats.spearmanr(*sides)[0], scores, [text.length for text in texts])
    return (abs(value) if value is not None and pattern.endswith(">") else value), n, missing


def readings(run, name):
    """By text and member with a vote, its scores."""
    found = defaultdict(list)
    for at, text in enumerate(run.texts):
        for vote in text.votes:
            found[at, vote.member].append(stated(run, vote, name))
    return [[score for score in scores if score is not None] for scores in found.values()]


@form("repeatability.<dimension>", "moved.<dimension>")
def _(run, pattern, name):
    def value(scores):
        if len(scores) < 2:
            return None
        if pattern.startswith("moved"):
            return fmean(abs(a - b) for a, b in combinations(scores, 2))
        return float(len(set(scores)) == 1)

    return [value(scores) for scores in readings(run, name)]


@form("reliability.<dimension>")
def _(run, _pattern, name):
    every = [[stated(run, vote, name) for vote in text.votes] for text in run.texts]
    known = [[score for score in scores if score is not None] for scores in every]
    usable = [scores for scores in known if len(scores) > 1]
    if not usable:
        return None, 0, len(every)
    width = max(map(len, usable))
    table = np.array([scores + [np.nan] * (width - len(scores)) for scores in usable]).T
    return krippendorff.alpha(table, level_of_measurement="ordinal"), len(usable), len(every) - len(usable)


def labelled(run, name):
    return [text for text in run.texts if text.label(name)]


@form(*(f"agreement.<dimension>.{capped}{what}" for what in ("exact", "within_one") for capped in ("", "capped_")))
def _(run, pattern, name):
    kind, room = ("capped" if "capped" in pattern else "uncapped"), int("within" in pattern)

    def value(text):
        score, label = text.score(name, kind), text.label(name)
        return None if score is None else float(label.low - room <= score <= label.high + room)

    return [value(text) for text in labelled(run, name)]


@form(*(f"agreement.<dimension>.{what}" for what in ("best", "difference", "bias")))
def _(run, pattern, name):
    pairs = [(text.score(name), text.label(name).best) for text in labelled(run, name)]
    apart = [None if score is None else score - best for score, best in pairs]
    if pattern.endswith("best"):
        return [None if item is None else float(item == 0) for item in apart]
    value, n, missing = computed(lambda items: fmean(items), apart)
    return (abs(value) if value is not None and pattern.endswith("bias") else value), n, missing


@form("agreement.<dimension>.outside")
def _(run, _pattern, name):
    pairs = [(text.score(name), text.label(name)) for text in labelled(run, name)]
    return total([int(score is not None and not label.low <= score <= label.high) for score, label in pairs])


def kappa(weights):
    def figure(one, other):
        levels = sorted({*one, *other})
        whole = [f"{2 * level:g}" for level in np.arange(levels[0], levels[-1] + 0.5, 0.5)]
        named = [[f"{2 * score:g}" for score in side] for side in (one, other)]
        return cohen_kappa_score(*named, weights=weights, labels=whole)

    return figure


AGREEMENT = {
    "kappa": kappa("quadratic"),
    "kappa_linear": kappa("linear"),
    "alpha": lambda *sides: krippendorff.alpha(np.array(sides), level_of_measurement="ordinal"),
    "alpha_interval": lambda *sides: krippendorff.alpha(np.array(sides), level_of_measurement="interval"),
    "pearson": lambda *sides: stats.pearsonr(*sides)[0],
    "spearman": lambda *sides: stats.spearmanr(*sides)[0],
    "kendall": lambda *sides: stats.kendalltau(*sides)[0],
}


@form(*(f"agreement.<dimension>.{what}" for what in AGREEMENT))
def _(run, pattern, name):
    texts = labelled(run, name)
    scores, best = [text.score(name) for text in texts], [float(text.label(name).best) for text in texts]
    return computed(AGREEMENT[pattern.rpartition(".")[2]], scores, best)


@form("top_labelled.<dimension>")
def _(run, _pattern, name):
    return [float(text.label(name).best == run.scale[1]) for text in labelled(run, name)]


@form("top_beyond.<dimension>")
def _(run, _pattern, name):
    pairs = [(text.score(name), text.label(name).best) for text in labelled(run, name)]
    return [float(score == run.scale[1]) - float(best == run.scale[1]) for score, best in pairs if score is not None]


@form(*(f"flag.<flag>.{capped}{what}" for what in ("precision", "recall") for capped in ("", "capped_")))
def _(run, pattern, name):
    kind = "capped" if "capped" in pattern else "uncapped"
    pairs = [(text.score(name, kind), text.labels[name]) for text in run.texts if name in text.labels]
    if pattern.endswith("precision"):
        return [float(true) for given, true in pairs if given] + [None for given, _ in pairs if given is None]
    return [given for given, true in pairs if true]


# Several people beside the judge.


def people_of(run, name):
    """Who labelled the dimension, and text by text what each of them gave."""
    rows = [text.label(name).by if text.label(name) else {} for text in run.texts]
    return sorted(set().union(*rows)), rows


@form(*(f"people.<dimension>.{what}" for what in ("kappa", "judge_kappa", "alpha")))
def _(run, pattern, name):
    people, rows = people_of(run, name)
    scores = [text.score(name) for text in run.texts]
    if pattern.endswith("alpha"):
        some = [[row.get(who, np.nan) for who in people] for row in rows if row]
        known = [row for row in some if np.isfinite(row).sum() > 1]
        value = krippendorff.alpha(np.array(known, dtype=float).T, level_of_measurement="ordinal")
        return value, len(known), len(some) - len(known)
    if pattern.endswith("judge_kappa"):
        pairs = [(score, row.get(who)) for who in people for score, row in zip(scores, rows, strict=True)]
    else:
        pairs = [(row.get(one), row.get(other)) for one, other in combinations(people, 2) for row in rows]
    both = [(float(one), float(other)) for one, other in pairs if None not in (one, other)]
    return kappa("quadratic")(*zip(*both, strict=True)), len(both), 0


def compared(run, name):
    """Person by person with enough texts, by case how often the judge, and how often the person, is at least as near to
    the others."""
    people, rows = people_of(run, name)
    results = []
    for who in people:
        by_case, n = defaultdict(list), 0
        for text, row in zip(run.texts, rows, strict=True):
            others = [score for other, score in row.items() if other != who]
            if who in row and others and (given := text.score(name)) is not None:
                ours, theirs = (sum((score - other) ** 2 for other in others) for score in (given, row[who]))
                by_case[text.case].append((ours <= theirs, theirs <= ours))
        shares = {case: [fmean(side) for side in zip(*each, strict=True)] for case, each in by_case.items()}
        n = len(shares)
        if n >= ENOUGH_TEXTS:
            results.append(shares)
    return results


@form("people.<dimension>.advantage")
def _(run, _pattern, name):
    results = compared(run, name)
    if len(results) < ENOUGH_PEOPLE:
        return None, 0, 0
    return (
        fmean(fmean(ours for ours, _ in each.values()) for each in results),
        len({case for each in results for case in each}),
        0,
    )


@form("people.<dimension>.winning_rate")
def _(run, _pattern, name):
    results = compared(run, name)
    if len(results) < ENOUGH_PEOPLE:
        return None, len(results), 0
    chances = [
        stats.ttest_1samp([theirs - ours for ours, theirs in each.values()], run.epsilon, alternative="less").pvalue
        for each in results
    ]
    won = stats.false_discovery_control(chances, method="by") <= 0.05
    return float(won.mean()), len(results), 0
