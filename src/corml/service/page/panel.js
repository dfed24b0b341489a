// Answers to a question about one title: why it is not in the list, and what is similar to it.

import { html } from "./vendor/preact-htm.js";
import { Bar, positive } from "./bars.js";
import { count, people, score } from "./format.js";
import * as store from "./store.js";
import { peopleOf, state, titleOf } from "./store.js";

export function Panel() {
  const { panel } = state;
  if (!panel) return null;
  const close = html`<button class="cross" aria-label="Close" onClick=${() => store.set({ panel: null })}>✕</button>`;
  return html`<section class="panel" aria-live="polite">
    ${panel.fault ? html`<p class="fault">${panel.fault}</p>${close}`
      : !panel.answer ? html`<p class="quiet">${titleOf(panel.item)}…</p>${close}`
      : panel.kind === "why" ? html`<${WhyNot} answer=${panel.answer} close=${close} />`
      : html`<${Similar} answer=${panel.answer} close=${close} />`}
  </section>`;
}

const VERDICTS = {
  seen: "is in the history, so it is not recommended again",
  excluded: "is never shown: you said so",
  "not in only": "is not among the titles that may be shown",
  "not available": "is not available at this moment",
};
const RULES = { diversity: "diversity", max_per: "the limit per category", boost: "what was boosted" };

function headline(answer) {
  if (answer.verdict === "listed") return `is number ${answer.rank} of the list`;
  if (answer.verdict === "rules") return `is kept out by ${answer.rules.map((name) => RULES[name] ?? name).join(" and ")}; by score it is number ${count(answer.rank)}`;
  if (answer.verdict === "below") return `would be number ${count(answer.rank)} of ${count(answer.of)}`;
  return VERDICTS[answer.verdict];
}

function WhyNot({ answer, close }) {
  const place = new Map(state.history.map((id, at) => [id, at]));
  const added = answer.contributions.map((one) => ({ id: one.item, value: one.contribution, parts: Object.entries(one.parts) }))
    .sort((a, b) => (place.get(a.id) ?? 0) - (place.get(b.id) ?? 0));
  const lacks = (answer.needed ?? 0) - answer.score;
  const speaking = added.filter((one) => one.value > 0.02 * (answer.needed ?? answer.score ?? 1)).length;
  const personal = answer.source === "personal";
  return html`<div class="heading"><h3>${titleOf(answer.item)} <span>${headline(answer)}</span></h3>${close}</div>
    ${personal && html`<${Bar} added=${added} total=${answer.score} scale=${1.08 * Math.max(positive(added), answer.needed ?? 0, 1e-12)} marker=${answer.needed} />
      <p class="quiet">Score ${score(answer.score)}${answer.needed === undefined ? "" : `; the list ends at ${score(answer.needed)}`}${lacks > 0 && answer.verdict === "below" ? html`: it lacks <b>${score(lacks)}</b>` : ""}.
        ${added.length ? ` ${speaking} of ${added.length} titles speak for it noticeably.` : ""} ${people(answer.support)} have it.</p>`}
    ${!personal && html`<p class="quiet">Without a history the most popular titles are listed; ${people(answer.support)} have this one.</p>`}
    ${answer.lifts.length > 0 && html`<p class="lead">What would lift it, added to the history:</p>
      <ul class="lifts">${answer.lifts.map((lift) => html`<li key=${lift.item}>
        <span class="name">${lift.title ?? lift.item}</span>
        <span class=${"then" + (lift.listed_then === false ? " out" : "")}>→ number ${count(lift.rank_then)}${lift.listed_then === false && lift.rank_then <= state.k ? " by score" : ""}</span>
        <button aria-label=${`Add ${lift.title ?? lift.item}`} onClick=${() => store.add(lift.item)}>Add</button></li>`)}</ul>`}
    <div class="actions">
      ${answer.verdict !== "seen" && html`<button onClick=${() => store.add(answer.item)}>Add it to the history</button>`}
      ${answer.verdict === "excluded" && html`<button onClick=${() => { store.show(answer.item); store.set({ panel: null }); }}>Show it again</button>`}
      <button onClick=${() => store.askSimilar(answer.item)}>What is similar?</button>
    </div>`;
}

function Similar({ answer, close }) {
  return html`<div class="heading"><h3>Similar to ${titleOf(answer.item)}</h3>${close}</div>
    <ul class="lifts">${answer.items.map((item) => html`<li key=${item.item}>
      <span class="name">${titleOf(item.item)}</span>
      <span class="quiet">${people(peopleOf(item.item))}</span>
      ${state.history.includes(item.item) ? html`<span class="quiet">added</span>`
        : html`<button aria-label=${`Add ${titleOf(item.item)}`} onClick=${() => store.add(item.item)}>Add</button>`}</li>`)}</ul>
    <p class="quiet">The list for a history of this title alone${answer.reason ? `: ${answer.reason}` : ""}.</p>`;
}
