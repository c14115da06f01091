"""Results files of the seed's runner: read as far as they tell, and written from a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard import Case, RecordedRun, RunHeader, Sample, UserMistake

from .results_read import recorded
from .results_written import document


class Format:
    """Reads and writes results in the seed's shape; whatever is read is written again as it was."""

    def read(self, document: Any) -> RecordedRun:
        """What a results file says of each case; it holds no answers, so its checks are taken as they stand."""
        results = document.get("results") if isinstance(document, Mapping) else None
        if not isinstance(results, list) or not all(_is_result(one) for one in results):
            raise UserMistake("it has no list of results with a case_id each")
        return recorded(document, results)

    def write(self, header: RunHeader, samples: Iterable[tuple[Sample, Case]]) -> dict[str, Any]:
        """The run as such a file: as it was when it was imported, else with the figures of the run."""
        kept = (header.options.get("kept") or {}).get("document")
        return kept if kept is not None else document(header, samples)


def _is_result(one: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get("case_id"), str) and bool(one["case_id"].strip())
