// The style sheet of report.html: system fonts, one accent colour, a light and a dark theme.
#pragma once

namespace rollcall::report {

inline constexpr char kStyle[] = R"css(
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1b1f27; --soft: #5c6573; --line: #e1e4ea; --grid: #eceef2; --good: #17803d; --bad: #b42323; --code: #f3f4f7;
  --c0: #3b6fd4; --c1: #e07b28; --c2: #2a9d77; --c3: #c2478f; --c4: #7a5cc9; --c5: #b08d17; --c6: #2f9bb3; --c7: #8a929e; --before: #aab4c4; }
@media (prefers-color-scheme: dark) { :root {
  --page: #12151a; --card: #1a1e25; --ink: #e6e9ef; --soft: #98a1af; --line: #2b313b; --grid: #252a33; --good: #57c785; --bad: #f0837f; --code: #12151a;
  --c0: #6f9cf0; --c1: #f0994f; --c2: #4cc29a; --c3: #e077b4; --c4: #a48cec; --c5: #d6b548; --c6: #5cc0d6; --c7: #98a1af; --before: #5b6677; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 40px 0 12px; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: 0.88em; }
.sub { color: var(--soft); margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; margin: 24px 0 0; }
.tile, figure, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 14px 16px; }
.tile b { display: block; white-space: nowrap; font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tile span { color: var(--soft); font-size: 13px; display: block; }
.up, .tile .up { color: var(--good); } .down, .tile .down { color: var(--bad); }
.tile .up, .tile .down { display: inline; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: 14px; }
figure { margin: 0; padding: 14px 14px 8px; min-width: 0; }
figcaption { font-weight: 600; font-size: 14px; }
.note { color: var(--soft); font-weight: 400; font-size: 12.5px; margin-left: 6px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12.5px; color: var(--soft); margin-top: 4px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 5px; }
svg { display: block; width: 100%; height: auto; margin-top: 6px; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg .mid { text-anchor: middle; } svg .end { text-anchor: end; }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--line); }
svg .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
svg .faint { stroke-width: 1; opacity: 0.35; }
svg .area { opacity: 0.88; stroke: var(--card); stroke-width: 0.6; }
svg .whisker { fill: none; stroke: var(--ink); stroke-width: 1.3; }
.hit rect { fill: transparent; } .hit line { stroke: var(--soft); stroke-dasharray: 3 3; opacity: 0; pointer-events: none; } .hit:hover line { opacity: 1; }
.card { overflow-x: auto; padding: 4px 0; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 500; font-size: 12.5px; text-align: left; }
th, td { padding: 6px 16px; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td.n, th.n { text-align: right; white-space: nowrap; }
tr.all td { font-weight: 600; border-top: 2px solid var(--line); }
.ci { color: var(--soft); font-weight: 400; font-size: 12.5px; }
.facts td:first-child { color: var(--soft); white-space: nowrap; width: 1%; } .facts td { overflow-wrap: anywhere; }
.meter { background: var(--grid); border-radius: 4px; height: 10px; margin-top: 6px; min-width: 120px; }
.meter i { display: block; height: 10px; border-radius: 4px; }
.group { padding: 14px 16px; margin-bottom: 14px; }
.group pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; background: var(--code); border-radius: 6px; padding: 6px 10px; }
.group h3 { font-size: 12.5px; color: var(--soft); font-weight: 500; margin: 10px 0 4px; } .group h3:first-child { margin-top: 0; }
.response { display: grid; grid-template-columns: 64px 1fr; gap: 10px; margin-top: 6px; align-items: start; }
.reward { text-align: right; padding: 6px 0; font-variant-numeric: tabular-nums; font-weight: 600; } .reward:not(.up) { color: var(--soft); }
footer { color: var(--soft); font-size: 12.5px; margin-top: 40px; }
@media print { body { background: #fff; } figure, .tile, .card { break-inside: avoid; } }
)css";

}  // namespace rollcall::report
