// The middle column: the dial, one list or two side by side, and what to do without a history.

import { html, useEffect, useRef } from "./vendor/preact-htm.js";
import { List } from "./list.js";
import { Panel } from "./panel.js";
import { parts } from "./format.js";
import * as store from "./store.js";
import { modelOf, state } from "./store.js";

export const WORDS = ["most popular", "popular", "balanced", "rarer", "novel"];
export const wordOf = (novelty) => WORDS[Math.round(novelty * (WORDS.length - 1))];

const positions = (model) => {
  const norms = String(model?.settings?.item_norms ?? "").split(",").length;
  return norms > 1 ? norms : WORDS.length;
};

export function Middle() {
  const { list, fault } = state;
  return html`<section class="card middle" aria-label="Recommendations" aria-busy=${String(state.busy)}>
    <${Controls} />
    ${fault && html`<p class="fault" role="alert">${fault} ${list ? "The last list stays." : ""}
      <button class="textual" onClick=${store.refresh}>Try again</button></p>`}
    <${Panel} />
    ${!state.history.length && html`<${Welcome} />`}
    ${list && (state.other ? html`<${TwoLists} />` : html`<${OneList} />`)}
    ${!list && !fault && html`<div class="loading" aria-label="The list is on its way">${[...Array(6).keys()].map((at) => html`<i key=${at}></i>`)}</div>`}
  </section>`;
}

function Controls() {
  const model = modelOf(state.model);
  if (state.other || (!model?.novelty && !state.diverse)) return null;
  return html`<div class="controls">
    ${model.novelty && html`<${Dial} side=${state} model=${model} id="dial" onChange=${(novelty) => store.change({ novelty })} />`}
    ${state.diverse && html`<${Diversity} value=${state.diversity} id="diversity" onChange=${(diversity) => store.change({ diversity })} />`}
  </div>`;
}

function Dial({ side, model, id, onChange }) {
  const last = positions(model) - 1;
  return html`<div class="dial">
    <label for=${id}>Popular</label>
    <span class="slide"><input id=${id} type="range" min="0" max="1" step=${1 / last} value=${side.novelty} style=${{ "--at": side.novelty }}
      aria-label="From popular to novel" aria-valuetext=${wordOf(side.novelty)} onInput=${(event) => onChange(Number(event.target.value))} />
      <span class="detents" aria-hidden="true">${[...Array(last + 1).keys()].map((at) => html`<i key=${at}></i>`)}</span></span>
    <span class="end">Novel · <b>${wordOf(side.novelty)}</b></span>
  </div>`;
}

function Diversity({ value, id, onChange }) {
  return html`<div class="dial">
    <label for=${id}>Alike</label>
    <span class="slide"><input id=${id} type="range" min="0" max="1" step="0.1" value=${value} style=${{ "--at": value }}
      aria-label="From alike to diverse" onInput=${(event) => onChange(Number(event.target.value))} /></span>
    <span class="end">Diverse · <b>${Math.round(100 * value)} %<span class="which"> diverse</span></b></span>
  </div>`;
}

function Welcome() {
  const { personas, map } = state;
  return html`<div class="welcome">
    <h2>What did you like?</h2>
    <p class="quiet">Type a title, click on the map, or start with a sample profile:</p>
    ${personas.length > 0
      ? html`<div class="personas">${personas.map((one, number) => html`<${Persona} key=${number} persona=${one} map=${map} />`)}</div>`
      : map?.state === "none" ? null
      : html`<div class="personas pending" aria-hidden="true">${[...Array(6).keys()].map((at) => html`<i key=${at}></i>`)}</div>`}
    ${personas.length > 0 && html`<p class="quiet small">Six sample profiles from six regions of the map; they are not real users.</p>`}
  </div>`;
}

function Persona({ persona, map }) {
  const ids = persona.items.map((item) => item.item);
  const titles = persona.items.map((item) => parts(item.title ?? item.item).name);
  const shown = map?.x ? [...Array(Math.min(260, map.items.length)).keys()] : [];
  const at = (number) => ({ cx: 30 + 27 * map.x[number], cy: 30 - 27 * map.y[number] });
  return html`<button class="persona" onClick=${() => store.startFrom(ids)}>
    <svg viewBox="0 0 60 60" aria-hidden="true">
      ${shown.map((number) => html`<circle key=${number} ...${at(number)} r="1" class="far" />`)}
      ${map?.x && ids.filter((id) => map.numbers.has(id)).map((id, number) => html`<circle key=${id} ...${at(map.numbers.get(id))} r="3.2" style=${{ fill: `var(--c${number})` }} />`)}
    </svg>
    <span><b>${titles[0]}</b><span class="quiet">${titles.slice(1).join(", ")}</span></span>
  </button>`;
}

function OneList() {
  const { list } = state;
  return html`${list.source === "fallback" && html`<div class="heading fallback"><h3>Most popular</h3>
      <span class="quiet">${state.history.length ? "a fallback: the model has nothing for this history" : "the same for all users, until there is a history"}</span></div>`}
    ${list.items.length === 0 ? html`<p class="quiet">There is nothing left to show.</p>`
      : html`<${List} list=${list} side=${state.model} before=${state.before} name="Recommended titles" />`}
    ${list.reason && state.history.length > 0 && html`<p class="quiet small">${list.reason}</p>`}
    ${list.items.length >= state.k && state.k < 50 && html`<div class="more"><button onClick=${() => store.change({ k: state.k < 20 ? 20 : 50 })}>Show ${state.k < 20 ? 20 : 50}</button></div>`}`;
}

// --- two lists -------------------------------------------------------------------------------------------------------

function TwoLists() {
  const { list, otherList } = state;
  const ranks = new Map(list.items.map((item) => [item.item, item.rank]));
  const common = otherList ? otherList.items.filter((item) => ranks.has(item.item)).length : 0;
  return html`<div class="two">
    <${Heading} side=${state} id="a" change=${(patch) => ("model" in patch ? store.choose(patch.model) : store.change(patch))} />
    <p class="common" role="status">${otherList ? html`<b>${common}</b> of ${list.items.length} <br />shared` : "…"}</p>
    <${Heading} side=${state.other} id="b" change=${(patch) => store.change({ other: { ...state.other, ...patch } })} />
    <${List} list=${list} side=${state.model} narrow=${true} name="First list" />
    <${Joins} list=${list} other=${otherList} />
    ${otherList && html`<${List} list=${otherList} side=${state.other.model} before=${ranks} unmatched="only here" narrow=${true} name="Second list" />`}
  </div>`;
}

// What events weighed, where that is what sets the two apart.
function weighed(name) {
  const [mine, ...all] = [name, state.model, state.other.model].map((one) => store.jobOf(one)?.weighing);
  if (!mine || JSON.stringify(all[0]) === JSON.stringify(all[1])) return null;
  const weights = Object.entries(mine.weights).map(([kind, weight]) => `${kind || "(no kind)"} ${weight}`);
  return [...weights, ...(mine.half_life ? [`half-life ${mine.half_life}`] : [])].join(" · ");
}

function Heading({ side, id, change }) {
  const model = modelOf(side.model), weights = weighed(side.model);
  return html`<div class="setting">
    ${state.models.length > 1
      ? html`<select aria-label=${`Model of list ${id}`} value=${side.model} onChange=${(event) => change({ model: event.target.value })}>
          ${state.models.map((one) => html`<option key=${one.name} value=${one.name} selected=${one.name === side.model}>${one.name}</option>`)}</select>`
      : html`<b class="only">${side.model}</b>`}
    ${weights && html`<span class="quiet weighed">${weights}</span>`}
    ${model?.novelty ? html`<${Dial} side=${side} model=${model} id=${`dial-${id}`} onChange=${(novelty) => change({ novelty })} />`
      : html`<span class="quiet">${model?.kind}, no dial</span>`}
    ${state.diverse && html`<${Diversity} value=${side.diversity} id=${`diversity-${id}`} onChange=${(diversity) => change({ diversity })} />`}
  </div>`;
}

// Lines from a title in the first list to itself in the second.
function Joins({ list, other }) {
  const canvas = useRef(null);
  useEffect(() => {
    const svg = canvas.current, two = svg?.parentElement;
    if (!two || !other) return;
    const draw = () => {
      const box = svg.getBoundingClientRect();
      const place = (ol) => new Map([...ol.children].map((row) => {
        const { top, height } = row.getBoundingClientRect();
        return [row.dataset.id, top - box.top + height / 2];
      }));
      const [left, right] = [...two.querySelectorAll("ol")].map(place);
      svg.replaceChildren();
      for (const [id, y] of left ?? []) {
        if (!right?.has(id)) continue;
        const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
        const end = right.get(id), width = box.width;
        line.setAttribute("d", `M0 ${y} C${width / 2} ${y} ${width / 2} ${end} ${width} ${end}`);
        line.dataset.id = id;
        line.classList.toggle("on", state.hover?.id === id); // drawn again, it keeps what is pointed at
        svg.append(line);
      }
    };
    const watcher = new ResizeObserver(draw);
    watcher.observe(two);
    const later = setTimeout(draw, 260);
    return () => { watcher.disconnect(); clearTimeout(later); };
  }, [list, other]);
  useEffect(() => {
    for (const line of canvas.current?.children ?? []) line.classList.toggle("on", state.hover?.id === line.dataset.id);
  });
  return html`<svg class="joins" ref=${canvas} aria-hidden="true"></svg>`;
}
