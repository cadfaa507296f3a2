// One group and one of its samples: prompt, budget, verdict, tokens in colour.
"use strict";

const kRoles = ["prompt", "policy", "environment"];

// where: {run, step (its data), g, i, pick(i)}
function group_card(where, visits, open_step) {
  const group = where.step.groups[where.g], bins = where.step.bins || {};
  const facts = el("div", { class: "facts" }, fact("prompt", group.prompt_id, "position in its split"), group.draw ? fact("draw", group.draw, "how often it had been drawn in this step before") : null,
    fact("level", group.level, "static difficulty; 0 where the task knows none"),
    fact("budget", `${group.planned || "–"} planned, ${group.sample.length} real`, "rollouts that the scheduler asked for, and that were drawn"),
    fact("temperature", short(group.temperature), "of sampling"));
  if (group.bin >= 0) {
    facts.append(fact("bin", group.bin, "difficulty bin that the scheduler had the prompt in"));
    for (const [name, title] of [["weight", "what the scheduler multiplies the bin's advantages with"], ["probability", "with which the bin was drawn"], ["budget", "mean rollouts of the bin's groups in this step"],
      ["pass_rate", "of the bin in this step"]])
      if (bins[name] && bins[name][group.bin] !== undefined) facts.append(fact(`bin ${name.replace("_", " ")}`, short(bins[name][group.bin]), title));
  }
  const card = el("div", { class: "card group" }, facts, el("h3", {}, "prompt"), el("pre", { class: "prompt" }, group.prompt));
  if (group.shown) card.append(el("details", {}, el("summary", { class: "soft" }, "as the policy was shown it"), el("pre", { class: "shown" }, group.shown)));
  if (group.extra) card.append(el("h3", { title: "its id or line, and what it holds beside question and answer" }, "row of the file"), el("pre", { class: "extra" }, group.extra));
  if (visits) card.append(el("h3", { title: "height: share of correct rollouts" }, `${plural(visits.length, "visit")}: ${story(visits)}`), strip(visits, where.step.step, open_step));
  card.append(el("div", { class: "samples", role: "group", "aria-label": "Samples" }, group.sample.map((sample, k) => el("button", { class: group.correct[k] ? "right" : "wrong",
    title: `sample ${sample}: reward ${short(group.reward[k])}, ${group.correct[k] ? "correct" : "wrong"}`, "aria-current": k === where.i, onclick: () => where.pick(k) }, sample))));
  return card;
}

function sample_card(where) {
  const { step, i } = where, group = step.groups[where.g], found = group.extracted[i] !== "";
  const facts = el("div", { class: "facts" }, el("span", { class: `badge ${group.correct[i] ? "up" : "down"}` }, group.correct[i] ? "correct" : "wrong"),
    fact("sample", group.sample[i], "number in its group; addresses the random stream"), fact("reward", short(group.reward[i]), "what the objective sees"),
    step.components.map((name, k) => fact(name, short(group.components[i][k]), "component of the reward")),
    group.advantage ? fact("advantage", milli(group.advantage[i]), "mean over the tokens, before the scheduler's weights") : null,
    fact("length", plural(group.tokens[i], "token"), "tokens of the policy"), fact("log-prob", `${milli(group.logprob[i])} nats`, "mean a token, at the sampling temperature"),
    fact("entropy", `${milli(group.entropy[i])} nats`, "mean a token"), fact("ended", group.cut[i] ? "at the token limit" : "by itself"),
    flipped(group, i) ? fact("flipped", `${group.before[2]} of ${group.before[1]} correct in step ${group.before[0]}`, "the prompt's last visit") : null);
  const verdict = el("div", { class: "verdict" }, el("span", { class: "soft" }, "extracted"), found ? el("pre", { class: "extracted" }, group.extracted[i]) : el("span", { class: "soft extracted" }, "no answer found"),
    el("span", { class: "soft" }, "reference"), el("pre", { class: "reference" }, group.reference));
  const answer = el("div", { class: "answer" }, el("div", { class: "tokens" }, group.text[i]));
  const card = el("div", { class: "card sample" }, facts, el("h3", {}, "verdict"), verdict, el("h3", {}, "answer"), answer);
  fill_tokens(where, answer);
  return card;
}

// Replaces the plain text of the answer by its tokens, once their file has come.
async function fill_tokens(where, answer) {
  const { step, g, i } = where;
  try {
    const part = await load(`${where.run}/tokens-${step.purpose}-${step.step}-${step.groups[g].part}`);
    const tokens = part.groups[g - part.first], rollout = tokens.rollouts[i];
    const offered = state.colour !== "advantage" || rollout.advantage !== undefined;
    answer.replaceChildren(...[offered ? legend(state.colour) : el("p", { class: "soft no-colour" }, step.no_advantages || "Advantages are not known here.")].filter(Boolean));
    let at = 0;
    for (const [role, ...places] of rollout.turns) {
      const policy = role === 1, box = turn_tokens(part, places, policy ? { rollout, at } : null);
      if (policy) at += places.length;
      answer.append(rollout.turns.length > 1 ? el("div", { class: `turn ${kRoles[role]}` }, el("span", { class: "soft" }, kRoles[role]), box) : box);
    }
    if (tokens.prompt.length) answer.append(el("details", {}, el("summary", { class: "soft" }, `the prompt as ${plural(tokens.prompt.length, "token")}`), turn_tokens(part, tokens.prompt, null)));
    if (rollout.versions) answer.append(el("p", { class: "soft", title: "optimizer steps behind the weights that drew the tokens" }, rollout.versions[0] === rollout.versions[1]
      ? `policy version ${rollout.versions[0]}` : `policy versions ${rollout.versions[0]} to ${rollout.versions[1]}`));
    answer.dataset.ready = "1";
  } catch (error) { answer.append(problem(error)); }
}

// values: {rollout, at} of a policy turn, whose tokens have numbers.
function turn_tokens(part, places, values) {
  const box = el("div", { class: "tokens" });
  let span = null;
  places.forEach((place, t) => {
    const text = part.pieces[place];
    if (text === "" && span) return void span.tokens.push(t);  // the piece of the token before has this token's text
    const colour = values && state.colour !== "none" ? colour_class(state.colour, value_of(values, state.colour, t)) : "";
    span = el("span", { class: `${colour}${part.special[place] ? " special" : ""}`.trim() || null }, text);
    span.tokens = [t];
    box.append(span);
  });
  box.addEventListener("mouseover", (event) => {
    const tokens = event.target.tokens;
    if (tokens && !event.target.title) event.target.title = tokens.map((t) => token_title(part, places[t], values, t)).join("\n");
  });
  return box;
}

function value_of({ rollout, at }, mode, t) {
  if (mode !== "advantage") return rollout[mode][at + t];
  return Array.isArray(rollout.advantage) ? rollout.advantage[at + t] : rollout.advantage;
}

function token_title(part, place, values, t) {
  const name = `token ${t + 1}, id ${part.ids[place]}`;
  if (!values) return name;
  const logprob = value_of(values, "logprob", t), advantage = value_of(values, "advantage", t);
  return `${name}: log-prob ${milli(logprob)} nats (${percent(Math.exp(logprob / 1000))}), entropy ${milli(value_of(values, "entropy", t))} nats${
    advantage === undefined ? "" : `, advantage ${milli(advantage)}`}`;
}
