"""Where in the texts the errors are: findings by the named region that they begin in."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.confusions import LEFT_OUT, of_findings
from steelyard.frozen import frozen
from steelyard.metrics.kinds import Aggregate
from steelyard.metrics.registry import Contributions, Labels, Metric, Names, register, same_but
from steelyard.metrics.run_data import RunData
from steelyard.records import Finding
from steelyard.stats.arrays import Array, distinct


@frozen
class _Sections:
    """The findings of conclusive samples that name the region they begin in: regions with most of them first."""

    names: tuple[str, ...]
    sample: Array
    section: Array
    """By finding, a place in `names`."""
    code: Array


def _sections(data: RunData) -> _Sections:
    columns = data.columns
    if len(columns.finding_section) != len(columns.finding_sample) or not any(columns.finding_sections):
        nothing = np.empty(0, dtype=np.int64)
        return _Sections((), nothing, nothing, nothing)
    named = np.array([bool(name) for name in columns.finding_sections])
    believed = data.table.conclusive[columns.finding_sample.astype(int)] & named[columns.finding_section]
    section = columns.finding_section[believed].astype(int)
    counts = np.bincount(section, minlength=len(columns.finding_sections))
    ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], columns.finding_sections[code]))
    place = np.zeros(len(counts), dtype=np.int64)
    place[ranked] = np.arange(len(ranked))
    names = tuple(columns.finding_sections[code] for code in ranked)
    return _Sections(
        names, columns.finding_sample[believed].astype(int), place[section], columns.finding_code[believed].astype(int)
    )


def _in_sections(data: RunData) -> Labels:
    found = data.once(_sections)
    return Labels(found.names, found.sample, found.section, data.table.conclusive, data.table.left_out)


def _once_in_sections(data: RunData) -> Labels:
    found = data.once(_sections)
    n = max(1, len(found.names))
    pairs, _ = distinct(found.sample * n + found.section)
    return Labels(found.names, pairs // n, pairs % n, data.table.conclusive, data.table.left_out)


def _names_of_sections(data: RunData) -> list[Names]:
    return [(name,) for name in data.once(_sections).names]


def _codes_of_sections(data: RunData) -> list[Names]:
    """Section by section the codes in it, most frequent first."""
    found, codes = data.once(_sections), data.columns.finding_codes
    results: list[Names] = []
    for at, name in enumerate(found.names):
        counts = np.bincount(found.code[found.section == at], minlength=len(codes))
        ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], codes[code]))
        results += [(name, codes[code]) for code in ranked]
    return results


def _in_section(data: RunData, names: Names, *, once: bool = False) -> Contributions:
    """The findings of every sample that begin in a section, all or those of a code."""
    found = data.once(_sections)
    here = found.section == found.names.index(names[0])
    for code in names[1:]:
        here &= found.code == data.columns.finding_codes.index(code)

    def wanted(finding: Finding) -> bool:
        return finding.section == names[0] and (names[1:] or (finding.code,)) == (finding.code,)

    counts = np.bincount(found.sample[here], minlength=data.table.n)
    return of_findings(data, wanted, np.minimum(counts, 1) if once else counts)


_BEGIN = "findings that begin in that region of the text"
_SECTION = register(
    Metric(
        "section.<section>",
        "count",
        _BEGIN,
        _BEGIN,
        LEFT_OUT,
        Aggregate.SUM,
        _in_section,
        "lower",
        gate=False,
        sliced=False,
        labels=_in_sections,
        all_names=_names_of_sections,
        stands_on="conclusive samples",
    )
)
register(
    same_but(
        _SECTION,
        name="section.<section>.samples",
        about=f"samples with at least one of the {_BEGIN}",
        formula=f"samples with at least one of the {_BEGIN}",
        contributions=lambda data, names: _in_section(data, names, once=True),
        labels=_once_in_sections,
    )
)
register(
    same_but(
        _SECTION,
        name="section.<section>.<code>",
        about=f"{_BEGIN}, of one code",
        formula=f"{_BEGIN}, of one code",
        labels=None,
        all_names=_codes_of_sections,
    )
)
