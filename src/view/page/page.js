// Where the reader is (in the address, so that a link leads there), the keys, and what is drawn.
"use strict";

const state = { run: "run-1", beside: "", filter: "all", query: "", colour: "logprob", group: 0, sample: 0 }, names = new Map();
let shown = null;  // the data of the step that is drawn, and its samples in the list

// The address with changes, such as #run-1/train/12/3/2?filter=wrong&beside=run-2: run, purpose, step, group, sample.
function address(changes) {
  const s = { ...state, ...("step" in changes ? { view: undefined } : {}), ...changes }, more = new URLSearchParams();
  if (s.filter !== "all") more.set("filter", s.filter);
  if (s.beside) more.set("beside", s.beside);
  if (s.query) more.set("q", s.query);
  if (s.prompt !== undefined) more.set("prompt", s.prompt);
  const path = s.view === "search" ? [s.run, "search"] : s.step === undefined ? [s.run] : [s.run, s.purpose, s.step, s.group, s.sample];
  const rest = more.toString();
  return `#${path.join("/")}${rest ? `?${rest}` : ""}`;
}

function read_address() {
  const [path, rest] = location.hash.slice(1).split("?"), [run, purpose, step, group, sample] = path.split("/"), more = new URLSearchParams(rest || "");
  const number = (text) => (/^\d+$/.test(text || "") ? Number(text) : 0);
  if (names.has(run)) state.run = run;
  state.view = purpose === "search" ? "search" : undefined;
  const known = ["train", "validation", "eval", "greedy"].includes(purpose) && /^\d+$/.test(step || "");
  state.purpose = known ? purpose : undefined, state.step = known ? Number(step) : undefined;
  state.group = number(group), state.sample = number(sample);
  state.filter = kFilters[more.get("filter")] ? more.get("filter") : "all";
  state.beside = names.has(more.get("beside")) && more.get("beside") !== state.run ? more.get("beside") : "";
  state.query = more.get("q") || "";
  if (more.has("prompt")) state.prompt = number(more.get("prompt"));
  else delete state.prompt;
}

let drawing = 0, redraw = {}, place = "";  // place: the page that is drawn
function go(changes, how = {}) {
  const to = address(changes), group = "group" in changes || "step" in changes || "prompt" in changes || "sample" in changes;
  redraw = { ...how, group };
  if (to === location.hash) return void draw();
  const steps_away = "step" in changes || "view" in changes || "run" in changes;
  if (steps_away) location.hash = to;
  else history.replaceState(null, "", to), draw();  // going through samples adds nothing to the browser's history
}

async function draw() {
  const own = ++drawing, main = document.getElementById("main"), changed = redraw, box = document.createElement("div");
  redraw = {}, ++searching;
  read_address();
  main.setAttribute("aria-busy", "true");
  try {
    if (state.view === "search") await draw_search(main);
    else if (state.step === undefined) shown = null, await show_run(box);
    else await show_step(box, changed);
  } catch (error) { box.replaceChildren(problem(error)); }
  if (own !== drawing) return;
  if (state.view !== "search") {
    const scrolled = document.getElementById("list") ? document.getElementById("list").scrollTop : 0;
    main.replaceChildren(...box.children);
    const to = [state.run, state.purpose, state.step].join("/");
    if (to !== place) place = to, window.scrollTo(0, 0);  // another page begins at its top, wherever the link stood
    keep_in_sight(scrolled);
    if (state.step !== undefined && shown) history.replaceState(null, "", address({}));
  }
  trail();
  main.removeAttribute("aria-busy");
  main.dataset.drawn = String(own);
}

async function draw_search(main) {
  shown = null;
  trail();
  show_search(main);
}

function keep_in_sight(scrolled) {
  const list = document.getElementById("list"), current = list && list.querySelector("[aria-current=true]");
  if (!list) return;
  list.scrollTop = scrolled;
  if (!current) return;
  const [box, row] = [list.getBoundingClientRect(), current.getBoundingClientRect()];
  if (row.top < box.top) list.scrollTop -= box.top - row.top;
  else if (row.bottom > box.bottom) list.scrollTop += row.bottom - box.bottom;
}

function trail() {
  const parts = [];
  if (names.size > 1) parts.push(el("select", { "aria-label": "Run", onchange: (event) => go({ run: event.target.value, beside: state.beside ? state.run : "", step: undefined, view: undefined }) },
    [...names].map(([key, name]) => el("option", { value: key, selected: key === state.run }, name))));
  parts.push(el("a", { href: address({ step: undefined, view: undefined, query: "" }), id: "to-run" }, names.size > 1 ? "run" : names.get(state.run)));
  const separate = () => el("span", { class: "sep" }, "›");
  if (state.view === "search") parts.push(separate(), "search");
  else if (state.step !== undefined) {
    parts.push(separate(), el("button", { id: "previous", title: "Previous step ([)", onclick: () => step_by(-1) }, "‹"), el("span", { id: "where" }, `${state.purpose} step ${state.step}`),
      el("button", { id: "next", title: "Next step (])", onclick: () => step_by(1) }, "›"));
    if (shown && shown.step.groups[state.group]) parts.push(separate(), `prompt ${shown.step.groups[state.group].prompt_id}`, separate(), `sample ${shown.step.groups[state.group].sample[state.sample]}`);
  }
  document.getElementById("trail").replaceChildren(...parts);
  const search = document.getElementById("search"), beside = document.getElementById("with");
  if (document.activeElement !== search) search.value = state.query;
  document.getElementById("with-label").hidden = names.size < 2;
  beside.replaceChildren(el("option", { value: "" }, "nothing"), ...[...names].filter(([key]) => key !== state.run).map(([key, name]) => el("option", { value: key, selected: key === state.beside }, name)));
  document.getElementById("colour").value = state.colour;
  document.title = visible(`${state.step === undefined ? "" : `${state.purpose} ${state.step} · `}${names.get(state.run) || "Rollcall"}`);
}

function sample_by(distance) {
  if (!shown || shown.items.length === 0) return;
  const at = shown.items.findIndex(({ g, i }) => g === state.group && i === state.sample), next = shown.items[at < 0 ? 0 : at + distance];
  if (next) go({ group: next.g, sample: next.i });
}

function group_by(distance) {
  if (!shown || shown.items.length === 0) return;
  const order = [...new Set(shown.items.map(({ g }) => g))], next = order[order.indexOf(state.group) + distance];
  if (next !== undefined) go({ group: next, sample: shown.items.find(({ g }) => g === next).i });
}

async function step_by(distance) {
  if (state.step === undefined) return;
  const rows = rows_of(await load(`${state.run}/steps`), state.purpose), at = rows.findIndex((row) => row[1] === state.step), next = rows[at + distance];
  if (next) go({ step: next[1], group: 0, sample: 0 }, { first: true });
}

function set_colour(mode) {
  state.colour = mode;
  draw();
}

const kKeys = {
  j: ["next sample", () => sample_by(1)], k: ["previous sample", () => sample_by(-1)], n: ["next group", () => group_by(1)], p: ["previous group", () => group_by(-1)],
  "[": ["previous step", () => step_by(-1)], "]": ["next step", () => step_by(1)],
  c: ["next colour", () => set_colour(Object.keys(kColours)[(Object.keys(kColours).indexOf(state.colour) + 1) % Object.keys(kColours).length])],
  "/": ["search", () => document.getElementById("search").focus()], "?": ["these keys", () => document.getElementById("keys").showModal()],
};

function on_key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (typing && event.key === "Escape") event.target.blur();
  if (typing || !kKeys[event.key] || document.getElementById("keys").open) return;
  event.preventDefault();
  kKeys[event.key][1]();
}

function set_up() {
  const search = document.getElementById("search");
  document.getElementById("colour").append(...Object.entries(kColours).map(([key, { label, says }]) => el("option", { value: key, title: says }, label)));
  document.getElementById("colour").addEventListener("change", (event) => { set_colour(event.target.value), event.target.blur(); });
  document.getElementById("with").addEventListener("change", (event) => { go({ beside: event.target.value }), event.target.blur(); });
  document.getElementById("help").addEventListener("click", kKeys["?"][1]);
  document.getElementById("key-list").append(...Object.entries(kKeys).flatMap(([key, [says]]) => [el("dt", {}, key), el("dd", {}, says)]));
  let pause = 0;  // a step is filtered while one types, the run is searched at Enter
  search.addEventListener("input", () => {
    clearTimeout(pause);
    if (state.step !== undefined && !state.view) pause = setTimeout(() => go({ query: search.value.trim() }, { first: true }), 150);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(pause);
    if (state.step !== undefined && !state.view) go({ query: search.value.trim() }, { first: true }), search.blur();
    else go({ view: "search", query: search.value.trim() }), search.blur();
  });
  document.addEventListener("keydown", on_key);
  window.addEventListener("hashchange", draw);
}

async function start() {
  set_up();
  try {
    for (const run of await load("runs")) names.set(run.key, run.name);
    if (names.size > 1 && !location.hash) state.beside = [...names.keys()][1], history.replaceState(null, "", address({}));
    draw();
  } catch (error) { document.getElementById("main").replaceChildren(problem(error)); }
}

start();
