// A step: which of its samples are listed, and the list.
"use strict";

const kFilters = {
  all: ["all", "every sample, by group"],
  wrong: ["wrong", "samples that the verifier did not accept"],
  cut: ["truncated", "samples that ended at the token limit"],
  flipped: ["flipped", "right where most of the prompt's samples were wrong at its last visit, or wrong where most were right"],
  longest: ["longest", "the longest tenth of the step's samples, longest first"],
  surprising: ["surprising", "the tenth of the step's samples with the lowest mean log-prob, lowest first"],
};
const kRows = 400;

function flipped(group, i) {
  if (!group.before) return false;
  const share = group.before[2] / group.before[1];
  return group.correct[i] ? share < 0.5 : share > 0.5;
}

// [{g, i}] in the order in which j and k go through them.
function listed(step, filter, query) {
  const all = [];
  const words = query.toLowerCase();
  step.groups.forEach((group, g) => {
    const here = !words || group.prompt.toLowerCase().includes(words) || group.reference.toLowerCase().includes(words)
      || (group.extra || "").toLowerCase().includes(words);
    group.sample.forEach((_, i) => {
      if (here || group.text[i].toLowerCase().includes(words) || group.extracted[i].toLowerCase().includes(words)) all.push({ g, i });
    });
  });
  const tenth = (key) => all.filter(({ g, i }) => key(step.groups[g], i) !== null).sort((a, b) => key(step.groups[a.g], a.i) - key(step.groups[b.g], b.i)).slice(0, Math.max(1, Math.ceil(all.length / 10)));
  switch (filter) {
    case "wrong": return all.filter(({ g, i }) => !step.groups[g].correct[i]);
    case "cut": return all.filter(({ g, i }) => step.groups[g].cut[i]);
    case "flipped": return all.filter(({ g, i }) => flipped(step.groups[g], i));
    case "longest": return tenth((group, i) => -group.tokens[i]);
    case "surprising": return tenth((group, i) => group.logprob[i]);
    default: return all;
  }
}

function filter_bar(total) {
  return el("div", { class: "filters", role: "group", "aria-label": "Which samples" }, Object.entries(kFilters).map(([key, [label, title]]) =>
    el("button", { "data-filter": key, title, "aria-pressed": state.filter === key, onclick: () => go({ filter: key }, { first: true }) }, label)),
  el("span", { class: "soft", id: "listed" }, total));
}

function side(step, items) {
  const box = el("div", { class: "list", id: "list" }), whole = state.filter === "all" && !state.query;
  const entries = whole ? step.groups.map((group, g) => ({ g, i: 0 })) : items;
  const at = entries.findIndex(({ g, i }) => g === state.group && (whole || i === state.sample));
  const from = Math.max(0, Math.min(at - kRows / 2, entries.length - kRows)), shown = entries.slice(from, from + kRows);
  if (from > 0) box.append(el("p", { class: "soft" }, `${count(from)} before these`));
  for (const { g, i } of shown) box.append(whole ? group_row(step.groups[g], g) : sample_row(step.groups[g], g, i));
  if (from + shown.length < entries.length) box.append(el("p", { class: "soft" }, `${count(entries.length - from - shown.length)} after these`));
  if (entries.length === 0) box.append(el("p", { class: "soft" }, "None."));
  const total = whole ? `${plural(step.groups.length, "group")}, ${plural(items.length, "sample")}` : plural(items.length, "sample");
  const wider = state.query ? el("a", { href: address({ view: "search" }) }, "Search the whole run") : null;
  return el("div", { class: "card side" }, filter_bar(total), wider, box);
}

function group_row(group, g) {
  const right = group.correct.reduce((sum, c) => sum + c, 0), n = group.correct.length;
  return el("button", { class: "row", "data-group": g, "aria-current": g === state.group, onclick: () => go({ group: g, sample: 0 }) },
    el("span", { class: "what mono" }, shorten(group.prompt, 60)), bar(right / n, `${right} of ${n} rollouts correct`),
    el("span", { class: "more" }, `prompt ${group.prompt_id} · ${right} of ${n} correct`));
}

function sample_row(group, g, i) {
  return el("button", { class: "row", "data-group": g, "data-sample": i, "aria-current": g === state.group && i === state.sample, onclick: () => go({ group: g, sample: i }) },
    el("span", { class: "what mono" }, shorten(group.text[i], 60) || "(empty)"), el("span", { class: group.correct[i] ? "up" : "down", title: "reward" }, short(group.reward[i])),
    el("span", { class: "more" }, `${shorten(group.prompt, 40)} · ${plural(group.tokens[i], "token")} · ${milli(group.logprob[i])} nats`));
}
