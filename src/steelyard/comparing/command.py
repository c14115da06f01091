"""The command compare."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from steelyard.cli.attribution_options import AttributionOptions, ExplainOptions, attribution_options, explain_options
from steelyard.cli.options import FILE, as_json, store_url
from steelyard.cli.output import show
from steelyard.errors import UsageError
from steelyard.results.find import FoundRuns

# `steelyard compare`.


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B", required=False)
@click.option(
    "--variants", metavar="A B", nargs=2, help="Compare two variants of one run, paired by case; no call is made."
)
@click.option("--allow-mismatch", is_flag=True, help="Give a verdict although the signature or the truth differs.")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write the comparison as Markdown, too.")
@click.option("--html", metavar="FILE", type=FILE, help="Write it as one self-contained HTML file, too.")
@attribution_options
@explain_options
@store_url
@as_json
def compare_command(
    a: str,
    b: str | None,
    variants: tuple[str, str] | None,
    allow_mismatch: bool,
    markdown: Path | None,
    html: Path | None,
    suite: str | None,
    no_attribution: bool,
    rejudge: int | None,
    max_cost: float | None,
    yes: bool,
    explain: str | None,
    limit: int | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Show what changed between two runs, with intervals and p-values.

    A (before) and B (after) are runs (a name, the beginning of it, LAST, LAST~1), baselines (@release) or snapshot
    files (.json), which are not put into the store. Exit code 0 when B is better or the same, 1 when it is worse, 4
    for CANNOT TELL, 3 when a run is INVALID. When no sample of A can be compared with one of B, the figures of
    both runs are shown side by side, and the verdict is CANNOT TELL.

    Says also why the headline number moved: other cases, missing answers, scorers, truth, judge or the system. A's
    recorded answers are scored by B's suite for that, where the two signatures differ.

    `steelyard compare RUN --variants short long` compares two variants of one run in the same way.
    """
    if (b is None) == (variants is None):
        raise UsageError("give two runs, or one run and --variants with two of its variants")
    options = AttributionOptions(suite, no_attribution, rejudge, max_cost, yes)
    options.refuse_what_does_nothing()
    explaining = ExplainOptions(explain, limit)
    explaining.refuse_beside(markdown=markdown, html=html)
    if explaining.asks_why:
        explaining.refuse_beside(**{"no-attribution": no_attribution})
    else:
        explaining.refuse_beside(suite=suite, rejudge=rejudge)
    from steelyard.comparing.operations import compared_variants
    from steelyard.results.comparisons import shown_comparison

    with ExitStack() as closing:
        runs = FoundRuns(store_url, closing)
        if b is None:
            explaining.refuse_beside(variants=True)
            if options != AttributionOptions():
                raise UsageError(
                    "--variants: both are of one run, and there is nothing to attribute: leave out the rest"
                )
            comparison = compared_variants(runs.find(a), variants or ("", ""), allow_mismatch=allow_mismatch)
            sys.exit(show(shown_comparison(comparison), markdown, html, as_json=as_json))
        if explaining.asks_why:
            traced = options.traced(runs.find(a), runs.find(b), store_url, closing, allow_mismatch=allow_mismatch)
            sys.exit(explaining.why(*traced, as_json=as_json))
        if explaining.metric is not None:
            sys.exit(explaining.compared(runs.find(a), runs.find(b), allow_mismatch=allow_mismatch, as_json=as_json))
        comparison = options.compared(runs.find(a), runs.find(b), store_url, closing, allow_mismatch=allow_mismatch)
    sys.exit(show(shown_comparison(comparison), markdown, html, as_json=as_json))


# `steelyard baseline`.
