"""The seed's command line: `python -m steelyard.suites.review.runner --cases DIR -n 5 --json-output FILE`.

A thin front of `steelyard run review --target http`: the same run, kept in the same store, with the same exit codes. It
prints the seed's table and writes the seed's results file, with the four charts beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard import MissingExtra, Run, SteelyardError, load_suite, run_suite, with_target

from .results_table import lines
from .visualize import CHART_NAMES

TOKEN_VARIABLE = "REVIEW_TOKEN"  # noqa: S105 - the name of a variable


def main(arguments: Sequence[str] | None = None) -> int:
    """Weigh the service, say what came of it, and give the exit code that its verdict stands for."""
    options = _options(sys.argv[1:] if arguments is None else arguments)
    try:
        return _weigh(options)
    except SteelyardError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - as `_say`
        return error.exit_code


def _weigh(options: argparse.Namespace) -> int:
    # By its place: a folder `review` where the command is given may hold another suite.
    # The cases of whoever calls it are all that there are.
    suite = replace(load_suite(Path(__file__).parent, cases=options.cases), other_cases="")
    suite = with_target(suite, "http", {"base_url": options.base_url})
    run = run_suite(
        suite,
        store=options.store,
        env={**os.environ, TOKEN_VARIABLE: options.token},
        show_progress=True,
        repeats=options.repeats,
        concurrency=options.concurrency,
    )
    results = {**run.own_format(), "backend": options.backend}
    for line in lines(results, options.base_url, run.report.decision.reasons):
        _say(line)
    if options.json_output is not None:
        _save(results, run, options.json_output)
    return run.exit_code


def _save(results: dict[str, Any], run: Run, path: Path) -> None:
    """Write the results file, whole or not at all, and the charts beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)
    _say(f"\nResults: {path}")
    try:
        drawn = run.write_charts(path.parent, CHART_NAMES)
    except MissingExtra as error:
        _say(f"No charts: {error}")
    else:
        _say(f"Charts:  {', '.join(picture.name for picture in drawn)}")


def _say(text: str) -> None:
    print(text)  # noqa: T201 - a command line speaks to a person


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("steelyard.suites.review.runner", description="Weigh a review service.")
    add = parser.add_argument
    add("--cases", type=Path, default=Path("eval/cases"), help="folder with a JSON file a case [default: eval/cases]")
    add("--backend", default="ollama", help="what the table and the results call the backend [default: ollama]")
    add("--base-url", default="http://localhost:9020", help="where the service is [default: http://localhost:9020]")
    add("--token", default="demo-token", help="the bearer token [default: demo-token]")
    add("-n", dest="repeats", type=_at_least_one, default=5, help="runs of each case; 1 is a smoke test [default: 5]")
    add("--json-output", type=Path, help="file for the results; charts are put beside it")
    add("--concurrency", type=_at_least_one, default=1, help="calls at a time [default: 1, as the seed measured]")
    add("--store", help="where the run is kept [default: $STEELYARD_STORE or .steelyard/]")
    return parser.parse_args(arguments)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of times: write 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
