"""Numbers of a report as plain dicts."""


def _counts(data, prefix):
    every = {name: figure["value"] for name, figure in data["figures"].items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): value for name, value in every.items() if value}


def components_in(data):
    """The mean of each component, in points."""
    names = [name.split(".") for name in data["figures"]]
    return {
        name: data["figures"][f"score.{name}.points"]["value"]
        for first, name, *rest in (parts for parts in names if len(parts) == 3)
        if first == "score" and rest == ["points"]
    }


def outcomes_in(data):
    """How many samples ended in which way, by outcome."""
    return {name: n for name, n in _counts(data, "outcomes.").items() if name not in ("planned", "excluded")}


def findings_in(data):
    """How many findings of each code there are."""
    counts = _counts(data, "findings.")
    return {code: n for code, n in counts.items() if "." not in code and code != "total"}


def of_judge(data, kind):
    """How many votes of a judge have each mode, step or remark."""
    return {name: n for name, n in _counts(data, f"judge.{kind}.").items() if not name.endswith(".rate")}
