"""The file of an experiment, offline or online, before its keys are checked."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import Mistake, SuiteError, UserMistake
from steelyard.suite.draft import Draft
from steelyard.suite.inside import text_of
from steelyard.suite.located import read_yaml
from steelyard.suite.spelling import found


def experiment_draft(file: Path, *, keys: str, guide: str) -> Draft:
    """A file with a group of keys; `keys` names some and `guide` tells how to write one, for messages."""
    if not file.is_file():
        raise UserMistake(f"there is no experiment at {file}: write one ({guide})")
    try:
        located = read_yaml(text_of(file, file.name), file.name)
    except SuiteError:
        raise
    except ValueError as error:
        raise SuiteError([Mistake(str(error))]) from None
    draft = Draft(located, file.parent)
    draft.mistakes.extend(located.mistakes)
    if not isinstance(located.data, dict):
        draft.tell(f"an experiment is a group of keys ({keys}, ...); {found(located.data)}")
        draft.finish()
    return draft
