// The list: rows with their bars, and the reasons of a row that is open.

import { html, useLayoutEffect, useRef } from "./vendor/preact-htm.js";
import { api } from "./calls.js";
import { Bar, contributions, negative, positive, scaleOf } from "./bars.js";
import { count, parts, people, percent, score } from "./format.js";
import * as store from "./store.js";
import { colourOf, modelOf, state, titleOf } from "./store.js";

const PART_NAMES = { h: "learned pairs (H)", g: "shared taste (G)" };

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Rows glide to their new places.
function useGlide(list) {
  const body = useRef(null), places = useRef(new Map());
  useLayoutEffect(() => {
    const now = new Map();
    for (const row of body.current?.children ?? []) {
      const { id } = row.dataset, was = places.current.get(id);
      now.set(id, row.offsetTop);
      if (calm() || places.current.size === 0) continue;
      if (was === undefined) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 180 });
      else if (was !== row.offsetTop) {
        row.animate([{ transform: `translateY(${was - row.offsetTop}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
      }
    }
    places.current = now;
  }, [list]);
  return body;
}

export function List({ list, side, before, narrow, name, unmatched = "new" }) {
  const body = useGlide(list);
  const scale = scaleOf(list);
  const users = modelOf(side)?.users ?? 0;
  return html`<ol class=${"list" + (narrow ? " narrow" : "")} ref=${body} aria-label=${name}>
    ${list.items.map((item) => html`<${Row} key=${item.item} ...${{ item, list, scale, users, before, narrow, unmatched }} />`)}
  </ol>`;
}

function Row({ item, list, scale, users, before, narrow, unmatched }) {
  const { name, year } = parts(item.title ?? item.item);
  const added = contributions(item, list);
  const isOpen = state.open === item.item && !narrow;
  const personal = list.source === "personal";
  const hover = state.hover;
  const faded = hover?.kind === "list" && hover.id !== item.item && state.otherList;
  const point = (id) => store.set({ hover: id && { kind: "list", id } });
  const press = () => (narrow ? (api.whyNot ? store.askWhyNot : store.askSimilar)(item.item) : store.set({ open: isOpen ? null : item.item }));
  return html`<li data-id=${item.item} class=${"row" + (isOpen ? " open" : "") + (faded ? " faded" : "")}
      onMouseEnter=${() => point(item.item)} onMouseLeave=${() => point(null)}>
    <button class="line" aria-expanded=${narrow ? null : String(isOpen)} onClick=${press} data-row>
      <span class="rank">${item.rank}</span>
      <span class="title"><span class="words" title=${item.title ?? item.item}><b>${name}</b>${year && html` <span class="year">${year}</span>`}</span>
        <${Move} rank=${item.rank} was=${before?.get(item.item)} known=${Boolean(before)} unmatched=${unmatched} /></span>
      <span class="people">${people(item.popularity * users)}</span>
      ${personal && html`<${Bar} added=${added} total=${item.score} scale=${scale} />`}
    </button>
    ${isOpen && html`<${Reasons} item=${item} added=${added} users=${users} personal=${personal} />`}
  </li>`;
}

function Move({ rank, was, known, unmatched }) {
  if (!known || was === rank) return null;
  if (was === undefined) return html`<span class="badge new">${unmatched}</span>`;
  const up = was > rank;
  return html`<span class=${"badge " + (up ? "up" : "down")} aria-label=${`${up ? "up" : "down"} ${Math.abs(was - rank)}`}>${up ? "▲" : "▼"}${Math.abs(was - rank)}</span>`;
}

function Reasons({ item, added, users, personal }) {
  const sorted = [...added].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const widest = Math.max(1e-12, ...added.map((one) => Math.abs(one.value)));
  const gain = positive(added), loss = negative(added), first = sorted.find((one) => one.value > 0);
  const names = added[0]?.parts.map(([name]) => name) ?? [];
  return html`<div class="reasons">
    <p>${first && html`<b>${percent(first.value / (gain || 1))}</b> of what speaks for it comes from <b>${titleOf(first.id)}</b>. `}
      ${people(item.popularity * users)} of ${count(users)} have it.
      ${!personal && " Nothing is known about this user yet, so the most popular titles are shown."}
      ${personal && !added.length && " This model does not score title by title, so there are no parts to show."}</p>
    ${added.length > 0 && html`<ul class="parts">
      ${sorted.map((one) => html`<li key=${one.id}
          onMouseEnter=${() => store.set({ hover: { kind: "history", id: one.id } })} onMouseLeave=${() => store.set({ hover: null })}>
        <span class="name">${titleOf(one.id)}</span>
        <span class="track">${one.parts.map(([name, value], at) => html`<span key=${name}
          class=${(at ? "pale" : "") + (value < 0 ? " minus" : "")}
          style=${{ width: `${(100 * Math.abs(value)) / widest}%`, background: colourOf(one.id) }}></span>`)}</span>
        <span class="figure">${score(one.value)}</span></li>`)}
    </ul>
    <p class="legend">
      ${names.map((name, at) => html`<span key=${name}><i class=${at ? "pale" : ""}></i>${PART_NAMES[name] ?? name}</span>`)}
      ${loss > 0.002 * gain && html`<span><i class="minus"></i>speaks against it: rarely goes with it</span>`}
      <span class="sum">adds up to <b>${score(item.score)}</b></span></p>`}
    <div class="actions">
      <button onClick=${() => store.add(item.item)}>Seen it: add</button>
      <button onClick=${() => store.hide(item.item)}>Never show</button>
      <button onClick=${() => store.askSimilar(item.item)}>What is similar?</button>
      <button onClick=${() => store.startFrom([item.item])}>Start from this</button>
    </div>
  </div>`;
}
