"""`steelyard label`: people label the answers of a run."""

from __future__ import annotations

import getpass
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import FILE, as_json, run_name, store_url
from steelyard.cli.output import print_json, report_written, show_document
from steelyard.errors import UsageError
from steelyard.loading.load import load_suite
from steelyard.people import files, report
from steelyard.people.agreement import agreement_of
from steelyard.people.consensus import consensus_of, fill_from_crowd, propose_cases
from steelyard.people.desk import Desk, Draw, LabelTask, extend_plan
from steelyard.people.estimates import estimates_of
from steelyard.people.experts import experts_of, rule
from steelyard.people.labels import PREFERENCE, LabelTerms
from steelyard.people.pseudonyms import people_names
from steelyard.records import RunHeader
from steelyard.report.document import Document
from steelyard.report.format import counted, spelled_out
from steelyard.report.render.json import encode_object
from steelyard.store.people import (
    ANSWER,
    DISMISSED,
    SCORES,
    SKIPPED,
    UPHELD,
    VERDICT,
    AlreadyLabelled,
    Queue,
    person_key,
)
from steelyard.store.sql import SqlStore, open_store
from steelyard.truth.edits import Author, assigned, still_missing

Shown = tuple[Document | Sequence[str], Any]
"""What a command has to say: as a report or in lines, and as data."""


def _option(spelled: str, about: str, kind: Any = None, default: Any = None) -> Callable[[Any], Any]:
    """An option with a value: `--random N`, what it means, and of which type it is."""
    name, metavar = spelled.split()
    return click.option(name, metavar=metavar, type=kind, default=default, help=about)


_N = click.IntRange(min=0)
_file = click.argument("file", type=FILE)
_person = click.option(
    "--as", "person", metavar="NAME", default=getpass.getuser, help="Who labels: a name or a pseudonym. [default: you]"
)
_names = click.option("--names", is_flag=True, help="Show people by name; else by pseudonym.")
_against = _option("--against RUN", "Ask which answer is better: RUN's or that of this one.")
_written = (
    _option("--markdown FILE", "Write it as Markdown, too.", FILE),
    _option("--html FILE", "Write it as one self-contained HTML file, too.", FILE),
)


@click.group("label")
def label_command() -> None:
    """Let people label answers, and say how far they agree."""


def _command(name: str, *options: Callable[[Any], Any]) -> Callable[[Callable[..., Shown]], None]:
    """A command on a store. Its function takes the store and the options; its docstring is the help."""

    def register(function: Callable[..., Shown]) -> None:
        def command(store_url: str | None, **given: Any) -> None:
            paths = {option: given.pop(option, None) for option in ("markdown", "html")}
            is_json = given.pop("as_json", False)
            with open_store(store_url, create=False) as store:
                shown, data = function(store, **given)
            if isinstance(shown, Document):
                show_document(shown, data, **paths, as_json=is_json)
                report_written(None if is_json else given.get("propose"))
            elif is_json:
                print_json(data)
            else:
                for line in shown:
                    click.echo(line)

        for option in (store_url, *options[::-1]):
            command = option(command)
        label_command.command(name, help=function.__doc__)(command)

    return register


def _other(store: SqlStore, against: str | None) -> RunHeader | None:
    return None if against is None else store.run(against)


@_command(
    "plan",
    run_name,
    _option("--random N", "This many more at random: estimates stand on them.", _N, 0),
    _option("--disagreement N", "This many on which judges disagree most.", _N, 0),
    _option("--precision N", "This many that tighten the pass rate most.", _N, 0),
    _option("--per-item N", "People that label each.", click.IntRange(min=1), 1),
    _option("--again SHARE", "Share that each person labels twice.", click.FloatRange(0, 1)),
    _option("--kind KIND", "scores, verdict or answer. [default: scores with a judge]", default=""),
    _option("--seed N", "Decides the draw, so that it can be repeated. [default: the run]", _N),
    _against,
    _person,
)
def _plan(store: SqlStore, run: str, per_item: int, against: str | None, person: str, **given: Any) -> Shown:
    """Draw answers of RUN into the queue of what is to be labelled."""
    asked = {name: given.pop(name) for name in ("random", "disagreement", "precision")}
    if not any(asked.values()):
        raise UsageError("say how many answers to draw: --random 50, and then --disagreement or --precision")
    header, other = store.run(run), _other(store, against)
    drawn = extend_plan(store, header, Draw(**asked, per_item=per_item), by=person, against=other, **given)
    lines = [f"{name}: {drawn[name]} of {n} drawn" for name, n in asked.items() if n]
    if not any(drawn.values()):
        return [*lines, "There is nothing more to draw: every answer is in the queue, or no judges disagree."], None
    extra = f" --against {other.id}" if other else f" --kind {ANSWER}" if given["kind"] == ANSWER else ""
    return [*lines, f"Label them with:\n  steelyard label next {header.id}{extra}"], None


@_command(
    "next",
    run_name,
    _person,
    _option("--kind KIND", "answer, where a run has a plan of experts' answers, too.", default=""),
    _option("--lease MINUTES", "How long an answer is held. [default: 30]", click.FloatRange(0, min_open=True), 30.0),
    _against,
)
def _next(store: SqlStore, run: str, person: str, kind: str, lease: float, against: str | None) -> Shown:
    """Label the answers of RUN one by one; each is kept before the next is shown.

    Nothing of what the judge, the scorers or others say is shown, nor which model answered.
    """
    header = store.run(run)
    desk = Desk(store, header, person, kind=kind, lease=60 * lease, against=_other(store, against))
    click.echo(_rubric(header))
    while (task := desk.next()) is not None:
        _show(task)
        try:
            if not _asked(desk, task):
                desk.leave(task)
                break
        except AlreadyLabelled:
            click.echo("you labelled this one elsewhere meanwhile: that label stays")
    else:
        click.echo("Nothing is left for you to label.")
    what = f"experts {header.suite_name}" if desk.kind == ANSWER else f"agreement {header.id}"
    more = f" What they say:\n  steelyard label {what}" if desk.n_given else ""
    return [f"\n{desk.n_given} labelled.{more}"], None


def _rubric(header: RunHeader) -> str:
    """What is looked at, and what each score means."""
    lines = []
    if (judge := header.description.judge) is not None:
        for item in judge.rubric.dimensions:
            lines += [f"{item.name}: {item.about}", *(f"  {score}: {text}" for score, text in item.scores.items())]
        for flag in judge.rubric.flags:
            lines += [f"{flag.name}: {flag.about}", *(f"  - {text}" for text in flag.triggers)]
    return "\n".join(lines)


def _show(task: LabelTask) -> None:
    shown = task.case.input
    shown = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, indent=2)
    click.echo(f"\n--- {task.done + 1} ---\n\nInput\n\n{spelled_out(shown, keep=chr(10))}\n")
    for attachment in task.case.attachments:
        click.echo(f"Attachment: {spelled_out(attachment.place)}\n")
    for title, text in (("First answer" if task.second else "Answer", task.answer), ("Second answer", task.second)):
        if text:
            click.echo(f"{title}\n\n{spelled_out(text, keep=chr(10))}\n")


def _asked(desk: Desk, task: LabelTask) -> bool:
    """Ask for one label, and keep it; False when the person wants to stop."""
    comment, value = "", dict[str, Any]()
    wanted = _questions(desk.terms, desk.kind)
    while len(value) < len(wanted):
        name = list(wanted)[len(value)]
        question, read = wanted[name]
        try:
            text = click.prompt(f"{question}; s skip, u undo, c TEXT comment, q quit", prompt_suffix=" > ").strip()
        except click.Abort:
            text = "q"
        if text in ("q", "quit"):
            return False
        if text in ("s", "skip"):
            desk.skip(task, comment=comment)
            return True
        if text in ("u", "undo") and value:
            value.popitem()
        elif text in ("u", "undo"):
            click.echo("taken back" if desk.undo() else "there is nothing to take back")
            return True
        elif text == "c" or text.startswith("c "):
            comment = text[2:].strip()
            click.echo("this is the comment" if comment else "no comment: give one as c TEXT")
        else:
            try:
                value[name] = read(text)
            except ValueError as error:
                click.echo(str(error))
    desk.save(task, value if desk.kind == SCORES else value[desk.kind], comment=comment)
    return True


def _questions(terms: LabelTerms, kind: str) -> dict[str, tuple[str, Callable[[str], Any]]]:
    """By name what is asked for, and how it is read; ValueError with a sentence when it is not understood."""
    if kind == SCORES and (rubric := terms.rubric) is not None:
        asked = {name: f"{name} {rubric.low:g} to {rubric.high:g}" for name in rubric.dimensions}
        asked |= {name: f"{name} yes or no" for name in rubric.flags}
        return {
            name: (text, lambda answer, name=name: terms.check(SCORES, {name: answer})[name])  # type: ignore[misc]
            for name, text in asked.items()
        }
    if kind == VERDICT:
        verdicts = {"p": True, "pass": True, "f": False, "fail": False}
        return {kind: ("p pass, f fail", _one_of(verdicts, "say p (pass) or f (fail)"))}
    if kind == PREFERENCE:
        better = {"1": "first", "2": "second", "tie": "tie"}
        return {kind: ("which is better: 1, 2 or tie", _one_of(better, "say 1, 2 or tie"))}
    schema = terms.suite.answer.schema_data
    fields = ", ".join((schema or {}).get("properties", {}))
    how = "" if schema is None else f" as JSON{' with ' if fields else ''}{fields}"
    return {kind: (f"your answer{how}", lambda text: terms.read(kind, text))}


def _one_of(words: Mapping[str, Any], message: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text.lower() not in words:
            raise ValueError(message)
        return words[text.lower()]

    return read


@_command("status", run_name, _against, _names, as_json)
def _status(store: SqlStore, run: str, against: str | None, names: bool) -> Shown:
    """Say how far the labels of RUN are: by how they were drawn, and by person."""
    header, other = store.run(run), _other(store, against)
    queues = [Queue(header.id, other.id)] if other else [Queue(header.id), Queue(header.id, of_cases=True)]
    labels = store.people.labels(run_id=header.id)
    if other is not None:
        labels = [label for label in labels if other.id in (label.run_id, label.other_run_id)]
    person = people_names(store, names=names)
    by_person = Counter(person(label.person) for label in labels if label.kind != SKIPPED)
    progress = {
        f"{name}, {ANSWER}" if queue.of_cases else name: done
        for queue in queues
        for name, done in store.people.progress(queue).items()
    }
    lines = [f"{name:<14} {done:>6} of {planned} labelled" for name, (done, planned) in progress.items()]
    lines += [f"{name:<14} {n:>6} label{'' if n == 1 else 's'}" for name, n in by_person.most_common()]
    if not labels and not progress:
        lines = [f"no labels yet: {_how_to_get_some(store, header)}"]
    queue = {name: {"labelled": done, "planned": planned} for name, (done, planned) in progress.items()}
    return lines, {"run": header.id, "queue": queue, "people": dict(by_person), "labels": by_person.total()}


@_command("agreement", run_name, _names, *_written, as_json)
def _agreement(store: SqlStore, run: str, names: bool) -> Shown:
    """Say how far people agree on RUN with each other and themselves, and the judge with them."""
    header = store.run(run)
    part = agreement_of(store, header, people_names(store, names=names))
    _refuse_unlabelled(store, header, part.n_labels)
    return report.agreement_document(part, header), report.people_data(header, part)


@_command(
    "estimate",
    run_name,
    _option("--label-cost COST", "What one label costs.", click.FloatRange(min=0)),
    *_written,
    as_json,
)
def _estimate(store: SqlStore, run: str, label_cost: float | None) -> Shown:
    """Estimate the figures of RUN from its judge and its labels together.

    Stands on labels that were drawn at random. Says how many more would halve each interval.
    """
    header = store.run(run)
    part = estimates_of(store, header, label_cost=label_cost)
    _refuse_unlabelled(store, header, part.n_random + part.n_precision + part.n_declared + part.n_other)
    return report.estimates_document(part, header), report.people_data(header, part)


@_command(
    "crowd",
    run_name,
    _option("--figure NAME", "A dimension, flag or field. [default: passes]", default=""),
    _option("--propose FILE", "Write agreed items that have no truth as proposed cases.", FILE),
    _option("--fill CASE", "Write what people agree on into the file of a pending CASE.", default=""),
    click.option(
        "--set",
        "values",
        metavar="PATH=VALUE",
        multiple=True,
        callback=lambda _, __, given: dict(map(assigned, given)),
        help="With --fill, a value that people do not give. May be given more than once.",
    ),
    _option("--why TEXT", "With --fill, the reason, which the ledger keeps.", default=""),
    _person,
    _names,
    as_json,
)
def _crowd(
    store: SqlStore,
    run: str,
    figure: str,
    propose: Path | None,
    fill: str,
    values: dict[str, Any],
    why: str,
    person: str,
    names: bool,
) -> Shown:
    """Make one answer an item out of several people's labels of RUN, and say whom to rely on.

    The method is majority unless one-coin, MACE or Dawid-Skene predicts held-out labels better, beyond noise; its
    shrinkage is chosen by held-out labels, too. People who repeat one another's labels have one vote. Cases with labels
    or a truth of their own are gold questions.
    """
    header = store.run(run)
    if fill:
        line = fill_from_crowd(store, header, fill, Author(person, why), values)
        missing = still_missing(header.suite_path, fill)
        left = [f"{fill} is still pending: it has no {', no '.join(missing)}"] if missing else []
        return [f"{fill}: {', '.join(line.change or {})} filled in", *left], line.as_data()
    part = consensus_of(store, header, figure, people_names(store, names=names))
    if propose is not None:
        propose_cases(store, header, part, propose)
    return report.consensus_document(part, header), report.people_data(header, part)


@_command(
    "experts",
    click.argument("suite", metavar="SUITE"),
    _option("--uphold CASE", "Decide that a questioned CASE is contested; --why gives the reason.", default=""),
    _option("--dismiss CASE", "Decide that it is not.", default=""),
    _option("--why TEXT", "The reason, which is recorded.", default=""),
    _person,
    _names,
    as_json,
)
def _experts(store: SqlStore, suite: str, uphold: str, dismiss: str, why: str, person: str, names: bool) -> Shown:
    """Compare experts' own answers with the truth of SUITE: which cases are contested.

    A case is contested when two people disagree with its truth, or when one does and somebody else upholds it.
    """
    loaded = load_suite(suite)
    for case_id, value in ((uphold, UPHELD), (dismiss, DISMISSED)):
        if case_id:
            rule(store, loaded, case_id, value, person, why)
    part = experts_of(store, loaded, people_names(store, names=names))
    if not part.n_cases:
        how = f"steelyard label plan RUN --kind {ANSWER} --random 20"
        raise UsageError(f"nobody has answered a case of {loaded.name} yet: {how}")
    return report.experts_document(part, loaded.name), {"suite": loaded.name} | encode_object(part)


def _how_to_get_some(store: SqlStore, header: RunHeader) -> str:
    """The command, and the run of the suite that people labelled last: RUN is the newest one unless it is named."""
    runs = [label.run_id for label in store.people.labels(suite=header.suite_name) if label.run_id is not None]
    last = f" (the labels given last are of run {runs[-1]})" if runs and runs[-1] != header.id else ""
    return f"steelyard label plan {header.id} --random 50{last}"


def _refuse_unlabelled(store: SqlStore, header: RunHeader, n: int) -> None:
    if not n:
        missing = f"run {header.id} has no labels yet that say how good an answer is"
        raise UsageError(f"{missing}: {_how_to_get_some(store, header)}")


@_command("withdraw", click.argument("number", type=int))
def _withdraw(store: SqlStore, number: int) -> Shown:
    """Take label NUMBER back: it stays in the store, and is in no figure."""
    return [f"label {number} of {store.people.withdraw(number).case_id} is taken back"], None


@_command("log", run_name, _names, as_json)
def _log(store: SqlStore, run: str, names: bool) -> Shown:
    """List the labels of RUN with their numbers, oldest first."""
    person, lines, data = people_names(store, names=names), [], []
    for label in store.people.labels(run_id=store.run(run).id):
        who, value = person(label.person), json.dumps(label.value, ensure_ascii=False)
        variant = f" [{label.variant}]" if label.variant else ""
        repeat = f" #{label.repeat}" if label.repeat else ""
        comment = f"  {label.comment}" if label.comment else ""
        lines.append(f"{label.number:>6}  {label.case_id}{variant}{repeat}  {who}  {value}  {label.drawn}{comment}")
        data.append({"number": label.number} | files.label_row(label, who))
    return lines, data


@_command("import", _file, run_name)
def _import(store: SqlStore, file: Path, run: str) -> Shown:
    """Read the labels of RUN from FILE: .csv, .jsonl or Label Studio's .json. One wrong row and none is kept."""
    header = store.run(run)
    labels = files.import_labels(store, header, file, of_any_run=run != "LAST")
    people = counted(len({person_key(label.person) for label in labels}), "person", "people")
    return [f"{counted(len(labels), 'label')} of {people} kept with {header.id}"], None


@_command("export", _file, run_name, _names)
def _export(store: SqlStore, file: Path, run: str, names: bool) -> Shown:
    """Write the labels of RUN to FILE: .csv, .jsonl or Label Studio's .json. People are pseudonyms."""
    n = files.export_labels(store, store.run(run), file, names=names)
    return [f"{counted(n, 'label')} written to {file}"], None
