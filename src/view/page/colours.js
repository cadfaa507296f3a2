// What the colour of a token says. Orange and blue, which people who confuse red and green tell apart; more colour is more of the quantity.
"use strict";

const kColours = {
  logprob: { label: "log-prob", unit: "nats", steps: [-0.05, -0.2, -0.5, -1, -2, -4], says: "log-prob of the token; the more colour, the less probable" },
  entropy: { label: "entropy", unit: "nats", steps: [0.05, 0.2, 0.5, 1, 2, 4], says: "entropy where the token was drawn; the more colour, the less certain" },
  advantage: { label: "advantage", unit: "", steps: [0.02, 0.25, 0.5, 1, 1.5, 2.5], says: "advantage of the token; blue is pushed up, orange is pushed down" },
  none: { label: "none", unit: "", steps: [], says: "no colour" },
};

// value: a number in thousandths, as in the data files.
function colour_class(mode, value) {
  if (value === null || value === undefined || mode === "none") return "";
  const v = value / 1000, steps = kColours[mode].steps;
  let level = 0;
  if (mode === "logprob") while (level < steps.length && v < steps[level]) ++level;
  else while (level < steps.length && Math.abs(v) > steps[level]) ++level;
  if (level === 0) return "";
  return `${mode === "entropy" || (mode === "advantage" && v > 0) ? "cool" : "hot"}${level}`;
}

function legend(mode) {
  if (mode === "none") return null;
  const { steps, unit, says } = kColours[mode];
  const box = el("div", { class: "legend", title: says }, `${kColours[mode].label}${unit ? ` [${unit}]` : ""}`);
  const add = (value, text) => box.append(el("span", { class: colour_class(mode, 1000 * value) }, text));
  const beyond = (value) => value * 1.01;
  if (mode === "advantage") for (const step of [...steps].reverse()) add(-beyond(step), `< ${short(-step)}`);
  add(0, mode === "advantage" ? "0" : `${mode === "logprob" ? ">" : "<"} ${short(steps[0])}`);
  for (const step of steps) add(beyond(step), `${mode === "logprob" ? "<" : ">"} ${short(step)}`);
  return box;
}
