// One group and one of its samples: prompt, budget, verdict, tokens in colour.
"use strict";

const kRoles = ["prompt", "policy", "environment"];

const kEnded = ["by itself", "at the token limit", "at the limit of turns", "lost by its environment"];  // as rollouts/finish counts
const kTurnFlags = [["invalid", "it could not be read"], ["void", "neither a call nor an answer"], ["error", "what it asked for failed"], ["patched", "another action was carried out in its place"],
  ["repeated", "the conversation had it before"], ["decided", "the environment said whether the task is solved"], ["correct", "the task is solved"], ["ended", "the environment failed while it answered"],
  ["given", "nobody sampled these tokens"], ["by clock", "a time limit ended the environment"]], kGiven = 256;

// What the group was made of and what was made of it, with links within the step where the reader can follow them.
function origin(where) {
  const { step } = where, group = step.groups[where.g], box = el("div", { class: "facts origin" });
  const link = (g, i, words) => (where.open ? el("button", { onclick: () => where.open(g, i) }, words) : el("span", {}, words));
  if (group.kind) {
    const [at, prompt, draw, sample] = group.parent, g = at === step.step ? step.groups.findIndex((other) => other.prompt_id === prompt && other.draw === draw) : -1;
    const words = `step ${at}, prompt ${prompt}${draw ? `, draw ${draw}` : ""}${sample < 0 ? "" : `, sample ${sample}`}`, i = g < 0 ? -1 : step.groups[g].sample.indexOf(sample);
    box.append(fact("kind", group.kind, "why the group was asked"), el("span", {}, "made of ", g < 0 ? words : link(g, Math.max(i, 0), words)), fact("trains", group.placement.replaceAll("_", " "), "where its rollouts train"));
    if (group.tier) box.append(fact("help", `tier ${group.tier}`, "how much help the prompt gives"));
  }
  step.groups.forEach((other, g) => {
    if (other.kind && other.parent[0] === step.step && other.parent[1] === group.prompt_id && other.parent[2] === group.draw)
      box.append(el("span", {}, "led to ", link(g, 0, `${other.kind}${other.tier ? ` of tier ${other.tier}` : ""}`)));
  });
  return box.children.length ? box : null;
}

// where: {run, step (its data), g, i, pick(i), open(g, i) or nothing}
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
  if (group.extra) card.append(el("h3", { title: "the row as the file has it, with its id or line" }, "row of the file"), el("pre", { class: "extra" }, group.extra));
  const made = origin(where);
  if (made) card.append(el("h3", {}, group.kind ? "where it comes from" : "further groups"), made);
  if (group.start) card.append(el("details", {}, el("summary", { class: "soft" }, "the state in which its conversations began"), el("pre", { class: "start" }, group.start)));
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
    fact("entropy", `${milli(group.entropy[i])} nats`, "mean a token"), fact("ended", kEnded[group.ended[i]]),
    group.opening && group.opening[i] ? fact("opening", group.opening[i], "number of the beginning that it was given") : null,
    group.fork && group.fork[i][0] >= 0 ? fact("forked", `from sample ${group.fork[i][0]} after ${plural(group.fork[i][1], "token")}`, "what it has in common with another sample") : null,
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
    const facts = (step.groups[g].facts || [])[i] || [], first = facts.length - rollout.turns.length;  // the prompt has facts too, and is no turn here
    let at = 0;
    rollout.turns.forEach(([role, ...places], k) => {
      const policy = role === 1, box = turn_tokens(part, places, policy ? { rollout, at } : null);
      if (policy) at += places.length;
      answer.append(rollout.turns.length > 1 || facts.length ? el("div", { class: `turn ${kRoles[role]}` }, el("span", { class: "soft" }, kRoles[role]), made_of_turn(facts[first + k], policy), box) : box);
    });
    const asked = rollout.prompt || tokens.prompt, whose = rollout.prompt ? "the prompt of this sample" : "the prompt";
    if (asked.length) answer.append(el("details", {}, el("summary", { class: "soft" }, `${whose} as ${plural(asked.length, "token")}`), turn_tokens(part, asked, null)));
    if (rollout.versions) answer.append(el("p", { class: "soft", title: "optimizer steps behind the weights that drew the tokens" }, rollout.versions[0] === rollout.versions[1]
      ? `policy version ${rollout.versions[0]}` : `policy versions ${rollout.versions[0]} to ${rollout.versions[1]}`));
    answer.dataset.ready = "1";
  } catch (error) { answer.append(problem(error)); }
}

// What the environment made of a turn: reward, flags in words, kind, state and reason. Nothing where the turn has no facts.
function made_of_turn(facts, policy) {
  if (!facts) return null;
  const [reward, flags, kind, state, reason] = facts;
  const words = kTurnFlags.filter((_, bit) => (flags >> bit) & 1).map(([name, title]) => el("b", { class: "flag", title }, name));
  return el("div", { class: "made" }, policy && !(flags & kGiven) ? fact("reward", short(reward), "what the environment gave for it") : null, words,
    kind ? fact("kind", kind, "of the action, as the environment numbers kinds") : null, state ? fact("state", state, policy ? "hash of the state in which it was said" : "hash of the state after it") : null,
    reason ? el("span", { class: "soft" }, reason) : null);
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
