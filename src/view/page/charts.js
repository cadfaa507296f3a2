// Curves over steps, and the strip of a prompt's visits.
"use strict";

// lines: [{points: [[step, value], ...], kind: "a"|"b"}]; go(step) is called where somebody clicks.
function chart(title, unit, lines, go) {
  const all = lines.flatMap((line) => line.points).filter(([, value]) => value !== null);
  if (all.length === 0) return null;
  const width = 360, height = 130, left = 46, bottom = 18, top = 8;
  const [first, last] = [Math.min(...extremes(all, 0)), Math.max(...extremes(all, 0))];
  let [low, high] = extremes(all, 1);
  if (high - low < 1e-9) low -= 0.5 * Math.abs(low) || 0.5, high += 0.5 * Math.abs(high) || 0.5;
  const x = (step) => left + ((width - left - 6) * (step - first)) / Math.max(last - first, 1);
  const y = (value) => top + (height - top - bottom) * (1 - (value - low) / (high - low));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  for (const value of [low, (low + high) / 2, high]) {
    picture.append(svg("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }));
    picture.append(svg("text", { x: left - 4, y: y(value) + 4, "text-anchor": "end" }, short(Number(value.toPrecision(3)))));
  }
  picture.append(svg("text", { x: left, y: height - 4 }, `step ${first}`), svg("text", { x: width - 6, y: height - 4, "text-anchor": "end" }, String(last)));
  for (const { points, kind } of lines) {
    const path = points.filter(([, value]) => value !== null).map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`);
    picture.append(svg("polyline", { class: `line ${kind}`, points: path.join(" ") }));
  }
  const shown = lines[0].points, stride = Math.ceil(shown.length / 160), band = (width - left) / Math.max(Math.ceil(shown.length / stride), 1);
  for (let i = 0; i < shown.length; i += stride) {
    const [step, value] = shown[i];
    picture.append(svg("rect", { class: "hit", x: x(step) - band / 2, y: 0, width: band, height: height - bottom, onclick: () => go(step) },
      svg("title", {}, `step ${step}: ${short(value)}${unit ? ` ${unit}` : ""}`)));
  }
  return el("figure", {}, el("figcaption", {}, title, unit ? el("span", {}, ` [${unit}]`) : null), picture);
}

function extremes(points, place) {
  let low = Infinity, high = -Infinity;
  for (const point of points) low = Math.min(low, point[place]), high = Math.max(high, point[place]);
  return [low, high];
}

// Such as "first solved in step 4, not solved in step 9, solved again in step 12".
function story(visits) {
  const solved = visits.findIndex((visit) => visit[2] > 0);
  if (solved < 0) return `never solved in ${plural(visits.length, "visit")}`;
  const parts = [`first solved in step ${visits[solved][0]}`];
  let held = true, losses = 0;
  for (const [step, , correct] of visits.slice(solved + 1)) {
    if (held && correct === 0) {
      if (++losses <= 3) parts.push(`lost again in step ${step}`);
      held = false;
    } else if (!held && correct > 0) {
      if (losses <= 3) parts.push(`solved again in step ${step}`);
      held = true;
    }
  }
  if (losses > 3) parts.push(`lost ${losses} times in all`);
  return parts.join(", ");
}

function strip(visits, current, go) {
  const box = el("div", { class: "strip", role: "group", "aria-label": "Visits of this prompt" });
  for (const [step, rollouts, correct] of visits) {
    const inner = el("i");
    inner.style.height = `${Math.round((100 * correct) / Math.max(rollouts, 1))}%`;
    box.append(el("button", { title: `step ${step}: ${correct} of ${rollouts} rollouts correct`, "aria-current": step === current, onclick: () => go(step) }, inner));
  }
  return box;
}
