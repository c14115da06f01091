"""The tables of a run hold what its samples hold, under the rules that reports count by, in both databases."""

import json
import re
import sys

import numpy as np
import polars as pl
import pytest

from parts import stored
from parts.judged_samples import judged
from parts.rich_run import RICH, put_rich
from steelyard.errors import MissingExtra, UsageError, install_command
from steelyard.records import CallResult, CheckState, Mode, Outcome, RunHeader, Signature, TargetFacts
from steelyard.store import stored_columns
from steelyard.store.sql import open_store
from steelyard.tables.arrow import table_of
from steelyard.tables.frames import to_pandas, to_polars

COMPONENTS = {item["name"]: item for item in RICH["components"]}
LARGE = "an answer that is long enough to be packed; " * 100


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    url = request.getfixturevalue("postgres_store") if request.param == "postgres" else str(tmp_path / "runs.db")
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite(tmp_path):
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def counts(sample):
    """Whether reports count the sample: another kind of judge than the run's own excludes it."""
    return sample.outcome is Outcome.MALFORMED or (sample.outcome is Outcome.SCORED and sample.mode is Mode.MODEL)


def key(sample):
    return {"case": sample.case_id, "variant": sample.variant, "repeat": sample.repeat}


def expected_row(sample, case):
    """A row of `samples`, worked out from the sample alone."""
    call, malformed = sample.call_result, sample.outcome is Outcome.MALFORMED
    failed = sample.outcome is Outcome.TARGET_FAILED
    scored = counts(sample) and not malformed
    row = key(sample) | {
        "category": case.category,
        "difficulty": case.difficulty,
        "cluster": None,
        "tags": list(case.tags),
        "outcome": sample.outcome.value,
        "score": 0.0 if malformed else sample.score if scored else None,
        "passed": False if malformed else sample.passed if scored else None,
        "band": "Poor" if malformed else sample.band if scored else None,
        "latency": call.latency if call.latency > 0 and not failed and not call.cached else None,
        "first_byte": None if failed else call.first_byte,
        "tokens_in": call.tokens_in,
        "tokens_out": call.tokens_out,
        "cost": call.cost,
        "cached": call.cached,
        "failure": call.failure.kind if call.failure else None,
        "failure_message": call.failure.message if call.failure else None,
        "extraction": sample.step,
        "mode": sample.mode and sample.mode.value,
    }
    values = {score.name: score.value for score in sample.scores} if scored else {}
    for name, item in COMPONENTS.items():
        lowest = item["scale"][0] if malformed and item.get("when_unknown") != "skip" else None
        value = values.get(name) if values.get(name) is not None else lowest
        flag = item.get("kind") == "flag"
        row[f"{item.get('kind', 'component')}.{name}"] = value if value is None or not flag else value > 0
    for name in ("count", "colour:red", "colour:blue", "opening"):
        states = [check.state for check in sample.checks if check.name == name]
        passed = None if not {*states} - {CheckState.NOT_RUN} else CheckState.FAILED not in states
        row[f"check.{name}"] = passed
    figures = [check.value for check in sample.checks if check.name == "count"]
    return row | {"check_value.count": figures[-1] if figures else None}


def test_a_row_of_samples_is_what_its_sample_holds_under_the_rules_of_reports(store):
    header = put_rich(store)
    rows = table_of(store, header).to_pylist()
    assert rows == [expected_row(sample, case) for sample, case in store.samples(header.id)]
    # All of these occur, so that none of the rules above is idle.
    assert {row["outcome"] for row in rows} == set(Outcome)
    assert {row["flag.harm"] for row in rows} == {True, False, None}
    assert any(row["outcome"] == "scored" and row["score"] is None for row in rows)


def test_findings_votes_and_claims_are_those_of_the_samples(store):
    header = put_rich(store)
    samples = [sample for sample, _ in store.samples(header.id)]
    findings = [
        key(sample)
        | {name: getattr(item, name) or None for name in ("code", "severity", "component", "section", "place")}
        | {"evidence": None, "expected": item.expected, "got": item.got, "gain": item.gain}
        for sample in samples
        if counts(sample)
        for item in sample.findings
    ]
    assert table_of(store, header, "findings").to_pylist() == findings
    votes = table_of(store, header, "votes").to_pylist()
    assert votes == [
        key(sample)
        | {"outcome": sample.outcome.value, "vote": number, "member_repeat": vote.repeat, "member": vote.member}
        | {"mode": vote.mode and vote.mode.value, "step": vote.step, "message": vote.message or None}
        | {"remarks": ", ".join(sorted(remark.code for remark in vote.remarks)) or None, "capped_by": None}
        | {"dimension.name": vote.capped.get("name"), "uncapped.name": vote.uncapped.get("name")}
        | {"flag.harm": None, "uncapped.harm": None}
        for sample in samples
        for number, vote in enumerate(sample.judgement.votes if sample.judgement else ())
    ]
    assert {vote["outcome"] for vote in votes} >= {"scored", "judge_failed"}
    claims = [
        key(sample) | {"label": claim.label or None, "confidence": claim.confidence, "right": claim.right}
        for sample in samples
        if counts(sample)
        for claim in sample.claims
    ]
    assert table_of(store, header, "claims").to_pylist() == claims
    assert None in {claim["confidence"] for claim in claims}


def test_pandas_and_polars_hold_the_same_and_keep_what_is_missing(sqlite):
    header = put_rich(sqlite)
    for name in ("samples", "findings", "votes", "claims"):
        rows = table_of(sqlite, header, name).to_pylist()
        frame = to_pandas(sqlite, header, name)
        plain = frame.astype(object).where(frame.notna(), None).to_dict("records")
        for row in plain if name == "samples" else ():
            row["tags"] = list(row["tags"])
        assert plain == rows
        assert to_polars(sqlite, header, name).to_dicts() == rows
    frame = to_pandas(sqlite, header)
    kinds = {name: str(frame[name].dtype) for name in ("case", "variant", "repeat", "score", "passed", "tokens_in")}
    assert kinds == {
        "case": "string",
        "variant": "category",
        "repeat": "Int64",
        "score": "float64",
        "passed": "boolean",
        "tokens_in": "Int64",
    }
    # As a report has them: 2 of the 3 kinds of cases carry the tag.
    assert frame.explode("tags")["tags"].eq("old").sum() == 2 / 3 * len(frame)
    assert to_polars(sqlite, header)["check.opening"].dtype == pl.Boolean


def empty_run(store, name):
    header = RunHeader(name, "rich", "", 1.0, Signature(), target=TargetFacts(), suite=RICH)
    store.create_run(header)
    return header


def test_a_column_without_a_value_keeps_its_type(sqlite):
    full, none = put_rich(sqlite), empty_run(sqlite, "none")
    for table in ("samples", "findings", "votes", "claims"):
        types = {field.name: field.type for field in table_of(sqlite, full, table).schema}
        empty = table_of(sqlite, none, table)
        assert empty.num_rows == 0
        assert {field.name: field.type for field in empty.schema}.items() <= types.items()
        # Checks are known by those that a run made.
        assert set(types) - set(empty.column_names) <= {name for name in types if name.startswith("check")}
        kinds, others = (dict(to_pandas(sqlite, run, table).dtypes.astype(str)) for run in (none, full))
        assert kinds.items() <= others.items()


def test_stored_columns_of_a_large_run_give_the_same_table(sqlite, monkeypatch):
    header = put_rich(sqlite)
    read = table_of(sqlite, header)
    monkeypatch.setattr(stored_columns, "LEAST", 1)
    sqlite.keep_columns(header.id)
    with sqlite.database.reading() as session:
        assert session.execute("SELECT count(*) FROM stored_columns")[0][0] > 0
    assert table_of(sqlite, header).equals(read)


def odd_run(store):
    """Answers that are packed, absent, and no Unicode; ids in another order than the plan."""
    cases = [stored.case(3), stored.case(1, id="käse"), stored.case(2, tags=())]
    samples = [
        stored.sample(cases[0], 0, call_result=CallResult(text=LARGE)),
        stored.sample(cases[1], 5, call_result=CallResult(text="half \ud83d of \x00 a pair")),
        stored.failed(cases[2], 7),
    ]
    header = stored.header("odd")
    store.create_run(header)
    store.add_samples(header.id, samples, cases)
    return header


def test_answers_come_when_asked_for(store):
    header = odd_run(store)
    table = table_of(store, header, answers=True)
    assert table["case"].to_pylist() == ["case-0003", "käse", "case-0002"]
    assert table["tags"].to_pylist() == [["old", "small"], ["old", "small"], []]
    # A lone surrogate, which no file can hold, is spelled out.
    assert table["answer"].to_pylist() == [LARGE, "half \\ud83d of \x00 a pair", None]
    assert "answer" not in table_of(store, header).column_names
    assert to_pandas(store, header, answers=True)["answer"].isna().tolist() == [False, False, True]
    message = stored.failed(stored.case(2)).call_result.failure.message
    assert table["failure_message"].to_pylist() == [None, None, message[:200]]


def test_a_vote_says_what_capped_it_and_what_its_judge_answered(store):
    case, components = stored.case(1), [{"name": "tone", "kind": "dimension"}, {"name": "harmful", "kind": "flag"}]
    header = stored.header("judged", suite={"name": "judged", "components": components})
    store.create_run(header)
    store.add_samples(header.id, [judged(case, 3)], [case])
    useful, useless = table_of(store, header, "votes", answers=True).to_pylist()
    # As tests/parts/judged_samples.py has it.
    assert (useful["dimension.tone"], useful["uncapped.tone"], useful["flag.harmful"]) == (3.0, 5.0, True)
    assert (useful["uncapped.harmful"], useful["remarks"]) == (False, "RULE_BROKEN, TOO_FEW_REASONS")
    assert json.loads(useful["capped_by"])["tone"] == "when facts.missing > 0 then tone <= 3"
    assert json.loads(useful["response"])["extra"] == 10**30
    assert (useless["member"], useless["mode"], useless["dimension.tone"], useless["response"]) == ("panel-b",) + (
        None,
    ) * 3
    assert useless["message"].startswith("not readable: ")


def test_a_run_that_was_scored_again_has_the_answers_of_the_earlier_one(store):
    cases = [stored.case(number) for number in range(3)]
    store.create_run(stored.header())
    store.add_samples("demo-1", [stored.sample(of, number) for number, of in enumerate(cases)], cases)
    again = stored.header("demo-2", rescored_from="demo-1")
    store.create_run(again)
    store.add_rescored("demo-2", "demo-1", [stored.sample(cases[2], score=0.1)], [cases[2]])
    table = table_of(store, again, answers=True).select(["case", "score", "latency", "answer"])
    assert table.to_pylist() == [{"case": "case-0002", "score": 0.1, "latency": 0.25, "answer": '{"title": "Thing"}'}]


def test_a_table_that_there_is_not_is_refused(sqlite):
    header = put_rich(sqlite)
    with pytest.raises(UsageError, match="no table calls: choose one of samples, findings, votes, claims"):
        table_of(sqlite, header, "calls")
    with pytest.raises(UsageError, match="findings has no answers"):
        to_pandas(sqlite, header, "findings", answers=True)


def test_a_missing_library_is_named_with_how_to_install_it(sqlite, monkeypatch):
    header = put_rich(sqlite)
    for module, extra, make in (
        ("pandas", "pandas", to_pandas),
        ("polars", "polars", to_polars),
        ("pyarrow", "parquet", table_of),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtra, match=re.escape(install_command(extra))):
            make(sqlite, header)


def test_a_mean_of_a_column_is_the_figure_of_the_report(sqlite):
    from steelyard.report.build import build_report

    header = put_rich(sqlite)
    frame = to_pandas(sqlite, header)
    overall = build_report(sqlite, header).summary.overall
    assert np.isclose(frame["score"].mean(), overall["average"].value)
    assert np.isclose(frame["passed"].mean(), overall["pass_rate"].value)
    assert frame["score"].notna().sum() == overall["average"].n
