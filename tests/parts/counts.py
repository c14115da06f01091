"""Numbers of a report as plain dicts."""


def _counts(data, prefix):
    every = {name: figure["value"] for name, figure in data["figures"].items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): value for name, value in every.items() if value}


def outcomes_in(data):
    """How many samples ended in which way, by outcome."""
    return {name: n for name, n in _counts(data, "outcomes.").items() if name not in ("planned", "excluded")}


def findings_in(data):
    """How many findings of each code there are."""
    counts = _counts(data, "findings.")
    return {code: n for code, n in counts.items() if not code.endswith((".rate", ".samples")) and code != "total"}
