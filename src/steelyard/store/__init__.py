"""Where runs are kept: SQLite by default, PostgreSQL by URL, one schema; snapshots in and out. Knows the suite room."""
