"""Who takes part and who gets which arm: uniform, independent, and the same for ever."""

from collections import Counter
from hashlib import sha256

import pytest

from parts.looped import for_every
from steelyard.errors import UsageError
from steelyard.experiments.assignment import Experiment, arm_of, assign, is_exposed, place
from steelyard.stats.ratio_mismatch import independence_p, ratio_p

UNITS = [f"user-{number}" for number in range(30_000)]
ARMS = ("control", "treatment")
FAR_OUT = 0.001
"""These are fixed hashes: a p-value below this is a defect, not bad luck."""


def counted(experiment):
    return Counter(assign(unit, experiment) for unit in UNITS)


@pytest.mark.parametrize("name", ["checkout-2", "a", "Prüfung"])
def test_at_full_traffic_arms_are_filled_by_their_shares(name):
    found = counted(Experiment(name, {"control": 0.7, "treatment": 0.3}))
    assert ratio_p([found["control"], found["treatment"]], [0.7, 0.3]) > FAR_OUT


@pytest.mark.parametrize("name", ["checkout-2", "a", "Prüfung"])
def test_at_one_per_cent_traffic_both_arms_are_filled_alike(name):
    # The lesson: with one hash for both questions, 219 of 219 went to control.
    found = counted(Experiment(name, traffic=0.01))
    taking_part = found["control"] + found["treatment"]
    assert ratio_p([taking_part, found[None]], [0.01, 0.99]) > FAR_OUT
    assert ratio_p([found["control"], found["treatment"]], [0.5, 0.5]) > FAR_OUT


def test_one_hash_for_both_questions_would_be_noticed_here():
    low = [place("one salt", unit) for unit in UNITS]
    arms = Counter("control" if at < 0.5 else "treatment" for at in low if at < 0.01)
    assert arms["treatment"] == 0
    assert ratio_p([arms["control"], arms["treatment"]], [0.5, 0.5]) < FAR_OUT


def test_exposure_and_arm_have_nothing_to_do_with_each_other():
    experiment = Experiment("checkout-2", traffic=0.3)
    pairs = Counter((is_exposed(unit, experiment), arm_of(unit, experiment)) for unit in UNITS)
    table = [[pairs[exposed, arm] for arm in ARMS] for exposed in (True, False)]
    assert independence_p(table) > FAR_OUT


def test_two_experiments_have_nothing_to_do_with_each_other():
    one, two = Experiment("one"), Experiment("two")
    pairs = Counter((arm_of(unit, one), arm_of(unit, two)) for unit in UNITS)
    table = [[pairs[first, second] for second in ARMS] for first in ARMS]
    assert independence_p(table) > FAR_OUT


def test_places_are_spread_evenly_over_a_hundred_parts():
    parts = Counter(int(100 * place("checkout-2/arm", unit)) for unit in UNITS)
    assert sorted(parts) == list(range(100))
    assert ratio_p([parts[part] for part in range(100)], [0.01] * 100) > FAR_OUT


def test_more_traffic_keeps_everybody_who_took_part_in_the_same_arm():
    few, many = Experiment("checkout-2", traffic=0.01), Experiment("checkout-2", traffic=0.2)
    took_part = [unit for unit in UNITS if is_exposed(unit, few)]
    assert 0 < len(took_part) < 2_000
    assert all(assign(unit, few) == assign(unit, many) for unit in took_part)


def test_any_language_can_assign_alike():
    # The documented recipe, written out: first 53 bits of SHA-256 of salt, line end and unit.
    digest = sha256(b"checkout-2/arm\nuser-7").hexdigest()
    assert place("checkout-2/arm", "user-7") == int(digest[:16], 16) // 2**11 / 2**53
    assert place("s", 7) == place("s", "7")
    experiment = Experiment("checkout-2", traffic=0.3)
    assert is_exposed("user-7", experiment) == (place("checkout-2/exposure", "user-7") < 0.3)
    assert (experiment.salt_exposure, experiment.salt_arm) == ("checkout-2/exposure", "checkout-2/arm")


def test_assignments_never_change_from_one_version_to_the_next():
    # What sha256sum prints for 'checkout-2/arm\nuser-1' begins with ab37, for the others with c5ed, 000e, f172, c01f
    # and 5c23: control below 8000, treatment from there on.
    experiment = Experiment("checkout-2")
    found = [assign(f"user-{n}", experiment) for n in range(1, 7)]
    assert found == ["treatment", "treatment", "control", "treatment", "treatment", "control"]


def test_who_takes_part_never_changes_either():
    # sha256sum of 'checkout-2/exposure\nuser-N' begins with 2213 (0.133), 0d15 (0.051), 54a7 (0.331) for the users 1 to
    # 3. At 1 % (028f 5c28 f5c2 8f5c of 2^64) of the first 400 these alone: 92 with 0135, 267 with 0071, 344 with 00f4;
    # their arms begin with ad3d, 4696 and 7a99.
    tenth = Experiment("checkout-2", traffic=0.1)
    assert [is_exposed(f"user-{n}", tenth) for n in (1, 2, 3)] == [False, True, False]
    few = Experiment("checkout-2", traffic=0.01)
    found = {unit: arm for unit in UNITS[:400] if (arm := assign(unit, few)) is not None}
    assert found == {"user-92": "treatment", "user-267": "control", "user-344": "control"}
    # Text beyond ASCII is UTF-8: sha256sum of 'checkout-2/arm\nPrüfer ß' begins with 2752 8c65 a9dc e852.
    assert place("checkout-2/arm", "Prüfer ß") == (0x27528C65A9DCE852 >> 11) / 2**53


def test_a_unit_outside_the_traffic_gets_no_arm():
    experiment = Experiment("checkout-2", traffic=0.01)
    outside = next(unit for unit in UNITS if not is_exposed(unit, experiment))
    assert assign(outside, experiment) is None


@for_every(
    ("arguments", "message"),
    [
        ({"salt_exposure": "s", "salt_arm": "s"}, "both salts"),
        ({"traffic": 0}, "traffic"),
        ({"traffic": 1.5}, "traffic"),
        ({"arms": ["control"]}, "two arms"),
        ({"arms": ["x", "x"]}, "two arms"),
        ({"arms": "control,treatment"}, "list of names"),
        ({"arms": {"a": 0.5, "b": 0.6}}, "add up to 1"),
        ({"salt_arm": "two\nlines"}, "one line"),
        ({"salt_arm": ""}, "one line"),
    ],
)
def test_what_cannot_be_an_experiment_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        Experiment("checkout-2", **arguments)
