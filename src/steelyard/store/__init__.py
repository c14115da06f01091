"""Where runs are stored (SQLite or PostgreSQL, one schema, snapshots in and out); imports `suite` and `metrics`."""
