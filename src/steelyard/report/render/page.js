"use strict";
(() => {
  const controls = document.getElementById("controls");
  const list = document.getElementById("list");
  if (!controls || !list) return;
  const samples = Array.from(list.children);
  const field = (name) => document.getElementById(name);
  const words = new Map();
  const text = (sample) => {
    if (!words.has(sample)) {
      const parts = Array.from(sample.querySelectorAll("[data-find]"), (part) => part.textContent);
      words.set(sample, parts.join("\n").toLowerCase());
    }
    return words.get(sample);
  };
  const number = (sample, key, absent) => (sample.dataset[key] === "" ? absent : Number(sample.dataset[key]));
  const orders = {
    worst: (a, b) => number(a, "rank", 0) - number(b, "rank", 0) || number(a, "score", -1) - number(b, "score", -1),
    best: (a, b) => number(b, "score", -1) - number(a, "score", -1),
    slowest: (a, b) => number(b, "latency", -1) - number(a, "latency", -1),
    name: (a, b) => a.dataset.name.localeCompare(b.dataset.name, undefined, { numeric: true }),
  };

  const filter = () => {
    const status = field("status").value;
    const category = field("category");
    const code = field("code");
    const wanted = field("find").value.trim().toLowerCase();
    let shown = 0;
    for (const sample of samples) {
      const fits =
        (status === "" || sample.dataset.status.split(" ").includes(status)) &&
        (!category || category.value === "" || sample.dataset.category === category.value) &&
        (!code || code.value === "" || sample.dataset.codes.split(" ").includes(code.value)) &&
        (wanted === "" || text(sample).includes(wanted));
      sample.hidden = !fits;
      if (fits) shown += 1;
    }
    field("shown").textContent = `${shown} of ${samples.length} listed ${list.dataset.what} match`;
  };
  const sort = () => {
    samples.sort(orders[field("order").value]);
    list.append(...samples);
  };
  const expand = () => {
    const matching = samples.filter((sample) => !sample.hidden);
    const open = !matching.every((sample) => sample.open);
    for (const sample of matching) {
      sample.open = open;
      if (open) for (const repeat of sample.querySelectorAll("details.repeat")) repeat.open = true;
    }
  };
  const show = () => {
    const target = document.getElementById(location.hash.slice(1));
    const sample = target && target.closest("details.sample");
    if (!sample || !samples.includes(sample)) return;
    sample.hidden = false;
    for (let part = target; part && part !== list; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView();
  };

  controls.hidden = false;
  for (const name of ["status", "category", "code"]) field(name)?.addEventListener("change", filter);
  field("find").addEventListener("input", filter);
  field("order").addEventListener("change", sort);
  field("expand").addEventListener("click", expand);
  window.addEventListener("hashchange", show);
  filter();
  show();
})();
