"""What must hold of every comparison, whatever the runs."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.columns import Made
from parts.compared import compared
from parts.lengths import examples
from steelyard.comparing.compare import compare
from steelyard.pairing.model import Moved, Standing, Why

SHARE = st.floats(0, 1) | st.sampled_from([0.0, 0.3, 0.75, 1.0])
RELAXED = settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow])
DESCRIBED = {
    "components": [
        {
            "name": "name",
            "weight": 1.0,
            "code": "NAME",
            "scale": [0.0, 1.0],
            "measures": {"recall": {"numerator": "hit", "denominator": "all", "about": "", "better": "higher"}},
        }
    ],
    "limits": {"max_inconclusive": 1.0},
}
CODES = ("MISS", "ROLE")
OF_ALL_PAIRS = ("failures", "format", "latency")
"""Groups of figures that count, or miss, the samples without a reading."""


@st.composite
def samples(draw: st.DrawFn, facts: dict[str, tuple[str | None, tuple[str, ...]]]) -> list[Made]:
    """A grid of cases, variants and repeats with any outcomes; some are missing."""
    variants = draw(st.sampled_from([[""], ["v1", "v2"]]))
    found = [
        draw(sample(case, variant, repeat, *facts[case]))
        for case in facts
        for variant in variants
        for repeat in range(draw(st.integers(1, 2)))
    ]
    gone = draw(st.sets(st.sampled_from(range(len(found))), max_size=2)) if found else set()
    return [one for i, one in enumerate(found) if i not in gone]


@st.composite
def sample(draw: st.DrawFn, case: str, variant: str, repeat: int, category: str | None, tags: tuple[str, ...]) -> Made:
    outcome = draw(st.sampled_from(["scored"] * 4 + ["malformed", "target_failed", "judge_failed"]))
    scored = outcome == "scored"
    hit = draw(st.integers(0, 3))
    return Made(
        case,
        draw(SHARE) if scored else 0.0 if outcome == "malformed" else None,
        outcome,
        variant,
        repeat,
        category,
        tags=tags,
        parts={"name": draw(SHARE)} if scored else {},
        counts={"name": {"hit": hit, "all": 3}} if scored else {},
        findings=tuple(draw(st.lists(st.sampled_from(CODES), max_size=2))),
        latency=draw(st.floats(0.1, 5) | st.none()),
    )


@st.composite
def two_runs(draw: st.DrawFn) -> tuple[list[Made], list[Made]]:
    names = draw(st.lists(st.sampled_from([f"case-{i:02d}" for i in range(16)]), min_size=1, unique=True))
    facts = {name: (draw(st.sampled_from([None, "x", "y"])), draw(st.sampled_from([(), ("p",)]))) for name in names}
    return draw(samples(facts)), draw(samples(facts))


def run(made, **changes):
    """A run whose findings all confuse something in a section; what they say is told by their sample."""
    codes = [(one, code) for one in made for code in one.findings]
    return compared(
        made,
        described=DESCRIBED,
        confusions=[(f"{code}-{one.repeat}", one.case[-1]) for one, code in codes],
        sections=["main" if code == "MISS" else "specs" for _, code in codes],
        **changes,
    )


def every_metric(result):
    yield from result.metrics
    yield from (each.rate for each in result.sections)
    for slices in result.slices.values():
        for one in slices:
            yield from one.metrics


@RELAXED
@given(two_runs())
def test_a_run_compared_with_itself_has_not_changed(runs):
    made, _ = runs
    found = compare(run(made), run(made))
    assert found.headline.verdict in (Moved.SAME, Moved.CANNOT_TELL)
    assert (found.headline.verdict is Moved.SAME) == (found.pairs.comparable > 0)
    for change in every_metric(found):
        assert change.difference.value in (0.0, None)
        assert change.p in (1.0, None)
        assert change.verdict is (Moved.SAME if change.a.n else Moved.CANNOT_TELL), change.name
    assert found.pairs.fixed.count == found.pairs.broken.count == found.pairs.rose.count == found.pairs.fell.count == 0
    assert set(found.pairs.not_comparable) <= {Why.NO_READING}
    assert set(found.confusions.counts) <= {Standing.SAME}
    assert found.signatures.changes == ()
    assert found.not_compared == ()


OTHER_WAY = {Moved.BETTER: Moved.WORSE, Moved.WORSE: Moved.BETTER}


def mirrored(change, other):
    assert (change.name, change.a, change.b) == (other.name, other.b, other.a)
    one, two = change.difference, other.difference
    assert (one.n, one.n_missing) == (two.n, two.n_missing)
    for value, against in ((one.value, two.value), (one.low, two.high), (one.high, two.low)):
        assert (value is None) == (against is None)
        assert value is None or value == pytest.approx(-against, abs=1e-12)
    assert change.p == (None if other.p is None else pytest.approx(other.p, abs=1e-12))
    assert change.p_adjusted == (None if other.p_adjusted is None else pytest.approx(other.p_adjusted, abs=1e-12))
    assert change.verdict is OTHER_WAY.get(other.verdict, other.verdict)
    assert change.smallest == (None if other.smallest is None else pytest.approx(other.smallest, abs=1e-12))


@RELAXED
@given(two_runs())
def test_b_against_a_mirrors_a_against_b(runs):
    one, other = (compare(run(first), run(second)) for first, second in (runs, runs[::-1]))
    for change, against in zip(every_metric(one), every_metric(other), strict=True):
        mirrored(change, against)
    assert one.headline.verdict is OTHER_WAY.get(other.headline.verdict, other.headline.verdict)
    for ours, theirs in (("fixed", "broken"), ("broken", "fixed"), ("rose", "fell"), ("unchanged", "unchanged")):
        mine, their = getattr(one.pairs, ours), getattr(other.pairs, theirs)
        assert (mine.count, mine.n_cases) == (their.count, their.n_cases)
        assert [(line.case_id, line.variant, line.repeat, line.a, line.b) for line in mine.lines] == [
            (line.case_id, line.variant, line.repeat, line.b, line.a) for line in their.lines
        ]
    swap = {Why.ONLY_IN_A: Why.ONLY_IN_B, Why.NO_READING_IN_A: Why.NO_READING_IN_B}
    swap |= {b: a for a, b in swap.items()}
    assert {why: each.count for why, each in one.pairs.not_comparable.items()} == {
        swap.get(why, why): each.count for why, each in other.pairs.not_comparable.items()
    }
    back = {Standing.NEW: Standing.RESOLVED, Standing.MORE: Standing.FEWER}
    back |= {b: a for a, b in back.items()}
    assert {(c.code, c.expected, c.got, c.a, c.b, c.standing) for c in one.confusions.listed} == {
        (c.code, c.expected, c.got, c.b, c.a, back.get(c.standing, c.standing)) for c in other.confusions.listed
    }


@RELAXED
@given(two_runs(), st.randoms(use_true_random=False))
def test_the_order_of_samples_changes_nothing(runs, chance: random.Random):
    shuffled = [chance.sample(made, len(made)) for made in runs]
    one, other = compare(*map(run, runs)), compare(*map(run, shuffled))
    assert asdict(one) == asdict(other)


@RELAXED
@given(two_runs())
def test_every_sample_is_in_exactly_one_list(runs):
    pairs = compare(*map(run, runs)).pairs
    assert pairs.fixed.count + pairs.broken.count + pairs.unchanged.count == pairs.comparable
    assert pairs.rose.count + pairs.fell.count + pairs.level.count == pairs.comparable
    alone = {Why.ONLY_IN_A: 1, Why.ONLY_IN_B: 1}
    samples = sum(each.count * alone.get(why, 2) for why, each in pairs.not_comparable.items())
    assert 2 * pairs.comparable + samples == pairs.n_a + pairs.n_b


@RELAXED
@given(two_runs())
def test_cases_without_a_reading_change_no_figure(runs):
    a, b = runs
    dead = [Made(f"zz-{i}", None, "target_failed", latency=None) for i in range(3)]
    alive = [Made(f"zz-{i}", 1.0) for i in range(3)]
    one, other = compare(run(a), run(b)), compare(run(a + alive), run(b + dead))
    readings, with_dead = (
        # Too few pairs make every verdict "cannot tell", and change no figure.
        [asdict(replace(each, verdict=Moved.SAME)) for each in found.metrics if each.group not in OF_ALL_PAIRS]
        for found in (one, other)
    )
    assert readings == with_dead
    assert one.codes == other.codes
    assert other.pairs.not_comparable[Why.NO_READING_IN_B].count >= 3


@RELAXED
@given(two_runs())
def test_splitting_every_document_in_two_changes_no_sum(runs):
    """The counts of a case, halved over two cases: measures, counts of findings and of confusions stay."""
    whole = [[replace(one, counts=_twice(one.counts)) for one in made] for made in runs]
    split = [
        [
            replace(one, case=f"{half}/{one.case}", findings=one.findings if half == "a" else ())
            for half in "ab"
            for one in made
        ]
        for made in runs
    ]
    one, other = compare(*map(run, whole)), compare(*map(run, split))
    assert [(each.code, each.a, each.b) for each in one.codes] == [(each.code, each.a, each.b) for each in other.codes]
    assert one.confusions == other.confusions
    for before, after in zip(one.sections, other.sections, strict=True):
        assert (before.a, before.b) == (after.a, after.b)
    recall = (
        [next(each for each in found.metrics if each.name == "score.name.recall") for found in (one, other)]
        if (any(each.name == "score.name.recall" for each in one.metrics))
        else []
    )
    for side in ("a", "b"):
        values = [getattr(each, side).value for each in recall]
        assert len({None if value is None else round(value, 9) for value in values}) <= 1


def _twice(counts):
    return {part: {name: 2 * n for name, n in each.items()} for part, each in counts.items()}
