// The left column: search, the history with each title's share of the list, and what is never shown.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { api } from "./calls.js";
import { people, percent } from "./format.js";
import { contributions } from "./bars.js";
import * as store from "./store.js";
import { colourOf, peopleOf, state, titleOf } from "./store.js";

export function Side() {
  return html`<section class="card side" aria-labelledby="history-heading">
    <div class="heading"><h2 id="history-heading">History</h2>
      <span class="quiet">${state.history.length || "empty"}</span>
      ${state.history.length > 0 && html`<button class="textual" onClick=${store.clear}>Clear</button>`}
    </div>
    <${Search} />
    <${Chips} />
    <${Never} />
  </section>`;
}

function Search() {
  const [text, setText] = useState("");
  const [found, setFound] = useState(null);
  const [at, setAt] = useState(0);
  const input = useRef(null), turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    if (!text.trim()) { setFound(null); return; }
    const timer = setTimeout(async () => {
      try {
        const answer = await store.search(text.trim());
        if (mine === turn.current) { setFound(answer); setAt(0); }
      } catch (fault) {
        if (mine === turn.current) setFound({ items: [], fault: fault.message });
      }
    }, 50);
    return () => clearTimeout(timer);
  }, [text, state.model]);
  const items = found?.items ?? [];
  const close = () => { setText(""); setFound(null); };
  const take = (item, why) => { close(); if (why && api.whyNot) store.askWhyNot(item.item); else store.add(item.item); };
  const key = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : items.length - 1;
      if (items.length) setAt((at + step) % items.length);
    } else if (event.key === "Enter" && items[at]) {
      event.preventDefault();
      take(items[at], event.shiftKey);
    } else if (event.key === "Escape") {
      close();
      input.current.blur();
    }
  };
  const isOpen = Boolean(text.trim() && found);
  return html`<div class="search">
    <input id="search" ref=${input} value=${text} placeholder="Add a title…" autocomplete="off" spellcheck="false"
      role="combobox" aria-label="Add a title" aria-expanded=${String(isOpen)} aria-controls="found" aria-autocomplete="list"
      aria-activedescendant=${isOpen && items[at] ? `found-${at}` : null}
      onInput=${(event) => setText(event.target.value)} onKeyDown=${key} />
    <kbd aria-hidden="true">/</kbd>
    ${isOpen && html`<div class="found">
      ${found.fuzzy && items.length > 0 && html`<p class="quiet">Nothing has these words. Written alike:</p>`}
      <ul id="found" role="listbox" aria-label="Titles that were found">
        ${items.map((item, number) => html`<li key=${item.item} id=${`found-${number}`} role="option" aria-selected=${String(number === at)}
            class=${state.history.includes(item.item) ? "had" : ""}
            onMouseEnter=${() => setAt(number)} onMouseDown=${(event) => { event.preventDefault(); take(item, event.shiftKey); }}>
          <span class="name">${titleOf(item.item)}</span>
          <span class="quiet">${state.history.includes(item.item) ? "added" : people(peopleOf(item.item))}</span></li>`)}
      </ul>
      <p class="quiet" role="status">${found.fault ?? (items.length ? `Enter adds it.${api.whyNot ? " Shift + Enter asks “why not this?”" : ""}` : "Nothing is written like that.")}</p>
    </div>`}
  </div>`;
}

function shares() {
  const { list } = state, sums = new Map();
  if (!list?.history) return sums;
  for (const item of list.items) {
    for (const one of contributions(item, list)) sums.set(one.id, (sums.get(one.id) ?? 0) + one.value);
  }
  const all = [...sums.values()].reduce((sum, value) => sum + value, 0);
  for (const [id, value] of sums) sums.set(id, all ? value / all : 0);
  return sums;
}

function Chips() {
  if (!state.history.length) {
    return html`<p class="quiet hint">Add what a user liked, bought or visited. The list answers at once.</p>`;
  }
  const share = shares();
  const point = (id) => store.set({ hover: id && { kind: "history", id } });
  return html`<ul class="chips">
      ${state.history.map((id) => html`<li key=${id} class=${"chip" + (state.hover?.id === id ? " on" : "")}
          onMouseEnter=${() => point(id)} onMouseLeave=${() => point(null)} onFocusIn=${() => point(id)} onFocusOut=${() => point(null)}>
        <span class="dot" style=${{ background: colourOf(id) }}></span>
        <button class="name" title=${`${titleOf(id)}: what is similar?`} onClick=${() => store.askSimilar(id)}>${titleOf(id)}</button>
        ${share.has(id) && html`<span class="share">${percent(share.get(id))}</span>`}
        <button class="cross" aria-label=${`Remove ${titleOf(id)}`} onClick=${() => store.remove(id)}>✕</button>
        ${share.has(id) && html`<span class="meter" aria-hidden="true"><span style=${{ width: `${100 * Math.max(0, share.get(id))}%`, background: colourOf(id) }}></span></span>`}
      </li>`)}
    </ul>
    ${share.size > 0 && html`<p class="quiet hint shares">The share is what each title gives to the whole list. Point at one to see where.</p>`}`;
}

function Never() {
  if (!state.never.length) return null;
  return html`<div class="never"><h3>Never shown</h3>
    <ul>${state.never.map((id) => html`<li key=${id}><span class="name">${titleOf(id)}</span>
      <button class="textual" aria-label=${`Show ${titleOf(id)} again`} onClick=${() => store.show(id)}>show again</button></li>`)}</ul>
  </div>`;
}
