// The state in the fragment of the address: it is shared by link, and never reaches a server or its log.

const ids = (text) => (text ? text.split(",").map(decodeURIComponent) : []);
const text = (list) => list.map((id) => encodeURIComponent(id)).join(",");
const number = (value, low, high) => (value !== null && value !== "" && value >= low && value <= high ? Number(value) : undefined);

export function read(fragment) {
  const given = new URLSearchParams();  // not decoded twice: ids are encoded inside
  for (const pair of fragment.replace(/^#/, "").split("&")) {
    const at = pair.indexOf("=");
    if (at > 0) given.set(pair.slice(0, at), pair.slice(at + 1));
  }
  const state = {};
  try {
    if (given.has("h")) state.history = [...new Set(ids(given.get("h")))];
    if (given.has("x")) state.never = [...new Set(ids(given.get("x")))];
    if (given.has("m")) state.model = decodeURIComponent(given.get("m"));
    if (given.has("b")) {
      const [model, novelty, diversity] = given.get("b").split("~");
      state.other = { model: decodeURIComponent(model), novelty: number(novelty, 0, 1) ?? 0.5, diversity: number(diversity ?? "", 0, 1) ?? 0 };
    }
  } catch { /* a damaged link opens what can be read of it */ }
  state.novelty = number(given.get("n"), 0, 1);
  state.diversity = number(given.get("d"), 0, 1);
  state.k = number(given.get("k"), 1, 50);
  if (["data", "quality"].includes(given.get("v"))) state.view = given.get("v");
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined));
}

export function write(state, defaults) {
  const parts = [];
  if (state.view !== "explore") parts.push(`v=${state.view}`);
  if (state.model && state.model !== defaults.model) parts.push(`m=${encodeURIComponent(state.model)}`);
  if (state.novelty !== defaults.novelty) parts.push(`n=${state.novelty}`);
  if (state.diversity) parts.push(`d=${state.diversity}`);
  if (state.k !== defaults.k) parts.push(`k=${state.k}`);
  if (state.history.length) parts.push(`h=${text(state.history)}`);
  if (state.never.length) parts.push(`x=${text(state.never)}`);
  if (state.other) parts.push(`b=${encodeURIComponent(state.other.model)}~${state.other.novelty}~${state.other.diversity}`);
  return parts.join("&");
}
