"""The command show: one sample with everything that is stored of it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import as_json, completed, store_url
from steelyard.cli.output import print_document, print_json
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.excerpt import Repeat
    from steelyard.store.sql import SqlStore


_SHOWN, _WHOLE = 20_000, 5_000_000
"""Characters of an answer that are read, by default and with --full or --json."""
_MOST_REPEATS = 10_000
_MOST_NAMES = 5


@click.command("show")
@click.argument("run", metavar="RUN", shell_complete=completed("runs"))
@click.argument("case", metavar="CASE")
@click.option("--repeat", metavar="N", type=click.IntRange(min=1), help="Which repeat, from 1. [default: the first]")
@click.option("--variant", metavar="NAME", help="Which variant. [default: the first]")
@click.option("--full", is_flag=True, help="Show request, expected and answer whole.")
@store_url
@as_json
def show_command(
    run: str, case: str, repeat: int | None, variant: str | None, full: bool, store_url: str | None, as_json: bool
) -> None:
    """Show one sample: request, answer, expected and got, scores, findings, judge.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, a baseline (@release), or a snapshot file
    (.json). CASE is the id of a case, or the name of a sample as reports print it: 'lookup-2 #1', 'lookup-2 [v] #1'.
    """
    from steelyard.report.shown_sample import shown_sample
    from steelyard.results.find import FoundRuns
    from steelyard.targets.stored_request import request_again

    with ExitStack() as opened:
        store, name = FoundRuns(store_url, opened).find(run)
        header = store.run(name)
        samples = []
        for name, variant_named, repeat_named in _readings(case):
            samples = store.repeats(header.id, name, limit=_MOST_REPEATS)
            if samples:
                case, variant, repeat = name, variant or variant_named, repeat or repeat_named
                break
        if not samples:
            raise UsageError(_no_case(store, header, case))
        place = _chosen(samples, header, case, variant, repeat).position
        most = _WHOLE if full or as_json else _SHOWN
        excerpt = store.excerpts(header.id, [place], most=most)[place]
    shown = shown_sample(header, excerpt, request_again(header, excerpt.sample, excerpt.case))
    if as_json:
        print_json(shown.data() | {"repeats": samples})
        return
    document = shown.document(full=full)
    others = [f"1 of {len(samples)} samples of the case: --repeat and --variant show others"] if samples[1:] else []
    print_document(replace(document, last=others))


def _readings(name: str) -> Iterator[tuple[str, str | None, int | None]]:
    """What a name may stand for: the id of a case, or `id [variant] #2` as reports print it, with or without spaces."""
    yield name, None, None
    printed = re.fullmatch(r"(.+?)\s*#([1-9]\d*)", name, re.DOTALL)
    of_case, repeat = (printed[1], int(printed[2])) if printed else (name, None)
    if printed:
        yield of_case, None, repeat
    for bracket in re.finditer(r"\s*\[", of_case) if of_case.endswith("]") else ():
        yield of_case[: bracket.start()], of_case[bracket.end() : -1], repeat


def _chosen(samples: list[Repeat], header: RunHeader, case: str, variant: str | None, repeat: int | None) -> Repeat:
    """The sample that was asked for; UsageError with what there is when there is none."""
    for item in samples:
        if variant in (None, item.variant) and repeat in (None, item.repeat + 1):
            return item
    variants = ", ".join(dict.fromkeys(item.variant for item in samples if item.variant)) or "no variants"
    there = f"repeats {min(item.repeat for item in samples) + 1} to {max(item.repeat for item in samples) + 1}"
    raise UsageError(f"run {header.id} has no such sample of case {case}: it has {there}, {variants}")


def _no_case(store: SqlStore, header: RunHeader, case: str) -> str:
    """That a run has no sample of a case, with the ids that are nearest to it."""
    ids = list(store.columns(header.id).case_ids)
    parts = [name for name in ids if case.lower() in name.lower()]
    near = list(dict.fromkeys([*difflib.get_close_matches(case, ids, n=_MOST_NAMES), *parts]))[:_MOST_NAMES]
    hint = f"did you mean {', '.join(near)}?" if near else f"its cases are named as {', '.join(ids[:_MOST_NAMES])}"
    if not ids:
        hint = "it has no samples yet"
    return f"run {header.id} has no sample of a case {case!r}: {hint}"
