"""The page of one sample."""

from __future__ import annotations

import hashlib
import io
import json
import re

from PIL import Image

from parts.mixed_run import put_ended
from parts.stored import case, header, sample
from steelyard.records import CallResult, Finding, RunState, Score
from steelyard.suite.case import Attachment


def put(store, *pairs, run_id="demo-1", **changes):
    made = header(run_id, **changes)
    made.suite = made.suite | {"n_planned": len(pairs)}
    return put_ended(store, made, [item for item, _ in pairs], [item for _, item in pairs])


def with_text(of, text, **changes):
    return sample(of, call_result=CallResult(text=text, latency=0.1), **changes)


def test_fields_that_differ_are_marked_and_others_are_not(store, client):
    held = case(1, expected={"title": "Thing 1", "year": 1901, "total": 1})
    read = [("title", "title", None), ("year", "year", "made.year")]
    components = [{"name": name, "params": {"expected": f"expected.{truth}", "answer": at}} for name, truth, at in read]
    answer = '{"title": "Thing 1", "year": 1901, "made": {"year": 1900}, "total": 2}'
    suite = header("demo-1").suite | {"components": components}
    put(store, (with_text(held, answer, step="whole"), held), suite=suite)
    data = client.get("/api/runs/demo-1/samples/0").json()
    names = ("name", "truth", "scored_by", "expected", "got", "differs")
    assert [tuple(item[name] for name in names) for item in data["fields"]] == [
        ("title", "title", "title", "Thing 1", "Thing 1", False),
        ("made.year", "year", "year", 1901, 1900, True),
        # No scorer reads these: that they have the same name, or another value, means nothing.
        ("total", "total", "", 1, 2, False),
        ("year", "year", "", None, 1901, False),
    ]
    page = client.get("/runs/demo-1/samples/0").text
    assert page.count('class="differs"') == 1
    assert "truth: year" in page


def test_what_a_scorer_accepts_is_no_difference(store, client):
    held = case(1, expected={"year": 1901})
    components = [{"name": "year", "params": {"expected": "expected.year", "answer": None}}]
    suite = header("demo-1").suite | {"components": components}
    near = with_text(held, '{"year": 1902}', step="whole", scores=(Score("year", 1.0),))
    put(store, (near, held), suite=suite)
    assert 'class="differs"' not in client.get("/runs/demo-1/samples/0").text


def test_a_text_that_was_expected_is_compared_word_by_word(store, client):
    held = case(1, expected={"text": "a red fox runs"})
    put(store, (with_text(held, "a grey fox runs"), held))
    assert "a <del>red</del><ins>grey</ins> fox runs" in client.get("/runs/demo-1/samples/0").text


def test_what_the_schema_does_not_ask_for_is_no_difference(store, client):
    held = case(1)
    shape = {"schema": {"type": "object", "properties": {"title": {"type": "string"}}}}
    made = header("demo-1")
    put(store, (with_text(held, '{"title": "Thing 1"}', step="whole"), held), suite=made.suite | {"answer": shape})
    page = client.get("/runs/demo-1/samples/0").text
    assert "not asked for" in page
    assert 'class="differs"' not in page


def test_spans_of_truth_and_findings_are_marked_in_the_text(store, client):
    held = case(1, input={"text": "a red fox runs"}, expected={"spans": [{"start": 0, "end": 9, "role": "subject"}]})
    wrong = Finding("ROLE", got={"role": "action"}, span=(10, 14))
    put(store, (with_text(held, "{}", findings=(wrong,)), held))
    page = client.get("/runs/demo-1/samples/0").text
    assert '<mark class="span right" title="subject">a red fox<sup>subject</sup></mark>' in page
    assert '<mark class="span error" title="ROLE action">runs<sup>ROLE action</sup></mark>' in page


def test_repeats_and_the_same_case_in_other_runs_are_linked(store, client):
    held = case(1)
    put(store, (with_text(held, "a"), held), (with_text(held, "b", repeat=1, score=0.25, passed=False), held))
    put(store, (with_text(held, "c"), held), run_id="demo-2", created_at=2000.0)
    data = client.get("/api/runs/demo-2/samples/0").json()
    assert [(item["run"], item["repeat"], item["score"]) for item in data["elsewhere"]] == [
        ("demo-1", 0, 0.8),
        ("demo-1", 1, 0.25),
    ]
    page = client.get("/runs/demo-1/samples/0").text
    assert 'href="/runs/demo-1/samples/1"' in page
    assert 'href="/runs/demo-2/samples/0"' in page


def test_the_first_sample_has_no_previous_and_the_last_no_next(store, client):
    held = [case(1), case(2)]
    put(store, *((with_text(item, "a"), item) for item in held))
    ends = [client.get(f"/api/runs/demo-1/samples/{place}").json() for place in (0, 1)]
    assert [(item["previous"], item["next"]) for item in ends] == [(None, 1), (0, None)]
    assert 'rel="next"' not in client.get("/runs/demo-1/samples/1").text


def test_an_answer_of_100_mb_opens_with_its_beginning(store, client):
    held = case(1)
    text = "begin " + "All work and no play makes a dull page. " * 2_500_000
    put(store, (with_text(held, text), held))
    page = client.get("/runs/demo-1/samples/0")
    assert "begin All work" in page.text
    assert "The answer goes on" in page.text
    assert len(page.content) < 100_000
    assert 1_000_000 < len(client.get("/runs/demo-1/samples/0?more=true").content) < 7_000_000


def test_a_case_of_100_mb_opens_with_its_beginning(store, client):
    held = case(1, input={"text": "begin " + "x" * 100_000_000})
    put(store, (with_text(held, "y"), held))
    page = client.get("/runs/demo-1/samples/0")
    assert "too large to be shown whole" in page.text
    assert "begin x" in page.text
    assert len(page.content) < 100_000


def test_what_is_not_there_is_named(store, client):
    put(store, (with_text(case(1), "a"), case(1)))
    for path, words in {
        "/runs/demo-1/samples/7": "has no sample 7",
        "/runs/demo-1/samples/x": "has no sample x",
        f"/runs/demo-1/samples/{'9' * 5000}": "has no sample 9",
        f"/runs/demo-1/samples/0/pictures/{'9' * 5000}": "has no picture 9",
        "/runs/demo-1/samples/0/pictures/0": "has no picture 0",
        "/runs/nope/samples/0": "nope",
    }.items():
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert words in answer.text


def test_a_picture_is_given_as_jpeg_only_if_it_is_the_one_that_was_scored(store, client, tmp_path):
    out = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(out, "PNG")
    png, svg = out.getvalue(), b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "link.png").symlink_to(tmp_path / "out.png")
    scored = {"a.png": png, "old.png": png, "../out.png": png, "link.png": png, "a.svg": svg, "a.html": svg}
    for name, content in scored.items():
        (suite / name).write_bytes(content)
    pictures = [Attachment(name, "image/png", hashlib.sha256(data).hexdigest()[:16]) for name, data in scored.items()]
    (suite / "old.png").write_bytes(png + b" ")
    held = case(1, attachments=(*pictures, Attachment("http://127.0.0.1/x.png", "image/png")))
    put(store, (with_text(held, "a"), held), suite_path=str(suite / "suite.yaml"))
    given, *others = [client.get(f"/runs/demo-1/samples/0/pictures/{n}") for n in range(7)]
    assert (given.status_code, given.headers["content-type"], given.content[:2]) == (200, "image/jpeg", b"\xff\xd8")
    assert given.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert [answer.status_code for answer in others] == [404] * 6
    assert "has changed since it was scored" in others[0].text
    assert all("leads out of" in answer.text for answer in others[1:3])


def test_an_answer_is_shown_as_text(store, client):
    nasty = "<script>alert(1)</script>\u202e"
    held = case(1, input={"text": nasty}, expected={"title": nasty})
    found = Finding(nasty, expected=nasty, got={"role": nasty}, span=(0, 8), place=nasty)
    put(store, (with_text(held, nasty, findings=(found,)), held))
    page = client.get("/runs/demo-1/samples/0").text
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_what_is_for_the_page_alone_is_not_in_the_api(store, client):
    held = case(1)
    put(store, (with_text(held, "a"), held))
    assert not [name for name in client.get("/api/runs/demo-1/samples/0").json() if name.startswith("_")]


def test_the_neighbors_of_a_sample_are_those_of_the_list_it_was_opened_from(client, store):
    cases = [case(number) for number in range(9)]
    # By score, worst first: 8, 5, 2 failed; then 7, 4, 1 and 6, 3, 0.
    samples = [
        sample(of, at, passed=at % 3 != 2, score=(8 - at) / 100 + (2 - at % 3) / 3) for at, of in enumerate(cases)
    ]
    store.create_run(header(suite=header().suite | {"passing": {"text": "score >= 0"}}))
    store.add_samples("demo-1", samples, cases)
    store.update_run(header(state=RunState.ENDED))
    listed = client.get("/runs/demo-1/samples?passed=false&order=score").text
    opened = re.findall(r'data-href="([^"]+)"', listed)
    assert opened == [f"/runs/demo-1/samples/{at}?order=score&amp;passed=false" for at in (8, 5, 2)]
    page = client.get("/runs/demo-1/samples/5?passed=false&order=score").text
    assert "2 of 3" in page
    steps = dict(re.findall(r'data-key="(\w)" rel="\w+" href="[^"]+/samples/([^"]+)"', page))
    assert steps == {"p": "8?order=score&amp;passed=false", "n": "2?order=score&amp;passed=false"}
    data = client.get("/api/runs/demo-1/samples/2?passed=false&order=score").json()
    assert [data[name] for name in ("previous", "next", "place", "count")] == [5, None, 3, 3]
    # Of a search in texts, too; and of all samples without a selection.
    data = client.get("/api/runs/demo-1/samples/4?text=case-000").json()
    assert [data[name] for name in ("previous", "next", "place", "count")] == [3, 5, 5, 9]
    data = client.get("/api/runs/demo-1/samples/4").json()
    assert [data[name] for name in ("previous", "next", "place", "count")] == [3, 5, 5, 9]
    # One that the selection does not have is in no place of it.
    data = client.get("/api/runs/demo-1/samples/4?passed=false").json()
    assert [data[name] for name in ("previous", "next", "place", "count")] == [2, 5, None, None]


def test_what_differs_in_a_long_field_is_marked(client, store):
    text = "The cabinet was made in Munich. " * 100
    of = case(1, expected={"title": text + "It is oak."})
    got = json.dumps({"title": text + "It is elm."})
    store.create_run(header())
    store.add_samples("demo-1", [sample(of, 0, call_result=CallResult(text=got))], [of])
    store.update_run(header(state=RunState.ENDED))
    page = client.get("/runs/demo-1/samples/0").text
    assert ("<del>oak</del>" in page, "<ins>elm</ins>" in page) == (True, True)
