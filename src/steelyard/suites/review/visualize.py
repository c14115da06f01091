"""The first team's four charts from a results file: `python -m steelyard.suites.review.visualize results.json`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from steelyard import SteelyardError, import_run, load_suite

CHART_NAMES = {"counts": "observation_counts"}
"""Where the first team called a chart by another name; latency_by_case, stability and pass_fail are the same."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the charts beside the file, whoever wrote it, and name them; nothing is put into a store."""
    parser = argparse.ArgumentParser("steelyard.suites.review.visualize", description="Draw a results file.")
    parser.add_argument("results", type=Path, help="a results file of this runner or of the first team's")
    results = parser.parse_args(sys.argv[1:] if arguments is None else arguments).results
    try:
        with TemporaryDirectory() as folder:
            run = import_run(load_suite(Path(__file__).parent), results, store=str(Path(folder) / "runs.db"))
        drawn = run.write_charts(results.parent, CHART_NAMES)
    except SteelyardError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command line speaks to a person
        return error.exit_code
    except OSError as error:
        print(f"error: {error.filename or 'a file'}: {error.strerror}"[:300], file=sys.stderr)  # noqa: T201
        return 2
    print(f"Charts: {', '.join(str(picture) for picture in drawn)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
