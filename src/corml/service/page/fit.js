// A fit under way: its steps, and how far it is. And the dialog that begins another one.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { capital } from "./format.js";
import * as store from "./store.js";
import { state } from "./store.js";

const STEPS = [["read", "Read the data"], ["examine", "Look for problems"], ["fit", "Fit the model"], ["test", "Write and test it"]];

const STAGES = {
  "filter selection": "Trying filters on held-out items", pairs: "Counting pairs of items", filter: "Computing the filter", solve: "Solving for the pairs",
  candidates: "Choosing pairs to learn", pricing: "Looking for pairs that were left out", invert: "Inverting", neighbours: "Finding neighbours",
};
const stage = (text) => text.split(": ").map((part) => STAGES[part] ?? part).join(": ");

export function FitView() {
  const { event, notes } = state;
  if (!event) return html`<main id="main" class="alone"><section class="card job"><h2>There is no model yet</h2></section></main>`;
  const at = STEPS.findIndex(([name]) => name === event.step), failed = event.state === "failed";
  return html`<main id="main" class="alone"><section class="card job" aria-live="polite">
    <h1>${failed ? "That did not work" : `Fitting ${event.job.model}`}</h1>
    <p class="quiet">${failed ? "" : `${event.job.kind} · ${Math.round(event.seconds)} s so far · nothing leaves this machine`}</p>
    <ol class="steps">${STEPS.map(([name, words], number) => {
      const now = number === at, done = number < at || event.state === "done";
      return html`<li key=${name} class=${done ? "done" : now ? (failed ? "failed" : "now") : ""} aria-current=${now ? "step" : null}>
        <span class="sign" aria-hidden="true">${done ? "✓" : now && failed ? "!" : number + 1}</span>
        <span><b>${words}</b>${now && event.text && html`<span class="quiet">${failed ? event.text : capital(stage(event.text))}</span>`}
        ${now && !failed && html`<${Progress} event=${event} />`}</span></li>`;
    })}</ol>
    ${notes.length > 0 && html`<ul class="notes">${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>`}
    ${failed && html`<p class="quiet">Correct it, and start <code>corml studio</code> again; <code>corml data info FILE</code> says more about a file.</p>`}
  </section></main>`;
}

export function Progress({ event }) {
  const known = event.total > 1;
  const share = known ? Math.min(1, event.done / event.total) : 0;
  return html`<span class=${"progress" + (known ? "" : " unknown")} role="progressbar" aria-label="Progress of this step" aria-valuemin="0" aria-valuemax="100"
    aria-valuenow=${known ? Math.round(100 * share) : null}><span style=${known ? { width: `${100 * share}%` } : {}}></span></span>`;
}

const KINDS = [["corml-dial", "CoRML with a dial"], ["corml", "CoRML"], ["ease", "EASE"], ["item-knn", "Item k-nearest neighbours"], ["popularity", "Popularity"]];

export function FitDialog() {
  const dialog = useRef(null);
  const shown = store.jobOf(state.model) ?? state.jobs[0]; // begin with what the model on show was fitted with
  const [kind, setKind] = useState(KINDS.some(([name]) => name === shown?.kind) ? shown.kind : "corml");
  const [text, setText] = useState(kind === shown?.kind ? written(shown.settings) : "");
  const [weighing, setWeighing] = useState(shown?.weighing);
  const [fault, setFault] = useState("");
  useEffect(() => { if (!dialog.current.open) dialog.current.showModal(); }, []);
  const choose = (name) => { setKind(name); setText(name === shown?.kind ? written(shown.settings) : ""); }; // others have other settings
  const begin = async () => {
    const settings = {};
    for (const line of text.split(/[\n,;]+/).map((one) => one.trim()).filter(Boolean)) {
      const [name, value] = line.split("=").map((one) => one.trim());
      if (!value) { setFault(`Write a setting as NAME=VALUE; “${line}” is none.`); return; }
      settings[name] = value;
    }
    const body = { kind, settings };
    if (weighing) {
      const bad = Object.entries(weighing.weights).find(([, weight]) => String(weight).trim() === "" || !(Number(weight) >= 0));
      if (bad) { setFault(`The weight of “${bad[0]}” must be a number of 0 or more.`); return; }
      body.weights = Object.fromEntries(Object.entries(weighing.weights).map(([name, weight]) => [name, Number(weight)]));
      if (weighing.times) body.half_life = weighing.half_life?.trim() || null;
    }
    try {
      await store.fit(body);
      store.set({ dialog: null });
    } catch (error) {
      setFault(error.message);
    }
  };
  return html`<dialog ref=${dialog} aria-labelledby="fit-heading" onClose=${() => store.set({ dialog: null })}>
    <h2 id="fit-heading">Fit another model</h2>
    <p class="quiet">On the same data. It appears next to the present one when it is ready.</p>
    <label>Model <select value=${kind} onChange=${(event) => choose(event.target.value)}>${KINDS.map(([name, words]) => html`<option key=${name} value=${name} selected=${name === kind}>${words}</option>`)}</select></label>
    <label>Settings <textarea rows="3" placeholder="mix=0.8, rank=64" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <p class="quiet">NAME=VALUE, one a line or with commas; empty takes the defaults.</p>
    ${weighing && html`<${Weights} weighing=${weighing} change=${(patch) => { setWeighing({ ...weighing, ...patch }); setFault(""); }} />`}
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    <div class="actions"><button class="strong" onClick=${begin}>Fit</button><button onClick=${() => dialog.current.close()}>Cancel</button></div>
  </dialog>`;
}

function Weights({ weighing, change }) {
  const { weights, negative, half_life, times } = weighing;
  return html`<fieldset class="weights"><legend>What an event weighs</legend>
    <div>${Object.entries(weights).map(([name, weight]) => html`<label key=${name}><span>${name || "(no kind)"}${negative.includes(name) && html` <span class="quiet">negative feedback</span>`}</span>
      <input type="number" min="0" step="any" inputmode="decimal" value=${weight} onInput=${(event) => change({ weights: { ...weights, [name]: event.target.value } })} /></label>`)}
    ${times && html`<label><span>Half-life</span><input placeholder="none" value=${half_life ?? ""} onInput=${(event) => change({ half_life: event.target.value })} /></label>`}</div>
    <p class="quiet">The file is read again with them. An event with weight 0 only excludes the item${times ? "; after a half-life, such as 90d or 2w, one counts half" : ""}.</p></fieldset>`;
}

const written = (settings) => Object.entries(settings ?? {}).map(([name, value]) => `${name}=${value}`).join("\n");
