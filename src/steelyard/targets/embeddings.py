"""Cosines from an OpenAI-compatible service of embeddings: a protocol whose answer is how alike two texts are."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from steelyard.targets.model_address import ModelAddress
from steelyard.targets.protocols import ChatProtocol, Completion


class EmbeddingsProtocol(ChatProtocol):
    """OpenAI's embeddings of two texts."""

    kind = "embeddings"
    path = "/embeddings"
    formats = ("text",)
    lacks = frozenset({"max_tokens", "schema_strict"})
    own = frozenset({"model", "input", "dimensions", "encoding_format"})

    def read(self, data: dict[str, Any]) -> Completion:
        """The cosine as text; what is not a vector for each of both texts raises a TypeError."""
        items = data.get("data")
        vectors = {item.get("index", place): item["embedding"] for place, item in enumerate(items or ())}
        first, second = vectors.get(0) or [], vectors.get(1) or []
        if len(vectors) != 2 or not (_is_vector(first) and _is_vector(second) and len(first) == len(second)):
            raise TypeError("a vector for each of both texts is needed")
        usage, model = data.get("usage"), data.get("model")
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        text = repr(round(cosine(first, second), 9))
        return Completion(text, None, model, tokens if type(tokens) is int and tokens >= 0 else None, 0, None)


def cosine(first: list[float], second: list[float]) -> float:
    """The cosine of the angle between two vectors that are not zero."""
    length, other = math.hypot(*first), math.hypot(*second)
    return max(-1.0, min(1.0, math.fsum((x / length) * (y / other) for x, y in zip(first, second, strict=True))))


def _is_vector(value: Any) -> bool:
    numbers = isinstance(value, list) and all(type(item) in (int, float) and abs(item) < 1e150 for item in value)
    return numbers and any(value)


class EmbeddingsConnection(ModelAddress):
    """Which model embeds texts, and how it is asked."""

    harmless: ClassVar[frozenset[str]] = ModelAddress.harmless | {"timeout"}
    protocol: ClassVar[ChatProtocol] = EmbeddingsProtocol()

    dimensions: int | None = Field(default=None, description="Length of the vectors, where the model offers it.", gt=0)
    timeout: float | None = Field(
        default=None, description="Seconds to wait for an answer. Default: the timeout of the suite's limits.", gt=0
    )

    def body(self, texts: tuple[str, str]) -> dict[str, Any]:
        """What is sent to compare both."""
        size = {} if self.dimensions is None else {"dimensions": self.dimensions}
        return {"model": self.model, "input": list(texts)} | size | self.extra

    @model_serializer(mode="wrap")
    def _as_signed(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        left_out = self.harmless | self.protocol.lacks
        return {name: value for name, value in dump(self).items() if name not in left_out}
