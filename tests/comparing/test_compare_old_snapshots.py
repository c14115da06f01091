"""Of an old snapshot nothing but the scores of its judge is known: these are compared, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parts.columns import Made
from parts.compared import compared
from steelyard.comparing.compare import compare
from steelyard.pairing.model import Moved, Part, Why

SCORED = {"name": "taste", "weight": 1.0, "code": "TASTE", "scale": [1, 5], "kind": "dimension"}
NAMED = ("EXTRA", "", 0.0)
"""What a judge names besides its scores."""
LOW = ("TASTE", "taste", 0.75)
"""A low score, which an old snapshot has, too."""


def run(mode, samples, sections=None, **more):
    judge = {"mode": mode, "rubric": {}, "members": []}
    signature = {"judge": "j1"} | more.pop("signature", {})
    described = {"components": [SCORED], "judge": judge}
    return compared(samples, described=described, sections=sections, signature=signature, **more)


def old(n=10, **more):
    return run("basic", [Made(f"c{i}", 0.0, parts={"taste": 2.0}, findings=(LOW,)) for i in range(n)], **more)


def new(n=10, **more):
    samples = [Made(f"c{i}", 1.0, parts={"taste": 4.0}, findings=(NAMED, NAMED)) for i in range(n)]
    told = [("style", "shot")] * (2 * n)
    return run("model", samples, sections=["main"] * (2 * n), confusions=told, id="made-2", **more)


def test_scores_are_compared_and_it_is_said_first():
    found = compare(old(), new())
    assert (found.pairs.comparable, found.pairs.fixed.count) == (10, 10)
    assert found.headline.verdict is Moved.BETTER
    change = found.signatures.changes[0]
    assert (change.part, change.means, change.a, change.b) == ("readings", Part.NOTED, "basic", "model")
    assert change.sentence.startswith("of A's judge only the scores could be read: ")
    points = next(each for each in found.metrics if each.name == "score.taste.points")
    assert (points.a.value, points.b.value) == (2.0, 4.0)


def test_what_only_one_judge_could_name_is_neither_new_nor_resolved():
    for found, side in ((compare(old(), new()), "A"), (compare(new(), old()), "B")):
        # The low scores are known of both, whatever the judge named.
        assert [each.code for each in found.codes] == ["TASTE"]
        assert (found.confusions.n, found.sections) == (0, ())
        assert not any(each.name == "findings.EXTRA" for each in found.metrics)
        why = f"of {side}'s judge only the scores could be read"
        assert [(each.what, each.name, each.why) for each in found.not_compared] == [
            ("findings that the judge names", "EXTRA", why),
            ("confusions", "", why),
        ]


def test_two_old_snapshots_lack_nothing_of_each_other():
    found = compare(old(), old())
    # Nothing moved, but they hold no texts: whether the judge read the same answers alike is not known.
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert [reason.partition(":")[0] for reason in found.headline.confounded_by] == [
        "drift of the judge was not measured"
    ]
    assert (found.signatures.changes, found.not_compared) == ((), ())


def test_another_judge_still_blocks():
    found = compare(old(), new(signature={"judge": "j2"}))
    assert found.headline.verdict is Moved.CANNOT_TELL
    assert [change.part for change in found.signatures.changes] == ["judge", "readings"]
    assert compare(old(), new(signature={"judge": "j2"}), allow_mismatch=True).headline.verdict is Moved.BETTER


def test_a_sample_of_which_only_the_scores_could_be_read_is_in_no_mean_of_the_others():
    b = new()
    mixed = replace(b.columns, mode=np.array([1] + [0] * 9), modes=["model", "basic"])
    found = compare(old(), replace(b, columns=mixed))
    assert (found.pairs.comparable, found.pairs.not_comparable[Why.OTHER_MODE].count) == (9, 1)


def test_rules_and_the_scores_of_a_model_are_not_compared():
    rules = run("rules", [Made("c0", 1.0, parts={"taste": 4.0})])
    found = compare(old(), rules, allow_mismatch=True)
    assert found.pairs.comparable == 0
    assert "readings" not in [change.part for change in found.signatures.changes]


def test_findings_of_an_answer_that_could_not_be_read_are_known_of_both():
    broken = [Made(f"c{i}", 0.0, "malformed", findings=(("FORMAT", "", 1.0),)) for i in range(3)]
    found = compare(run("basic", broken), run("model", broken))
    assert [(each.code, each.a, each.b) for each in found.codes] == [("FORMAT", 3, 3)]


def judged_by(model, digest, **more):
    member = {"name": "judge", "kind": "chat", "model": model}
    described = {"components": [SCORED], "judge": {"mode": "model", "rubric": {}, "members": [member]}}
    samples = [Made(f"c{i}", 1.0, parts={"taste": 4.0}) for i in range(10)]
    return compared(samples, described=described, signature={"judge": digest}, **more)


def test_a_judge_that_is_not_named_is_not_said_to_be_another():
    silent, named = judged_by(None, "j0"), judged_by("big", "j1", id="made-2")
    for found, side in ((compare(silent, named), "A"), (compare(named, silent), "B")):
        (change,) = found.signatures.changes
        assert (change.part, change.means) == ("judge", Part.SCALE)
        assert change.sentence.startswith(f"run {side} does not say which judge it was scored with: ")


def timed(seconds, **more):
    samples = [Made(f"c{i}", 1.0, parts={"taste": 4.0}, latency=seconds) for i in range(10)]
    return compared(samples, described={"components": [SCORED]}, **more)


def test_a_recording_that_does_not_say_how_long_it_took_is_not_the_faster_one():
    found = compare(timed(None), timed(8.0, id="made-2"))
    assert not any(each.group == "latency" for each in found.metrics)
    assert [(each.what, each.why) for each in found.not_compared] == [("latency", "only B has it")]
