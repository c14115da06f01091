"""The label desk in the browser: blind, saved before the next, nothing lost, and only by who may."""

import json
from urllib.parse import quote

import pytest

from parts.command import invoke
from parts.makers import ANSWERS, write_makers
from parts.stored import case, ended_run, header, sample
from steelyard.people.desk import Desk, Draw, extend_plan
from steelyard.people.labels import PREFERENCE
from steelyard.records import CallResult, RunState
from steelyard.store.people import ANSWER, RANDOM, SCORES, Queue
from steelyard.suite.case import Attachment
from steelyard.web.app import create_app
from steelyard.web.figures import FigureJobs
from steelyard.web.security import CSRF_HEADER
from steelyard.web.site import Role, Settings, Site

RUN = "demo-1"
RUBRIC = {
    "scale": [1, 5],
    "dimensions": [{"name": "tone", "about": "Kind?", "weight": 1.0, "scores": {"5": "very"}}],
    "flags": [{"name": "harm", "about": "Harmful?", "triggers": ["a diagnosis"]}],
}


@pytest.fixture
def run(store):
    run = ended_run(store, 12)
    extend_plan(store, run, Draw(random=3))
    return run


def post(client, what, code=200, run=RUN, **body):
    token = client.get("/api/session").json()["csrf"]
    answer = client.post(f"/api/desk/{run}/{what}", json={"person": "Ann"} | body, headers={CSRF_HEADER: token})
    assert answer.status_code == code, answer.text
    return answer.json()


def give(client, item, value=True, **body):
    return post(client, "labels", position=item["position"], desk=item["desk"], value=value, **body)


def as_role(client, store, role, **settings):
    """The same store for somebody with a token."""
    site = Site(store, FigureJobs(None), Settings(tokens={"secret": role}, **settings))
    other = type(client)(create_app(site), base_url="http://127.0.0.1")
    other.headers["Authorization"] = "Bearer secret"
    return other


def test_items_are_served_blind_and_a_label_is_stored_when_it_answers(client, store, run):
    item = post(client, "next", desk="tab.0")["item"]
    number = item["input"][0]["text"].split()[-1]
    assert item["input"] == [{"name": "description", "text": f"thing {number}", "exact": True}]
    assert item["answer"] == '{"title": "Thing"}'
    shown = json.dumps(item)
    assert not any(text in shown for text in ("odd", "even", "easy", "plain one", "Good", "model-x", "19", "case-"))
    saved = give(client, item, value=False, comment="no year")
    (label,) = store.people.labels(run_id=RUN)
    assert (label.number, label.person, label.value, label.comment) == (saved["number"], "Ann", False, "no year")
    assert (label.drawn, label.blind, label.case_id) == (RANDOM, True, f"case-{int(number):04d}")


@pytest.mark.parametrize("name", ["Ann\u200b", "A\x00nn", "Ann\u202e"])
def test_a_name_hides_nothing(client, run, name):
    assert "hidden" in post(client, "next", 400, desk="tab.0", person=name)["error"]
    client.cookies.set("steelyard_person", quote(name))
    assert "hidden" in post(client, "next", 400, desk="tab.0", person="")["error"]


def test_the_next_item_is_held_while_one_is_read_and_none_comes_twice(client, run):
    first, second = (post(client, "next", desk=name)["item"] for name in ("tab.0", "tab.1"))
    assert first["position"] != second["position"]
    assert post(client, "next", desk="tab.0")["item"] == first
    third = post(client, "next", desk="tab.2", person="Ben")["item"]
    assert third["position"] not in (first["position"], second["position"])
    give(client, first)
    give(client, second)
    assert post(client, "next", desk="tab.3") == {"item": None}
    again = give(client, first)
    assert again == {"number": None, "message": "you labelled this one elsewhere meanwhile: that label stays"}


def test_a_label_or_skip_that_is_taken_back_brings_its_item_back(client, store, run):
    item = post(client, "next", desk="tab.0")["item"]
    post(client, "next", desk="tab.1")
    number = give(client, item, comment="hm")["number"]
    back = post(client, "undo", number=number, desk="tab.0")
    assert back == {"item": item, "value": True, "comment": "hm"}
    skipped = post(client, "labels", position=item["position"], skip=True)
    assert skipped["message"] == "skipped"
    assert post(client, "undo", number=skipped["number"], desk="tab.2")["item"]["position"] == item["position"]
    assert store.people.labels(run_id=RUN) == []
    other = give(client, item, person="Ben")["number"]
    refused = post(client, "undo", 400, number=other)
    assert refused == {"error": f"there is no label {other} of Ann in this queue"}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"position": 0, "value": "maybe"}, "verdict must be true or false"),
        ({"position": 99, "value": True}, "has no item 99 for Ann"),
        ({"position": 0, "value": True, "person": " "}, "say who you are"),
        ({"position": 0, "value": True, "kind": "answer"}, "has no plan of answer yet"),
        ({"value": True}, "position: Field required"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_a_sentence(client, store, run, body, error):
    assert error in post(client, "labels", 400, **body)["error"]
    assert store.people.labels(run_id=RUN) == []


def test_which_of_two_is_better_is_asked_in_a_random_order_that_the_label_undoes(client, store, run):
    other = ended_run(store, 12, "demo-2")
    extend_plan(store, run, Draw(random=12), against=other)
    swapped = set()
    for at in range(12):
        item = post(client, "next", against="demo-2", desk=f"tab.{at}")["item"]
        give(client, item, "first", against="demo-2")
        desk = Desk(store, run, "Ann", against=other)
        task = desk.task(item["position"])
        label = next(label for label in store.people.labels(run_id=RUN) if label.key == task.place.key)
        assert (label.kind, label.value) == (PREFERENCE, "b" if task.swapped else "a")
        swapped.add(task.swapped)
    assert swapped == {True, False}
    assert "Preferred to the other" in str(client.get(f"/api/desk/{RUN}/figures?against=demo-2").json()["lines"])


def scored_run(store, **suite):
    run = header("rated", n_planned=1, suite=header().suite | suite)
    store.create_run(run)
    picture = Attachment("photos/a.png", "image/png", "ab")
    hostile = case(0, input="<script>\u202e", attachments=(picture,))
    store.add_samples(run.id, [sample(hostile, 7, call_result=CallResult(text="<b>" * 100_000))], [hostile])
    run.state = RunState.ENDED
    store.update_run(run)
    return store.run(run.id)


def test_the_rubric_is_asked_by_digits_and_flags_by_y_and_n(client, store):
    judge = {"mode": "model", "rubric": RUBRIC, "by": "model"}
    components = [{"name": "tone", "kind": "dimension", "scale": [1.0, 5.0]}, {"name": "harm", "kind": "flag"}]
    extend_plan(store, scored_run(store, judge=judge, components=components), Draw(random=1))
    desk = client.get("/api/desk/rated").json()
    tone, harm = desk["questions"]
    assert [(item["value"], item["key"]) for item in tone["choices"]] == [(n, str(n)) for n in range(1, 6)]
    assert (tone["choices"][4]["about"], harm["notes"]) == ("very", ["a diagnosis"])
    assert [(item["value"], item["key"]) for item in harm["choices"]] == [(True, "y"), (False, "n")]
    item = post(client, "next", run="rated")["item"]
    assert item["pictures"] == [{"address": "/runs/rated/samples/7/pictures/0", "place": "photos/a.png"}]
    assert item["input"] == [{"name": "", "text": "<script>\\u202e", "exact": False}]
    assert (len(item["answer"]), item["answer"][-26:]) == (200_026, "\n[100,000 more characters]")
    post(client, "labels", run="rated", position=0, value={"tone": 4, "harm": False})
    assert [(label.kind, label.value) for label in store.people.labels()] == [(SCORES, {"tone": 4, "harm": False})]


def test_experts_fill_in_the_fields_of_the_schema(client, store):
    schema = {
        "type": "object",
        "required": ["maker"],
        "properties": {
            "maker": {"type": "string"},
            "year": {"type": ["integer", "null"]},
            "style": {"enum": ["a", "b"]},
            "spans": {
                "type": "array",
                "items": {"required": ["role"], "properties": {"text": {}, "role": {}, "confidence": {}}},
            },
        },
    }
    run = scored_run(store, answer={"format": "json", "schema": schema})
    extend_plan(store, run, Draw(random=1), kind=ANSWER)
    questions = client.get("/api/desk/rated?kind=answer").json()["questions"]
    assert [(item["name"], item["field"], item["required"]) for item in questions] == [
        ("maker", "text", True),
        ("year", "number", False),
        ("style", "choice", False),
        ("spans", "json", False),
    ]
    assert (questions[3]["members"], questions[3]["start"]) == (["text", "role"], "[]")
    assert post(client, "next", run="rated", kind=ANSWER)["item"]["answer"] == ""
    wrong = post(client, "labels", 400, run="rated", kind=ANSWER, position=0, value={"year": 1900})
    assert "does not fit the suite's schema" in wrong["error"]
    post(client, "labels", run="rated", kind=ANSWER, position=0, value={"maker": "Thonet"})
    assert [label.value for label in store.people.labels()] == [{"maker": "Thonet"}]


def test_queues_are_listed_with_what_is_left_and_people_are_pseudonyms(client, store, run):
    give(client, post(client, "next")["item"], person="Ann")
    client.cookies.set("steelyard_person", "%3Cb%3EAnn")
    (queue,) = client.get("/api/desk").json()["queues"]
    assert (queue["run"], queue["kind"], queue["left"], queue["planned"]) == (RUN, "verdict", 2, 3)
    assert (queue["drawn"], queue["people"]) == ({RANDOM: {"labelled": 1, "planned": 3}}, {"person-1": 1})
    page = client.get("/desk").text
    assert f'href="/desk/{RUN}"' in page
    assert "&lt;b&gt;Ann" in page
    assert "<b>Ann" not in page + client.get(f"/desk/{RUN}").text


def test_the_page_of_a_run_leads_to_its_queue_or_to_where_one_is_drawn(client, store):
    made = ended_run(store, 12)
    assert f'href="/desk?run={RUN}">Label' in client.get(f"/runs/{RUN}").text
    assert f'name="run" value="{RUN}"' in client.get(f"/desk?run={RUN}").text
    extend_plan(store, made, Draw(random=3))
    assert f'href="/desk/{RUN}">Label' in client.get(f"/runs/{RUN}").text


def test_agreement_and_estimate_are_there_as_lines_and_as_a_page(client, store, run):
    assert client.get(f"/api/desk/{RUN}/figures").json()["lines"] == [["Labels", "none yet"]]
    extend_plan(store, run, Draw(random=9))
    for person in ("Ann", "Ben"):
        for at in range(12):
            item = post(client, "next", person=person, desk=f"{person}.{at}")["item"]
            if item is not None:
                give(client, item, person=person)
    shown = client.get(f"/api/desk/{RUN}/figures").json()
    lines = dict(shown["lines"])
    assert lines["Labels"] == "12 labels of 1 person"
    assert lines["passes: judge agrees"].startswith("66.7 % [")
    assert lines["Pass rate"].startswith("100.0 %")
    assert shown["estimates"]["n_random"] == 12
    assert "How far people agree" in client.get(f"/desk/{RUN}/figures").text


def test_owners_draw_labellers_label_and_viewers_look(client, store, run):
    drawn = post(client, "plan", random=2, per_item=2, person="Olga")
    assert (drawn["drawn"][RANDOM], drawn["address"]) == (2, f"/desk/{RUN}")
    assert store.people.progress(Queue(RUN)) == {RANDOM: (0, 7)}
    assert store.people.plan(Queue(RUN)).draws[-1]["by"] == "Olga"
    assert "say how many" in post(client, "plan", 400)["error"]
    labeller = as_role(client, store, Role.LABELLER)
    assert "needs the role owner" in post(labeller, "plan", 403, random=1)["error"]
    assert "needs the role owner" in post(labeller, "truth", 403, id="a", outcome="rejected", reason="x")["error"]
    post(labeller, "next")
    assert 'id="draw"' not in labeller.get("/desk").text
    viewer = as_role(client, store, Role.OWNER, read_only=True)
    for what in ("next", "labels", "undo"):
        assert "needs the role labeller: yours is viewer" in post(viewer, what, 403, position=0, number=1)["error"]
    viewer.cookies.set("steelyard_person", "Ann")
    assert 'id="desk"' not in viewer.get(f"/desk/{RUN}").text
    assert 'id="asked"' in labeller.get(f"/desk/{RUN}", headers={"cookie": "steelyard_person=Ann"}).text


def test_an_owner_decides_on_suggestions_and_the_ledger_says_why(client, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_makers(tmp_path / "makers")
    for name in ANSWERS:
        invoke("run", "makers", "--target", name, "--store", tmp_path / "runs.db")
    run = store.run("LAST").id
    found = client.get(f"/api/desk/{run}/truth").json()
    first = found["suggestions"][0]
    assert (first["case"], first["component"], first["value"]) == ("a", "maker", "Thonet")
    name = first["id"]
    assert "Accept as correction" in client.get(f"/desk/{run}/truth").text
    decided = {"run": run, "id": name, "outcome": "correction", "reason": "seen the stamp"}
    assert "expected.also" in post(client, "truth", 400, **decided)["error"]
    post(client, "truth", **decided, fields='expected.also=["Gebrüder Thonet"]\n')
    first = json.loads((tmp_path / "makers" / "cases.jsonl").read_text().splitlines()[0])
    assert first["expected"] == {"maker": "Thonet", "also": ["Gebrüder Thonet"], "year": 1900}
    after = client.get(f"/api/desk/{run}/truth?look=2").json()
    assert name not in [item["id"] for item in after["suggestions"] if not item["decision"]]
    assert (after["ledger"][0]["by"], after["ledger"][0]["reason"]) == ("Ann", "seen the stamp")
    assert "seen the stamp" in client.get(f"/desk/{run}/truth?look=2").text
    (tmp_path / "makers" / "suite.yaml").unlink()
    assert "run makers" in client.get(f"/api/desk/{run}/truth?look=3").json()["problem"]
    assert (
        "name it with --suite" in post(client, "truth", 400, run=run, id=name, outcome="rejected", reason="x")["error"]
    )
