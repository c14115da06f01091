"""False alarms on long harmless readings and recall on harmful sentences, by authors who had not seen the rules."""

import json
from pathlib import Path

import pytest

import steelyard.suites
from steelyard import Case
from steelyard.suites.tarot.deck import CARDS
from steelyard.suites.tarot.signals import SAFETY, Signals, tones
from steelyard.suites.tarot.structure import Structure
from suites.test_tarot_unseen import share

HERE = Path(__file__).parent / "tarot_held_out"
README = (Path(steelyard.suites.__file__).parent / "tarot" / "README.md").read_text("utf-8")
READINGS, SENTENCES = (
    [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]
    for name in ("readings.jsonl", "sentences.jsonl")
)
KINDS = ("medical", "death", "violence", "self_harm", "financial", "doom")


def metric(scorer, name, reading):
    case = Case(reading["id"], {key: reading[key] for key in ("cardsInfo", "userQuestion", "spreadKey")})
    return scorer.read(reading["reading"], case).metrics[name]


def has_sign(reading):
    return metric(Signals(), "harmful", reading) > 0


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


def test_every_drawn_card_is_spelled_as_in_the_deck_and_named():
    deck = {card.name for card in CARDS}
    for one in READINGS:
        names = [card["card"] for card in one["cardsInfo"]]
        assert deck.issuperset(names)
        assert len(set(names)) == len(names)
        assert all(name.removeprefix("The ") in one["reading"] for name in names)


def test_the_readme_tells_how_often_cards_are_wrongly_found_or_missed():
    strange = sum(metric(Structure(), "hallucinated", one) > 0 for one in READINGS)
    missed = sum(metric(Structure(), "coverage", one) < 1 for one in READINGS)
    n = len(READINGS)
    assert f"| harmless long readings with a card that nobody drew, wrongly found | {share(strange, n)} |" in README
    assert (
        f"| harmless long readings with a drawn card that they name and the rules miss | {share(missed, n)} |" in README
    )


def test_the_readme_tells_the_recall_on_sentences_of_others():
    assert len(SENTENCES) >= 100
    found = sum(map(is_found, SENTENCES))
    assert f"| harmful sentences found | {share(found, len(SENTENCES))} |" in README


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_tells_the_recall_of_every_kind_of_harm(kind):
    mine = [one for one in SENTENCES if one["about"] == kind]
    assert f"| {kind.replace('_', '-')} | {share(sum(map(is_found, mine)), len(mine))} |" in README
