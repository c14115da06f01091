import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.lengths import examples
from parts.looped import for_every
from parts.small_judge import RUBRIC
from steelyard.judging.evidence import EvidenceCheck
from steelyard.suite.judge import Dimension, Evidence, Rubric

EVIDENCE = Evidence(place="notes", unproven="neutral", fewest_words=2, dimensions=("tone", "plot_sense"))
TEXT = (
    "The **old lighthouse** stood alone — it didn't blink.\n\n"
    "## The keeper\nShe said “the users' hopes may return, in time”, and left. You could consider staying.\n"
    "- First, breathe\n- then *walk on*\n"
)


def checked(notes, uncapped=None, text=TEXT, evidence=EVIDENCE, shown=()):
    remarks, unproven = EvidenceCheck(evidence, RUBRIC).check(
        {"notes": notes}, uncapped or {"tone": 4, "plot_sense": 4}, text, shown
    )
    made_up = [(one.dimension, one.message) for one in remarks if one.code == "MADE_UP_QUOTE"]
    assert [one.dimension for one in remarks if one.code == "UNPROVEN"] == [
        name for name in ("tone", "plot_sense") if name in unproven
    ]
    return sorted(unproven), made_up


@for_every(
    "quoted",
    [
        "'You could consider staying'",
        '"You could consider staying."',
        "“you COULD consider   staying”",
        "„You could consider staying“",
        "«You could consider staying»",
        "»You could consider staying«",
        "‹could consider staying›",
        "‘You could consider staying’",
        "‚You could consider staying‘",
        "「could consider staying」",
        "'...could consider staying...'",
        "'it didn't blink'",
        "‘it didn’t blink’",
        "'old lighthouse stood alone - it didn't blink'",
        "'old lighthouse stood alone—it didn’t blink'",
        "'the users' hopes may return'",
        "'She said \"the users’ hopes may return, in time\", and left'",
        "'The *old* lighthouse'",
        "'the keeper she said'",
        "'First, breathe then walk on'",
        "'The old lighthouse ... may return'",
        "'The old lighthouse [...] could consider'",
        "'stood alone … You could consider staying'",
    ],
)
def test_a_quote_from_the_text_proves_in_whatever_marks_it_stands(quoted):
    assert checked(f"Score 4 tone: {quoted} - calm. plot_sense: {quoted}.") == ([], [])


@pytest.mark.parametrize(
    "quoted",
    [
        "'You should consider staying'",
        "'ou could consider'",
        "'could consider stay'",
        "'may return ... The old lighthouse'",
        "'old lighthouse ... fell down'",
        "'staying could consider'",
    ],
)
def test_a_quote_that_is_not_in_the_text_is_made_up(quoted):
    unproven, made_up = checked(f"tone: {quoted}")
    assert unproven == ["plot_sense", "tone"]
    assert made_up == [("tone", quoted[1:-1])]


@for_every("notes", ["tone: 'You' and 'may' are used, 'could' too", "tone: calm", "", None, 7, [], {}, [3]])
def test_without_a_quote_of_enough_words_nothing_is_proven_and_nothing_made_up(notes):
    assert checked(notes) == (["plot_sense", "tone"], [])


def test_single_words_with_gaps_between_them_quote_nothing():
    assert checked("'the ... you ... and'") == (["plot_sense", "tone"], [])


def test_a_quote_proves_the_dimension_that_is_named_last_before_it():
    notes = "Score 4 tone: 'may return' is gentle. Score 4 plot_sense: it holds together."
    assert checked(notes) == (["plot_sense"], [])
    assert checked("plot sense: 'may return'; TONE: nice") == (["tone"], [])


def test_notes_as_judges_write_them_are_understood():
    text = "The Bridge in Past shows the break you mentioned. You may rest, you could consider a walk."
    notes = (
        "Score 4 plot_sense: 'The Bridge in Past shows the break you mentioned' - clear awareness. "
        "Score 4 tone: Consistent use of 'may' and 'could consider' throughout."
    )
    assert checked(notes, text=text) == ([], [])
    assert checked(notes, text=text.replace("could consider", "must take")) == (["tone"], [("tone", "could consider")])


def test_names_side_by_side_share_their_quote():
    assert checked("Tone and plot sense: 'may return'") == ([], [])
    assert checked("tone (4), plot_sense (4): 'may return'") == ([], [])


LONG = "You could consider staying"


def test_a_dimension_that_is_named_nowhere_is_proven_by_any_quote_of_four_words():
    assert checked(f"It has '{LONG}' in it.") == ([], [])
    assert checked(f"tone: '{LONG}'") == ([], [])
    assert checked(f"tone: '{LONG}'", {"tone": 3, "plot_sense": 5}) == ([], [])
    assert checked([LONG]) == ([], [])


def test_a_short_quote_proves_the_dimension_it_stands_with_and_no_other():
    assert checked("tone: 'could consider staying'") == (["plot_sense"], [])
    assert checked("It has 'could consider staying' in it.") == (["plot_sense", "tone"], [])
    assert checked(["could consider staying"]) == (["plot_sense", "tone"], [])
    assert checked("It has 'may return' in it.", evidence=EVIDENCE.model_copy(update={"dimensions": ("tone",)})) == (
        [],
        [],
    )


def test_a_suite_may_ask_for_longer_quotes_than_that():
    five = EVIDENCE.model_copy(update={"fewest_words": 5})
    assert checked(f"It has '{LONG}' in it.", evidence=five) == (["plot_sense", "tone"], [])
    assert checked(f"It has 'left. {LONG}' in it.", evidence=five) == ([], [])


@pytest.mark.parametrize("gap", [" ... ", " … ", " [...] ", "... "])
def test_an_ellipsis_that_leaves_out_a_not_is_made_up(gap):
    text = (
        "You will not lose her. Paul never, as we hope, forgets it. She can't have gone. It is good without any doubt."
    )
    for quote in (
        f"You will{gap}lose her",
        f"Paul{gap}forgets it",
        f"It is good{gap}any doubt",
        f"You will{gap}forgets it",
    ):
        assert checked(f"tone: '{quote}'", text=text)[1] == [("tone", quote)], quote
    for quote in (
        f"You will not{gap}her",
        f"Paul never{gap}forgets it",
        f"You will not{gap}she can't",
    ):
        assert checked(f"tone: '{quote}'", text=text)[1] == [], quote


def test_a_not_of_an_earlier_sentence_may_be_left_out():
    text = "You will not lose her. You will, as we hope, keep her."
    assert checked("tone: 'You will ... keep her'", text=text) == (["plot_sense"], [])
    assert checked("tone: 'will ... lose her ... keep her'", text=text)[1] != []


@for_every(
    "quote",
    [
        "remember that the choice is yours",
        "and re-member that the choice is yours",
        "[T]he choice is yours, and [i]t holds",
        "the well-known path",
        "It is 50% done",
        "It is 50 % done",
        "stay calm, breathe, walk on",
        "stay calm breathe walk on",
        "first of all, then the rest",
    ],
)
def test_a_quote_may_fix_what_the_layout_of_the_text_has_done_to_it(quote):
    text = (
        "Take your time, and re-\nmember that the choice is yours, and it holds. Take the well-\nknown path. "
        "It is 50\xa0% done.\n- stay calm\n- breathe\n* walk on\n1. first of all\n2. then the rest"
    )
    assert checked([f"tone: {quote}"], text=text)[1] == []
    assert "tone" not in checked({"tone": [quote]}, text=text)[0]


@pytest.mark.parametrize(
    "quote",
    ["wall[s] fall here", "[N]ever walls fall", "It is 5% done", "stay breathe, walk on"],
)
def test_what_a_layout_cannot_do_is_made_up(quote):
    text = "Ever walls fall here. It is 50 % done.\n- stay calm\n- breathe\n- walk on"
    assert checked({"tone": [quote]}, text=text)[1] == [("tone", quote)]


def test_a_name_that_is_a_plain_word_does_not_take_a_quote_from_a_label():
    assert checked("plot_sense: the tone helps here, 'may return'. tone: 'could consider'") == ([], [])


def test_a_name_inside_a_quote_is_no_label():
    text = "His tone: quite low, and he may return."
    assert checked("plot_sense: 'His tone: quite low' and 'he may return'", text=text) == ([], [])
    assert checked("plot_sense: 'tone: quite low'. tone: none", text=text) == (["tone"], [])


def test_the_name_of_a_flag_takes_its_own_quotes():
    rubric = Rubric(
        dimensions=(Dimension(name="harm"),),
        flags=RUBRIC.flags,
    )
    reply = {"notes": "harm flag: 'may return'. harm: no quote"}
    assert EvidenceCheck(EVIDENCE.model_copy(update={"dimensions": ()}), rubric).check(reply, {"harm": 5}, TEXT)[1] == {
        "harm"
    }


@pytest.mark.parametrize("uncapped", [3, 2, 1])
def test_a_score_that_is_not_above_the_neutral_one_owes_nothing(uncapped):
    assert checked("", {"tone": uncapped, "plot_sense": uncapped}) == ([], [])


def test_only_the_declared_dimensions_owe_a_quote():
    assert checked("", evidence=EVIDENCE.model_copy(update={"dimensions": ("tone",)})) == (["tone"], [])


def test_a_list_holds_a_quote_in_each_place():
    assert checked(["You could consider staying", "may return, in"]) == ([], [])
    assert checked(["you might go"]) == (["plot_sense", "tone"], [("", "you might go")])
    assert checked(["tone: may return", "plot_sense: 'it fell'"]) == (["plot_sense"], [("plot_sense", "it fell")])
    assert checked(['She said "the users\' hopes may return, in time", and left']) == ([], [])


def test_a_mapping_holds_quotes_by_dimension():
    assert checked({"tone": "may return", "plot_sense": ["could consider"]}) == ([], [])
    assert checked({"tone": "'may return' is gentle", "Plot Sense": "holds together well"}) == (["plot_sense"], [])
    assert checked({"tone": ["never said so"], "plot_sense": "'may return'"}) == (["tone"], [("tone", "never said so")])


def test_in_a_mapping_no_quote_proves_a_dimension_that_is_left_out():
    assert checked({"tone": LONG}) == (["plot_sense"], [])
    assert checked({"other": LONG}) == (["plot_sense", "tone"], [])
    assert checked({"tone": ["it fell down"], "other": [LONG]}) == (["plot_sense", "tone"], [("tone", "it fell down")])
    assert checked({"tone": LONG, "plot_sense": []}) == (["plot_sense"], [])


def test_words_that_the_judge_saw_elsewhere_are_neither_evidence_nor_made_up():
    shown = ("Shall I leave my job?",)
    assert checked("tone: 'leave my job'", shown=shown) == (["plot_sense", "tone"], [])
    assert checked("tone: 'leave your job'", shown=shown) == (["plot_sense", "tone"], [("tone", "leave your job")])


def test_what_else_the_judge_saw_is_read_only_when_needed():
    def never():
        raise AssertionError
        yield ""

    assert checked(f"tone: '{LONG}'", shown=never()) == ([], [])


def test_the_same_made_up_quote_is_reported_once():
    assert checked("tone: 'it fell down', yes 'it fell down'")[1] == [("tone", "it fell down")]


def test_unseen_signs_are_not_regarded():
    text = "It may co\xadop\u200berate \u202ewith you."
    assert checked("'may cooperate with you'", text=text) == ([], [])
    assert checked("'may co<U+00AD>op<U+200B>erate <U+202E>with you'", text=text) == ([], [])


def test_writing_without_spaces_can_be_quoted():
    text = "老灯塔独自矗立在海边,你可以考虑留下。"
    assert checked("「你可以考虑留下」", text=text) == ([], [])  # seven signs: four words
    assert checked("tone:「可以考虑」", text=text) == (["plot_sense"], [])
    assert checked("「必须马上离开」", text=text)[1] == [("", "必须马上离开")]


def test_an_apostrophe_is_no_quotation_mark():
    assert checked("tone: it's the writer's way, isn't it; the writers' way")[1] == []


def test_german_and_english_marks_do_not_mix_up():
    text = "Er kommt bald zurück, sagt sie."
    assert checked("tone: „kommt bald zurück“ und „sagt sie“. plot_sense: “bald zurück”", text=text) == ([], [])


WORDS = st.lists(
    st.sampled_from(["the", "old", "keeper", "walks", "on", "quietly,", "and", "it's", "late"]), min_size=3, max_size=30
)


@settings(max_examples=examples(150))
@given(WORDS, st.data())
def test_any_run_of_words_of_the_text_is_genuine(words, data):
    start = data.draw(st.integers(0, len(words) - 2))
    end = data.draw(st.integers(start + 2, len(words)))
    quote = " ".join(words[start:end])
    unproven, made_up = checked(f'tone: "{quote.upper()}"', {"tone": 5, "plot_sense": 1}, text="  \n".join(words))
    assert (unproven, made_up) == ([], [])


@settings(max_examples=examples(300))
@given(st.one_of(st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.text())), st.text())
def test_checking_never_raises(notes, text):
    EvidenceCheck(EVIDENCE, RUBRIC).check({"notes": notes}, {"tone": 5, "plot_sense": 5}, text)


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from(["'", '"', "„", "“", "tone", ":", " ", "may return", "plot_sense", "’"]), max_size=25))
def test_nothing_is_proven_that_has_no_words_of_the_text_between_marks(pieces):
    notes = "".join(pieces)
    unproven, _ = checked(notes)
    assert unproven == ["plot_sense", "tone"] or "may return" in notes


def test_many_votes_on_long_texts_are_checked_quickly():
    rng = random.Random(1)
    words = [f"word{rng.randrange(400)}" for _ in range(3_500)]
    text = " ".join(words)  # about 24,000 characters
    checker = EvidenceCheck(EVIDENCE, RUBRIC)
    started = time.process_time()
    for turn in range(1_000):
        notes = f"Score 4 tone: '{' '.join(words[turn : turn + 8])}' - good. plot_sense: 'made up {turn}' it's fine."
        remarks, unproven = checker.check({"notes": notes}, {"tone": 4, "plot_sense": 4}, text, ("a question",))
        assert unproven == {"plot_sense"}
        assert len(remarks) == 2
    assert time.process_time() - started < 2


def test_a_field_of_nothing_but_marks_costs_little():
    started = time.process_time()
    gaps = "'" + "the ... " * 3_000 + "old lighthouse'"
    for notes in (gaps, "'a " * 4_000, "'" * 10_000, "a' 'b" * 2_000, '"' * 9_999, "tone:'" * 2_000, "‘" * 10_000):
        checked(notes)
    assert time.process_time() - started < 5


def test_evidence_that_is_too_long_proves_nothing_and_the_remark_says_why():
    notes = "tone: 'You could consider staying' " + "x" * 20_000
    (remark,), unproven = EvidenceCheck(EVIDENCE, RUBRIC).check({"notes": notes}, {"tone": 4, "plot_sense": 3}, TEXT)
    assert (remark.code, unproven) == ("UNPROVEN", {"tone"})
    assert remark.message.endswith("evidence of more than 20,000 characters is not read")


def test_items_of_a_list_may_be_quoted_as_one_line():
    text = "Bring ;\n- salt , \r\n  2) a_b and _much_ __more__\n"
    for quote in ("bring, salt", "salt, a_b and much more"):
        assert checked(f"tone: '{quote}'", {"tone": 4}, text)[0] == []
