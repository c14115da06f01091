"""`steelyard label`: people label the answers of a run."""

from __future__ import annotations

import contextlib
import getpass
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import as_json, run_name, store_url

if TYPE_CHECKING:
    from steelyard.people.desk import Desk, Task
    from steelyard.people.labels import Terms
    from steelyard.records import RunHeader
    from steelyard.store.sql import SqlStore

_FILE = click.Path(dir_okay=False, path_type=Path)
_person = click.option(
    "--as", "person", metavar="NAME", default=getpass.getuser, help="Who labels: a name or a pseudonym. [default: you]"
)
_names = click.option("--names", is_flag=True, help="Show people by name; else by pseudonym.")
_n = click.IntRange(min=0)
_against = click.option("--against", metavar="RUN", help="Ask which answer is better: RUN's or that of this one.")


@click.group("label")
def label_command() -> None:
    """Let people label answers, and say how far they agree."""


@contextlib.contextmanager
def _opened(store_url: str | None, run: str) -> Iterator[tuple[SqlStore, RunHeader]]:
    from steelyard.store.sql import open_store

    store = open_store(store_url, create=False)
    try:
        yield store, store.run(run)
    finally:
        store.close()


@label_command.command("plan")
@run_name
@click.option("--random", metavar="N", type=_n, default=0, help="This many more at random: estimates stand on them.")
@click.option("--disagreement", metavar="N", type=_n, default=0, help="This many on which judges disagree most.")
@click.option("--precision", metavar="N", type=_n, default=0, help="This many that tighten the pass rate most.")
@click.option("--per-item", metavar="N", type=click.IntRange(min=1), default=1, help="People that label each.")
@click.option("--again", metavar="SHARE", type=click.FloatRange(0, 1), help="Share that each person labels twice.")
@click.option("--kind", metavar="KIND", default="", help="scores, verdict or answer. [default: scores with a judge]")
@click.option("--seed", metavar="N", type=_n, help="Decides the draw, so that it can be repeated. [default: the run]")
@_against
@_person
@store_url
def plan(
    run: str,
    random: int,
    disagreement: int,
    precision: int,
    per_item: int,
    again: float | None,
    kind: str,
    seed: int | None,
    against: str | None,
    person: str,
    store_url: str | None,
) -> None:
    """Draw answers of RUN into the queue of what is to be labelled."""
    from steelyard.errors import UsageError
    from steelyard.people.desk import Draw, extend_plan

    if not random + disagreement + precision:
        raise UsageError("say how many answers to draw: --random 50, and then --disagreement or --precision")
    with _opened(store_url, run) as (store, header):
        draw = Draw(random, disagreement, precision, per_item)
        other = None if against is None else store.run(against)
        drawn = extend_plan(store, header, draw, kind=kind, again=again, by=person, against=other, seed=seed)
        for name, asked in (("random", random), ("disagreement", disagreement), ("precision", precision)):
            if asked:
                click.echo(f"{name}: {drawn[name]} of {asked} drawn")
        if not any(drawn.values()):
            click.echo("There is nothing more to draw: every answer is in the queue, or no judges disagree.")
            return
        extra = "" if other is None else f" --against {other.id}"
        click.echo(f"Label them with:\n  steelyard label next {header.id}{extra}")


@label_command.command("next")
@run_name
@_person
@click.option(
    "--lease", metavar="MINUTES", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True
)
@_against
@store_url
def next_(run: str, person: str, lease: float, against: str | None, store_url: str | None) -> None:
    """Label the answers of RUN one by one; each is kept before the next is shown.

    Nothing of what the judge, the scorers or others say is shown, nor which model answered.
    """
    from steelyard.people.desk import Desk

    with _opened(store_url, run) as (store, header):
        other = None if against is None else store.run(against)
        desk = Desk(store, header, person, lease=60 * lease, against=other)
        click.echo(_rubric(header))
        while (task := desk.next()) is not None:
            _show(task)
            if not _asked(desk, task):
                break
        else:
            click.echo("Nothing is left for you to label.")
        what = f"experts {header.suite_name}" if desk.kind == "answer" else f"agreement {header.id}"
        click.echo(
            f"\n{desk.n_given} labelled." + (f" What they say:\n  steelyard label {what}" if desk.n_given else "")
        )


def _rubric(header: RunHeader) -> str:
    """What is looked at, and what each score means."""
    judge = header.description.judge
    if judge is None:
        return ""
    lines = []
    for item in judge.rubric.dimensions:
        lines += [f"{item.name}: {item.about}", *(f"  {score}: {text}" for score, text in item.scores.items())]
    for flag in judge.rubric.flags:
        lines += [f"{flag.name}: {flag.about}", *(f"  - {text}" for text in flag.triggers)]
    return "\n".join(lines)


def _show(task: Task) -> None:
    from steelyard.report.format import spelled_out

    shown = (
        task.case.input
        if isinstance(task.case.input, str)
        else json.dumps(task.case.input, ensure_ascii=False, indent=2)
    )
    click.echo(f"\n--- {task.done + 1} ---\n\nInput\n\n{spelled_out(shown, keep=chr(10))}\n")
    for attachment in task.case.attachments:
        click.echo(f"Attachment: {spelled_out(attachment.place)}\n")
    for title, text in (("First answer" if task.second else "Answer", task.answer), ("Second answer", task.second)):
        if text:
            click.echo(f"{title}\n\n{spelled_out(text, keep=chr(10))}\n")


def _asked(desk: Desk, task: Task) -> bool:
    """Ask for one label, and keep it; False when the person wants to stop."""
    comment, value = "", dict[str, Any]()
    wanted = _questions(desk.terms, desk.kind)
    while len(value) < len(wanted):
        name, question = wanted[len(value)]
        try:
            text = click.prompt(question, prompt_suffix=" > ").strip()
        except click.Abort:
            text = "q"
        if text in ("q", "quit"):
            return False
        if text in ("s", "skip"):
            desk.skip(task, comment=comment)
            return True
        if text in ("u", "undo") and value:
            value.popitem()
            continue
        if text in ("u", "undo"):
            click.echo("taken back" if desk.undo() else "there is nothing to take back")
            return True
        if text == "c" or text.startswith("c "):
            comment = text[2:].strip()
            click.echo("this is the comment" if comment else "no comment: give one as c TEXT")
            continue
        try:
            value[name] = _read(desk, name, text)
        except ValueError as error:
            click.echo(str(error))
    desk.save(task, value if desk.kind == "scores" else value[wanted[0][0]], comment=comment)
    return True


def _read(desk: Desk, name: str, text: str) -> Any:
    if desk.kind == "scores":
        return desk.terms.check("scores", {name: text})[name]
    if desk.kind == "answer" and desk.terms.suite.answer.schema_data is not None:
        try:
            return desk.terms.check("answer", json.loads(text))
        except json.JSONDecodeError as error:
            raise ValueError(f"this is no JSON: {error}") from None
    if desk.kind == "preference":
        if text not in ("1", "2", "tie"):
            raise ValueError("say 1, 2 or tie")
        return {"1": "first", "2": "second"}.get(text, text)
    if desk.kind == "verdict":
        if text.lower() not in ("p", "f", "pass", "fail"):
            raise ValueError("say p (pass) or f (fail)")
        return text.lower().startswith("p")
    return desk.terms.check(desk.kind, text)


def _questions(terms: Terms, kind: str) -> list[tuple[str, str]]:
    keys = "s skip, u undo, c TEXT comment, q quit"
    if kind != "scores" or terms.rubric is None:
        schema = terms.suite.answer.schema_data
        fields = schema.get("properties", {}) if isinstance(schema, dict) else {}
        answer = (
            "your answer" if schema is None else f"your answer as JSON{' with ' if fields else ''}{', '.join(fields)}"
        )
        asked = {"verdict": "p pass, f fail", "preference": "which is better: 1, 2 or tie"}.get(kind, answer)
        return [(kind, f"{asked}; {keys}")]
    rubric = terms.rubric
    scores = [(name, f"{name} {rubric.low:g} to {rubric.high:g}; {keys}") for name in rubric.dimensions]
    return scores + [(name, f"{name} yes or no; {keys}") for name in rubric.flags]


@label_command.command("status")
@run_name
@_against
@_names
@store_url
@as_json
def status(run: str, against: str | None, names: bool, store_url: str | None, as_json: bool) -> None:
    """Say how far the labels of RUN are: by how they were drawn, and by person."""
    from collections import Counter

    from steelyard.cli.output import print_json
    from steelyard.people.files import people_names

    with _opened(store_url, run) as (store, header):
        other = None if against is None else store.run(against).id
        progress, labels = store.people.progress(header.id, other), store.people.labels(run_id=header.id)
        if other is not None:
            labels = [label for label in labels if other in (label.run_id, label.other_run_id)]
        person = people_names(store, names=names)
        by_person = Counter(person(label.person) for label in labels if label.kind != "skipped")
        if as_json:
            queue = {name: {"labelled": done, "planned": planned} for name, (done, planned) in progress.items()}
            print_json({"run": header.id, "queue": queue, "people": dict(by_person), "labels": by_person.total()})
            return
        for name, (done, planned) in progress.items():
            click.echo(f"{name:<14} {done:>6} of {planned} labelled")
        for name, n in by_person.most_common():
            click.echo(f"{name:<14} {n:>6} label{'' if n == 1 else 's'}")
        if not labels and not progress:
            click.echo(f"no labels yet: steelyard label plan {header.id} --random 50{_elsewhere(store, header)}")


@label_command.command("agreement")
@run_name
@_names
@click.option("--markdown", metavar="FILE", type=_FILE, help="Write it as Markdown, too.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write it as one self-contained HTML file, too.")
@store_url
@as_json
def agreement(
    run: str, names: bool, markdown: Path | None, html: Path | None, store_url: str | None, as_json: bool
) -> None:
    """Say how far people agree on RUN with each other and themselves, and the judge with them."""
    from steelyard.cli.output import show_document
    from steelyard.people.agreement import agreement_of
    from steelyard.people.files import people_names
    from steelyard.report.people import agreement_document, people_data

    with _opened(store_url, run) as (store, header):
        person = people_names(store, names=names)
        part = agreement_of(store, header, person)
        _refuse_unlabelled(store, header, part.n_labels)
    show_document(agreement_document(part, header), people_data(header, part), markdown, html, as_json=as_json)


@label_command.command("estimate")
@run_name
@click.option("--label-cost", metavar="COST", type=click.FloatRange(min=0), help="What one label costs.")
@click.option("--markdown", metavar="FILE", type=_FILE, help="Write it as Markdown, too.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write it as one self-contained HTML file, too.")
@store_url
@as_json
def estimate(
    run: str,
    label_cost: float | None,
    markdown: Path | None,
    html: Path | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Estimate the figures of RUN from its judge and its labels together.

    Stands on labels that were drawn at random. Says how many more would halve each interval.
    """
    from steelyard.cli.output import show_document
    from steelyard.people.estimates import estimates_of
    from steelyard.report.people import estimates_document, people_data

    with _opened(store_url, run) as (store, header):
        part = estimates_of(store, header, label_cost=label_cost)
        _refuse_unlabelled(store, header, part.n_random + part.n_precision + part.n_other)
    show_document(estimates_document(part, header), people_data(header, part), markdown, html, as_json=as_json)


@label_command.command("crowd")
@run_name
@click.option("--figure", metavar="NAME", default="", help="A dimension, flag or field. [default: passes]")
@click.option("--propose", metavar="FILE", type=_FILE, help="Write the agreed items as proposed cases, one a line.")
@_names
@store_url
@as_json
def crowd(run: str, figure: str, propose: Path | None, names: bool, store_url: str | None, as_json: bool) -> None:
    """Make one answer an item out of several people's labels of RUN, and say whom to rely on.

    The method (majority, one-coin, MACE, Dawid-Skene) is the one that predicts held-out labels best. Cases with labels
    or a truth of their own are gold questions.
    """
    from steelyard.cli.output import report_written, show_document
    from steelyard.people.consensus import consensus_of, propose_cases
    from steelyard.people.files import people_names
    from steelyard.report.people import consensus_document, people_data

    with _opened(store_url, run) as (store, header):
        person = people_names(store, names=names)
        part = consensus_of(store, header, figure, person)
        if propose is not None:
            propose_cases(store, header, part, propose)
    show_document(consensus_document(part, header), people_data(header, part), as_json=as_json)
    if not as_json:
        report_written(propose)


@label_command.command("experts")
@click.argument("suite", metavar="SUITE")
@_names
@store_url
@as_json
def experts(suite: str, names: bool, store_url: str | None, as_json: bool) -> None:
    """Hold experts' own answers against the truth of SUITE: which cases are contested."""
    from steelyard.cli.output import show_document
    from steelyard.errors import UsageError
    from steelyard.people.experts import experts_of
    from steelyard.people.files import people_names
    from steelyard.report.people import experts_document
    from steelyard.report.render.json import encode_object
    from steelyard.store.sql import open_store
    from steelyard.suite.load import load_suite

    loaded = load_suite(suite)
    store = open_store(store_url, create=False)
    try:
        person = people_names(store, names=names)
        part = experts_of(store, loaded, person)
    finally:
        store.close()
    if not part.n_cases:
        raise UsageError(
            f"nobody has answered a case of {loaded.name} yet: steelyard label plan RUN --kind answer --random 20"
        )
    show_document(experts_document(part, loaded.name), {"suite": loaded.name} | encode_object(part), as_json=as_json)


def _elsewhere(store: SqlStore, header: RunHeader) -> str:
    """The run of the suite that people labelled last: RUN is the newest one unless it is named."""
    runs = [label.run_id for label in store.people.labels(suite=header.suite_name) if label.run_id is not None]
    return f" (the labels given last are of run {runs[-1]})" if runs and runs[-1] != header.id else ""


def _refuse_unlabelled(store: SqlStore, header: RunHeader, n: int) -> None:
    from steelyard.errors import UsageError

    if not n:
        raise UsageError(
            f"run {header.id} has no labels yet that say how good an answer is:"
            f" steelyard label plan {header.id} --random 50{_elsewhere(store, header)}"
        )


@label_command.command("withdraw")
@click.argument("number", type=int)
@store_url
def withdraw(number: int, store_url: str | None) -> None:
    """Take label NUMBER back: it stays in the store, and is in no figure."""
    from steelyard.store.sql import open_store

    store = open_store(store_url, create=False)
    try:
        label = store.people.withdraw(number)
    finally:
        store.close()
    click.echo(f"label {number} of {label.case_id} is taken back")


@label_command.command("log")
@run_name
@_names
@store_url
@as_json
def log(run: str, names: bool, store_url: str | None, as_json: bool) -> None:
    """List the labels of RUN with their numbers, oldest first."""
    from steelyard.cli.output import print_json
    from steelyard.people.files import label_row, people_names

    with _opened(store_url, run) as (store, header):
        labels = store.people.labels(run_id=header.id)
        person = people_names(store, names=names)
        if as_json:
            rows = [label_row(label, person(label.person)) for label in labels]
            print_json([{"number": label.number} | row for label, row in zip(labels, rows, strict=True)])
            return
        for label in labels:
            variant = f" [{label.variant}]" if label.variant else ""
            repeat = f" #{label.repeat}" if label.repeat else ""
            comment = f"  {label.comment}" if label.comment else ""
            who, value = person(label.person), json.dumps(label.value, ensure_ascii=False)
            click.echo(f"{label.number:>6}  {label.case_id}{variant}{repeat}  {who}  {value}  {label.drawn}{comment}")


@label_command.command("import")
@click.argument("file", type=_FILE)
@run_name
@store_url
def import_(file: Path, run: str, store_url: str | None) -> None:
    """Read the labels of RUN from FILE: .csv, .jsonl or Label Studio's .json. One wrong row and none is kept."""
    from steelyard.people.files import import_labels
    from steelyard.report.format import counted

    with _opened(store_url, run) as (store, header):
        labels = import_labels(store, header, file)
        people = len({label.person for label in labels})
        click.echo(f"{counted(len(labels), 'label')} of {counted(people, 'person', 'people')} kept with {header.id}")


@label_command.command("export")
@click.argument("file", type=_FILE)
@run_name
@_names
@store_url
def export(file: Path, run: str, names: bool, store_url: str | None) -> None:
    """Write the labels of RUN to FILE: .csv, .jsonl or Label Studio's .json. People are pseudonyms."""
    from steelyard.people.files import export_labels
    from steelyard.report.format import counted

    with _opened(store_url, run) as (store, header):
        n = export_labels(store, header, file, names=names)
        click.echo(f"{counted(n, 'label')} written to {file}")
