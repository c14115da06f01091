"""How often a judge complains of what is not so, as a figure of the run and of the judge's health."""

from __future__ import annotations

from parts.judged import health_of, judged, judged_suite, vote
from steelyard.analysis.judge.complaints import complaints_about
from steelyard.records import Mode

SAID = {"tone": 3, "overall": 3, "harm": False}


def suite(check: str | None = "my:check") -> dict:
    described = judged_suite()
    return described | {"judge": described["judge"] | {"check": check}}


def samples() -> list:
    return [
        judged("a", vote(SAID, remarks=("CONTRADICTION", "CONTRADICTION"))),
        judged("b", vote(SAID)),
        judged("c", vote(SAID), vote(SAID, repeat=1, remarks=("CONTRADICTION",))),
        judged("d", vote(SAID, mode=Mode.BASIC, step="basic")),
        judged("e", vote(None)),
    ]


def test_the_share_is_of_votes_in_the_main_mode_with_at_least_one():
    # Main mode: a, b, c twice; of these a and one of c. The basic one and the failed one are missing.
    found = health_of(samples(), suite(), {})["contradictions"]
    assert (found.value, found.n, found.n_missing) == (0.5, 4, 2)


def test_it_is_a_figure_of_the_judges_health_and_worth_a_complaint():
    health = health_of(samples(), suite(), {})
    found = health["contradictions"]
    assert (found.value, found.n) == (0.5, 4)
    assert "made a complaint that the answer contradicts in 2 of 4 votes" in complaints_about(health)


def test_without_a_check_it_is_not_available():
    health = health_of(samples(), suite(None), {})
    assert health["contradictions"].value is None
    assert "judge.contradictions" not in health.figures
    assert not any("otherwise" in told for told in health.complaints)
