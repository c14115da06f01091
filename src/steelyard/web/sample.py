"""One sample: what was asked, what was expected, what came, how it was scored, and the same case elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from markupsafe import Markup

from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.model import SampleDetail
from steelyard.report.pictures import Palette, drawings, load_pictures
from steelyard.report.samples import WHOLE_RESPONSE, SampleReader, checks_table
from steelyard.report.shown_sample import shown_sample
from steelyard.store.excerpt import Excerpt
from steelyard.targets.stored_request import request_again
from steelyard.web import render
from steelyard.web.differences import LONGEST, Part, differences
from steelyard.web.samples import ListQuery, list_address, order_in, selection_in
from steelyard.web.site import File, NotThere, Resource, Visit, number_in, sample_address, samples_address
from steelyard.web.spans import LONGEST_INPUT, highlighted

MOST = 20_000
"""Characters of an answer that a page shows at first; `more` shows more of them."""
_MOST_MORE = 5_000_000
_MOST_REPEATS = 50
_MOST_RUNS = 12
_LONG_FIELD = 80
"""Characters of a field whose differences are marked."""


class SampleQuery(ListQuery):  # type: ignore[misc, valid-type]
    """How much of a sample is shown, and in which list of samples it has neighbors."""

    more: bool = False
    """Up to 5,000,000 characters of the answer."""


def show_sample(visit: Visit) -> Mapping[str, Any]:
    """One sample with everything that a person needs to judge it."""
    header = visit.store.run(visit.path["run"])
    shown = _excerpt(visit, header, _MOST_MORE if visit.query.more else MOST)
    sample, case = shown.sample, shown.case
    whole = shown_sample(header, shown, request_again(header, sample, case))
    detail = whole.detail
    beside = visit.store.neighbors(header.id, sample.position or 0, selection_in(visit.query), **order_in(visit.query))
    reader = SampleReader(header, [replace(detail, pictures=())], Palette(header, (), [detail]), 1)
    block = reader.sample(detail)
    pictures = _pictures(header, detail, shown.sample.position or 0)
    return {
        **whole.data(),
        "_field_parts": {field["name"]: parts for field in whole.fields if (parts := _field_parts(field))},
        **asdict(beside),
        "repeats": visit.store.repeats(header.id, sample.case_id, limit=_MOST_REPEATS),
        "elsewhere": list(_elsewhere(visit, header, sample.case_id)),
        "_header": header,
        "_status": block.status,
        "_name": block.name,
        "_why": block.why,
        "_pictures": pictures,
        "_input": highlighted(case, sample.findings),
        "_blocks": render.blocks(doc.Document("", [*_scoring(block.blocks), checks_table(sample.checks)])),
        "_differences": _differences(visit, header, shown),
        "_laid_out": fmt.laid_out,
        "_limit": LONGEST_INPUT,
        "_list": list_address(samples_address(header.id), visit.query),
        "_at": lambda position, **more: list_address(sample_address(header.id, position), visit.query, **more),
    }


def _excerpt(visit: Visit, header: RunHeader, most: int) -> Excerpt:
    name = visit.path["position"]
    position = number_in(name)
    excerpt = None if position is None else visit.store.excerpts(header.id, [position], most=most).get(position)
    if excerpt is None:
        raise NotThere(
            f"run {header.id} has no sample {fmt.one_line(name, 20)}: it is not answered yet, or there is none"
        )
    return excerpt


def _scoring(blocks: Iterable[doc.Block]) -> list[doc.Block]:
    """Findings, judge record and scores: what is beside question, truth and answer, which the page lays out itself."""
    shown: list[doc.Block] = []
    for block in blocks:
        if isinstance(block, doc.Quote | doc.Picture) or (
            isinstance(block, doc.Fold) and block.title == WHOLE_RESPONSE
        ):
            continue
        if isinstance(block, doc.Text) and block.text.startswith("There is no answer."):
            continue
        shown.append(block)
    return shown


def _differences(visit: Visit, header: RunHeader, shown: Excerpt) -> list[Part]:
    """A text that was expected and the one that came, in parts; none where either is no text."""
    expected, answer = shown.case.expected, shown.sample.call_result.text
    text = expected if isinstance(expected, str) else next(iter(_only_text(expected)), None)
    if not text or not answer:
        return []
    if shown.cut:
        # More is compared than the page shows of the answer.
        answer = _excerpt(visit, header, LONGEST).sample.call_result.text or ""
    return differences(text, answer) if text != answer else []


def _field_parts(field: Mapping[str, Any]) -> list[Part]:
    """What differs in a field, where both sides are texts that are too long to be compared by eye."""
    sides = (field["expected"], field["got"])
    texts = [value for value in sides if isinstance(value, str)]
    if len(texts) < 2 or field["same"] or max(map(len, texts)) <= _LONG_FIELD:
        return []
    return differences(texts[0], texts[1])


def _only_text(expected: Any) -> Iterator[str]:
    """The text of a truth that is nothing else."""
    if isinstance(expected, Mapping) and len(expected) == 1:
        yield from (value for value in expected.values() if isinstance(value, str))


def _elsewhere(visit: Visit, header: RunHeader, case_id: str) -> Iterator[dict[str, Any]]:
    """The same case in other runs of the suite."""
    for other in visit.store.listing.page(header.suite_name, limit=_MOST_RUNS + 1):
        if other.id == header.id:
            continue
        for item in visit.store.repeats(other.id, case_id, limit=5):
            yield {
                "run": other.id,
                "created_at": other.created_at,
                **asdict(item),
                "_address": sample_address(other.id, item.position),
            }


def _pictures(header: RunHeader, detail: SampleDetail, position: int) -> Markup:
    """The pictures of the case with the outlines of findings; the browser fetches each by its own address."""
    if not detail.pictures:
        return Markup("")
    loaded = load_pictures(detail.pictures, header.suite_path)
    palette = Palette(header, (), [detail])
    drawn = drawings(detail, loaded, palette)
    addresses = {item.name: f"{sample_address(header.id, position)}/pictures/{at}" for at, item in enumerate(drawn)}
    return render.pictures(drawn, addresses)


def picture_of(visit: Visit) -> tuple[bytes, str]:
    """A picture of a sample's case, as JPEG, if it is the one that was scored."""
    header = visit.store.run(visit.path["run"])
    case = _excerpt(visit, header, 0).case
    images = [item for item in case.attachments if item.media_type.startswith("image/")]
    number = number_in(visit.path["number"])
    if number is None or number >= len(images):
        raise NotThere(f"the case has no picture {fmt.one_line(visit.path['number'], 20)}")
    (picture,) = load_pictures([images[number]], header.suite_path).values()
    if picture.problem:
        raise NotThere(picture.problem)
    return base64.b64decode(picture.data), "image/jpeg"


RESOURCES: tuple[Resource, ...] = (
    Resource(
        "/runs/{run}/samples/{position}",
        "One sample: question, truth, answer, scores, findings, judge record, repeats.",
        show_sample,
        "sample.html",
        SampleQuery,
    ),
)
FILES: tuple[File, ...] = (File("/runs/{run}/samples/{position}/pictures/{number}", picture_of),)
