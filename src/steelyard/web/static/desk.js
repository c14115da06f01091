"use strict";
// The label desk: one key a verdict, the next items at hand. Labels are saved one after the other while more are given.
(() => {
  const $ = (id) => document.getElementById(id);
  const node = (name, own) => Object.assign(document.createElement(name), own);
  let csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

  async function send(address, body, again = true) {
    const headers = { "Content-Type": "application/json", "X-Steelyard-CSRF": csrf };
    const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => null);
    if (!response) throw new Error("Steelyard cannot be reached: is it still running?");
    if (response.status === 403 && again) {
      // It may have been started anew meanwhile.
      csrf = (await (await fetch("/api/session")).json()).csrf;
      return send(address, body, false);
    }
    const text = await response.text();
    let data;
    try { data = JSON.parse(text); } catch { data = { error: text.trim() || `the server says ${response.status}` }; }
    if (!response.ok) throw Object.assign(new Error(data.error), { answered: true });
    return data;
  }

  // ---- forms: who labels, what is drawn, what becomes of a suggestion

  $("who")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = encodeURIComponent(event.target.elements.person.value.trim());
    document.cookie = `steelyard_person=${name}; path=/; max-age=31536000; SameSite=Strict`;
    location.reload();
  });
  for (const form of document.querySelectorAll("form[data-post]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const problem = form.querySelector('[role="alert"]');
      const body = {};
      for (const [name, value] of new FormData(form, event.submitter)) {
        const isNumber = form.elements[name].type === "number";
        if (value !== "" || !isNumber) body[name] = isNumber ? Number(value) : value;
      }
      const address = form.dataset.post.replace("{run}", encodeURIComponent(body.run));
      delete body.run;
      problem.textContent = "";
      form.inert = true;
      try {
        const data = await send(address, body);
        location.href = data.address ?? `?agree=${body.agree}&look=${Date.now()}`;
      } catch (error) {
        problem.textContent = error.message;
      }
      form.inert = false;
    });
  }
  $("look")?.addEventListener("click", (event) => { event.currentTarget.href += `&look=${Date.now()}`; });

  // ---- the desk

  const desk = $("desk");
  if (!desk) return;
  const { run, person, against, kind } = desk.dataset;
  const post = (what, body) => send(`/api/desk/${encodeURIComponent(run)}/${what}`, { person, against, kind, ...body });
  const AHEAD = 4;
  const questions = [...desk.querySelectorAll("[data-question]")];
  const fields = [...desk.querySelectorAll("[data-field]")];
  const nameOf = (part) => part.closest("[data-question]").dataset.question;
  const whole = (field) => "whole" in field.closest("[data-question]").dataset;
  // What this tab holds and has given outlasts a reload.
  const key = `desk ${run} ${against} ${kind} ${person}`;
  const memory = JSON.parse(sessionStorage.getItem(key)) ?? { n: 0, held: [], given: [], tab: String(crypto.getRandomValues(new Uint32Array(2))) };
  const waiting = [...memory.held];
  const newDesk = () => `${memory.tab}.${memory.n++}`;
  const items = [], done = new Set();
  // Labels that are not saved yet, and keys that wait for an item or for a label to be saved.
  const unsaved = [], typed = [];
  const marks = $("marks");
  let values = new Map();
  let saving = false, undoing = false, loading = false, ended = false;

  function remember() {
    memory.held = [...[...unsaved.map((label) => label.item), ...items].map((item) => item.desk), ...waiting];
    memory.given = memory.given.slice(-50);
    sessionStorage.setItem(key, JSON.stringify(memory));
  }
  function say(state, text, problem = "") {
    desk.dataset.state = state;
    $("state").textContent = text;
    $("problem").textContent = problem;
  }
  function count(by) {
    $("yours").textContent = Number($("yours").textContent) + by;
    $("left").textContent = Math.max(0, Number($("left").textContent) - by);
  }

  function show(entered = {}) {
    const item = items[0];
    $("shown").hidden = !item;
    $("empty").hidden = Boolean(item);
    $("empty").textContent = ended ? "Nothing is left for you to label. Thank you." : "The next item is coming.";
    values = new Map(entered.values);
    $("comment").value = entered.comment ?? "";
    fields.forEach((field, at) => { field.value = entered.fields?.[at] ?? field.dataset.start ?? ""; });
    mark();
    if (!item) return;
    $("pictures").replaceChildren(...item.figures);
    item.figures[0]?.append(marks);
    outline();
    $("input").replaceChildren(...item.input.flatMap((part) => {
      const text = node("pre", { textContent: part.text, tabIndex: 0, ariaLabel: part.name || "Input" });
      text.dataset.exact = part.exact;
      return part.name ? [node("h3", { textContent: part.name }), text] : [text];
    }));
    $("answer").textContent = item.answer;
    $("second").textContent = item.second;
    scrollTo(0, 0);
  }

  // Keys answer the first question that has no answer yet.
  function mark() {
    const here = questions.find((question) => question.querySelector("[data-short]") && !values.has(nameOf(question)));
    for (const question of questions) question.classList.toggle("here", question === here);
    for (const button of desk.querySelectorAll("[data-short]")) {
      button.setAttribute("aria-pressed", values.get(nameOf(button)) === button.dataset.value);
      if (here?.contains(button)) button.dataset.key = button.dataset.short;
      else delete button.dataset.key;
    }
    if (questions.length > 1) here?.scrollIntoView({ block: "nearest" });
  }

  function take(item, at) {
    // Pictures load while the item before them is read.
    item.figures = item.pictures.map((picture) => {
      const figure = node("figure", {});
      figure.append(node("img", { src: picture.address, alt: picture.place, draggable: false }));
      return figure;
    });
    const known = items.findIndex((other) => other.position === item.position);
    if (known >= 0) items.splice(known, 1);
    items.splice(at, 0, item);
    done.delete(item.position);
  }

  async function fill() {
    if (loading || ended || items.length >= AHEAD) return;
    loading = true;
    try {
      const { item } = await post("next", { desk: waiting.shift() ?? newDesk() });
      // Where nothing is free, the server gives what this person holds already, or held when it was asked.
      ended = !item || done.has(item.position) || items.some((known) => known.position === item.position);
      if (!ended) take(item, items.length);
      if (items.length === Number(!ended)) show();
      remember();
    } catch (error) {
      say("failed", "no item could be loaded", error.message);
      ended = true;
    }
    loading = false;
    fill();
    replay();
  }

  function give(body) {
    if (undoing || !items.length) return;
    const item = items.shift();
    const entered = { values: [...values], comment: $("comment").value, fields: fields.map((field) => field.value) };
    done.add(item.position);
    unsaved.push({ item, entered, body });
    ended = false;
    show();
    remember();
    saveAll();
    fill();
  }

  async function saveAll() {
    if (saving) return;
    saving = true;
    while (unsaved.length) {
      const { item: { position, desk: at }, entered, body } = unsaved[0];
      say("saving", unsaved.length > 1 ? `saving ${unsaved.length} labels…` : "saving…");
      try {
        const { number, message } = await post("labels", { position, desk: at, comment: entered.comment, ...body });
        unsaved.shift();
        if (number !== null) memory.given.push({ number, desk: at, skipped: "skip" in body });
        if (number !== null && !("skip" in body)) count(1);
        say("saved", message);
        remember();
      } catch (error) {
        // What is not saved is shown again, the first of it with what was entered; the last key can be pressed again.
        const back = unsaved.splice(0);
        typed.length = 0;
        if (!fields.length) back[0].entered.values.pop();
        for (const label of back) done.delete(label.item.position);
        items.unshift(...back.map((label) => label.item));
        show(back[0].entered);
        say("failed", back.length > 1 ? `${back.length} labels not saved` : "not saved", error.message);
      }
    }
    saving = ended = false;
    remember();
    fill();
    refresh();
    replay();
  }

  // A key that comes while there is nothing to press it for waits for the next item, in the order of the keys.
  const ready = (key) => (key === "u" ? !saving && !undoing : !undoing && items.length > 0);
  const takes = (key) => key === " " || key === "u" || desk.querySelector(`[data-short="${CSS.escape(key)}"]`);
  const underWay = () => loading || saving || undoing;
  function replay() {
    while (typed.length && ready(typed[0])) {
      const key = typed.shift();
      desk.querySelector(`[data-key="${CSS.escape(key)}"]`)?.click();
    }
    // Nothing is coming that a label could be for.
    if (!underWay()) typed.length = 0;
  }

  // What is chosen and filled in, as the label's value; an error says which field is no JSON.
  function labelled() {
    const result = Object.fromEntries([...values].map(([name, value]) => [name, JSON.parse(value)]));
    for (const field of fields) {
      const text = field.value, type = field.dataset.field;
      if (!text.trim() && !whole(field)) continue;
      try {
        result[nameOf(field)] = type === "text" ? text : type === "number" ? Number(text) : JSON.parse(text);
      } catch (error) {
        field.focus();
        throw new Error(`${nameOf(field)} is no JSON: ${error.message}`);
      }
    }
    const single = kind === "verdict" || kind === "preference" || fields.some(whole);
    return single ? result[kind] : result;
  }
  function save() {
    try { give({ value: labelled() }); } catch (error) { say("failed", "not saved", error.message); }
  }
  function written(field, value) {
    const own = whole(field) ? value : value[nameOf(field)];
    if (own === undefined) return "";
    return field.dataset.field === "text" ? String(own) : lined(own);
  }
  const lined = (value) => (Array.isArray(value) && value.length ? `[\n${value.map((part) => JSON.stringify(part)).join(",\n")}\n]` : JSON.stringify(value));

  async function undo() {
    if (saving || undoing) return;
    const last = [...values.keys()].at(-1), label = memory.given.at(-1);
    if (last) {
      values.delete(last);
      return mark();
    }
    if (!label) return say("", "there is nothing to take back");
    undoing = true;
    say("saving", "taking it back…");
    try {
      const at = label.skipped ? newDesk() : label.desk;
      const { item, value, comment } = await post("undo", { number: label.number, desk: at });
      memory.given.pop();
      if (!label.skipped) count(-1);
      if (item) take(item, 0);
      show({ comment, fields: value === null ? null : fields.map((field) => written(field, value)) });
      say("", "taken back");
    } catch (error) {
      if (error.answered) memory.given.pop();
      typed.length = 0;
      say("failed", "not taken back", error.message);
    }
    undoing = false;
    remember();
    refresh();
    replay();
  }

  for (const button of desk.querySelectorAll("[data-short]")) {
    button.addEventListener("click", () => {
      if (undoing || !items.length) return;
      values.delete(nameOf(button));
      values.set(nameOf(button), button.dataset.value);
      if (!fields.length && values.size === questions.length) save();
      else mark();
    });
  }
  $("skip").addEventListener("click", () => give({ skip: true }));
  $("undo").addEventListener("click", undo);
  $("save")?.addEventListener("click", save);
  $("say").addEventListener("click", () => $("comment").focus());
  // Space presses the button that Tab led to, and skips otherwise; a key that is held down labels one item.
  desk.addEventListener("click", (event) => { if (event.detail) event.target.closest("button")?.blur(); });
  addEventListener("keydown", (event) => {
    const pressed = event.key === " " && event.target.closest("button, summary");
    const held = event.repeat && event.key.length === 1 && !event.target.closest("input, select, textarea");
    const free = !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, select, textarea, dialog");
    const waits = !pressed && !held && free && takes(event.key) && underWay() && (typed.length > 0 || !ready(event.key));
    if (waits) typed.push(event.key);
    if (pressed || held || waits) event.stopImmediatePropagation();
    if (held || waits) event.preventDefault();
  }, true);
  desk.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    else if (event.key === "Escape" || (event.key === "Enter" && event.target === $("comment"))) event.target.blur();
    else return;
    event.preventDefault();
  });

  // ---- spans of the input and boxes on its picture, into the field that was used last

  let into = fields.find((field) => field.dataset.field === "json") ?? fields[0];
  for (const field of fields) field.addEventListener("focus", () => { into = field; });
  function add(part) {
    let list;
    try { list = JSON.parse(into.value || "[]"); } catch { list = null; }
    const members = JSON.parse(into.dataset.members ?? "[]");
    // What the schema asks for besides is left for the person to fill in.
    const known = members.length ? Object.fromEntries(members.map((name) => [name, part[name] ?? ""])) : part;
    if (Array.isArray(list)) into.value = lined([...list, known]);
    else into.setRangeText(JSON.stringify(part), into.selectionStart, into.selectionEnd, "end");
  }
  $("add")?.addEventListener("click", () => {
    const chosen = getSelection(), text = chosen.toString();
    const pre = chosen.anchorNode?.parentElement?.closest("#input pre");
    if (!text || !pre) return say("", "", "Select a part of the input first.");
    const { startContainer, startOffset: start, endContainer, endOffset: end } = chosen.getRangeAt(0);
    add(pre.dataset.exact === "true" && startContainer === endContainer ? { text, start, end } : { text });
  });

  // Boxes are fractions of the first picture; those in the fields are outlined on it.
  const boxesIn = (value) => Object.entries(value ?? {}).flatMap(([name, part]) => (name === "box" ? [part] : typeof part === "object" ? boxesIn(part) : []));
  function outline(more = []) {
    const boxes = [...more];
    for (const field of fields) {
      try { boxes.push(...boxesIn(JSON.parse(field.value))); } catch { continue; }
    }
    marks.replaceChildren(...boxes.filter(Array.isArray).map(([left, top, right, bottom]) => {
      const mark = document.createElementNS(marks.namespaceURI, "rect");
      const sides = { x: left, y: top, width: right - left, height: bottom - top, class: "outline c0" };
      for (const [name, value] of Object.entries(sides)) mark.setAttribute(name, value);
      return mark;
    }));
  }
  let from = null;
  function boxTo(event) {
    const around = marks.getBoundingClientRect();
    const part = (at, start, size) => Math.round(Math.min(1, Math.max(0, (at - start) / size)) * 1000) / 1000;
    const here = [part(event.clientX, around.left, around.width), part(event.clientY, around.top, around.height)];
    from ??= here;
    return [Math.min(from[0], here[0]), Math.min(from[1], here[1]), Math.max(from[0], here[0]), Math.max(from[1], here[1])];
  }
  $("pictures").addEventListener("pointerdown", (event) => { if (kind === "answer" && marks.parentElement?.contains(event.target)) boxTo(event); });
  document.addEventListener("pointermove", (event) => { if (from) outline([boxTo(event)]); });
  document.addEventListener("pointerup", (event) => {
    if (!from) return;
    const box = boxTo(event);
    from = null;
    if (box[0] < box[2] && box[1] < box[3]) add({ box });
    outline();
  });
  desk.addEventListener("input", () => outline());

  // ---- figures beside the queue: asked for after each label, never waited for

  const figures = $("figures");
  let asking = false, stale = false;
  async function refresh() {
    stale = true;
    if (asking) return;
    asking = true;
    while (stale && figures.open) {
      stale = false;
      const response = await fetch(figures.dataset.address).catch(() => null);
      if (response?.status === 202) stale = await new Promise((wake) => setTimeout(wake, 1000, true));
      if (response?.status !== 200) continue;
      const lines = (await response.json()).lines.flatMap(([name, text]) => [node("dt", { textContent: name }), node("dd", { textContent: text })]);
      figures.querySelector("dl").replaceChildren(...lines);
    }
    asking = false;
  }
  figures.addEventListener("toggle", refresh);
  fill();
})();
