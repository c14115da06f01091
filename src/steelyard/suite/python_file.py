"""Reads the suite that a Python file defines."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from steelyard.errors import SteelyardError, UserMistake
from steelyard.suite.model import SuiteModel
from steelyard.user_code import raised_in_words


def suite_in(path: Path) -> SuiteModel:
    """The suite that a Python file holds under the name `suite`; UserMistake when there is none."""
    module = _execute(path)
    suite = getattr(module, "suite", None)
    # A steelyard.Suite carries its model; this room does not know that class.
    model = getattr(suite, "model", suite)
    if not isinstance(model, SuiteModel):
        raise UserMistake(f"{path} defines no suite: write suite = steelyard.Suite(...) at its top level")
    return model


def _execute(path: Path) -> ModuleType:
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_suite"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserMistake(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    home = str(path.parent.resolve())
    # Classes in the file are looked up by their module's name, and its imports start in its own folder.
    sys.modules[name] = module
    sys.path.insert(0, home)
    try:
        spec.loader.exec_module(module)
    except (SteelyardError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UserMistake(f"{path} failed when it was read: {raised_in_words(error)}") from error
    finally:
        if home in sys.path:
            sys.path.remove(home)
    return module
