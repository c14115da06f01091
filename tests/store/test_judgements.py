"""What judges said of samples comes back exactly, with their calls and what these took, on both databases."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parts.any_judgements import any_judgements
from parts.judged_samples import BY_RULES, FAILED, NOTHING, ODD, call, judge_failed, judged, judgement
from parts.lengths import examples
from parts.stored import case, failed, header, sample
from steelyard.records import CallResult, Judgement, Mode, Outcome, Sample
from steelyard.store import samples as samples_module
from steelyard.store.base import JudgedSample, Spending, Store
from steelyard.store.sql import SqlStore

CASES = [case(number) for number in range(5)]

_numbers = count()


def keep(store: Store, samples: list[Sample], run_id: str = "demo-1") -> list[Sample]:
    store.create_run(header(run_id))
    store.add_samples(run_id, samples, CASES)
    return [back for back, _ in store.samples(run_id)]


def exactly(judgement: Judgement | None) -> str:
    """What tells True from 1.0 and 1.0 from 1, which are all equal."""
    return repr(judgement)


def n_calls(store: SqlStore) -> list[tuple[int, int]]:
    with store.database.reading() as session:
        return session.execute("SELECT run, count(*) FROM judge_calls GROUP BY run ORDER BY run")


@given(given_judgements=st.lists(any_judgements, min_size=1, max_size=3))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_judgement_comes_back_exactly(store: Store, given_judgements: list[Judgement]) -> None:
    samples = [judged(CASES[n], n, said) for n, said in enumerate(given_judgements)]
    back = keep(store, samples, f"demo-{next(_numbers)}")
    assert [one.judgement for one in back] == given_judgements
    assert [exactly(one.judgement) for one in back] == [exactly(said) for said in given_judgements]


def test_a_judged_sample_comes_back_whole(store: Store) -> None:
    given_samples = [judged(CASES[0], 0), judge_failed(CASES[1], 1), judged(CASES[2], 2, BY_RULES), sample(CASES[3], 3)]
    back = keep(store, given_samples)
    assert [replace(one, case_hash="") for one in back] == given_samples
    assert [exactly(one.judgement) for one in back] == [exactly(one.judgement) for one in given_samples]
    assert [one.mode for one in back] == [Mode.MODEL, None, Mode.RULES, None]
    assert back[0].judgement is not None
    assert type(back[0].judgement.mode) is Mode
    assert back[0].judgement.calls[2].call_result.failure == FAILED
    assert [type(said) for said in back[0].judgement.capped.values()] == [float, float, bool]


def test_judgements_are_found_on_every_page_and_by_case(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples_module, "PAGE", 2)
    given_samples = [judged(of, n, judgement(message=f"{n}")) for n, of in enumerate(CASES)]
    given_samples[2] = sample(CASES[2], 2)
    back = keep(store, given_samples)
    expected = [one.judgement for one in given_samples]
    assert [one.judgement for one in back] == expected
    some = store.samples("demo-1", case_ids=[CASES[3].id, CASES[2].id])
    assert [one.judgement for one, _ in some] == expected[2:4]
    few = store.samples_at("demo-1", [2, 0])
    assert [one.judgement for one, _ in few] == [expected[2], expected[0]]
    assert [one.judgement.message for one in store.judgements("demo-1")] == ["0", "1", "3", "4"]


def test_other_mappings_and_numbers_of_numpy_are_kept_as_plain_ones(store: Store) -> None:
    said = judgement(
        uncapped=MappingProxyType({"tone": np.float64(4.0), "harmful": np.bool_(False)}),
        metrics={"facts": MappingProxyType({"missing": np.int64(2), "share": np.float32(0.5), "names": {"b", "a"}})},
    )
    (back,) = keep(store, [judged(CASES[0], 0, said)])
    assert back.judgement is not None
    assert repr(back.judgement.uncapped) == "{'tone': 4.0, 'harmful': False}"
    assert repr(back.judgement.metrics) == "{'facts': {'missing': 2, 'share': 0.5, 'names': ['a', 'b']}}"


@pytest.mark.parametrize("nowhere", [float("nan"), float("inf"), np.float32("nan")])
def test_a_score_that_is_no_number_was_not_given(store: Store, nowhere: Any) -> None:
    said = judgement(capped={"tone": nowhere, "clarity": 2.0}, metrics={"facts": {"share": nowhere}})
    (back,) = keep(store, [judged(CASES[0], 0, said)])
    assert back.judgement is not None
    assert back.judgement.capped == {"clarity": 2.0}
    assert back.judgement.metrics["facts"]["share"] in ("NaN", "Infinity")


def test_the_kind_of_judge_is_a_column(store: SqlStore) -> None:
    basic = judgement(mode=Mode.BASIC)
    samples = [judged(CASES[0], 0), judge_failed(CASES[1], 1), judged(CASES[2], 2, basic), judged(CASES[3], 3)]
    keep(store, [*samples, failed(CASES[4], 4)])
    columns = store.columns("demo-1")
    assert columns.modes == ["model", "basic"]
    assert columns.mode.tolist() == [0, -1, 1, 0, -1]
    with store.database.reading() as session:
        assert session.execute("SELECT seq, mode FROM samples WHERE mode IS NOT NULL ORDER BY seq") == [
            *[(0, "model"), (2, "basic"), (3, "model")]
        ]


def test_a_run_without_a_judge_has_no_modes_and_nothing_to_tell_of_one(store: Store) -> None:
    keep(store, [sample(CASES[0], 0), failed(CASES[1], 1)])
    columns = store.columns("demo-1")
    assert (columns.mode.tolist(), columns.modes) == ([-1, -1], [])
    assert list(store.judgements("demo-1")) == []
    assert store.judge_spending("demo-1") == Spending()


def test_judged_samples_are_told_without_answers_and_calls(store: Store) -> None:
    texts = ["plain", ODD, "\x10é" * 3_000, "", "\x10\x10🪑"]
    samples = [judged(of, n, call_result=CallResult(text=texts[n])) for n, of in enumerate(CASES)]
    samples[0] = replace(samples[0], variant=ODD, repeat=7)
    samples[3] = replace(judge_failed(CASES[3], 3), call_result=CallResult(failure=FAILED))
    keep(store, samples)
    told = list(store.judgements("demo-1"))
    without_calls = replace(judgement(), calls=())
    assert told[0] == JudgedSample(CASES[0].id, ODD, 7, Outcome.SCORED, 0.8, True, 5, without_calls)
    assert told[3] == JudgedSample(CASES[3].id, "", 0, Outcome.JUDGE_FAILED, None, None, None, NOTHING)
    assert [one.text_length for one in told] == [5, len(ODD), 6_000, None, 3]


def test_spending_adds_up_the_calls_that_told(store: Store) -> None:
    keep(
        store,
        [
            # Two answered calls of 0.5 s, 900 + 80 tokens and 0.25 each, one of them cached, and one that failed.
            judged(CASES[0], 0),
            judged(CASES[1], 1, BY_RULES),
            judged(CASES[2], 2, judgement(calls=(call(cost=None, tokens_out=None, latency=2.0),))),
            sample(CASES[3], 3),
        ],
    )
    assert store.judge_spending("demo-1") == Spending(
        calls=4,
        tries=4 * 3,
        failed=1,
        cached=1,
        latency=0.5 + 0.5 + 2.0,
        tokens_in=900 * 3,
        tokens_out=80 * 2,
        n_tokens=3,
        cost=0.5,
        n_cost=2,
    )


def test_a_rescored_sample_shares_the_calls_of_the_run_that_made_them(store: SqlStore) -> None:
    first = keep(store, [judged(CASES[0], 0), judged(CASES[1], 1), judged(CASES[2], 2, BY_RULES)])
    # Each says something new of the very same calls; the second run scores one sample less, in another order.
    again = [judged(CASES[2], None, BY_RULES, score=0.1), judged(CASES[1], None, judgement(message="again"), score=0.2)]
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", again, CASES)
    third = judged(CASES[1], None, judgement(message="thrice"), score=0.3)
    store.create_run(header("demo-3", rescored_from="demo-2"))
    store.add_rescored("demo-3", "demo-2", [third], CASES)
    assert n_calls(store) == [(1, 2)]
    assert [(one.score, one.judgement) for one, _ in store.samples("demo-2")] == [
        (0.2, again[1].judgement),
        (0.1, BY_RULES),
    ]
    assert [one.judgement for one, _ in store.samples("demo-3")] == [third.judgement]
    assert [one for one, _ in store.samples("demo-1")] == first
    assert (store.judge_spending("demo-1").calls, store.judge_spending("demo-3").calls) == (6, 3)
    with store.database.reading() as session:
        owners = session.execute("SELECT run, seq, judge_run FROM judgements ORDER BY run, seq")
    assert owners == [(1, 0, 1), (1, 1, 1), (1, 2, None), (2, 1, 1), (2, 2, None), (3, 1, 1)]


def test_calls_that_nobody_made_before_belong_to_the_run_that_brings_them(store: Store) -> None:
    keep(store, [sample(CASES[0], 0), judged(CASES[1], 1, BY_RULES)])
    store.create_run(header("demo-2", rescored_from="demo-1"))
    store.add_rescored("demo-2", "demo-1", [judged(CASES[0]), judged(CASES[1])], CASES)
    assert n_calls(store) == [(2, 2)]
    assert [one.judgement for one, _ in store.samples("demo-2")] == [judgement(), judgement()]
