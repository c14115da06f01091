"""`judge.figures`: what a judge says beyond its scores, declared by paths into its answer."""

import pytest

from parts.judged_suite import write_judged
from steelyard.errors import SuiteError
from steelyard.loading.load import load_suite
from steelyard.suite.signature import signature

RESPONSE = {
    "type": "object",
    "properties": {
        "reasons": {"type": "array", "items": {"type": "string"}},
        "parts": {
            "type": "object",
            "properties": {
                name: {"type": "object", "properties": {"found": {"type": "integer"}}} for name in ("head", "tail")
            },
        },
        "faults": {
            "type": "array",
            "items": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["dull", "long"]}}},
        },
        "sure": {"type": "number"},
        "clarity": {"type": "integer", "minimum": 1, "maximum": 5},
        "harm": {"type": "boolean"},
    },
    "required": ["reasons", "parts", "faults", "sure", "clarity", "harm"],
}


def judge_with(folder, figures, **more):
    return load_suite(write_judged(folder, response=RESPONSE, figures=figures, **more))


def message(folder, figures, **more):
    with pytest.raises(SuiteError) as caught:
        judge_with(folder, figures, **more)
    return str(caught.value)


def test_a_star_is_one_figure_for_each_key_that_the_response_lists(tmp_path):
    judge = judge_with(tmp_path, {"found": {"mean": "parts.*.found"}}).judge
    assert [(one.name, one.path, one.scale) for one in judge.means] == [
        ("found_head", "parts.head.found", (1.0, 5.0)),
        ("found_tail", "parts.tail.found", (1.0, 5.0)),
    ]


def test_a_plain_path_is_one_figure_on_its_own_scale(tmp_path):
    judge = judge_with(tmp_path, {"sureness": {"mean": "sure", "scale": [0, 1]}}).judge
    assert [(one.name, one.path, one.scale) for one in judge.means] == [("sureness", "sure", (0.0, 1.0))]


def test_words_are_counted_under_the_names_that_the_response_lists(tmp_path):
    count = judge_with(tmp_path, {"kinds": {"count": "faults[].kind"}}).judge.counts[0]
    assert (count.words, count.list_path, count.word_path) == (("dull", "long"), "faults", "kind")


def test_keys_in_the_suite_stand_before_those_of_the_response(tmp_path):
    judge = judge_with(
        tmp_path,
        {"found": {"mean": "parts.*.found", "keys": ["tail"]}, "why": {"count": "reasons[]", "keys": ["one"]}},
    ).judge
    assert [one.name for one in judge.means] == ["found_tail"]
    assert (judge.counts[0].words, judge.counts[0].word_path) == (("one",), "")


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"found": {"mean": "prats.*.found"}}, "the response has no prats: did you mean parts?"),
        ({"found": {}}, "judge.figures.found needs one of mean and count"),
        ({"found": {"mean": "sure", "count": "faults[].kind"}}, "judge.figures.found needs one of mean and count"),
        ({"found": {"mean": "parts..found"}}, "'parts..found' is not a path"),
        ({"found": {"mean": "faults[].kind"}}, "has no [] and at most one *"),
        ({"kinds": {"count": "faults.kind"}}, "is written with one []"),
        ({"why": {"count": "reasons[]"}}, "the response lists no keys there: write keys"),
        ({"clarity": {"mean": "sure"}}, "the name clarity is taken by the rubric's clarity"),
        ({"size": {"mean": "sure"}}, "the name size is taken by the component size"),
        ({"a.b": {"mean": "sure"}}, "must not be empty or hold dots"),
        ({"kinds": {"count": "faults[].kind", "keys": ["listed"]}}, "'listed' cannot be counted under that name"),
        ({"sure": {"mean": "sure", "scale": [1, 0]}}, "judge.figures.sure.scale: 1 is not below 0"),
        ({"found": {"maen": "sure"}}, "maen"),
    ],
)
def test_a_wrong_figure_is_reported(tmp_path, figures, words):
    wrong = message(tmp_path, figures)
    assert words in wrong
    assert len(wrong.splitlines()) == 1


def test_gates_stand_on_figures_and_on_nothing_that_is_none(tmp_path):
    figures = {"found": {"mean": "parts.*.found"}, "kinds": {"count": "faults[].kind"}}
    gates = ["score.found_head.points >= 3", "score.kinds.dull <= 50 %"]
    assert judge_with(tmp_path / "good", figures, suite={"gates": gates}).gates == tuple(gates)
    wrong = message(
        tmp_path / "bad", figures, suite={"gates": ["score.found_haed.points >= 3", "score.kinds.dul <= 50 %"]}
    )
    assert "no component 'found_haed': did you mean found_head?" in wrong
    assert "no measure of kinds 'dul': did you mean dull?" in wrong
    assert "cannot fail" in message(tmp_path / "idle", figures, suite={"gates": ["score.found_head.points >= 1"]})


def test_figures_are_part_of_what_is_made_of_an_answer_and_not_of_what_is_asked(tmp_path):
    plain, figured = (
        signature(judge_with(tmp_path / name, figures))
        for name, figures in (("plain", {}), ("figured", {"found": {"mean": "parts.*.found"}}))
    )
    assert plain.judge == figured.judge
    assert plain.rules != figured.rules
