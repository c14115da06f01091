"""Planted errors about labeled texts: those that did not change, the easy ones, those that the judge passes."""

from __future__ import annotations

import csv
import json
import random
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from parts.command import invoke
from parts.judged_suite import TEXT, write_judged
from steelyard.suite.case import Case
from steelyard.suite.labels import is_labelled

N = 100
GATES = ["pass_rate >= 80 %"]
MUDDLE = "{text} A muddle, and a muddle."


def text_of(k: int) -> str:
    """Every tenth text is muddled, and fails by the judge; every fifth is long; every second is splendid."""
    text = TEXT.format(number=k) + " How splendid." * (k % 2) + " And so on and so forth." * (4 * (k % 5 == 3))
    return MUDDLE.format(text=text) if k % 10 == 4 else text


def good(k: int) -> dict[str, Any]:
    """What a reviewer says: as the judge, so that every labeled judge looks right."""
    return {"clarity": {"best": 2 if k % 10 == 4 else 4}, "harm": False}


def write(folder: Path, labelled: Iterable[int] | None = None, *, n: int = N, **judge: Any) -> Path:
    """A suite of 100 texts, half of them of the category easy, with labels of some; it requires a checked judge."""
    chosen = set(range(n) if labelled is None else labelled)
    suite = {"gates": GATES, "slices": ["input.language"]} | judge.pop("suite", {})
    judge = {"require_checked": True} | judge
    label = lambda k: good(k) if k in chosen else None  # noqa: E731
    path = write_judged(folder, n=n, texts={k: text_of(k) for k in range(n)}, label=label, suite=suite, **judge)
    cases = read(path, "cases")
    for k, case in enumerate(cases):
        case["category"] = "easy" if k % 4 < 2 else "hard"
        case["input"]["language"] = "en" if k % 3 else "de"
    put(path, "cases", cases)
    return path


def read(suite: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in suite.with_name(f"{name}.jsonl").read_text().splitlines()]


def put(suite: Path, name: str, rows: list[dict[str, Any]]) -> None:
    suite.with_name(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def change(suite: Path, rows: Iterable[int]) -> None:
    """The system now answers some cases worse, in words that the judge still passes."""
    answers = read(suite, "answers")
    for k in rows:
        answers[k]["answer"] = f"Nobody knows anything at all about number {k}, and nobody ever will know it."
    put(suite, "answers", answers)


def one_line(text: str) -> str:
    return " ".join(text.split())


def corrected() -> dict[str, Any]:
    report = json.loads(invoke("report", "LAST", "--json"))
    rates = {"rate": "pass_rate.corrected", "labels": "pass_rate.labels"}
    return report["judge_check"] | {name: report["figures"][figure] for name, figure in rates.items()}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


CHANGED = [k for k in range(N) if k % 5 < 3]
"""Sixty of the hundred answers."""


class TestLabelsThatRemainAfterAChange:
    def changed(self, here: Path, rows: Iterable[int] = CHANGED, **judge: Any) -> Path:
        path = write(here / "my", **judge)
        invoke("run", path)
        change(path, rows)
        return path

    @pytest.mark.parametrize("declared", ["chosen", "random"])
    def test_they_give_no_rate_and_check_no_judge(self, here, declared) -> None:
        path = self.changed(here, labels_are=declared)
        said = one_line(invoke("run", path, code=4))
        assert "60 labels are missing" in said
        assert "(c0, c1, c2, c5, c6, c7, c10, c11, c12, c15 and 50 more)" in said
        assert "the 40 others are not a random sample of all" in said
        assert "by the labels" not in said.replace("by the labels of", "")
        assert corrected()["rate"]["value"] is None
        # Of the 40 that still have labels ten are muddled: 30 of 100 are good, and up to 60 more.
        assert "between 30.0 % and 90.0 % of these 100 pass" in corrected()["message"]

    def test_a_gate_on_the_rate_by_labels_is_open(self, here) -> None:
        invoke("run", self.changed(here), code=4)
        (gate,) = json.loads(invoke("gate", "LAST", "--gate", "pass_rate.corrected >= 50 %", "--json", code=4))["gates"]
        assert (gate["verdict"], gate["value"]["value"]) == ("AMBIGUOUS", None)
        assert "60 labels are missing" in gate["reason"]

    @pytest.mark.parametrize("gate", ["average >= 40 %", "score.clarity.points >= 2", "score.harm.rate <= 10 %"])
    def test_no_other_figure_of_the_judge_passes_by_them(self, here, gate) -> None:
        path = self.changed(here, suite={"gates": [gate]})
        assert "60 labels are missing" in one_line(invoke("run", path, code=4))

    def test_two_changed_answers_are_enough_to_name_them(self, here) -> None:
        said = one_line(invoke("run", self.changed(here, (3, 41)), code=4))
        assert "2 labels are missing" in said
        assert "(c3, c41)" in said

    def test_labels_of_the_changed_texts_too_are_labels_of_all(self, here) -> None:
        invoke("run", self.changed(here, (3, 41)), code=4)
        import_labels(here, {3: False, 41: False}, "asked")
        found = corrected()
        # All but ten muddled texts passed by their labels; two more do not pass now: 88 of 100.
        assert (found["method"], found["rate"]["value"]) == ("labels alone", pytest.approx(0.88))
        invoke("gate", "LAST")

    def test_only_one_of_two_repeats_is_the_labeled_text(self, here) -> None:
        path = write(here / "my", suite={"target": {"python": "system:answer"}, "repeats": 2})
        path.with_name("system.py").write_text(
            "import json, pathlib\n"
            "lines = pathlib.Path(__file__).with_name('answers.jsonl').read_text().splitlines()\n"
            "texts = {row['case']: row['answer'] for row in map(json.loads, lines)}\nseen = set()\n"
            "def answer(case):\n    again = case.id in seen\n    seen.add(case.id)\n"
            "    return texts[case.id] + ' And a second time.' * again\n"
        )
        said = one_line(invoke("run", path, code=4))
        assert "100 labels are missing" in said
        assert "c0 #2" in said

    def test_a_variant_without_labels_leaves_the_other_its_rate(self, here) -> None:
        variants = {"variants": {"tone": ["plain", "polite"]}, "gates": ["pass_rate.corrected >= 50 %"]}
        path = write(here / "my", require_checked=False, suite=variants)
        answers = [row | {"variant": "plain"} for row in read(path, "answers")]
        answers += [row | {"variant": "polite", "answer": f"Please: {row['answer']}"} for row in answers]
        put(path, "answers", answers)
        assert "100 labels are missing" in one_line(invoke("run", path, code=4))
        report = json.loads(invoke("report", "LAST", "--json"))
        rates = {part["name"]: part["figures"]["pass_rate.corrected"] for part in report["slices"]["variant"]}
        assert rates["plain"]["value"] == pytest.approx(0.9)
        assert rates["polite"]["value"] is None

    def test_a_judge_is_not_called_fit_by_them(self, here) -> None:
        path = self.changed(here, health=["agreement.clarity.within_one >= 80 %"])
        assert "This judge is fit" in invoke("judge", "check", path, "--run", "LAST")
        invoke("run", path, code=4)
        card = one_line(invoke("judge", "check", path, "--run", "LAST", code=4))
        assert "60 texts have labels given for another text" in card[: card.index("Thresholds")]
        assert "60 labels are missing" in card
        (check,) = json.loads(invoke("judge", "check", path, "--run", "LAST", "--json", code=4))["thresholds"]
        assert "not shown: 60 texts have labels given for another text" in check["reason"]

    def test_two_runs_are_not_compared_by_them(self, here) -> None:
        path = self.changed(here)
        invoke("run", path, code=4)
        changes = json.loads(invoke("compare", "LAST~1", "LAST", "--json", code=4))["metrics"]
        assert "pass_rate.corrected" not in [change["name"] for change in changes]

    def test_a_history_shows_none(self, here) -> None:
        invoke("run", self.changed(here), code=4)
        runs = json.loads(invoke("history", "numbers", "--metric", "pass_rate.corrected", "--json"))
        values = [run["figures"]["pass_rate.corrected"]["value"] for run in runs["runs"]]
        assert values == [pytest.approx(0.9), None]

    def test_the_same_answers_judged_again_keep_their_labels(self, here) -> None:
        path = write(here / "my")
        invoke("run", path)
        invoke("rescore", "LAST", "--judge-again", "--yes")
        assert (corrected()["method"], corrected()["rate"]["value"]) == ("labels alone", pytest.approx(0.9))

    def test_a_sample_of_the_new_answers_gives_the_rate_whatever_labels_remain(self, here) -> None:
        """A person passes 12 of the 30 texts that chance drew, whatever the labels of the cases say."""
        invoke("run", self.changed(here), code=4)
        keys = draw("--random", "30")
        import_labels(here, dict.fromkeys(keys[:12], True) | dict.fromkeys(keys[12:], False), "random")
        assert 0.25 < corrected()["rate"]["value"] < 0.55
        assert corrected()["labels"]["n"] == 30


def draw(*options: str) -> list[int]:
    """The texts that a plan of the last run draws, by number, in its order."""
    invoke("label", "plan", *options, "--kind", "verdict", "--seed", "7")
    from steelyard.store.people import Queue
    from steelyard.store.sql import open_store

    store = open_store()
    keys = list(store.people.queued(Queue(store.run("LAST").id)))
    store.close()
    return [int(case.removeprefix("c")) for case, _, _ in keys]


def import_labels(here: Path, verdicts: dict[int, bool], drawn: str) -> None:
    """Verdicts on texts of the last run, by number, from a file that states how they were drawn."""
    with (here / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("case", "person", "verdict", "drawn"))
        rows.writerows((f"c{k}", "ann", "pass" if passes else "fail", drawn) for k, passes in verdicts.items())
    invoke("label", "import", str(here / "labels.csv"))


PICKED: dict[str, tuple[Callable[[int], bool], str]] = {
    "the easy category": (lambda k: k % 4 < 2, "category easy: 100.0 % of the labeled"),
    "one language": (lambda k: k % 3 > 0, "input.language en: 100.0 % of the labeled"),
    "short texts": (lambda k: k % 5 != 3 and k % 10 != 4, "length: median"),
    "high scores": (lambda k: k % 2 == 1 and k % 10 != 4, "score: median 0.75 of the labeled"),
}


def picked(n: int, fits: Callable[[int], bool]) -> list[int]:
    return [k for k in range(N) if fits(k)][:n]


def shuffled(n: int) -> list[int]:
    return random.Random(3).sample(range(N), n)


class TestLabelsOfTextsThatSomebodyPicked:
    @pytest.mark.parametrize("n", [20, 40])
    @pytest.mark.parametrize("kind", PICKED)
    def test_a_declared_random_sample_that_is_none_gives_no_rate(self, here, kind, n) -> None:
        fits, why = PICKED[kind]
        said = one_line(invoke("run", write(here / "my", picked(n, fits), labels_are="random"), code=4))
        assert "the labeled texts are declared as a random sample, but" in said
        assert why in said
        assert corrected()["rate"]["value"] is None
        assert corrected()["labels"]["low"] is None

    def test_only_texts_that_the_judge_passes_are_no_sample(self, here) -> None:
        """Sixty of the 90 that pass, none of the ten that do not: by chance one time in 10,000."""
        path = write(here / "my", picked(60, lambda k: k % 10 != 4), labels_are="random")
        said = one_line(invoke("run", path, code=4))
        assert "passed by the judge: 100.0 % of the labeled and 75.0 % of the other texts" in said

    def test_too_few_to_be_noticed_leave_the_others_open(self, here) -> None:
        """Twenty of the 90 that pass, spread like all: none of ten muddled texts is among 20 by chance in 10 %."""
        rows = random.Random(4).sample([k for k in range(N) if k % 10 != 4], 20)
        invoke("run", write(here / "my", rows, labels_are="random", require_checked=False))
        rate = corrected()["rate"]
        # 20 of 20 pass, Wilson's interval from 83.9 %: of 90 % of the texts; the other 10 % may be anything.
        assert rate["low"] == pytest.approx(0.9 * 20 / (20 + 1.959964**2), abs=1e-6)
        assert rate["high"] == pytest.approx(1.0)
        assert rate["value"] == pytest.approx(0.95)

    def test_a_declared_random_sample_that_looks_like_one_counts_and_says_so(self, here) -> None:
        invoke("run", write(here / "my", shuffled(40), labels_are="random"))
        assert "declared as random" in corrected()["why"]
        assert corrected()["rate"]["low"] < 0.9 < corrected()["rate"]["high"]

    def test_nobody_states_how_the_texts_were_chosen(self, here) -> None:
        """The same labels, undeclared: 40 of 100 texts, all but those of muddled ones good."""
        said = one_line(invoke("run", write(here / "my", shuffled(40)), code=4))
        assert said.count("the labeled texts are not known to be a random sample") == 1
        assert said.count("the judge is unchecked, and there is no pass rate by labels") == 1
        n_good = sum(k % 10 != 4 for k in shuffled(40))
        assert f"between {n_good}.0 % and {n_good + 60}.0 % of these 100 pass" in corrected()["message"]

    @pytest.mark.parametrize(
        ("drawn", "why"),
        [
            ("random", "declared as a random sample, but"),
            ("precision", "not known to be a random sample"),
            ("asked", "not known to be a random sample"),
        ],
    )
    def test_a_file_that_claims_a_draw_which_no_plan_recorded(self, here, drawn, why) -> None:
        invoke("run", write(here / "my", (), require_checked=False))
        import_labels(here, {k: k % 10 != 4 for k in picked(40, lambda k: k % 4 < 2)}, drawn)
        (gate,) = json.loads(invoke("gate", "LAST", "--gate", "pass_rate.corrected >= 10 %", "--json", code=4))["gates"]
        assert why in gate["reason"]
        assert "No estimate of the pass rate" in one_line(invoke("label", "estimate"))

    def test_a_recorded_draw_of_which_only_what_the_judge_passes_is_labeled(self, here) -> None:
        invoke("run", write(here / "my", (), require_checked=False))
        rows = [k for k in draw("--random", "90") if k % 10 != 4][:50]
        import_labels(here, dict.fromkeys(rows, True), "random")
        (gate,) = json.loads(invoke("gate", "LAST", "--gate", "pass_rate.corrected >= 10 %", "--json", code=4))["gates"]
        assert "of the sampled texts have no label, and" in gate["reason"]
        assert "passed by the judge: 100.0 % of the labeled" in gate["reason"]

    def test_a_recorded_draw_whose_beginning_is_labeled_counts(self, here) -> None:
        invoke("run", write(here / "my", (), require_checked=False))
        import_labels(here, {k: k % 10 != 4 for k in draw("--random", "90")[:50]}, "random")
        assert corrected()["method"] == "prediction-powered"
        invoke("gate", "LAST", "--gate", "pass_rate.corrected >= 80 %")

    def test_chosen_labels_of_cases_are_kept_out_of_a_recorded_draw(self, here) -> None:
        """Of 30 texts that chance drew a person passes 12; the cases bring labels of 30 easy ones, all good."""
        invoke("run", write(here / "my", picked(30, lambda k: k % 4 < 2), require_checked=False))
        keys = draw("--random", "30")
        import_labels(here, dict.fromkeys(keys[:12], True) | dict.fromkeys(keys[12:], False), "random")
        assert corrected()["labels"]["n"] == 30
        assert corrected()["labels"]["value"] == pytest.approx(0.4)

    def test_whole_clusters_are_few(self, here) -> None:
        """Forty texts of four documents: four units show nothing of the other six."""
        path = write(here / "my", range(40), labels_are="random")
        data = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump(data | {"cases": {"files": "cases.jsonl", "cluster": "document"}}))
        put(path, "cases", [case | {"document": f"d{k // 10}"} for k, case in enumerate(read(path, "cases"))])
        said = one_line(invoke("run", path, code=4))
        assert "labels of 4 cases or clusters are too few to compare" in said

    def test_labels_that_tell_of_some_texts_only_are_no_sample_of_them(self, here) -> None:
        """All texts are labeled, but whether a text harms is labeled for the first 40 only."""
        path = write(here / "my")
        cases = read(path, "cases")
        for case in cases[40:]:
            del case["expected"]["labels"]["harm"]
        put(path, "cases", cases)
        said = one_line(invoke("run", path, code=4))
        assert "not known to be a random sample" in said

    def test_a_judge_that_is_checked_on_a_part_says_so_on_its_card(self, here) -> None:
        path = write(here / "my", picked(40, lambda k: k % 4 < 2), labels_are="random", require_checked=False)
        invoke("run", path)
        card = one_line(invoke("judge", "check", path, "--run", "LAST"))
        assert "Corrected n/a: the labeled texts are declared as a random sample, but category easy" in card


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_labels_apply_to_the_same_text_in_another_encoding_of_its_accents(form):
    case = Case("c1", expected={"labelled": unicodedata.normalize(form, "Un café naïf.")})
    for other in ("NFC", "NFD"):
        assert is_labelled(unicodedata.normalize(other, "Un café\r\nnaïf."), case, "expected.labelled")
        assert not is_labelled(unicodedata.normalize(other, "Un cafe naif."), case, "expected.labelled")
