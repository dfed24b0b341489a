// The page as a whole: header, views, keys.

import { html, render, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact-htm.js";
import { alone, setToken } from "./calls.js";
import { DataView, QualityView } from "./data.js";
import { copyLink, exportCsv, exportJson } from "./export.js";
import { FitDialog, FitView, Progress } from "./fit.js";
import { count } from "./format.js";
import { Known } from "./known.js";
import { Map_ } from "./map.js";
import { Middle } from "./middle.js";
import { Side } from "./side.js";
import * as store from "./store.js";
import { current, state } from "./store.js";

const VIEWS = [["explore", "Explore"], ["data", "Data"], ["quality", "Quality"]];
const KEYS = [["/", "search"], ["n p", "novel, popular"], ["j k", "next, last row"], ["x", "never show the row"], ["c", "compare"], ["⌫", "remove the last title"], ["l", "copy the link"], ["t", "light, dark"], ["?", "all keys"]];

function App() {
  const [, redraw] = useState(0);
  useLayoutEffect(() => store.subscribe(() => redraw((turn) => turn + 1)), []); // at once: nothing may be missed
  useEffect(() => { addEventListener("keydown", key); return () => removeEventListener("keydown", key); }, []);
  if (state.needsToken) return html`<${Token} />`;
  const there = state.models.length > 0;
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
    <${Header} />
    ${!there && (state.event ? html`<${FitView} />` : html`<${Opening} />`)}
    ${there && html`<main id="main" tabindex="-1" class=${state.view + (state.hover ? " pointing" : "") + (state.other ? " comparing" : "")}>
      <h1 class="unseen">corml studio</h1>
      ${state.view === "explore" && html`<${Side} /><${Middle} /><div class="right"><${Map_} /><${Known} /></div><${Keys} />`}
      ${state.view === "data" && html`<${DataView} />`}
      ${state.view === "quality" && html`<${QualityView} />`}
    </main>`}
    <p class=${"toast" + (state.toast ? " on" : "")} role="status">${state.toast}</p>
    ${state.dialog === "help" && html`<${Help} />`}
    ${state.dialog === "fit" && html`<${FitDialog} />`}`;
}

function Opening() {
  return html`<main id="main" class="alone">${state.fault
    ? html`<section class="card job"><h1>${alone ? "This page cannot be opened" : "The service does not answer"}</h1><p class="fault" role="alert">${state.fault}</p><div class="actions"><button class="strong" onClick=${() => { store.set({ fault: null }); store.open(); }}>Try again</button></div></section>`
    : html`<p class="boot">corml studio opens…</p>`}</main>`;
}

function Header() {
  const model = current();
  return html`<header>
    <div class="brand"><b>corml studio</b>
      ${model && state.models.length > 1 && !state.other
        ? html`<select class="models" aria-label="Model" value=${state.model} onChange=${(event) => store.choose(event.target.value)}>
            ${state.models.map((one) => html`<option key=${one.name} value=${one.name} selected=${one.name === state.model}>${one.name}</option>`)}</select>`
        : model && html`<span class="about named">${model.name}</span>`}
      ${model && html`<span class="about" title=${`${model.kind}, version ${model.version}`}>${count(model.items)} items · ${count(model.users)} users · ${model.kind} <span class="version">${model.version.slice(0, 8)}</span></span>`}
    </div>
    ${model && html`<nav aria-label="Views">${VIEWS.map(([name, words]) => html`<button key=${name} class=${name === state.view ? "on" : ""} aria-current=${name === state.view ? "page" : null} onClick=${() => store.go(name)}>${words}</button>`)}</nav>`}
    <div class="tools">
      ${state.event && model && html`<span class="working">${state.event.state === "failed" ? html`<span class="fault">${state.event.text}</span>` : html`<span class="quiet">Fitting ${state.event.job.model}</span><${Progress} event=${state.event} />`}</span>`}
      ${model && state.view === "explore" && html`<span class="took" title="From a change to its list">${state.took !== null ? `${Math.round(state.took)} ms` : ""}</span>
        ${state.canFit && html`<button disabled=${state.event?.state === "working"} onClick=${() => store.set({ dialog: "fit" })}>Refit</button>`}
        ${store.canCompare() && html`<button class=${state.other ? "on" : ""} aria-pressed=${String(Boolean(state.other))} onClick=${() => store.compare(!state.other)}>Compare</button>`}
        <button onClick=${copyLink}>Copy link</button>
        <${ExportMenu} />`}
      <button class="icon" aria-label="Light or dark" onClick=${turnTheme}>◐</button>
      ${model && html`<button class="icon" aria-label="Keys and help" onClick=${() => store.set({ dialog: "help" })}>?</button>`}
    </div>
  </header>`;
}

function ExportMenu() {
  const menu = useRef(null);
  const done = (work) => () => { menu.current.open = false; work(); };
  return html`<details class="menu" ref=${menu} onKeyDown=${(event) => { if (event.key === "Escape") menu.current.open = false; }}
      onFocusOut=${(event) => { if (!menu.current.contains(event.relatedTarget)) menu.current.open = false; }}>
    <summary>Export</summary>
    <div><button disabled=${!state.list} onClick=${done(exportCsv)}>CSV, for a spreadsheet</button><button disabled=${!state.list} onClick=${done(exportJson)}>JSON, for a program</button></div>
  </details>`;
}

function Keys() {
  return html`<p class="keys" aria-hidden="true">${KEYS.slice(0, 6).map(([keys, words]) => html`<span key=${keys}>${keys.split(" ").map((one) => html`<kbd key=${one}>${one}</kbd>`)} ${words}</span>`)}</p>`;
}

function Help() {
  const dialog = useRef(null);
  useEffect(() => { if (!dialog.current.open) dialog.current.showModal(); }, []);
  return html`<dialog ref=${dialog} aria-labelledby="help-heading" onClose=${() => store.set({ dialog: null })}>
    <h2 id="help-heading">How to read this</h2>
    <p>Every title of the history has a <b>colour</b>. Every bar is the <b>exact</b> sum of what these titles add to a score: nothing is estimated, the parts add up. The hatched end is what speaks against a title.</p>
    <p>Open a row to see <b>H</b>, pairs of titles the model learned, and <b>G</b>, the taste that many share. The <b>dial</b> moves lists from popular to rare titles. On the <b>map</b> near is alike.</p>
    <h3>Keys</h3>
    <dl>${KEYS.map(([keys, words]) => html`<div key=${keys}><dt>${keys.split(" ").map((one) => html`<kbd key=${one}>${one}</kbd>`)}</dt><dd>${words}</dd></div>`)}</dl>
    <p class="quiet">The state is in the address behind “#”, which browsers keep to themselves: histories reach no log. ${alone ? "The model is inside this page, which needs no network and sends nothing." : html`The API is described at <a href="docs">/docs</a>.`}</p>
    <div class="actions"><button class="strong" autofocus onClick=${() => dialog.current.close()}>Close</button></div>
  </dialog>`;
}

function Token() {
  const input = useRef(null);
  const send = (event) => { event.preventDefault(); setToken(input.current.value.trim()); store.set({ needsToken: false, fault: null }); store.open(); };
  return html`<main id="main" class="alone"><section class="card job"><h1>corml studio</h1>
    <p>This service needs a token. It stays in this tab.</p>
    <form onSubmit=${send}><label>Token <input ref=${input} type="password" autocomplete="off" required /></label><div class="actions"><button class="strong">Open</button></div></form></section></main>`;
}

// --- keys ------------------------------------------------------------------------------------------------------------

function turnTheme() {
  const root = document.documentElement;
  const dark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("corml-theme", root.dataset.theme); } catch { /* then only until the page closes */ }
}

function turnDial(steps) {
  if (!current()?.novelty) return;
  const novelty = Math.min(1, Math.max(0, state.novelty + steps * 0.25));
  if (novelty !== state.novelty) store.change({ novelty });
}

function walk(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step))]?.focus();
}

const ACTIONS = {
  "/": () => document.getElementById("search")?.focus(),
  n: () => turnDial(1),
  p: () => turnDial(-1),
  j: () => walk(1),
  k: () => walk(-1),
  c: () => { if (store.canCompare()) store.compare(!state.other); },
  x: () => { const id = document.activeElement?.closest("[data-id]")?.dataset.id ?? state.open; if (id) store.hide(id); },
  l: copyLink,
  t: turnTheme,
  "?": () => store.set({ dialog: "help" }),
  Backspace: () => { if (state.history.length) store.remove(state.history.at(-1)); },
  Escape: () => store.set({ panel: null, open: null }),
};

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || state.dialog || !state.models.length) return;
  const typing = event.target.closest("input:not([type=range]), textarea, select");
  if (typing || (state.view !== "explore" && !["t", "?"].includes(event.key))) return;
  const action = ACTIONS[event.key];
  if (action) { event.preventDefault(); action(); }
}

addEventListener("hashchange", () => { if (location.hash) location.reload(); });
const root = document.getElementById("app");
root.replaceChildren(); // the renderer would leave what stands there
render(html`<${App} />`, root);
store.open();
