"""The built-in suites: data, prompts and a few lines of scoring each. Use only the public API."""
