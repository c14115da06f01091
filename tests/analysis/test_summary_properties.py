"""What must hold of every run, whatever its samples."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.columns import Made, columns, suite
from parts.described import summarise
from parts.found import found_codes
from parts.lengths import examples
from steelyard.analysis.listed_samples import ListedSamples
from steelyard.analysis.model import Slice, Summary

SHARE = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.3, 0.75, 1.0])
FINDING = st.tuples(st.sampled_from(["MISS", "EXTRA"]), st.just("name"), SHARE) | st.tuples(
    st.just("VALUE"), st.just("value"), SHARE
)
CASES = [f"case-{i}" for i in range(9)]


@st.composite
def samples(draw: st.DrawFn) -> list[Made]:
    """A grid of a few cases, variants and repeats with any outcomes; a case's facts are those of the case."""
    facts = {
        case: (
            draw(st.sampled_from([None, "x", "y"])),
            draw(st.sampled_from([None, "easy", "hard"])),
            tuple(draw(st.sets(st.sampled_from(["p", "q"])))),
        )
        for case in draw(st.lists(st.sampled_from(CASES), min_size=1, unique=True))
    }
    variants = draw(st.sampled_from([[""], ["v1", "v2"]]))
    repeats = draw(st.integers(1, 3))
    return [
        draw(sample(case, variant, repeat, *facts[case]))
        for case in facts
        for variant in variants
        for repeat in range(repeats)
    ]


@st.composite
def sample(
    draw: st.DrawFn,
    case: str,
    variant: str,
    repeat: int,
    category: str | None,
    difficulty: str | None,
    tags: tuple[str, ...],
) -> Made:
    outcome = draw(st.sampled_from(["scored", "scored", "scored", "malformed", "target_failed", "judge_failed"]))
    scored = outcome == "scored"
    return Made(
        case,
        draw(SHARE) if scored else 0.0 if outcome == "malformed" else None,
        outcome,
        variant,
        repeat,
        category,
        difficulty,
        tags,
        {"name": draw(SHARE), "value": draw(st.none() | SHARE)} if scored else {},
        tuple(draw(st.lists(FINDING, max_size=3))) if scored else (),
        None if outcome == "target_failed" else draw(st.floats(0, 100)),
        draw(st.none() | st.just((7, 3))),
        draw(st.none() | st.floats(0, 1)),
        counts={"name": {"right": draw(st.integers(0, 5)), "all": 5}} if scored else {},
    )


def described() -> dict[str, Any]:
    """The made-up suite with a measure and a condition over repeats."""
    found = suite(
        variants=["v1", "v2"],
        criteria=[
            {"name": "valid", "pass": "valid in >= 1 of 2 repeats", "fail": "score >= 50 % in >= 1 of 1 repeats"}
        ],
    )
    found["components"][0]["measures"] = {"right": {"numerator": "right", "denominator": "all", "about": ""}}
    return found


def slices_of(summary: Summary) -> Iterator[Slice]:
    yield summary.overall
    for found in summary.slices.values():
        yield from found


def assert_same(one: Any, other: Any) -> None:
    """Equal but for the last digits of floats, which depend on what was added up first."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12)
    else:
        assert one == other


FAST = settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])


def plain(summary: Summary) -> dict[str, Any]:
    """A summary as plain data, its figures by slice and name; without positions, which depend on the order."""
    summary = replace(summary, samples=ListedSamples())
    figures = {f"{row.of.text}: {row.name}": asdict(row.estimate) for row in summary.figures.rows()}
    return asdict(summary) | {"figures": figures}


@FAST
@given(samples(), st.randoms(use_true_random=False))
def test_the_order_of_samples_changes_nothing(made: list[Made], chance: random.Random) -> None:
    shuffled = list(made)
    chance.shuffle(shuffled)
    assert_same(plain(summarise(columns(shuffled), described())), plain(summarise(columns(made), described())))


@FAST
@given(samples())
def test_every_figure_lies_in_its_interval_and_stands_on_all_that_was_planned(made: list[Made]) -> None:
    for found in slices_of(summarise(columns(made), described())):
        for estimate in found.values():
            if estimate.n == 0:
                assert estimate.value is None
            if estimate.low is None or estimate.high is None:
                assert estimate.low is estimate.high
            else:
                assert estimate.n >= 2
                assert estimate.value is not None
                assert estimate.low <= estimate.value <= estimate.high
        for estimate in (
            found["average"],
            found["median"],
            found["pass_rate"],
            *found.each("band.<band>").values(),
            *found.each("score.<component>.points").values(),
        ):
            assert estimate.n + estimate.n_missing == found.n_planned
        rates = found.each("findings.<code>.rate")
        for estimate in (found["average"], found["pass_rate"], *found.each("band.<band>").values(), *rates.values()):
            assert 0 <= (estimate.low or 0) <= (estimate.high or 0) <= 1


@FAST
@given(samples())
def test_the_slices_of_a_factor_add_up_to_the_run(made: list[Made]) -> None:
    summary = summarise(columns(made), described())
    whole = summary.overall
    for factor in ("category", "difficulty", "variant"):
        parts = summary.slices.get(factor)
        if not parts:
            continue
        assert sum(part.n_planned for part in parts) == whole.n_planned
        assert sum(part["average"].n for part in parts) == whole["average"].n
        for outcome, n in whole.outcomes.items():
            assert sum(part.outcomes.get(outcome, 0) for part in parts) == n
        for code, n in whole.counts("findings.<code>").items():
            assert sum(part.counts("findings.<code>").get(code, 0) for part in parts) == n
        if whole["average"].n:
            total = sum((part["average"].value or 0) * part["average"].n for part in parts)
            assert total / whole["average"].n == pytest.approx(whole["average"].value)


@FAST
@given(samples())
def test_the_bands_of_a_slice_add_up_to_one(made: list[Made]) -> None:
    for found in slices_of(summarise(columns(made), described())):
        if found["average"].n:
            assert sum(each.value or 0 for each in found.each("band.<band>").values()) == pytest.approx(1)


@settings(FAST, max_examples=examples(20))
@given(samples())
def test_fixing_a_code_never_lowers_the_average_and_never_lifts_it_above_one(made: list[Made]) -> None:
    summary = summarise(columns(made), described())
    assert {found.code: found.count for found in found_codes(summary)} == summary.overall.counts("findings.<code>")
    for found in found_codes(summary):
        average, mended = summary.overall["average"], found.if_fixed
        assert average.value is not None
        assert mended.value is not None
        assert average.value - 1e-12 <= mended.value <= 1
        assert (mended.n, mended.n_missing) == (average.n, average.n_missing)
        assert found.gain == pytest.approx(mended.value - average.value)


@settings(FAST, max_examples=examples(20))
@given(samples())
def test_every_cell_is_held_failed_or_undecided(made: list[Made]) -> None:
    summary = summarise(columns(made), described())
    cells = {(each.case, each.variant) for each in made}
    for repeated in summary.repeated[""].values():
        assert repeated.passed + repeated.failed + repeated.undecided == len(cells)
    for factor in ("category", "difficulty", "variant"):
        for text, whole in summary.repeated[""].items():
            parts = [summary.repeated[each.key.text][text] for each in summary.slices.get(factor, [])]
            assert not parts or sum(each.failed for each in parts) == whole.failed
