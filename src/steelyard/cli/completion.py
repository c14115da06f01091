"""What shells complete: runs, suites, metrics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

_MOST = 200
"""Runs."""


def runs(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:  # noqa: ARG001
    """The newest runs of the store that begin so, and LAST; none where there is no store."""
    from steelyard.store.sql import open_store

    names: list[str] = []
    # A shell that waits for a word is no place for a message.
    with (
        contextlib.suppress(Exception),
        open_store(context.params.get("store_url"), create=False) as store,
    ):
        names = [header.id for header in store.listing.page(limit=_MOST)]
    return _beginning(typed, ["LAST", *names])


def suites(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:  # noqa: ARG001
    """The built-in suites, folders with a suite in them, and files."""
    from steelyard.loading.load import suite_names

    folders = [str(file.parent) for file in Path().glob("*/suite.yaml")]
    return [*_beginning(typed, [*suite_names(), *folders]), CompletionItem(typed, type="file")]


def metrics(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:  # noqa: ARG001
    """The names of metrics."""
    from steelyard.metrics.registry import FAMILIES
    from steelyard.metrics.registry import metrics as registered

    return _beginning(typed, registered(FAMILIES))


def _beginning(typed: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(typed)]
