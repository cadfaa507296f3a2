// A run: curves, evaluations, steps and prompts.
"use strict";

const rows_of = (steps, purpose) => steps.steps.filter((row) => row[0] === purpose);
const kTables = 200;

async function show_run(main) {
  const runs = await load("runs"), run = runs.find((r) => r.key === state.run);
  const data = await load(`${run.key}/steps`);
  const others = state.beside ? [await load(`${state.beside}/steps`)] : [];
  const train = rows_of(data, "train"), last = train[train.length - 1];
  main.replaceChildren(
    el("h1", {}, run.name),
    el("p", { class: "soft" }, [run.folder, data.recipe && `recipe ${data.recipe}`, data.policy && `policy ${data.policy}`, data.task && `task ${data.task}`].filter(Boolean).join(" · ")),
    ...[data.no_config, data.no_tokenizer].filter(Boolean).map((why) => el("p", { class: "soft" }, why)));
  if (data.steps.length === 0) {
    main.append(el("div", { class: "card" }, "The archive holds no scored rollouts yet. Reload when the run has finished a step."));
    return;
  }
  main.append(tiles(run, train, last));
  if (others.length) main.append(el("p", { class: "key" }, el("i", { class: "a" }), run.name, el("i", { class: "b" }), runs.find((r) => r.key === state.beside).name));
  const charts = el("div", { class: "charts" });
  for (const [place, title, unit] of [[4, "Mean reward", ""], [5, "Pass rate", "share"], [6, "Cut at the token limit", "share"], [7, "Entropy", "nats a token"], [9, "Length", "tokens"]]) {
    const lines = [data, ...others].map((d, i) => ({ points: rows_of(d, "train").map((row) => [row[1], row[place]]), kind: i === 0 ? "a" : "b" }));
    const figure = chart(title, unit, lines.filter((line) => line.points.length), (step) => go({ purpose: "train", step, group: 0, sample: 0 }));
    if (figure) charts.append(figure);
  }
  main.append(charts, evaluations(data), el("h2", {}, "Training steps"), steps_table(train), prompts_section(run, data));
}

function tiles(run, train, last) {
  const tile = (value, name, title) => el("div", { title }, el("b", {}, value), name);
  return el("div", { class: "tiles" }, tile(count(train.length), "training steps"), tile(count(run.rollouts), "rollouts, evaluations included"), tile(count(run.prompts), "prompts"),
    last ? tile(percent(last[5]), `pass rate in step ${last[1]}`, "mean over the step's prompts of the share of their rollouts that were correct") : null,
    last ? tile(short(last[4]), `mean reward in step ${last[1]}`) : null);
}

function evaluations(data) {
  const box = el("div", { id: "evaluations" });
  const rows = data.steps.filter((row) => row[0] !== "train");
  if (rows.length + data.evaluations.length === 0) return box;
  box.append(el("h2", {}, "Evaluations"));
  const table = el("tbody");
  for (const { name, step, numbers } of data.evaluations)
    table.append(el("tr", {}, el("td", {}, name), el("td", { class: "n" }, step === null ? "" : step), el("td", { colspan: 4 }, Object.entries(numbers).filter(([, v]) => typeof v === "number")
      .map(([key, v]) => `${key.replace("validation/", "")} ${short(v)}${numbers[`${key}_ci95`] ? ` [${numbers[`${key}_ci95`].map(short).join(", ")}]` : ""}`).join(" · "))));
  for (const [purpose, step, groups, rollouts, , pass, cut] of rows)
    table.append(el("tr", { class: "go", onclick: () => go({ purpose, step, group: 0, sample: 0 }) }, el("td", {}, el("a", { href: address({ purpose, step, group: 0, sample: 0 }) }, `${purpose}, every rollout`)),
      el("td", { class: "n" }, step), el("td", { class: "n" }, plural(groups, "prompt")), el("td", { class: "n" }, plural(rollouts, "rollout")), el("td", { class: "n" }, `pass ${percent(pass)}`),
      el("td", { class: "n" }, `cut ${percent(cut)}`)));
  box.append(el("div", { class: "card scroll" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "what"), el("th", { class: "n" }, "after step"), el("th", { colspan: 4 }))), table)));
  return box;
}

function steps_table(rows) {
  const heads = [["step", ""], ["groups", "prompts drawn"], ["rollouts", ""], ["reward", "mean"], ["pass", "share of correct rollouts"], ["cut", "share of rollouts that ended at the token limit"],
    ["entropy", "nats a token, mean"], ["log-prob", "nats a token, mean"], ["length", "tokens, mean"]];
  const body = el("tbody"), box = el("div", { class: "card scroll" }, el("table", { id: "steps" }, el("thead", {}, el("tr", {}, heads.map(([name, title]) => el("th", { class: "n", title }, name)))), body));
  const add = (from, to) => {
    for (const [purpose, step, groups, rollouts, reward, pass, cut, entropy, logprob, length] of rows.slice(from, to)) {
      const where = { purpose, step, group: 0, sample: 0 };
      body.append(el("tr", { class: "go", onclick: () => go(where) }, el("td", { class: "n" }, el("a", { href: address(where) }, step)),
        [count(groups), count(rollouts), short(reward), percent(pass), percent(cut), fixed(entropy), fixed(logprob), fixed(length, 1)].map((text, i) => el("td", { class: "n", title: heads[i + 1][1] }, text))));
    }
  };
  add(0, kTables);
  if (rows.length > kTables) box.append(el("button", { onclick: (event) => { event.target.remove(), add(kTables); } }, `Show all ${count(rows.length)} steps`));
  return box;
}

// One page of prompts at a time: there may be a hundred thousand.
function prompts_section(run, data) {
  const box = el("section", {}, el("h2", {}, "Prompts")), list = el("div", { id: "prompts" });
  const choice = el("select", { "aria-label": "Prompts", onchange: () => fill(choice.value) });
  for (const [purpose, pages] of Object.entries(data.prompt_pages))
    for (const page of pages)
      choice.append(el("option", { value: `prompts-${purpose}-${page}` }, `${purpose}: ${count(page * data.prompts_per_page)} to ${count((page + 1) * data.prompts_per_page - 1)}`));
  const fill = async (name) => {
    try {
      list.replaceChildren(...(await load(`${run.key}/${name}`)).slice(0, data.prompts_per_page).map((prompt) => prompt_row(prompt, name.split("-")[1])));
    } catch (error) { list.replaceChildren(problem(error)); }
  };
  box.append(choice, el("div", { class: "card" }, list));
  if (choice.value) fill(choice.value);
  return box;
}

function prompt_row(prompt, purpose) {
  const open = (step) => go({ purpose, step, group: 0, sample: 0, prompt: prompt.prompt_id, query: "" });
  const last = prompt.visits[prompt.visits.length - 1];
  return el("button", { class: "row", onclick: () => open(last[0]), title: `level ${prompt.level}, reference ${prompt.reference}` },
    el("span", { class: "what mono" }, shorten(prompt.prompt, 120)), el("span", { class: "soft" }, `prompt ${prompt.prompt_id}${prompt.row ? ` · row ${prompt.row}` : ""}`), el("span", { class: "more" }, story(prompt.visits)));
}
