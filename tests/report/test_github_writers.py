import pytest

from steelyard.report.render.github import annotation, append_summary, in_github


def test_an_annotation_names_file_and_line():
    found = annotation("error", "one\ntwo 50 %", title="a: b, c", file="cases/x,1.yaml", line=12)
    assert found == "::error file=cases/x%2C1.yaml,line=12,title=a%3A b%2C c::one%0Atwo 50 %25"


def test_an_annotation_without_a_place():
    assert annotation("notice", "well") == "::notice::well"


def test_another_level_is_a_mistake():
    with pytest.raises(ValueError, match="one of error, warning, notice"):
        annotation("fatal", "x")


def test_controls_are_spelled_out():
    assert annotation("warning", "a\x1b[2Jb\rc") == "::warning::a\\x1b[2Jb%0Ac"


def test_the_summary_grows(tmp_path):
    place = tmp_path / "summary"
    assert append_summary("# one", {"GITHUB_STEP_SUMMARY": str(place)})
    assert append_summary("# two\n\n\n", {"GITHUB_STEP_SUMMARY": str(place)})
    assert place.read_text() == "# one\n\n# two\n\n"


def test_without_a_summary_nothing_is_written():
    assert not append_summary("# one", {})


def test_what_github_would_not_show_is_cut_off(tmp_path):
    place = tmp_path / "summary"
    env = {"GITHUB_STEP_SUMMARY": str(place)}
    assert append_summary("é" * 600_000, env)
    assert place.stat().st_size <= 1_000_000
    assert place.read_text().endswith("(cut off here: GitHub shows no more)\n")
    assert not append_summary("more", env)


def test_where_this_runs():
    assert in_github({"GITHUB_ACTIONS": "true"})
    assert not in_github({"CI": "true"})
