"""What judges said, as columns: texts with what their ballots came to, and the ballots themselves.

Only numbers are kept. NaN is "not said", and all that is said in another mode than the run's main one is not said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from steelyard.analysis.judge_model import JudgedText
from steelyard.analysis.rubric import DescribedRubric
from steelyard.records import REMARKS, Ballot, Judgement
from steelyard.stats.arrays import Array

FAILED = "failed"
"""The rung of a ballot without a reading."""


class Ballots:
    """The judgements of a run, read once."""

    def __init__(self, judged: Iterable[JudgedText], rubric: DescribedRubric) -> None:
        self.rubric = rubric
        self._names = (*rubric.dimensions, *rubric.flags)
        self.case_ids: dict[str, int] = {}
        self._units: dict[str, int] = {}
        self.modes: Counter[str] = Counter()
        self.rung_names: dict[str, int] = {}
        self._members: dict[str, int] = {}
        self.broken: Counter[str] = Counter()
        """Ballots that broke each rule."""
        self.n_aside = self.n_failed = 0
        self._texts: list[tuple[float, ...]] = []
        self._raw: list[list[float]] = []
        self._bound: list[list[float]] = []
        self._ballots: list[tuple[int, ...]] = []
        self._said: list[list[float]] = []
        for each in judged:
            self._read(each)
        self._to_columns()

    def _read(self, judged: JudgedText) -> None:
        judgement = judged.judgement
        text = len(self._texts)
        main = judgement.mode == self.rubric.mode
        self.n_failed += judgement.mode is None
        self.n_aside += judgement.mode is not None and not main
        length, passed = judged.text_length, judged.passed if main else None
        disagree = any(remark.code == "DISAGREEMENT" for remark in judgement.remarks)
        self._texts.append(
            (
                self.case_ids.setdefault(judged.case_id, len(self.case_ids)),
                np.nan if length is None else length,
                np.nan if passed is None else passed,
                disagree,
                self._units.setdefault(judged.unit, len(self._units)),
                judged.labelled,
            )
        )
        self._raw.append(self._values(judgement.raw, main))
        self._bound.append(self._values(judgement.bound, main))
        for ballot in judgement.ballots:
            self._count(ballot, text)
        if not judgement.ballots:
            self._count(_nothing(judgement), text)

    def _count(self, ballot: Ballot, text: int) -> None:
        main = ballot.mode == self.rubric.mode
        if ballot.mode is not None:
            self.modes[ballot.mode.value] += 1
        codes = {remark.code for remark in ballot.remarks} if main else set()
        if "RULE_BROKEN" in codes:
            self.broken.update(broken_rules(ballot))
        self._ballots.append(
            (
                text,
                self._members.setdefault(ballot.member, len(self._members)),
                self.rung_names.setdefault(ballot.rung, len(self.rung_names)),
                main,
                ballot.mode is None,
                is_unanswered(ballot),
                was_cut_off(ballot),
                *(code in codes for code in REMARKS),
            )
        )
        self._said.append(self._values(ballot.raw, main))

    def _values(self, said: Mapping[str, float | bool], main: bool) -> list[float]:
        return [float(said.get(name, np.nan)) if main else np.nan for name in self._names]

    def _to_columns(self) -> None:
        texts = np.array(self._texts, dtype=float).reshape(-1, 6)
        self.labelled: Array = texts[:, 5] > 0
        """Whether the labels of its case, if it has any, were given for the text."""
        self.case: Array = texts[:, 0].astype(int)
        self.unit: Array = texts[:, 4].astype(int)
        """The unit of evidence of each text: its case, or the cluster that the case is in."""
        self.length, self.passed, self.disagreed = texts[:, 1], texts[:, 2], texts[:, 3] > 0
        ballots = np.array(self._ballots, dtype=int).reshape(-1, 7 + len(REMARKS))
        self.text, self.member, self.rung = ballots[:, 0], ballots[:, 1], ballots[:, 2]
        self.main, self.failed, self.unanswered, self.cut_off = (ballots[:, column] > 0 for column in (3, 4, 5, 6))
        self._remarked = {code: ballots[:, 7 + i] > 0 for i, code in enumerate(REMARKS)}
        self._columns = {
            kind: np.array(rows, dtype=float).reshape(-1, len(self._names))
            for kind, rows in (("raw", self._raw), ("bound", self._bound), ("said", self._said))
        }
        self.n_texts, self.n = len(texts), len(ballots)
        for rows in (self._texts, self._raw, self._bound, self._ballots, self._said):
            rows.clear()

    def raw(self, name: str) -> Array:
        """By text, what the ballots come to for a dimension or flag, before rules and checks."""
        return self._column("raw", name)

    def bound(self, name: str) -> Array:
        """By text, what they come to after rules and checks."""
        return self._column("bound", name)

    def said(self, name: str) -> Array:
        """By ballot, what the judge said of a dimension or flag."""
        return self._column("said", name)

    def _column(self, kind: str, name: str) -> Array:
        column: Array = self._columns[kind][:, self._names.index(name)]
        return column

    def remarked(self, code: str) -> Array:
        """The ballots in the main mode that a remark of that code was made on."""
        return self._remarked[code]


def is_unanswered(ballot: Ballot) -> bool:
    """True when there is no reading because no call was ever answered; an answer that cannot be used is remarked."""
    return ballot.mode is None and all(remark.code != "VIOLATION" for remark in ballot.remarks)


def was_cut_off(ballot: Ballot) -> bool:
    """True when an answer behind the ballot broke off at the limit of tokens, whatever it was read as."""
    return any(remark.code == "CUT_OFF" for remark in ballot.remarks)


def broken_rules(ballot: Ballot) -> set[str]:
    """The rules that a ballot broke, as the suite writes them."""
    told = [remark.told for remark in ballot.remarks if remark.code == "RULE_BROKEN"]
    # A remark says the rule, then what was given against it.
    return {text.rpartition(": ")[0] or text for text in told}


def _nothing(judgement: Judgement) -> Ballot:
    """What stands for the ballots of a judge that gave none: a failure must not be out of sight."""
    return Ballot("", 0, None, FAILED, told=judgement.told)
