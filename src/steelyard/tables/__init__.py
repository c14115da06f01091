"""Results as tables: samples, findings, votes, claims and figures as columns, for Arrow, pandas, polars, files and SQL.

Imports `store`, `metrics`, `suite` and `stats`; pyarrow, pandas, polars and DuckDB are imported where they are used.
"""
