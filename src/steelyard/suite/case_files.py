"""Which files a suite's cases are in, and how their records become cases."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.suite.cases import PLAIN_MAPPING, CaseFile, FileCases, ListCases
from steelyard.suite.draft import Draft
from steelyard.suite.file import CasesPart
from steelyard.suite.inside import folder_inside, inside, place_inside
from steelyard.suite.ledger import LEDGER_FILE
from steelyard.suite.mapping import Mapping, compile_mapping
from steelyard.suite.paths import split_path
from steelyard.suite.readers import ONE_CASE_A_FILE, READERS
from steelyard.suite.spelling import found, listed

_GLOB = "*?["


def build_source(raw: Any, draft: Draft) -> FileCases | ListCases | None:
    """The source of the suite's cases, or None with everything wrong noted."""
    if isinstance(raw, list) and not (raw and all(isinstance(item, str) for item in raw)):
        return ListCases(draft.folder, raw, located=draft.located if ("cases",) in draft.located.lines else None)
    if isinstance(raw, (str, list)):
        raw = {"files": raw}
    if not isinstance(raw, dict):
        draft.tell(f"cases names files, a folder, or lists the cases; {found(raw)}", ("cases",))
        return None
    part = draft.check(CasesPart, raw, ("cases",))
    mapping = _mapping(raw.get("map"), draft)
    if part is None:
        return None
    if (part.files is None) == (part.folder is None):
        told = "both files and folder" if part.files is not None else "neither files nor folder"
        draft.tell(f"cases names {told}: write one of them", ("cases",))
        return None
    if not _check_at(part, draft):
        return None
    files = _listed_files(part, draft) if part.folder is None else _folder_files(part, draft)
    if not files:
        return None
    return FileCases(draft.folder, tuple(files), part.folder is not None, part.at, mapping)


def _mapping(raw: Any, draft: Draft) -> Mapping:
    if not isinstance(raw, dict) or not raw:
        return PLAIN_MAPPING
    return compile_mapping(raw, lambda message, place: draft.tell(f"cases.map: {message}", ("cases", "map", *place)))


def _check_at(part: CasesPart, draft: Draft) -> bool:
    try:
        split_path(part.at)
    except ValueError as error:
        draft.tell(f"cases.at: {error}", ("cases", "at"))
        return False
    if part.at and part.folder is not None:
        draft.tell("cases.at goes with files: in a folder each file is one case", ("cases", "at"))
        return False
    return True


def _listed_files(part: CasesPart, draft: Draft) -> list[CaseFile]:
    several = isinstance(part.files, list)
    names = part.files if isinstance(part.files, list) else [str(part.files)]
    if not names:
        draft.tell("cases.files is empty", ("cases", "files"))
    files: list[CaseFile] = []
    for at, name in enumerate(names):
        place = ("cases", "files", at) if several else ("cases", "files")
        try:
            for file in _matching(name, draft):
                if file in files:
                    raise ValueError(f"{file.name} is named twice")
                files.append(file)
        except ValueError as error:
            draft.tell(str(error), place)
    return files


def _matching(name: str, draft: Draft) -> list[CaseFile]:
    if any(sign in name for sign in _GLOB):
        place_inside(draft.folder, _before_glob(name) or ".")
        fitting = [path.relative_to(draft.folder).as_posix() for path in draft.folder.glob(name) if path.is_file()]
        names = sorted(one for one in fitting if one != LEDGER_FILE)
        if not names:
            raise ValueError(f"no file fits {name}")
        return [_readable(CaseFile(inside(draft.folder, one), one)) for one in names]
    if name == LEDGER_FILE:
        raise ValueError(f"{name} is where the suite says why its truth was edited: give the cases another name")
    if draft.free_paths and Path(name).is_absolute():
        if not Path(name).is_file():
            raise ValueError(f"there is no file {name}")
        return [_readable(CaseFile(Path(name), name))]
    return [_readable(CaseFile(inside(draft.folder, name), name))]


def _before_glob(name: str) -> str:
    steps = []
    for step in PurePosixPath(name).parts:
        if any(sign in step for sign in _GLOB):
            break
        steps.append(step)
    if ".." in PurePosixPath(name).parts:
        raise ValueError(f"{name} leads out of the suite's folder")
    return str(PurePosixPath(*steps)) if steps else ""


def _readable(file: CaseFile) -> CaseFile:
    if file.path.suffix.lower() not in READERS:
        raise ValueError(f"{file.name} is of no known kind; cases are read from {listed(sorted(READERS))}")
    return file


def _folder_files(part: CasesPart, draft: Draft) -> list[CaseFile]:
    try:
        folder = _folder(part, draft)
        paths = sorted(path for path in folder.glob(part.glob) if path.is_file())
        taken = [path for path in paths if path.suffix.lower() in ONE_CASE_A_FILE and not path.name.startswith(".")]
        if not taken:
            raise ValueError(f"no file in {part.folder} fits {part.glob}; a case is one of {listed(ONE_CASE_A_FILE)}")
        root = Path(str(part.folder))
        names = [(root / path.relative_to(folder)).as_posix() for path in taken]
        if root.is_absolute():
            return [CaseFile(path, name) for path, name in zip(taken, names, strict=True)]
        return [CaseFile(inside(draft.folder, name), name) for name in names]
    except (ValueError, NotImplementedError) as error:
        draft.tell(str(error), ("cases", "folder"))
        return []


def _folder(part: CasesPart, draft: Draft) -> Path:
    if draft.free_paths and Path(str(part.folder)).is_absolute():
        if not Path(str(part.folder)).is_dir():
            raise ValueError(f"there is no folder {part.folder}")
        return Path(str(part.folder))
    return folder_inside(draft.folder, str(part.folder))
