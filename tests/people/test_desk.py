"""Who labels what next, on both databases: nothing is lost, and nobody gets what another one holds."""

import collections
import itertools
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from parts.mixed_run import put_ended
from parts.processes import ENVIRONMENT
from parts.stored import case, ended_run, fill, header, sample
from steelyard.analysis.judge.corrected import read_labels
from steelyard.errors import StoreError, UsageError
from steelyard.people.desk import Desk, Draw, extend_plan
from steelyard.people.estimates import estimates_of
from steelyard.people.labels import LabelTerms
from steelyard.store.people import (
    ASKED,
    DISAGREEMENT,
    PRECISION,
    RANDOM,
    SKIPPED,
    AlreadyLabelled,
    LabelRecord,
    Queue,
    QueuePlan,
)
from steelyard.suite.case import Case

RUN = "demo-1"


def keys_of(store, drawn):
    return {key for key, how in store.people.queued(Queue(RUN)).items() if how == drawn}


def all_from(desk, value=True):
    labels = []
    while (task := desk.next()) is not None:
        labels.append(desk.save(task, value))
    return labels


def test_a_desk_serves_every_item_of_the_random_part_once(store, labelled_run):
    assert extend_plan(store, labelled_run, Draw(random=20))[RANDOM] == 20
    labels = all_from(Desk(store, labelled_run, "ann"))
    assert {label.key for label in labels} == keys_of(store, RANDOM)
    assert len(labels) == 20
    assert {(label.drawn, label.blind, label.kind, label.value) for label in labels} == {
        (RANDOM, True, "verdict", True)
    }
    assert [label.number for label in store.people.labels(run_id=RUN)] == [label.number for label in labels]


def test_what_is_to_be_labelled_twice_is_labelled_by_two_people(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=5, per_item=2))
    assert len(all_from(Desk(store, labelled_run, "ann"))) == 5
    assert len(all_from(Desk(store, labelled_run, "ben"))) == 5
    assert all_from(Desk(store, labelled_run, "cid")) == []
    people = collections.defaultdict(set)
    for label in store.people.labels(run_id=RUN):
        people[label.key].add(label.person)
    assert list(people.values()) == [{"ann", "ben"}] * 5


def test_an_item_that_is_held_is_not_served_until_its_lease_ends(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=1))
    held = store.people.next_place(Queue(RUN), "ann", 60, now=1000.0)
    assert store.people.next_place(Queue(RUN), "ben", 60, now=1060.0) is None
    taken = store.people.next_place(Queue(RUN), "ben", 60, now=1061.0)
    assert taken.key == held.key
    # What the first one says after all is kept, too, and the place stays the second one's.
    for place, value in ((held, True), (taken, False)):
        label = LabelRecord("demo", place.case_id, place.person, "verdict", value, run_id=RUN)
        store.people.fill(place, label)
        assert store.people.progress(Queue(RUN)) == {RANDOM: (int(value is False), 1)}
    assert [(label.person, label.value) for label in store.people.labels(run_id=RUN)] == [("ann", True), ("ben", False)]
    assert store.people.next_place(Queue(RUN), "ann", 60) is None


def test_who_asks_again_gets_the_item_that_is_held_already(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=3))
    first = Desk(store, labelled_run, "ann", name="browser").next()
    assert Desk(store, labelled_run, "ann", name="browser").next().place.position == first.place.position


def test_an_item_and_a_label_are_found_again_by_their_numbers(store, labelled_run):
    """As a web page asks for them, which has a desk of its own for each request."""
    extend_plan(store, labelled_run, Draw(random=3), again=1.0)
    extend_plan(store, labelled_run, Draw(random=2), kind="answer")
    states = [store.people.state(RUN)]
    task = Desk(store, labelled_run, "ann", name="tab").next()
    assert Desk(store, labelled_run, "Ann", name="tab").task(task.place.position).place.key == task.place.key
    label = Desk(store, labelled_run, "ann").save(task, True)
    states.append(store.people.state(RUN))
    assert store.people.by_person(Queue(RUN)) == {"ann": 1}
    # The second time is for the same person alone.
    with pytest.raises(UsageError, match="has no item 3 for ben"):
        Desk(store, labelled_run, "ben").task(3)
    with pytest.raises(UsageError, match=f"no label {label.number} of ben in this queue"):
        Desk(store, labelled_run, "ben").undo(label.number)
    assert Desk(store, labelled_run, "Ann").undo(label.number).key == label.key
    assert Desk(store, labelled_run, "ann", name="tab").next().place.key == label.key
    states.append(store.people.state(RUN))
    assert len(set(states)) == 3
    assert store.people.queues(10) == [Queue(RUN), Queue(RUN, of_cases=True)]


def test_the_same_person_at_two_desks_gets_other_items_until_one_is_left(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=2))
    desks = [Desk(store, labelled_run, name) for name in ("Ann", " ann")]
    tasks = [desk.next() for desk in desks]
    assert tasks[0].place.key != tasks[1].place.key
    desks[0].leave(tasks[0])
    desks[1].save(tasks[1], True)
    # What is held at a desk that nobody sits at any more goes to the same person when nothing else is left.
    (held, again) = (desk.next() for desk in desks)
    assert held.place.key == again.place.key == tasks[0].place.key
    desks[0].save(held, True)
    with pytest.raises(AlreadyLabelled, match="take that label back first"):
        desks[1].save(again, False)
    assert desks[1].next() is None
    assert [(label.person, label.value) for label in store.people.labels()] == [("ann", True), ("ann", True)]
    assert store.people.everybody() == ["ann"]


def test_experts_answer_each_case_of_a_run_once_beside_the_labels_of_its_answers(store):
    """Two variants and two repeats of ten cases: 40 answers to label, 10 cases to answer."""
    cases = [case(number) for number in range(10)]
    samples = [
        sample(of, position, variant=variant, repeat=repeat)
        for position, (of, variant, repeat) in enumerate(itertools.product(cases, ("short", "long"), (0, 1)))
    ]
    run = put_ended(store, header(RUN, suite=header().suite | {"n_planned": 40}), samples, cases)
    assert extend_plan(store, run, Draw(random=40), kind="verdict")[RANDOM] == 40
    assert extend_plan(store, run, Draw(random=40), kind="answer")[RANDOM] == 10
    with pytest.raises(UsageError, match=r"labelled by verdict: draw more with --kind verdict.*--kind answer"):
        extend_plan(store, run, Draw(random=1), kind="scores")
    experts = Desk(store, run, "ann", kind="answer")
    experts.skip(experts.next())
    assert {label.key for label in all_from(experts, "a chair")} < {(of.id, "", 0) for of in cases}
    assert len(all_from(Desk(store, run, "ann"))) == 40
    assert store.people.progress(Queue(RUN, of_cases=True)) == {RANDOM: (9, 10)}


def test_an_item_that_was_skipped_goes_to_somebody_else(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=1))
    ann, ben = (Desk(store, labelled_run, name) for name in ("ann", "ben"))
    assert ann.skip(ann.next(), comment="too long").kind == SKIPPED
    assert ann.next() is None
    assert len(all_from(ben)) == 1


def test_a_label_that_is_taken_back_can_be_given_anew(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=1))
    desk = Desk(store, labelled_run, "ann")
    desk.save(desk.next(), True)
    assert desk.undo().value is True
    assert store.people.labels(run_id=RUN) == []
    desk.save(desk.next(), False)
    assert [label.value for label in store.people.labels(run_id=RUN)] == [False]
    assert desk.undo() is not None
    assert desk.undo() is None


def test_who_holds_what_they_labelled_elsewhere_gets_the_next_item(store, labelled_run):
    """A label by another way (a file, a second terminal) must not leave a person with an item that cannot be saved."""
    extend_plan(store, labelled_run, Draw(random=2))
    held = Desk(store, labelled_run, "ann").next().place
    store.people.add_labels([LabelRecord("demo", held.case_id, "ann", "verdict", True, run_id=RUN)])
    assert Desk(store, labelled_run, "ann").next().place.key != held.key


def test_a_label_given_anew_has_one_second_time(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=1), again=1.0)
    desk = Desk(store, labelled_run, "ann")
    desk.save(desk.next(), True)
    desk.undo()
    assert [label.round for label in all_from(desk)] == [0, 1]
    assert store.people.progress(Queue(RUN)) == {RANDOM: (2, 2)}


def test_another_seed_does_not_change_a_draw_that_began(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=5), seed=7)
    extend_plan(store, labelled_run, Draw(random=5), seed=7)
    with pytest.raises(UsageError, match="began with the seed 7"):
        extend_plan(store, labelled_run, Draw(random=5), seed=8)
    assert len(keys_of(store, RANDOM)) == 10


def test_what_is_taken_back_is_served_next_and_planned_a_second_time_only_once(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=3), again=1.0)
    desk = Desk(store, labelled_run, "ann")
    first = desk.next()
    desk.save(first, True)
    assert desk.next().place.key != first.place.key
    desk.undo()
    assert desk.next().place.key == first.place.key
    assert len(all_from(desk)) == 6
    assert store.people.progress(Queue(RUN)) == {RANDOM: (6, 6)}


def test_a_planned_second_time_goes_to_the_same_person_at_the_end(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=6), again=1.0)
    labels = all_from(Desk(store, labelled_run, "ann"))
    assert [label.round for label in labels] == [0] * 6 + [1] * 6
    assert [label.key for label in labels[:6]] == [label.key for label in labels[6:]]
    assert Desk(store, labelled_run, "ben").next() is None


def test_a_second_time_is_served_to_nobody_else(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=1), again=1.0)
    ann = Desk(store, labelled_run, "ann")
    ann.save(ann.next(), True)
    assert Desk(store, labelled_run, "ben").next() is None
    assert ann.next().place.round == 1


def test_what_chance_drew_stays_random_however_it_is_drawn_later(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=5))
    first = keys_of(store, RANDOM)
    plan = store.people.plan(Queue(RUN))
    assert store.people.add_places(Queue(RUN), plan, [(key, DISAGREEMENT) for key in first]) == 0
    assert keys_of(store, RANDOM) == first


def test_a_share_of_items_comes_a_second_time(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=60), again=0.25)
    n_again = sum(label.round for label in all_from(Desk(store, labelled_run, "ann")))
    assert 5 <= n_again <= 27  # binomial(60, 1/4): less than 1 in 10,000 outside, and the same in every run


def test_the_random_part_goes_on_where_it_ended(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=20))
    first = keys_of(store, RANDOM)
    extend_plan(store, labelled_run, Draw(random=40))
    assert keys_of(store, RANDOM) > first
    assert len(keys_of(store, RANDOM)) == 60


def test_what_was_drawn_for_precision_and_comes_up_at_random_counts_as_random(store, labelled_run):
    extend_plan(store, labelled_run, Draw(precision=10))
    all_from(Desk(store, labelled_run, "ann"))
    assert {label.drawn for label in store.people.labels(run_id=RUN)} == {PRECISION}
    extend_plan(store, labelled_run, Draw(random=60))
    assert len(store.people.queued(Queue(RUN))) == 60
    assert {label.drawn for label in store.people.labels(run_id=RUN)} == {RANDOM}


def test_a_random_draw_that_picked_items_came_before_is_none_until_all_of_it_has_labels(store, labelled_run):
    """Twelve that failed were picked and labelled. They are part of the draw of all 60, and not the draw."""
    picked = [(f"case-{k:04d}", "", 0) for k in range(0, 36, 3)]
    plan = QueuePlan("verdict", 1)
    store.people.add_places(Queue(RUN), plan, [(key, DISAGREEMENT) for key in picked])
    ann = Desk(store, labelled_run, "ann")
    labels = all_from(ann, value=False)
    assert {label.key for label in labels} == set(picked)
    assert store.people.waiting(RUN) == 0
    extend_plan(store, labelled_run, Draw(random=60))
    assert store.people.waiting(RUN) == 48
    passes = estimates_of(store, labelled_run).figures[0]
    assert (passes.together.value, passes.labels.n) == (None, 12)
    assert passes.why == "some texts of the random draw were picked before, and of the others 48 have no label yet"
    assert read_labels(store, RUN, labelled_run.description).unfinished == passes.why
    ann.skip(ann.next())
    all_from(ann)
    assert store.people.waiting(RUN) == 0
    assert estimates_of(store, labelled_run).figures[0].together.value is not None


def test_what_was_drawn_for_precision_is_weighed_as_such_until_all_of_a_later_random_draw_has_labels(
    store, labelled_run
):
    """Thirty of the forty that pass were drawn for precision, by people who differ on them; then all at random."""
    passing = [(f"case-{k:04d}", "", 0) for k in range(60) if k % 3][:30]
    failing = [(f"case-{k:04d}", "", 0) for k in range(0, 9, 3)]
    store.people.add_places(Queue(RUN), QueuePlan("verdict", 1), [(key, PRECISION) for key in (*passing, *failing)])
    ann = Desk(store, labelled_run, "ann")
    while (task := ann.next()) is not None:
        ann.save(task, task.place.key in passing[:15])
    before = estimates_of(store, labelled_run).figures[0].together
    extend_plan(store, labelled_run, Draw(random=60))
    assert {label.drawn for label in store.people.labels()} == {RANDOM}
    assert read_labels(store, RUN, labelled_run.description).stratified
    assert estimates_of(store, labelled_run).figures[0].together == before
    all_from(ann)
    assert not read_labels(store, RUN, labelled_run.description).stratified


def test_a_person_sees_the_input_and_the_answer_and_nothing_else(store, labelled_run):
    """Neither the truth nor what a case is filed under, who answered, or what the judge says."""
    extend_plan(store, labelled_run, Draw(random=1))
    task = Desk(store, labelled_run, "ann").next()
    number = int(task.place.case_id[-4:])
    assert task.case == Case(task.place.case_id, {"description": f"thing {number}"}, {})
    assert (task.case.source, task.case.private) == ("", ())
    assert (task.answer, task.second) == ('{"title": "Thing"}', "")
    assert "model-x" not in repr(task)


def test_who_answers_a_case_does_not_see_what_the_system_answered(store, labelled_run):
    extend_plan(store, labelled_run, Draw(random=1), kind="answer")
    assert Desk(store, labelled_run, "ann").next().answer == ""


def test_a_draw_is_by_chance_and_another_seed_is_another_draw(store, labelled_run):
    other = ended_run(store, 60, "demo-2")
    draws = []
    for run, seed in ((labelled_run, 1), (other, 2)):
        extend_plan(store, run, Draw(random=20), seed=seed)
        draws.append(list(store.people.queued(Queue(run.id))))
    # Of 60 the chance that two draws of 20 are the same, or that one is in order, is below 1 in 10 ** 15.
    assert set(draws[0]) != set(draws[1])
    assert draws[0] != sorted(draws[0])


def test_what_has_no_score_is_not_drawn(store):
    """Of four samples one failed: nobody can label an answer that is not there."""
    fill(store)
    assert extend_plan(store, store.run(RUN), Draw(random=10))[RANDOM] == 3


def test_what_judges_disagree_on_may_be_drawn_for_precision(store, labelled_run):
    everything = [((f"case-{k:04d}", "", 0), DISAGREEMENT) for k in range(60)]
    store.people.add_places(Queue(RUN), QueuePlan("verdict", 1), everything)
    assert extend_plan(store, labelled_run, Draw(precision=10))[PRECISION] == 10
    assert len(keys_of(store, PRECISION)) == 10
    assert len(store.people.queued(Queue(RUN))) == 60


def test_few_labels_that_all_agree_with_the_judge_leave_doubt(store, labelled_run):
    """Twice as many pass, and of the others less is known: the next ones are drawn on either side."""
    extend_plan(store, labelled_run, Draw(random=40))
    desk = Desk(store, labelled_run, "ann")
    while (task := desk.next()) is not None:
        desk.save(task, int(task.place.case_id[-4:]) % 3 != 0)
    extend_plan(store, labelled_run, Draw(precision=2))
    assert sorted(int(case_id[-4:]) % 3 == 0 for case_id, _, _ in keys_of(store, PRECISION)) == [False, True]


def test_precision_is_drawn_where_labels_differ_most_from_the_judge(store, labelled_run):
    """Of what passed, labels say half and half; of what did not, all agree: the first is worth more labels."""
    extend_plan(store, labelled_run, Draw(random=40))
    desk, n = Desk(store, labelled_run, "ann"), 0
    while (task := desk.next()) is not None:
        passed = int(task.place.case_id[-4:]) % 3 != 0
        n += passed
        desk.save(task, passed and n % 2 == 0)
    extend_plan(store, labelled_run, Draw(precision=10))
    drawn = keys_of(store, PRECISION)
    assert len(drawn) == 10
    assert sum(int(case_id[-4:]) % 3 != 0 for case_id, _, _ in drawn) >= 9


def test_a_run_without_judges_has_nothing_to_disagree_on(store, labelled_run):
    assert extend_plan(store, labelled_run, Draw(disagreement=10))[DISAGREEMENT] == 0


@pytest.mark.parametrize("person", ["", "  "])
def test_a_label_needs_a_person(store, labelled_run, person):
    extend_plan(store, labelled_run, Draw(random=1))
    with pytest.raises(UsageError, match="needs a person"):
        Desk(store, labelled_run, person)


def test_mistakes_say_what_to_do(store, labelled_run):
    with pytest.raises(UsageError, match="steelyard label plan demo-1 --random 50"):
        Desk(store, labelled_run, "ann")
    with pytest.raises(UsageError, match="has not ended"):
        extend_plan(store, header("other"), Draw(random=1))
    with pytest.raises(UsageError, match=r"no kind 'verdicts'.*did you mean verdict"):
        extend_plan(store, labelled_run, Draw(random=1), kind="verdicts")
    extend_plan(store, labelled_run, Draw(random=1))
    desk = Desk(store, labelled_run, "ann")
    with pytest.raises(ValueError, match="true or false"):
        desk.save(desk.next(), "perhaps")
    assert store.people.labels() == []


def test_labels_are_added_all_or_none(store, labelled_run):
    one = LabelRecord("demo", "case-0001", "ann", "verdict", True, run_id=RUN)
    twice = [LabelRecord("demo", f"case-{n:04d}", "ben", "verdict", True, run_id=RUN) for n in (2, 3, 2)]
    store.people.add_labels([one])
    with pytest.raises(StoreError, match="ben has labelled case-0002 already"):
        store.people.add_labels(twice)
    assert [label.key for label in store.people.labels(suite="demo")] == [one.key]
    assert store.people.labels(suite="other") == []


def test_a_label_comes_back_as_it_was_given(store, labelled_run):
    label = LabelRecord(
        "demo", "case-0001", "Änn \x00", "answer", {"title": "\x00 ü", "n": [1, None]}, drawn=ASKED, comment="\ud83d?"
    )
    store.people.add_labels([label])
    (back,) = store.people.labels(suite="demo")
    assert (back.person, back.value, back.comment, back.run_id) == (label.person, label.value, label.comment, None)
    assert back.labelled_at == label.labelled_at


def test_terms_of_a_suite_without_a_judge(labelled_run):
    terms = LabelTerms(labelled_run.description)
    assert [terms.check("verdict", value) for value in ("pass", "FAIL", 1, "no", True)] == [
        True,
        False,
        True,
        False,
        True,
    ]
    with pytest.raises(ValueError, match="no rubric"):
        terms.check("scores", {"clarity": 3})
    assert [terms.check("preference", value) for value in ("a", "b", "tie")] == ["a", "b", "tie"]
    with pytest.raises(ValueError, match="a, b or tie"):
        terms.check("preference", "c")
    assert terms.check("answer", "a text") == "a text"
    with pytest.raises(ValueError, match="plain texts"):
        terms.check("answer", {"title": 1})


_LABEL = """
import sys
from steelyard.people.desk import Desk
from steelyard.store.sql import open_store
store = open_store(sys.argv[1])
desk = Desk(store, store.run("demo-1"), sys.argv[2], lease=float(sys.argv[3]))
print("ready", flush=True)
sys.stdin.readline()
while (task := desk.next()) is not None:
    print(desk.save(task, True).number, flush=True)
"""


def started(url, person, lease):
    return subprocess.Popen(
        [sys.executable, "-c", _LABEL, url, person, str(lease)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


_LEASE = 4.0
"""Seconds, more than a process waits for its turn on a busy machine: an item whose lease has ended goes to others."""


def test_ten_people_at_once_lose_nothing_and_get_no_item_twice(url, store):
    """Four of the ten are killed on the way: what they had said is there, what they held goes to the others."""
    run = ended_run(store, 300)
    extend_plan(store, run, Draw(random=300))
    with ExitStack() as stack:
        processes = [stack.enter_context(started(url, f"person-{n}", _LEASE)) for n in range(10)]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [[process.stdout.readline() for _ in range(3)] for process in processes[:4]]
        for process in processes[:4]:
            time.sleep(random.random() / 50)
            process.send_signal(signal.SIGKILL)
        said = [[*begun, *process.stdout] for begun, process in zip(said, processes[:4], strict=True)]
        said += [list(process.stdout) for process in processes[4:]]
        assert [process.wait(120) for process in processes[4:]] == [0] * 6
    # What a killed person held is free when its lease has ended.
    time.sleep(_LEASE)
    late = Desk(store, run, "late")
    rest = all_from(late)
    labels = store.people.labels(run_id=RUN)
    assert len(labels) == 300
    assert len({label.key for label in labels}) == 300
    # A killed process may have kept a label that it did not get to say; none that was said is missing.
    assert {label.number for label in labels} >= {int(line) for lines in said for line in lines if line.endswith("\n")}
    assert len(rest) <= 4
    assert store.people.progress(Queue(RUN)) == {RANDOM: (300, 300)}


def test_people_say_which_of_two_answers_is_better(store, labelled_run):
    """The order in which two answers are shown is by chance; what is kept is whose answer it was."""
    other = ended_run(store, 50, "demo-2")
    assert (
        extend_plan(store, labelled_run, Draw(random=60), against=other)[RANDOM] == 50
    )  # both have 50 cases in common
    desk = Desk(store, labelled_run, "ann", against=other)
    shown = collections.Counter()
    while (task := desk.next()) is not None:
        shown[task.swapped] += 1
        kept = desk.save(task, "first")
        assert kept.value == ("b" if task.swapped else "a")
        assert (kept.run_id, kept.other_run_id, kept.kind) == ("demo-1", "demo-2", "preference")
    assert shown.total() == 50
    assert 10 <= shown[True] <= 40  # binomial(50, 1/2): less than 1 in 10,000 outside
    # The queue of one run is another one.
    extend_plan(store, labelled_run, Draw(random=1))
    assert len(all_from(Desk(store, labelled_run, "ann"))) == 1
    with pytest.raises(UsageError, match="no kind 'preference' of labels of one answer"):
        extend_plan(store, labelled_run, Draw(random=1), kind="preference")
    with pytest.raises(UsageError, match="two runs is better: it takes no --kind answer"):
        extend_plan(store, labelled_run, Draw(random=1), kind="answer", against=other)
    with pytest.raises(UsageError, match="two runs is better: it is demo-1 itself"):
        extend_plan(store, labelled_run, Draw(random=1), against=labelled_run)
