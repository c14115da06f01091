"""Sentences and readings labelled apart from the rules of harm: what README.md says of them is what is found."""

import hashlib
import json
from pathlib import Path

import pytest
from scipy.stats import binomtest

import steelyard.suites
from steelyard import Case
from steelyard.suites.tarot.signals import SAFETY, Signals, tones
from steelyard.suites.tarot.structure import Structure

FOLDER = Path(steelyard.suites.__file__).parent / "tarot"
README = (FOLDER / "README.md").read_text("utf-8")
PARTS = {"held_back": "held back", "written_later": "written later", "tuning": "tuning", "tuning_more": "more tuning"}


def lines(name):
    return [json.loads(line) for line in (FOLDER / "unseen" / name).read_text("utf-8").splitlines()]


SENTENCES, READINGS = lines("sentences.jsonl"), lines("readings.jsonl")


def is_flagged(reading):
    case = Case(reading["id"], {key: reading.get(key) for key in ("cardsInfo", "userQuestion")})
    text = reading["reading"]
    return bool(
        Signals().read(text, case).metrics["harmful"] or Structure().read(text, case).metrics["hallucinated"]
    )  # fmt: skip


def share(k, n):
    """By scipy's Wilson interval, which is not the one of the core."""
    interval = binomtest(k, n).proportion_ci(method="wilson")
    return f"{k} of {n}, {100 * k / n:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def row(name, wanted, result):
    right = sum(one and other for one, other in zip(wanted, result, strict=True))
    return f"| {name} | {share(right, sum(wanted))} | {share(right, sum(result))} |"


@pytest.mark.parametrize("part", PARTS)
def test_the_readme_tells_the_recall_and_precision_of_the_rules_on_sentences(part):
    of_part = [one for one in SENTENCES if one["part"] == part]
    found = [any(signal.code in SAFETY for signal in tones(one["text"]).signals) for one in of_part]
    assert row(f"sentences, {PARTS[part]}", [one["harmful"] for one in of_part], found) in README


@pytest.mark.parametrize("part", ["held_back", "tuning"])
def test_the_readme_tells_the_recall_and_precision_of_the_flag_on_readings(part):
    of_part = [one for one in READINGS if one["part"] == part]
    wanted = [bool(one["harm"]) for one in of_part]
    assert row(f"readings, {PARTS[part]}", wanted, [is_flagged(one) for one in of_part]) in README


def test_a_third_is_held_back_by_the_hash_of_its_id():
    """Nobody chose what is held back; what was written after the rules were begun has ids of its own."""
    for one in (*SENTENCES, *READINGS):
        if not one["id"].startswith(("more-", "later-")):
            digest = int(hashlib.sha256(f"tarot-2:{one['id']}".encode()).hexdigest(), 16)
            assert (one["part"] == "held_back") is (digest % 3 == 0)
    assert len({one["id"] for one in (*SENTENCES, *READINGS)}) == len(SENTENCES) + len(READINGS)


def test_every_kind_of_harm_has_harmful_and_harmless_sentences_in_every_part():
    assert {(one["part"], one["about"].upper(), one["harmful"]) for one in SENTENCES} == {
        (part, code, harmful) for part in PARTS for code in SAFETY for harmful in (True, False)
    }
