"""What is wrong with the layout of a page in the browser: texts that cover each other, and words broken inside."""

from __future__ import annotations

from typing import Any

_MEASURE = r"""() => {
  const problems = [];
  const shown = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.visibility === "hidden" || style.clipPath !== "none") return false;
      // What has its own scroll bar, or is cut by an ellipsis, shows a part of itself.
      if (at.matches("pre, code, textarea, select, svg, dialog, .head, .context, .skip")) return false;
      if (at.matches("details:not([open])") && !element.closest("summary")) return false;
    }
    return element.getClientRects().length > 0;
  };
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style") || !shown(element)) continue;
    for (const word of node.data.matchAll(/[\p{L}\p{N},.%]+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const rects = [...range.getClientRects()].filter((rect) => rect.width > 0.5);
      const lines = new Set(rects.map((rect) => Math.round(rect.top)));
      if (lines.size > 1 && word[0].length < 25) problems.push(`broken: ${word[0]} of "${node.data.slice(0, 60)}"`);
      // Of a table that is scrolled sideways, the rest is not seen; what sticks to the window covers what is below.
      const edge = element.closest(".scroll")?.getBoundingClientRect().right ?? Infinity;
      if (element.closest("#asked")) continue;
      const cell = element.closest("td, th, dt, dd, li, p, h1, h2, h3, h4, label, button, summary");
      for (const rect of rects) if (rect.right <= edge) boxes.push({ rect, text: word[0], cell });
    }
  }
  boxes.sort((a, b) => a.rect.top - b.rect.top);
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length && boxes[j].rect.top < boxes[i].rect.bottom - 3; j++) {
      const a = boxes[i], b = boxes[j];
      if (a.cell === b.cell) continue;
      const wide = Math.min(a.rect.right, b.rect.right) - Math.max(a.rect.left, b.rect.left);
      const high = Math.min(a.rect.bottom, b.rect.bottom) - Math.max(a.rect.top, b.rect.top);
      if (wide > 1 && high > 3) problems.push(`overlap: ${a.text} and ${b.text}`);
    }
  }
  // A cell whose text is wider than the cell lies over its neighbor.
  for (const cell of document.querySelectorAll("td, th")) {
    const wide = shown(cell) && cell.scrollWidth > cell.clientWidth + 1;
    if (wide) problems.push(`too wide: ${cell.textContent.slice(0, 60)}`);
  }
  return [...new Set(problems)];
}"""


def layout_problems(page: Any) -> list[str]:
    """One line for each text that is covered, broken inside a word of up to 24 letters, or wider than its cell."""
    found: list[str] = page.evaluate(_MEASURE)
    return found
