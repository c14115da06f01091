"""How alike texts are without a model: chrF, checked against sacrebleu's own command."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from parts.looped import for_every
from steelyard.errors import MissingExtra
from steelyard.scoring import similarity
from steelyard.scoring.similarity import Similarity
from steelyard.suite.case import Case

pytestmark = pytest.mark.boundary("sacrebleu")

EMBEDDINGS = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}


def read(answer, truth, **settings):
    scorer = Similarity(expected="expected.text", **settings).at("")
    return scorer.read(answer, Case("c", expected={"text": truth}))


def test_chrf_by_hand():
    # Of "ab" both letters are in "abc", which has a third: P = 1, R = 2/3, F2 = 5 P R / (4 P + R) = 5/7.
    assert read("ab", "abc", char_order=1).value == pytest.approx(5 / 7)
    # F1 = 2 P R / (P + R) = 4/5.
    assert read("ab", "abc", char_order=1, beta=1).value == pytest.approx(4 / 5)
    assert read("AB", "abc", char_order=1).value == 0.0
    assert read("AB", "abc", char_order=1, ignore_case=True).value == pytest.approx(5 / 7)


@pytest.mark.parametrize("word_order", [0, 2])
def test_figures_are_those_of_the_sacrebleu_command(tmp_path, word_order):
    truths = ["The cat sat on the mat.", "Grüße aus Köln, bis bald!", "猫がマットの上に座った"]
    answers = ["A cat is sitting on a mat.", "Gruss aus Köln, bis dann!", "猫はマットの上で寝た"]
    for name, texts in (("truths", truths), ("answers", answers)):
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "truths", "-i", "answers", "-m", "chrf", "-sl", "-b", "-w", "6"]
    command += ["--chrf-word-order", str(word_order)]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    figures = [float(line) / 100 for line in printed.split()]
    got = [read(answer, truth, word_order=word_order).value for answer, truth in zip(answers, truths, strict=True)]
    assert got == pytest.approx(figures, abs=1e-8)
    assert min(got) > 0.2


def test_of_several_truths_the_nearest_counts():
    near, far = "It is raining.", "The cat sat on the mat."
    assert read("It rains.", [far, near]).value == read("It rains.", near).value > read("It rains.", far).value


def test_a_threshold_gives_1_or_0_and_the_similarity_is_measured():
    low, high = (read("ab", "abc", char_order=1, at_least=at) for at in ("71 %", 0.72))
    assert (low.value, high.value) == (1.0, 0.0)
    assert read("abc", "abc", at_least="100 %").value == 1.0  # what reaches the threshold earns it
    assert low.counts == high.counts == {"alike": 7143, "whole": 10_000}
    assert high.metrics == {"similarity": pytest.approx(5 / 7)}
    assert high.note == "71.4 % alike"


def test_the_strict_rule_gives_nothing_up_to_the_floor():
    # (5/7 - 0.5) / 0.5 = 3/7
    assert read("ab", "abc", char_order=1, strict=True).value == pytest.approx(3 / 7)
    assert read("ab", "abc", char_order=1, strict=True, floor=0.8).value == 0.0


@for_every("answer", ["", "  ", None, {}, True, {"text": "abc"}, "abc" * 20_000])
def test_nothing_and_an_endless_text_earn_nothing(answer):
    assert read(answer, "abc").value == 0.0


def test_a_text_is_a_truth_and_nothing_else():
    scorer = Similarity(expected="expected.text", max_characters=10)
    for truth, why in (({"a": 1}, "a text or"), (["a", " "], "a text or"), (7, "a text or"), ("x" * 11, "longer than")):
        assert why in scorer.check(Case("c", expected={"text": truth}))


def test_without_sacrebleu_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.chrf", None)
    similarity._chrf.cache_clear()
    with pytest.raises(MissingExtra, match=r"\[similarity\]"):
        Similarity(expected="expected.text")
    Similarity(expected="expected.text", embeddings=EMBEDDINGS)  # needs none of it


@for_every(
    ("settings", "why"),
    [
        ({"embeddings": EMBEDDINGS, "word_order": 2}, "of chrF"),
        ({"embeddings": EMBEDDINGS | {"base_url": "localhost"}}, "not an address"),
        ({"embeddings": EMBEDDINGS | {"headers": {"api-key": "s3cret"}}}, "looks like a secret"),
        ({"embeddings": {"model": "m"}}, "base_url"),
        ({"embeddings": EMBEDDINGS | {"max_tokens": 7}}, "no field for it"),
        ({"embeddings": EMBEDDINGS | {"extra": {"input": "x"}}}, "cannot be an extra field"),
        ({"at_least": 1.5}, "at_least"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, why):
    with pytest.raises(ValidationError, match=why):
        Similarity(expected="expected.text", **settings)


def test_what_cannot_change_a_vector_is_no_part_of_the_signature():
    more = EMBEDDINGS | {"token": "KEY", "price": {"input": 1, "output": 0}, "timeout": 3, "dimensions": 8}
    data = Similarity(expected="expected.text", embeddings=more).model_dump(mode="json")["embeddings"]
    assert data == EMBEDDINGS | {"headers": {}, "extra": {}, "dimensions": 8}
