"use strict";
// The label desk: one key a verdict, the next item at hand, each label saved before another can be given.
(() => {
  const $ = (id) => document.getElementById(id);
  let csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

  async function send(address, body, again = true) {
    const headers = { "Content-Type": "application/json", "X-Steelyard-CSRF": csrf };
    let response;
    try {
      response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
    } catch {
      throw new Error("Steelyard cannot be reached: is it still running?");
    }
    if (response.status === 403 && again) {
      // It was started anew meanwhile.
      const session = await fetch("/api/session").then((got) => got.json());
      if (session.csrf !== csrf) return (csrf = session.csrf), send(address, body, false);
    }
    const text = await response.text();
    let data = {};
    try { data = JSON.parse(text); } catch { data = { error: text.trim() || `the server says ${response.status}` }; }
    if (!response.ok) throw Object.assign(new Error(data.error), { answered: true });
    return data;
  }

  // ---- forms: who it is, drawing, decisions

  $("who")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = encodeURIComponent(new FormData(event.target).get("person").trim());
    document.cookie = `steelyard_person=${name}; path=/; max-age=31536000; SameSite=Strict`;
    location.reload();
  });
  for (const form of document.querySelectorAll("form[data-post]")) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const body = {};
      for (const [name, value] of new FormData(form, event.submitter)) {
        const field = form.elements[name];
        const number = field.type === "number" || field.dataset?.number !== undefined;
        if (value !== "" || !number) body[name] = number ? Number(value) : value;
      }
      const address = form.dataset.post.replace("{run}", encodeURIComponent(body.run ?? ""));
      delete body.run;
      const problem = form.querySelector('[role="alert"]');
      problem.textContent = "";
      form.inert = true;
      try {
        const data = await send(address, body);
        location.href = data.address ?? `?agree=${body.agree}&look=${Date.now()}`;
      } catch (error) {
        problem.textContent = error.message;
      } finally {
        form.inert = false;
      }
    });
  }
  $("look")?.addEventListener("click", (event) => { event.currentTarget.href += `&look=${Date.now()}`; });

  // ---- the desk

  const desk = $("desk");
  if (!desk) return;
  const { run, person, against, kind } = desk.dataset;
  const about = `desk ${run} ${against} ${kind} ${person}`;
  const post = (what, body) => send(`/api/desk/${encodeURIComponent(run)}/${what}`, { person, against, kind, ...body });
  // What this tab holds and has given: it outlasts a reload.
  const memory = JSON.parse(sessionStorage.getItem(about) ?? "null") ?? {
    tab: [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16)).join(""), n: 0, held: [], given: [],
  };
  const waiting = [...memory.held];
  const AHEAD = 2;
  const items = [];
  let values = new Map();
  let saving = false, loading = false, ended = false;
  const questions = [...desk.querySelectorAll("[data-question]")];
  const fields = [...desk.querySelectorAll("[data-field]")];
  const comment = $("comment");

  function remember() {
    memory.held = [...items.map((item) => item.desk), ...waiting];
    memory.given = memory.given.slice(-50);
    sessionStorage.setItem(about, JSON.stringify(memory));
  }
  const say = (state, text) => { desk.dataset.state = state; $("state").textContent = text; };
  const complain = (text) => { $("problem").textContent = text; };
  const count = (id, by) => { $(id).textContent = Math.max(0, Number($(id).textContent) + by); };
  const node = (name, text, attributes = {}) => Object.assign(document.createElement(name), { textContent: text }, attributes);

  function show(entered = null) {
    const item = items[0];
    $("shown").hidden = !item;
    $("empty").hidden = Boolean(item);
    values = new Map(entered?.values ?? []);
    comment.value = entered?.comment ?? "";
    fields.forEach((field, at) => { field.value = entered?.fields?.[at] ?? field.dataset.start ?? ""; });
    mark();
    if (!item) {
      $("empty").textContent = ended ? "Nothing is left for you to label. Thank you." : "The next item is coming.";
      return;
    }
    $("pictures").replaceChildren(...item.images);
    $("input").replaceChildren(...item.input.flatMap((part) => {
      const text = node("pre", part.text, { tabIndex: 0, ariaLabel: part.name || "Input" });
      text.dataset.exact = part.exact;
      return part.name ? [node("h3", part.name), text] : [text];
    }));
    $("answer").textContent = item.answer;
    $("second").textContent = item.second;
    $("other").hidden = !against;
    $("first").textContent = against ? "First answer" : "Answer";
    $("answer").parentElement.hidden = kind === "answer";
    window.scrollTo(0, 0);
  }

  // The question that keys answer is the first without an answer.
  function mark() {
    const here = questions.find((question) => question.querySelector("[data-short]") && !values.has(question.dataset.question));
    for (const question of questions) {
      question.classList.toggle("here", question === here);
      for (const button of question.querySelectorAll("[data-short]")) {
        button.setAttribute("aria-pressed", values.get(question.dataset.question) === button.dataset.value);
        if (question === here && button.dataset.short) button.dataset.key = button.dataset.short;
        else delete button.dataset.key;
      }
    }
    if (questions.length > 1) here?.scrollIntoView({ block: "nearest" });
  }

  async function fill() {
    if (loading || ended || items.length >= AHEAD) return;
    loading = true;
    try {
      const { item } = await post("next", { desk: waiting.shift() ?? `${memory.tab}.${memory.n++}` });
      // Where nothing is free, it is one that is here already.
      if (item && !items.some((known) => known.position === item.position)) take(item, items.length);
      else ended = true;
      if (items.length <= 1) show();
    } catch (error) {
      complain(error.message);
      if (!items.length) $("empty").textContent = "No item could be loaded.";
      return;
    } finally {
      loading = false;
    }
    remember();
    fill();
  }

  function take(item, at) {
    // Pictures load while the item before them is read.
    item.images = item.pictures.map((picture) => node("img", "", { src: picture.address, alt: picture.place, draggable: false }));
    const known = items.findIndex((other) => other.position === item.position);
    if (known >= 0) items.splice(known, 1);
    items.splice(at, 0, item);
  }

  async function give(body) {
    if (saving || !items.length) return;
    saving = true;
    const item = items.shift();
    const entered = { values: [...values], comment: comment.value, fields: fields.map((field) => field.value) };
    say("saving", "saving…");
    complain("");
    ended = false;
    show();
    try {
      const { position, desk: at } = item;
      const { number, message } = await post("labels", { position, desk: at, comment: entered.comment, ...body });
      if (number !== null) {
        memory.given.push({ number, desk: at, skipped: Boolean(body.skip) });
        if (!body.skip) count("yours", 1), count("left", -1);
      }
      say("saved", message);
    } catch (error) {
      items.unshift(item);
      show(entered);
      say("failed", "not saved");
      complain(error.message);
    } finally {
      saving = false;
      remember();
    }
    fill();
    refresh();
  }

  function answerFromFields() {
    const result = {};
    for (const [at, field] of fields.entries()) {
      const name = field.closest("[data-question]").dataset.question;
      const text = field.value.trim();
      const whole = field.closest("[data-whole]");
      if (!text && !whole) continue;
      let value = field.value;
      try {
        if (field.dataset.field === "number") value = Number(text);
        else if (field.dataset.field !== "text") value = JSON.parse(text);
      } catch (error) {
        field.focus();
        throw new Error(`${name} is no JSON: ${error.message}`);
      }
      if (whole) return value;
      result[name] = value;
    }
    return result;
  }

  function save() {
    if (saving || !items.length) return;
    try {
      const chosen = Object.fromEntries([...values].map(([name, value]) => [name, JSON.parse(value)]));
      const single = kind === "verdict" || kind === "preference";
      give({ value: single ? chosen[kind] : fields.length ? mixed(chosen) : chosen });
    } catch (error) {
      complain(error.message);
    }
  }
  const mixed = (chosen) => { const own = answerFromFields(); return questions.some((q) => "whole" in q.dataset) ? own : { ...chosen, ...own }; };

  for (const question of questions) {
    for (const button of question.querySelectorAll("[data-short]")) {
      button.addEventListener("click", () => {
        if (saving || !items.length) return;
        values.delete(question.dataset.question);
        values.set(question.dataset.question, button.dataset.value);
        if (!fields.length && values.size === questions.length) save();
        else mark();
      });
    }
  }
  $("skip").addEventListener("click", () => give({ skip: true }));
  $("save")?.addEventListener("click", save);
  $("say").addEventListener("click", () => comment.focus());
  $("undo").addEventListener("click", async () => {
    if (saving) return;
    const last = [...values.keys()].at(-1);
    if (last) return void (values.delete(last), mark());
    const label = memory.given.at(-1);
    if (!label) return say("", "there is nothing to take back");
    saving = true;
    say("saving", "taking it back…");
    try {
      const at = label.skipped ? `${memory.tab}.${memory.n++}` : label.desk;
      const { item, value, comment: text } = await post("undo", { number: label.number, desk: at });
      memory.given.pop();
      if (!label.skipped) count("yours", -1), count("left", 1);
      if (item) take(item, 0);
      show({ comment: text, fields: value === null ? null : fields.map((field) => written(field, value)) });
      say("", "taken back");
    } catch (error) {
      if (error.answered) memory.given.pop();
      say("", "");
      complain(error.message);
    } finally {
      saving = false;
      remember();
    }
    refresh();
  });
  function written(field, value) {
    const own = field.closest("[data-whole]") ? value : value[field.closest("[data-question]").dataset.question];
    if (own === undefined) return "";
    return typeof own === "string" && field.dataset.field === "text" ? own : JSON.stringify(own, null, field.dataset.field === "json" ? 1 : 0);
  }
  desk.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    else if (event.key === "Escape" || (event.key === "Enter" && event.target === comment)) event.target.blur();
    else return;
    event.preventDefault();
  });

  // ---- spans and boxes into an answer

  let json = fields.find((field) => field.dataset.field === "json") ?? fields[0];
  for (const field of fields) field.addEventListener("focus", () => { json = field; });
  function add(thing) {
    if (!json) return;
    const members = JSON.parse(json.dataset.members ?? "[]");
    const whole = members.length ? Object.fromEntries(members.filter((name) => name in thing || name === members.find((other) => !(other in thing))).map((name) => [name, thing[name] ?? ""])) : thing;
    let list = null;
    try { list = JSON.parse(json.value || "[]"); } catch { list = null; }
    if (Array.isArray(list)) json.value = JSON.stringify([...list, whole], null, 1);
    else json.setRangeText(JSON.stringify(whole), json.selectionStart, json.selectionEnd, "end");
  }
  $("add")?.addEventListener("click", () => {
    const chosen = getSelection();
    const text = chosen.toString();
    const part = chosen.anchorNode?.parentElement?.closest("#input pre");
    if (!text || !part) return complain("Select a part of the input first.");
    complain("");
    const range = chosen.getRangeAt(0);
    const exact = part.dataset.exact === "true" && range.startContainer === range.endContainer;
    add(exact ? { text, start: range.startOffset, end: range.endOffset } : { text });
  });
  let corner = null;
  const inside = (event, picture) => {
    const box = picture.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((side) => Math.min(1, Math.max(0, Math.round(side * 1000) / 1000)));
  };
  if (kind === "answer") {
    $("pictures").addEventListener("pointerdown", (event) => {
      if (event.target.tagName === "IMG") corner = { picture: event.target, at: inside(event, event.target) };
    });
    document.addEventListener("pointerup", (event) => {
      if (!corner) return;
      const [x, y] = inside(event, corner.picture), [left, top] = corner.at;
      corner = null;
      if (x !== left && y !== top) add({ box: [Math.min(x, left), Math.min(y, top), Math.max(x, left), Math.max(y, top)] });
    });
  }

  // ---- figures beside the queue: asked for after a label, never waited for

  const figures = $("figures");
  let asking = false, stale = false;
  async function refresh() {
    stale = true;
    if (asking || !figures.open) return;
    asking = true;
    while (stale && figures.open) {
      stale = false;
      const response = await fetch(figures.dataset.address).catch(() => null);
      if (response?.status === 202) stale = await new Promise((done) => setTimeout(done, 1000, true));
      else if (response?.ok) {
        const { lines } = await response.json();
        figures.querySelector("dl").replaceChildren(...lines.flatMap(([name, text]) => [node("dt", name), node("dd", text)]));
      }
    }
    asking = false;
  }
  figures.addEventListener("toggle", refresh);
  fill();
})();
