"""Measures of variants next to those of the whole run."""

import json

import pytest

from parts.command import steelyard


def test_a_variant_without_malformed_answers_has_its_readable_figure(tmp_path):
    (tmp_path / "suite.yaml").write_text(
        "suite: tags\ncases: {files: cases.yaml}\ntarget: {python: 'system:read'}\n"
        "variants: {prompt: [plain, broken]}\n"
        "answer: {format: json}\nscore:\n  tags: {item_set: {expected: expected.tags}}\npass: score >= 50 %\n"
        "gates: [score.tags.f1.readable >= 10 %]\n"
    )
    (tmp_path / "cases.yaml").write_text(
        "- {id: one, input: {text: x}, expected: {tags: [x, y]}}\n"
        "- {id: two, input: {text: y}, expected: {tags: [x]}}\n"
    )
    (tmp_path / "system.py").write_text(
        "def read(case, variant):\n"
        "    broken = variant.values['prompt'] == 'broken' and case.id == 'one'\n"
        "    return 'no idea' if broken else '{\"tags\": [\"x\"]}'\n"
    )
    assert steelyard("run", tmp_path, cwd=tmp_path).returncode == 0
    report = steelyard("report", "LAST", "--full", cwd=tmp_path, env={"COLUMNS": "200"}).stdout
    table = report.partition("Measures by variant\n")[2].partition("\n\n")[0]
    assert "n/a" not in table
    # plain: x of x, y and x of x; broken: only x of x could be read.
    data = json.loads(steelyard("report", "LAST", "--json", cwd=tmp_path).stdout)
    recall = {
        group["name"]: group["figures"]["score.tags.recall.readable"]["value"] for group in data["slices"]["variant"]
    }
    assert recall == pytest.approx({"plain": 2 / 3, "broken": 1.0})
