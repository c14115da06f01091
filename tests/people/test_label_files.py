"""Labels from and to files: every mistake with its line, all or nothing, and nobody's name unless asked for."""

import json

import pytest

from parts.judged_suite import write_judged
from steelyard.api import run_suite
from steelyard.errors import SuiteError, UsageError
from steelyard.loading.load import load_suite
from steelyard.people.desk import Desk, Draw, extend_plan
from steelyard.people.files import export_labels, import_labels
from steelyard.people.pseudonyms import people_names, pseudonyms
from steelyard.store.people import LabelRecord, Queue
from steelyard.store.sql import open_store

CSV = """case,person,scores.clarity,scores.harm,comment,drawn,blind
c0,Ann,4,no,clear enough,random,yes
c1,Ann,,yes,=1+1,random,yes
c0,Ben,3,false,,,
"""


@pytest.fixture
def judged(tmp_path):
    """A store with one run of four judged answers, and its header."""
    address = str(tmp_path / "steelyard.db")
    run_suite(load_suite(str(write_judged(tmp_path / "suite"))), store=address)
    store = open_store(address)
    yield store, store.run("LAST")
    store.close()


def imported(judged, tmp_path, text, name="labels.csv"):
    (tmp_path / name).write_text(text)
    return import_labels(*judged, tmp_path / name)


def rows(judged):
    return [
        (label.case_id, label.person, label.value, label.comment, label.drawn, label.blind)
        for label in judged[0].people.labels()
    ]


READ = [
    ("c0", "Ann", {"clarity": 4, "harm": False}, "clear enough", "random", True),
    ("c1", "Ann", {"harm": True}, "=1+1", "random", True),
    ("c0", "Ben", {"clarity": 3, "harm": False}, "", "asked", False),
]


def test_a_table_with_a_column_for_each_dimension(judged, tmp_path):
    imported(judged, tmp_path, CSV)
    assert rows(judged) == READ


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_what_is_written_reads_back_the_same(judged, tmp_path, name):
    imported(judged, tmp_path, CSV)
    store, header = judged
    assert export_labels(store, header, tmp_path / name, names=True) == 3
    other = open_store(str(tmp_path / f"other-{name}.db"))
    try:
        run_suite(load_suite(str(tmp_path / "suite" / "suite.yaml")), store=str(tmp_path / f"other-{name}.db"))
        import_labels(other, other.run("LAST"), tmp_path / name)
        assert rows((other, None)) == READ
    finally:
        other.close()


def test_a_cell_that_a_spreadsheet_would_calculate_is_text(judged, tmp_path):
    imported(judged, tmp_path, CSV)
    export_labels(*judged, tmp_path / "out.csv")
    assert ",'=1+1," in (tmp_path / "out.csv").read_text()


def test_people_are_pseudonyms_unless_names_are_asked_for(judged, tmp_path):
    imported(judged, tmp_path, CSV)
    store, header = judged
    assert pseudonyms(store) == {"Ann": "person-1", "Ben": "person-2"}
    for name in ("out.csv", "out.jsonl", "out.json"):
        export_labels(store, header, tmp_path / name)
        text = (tmp_path / name).read_text()
        assert "Ann" not in text
        assert "person-2" in text


def test_nobody_gets_another_pseudonym_when_labels_are_taken_back(judged, tmp_path):
    imported(judged, tmp_path, CSV)
    store, _ = judged
    for number in (1, 2):
        store.people.withdraw(number)
    assert pseudonyms(store)["Ben"] == "person-2"
    assert people_names(store, names=False)("Ben") == "person-2"
    assert people_names(store, names=True)("Ben") == "Ben"


def test_who_comes_while_labels_are_read_has_a_pseudonym(judged, tmp_path):
    store, _ = judged
    called = people_names(store, names=False)
    imported(judged, tmp_path, CSV)
    assert [called(name) for name in ("Ann", "Ben")] == ["person-1", "person-2"]


def test_every_mistake_is_said_with_its_line_and_no_label_is_kept(judged, tmp_path):
    text = """case,person,scores.clarity,verdict
c0,ann,4,
c9,ann,4,
c1,ann,6,
c1,,3,
c2,ann,3,pass
c2,ann,,
c0,ann,5,
c3,ann,,maybe
"""
    with pytest.raises(SuiteError) as error:
        imported(judged, tmp_path, text)
    said = str(error.value).splitlines()
    assert [line.split(": ", 1)[0] for line in said[:-1]] == [f"labels.csv:{line}" for line in range(3, 10)]
    for line, words in zip(
        said,
        [
            "has no answer for case 'c9'",
            "clarity must be a whole score from 1 to 5",
            "person is missing",
            "there are scores and verdict",
            "there is none",
            "ann labels c0 a second time",
            "verdict must be true or false",
            "no label was kept",
        ],
        strict=True,
    ):
        assert words in line
    assert rows(judged) == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('{"case": "c0", "person": "ann", "score": {"clarity": 3}}', "no column 'score'.*scores"),
        ('{"case": "c0", "person": "ann", "scores": {"clarty": 3}}', "no dimension or flag 'clarty'.*clarity"),
        ('{"case": "c0", "person": "ann", "verdict": true, "drawn": "picked"}', "drawn is one of random"),
        ('{"case": "c0", "person": "ann", "verdict": true, "at": "soon"}', "at must be a time"),
        ('{"case": "c0", "person": "ann", "verdict": true, "repeat": -1}', "repeat must be a whole number"),
        ('{"case": "c0", "person": "ann", "verdict": true, "other_run": "x"}', "preference and other_run go together"),
        ('{"case": "c0", "person": "ann", "preference": "a"}', "preference and other_run go together"),
        ('{"case": "c0", "person": "ann", "verdict": true, "round": 99999999999999999999}', "round must be a whole"),
        ('{"person": "ann", "verdict": true}', "case is missing"),
        ('{"case": "c0", "person": "ann", "preference": "a", "other_run": ["x"]}', "other_run must be another run"),
        ("[1]", "a label is a group of keys"),
    ],
)
def test_what_is_wrong_with_a_row_is_said(judged, tmp_path, row, words):
    with pytest.raises(SuiteError, match=words):
        imported(judged, tmp_path, row, "labels.jsonl")


def test_a_file_without_labels_and_one_of_another_kind(judged, tmp_path):
    with pytest.raises(UsageError, match="holds no label"):
        imported(judged, tmp_path, "case,person,verdict\n")
    with pytest.raises(UsageError, match=r"read from \.csv, \.jsonl or"):
        imported(judged, tmp_path, "", "labels.xlsx")
    with pytest.raises(UsageError, match=r"written as \.csv, \.jsonl or"):
        export_labels(*judged, tmp_path / "labels.xlsx")


STUDIO = [
    {
        "id": 1,
        "data": {"case": "c0"},
        "annotations": [
            {
                "completed_by": {"id": 7, "email": "ann@example.org"},
                "created_at": "2026-01-31T12:00:00.123456Z",
                "result": [
                    {"from_name": "clarity", "type": "rating", "value": {"rating": 4}},
                    {"from_name": "harm", "type": "choices", "value": {"choices": ["no"]}},
                    {"from_name": "comment", "type": "textarea", "value": {"text": ["well said"]}},
                ],
            },
            {
                "completed_by": 8,
                "result": [{"from_name": "verdict", "type": "choices", "value": {"choices": ["fail"]}}],
            },
            {"completed_by": 9, "was_cancelled": True, "result": []},
        ],
    }
]


def test_label_studio_annotations_are_read(judged, tmp_path):
    imported(judged, tmp_path, json.dumps(STUDIO), "export.json")
    labels = judged[0].people.labels()
    assert [(label.person, label.kind, label.value, label.comment) for label in labels] == [
        ("ann@example.org", "scores", {"clarity": 4, "harm": False}, "well said"),
        ("8", "verdict", False, ""),
    ]
    assert labels[0].labelled_at == 1769860800.123456  # date -u -d 2026-01-31T12:00:00Z +%s


def test_label_studio_gets_what_people_saw_and_said(judged, tmp_path):
    imported(judged, tmp_path, CSV)
    imported(judged, tmp_path, "case,person,skipped\nc3,Ann,true\n")
    assert export_labels(*judged, tmp_path / "out.json") == 3
    tasks = json.loads((tmp_path / "out.json").read_text())
    assert [task["data"]["case"] for task in tasks] == ["c0", "c1"]
    assert tasks[0]["data"]["answer"].startswith("Number 0 is a fine number")
    assert tasks[0]["data"]["input"] == {"number": 0}
    assert [annotation["completed_by"] for annotation in tasks[0]["annotations"]] == ["person-1", "person-2"]


def test_label_studio_keeps_how_an_item_was_drawn_and_a_second_time(judged, tmp_path):
    imported(judged, tmp_path, "case,person,verdict,drawn,round\nc0,Ann,pass,random,0\nc0,Ann,fail,random,1\n")
    store, header = judged
    assert export_labels(store, header, tmp_path / "out.json") == 2  # by pseudonym: somebody else for the store
    import_labels(store, header, tmp_path / "out.json")
    again = store.people.labels()[2:]
    assert [(label.person, label.value, label.drawn, label.round) for label in again] == [
        ("person-1", True, "random", 0),
        ("person-1", False, "random", 1),
    ]


@pytest.mark.parametrize("name", ["out.csv", "out.json"])
def test_labels_of_one_run_are_not_taken_for_those_of_another(judged, tmp_path, name):
    imported(judged, tmp_path, CSV)
    store, header = judged
    export_labels(store, header, tmp_path / name)
    run_suite(load_suite(str(tmp_path / "suite" / "suite.yaml")), store=str(tmp_path / "steelyard.db"))
    with pytest.raises(SuiteError, match=rf"answer of run {header.id}: steelyard label import {name} {header.id}"):
        import_labels(store, store.run("LAST"), tmp_path / name)


def test_a_run_of_another_store_must_be_named_to_be_taken_for_this_one(judged, tmp_path):
    text = "case,person,verdict,run\nc0,ann,pass,far-away\n"
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(SuiteError, match=r"labels\.csv:2: this labels an answer of run far-away, which is not in this"):
        import_labels(*judged, tmp_path / "labels.csv", of_any_run=False)
    assert len(import_labels(*judged, tmp_path / "labels.csv")) == 1


def test_one_person_in_two_spellings_labels_an_item_once(judged, tmp_path):
    with pytest.raises(SuiteError, match=r"labels\.csv:3: ann labels c0 a second time"):
        imported(judged, tmp_path, "case,person,verdict\nc0,Ann,pass\nc0, ann ,pass\n")
    imported(judged, tmp_path, "case,person,verdict\nc0,Ann,pass\nc1,ANN,fail\n")
    assert [row[1] for row in rows(judged)] == ["Ann", "Ann"]


def test_an_answer_is_to_the_case_whatever_repeat_a_row_names(judged, tmp_path):
    text = "case,person,answer,repeat\nc0,ann,A number,0\nc0,ben,A number,7\nc0,ann,A word,7\n"
    with pytest.raises(SuiteError, match=r"labels\.csv:4: ann labels c0 a second time"):
        imported(judged, tmp_path, text)
    imported(judged, tmp_path, text.rsplit("c0,ann", 1)[0])
    assert {label.key for label in judged[0].people.labels()} == {("c0", "", 0)}


def test_a_control_of_another_type_is_said(judged, tmp_path):
    wrong = [{"data": {"case": "c0"}, "annotations": [{"completed_by": 1, "result": [{"type": "brush", "value": {}}]}]}]
    with pytest.raises(SuiteError, match="type 'brush' cannot be read"):
        imported(judged, tmp_path, json.dumps(wrong), "export.json")


def test_an_export_counts_what_it_holds_and_holds_no_label_of_another_run(judged, tmp_path):
    """A second time, a skipped item and a preference in which the run is the other one."""
    imported(judged, tmp_path, CSV)
    store, header = judged
    run_suite(load_suite(str(tmp_path / "suite" / "suite.yaml")), store=str(tmp_path / "steelyard.db"))
    other, suite = store.run("LAST").id, header.suite_name
    store.people.add_labels(
        [
            LabelRecord(suite, "c0", "Ann", "scores", {"clarity": 2}, header.id, round=1),
            LabelRecord(suite, "c2", "Ann", "skipped", None, header.id),
            LabelRecord(suite, "c0", "Ann", "preference", "a", other, other_run_id=header.id),
        ]
    )
    assert export_labels(store, header, tmp_path / "out.jsonl") == 5
    assert {json.loads(line)["run"] for line in (tmp_path / "out.jsonl").read_text().splitlines()} == {header.id}
    assert export_labels(store, header, tmp_path / "out.json") == 4
    tasks = json.loads((tmp_path / "out.json").read_text())
    assert [len(task["annotations"]) for task in tasks] == [3, 1]
    # What was written can be read, with other names for the same people.
    (tmp_path / "out.json").write_text((tmp_path / "out.json").read_text().replace("person-", "reader "))
    assert len(import_labels(store, header, tmp_path / "out.json")) == 4


def task(**annotation):
    return {"data": {"case": "c0"}, "annotations": [{"completed_by": 1} | annotation]}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"data": {"case": "c0"}, "predictions": [{"result": []}]}, "holds no label"),
        ({"data": {"case": "c0"}, "annotations": None}, "holds no label"),
        ({"data": {"case": "c0"}, "annotations": {"id": 1}}, "annotations must be a list of groups"),
        ({"data": {"case": "c0"}, "annotations": [17]}, "annotations must be a list of groups"),
        ({"data": None, "annotations": []}, "no column 'annotations'"),
        (task(result=None), "there is none"),
        (task(result={"value": 1}), "result must be a list of groups"),
        (task(result=["x"]), "result must be a list of groups"),
        (task(result=[{"from_name": "verdict", "value": "pass"}]), "value of a Label Studio result must be a group"),
        (task(result=[{"type": "labels", "value": {"start": 1, "labels": []}}]), "type 'labels' cannot be read"),
        (
            task(result=[{"from_name": "preference", "value": {"selected": ["left"]}}]),
            "preference and other_run go together",
        ),
    ],
)
def test_a_label_studio_file_of_another_shape_is_refused_with_a_sentence(judged, tmp_path, wrong, words):
    with pytest.raises((SuiteError, UsageError), match=words):
        imported(judged, tmp_path, json.dumps([wrong]), "export.json")
    assert rows(judged) == []


def test_imported_labels_fill_the_open_places_of_the_plan_and_are_not_served_again(judged, tmp_path):
    store, header = judged
    extend_plan(store, header, Draw(random=4, per_item=2), seed=1)
    imported(judged, tmp_path, "case,person,scores.clarity,scores.harm\nc0,Ann,4,no\nc1,Ann,3,no\nc0,Ben,3,no\n")
    assert store.people.progress(Queue(header.id)) == {"random": (3, 8)}
    # The plan drew these answers at random; who labeled them is not asked to do so again.
    assert {label.drawn for label in store.people.labels()} == {"random"}
    desk, served = Desk(store, header, "Ann"), []
    while (task := desk.next()) is not None:
        served.append(task.place.case_id)
        desk.save(task, {"clarity": 4, "harm": False})
    assert sorted(served) == ["c2", "c3"]
    assert store.people.progress(Queue(header.id)) == {"random": (5, 8)}


def test_a_plan_made_after_the_import_counts_its_labels_and_waits_for_the_rest_of_the_draw(judged, tmp_path):
    store, header = judged
    imported(judged, tmp_path, "case,person,scores.clarity,scores.harm\nc0,Ann,4,no\nc1,Ann,3,no\n")
    extend_plan(store, header, Draw(random=4), seed=1)
    assert store.people.progress(Queue(header.id)) == {"random": (2, 4)}
    # Whoever sent the file chose which two of the four: no estimate until the others have labels.
    assert store.people.waiting(header.id) == 2


def test_labels_of_another_kind_than_the_plan_fill_none_of_its_places(judged, tmp_path):
    store, header = judged
    extend_plan(store, header, Draw(random=4), seed=1)
    imported(judged, tmp_path, "case,person,verdict\nc0,Ann,pass\n")
    assert store.people.progress(Queue(header.id)) == {"random": (0, 4)}
