"""A run of many samples as tables: python -m bench.tables FOLDER, of the store that `bench.decided make` puts there.

Each measure is a process of its own, so that its peak memory is that of nothing else.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_WHAT = ("pandas", "polars", "arrow", "csv", "jsonl", "parquet", "sql")
_QUERY = "select category, count(*), avg(score), quantile_cont(latency, 0.95) from samples group by all"


def measure(url: str, what: str) -> str:
    from steelyard.store.sql import open_store

    began, cpu = time.perf_counter(), time.process_time()
    store = open_store(url, create=False)
    header = store.run("a")
    if what in ("pandas", "polars", "arrow"):
        from steelyard.tables import arrow, frames

        make = {"pandas": frames.to_pandas, "polars": frames.to_polars, "arrow": arrow.table_of}[what]
        n = len(make(store, header))
    elif what == "sql":
        from steelyard.store.headers import is_partial
        from steelyard.tables.query import answer_query

        n = answer_query(
            store, _QUERY, [header], answers=False, is_partial=is_partial, show=lambda answer: len(list(answer.rows))
        )
    else:
        from steelyard.tables.files import write_table

        with tempfile.TemporaryDirectory() as folder:
            n = write_table(store, header, Path(folder) / "table", what)
    taken = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{what:8} {n:10,} rows {taken[0]:6.1f} s {taken[1]:6.1f} s CPU {peak:6.0f} MB"


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(measure(sys.argv[1], sys.argv[2]))
    else:
        for name in _WHAT:
            subprocess.run([sys.executable, "-m", "bench.tables", f"{sys.argv[1]}/runs.db", name], check=True)
