// A step on the page, alone or with the same prompt of the other run beside it.
"use strict";

let other_sample = 0;

async function show_step(main, changed) {
  const own = drawing, name = `${state.run}/step-${state.purpose}-${state.step}`;
  const step = await load(name), steps = await load(`${state.run}/steps`);
  if (own !== drawing) return;  // a later page is being drawn, and the state belongs to that page
  if (state.prompt !== undefined) {
    state.group = Math.max(0, step.groups.findIndex((group) => group.prompt_id === state.prompt)), state.sample = 0;
    delete state.prompt;
  }
  const items = listed(step, state.filter, state.query);
  if (changed.first && items.length) state.group = items[0].g, state.sample = items[0].i;
  state.group = Math.min(state.group, step.groups.length - 1);
  state.sample = Math.min(state.sample, step.groups[state.group].sample.length - 1);
  if (changed.group) other_sample = state.sample;
  shown = { step, items };
  const where = { run: state.run, step, g: state.group, i: state.sample, pick: (i) => go({ sample: i }), open: (g, i) => go({ group: g, sample: i }) };
  const detail = el("div", { id: "detail" }), list = side(step, items);
  const visits = await visits_of(state.run, steps, step, step.groups[state.group]);
  detail.append(group_card(where, visits, (number) => go({ step: number, prompt: step.groups[where.g].prompt_id })));
  const beside = state.beside ? await side_of_other(step, step.groups[state.group]) : null;
  detail.append(beside ? el("div", { class: "sides" }, el("div", {}, run_name(state.run), sample_card(where)), beside) : sample_card(where));
  main.replaceChildren(el("div", { class: "step" }, list, detail));
}

const run_name = (key) => el("p", { class: "soft" }, names.get(key) || key);

async function visits_of(run, steps, step, group) {
  const found = (await load(`${run}/prompts-${step.purpose}-${Math.floor(group.prompt_id / steps.prompts_per_page)}`))
    .filter((prompt) => prompt.prompt_id === group.prompt_id && prompt.visits.some((visit) => visit[0] === step.step));
  return (found.find((prompt) => group.prompt.startsWith(prompt.prompt)) || found[0] || { visits: null }).visits;
}

async function side_of_other(step, group) {
  const box = el("div", { id: "beside" }, run_name(state.beside));
  const steps = await load(`${state.beside}/steps`);
  const fallback = async (why) => {
    box.append(el("div", { class: "card" }, why));
    const pages = (steps.prompt_pages[step.purpose] || []), page = Math.floor(group.prompt_id / steps.prompts_per_page);
    const known = pages.includes(page) ? (await load(`${state.beside}/prompts-${step.purpose}-${page}`)).find((p) => p.prompt_id === group.prompt_id && group.prompt.startsWith(p.prompt)) : null;
    if (known) box.append(el("div", { class: "card" }, el("h3", {}, `it drew this prompt in ${plural(known.visits.length, "step")}: ${story(known.visits)}`),
      strip(known.visits, step.step, (number) => go({ run: state.beside, beside: state.run, step: number, prompt: group.prompt_id }))));
    return box;
  };
  if (!steps.steps.some((row) => row[0] === step.purpose && row[1] === step.step)) return fallback(`This run has no ${step.purpose} step ${step.step}.`);
  const other = await load(`${state.beside}/step-${step.purpose}-${step.step}`);
  const g = other.groups.findIndex((o) => o.prompt === group.prompt && o.draw === group.draw);
  if (g < 0) return fallback(`This run did not draw this prompt in step ${step.step}.`);
  const there = other.groups[g];
  const fill = (i) => {
    other_sample = i;
    const where = { run: state.beside, step: other, g, i, pick: fill };
    const chips = group_card(where, null, null).querySelector(".samples");
    box.replaceChildren(run_name(state.beside), chips, sample_card(where));
  };
  fill(Math.min(other_sample, there.sample.length - 1));
  return box;
}
