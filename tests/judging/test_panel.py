import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.small_judge import judge
from steelyard.judging.panel import combine
from steelyard.records import Mode, Vote

RULE = "when true then tone <= 2"


def vote(tone, flag=False, *, capped=None, bound_flag=None, mode=Mode.MODEL, member="a"):
    raw = {"tone": tone, "plot_sense": 3, "harm_flag": flag}
    after = (
        raw | ({} if capped is None else {"tone": capped}) | ({} if bound_flag is None else {"harm_flag": bound_flag})
    )
    by = {name: RULE for name in raw if raw[name] != after[name]}
    return Vote(member, 0, mode, "strict", raw, after, by)


def failed(message="timeout: 60 s", member="a"):
    return Vote(member, 0, None, "failed", message=message)


def test_one_vote_is_what_it_says():
    come_to = combine(judge(), [vote(4)])
    assert come_to.mode is Mode.MODEL
    assert come_to.capped == {"tone": 4, "plot_sense": 3, "harm_flag": False}
    assert (come_to.capped_by, come_to.remarks, come_to.message) == ({}, (), "")


@pytest.mark.parametrize(
    ("tones", "median"),
    [([2, 5, 4], 4), ([4, 5], 4.5), ([1, 2, 4, 5], 3), ([3, 3, 3, 4], 3), ([1, 2, 3, 4], 2.5)],
)
def test_the_median_is_the_middle_or_the_mean_of_the_two_in_the_middle(tones, median):
    assert combine(judge(disagreement=9), [vote(tone) for tone in tones]).capped["tone"] == median


def test_a_majority_is_more_than_half():
    most = judge(combine="majority")
    assert combine(most, [vote(4), vote(2), vote(4)]).capped["tone"] == 4
    nothing = combine(most, [vote(4), vote(2), vote(4), vote(2)])
    assert (nothing.mode, nothing.capped) == (None, {})
    assert nothing.message == "no majority in the panel: tone"
    assert ("NO_MAJORITY", "tone", "a 4, a 2, a 4, a 2") in [
        (one.code, one.dimension, one.message) for one in nothing.remarks
    ]


def test_rules_can_make_a_majority_that_the_raw_scores_have_not():
    come_to = combine(judge(combine="majority"), [vote(5, capped=2), vote(4, capped=2), vote(3, capped=2)])
    assert come_to.capped["tone"] == 2
    assert "tone" not in come_to.uncapped
    assert come_to.capped_by == {"tone": RULE}


@pytest.mark.parametrize(
    ("flags", "majority", "any_of_them"),
    [
        ([True, False, False], False, True),
        ([True, True, False], True, True),
        ([True, False], True, True),
        ([False, False], False, False),
    ],
)
def test_a_flag_is_set_by_most_or_by_any_and_a_tie_sets_it(flags, majority, any_of_them):
    ballots = [vote(3, flag) for flag in flags]
    assert combine(judge(), ballots).capped["harm_flag"] is majority
    assert combine(judge(flags="any"), ballots).capped["harm_flag"] is any_of_them


def test_modes_are_never_mixed():
    come_to = combine(judge(), [vote(4), vote(1, mode=Mode.BASIC), vote(4)])
    assert (come_to.mode, come_to.capped["tone"]) == (Mode.MODEL, 4)
    come_to = combine(judge(), [vote(4), vote(1, mode=Mode.BASIC), vote(1, mode=Mode.BASIC)])
    assert (come_to.mode, come_to.capped["tone"]) == (Mode.BASIC, 1)
    come_to = combine(judge(), [vote(4), vote(1, mode=Mode.BASIC)])
    assert (come_to.mode, come_to.capped["tone"]) == (Mode.MODEL, 4)
    come_to = combine(judge(), [vote(4), vote(1, mode=Mode.BASIC), failed()])
    assert come_to.mode is None
    assert come_to.message == "of 3 judges fewer than half gave scores of one mode: 1 model, 1 basic, 1 none"


def test_code_does_not_fill_in_for_models_that_failed():
    come_to = combine(judge(), [vote(5, mode=Mode.RULES), failed(), failed()])
    assert come_to.mode is None


def test_judges_that_failed_are_neither_zeros_nor_out_of_sight():
    come_to = combine(judge(), [vote(4), failed(), vote(5)])
    assert (come_to.mode, come_to.capped["tone"]) == (Mode.MODEL, 4.5)
    nothing = combine(judge(), [vote(4), failed(member="b"), failed("tone: 7 is not ...", "c")])
    assert (nothing.mode, nothing.uncapped, nothing.capped) == (None, {}, {})
    assert nothing.message == "2 of 3 judges gave no scores: b: timeout: 60 s; c: tone: 7 is not ..."
    assert combine(judge(), [vote(4), failed()]).capped["tone"] == 4
    assert combine(judge(), [vote(4), failed(), failed()]).message == "2 of 3 judges gave no scores: a: timeout: 60 s"
    assert combine(judge(), [failed()]).message == "a: timeout: 60 s"
    assert combine(judge(), []).message == "no judge was asked"


def test_votes_far_apart_are_remarked_on():
    def far(*tones):
        ballots = [vote(tone, member=name) for tone, name in zip(tones, "abc", strict=False)]
        return [(one.code, one.dimension, one.message) for one in combine(judge(), ballots).remarks]

    assert far(2, 4, 3) == [("DISAGREEMENT", "tone", "a 2, b 4, c 3")]
    assert far(3, 4, 3) == []
    assert [one.message for one in combine(judge(), [vote(3, True), vote(3)]).remarks] == ["a true, a false"]


def test_disagreement_is_about_what_was_said_before_rules_made_it_equal():
    come_to = combine(judge(), [vote(5, capped=2), vote(2)])
    assert [one.message for one in come_to.remarks] == ["a 5, a 2"]


def test_the_rule_of_the_vote_that_decides_is_named():
    other = Vote("b", 0, Mode.MODEL, "strict", {"tone": 5, "plot_sense": 3, "harm_flag": False},
                   {"tone": 4, "plot_sense": 3, "harm_flag": False}, {"tone": "another rule"})  # fmt: skip
    # bound tones 4, 2, 2: the median 2 is decided by the second
    assert combine(judge(), [other, vote(5, capped=2), vote(5, capped=2)]).capped_by == {"tone": RULE}
    # raw 5, 4, 3 has the median 4; bound 2, 4, 3 has 3, given by a vote that no rule bound: the rule moved it there
    assert combine(judge(), [vote(5, capped=2), vote(4), vote(3)]).capped_by == {"tone": RULE}
    assert combine(judge(), [vote(5, capped=2), vote(3), vote(3)]).capped_by == {}


def test_a_flag_that_a_rule_set_names_the_rule():
    come_to = combine(judge(), [vote(3, False, bound_flag=True), vote(3, False, bound_flag=True)])
    assert (come_to.uncapped["harm_flag"], come_to.capped["harm_flag"]) == (False, True)
    assert come_to.capped_by == {"harm_flag": RULE}


VOTES = st.tuples(st.integers(1, 5), st.integers(1, 5), st.booleans(), st.booleans()).map(
    lambda made: vote(max(made[:2]), made[2], capped=min(made[:2]), bound_flag=made[2] or made[3])
)


@given(
    st.lists(VOTES, min_size=1, max_size=7),
    st.sampled_from(["median", "majority"]),
    st.sampled_from(["any", "majority"]),
)
def test_what_counts_never_exceeds_what_was_said(votes, how, flags):
    come_to = combine(judge(combine=how, flags=flags), votes)
    if come_to.mode is None:
        assert how == "majority"
        return
    if "tone" in come_to.uncapped:
        assert come_to.capped["tone"] <= come_to.uncapped["tone"]
        assert ("tone" in come_to.capped_by) == (come_to.capped["tone"] != come_to.uncapped["tone"])
    assert come_to.capped["harm_flag"] >= come_to.uncapped["harm_flag"]
    if how == "median":
        assert come_to.capped["tone"] == statistics.median(one.capped["tone"] for one in votes)


@given(st.lists(VOTES, min_size=1, max_size=6), st.randoms())
def test_the_order_of_votes_does_not_matter(votes, rng):
    shuffled = rng.sample(votes, len(votes))
    first, second = combine(judge(), votes), combine(judge(), shuffled)
    assert (first.mode, first.uncapped, first.capped) == (second.mode, second.uncapped, second.capped)
