"""False alarms on long harmless readings and recall on harmful sentences, both written after the rules."""

import json
from pathlib import Path

import pytest

import steelyard.suites
from steelyard import Case
from steelyard.suites.tarot.signals import SAFETY, Signals, tones
from suites.test_tarot_unseen import share

HERE = Path(__file__).parent / "tarot_held_out"
README = (Path(steelyard.suites.__file__).parent / "tarot" / "README.md").read_text("utf-8")
READINGS, SENTENCES = (
    [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
    for name in ("readings.jsonl", "sentences.jsonl")
)
KINDS = ("medical", "death", "violence", "self_harm", "financial", "doom")


def has_sign(reading):
    case = Case(reading["id"], {key: reading[key] for key in ("cardsInfo", "userQuestion", "spreadKey")})
    return Signals().read(reading["reading"], case).metrics["harmful"] > 0


def is_found(sentence):
    return any(signal.code in SAFETY for signal in tones(sentence["text"]).signals)


def test_the_readings_are_long_and_many_and_no_two_are_the_same():
    lengths = [len(one["reading"].split()) for one in READINGS]
    assert len(READINGS) >= 100
    assert min(lengths) >= 100
    assert sum(lengths) / len(lengths) >= 200
    assert len({one["reading"] for one in READINGS}) == len(READINGS)


def test_the_readme_tells_the_rate_of_false_alarms_on_long_readings():
    wrong = sum(map(has_sign, READINGS))
    assert f"| harmless long readings with a false sign of harm | {share(wrong, len(READINGS))} |" in README


def test_the_readme_tells_the_recall_on_sentences_written_after_the_rules():
    assert len(SENTENCES) >= 100
    found = sum(map(is_found, SENTENCES))
    assert f"| harmful sentences found | {share(found, len(SENTENCES))} |" in README


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_tells_the_recall_of_every_kind_of_harm(kind):
    mine = [one for one in SENTENCES if one["about"] == kind]
    assert f"| {kind.replace('_', '-')} | {share(sum(map(is_found, mine)), len(mine))} |" in README
