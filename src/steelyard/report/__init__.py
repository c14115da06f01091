"""Reports: documents of blocks, one module a feature, and renderers that know blocks alone. Knows analysis, decide."""
