"""`steelyard rescore`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import as_json, max_inconclusive, run_name, store_url

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.suite.model import SuiteModel


@click.command("rescore")
@run_name
@click.option("--suite", metavar="SUITE", help="Weigh by this suite instead of the one the run was made with.")
@click.option("--strict", is_flag=True, help="Weigh by the strict rule of every scorer that has one.")
@max_inconclusive
@store_url
@as_json
def command(
    run: str, suite: str | None, strict: bool, max_inconclusive: float | None, store_url: str | None, as_json: bool
) -> None:
    """Weigh recorded answers again; no call is made.

    Takes the suite as it is now, with its scorers, weights and truth, and writes a new run. Answers to questions
    that have changed since are left out and counted as missing.
    """
    from steelyard import weighing
    from steelyard.cli.ending import end_with
    from steelyard.cli.show import progress_of
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        header = store.run(run)
        loaded = _same_suite(header, suite)
        with progress_of(f"rescoring {header.id}", quiet=as_json) as progress:
            new = weighing.rescore(
                loaded, store, header, strict=strict, max_inconclusive=max_inconclusive, progress=progress
            )
        code = end_with(store, new, as_json=as_json)
    finally:
        store.close()
    sys.exit(code)


def _same_suite(header: RunHeader, asked: str | None) -> SuiteModel:
    """The suite the run was made with, as it is now, or the one that was asked for."""
    from steelyard.errors import SuiteError, UserMistake
    from steelyard.suite.load import load_suite

    if asked is not None:
        return load_suite(asked)
    try:
        suite = load_suite(header.suite_path)
    except SuiteError:
        raise
    except UserMistake as error:
        raise UserMistake(f"{error}; name the suite that run {header.id} was made with: --suite SUITE") from error
    if suite.name != header.suite_name:
        raise UserMistake(
            f"run {header.id} weighed suite {header.suite_name}, but {header.suite_path} is {suite.name} now:"
            " name the right one with --suite SUITE"
        )
    return suite
