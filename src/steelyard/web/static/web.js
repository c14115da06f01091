"use strict";
// Keys of every page, and what htmx has to carry with a write.
(() => {
  const csrf = document.querySelector('meta[name="csrf"]');
  document.addEventListener("htmx:configRequest", (event) => {
    if (csrf) event.detail.headers["X-Steelyard-CSRF"] = csrf.content;
    // What was left empty has no place in an address.
    const sent = event.detail.formData;
    if (event.detail.elt.matches("[data-without-blanks]")) {
      for (const name of new Set(sent.keys())) if (sent.get(name) === "") sent.delete(name);
    }
  });
  // A row is a link, for the mouse too.
  document.addEventListener("click", (event) => {
    const row = event.target.closest("[data-rows] [data-href]");
    if (row && !event.target.closest("a, button, input, label") && !String(getSelection())) location.href = row.dataset.href;
  });

  const typing = () => document.activeElement?.matches('input:not([type="checkbox"], [type="radio"]), select, textarea');
  const rows = () => [...document.querySelectorAll("[data-rows] [data-href]")];
  const here = () => document.querySelector("[data-rows] [data-href].here");
  let before = "";

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(here());
    all[at]?.classList.remove("here");
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    next.classList.add("here");
    next.scrollIntoView({ block: "nearest" });
  }

  // After a search the keys are those of the rows again.
  document.addEventListener("submit", () => { if (document.activeElement?.matches('input[type="search"]')) document.activeElement.blur(); });

  const go = { r: "/runs", s: "/suites", d: "/desk" };
  const keys = document.getElementById("keys");
  document.getElementById("help")?.addEventListener("click", () => keys.showModal());
  document.addEventListener("keydown", (event) => {
    if (typing() || event.ctrlKey || event.metaKey || event.altKey || keys?.open) return;
    const key = event.key;
    if (before === "g" && go[key]) location.href = go[key];
    before = key;
    if (key === "?") keys.showModal();
    else if (key === "/") document.querySelector('input[type="search"]')?.focus();
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "Enter") {
      // Of a link or button that Tab led to, Enter is its own.
      if (!here() || event.target.closest("a, button, summary")) return;
      location.href = here().dataset.href;
    } else {
      // A link or button that names the key: `data-key="n"`.
      const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
      if (!target) return;
      target.click();
    }
    event.preventDefault();
  });
})();

// Runs: two that are picked are compared, the older one first.
(() => {
  const compare = document.getElementById("compare");
  if (!compare) return;
  const picked = () => [...document.querySelectorAll("[data-pick]:checked")].sort((a, b) => a.dataset.at - b.dataset.at);
  const show = () => { compare.disabled = picked().length !== 2; };
  document.addEventListener("change", show);
  compare.addEventListener("click", () => {
    location.href = "/changes/" + picked().map((box) => encodeURIComponent(box.dataset.pick)).join("/");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "x" && !event.target.matches("input, select, textarea")) document.querySelector("tr.here [data-pick]")?.click();
  });
  // Also of what was picked before somebody came back to this page.
  addEventListener("pageshow", show);
})();
