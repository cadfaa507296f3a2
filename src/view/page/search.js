// Search in the whole run: the prompts first, by their texts and by the id of their row, then the answers step by step, which may take a while and can be stopped.
"use strict";

const kHits = 500;
let searching = 0;  // the search in progress; a later one ends it

async function show_search(main) {
  const own = ++searching, words = state.query.toLowerCase(), run = state.run;
  const data = await load(`${run}/steps`);
  const status = el("p", { class: "soft", id: "status" }, "Searching."), stop = el("button", { onclick: () => { ++searching, stop.remove(); } }, "Stop");
  const prompts = el("div", { class: "card", id: "found-prompts" }), answers = el("div", { class: "card", id: "found-answers" });
  main.replaceChildren(el("h1", {}, "Search: ", state.query), status, stop, el("h2", {}, "Prompts"), prompts, el("h2", {}, "Answers"), answers);
  if (!words) return void (status.textContent = "Type what to look for.");
  const seen = new Set();  // prompts found: the list holds their beginnings, the steps hold them whole
  let hits = 0, found = 0;
  const hit = (box, row) => { if (++hits <= 2 * kHits) box.append(row); };
  try {
    for (const [purpose, pages] of Object.entries(data.prompt_pages))
      for (const page of pages) {
        const name = `${run}/prompts-${purpose}-${page}`;
        for (const prompt of await load(name))
          if (prompt.prompt.toLowerCase().includes(words) || prompt.reference.toLowerCase().includes(words) || (prompt.row || "").toLowerCase() === words)
            seen.add(`${purpose} ${prompt.prompt_id}`), ++found, hit(prompts, prompt_row(prompt, purpose));
        forget(name);
        if (own !== searching) return;
      }
    let answered = 0;
    for (let k = 0; k < data.steps.length && answered < kHits; ++k) {
      const [purpose, number] = data.steps[k], name = `${run}/step-${purpose}-${number}`, step = await load(name);
      if (own !== searching) return;
      status.textContent = `${k + 1} of ${plural(data.steps.length, "step")}, ${plural(answered, "answer")}`;
      step.groups.forEach((group, g) => {
        const here = [group.prompt, group.reference, group.extra || ""].some((text) => text.toLowerCase().includes(words));
        if (seen.has(`${purpose} ${group.prompt_id}`) || !here) return;
        seen.add(`${purpose} ${group.prompt_id}`), ++found;
        hit(prompts, el("button", { class: "row", onclick: () => go({ view: undefined, purpose, step: number, group: g, sample: 0, query: "" }) }, el("span", { class: "what mono" }, around(group.prompt, words)),
          el("span", { class: "soft" }, `prompt ${group.prompt_id}`), el("span", { class: "more" }, `${purpose} step ${number}`)));
      });
      step.groups.forEach((group, g) => group.text.forEach((text, i) => {
        if (text.toLowerCase().includes(words) || group.extracted[i].toLowerCase().includes(words))
          ++answered, hit(answers, el("button", { class: "row", onclick: () => go({ view: undefined, purpose, step: number, group: g, sample: i, query: "" }) }, el("span", { class: "what mono" }, around(text, words)),
            el("span", { class: "soft" }, `${purpose} step ${number}`), el("span", { class: "more" }, shorten(group.prompt, 80))));
      }));
      forget(name);
    }
    status.textContent = `Done: ${plural(found, "prompt")}, ${answered >= kHits ? `the first ${kHits} answers` : plural(answered, "answer")}.`;
    status.dataset.done = "1";
  } catch (error) { main.append(problem(error)); }
  stop.remove();
}

function around(text, words) {
  const at = Math.max(0, text.toLowerCase().indexOf(words) - 30);
  return `${at > 0 ? "…" : ""}${shorten(text.slice(at), 140)}`;
}
