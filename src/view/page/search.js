// Search in the whole run: the prompts first, then the answers step by step, which may take a while and can be stopped.
"use strict";

const kHits = 500;
let searching = 0;  // the search that goes on; a later one ends it

async function show_search(main) {
  const own = ++searching, words = state.query.toLowerCase(), run = state.run;
  const data = await load(`${run}/steps`);
  const status = el("p", { class: "soft", id: "status" }, "Searching."), stop = el("button", { onclick: () => { ++searching, stop.remove(); } }, "Stop");
  const prompts = el("div", { class: "card", id: "found-prompts" }), answers = el("div", { class: "card", id: "found-answers" });
  main.replaceChildren(el("h1", {}, "Search: ", state.query), status, stop, el("h2", {}, "Prompts"), prompts, el("h2", {}, "Answers"), answers);
  if (!words) return void (status.textContent = "Type what to look for.");
  let hits = 0;
  const hit = (box, row) => { if (++hits <= kHits) box.append(row); };
  try {
    for (const [purpose, pages] of Object.entries(data.prompt_pages))
      for (const page of pages) {
        const name = `${run}/prompts-${purpose}-${page}`;
        for (const prompt of await load(name))
          if (prompt.prompt.toLowerCase().includes(words) || prompt.reference.toLowerCase().includes(words)) hit(prompts, prompt_row(prompt, purpose));
        forget(name);
        if (own !== searching) return;
      }
    const found = hits;
    for (let k = 0; k < data.steps.length && hits < found + kHits; ++k) {
      const [purpose, number] = data.steps[k], name = `${run}/step-${purpose}-${number}`, step = await load(name);
      if (own !== searching) return;
      status.textContent = `${k + 1} of ${plural(data.steps.length, "step")}, ${plural(hits - found, "answer")}`;
      step.groups.forEach((group, g) => group.text.forEach((text, i) => {
        if (text.toLowerCase().includes(words) || group.extracted[i].toLowerCase().includes(words))
          hit(answers, el("button", { class: "row", onclick: () => go({ view: undefined, purpose, step: number, group: g, sample: i, query: "" }) }, el("span", { class: "what mono" }, around(text, words)),
            el("span", { class: "soft" }, `${purpose} step ${number}`), el("span", { class: "more" }, shorten(group.prompt, 80))));
      }));
      forget(name);
    }
    status.textContent = `Done: ${plural(found, "prompt")}, ${hits - found >= kHits ? `the first ${kHits} answers` : plural(hits - found, "answer")}.`;
    status.dataset.done = "1";
  } catch (error) { main.append(problem(error)); }
  stop.remove();
}

function around(text, words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words) - 30);
  return `${at > 0 ? "…" : ""}${shorten(text.slice(at), 140)}`;
}
