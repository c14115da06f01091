"""From raw text to a structured answer: the extraction ladder. Imports no other room."""

from steelyard.answer.ladder import Climbed, climb
from steelyard.answer.schema import SchemaValidator, compile_schema

__all__ = ["Climbed", "SchemaValidator", "climb", "compile_schema"]
