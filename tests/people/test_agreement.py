"""How far people and judge agree, and what both say of a run. Figures are calculated by hand beside each."""

import json
from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from parts import stored
from parts.judged_suite import write_judged
from steelyard.analysis.judge.corrected import labelled_rate, stratified_mean
from steelyard.analysis.summary_from_store import summarise_stored
from steelyard.api import run_suite
from steelyard.loading.load import load_suite
from steelyard.people.agreement import agreement_of, pair
from steelyard.people.answer_agreement import answers_agreement, f1
from steelyard.people.estimates import estimates_of, powered_mean
from steelyard.people.labels import LabelTerms, Sheet, sheets
from steelyard.people.report import estimates_document
from steelyard.records import Outcome, RunFacts, RunState
from steelyard.report.render.markdown import to_markdown
from steelyard.stats.intervals import score_bounds
from steelyard.store.people import ASKED, PRECISION, RANDOM, SKIPPED, LabelRecord
from steelyard.store.sql import open_store

NAN = np.nan
N = 40


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A store with one run of 40 texts that a judge by rules scored: clarity 3, every fourth 4, none with harm."""
    folder = tmp_path_factory.mktemp("judged")
    texts = {k: f"Number {k} is a splendid number and that is all there is to say." for k in range(0, N, 4)}
    suite = load_suite(str(write_judged(folder / "suite", n=N, texts=texts)))
    run_suite(suite, store=str(folder / "steelyard.db"))
    store = open_store(str(folder / "steelyard.db"))
    yield store, store.run("LAST")
    store.close()


def label(header, k, person, clarity, *, harm=False, **more):
    value = {"clarity": clarity, "harm": harm}
    return LabelRecord(header.suite_name, f"c{k}", person, "scores", value, run_id=header.id, drawn=RANDOM, **more)


@pytest.fixture(scope="module")
def labelled(judged):
    """Ann labels all 40 as the judge does, Ben the first 20 a point lower from the tenth on, Ann 10 a second time."""
    store, header = judged
    said = [4 if k % 4 == 0 else 3 for k in range(N)]
    ann = [label(header, k, "ann", said[k], labelled_at=1000.0 + k) for k in range(N)]
    ben = [label(header, k, "ben", said[k] - (k >= 10), labelled_at=1000.0 + k) for k in range(20)]
    again = [label(header, k, "ann", said[k] + (k == 1), round=1) for k in range(10)]
    stored.add_planned(store, [*ann, *ben, *again])
    return agreement_of(store, header, str)


def by_name(agreement, name):
    return next(figure for figure in agreement.figures if figure.name == name)


def test_people_with_each_other(labelled):
    clarity = by_name(labelled, "clarity")
    (pair_,) = clarity.pairs
    # 10 of the 20 that both labelled are the same, Ann is 10 / 20 points above.
    assert (pair_.first, pair_.second) == ("ann", "ben")
    assert (pair_.agreement.value, pair_.agreement.n) == (0.5, 20)
    assert pair_.bias.value == 0.5
    assert (clarity.n_items, clarity.n_shared) == (40, 20)
    assert (clarity.agreement.value, clarity.agreement.n) == (0.5, 20)


def test_kappa_of_two_people_by_hand(labelled):
    """Ann: 5 fours and 15 threes. Ben: of the first ten 3 fours and 7 threes; of the others 2 threes and 8 twos.

    Both the same 10 / 20; by chance (5 x 3 + 15 x 9) / 400 = 0.375, so kappa is (0.5 - 0.375) / 0.625 = 0.2.
    """
    assert by_name(labelled, "clarity").pairs[0].kappa.value == pytest.approx(0.2)


def test_a_person_with_the_same_person_later(labelled):
    (itself,) = by_name(labelled, "clarity").itself
    assert (itself.first, itself.agreement.value, itself.agreement.n) == ("ann", 0.9, 10)


def test_the_judge_with_each_person_and_with_the_median(labelled):
    ann, ben, people = by_name(labelled, "clarity").judge
    assert (ann.second, ann.agreement.value, ann.agreement.n) == ("ann", 1.0, 40)
    assert (ben.second, ben.agreement.value, ben.agreement.n) == ("ben", 0.5, 20)
    # On ten items two people say two things: there is no median, and they are missing.
    assert (people.second, people.agreement.value, people.agreement.n) == ("people", 1.0, 30)


def test_drift_is_the_later_half_minus_the_earlier(labelled):
    assert {name: moved.value for name, moved in by_name(labelled, "clarity").drift.items()} == {
        "ann": 1.0,
        "ben": -1.0,
    }


def test_the_items_on_which_people_lie_apart_are_listed(labelled):
    listed = by_name(labelled, "clarity").disagreed
    assert len(listed) == 10
    assert all(said["ann"] - said["ben"] == 1 for _, said in listed)


def test_a_flag_that_all_leave_unset(labelled):
    harm = by_name(labelled, "harm")
    assert harm.agreement.value == 1.0
    assert harm.alpha.value is None  # without any variance alpha is undefined
    assert harm.nominal


def test_whether_answers_pass_follows_from_the_scores(labelled):
    """Pass is half of the scale: clarity 3 and 4 pass, 2 does not; Ben gives 2 to eight of the twenty."""
    passes = by_name(labelled, "passes")
    assert passes.pairs[0].agreement.value == 12 / 20
    assert passes.nominal


def test_a_skipped_item_is_missing(judged):
    _, header = judged
    skipped = LabelRecord(header.suite_name, "c30", "cid", "skipped", None, run_id=header.id)
    assert sheets([skipped], LabelTerms(header.description)) == {}


def test_names_are_what_the_caller_wants(judged, labelled):
    assert labelled.people == ("ann", "ben")
    store, header = judged
    assert agreement_of(store, header, {"ann": "person-1", "ben": "person-2"}.get).people == ("person-1", "person-2")


def test_the_median_of_people():
    sheet = Sheet(
        ("a", "b", "c"),
        tuple((name, "", 0) for name in "wxyz"),
        np.array([[1, 1, 1, 2], [1, 2, 3, NAN], [2, 2, NAN, NAN]]),
    )
    np.testing.assert_array_equal(sheet.median, [1, 2, NAN, 2])
    assert [value for _, value in sorted(sheet.by_item.items())] == pytest.approx([4 / 3, 5 / 3, 2, 2])


def test_two_raters_without_an_item_in_common():
    both = pair("a", "b", np.array([1.0, NAN]), np.array([NAN, 1.0]), np.arange(2), (1, 5))
    assert (both.agreement.value, both.agreement.n, both.kappa.value) == (None, 0, None)


def answer(person, case, value):
    return LabelRecord("demo", case, person, "answer", value)


def test_fields_and_lists_of_people_who_answer_themselves():
    span = {"start": 0, "end": 4, "label": "who"}
    labels = [
        answer("ann", "c0", {"title": "A Chair", "spans": [span, {**span, "end": 5}]}),
        answer("ben", "c0", {"title": "a  chair", "spans": [span]}),
        answer("ann", "c1", {"title": "Table", "spans": []}),
        answer("ben", "c1", {"title": "Desk", "spans": []}),
        answer("ben", "c2", {"title": "Lamp", "spans": [span]}),
    ]
    (found,) = answers_agreement(labels)
    assert (found.n, found.fields["title"].value, found.fields["title"].n) == (2, 0.5, 2)
    # One span in common, three in all: 2 x 1 / 3. Where neither has any nothing is said.
    assert found.lists["spans"].value == pytest.approx(2 / 3)


def test_f1_counts_an_item_as_often_as_it_is_there():
    assert f1([(["x", "x"], ["x"]), ([], ["y"])], np.arange(2)).value == pytest.approx(2 / 4)
    assert f1([([], [])], np.arange(1)).value is None


# ---- estimates


def test_the_mean_by_both_is_the_regression_estimate():
    """Labels are the judge's score plus or minus 1: cov(y, f) = var(f), the weight is 1, and the rest is 0 on average.

    f of the labelled: 1 3 1 3 (mean 2), y: 2 4 0 2 (mean 2). All six: 1 3 1 3 3 3, mean 14/6. So 14/6 + (2 - 2).
    """
    judge = np.array([1.0, 3, 1, 3, 3, 3])
    label_ = np.array([2.0, 4, 0, 2, NAN, NAN])
    estimate, weight = powered_mean(judge, label_, np.arange(6), (0, 5))
    assert weight == pytest.approx(1.0)
    assert estimate.value == pytest.approx(14 / 6)
    assert estimate.n == 6


def test_a_judge_that_knows_nothing_gets_no_weight():
    judge = np.array([1.0, 1, 3, 3, 5, 5])
    label_ = np.array([2.0, 4, 2, 4, NAN, NAN])
    estimate, weight = powered_mean(judge, label_, np.arange(6), (0, 5))
    assert (weight, estimate.value) == (0.0, 3.0)


def test_what_people_pass_is_weighted_by_what_the_judge_passes():
    """The judge passes 4 of 10. Of these people pass 1 and 1/2 (mean 3/4), of the others 0, 0 and 1/2 (mean 1/6)."""
    judge = np.array([1.0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    label_ = np.array([1.0, 0.5, NAN, NAN, 0, 0, 0.5, NAN, NAN, NAN])
    assert stratified_mean(judge, label_, np.arange(10)).value == pytest.approx(0.4 * 3 / 4 + 0.6 / 6)
    assert stratified_mean(judge[:5], label_[:5], np.arange(5)).value is None  # one label tells nothing of its spread


def test_the_interval_of_what_people_pass_by_hand():
    """As above. Variances of the two means: 1/32 x 2/2 = 1/32 (of 3/4), and 1/6 x 3/2/9 = 1/36 (of 1/6); the judge's
    40 % of ten add 0.4 x (3/4 - 0.4)^2 + 0.6 x (1/6 - 0.4)^2, over 10. One degree of freedom, as of two labels."""
    judge = np.array([1.0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    label_ = np.array([1.0, 0.5, NAN, NAN, 0, 0, 0.5, NAN, NAN, NAN])
    variance = 0.16 / 16 + 0.36 / 36 + (0.4 * 0.35**2 + 0.6 * (1 / 6 - 0.4) ** 2) / 10
    low, high = score_bounds(0.4, variance**0.5, 1, (0.0, 1.0))
    estimate = stratified_mean(judge, label_, np.arange(10))
    assert (estimate.low, estimate.high) == pytest.approx((low, high))


@pytest.mark.parametrize("n", [30, 120])
def test_the_interval_of_the_mean_holds_the_truth_19_times_in_20(n):
    rng = np.random.default_rng(n)
    hits = 0
    for _ in range(400):
        truth = rng.integers(1, 6, 200).astype(float)
        judge = np.clip(np.round(truth + rng.normal(0.5, 0.8, 200)), 1, 5)
        label_ = np.full(200, NAN)
        drawn = rng.permutation(200)[:n]
        label_[drawn] = truth[drawn]
        estimate, _ = powered_mean(judge, label_, np.arange(200), (1, 5))
        hits += estimate.low <= 3 <= estimate.high
    # Binomial(400, 0.95): fewer than 365 or more than 394 come less than once in 1,000 times; the seed is fixed.
    assert 365 <= hits <= 394


def test_estimates_stand_on_what_was_drawn_at_random(judged, labelled):
    store, header = judged
    estimates = estimates_of(store, header, label_cost=2.5)
    assert (estimates.n_random, estimates.n_other) == (40, 0)
    passes = estimates.figures[0]
    assert passes.name == "passes"
    # The judge passes all 40. On the eight that Ben gave a 2 people differ, and each passes in part: 32 + 8 / 2 of 40.
    assert (passes.judge.value, passes.together.value, passes.method) == (1.0, 36 / 40, "post-stratified")
    assert estimates.costs.labels == 70 * 2.5
    assert estimates.costs.judge_calls is None


@pytest.fixture
def fresh(tmp_path):
    """As `judged`, for one test alone: every fourth text has clarity 2 and fails. Ten clusters, two categories."""
    texts = {k: f"A muddle of {k} words." for k in range(0, N, 4)}
    declared = {"cases": {"files": "cases.jsonl", "cluster": "document"}}
    suite = write_judged(tmp_path / "suite", n=N, texts=texts, label=lambda _k: None, suite=declared)
    rows = [json.loads(line) for line in (suite.parent / "cases.jsonl").read_text().splitlines()]
    clustered = [
        row | {"document": f"document {k // 4}", "category": "many" if k < 34 else "few"} for k, row in enumerate(rows)
    ]
    (suite.parent / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in clustered))
    run_suite(load_suite(str(suite)), store=str(tmp_path / "steelyard.db"))
    store = open_store(str(tmp_path / "steelyard.db"))
    yield store, store.run("LAST")
    store.close()


def shown(estimates, header):
    return " ".join(to_markdown(estimates_document(estimates, header)).split())


def test_an_estimate_counts_what_was_skipped_and_only_what_says_something(fresh):
    """Twelve labels at random; three were skipped, one of which somebody labelled; a second time is no first one."""
    store, header = fresh
    given = [label(header, k, "ann", 3) for k in range(12)]
    given += [replace(label(header, k, "ben", 0), kind=SKIPPED, value=None) for k in (11, 12, 13)]
    given += [label(header, 30, "ann", 1, round=1), replace(label(header, 20, "ann", 1), drawn=ASKED)]
    given += [replace(label(header, 0, "cid", 3), drawn=PRECISION)]
    stored.add_planned(store, given)
    estimates = estimates_of(store, header, label_cost=1.0)
    assert (estimates.n_random, estimates.n_precision, estimates.n_other, estimates.n_skipped) == (12, 0, 1, 2)
    assert estimates.costs.labels == 15
    clarity = next(figure for figure in estimates.figures if figure.name == "clarity")
    assert (clarity.labels.value, clarity.labels.n) == (3.0, 12)
    assert "2 items drawn by chance, in no estimate: people skip what is hard" in shown(estimates, header)


def test_a_judge_that_is_against_people_gets_no_weight_and_four_times_the_labels_halve(fresh):
    """Of ten labels three are a 4 where the judge gives its lowest, seven a 3: labels alone, 33 / 10."""
    store, header = fresh
    stored.add_planned(store, [label(header, k, "ann", 3 if k % 4 else 4) for k in range(10)])
    clarity = next(figure for figure in estimates_of(store, header).figures if figure.name == "clarity")
    assert clarity.together.value == pytest.approx(3.3)
    assert clarity.why == "the judge counts with 0.00 of its own weight"
    assert clarity.more_to_halve == 30
    # Four times eleven labels are more than there are texts.
    stored.add_planned(store, [label(header, 10, "ann", 3)])
    clarity = next(figure for figure in estimates_of(store, header).figures if figure.name == "clarity")
    assert clarity.more_to_halve is None


def test_what_was_drawn_for_precision_is_weighed_in_the_pass_rate_and_in_no_mean(fresh):
    """The judge passes 30 of 40. People pass 2 of the 3 of these that they labelled, and none of all ten others."""
    store, header = fresh
    at_random = [label(header, k, "ann", 3 if k in (2, 3) else 1) for k in range(4)]
    more = [replace(label(header, k, "ann", 1), drawn=PRECISION) for k in range(4, N, 4)]
    stored.add_planned(store, at_random + more)
    estimates = estimates_of(store, header)
    passes = estimates.figures[0]
    assert (passes.method, passes.together.value) == ("prediction-powered", pytest.approx(0.75 * 2 / 3))
    assert (estimates.n_random, estimates.n_precision) == (4, 9)
    assert next(figure for figure in estimates.figures if figure.name == "clarity").labels.n == 4


def test_a_category_of_few_items_is_no_slice(fresh):
    store, header = fresh
    stored.add_planned(store, [label(header, k, person, 3) for k in range(N) for person in ("ann", "ben")])
    (part,) = by_name(agreement_of(store, header, str), "clarity").slices
    # The judge gives a 3 to all but every fourth: 25 of 34.
    judge = part.judge[-1].agreement
    assert (part.name, judge.n, judge.value) == ("many", 34, pytest.approx(25 / 34))


def test_a_slice_has_the_figures_of_the_whole(fresh):
    """Of the 34 texts of one category alone, by scikit-learn; the other six would change every figure."""
    store, header = fresh
    rng = np.random.default_rng(11)
    ann = rng.integers(1, 6, N)
    ben = np.where(rng.random(N) < 0.6, ann, rng.integers(1, 6, N))
    ben[34:] = 6 - ann[34:]
    stored.add_planned(
        store, [label(header, k, name, int(given[k])) for k in range(N) for name, given in (("ann", ann), ("ben", ben))]
    )
    whole = by_name(agreement_of(store, header, str), "clarity")
    (part,) = whole.slices
    (both,) = part.pairs
    x, y = ann[:34], ben[:34]
    assert both.kappa.value == pytest.approx(cohen_kappa_score(x, y))
    assert both.kappa_weighted.value == pytest.approx(cohen_kappa_score(x, y, weights="quadratic"))
    assert both.pearson.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    nominal = krippendorff.alpha(np.array([x, y], dtype=float), level_of_measurement="nominal")
    assert part.alpha_nominal.value == pytest.approx(nominal)
    assert whole.alpha_nominal.value != pytest.approx(nominal)


def test_labels_that_claim_chance_and_cover_only_failures_are_noticed(fresh):
    """The judge fails ten texts of 40; the labels `at random` are of these ten, and of two that it passes."""
    store, header = fresh
    store.people.add_labels([label(header, k, "ann", 1) for k in (*range(0, N, 4), 1, 2)])
    estimates = estimates_of(store, header)
    assert estimates.not_random.startswith("the labeled texts are declared as a random sample, but ")
    assert "passed by the judge: 16.7 % of the labeled and 100.0 % of the other texts" in estimates.not_random
    assert estimates.not_random in shown(estimates, header)
    # A mean score of these says nothing of all texts.
    clarity = next(figure for figure in estimates.figures if figure.name == "clarity")
    assert (clarity.together.value, clarity.more_to_halve) == (None, None)
    assert clarity.why == estimates.not_random
    assert (clarity.labels.value, clarity.labels.low) == (1.0, None)


def test_labels_that_claim_chance_are_noticed_where_people_differ_too():
    judge = np.array([1.0] * 40 + [0.0] * 20)
    passes = np.array([1.0, 1, NAN, NAN] + [NAN] * 36 + [0.5] + [0.0] * 19)
    rate = labelled_rate(judge, passes, np.arange(60), stratified=False, not_random="they were chosen")
    assert (rate.rate.value, rate.rate.n, rate.message) == (None, 60, "they were chosen")
    # What was drawn for precision has as many of each as were asked for.
    rate = labelled_rate(judge, passes, np.arange(60), stratified=True)
    assert rate.rate.value == pytest.approx(2 / 3 + 1 / 3 * 0.5 / 20)


def test_cases_of_one_cluster_are_one_unit_of_evidence(fresh):
    """Both say the same of all texts of five documents and never of those of the other five: ten units, not 40."""
    store, header = fresh
    said = [3 if k % 2 else 4 for k in range(N)]
    ann = [label(header, k, "ann", said[k]) for k in range(N)]
    stored.add_planned(store, [*ann, *(label(header, k, "ben", said[k] if k < 20 else 5) for k in range(N))])
    clarity = by_name(agreement_of(store, header, str), "clarity")
    assert (clarity.agreement.value, clarity.agreement.n) == (0.5, 40)
    # 40 units would give [0.35, 0.65]; of ten it is Wilson's interval of 5 of 10 at best.
    assert clarity.agreement.high - clarity.agreement.low > 0.5
    assert clarity.pairs[0].agreement.high - clarity.pairs[0].agreement.low > 0.5


def test_an_estimate_has_the_interval_of_its_clusters(fresh):
    """Five documents of four texts, all of a document alike: two with 1 and three with 5."""
    store, header = fresh
    stored.add_planned(store, [label(header, k, "ann", 1 if k < 8 else 5) for k in range(20)])
    clarity = next(figure for figure in estimates_of(store, header).figures if figure.name == "clarity")
    # 20 units would have a standard error of 0.45 points and an interval of 1.9; five have 0.98 and more than that.
    assert clarity.labels.value == pytest.approx(3.4)
    assert clarity.labels.high - clarity.labels.low > 2.5
    assert clarity.together.high - clarity.together.low > 2.5


def test_a_score_that_the_judge_never_gave_has_no_estimate(fresh, monkeypatch):
    store, header = fresh
    stored.add_planned(store, [label(header, k, "ann", 3) for k in range(12)])
    monkeypatch.setattr("steelyard.people.estimates.judge_figures", lambda *_: {})
    clarity = next(figure for figure in estimates_of(store, header).figures if figure.name == "clarity")
    assert clarity.together.value is None
    assert clarity.why == "fewer than 10 labels drawn at random of what the judge read"


def test_labels_of_cases_and_of_people_give_one_pass_rate(tmp_path):
    """Labels of the cases stand where nobody labelled the very text: the figure is the one that a gate takes."""
    suite = write_judged(tmp_path, n=N)
    run_suite(load_suite(str(suite)), store=str(tmp_path / "steelyard.db"))
    store = open_store(str(tmp_path / "steelyard.db"))
    header = store.run("LAST")
    of_cases = estimates_of(store, header)
    assert of_cases.n_of_cases > 10
    stored.add_planned(store, [label(header, k, "ann", 1) for k in range(0, N, 2)])
    both = estimates_of(store, header)
    assert both.n_random == N // 2
    gate = summarise_stored(store, header.id, header.description).overall["pass_rate.corrected"]
    assert both.figures[0].together == gate
    assert both.figures[0].together.value < of_cases.figures[0].together.value
    store.close()


def test_labels_that_were_not_blind_are_counted(fresh):
    store, header = fresh
    given = [replace(label(header, k, "ann", 3), blind=k < 7) for k in range(12)]
    stored.add_planned(store, given)
    estimates = estimates_of(store, header)
    assert estimates.n_not_blind == 5
    assert "5 items: labelled in sight of other verdicts" in shown(estimates, header)


@pytest.mark.parametrize(("epsilon", "wins"), [(0.05, 0.0), (0.5, 1.0)])
def test_the_suite_says_how_much_worse_than_a_person_its_judge_may_be(tmp_path, epsilon, wins):
    """Three people agree on all of 40; the judge misses 4, 10 % less than each of them."""
    suite = write_judged(tmp_path, n=N, epsilon=epsilon, label=lambda _k: None)
    run_suite(load_suite(str(suite)), store=str(tmp_path / "steelyard.db"))
    store = open_store(str(tmp_path / "steelyard.db"))
    header = store.run("LAST")
    people = [label(header, k, name, 5 if k < 4 else 3) for k in range(N) for name in ("ann", "ben", "cid")]
    stored.add_planned(store, people)
    test = by_name(agreement_of(store, header, str), "clarity").test
    assert (test.epsilon, test.winning_rate) == (epsilon, wins)
    store.close()


def test_what_the_judge_did_not_read_is_missing():
    both = pair("judge", "ann", np.array([1.0, NAN, 3, 3]), np.array([1.0, 2, NAN, 3]), np.arange(4), (1, 5))
    assert (both.agreement.value, both.agreement.n, both.agreement.n_missing) == (1.0, 2, 1)
    assert (both.kappa.n, both.kappa.n_missing, both.bias.n, both.bias.n_missing) == (2, 1, 2, 1)


def test_a_mean_score_below_one_is_no_share(fresh):
    """Points stay points, however few: a mean of 1 on a scale from 1 to 5 is not 100 %."""
    store, header = fresh
    stored.add_planned(store, [label(header, k, "ann", 1) for k in range(12)])
    row = next(
        line
        for line in to_markdown(estimates_document(estimates_of(store, header), header)).splitlines()
        if "clarity" in line
    )
    assert "1.00" in row
    assert "%" not in row


def test_malformed_answers_have_not_passed(tmp_path):
    """20 answers that the rules pass, of which people pass 8 of 10, and 20 that could not be read: 8 / 10 x 20 / 40."""
    store = open_store(str(tmp_path / "malformed.db"))
    run = stored.header(n_planned=40, options=RunFacts())
    store.create_run(run)
    cases = [stored.case(k) for k in range(40)]
    ends = [{}, {"outcome": Outcome.MALFORMED, "passed": False, "score": 0.0, "scores": ()}]
    store.add_samples(run.id, [stored.sample(of, k, **ends[k % 2]) for k, of in enumerate(cases)], cases)
    run.state = RunState.ENDED
    store.update_run(run)
    labels = [
        LabelRecord("demo", cases[2 * k].id, "ann", "verdict", k < 8, run_id=run.id, drawn=RANDOM) for k in range(10)
    ]
    stored.add_planned(store, labels)
    estimates = estimates_of(store, store.run(run.id))
    passes = estimates.figures[0]
    assert (estimates.n_malformed, estimates.n_unread) == (20, 0)
    assert (passes.judge.value, passes.judge.n) == (20 / 40, 40)
    assert (passes.together.value, passes.together.n) == (pytest.approx(8 / 10 * 20 / 40), 40)
    store.close()
