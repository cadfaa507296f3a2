// Data of a run: scripts that call rollcall(name, value), because fetch() does not work from the disk. The last ones used are kept.
"use strict";
const kept = new Map(), waiting = new Map(), kKept = 48;

function rollcall(name, value, problem) {
  const entry = waiting.get(name);
  if (entry) entry.answer = problem === undefined ? { value } : { problem };
}

function load(name) {
  if (kept.has(name)) {
    const promise = kept.get(name);
    kept.delete(name), kept.set(name, promise);
    return promise;
  }
  const promise = new Promise((resolve, reject) => {
    const script = document.createElement("script"), entry = {};
    waiting.set(name, entry);
    const end = () => {
      waiting.delete(name), script.remove();
      if (entry.answer && entry.answer.problem === undefined) return resolve(entry.answer.value);
      kept.delete(name);
      reject(new Error(entry.answer ? entry.answer.problem : `data/${name}.js cannot be loaded. Was the whole folder copied, or has the server ended?`));
    };
    script.onload = end, script.onerror = end;
    script.src = `data/${name}.js`;
    document.head.append(script);
  });
  kept.set(name, promise);
  if (kept.size > kKept) {
    for (const old of kept.keys())
      if (old !== "runs" && !old.endsWith("/steps")) { kept.delete(old); break; }
  }
  return promise;
}

function forget(name) { kept.delete(name); }
