"""Pages of a run that is being written, and figures in a process of their own."""

from __future__ import annotations

import re
import threading
import time
from urllib.request import urlopen

from starlette.testclient import TestClient

from parts.command import wait_until
from parts.rich_run import put_rich
from parts.served import client_on, put_all, served
from parts.stored import case, ended_run, header, sample
from steelyard.analysis.stored import summary_of
from steelyard.store.people import LabelRecord
from steelyard.store.sql import open_store
from steelyard.web.app import create_app
from steelyard.web.figures import FigureJobs
from steelyard.web.run import run_data, run_page
from steelyard.web.site import Settings, Site


def test_pages_are_read_while_a_run_writes(store, tmp_path):
    store.create_run(header(n_planned=100_000))
    stop, errors = threading.Event(), []

    def write():
        writer = open_store(str(tmp_path / "runs.db"))
        try:
            for number in range(100_000):
                writer.add_samples("demo-1", [sample(case(number), number)], [case(number)])
                if stop.wait(0.002):
                    return
        except Exception as error:  # noqa: BLE001 - told below
            errors.append(error)
        finally:
            writer.close()

    thread = threading.Thread(target=write)
    with client_on(store) as client:
        thread.start()
        seen = []
        for _ in range(15):
            for path in ("/runs", "/runs/demo-1", "/runs/demo-1/samples", "/runs/demo-1/samples/0"):
                answer = client.get(path)
                assert answer.status_code in (200, 404), (path, answer.text)
            seen.append(client.get("/api/runs/demo-1/progress").json())
            time.sleep(0.02)
        stop.set()
        thread.join()
    assert errors == []
    counts = [item["progress"]["stored"] for item in seen]
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def test_figures_are_computed_elsewhere_once_and_errors_come_back(store, tmp_path):
    put_all(store)
    figures = FigureJobs(str(tmp_path / "runs.db"))
    try:
        assert figures.ask(run_data, "rich-1", state=1, timeout=0.0) is None
        first = figures.ask(run_data, "rich-1", state=1, timeout=60.0)
        assert first["report"]["run"]["id"] == "rich-1"
        assert figures.ask(run_data, "rich-1", state=1, timeout=0.0) is first
        assert figures.ask(run_data, "rich-1", state=2, timeout=60.0) is not first
        figures._executor._processes and next(iter(figures._executor._processes.values())).kill()
        assert figures.ask(run_data, "rich-2", state=1, timeout=60.0)["report"]["run"]["id"] == "rich-2"
    finally:
        figures.close()


def test_without_a_store_the_empty_page_is_served_and_the_first_run_appears_on_it(tmp_path):
    file = tmp_path / "new" / "runs.db"
    file.parent.mkdir()
    with served(file) as address:
        for path in ("/runs", "/suites", "/desk"):
            with urlopen(address + path) as answer:
                page = answer.read().decode()
                assert answer.status == 200
            assert ("holds no runs yet" in page) == (path != "/desk")
        store = open_store(str(file))
        put_rich(store, "rich-1", 1)
        store.close()
        with urlopen(f"{address}/runs") as answer:
            assert "/runs/rich-1" in answer.read().decode()


def test_the_page_of_an_ended_run_is_there_at_once_and_its_charts_are_drawn_when_asked_for(store, tmp_path):
    run = put_rich(store, "rich-1", 1)
    summary_of(store, run)
    figures = FigureJobs(str(tmp_path / "runs.db"))
    site = Site(store, figures, Settings())
    client = TestClient(create_app(site), base_url="http://127.0.0.1", follow_redirects=False)
    with client:
        page = client.get(f"/runs/{run.id}")
        assert page.status_code == 200
        # Nothing was computed for it: no other process was started.
        assert figures._executor is None
        chart = re.search(r'src="(/charts/\w+)"', page.text)[1]
        drawn = client.get(chart)
        assert drawn.headers["content-type"].startswith("image/svg+xml")
        assert "<svg" in drawn.text
        assert client.get("/charts/none").status_code == 404


def test_a_page_that_was_read_is_read_again_once_its_run_or_what_it_depends_on_is_another(store, tmp_path):
    put_all(store)
    figures = FigureJobs(str(tmp_path / "runs.db"))
    first = figures.read(run_data, store, "rich-1", state=1)
    assert figures.read(run_data, store, "rich-1", state=1) is first
    assert figures.read(run_data, store, "rich-1", state=2) is not first
    assert figures.read(run_data, store, "rich-2", state=1)["report"]["run"]["id"] == "rich-2"
    assert figures.read(run_page, store, "rich-1", state=1).keys() != first.keys()
    assert figures._executor is None


def test_the_page_of_a_stored_run_follows_its_labels(store, tmp_path):
    run = ended_run(store, 12)
    summary_of(store, run)
    site = Site(store, FigureJobs(str(tmp_path / "runs.db")), Settings())
    with TestClient(create_app(site), base_url="http://127.0.0.1", follow_redirects=False) as client:

        def figure():
            report = client.get("/api/runs/demo-1").json().get("report")
            return "being computed" if report is None else report["figures"].get("pass_rate.corrected", {}).get("value")

        assert figure() is None
        labels = [LabelRecord("demo", case(n).id, "ann", "verdict", n < 9, run.id) for n in range(12)]
        numbers = store.people.add_labels(labels)
        # All answers have labels: the first page after them may have to be computed.
        wait_until(lambda: figure() == 9 / 12, seconds=30)
        # Somebody chose which 11 are left: of the rest they say nothing.
        store.people.withdraw(numbers[-1])
        wait_until(lambda: figure() is None, seconds=30)
