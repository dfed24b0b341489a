// The stacked bar: what each title of the history adds to a score, exactly, in its colour.

import { html } from "./vendor/preact-htm.js";
import { percent, score } from "./format.js";
import { colourOf, state, titleOf } from "./store.js";

// Contributions of an item of a list: [{ id, value, parts: [[name, value]] }], in the order of the history.
export function contributions(item, list) {
  if (!item.parts || !list.history) return [];
  const names = Object.keys(item.parts);
  const all = list.history.map((id, at) => {
    const parts = names.map((name) => [name, item.parts[name][at]]);
    return { id, parts, value: parts.reduce((sum, [, value]) => sum + value, 0) };
  });
  const place = new Map(state.history.map((id, at) => [id, at]));
  return all.sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
}

export const positive = (added) => added.reduce((sum, one) => sum + Math.max(0, one.value), 0);
export const negative = (added) => added.reduce((sum, one) => sum - Math.min(0, one.value), 0);

// The longest bar of a list is as wide as the column.
export const scaleOf = (list) =>
  Math.max(1e-12, ...list.items.map((item) => positive(contributions(item, list)) || Math.max(0, item.score)));

export function Bar({ added, total, scale, marker, label }) {
  const gain = positive(added), loss = negative(added);
  const hover = state.hover?.kind === "history" ? state.hover.id : null;
  const width = (value) => `${(100 * value) / scale}%`;
  const words = label ?? added.map((one) => `${titleOf(one.id)} ${score(one.value)}`).join(", ");
  return html`<span class="bar" role="img" aria-label=${words}>
    ${added.length
      ? added.filter((one) => one.value > 0).map((one) => html`<span key=${one.id}
          class=${"segment" + (hover && hover !== one.id ? " faded" : "")}
          style=${{ width: width(one.value), background: colourOf(one.id) }}
          title=${`${titleOf(one.id)}: ${score(one.value)}, ${percent(one.value / (gain || 1))} of what speaks for it`}></span>`)
      : html`<span class="segment plain" style=${{ width: width(Math.max(0, total)) }}></span>`}
    ${loss > 0.002 * gain && html`<span class="against" style=${{ left: width(Math.max(0, gain - loss)), width: width(Math.min(loss, gain)) }}
      title=${`${score(loss)} speaks against it: titles that rarely go with it`}></span>`}
    ${marker > 0 && html`<span class="marker" style=${{ left: width(marker) }} title=${`The list ends at ${score(marker)}`}></span>`}
  </span>`;
}
