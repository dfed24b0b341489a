// What the model learned from, and how good it was when it was measured.

import { html } from "./vendor/preact-htm.js";
import { capital, count, percent } from "./format.js";
import { Axis, hill } from "./known.js";
import { current, state } from "./store.js";

const CURVE = 300;

export function DataView() {
  const data = state.data[state.model];
  if (!data) return html`<${Waiting} />`;
  const { facts } = data;
  const options = Object.entries(data.source.options ?? {}).map(([name, value]) => `${name} = ${words(value)}`); // weights of events among them
  const read = [...options, ...(data.source.notes ?? [])];
  const head = [["Users", facts.users], ["Items", facts.items], ["Interactions", facts.interactions], ["Density", facts.density]].filter(([, value]) => value !== undefined);
  return html`<div class="wide">
    <section class="figures" aria-label="Sizes">${head.map(([name, value]) => html`<div class="card figure" key=${name}><b>${name === "Density" ? `${(100 * value).toFixed(2)} %` : count(value)}</b><span class="quiet">${name.toLowerCase()}</span></div>`)}</section>
    <section class="card findings"><div class="heading"><h2>Data quality</h2><span class="quiet">${data.findings.length || "no"} ${data.findings.length === 1 ? "finding" : "findings"}</span></div>
      ${data.findings.length === 0 && html`<p class="fine">✓ Nothing looks wrong.</p>`}
      <ul>${data.findings.map((one) => html`<li key=${one.what} class=${one.severity}><b>${capital(one.severity)}</b><span>${capital(one.what)}.<br /><span class="quiet">${capital(one.advice)}.</span></span></li>`)}</ul>
      ${read.length > 0 && html`<h3>How it was read</h3><ul class="notes">${read.map((note) => html`<li key=${note}>${note}</li>`)}</ul>`}
    </section>
    <section class="card"><div class="heading"><h2>Who gets the attention</h2></div><${Attention} curve=${data.curve} /></section>
    <section class="card"><div class="heading"><h2>Popularity of the items</h2></div>
      <svg viewBox="0 0 400 200" class="chart" role="img" aria-label=${`Half of the items have more than ${count(data.known.median)} users`}><path class="hill strong" d=${hill(data.known, 160, 180)} /><${Axis} known=${data.known} floor=${180} /></svg>
      <p class="quiet">Items by the number of users who have them, on a log axis. Half of them have more than <b>${count(data.known.median)}</b>.</p></section>
    <section class="card all"><div class="heading"><h2>All facts</h2></div><table><tbody>${Object.entries(facts).map(([name, value]) => html`<tr key=${name}><th scope="row">${capital(name)}</th><td>${fact(name, value)}</td></tr>`)}
      ${["from", "licence", "citation"].filter((name) => data.source[name]).map((name) => html`<tr key=${name}><th scope="row">${capital(name)}</th><td class="text">${String(data.source[name])}</td></tr>`)}</tbody></table></section>
  </div>`;
}

const words = (value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.entries(value).map(([key, one]) => `${key}: ${one}`).join(", ") : String(value));

const SHARES = /^(density|share |weight of the |noes beside |negative feedback )/; // facts that are parts of a whole

function fact(name, value) {
  if (value && typeof value === "object") return Object.entries(value).map(([key, one]) => `${key} ${fact(name, one)}`).join(" · ");
  if (SHARES.test(name) && typeof value === "number") return `${(100 * value).toFixed(2)} %`;
  if (typeof value === "number" && !Number.isInteger(value) && value < 100) return String(Number(value.toPrecision(3))); // weights
  return typeof value === "number" ? count(value) : String(value).replace("T", " ").replace("+00:00", " UTC");
}

function Attention({ curve }) {
  const steps = curve.length - 1;
  const at = (share) => curve[Math.round(share * steps)];
  const line = curve.map((share, number) => `${(10 + (380 * number) / steps).toFixed(1)} ${(190 - 170 * share).toFixed(1)}`);
  return html`<svg viewBox="0 0 400 215" class="chart" role="img" aria-label=${`The most popular tenth of the items has ${percent(at(0.1))} of all interactions`}>
      <path class="hill strong" d=${`M10 190 L${line.join(" L")} L390 190Z`} />
      <path class="even" d="M10 190 L390 20" />
      <path class="curve" d=${`M${line.join(" L")}`} />
      ${[0.1, 0.5].map((share) => html`<g key=${share}><circle class="mark" cx=${10 + 380 * share} cy=${190 - 170 * at(share)} r="4" />
        <text class="note" x=${18 + 380 * share} y=${204 - 170 * at(share)}>${percent(share)} of the items: ${percent(at(share))}</text></g>`)}
      <line class="axis" x1="10" x2="390" y1="190" y2="190" />
      <text class="tick start" x="10" y="206">most popular</text><text class="tick stop" x="390" y="206">all items</text>
    </svg>
    <p class="quiet">The most popular tenth of the items has <b>${percent(at(0.1))}</b> of all interactions. On the dashed line all items would be equal.</p>`;
}

const Waiting = () => html`<div class="wide"><section class="card"><p class="quiet">${state.fault ?? "Reading…"}</p></section></div>`;

// --- quality ---------------------------------------------------------------------------------------------------------

const ABOUT = {
  ndcg: "how high the held-out items stand in the list",
  mrr: "one over the rank of the first held-out item",
  recall: "share of the held-out items that are listed",
  precision: "share of the list that was held out",
  map: "precision averaged over the ranks of the held-out items",
  "hit_rate": "users with at least one held-out item in their list",
  novelty: "how rare the listed items are",
  coverage: "share of the catalogue that is listed for any user",
};

const NAMES = { ndcg: "NDCG", mrr: "MRR", map: "MAP" };
const ORDER = [...Object.keys(ABOUT)];
const place = (name) => (ORDER.indexOf(name.split("@")[0]) + 1 || 99);

export function QualityView() {
  const data = state.data[state.model];
  if (!data) return html`<${Waiting} />`;
  const own = Object.keys(data.evaluation.metrics ?? {}).length > 0;
  const files = data.evaluations ?? [], studies = data.studies ?? [], ignored = data.ignored ?? [];
  return html`<div class="wide">
    ${!own && !files.length && !studies.length && html`<${Unmeasured} />`}
    ${own && html`<${Evaluation} evaluation=${data.evaluation} />`}
    ${files.map((one) => html`<${Evaluation} key=${one.file} evaluation=${one.evaluation} file=${one.file} flatters=${one.flatters} />`)}
    ${studies.map((one) => html`<${Study} key=${one.file} study=${one} />`)}
    ${ignored.length > 0 && html`<p class="quiet all">In the folder of the model file, but not shown: ${ignored.join("; ")}.</p>`}
  </div>`;
}

function Unmeasured() {
  return html`<section class="card all unmeasured"><h2>Nothing was measured</h2>
      <p>This model learned from all the data and was not tested on held-out items, so its file has no figures.</p>
      <p class="quiet">Fit it with a split, and they appear here; so does a comparison with others in the folder of the model file:</p><pre>corml fit DATA --split ratio --model ${current().kind} --out model.corml${"\n"}corml compare DATA --models ${current().kind},popularity --out study${"\n"}corml studio model.corml</pre></section>`;
}

function Evaluation({ evaluation, file, flatters }) {
  const metrics = Object.entries(evaluation.metrics), rows = new Map(), cutoffs = new Set();
  metrics.sort(([a], [b]) => place(a) - place(b));
  for (const [name, value] of metrics) {
    const [metric, k = ""] = name.split("@");
    cutoffs.add(k);
    rows.set(metric, { ...rows.get(metric), [k]: { value, interval: evaluation.intervals?.[name] } });
  }
  const order = [...cutoffs].sort((a, b) => a - b);
  const procedure = evaluation.procedure ?? {};
  return html`<section class="card all"><div class="heading"><h2>Measured on items that were held out</h2><span class="quiet">${evaluation.part ?? "test"} part${evaluation.users ? `, ${count(evaluation.users)} people` : ""}${file ? ` · ${file}` : ""}</span></div>
      ${flatters && html`<p class="caution"><b>These figures flatter the model:</b> it learned from all the data, the held-out items among them. Fit it with <code>--split</code> before it is evaluated.</p>`}
      <div class="scroll" tabindex="0" role="region" aria-label=${file ? `Figures of ${file}` : "Figures"}><table class="measured"><thead><tr><th scope="col">Metric</th>${order.map((k) => html`<th scope="col" key=${k}>${k ? `first ${k}` : "whole list"}</th>`)}</tr></thead>
      <tbody>${[...rows].map(([metric, cells]) => {
        const most = Math.max(1e-9, ...Object.values(cells).map((cell) => cell.interval?.[1] ?? cell.value));
        return html`<tr key=${metric}><th scope="row">${NAMES[metric] ?? capital(metric.replaceAll("_", " "))}<span class="quiet">${ABOUT[metric] ?? ""}</span></th>
          ${order.map((k) => html`<td key=${k}>${cells[k] && html`<${Cell} ...${cells[k]} most=${most} />`}</td>`)}</tr>`;
      })}</tbody></table></div>
      <p class="quiet">${evaluation.intervals ? `The whiskers are ${percent(evaluation.confidence ?? 0.95)} intervals over users. ` : ""}The whole catalogue was ranked. ${evaluation.rules ? `Lists with ${evaluation.rules}. ` : ""}${evaluation.refit ? "Measured after a fit on the train part; the model on show then learned from everything." : ""}</p></section>
    <section class="card all"><div class="heading"><h2>How it was split</h2></div><table><tbody>${Object.entries({ split: procedure.name, ...procedure, name: undefined, data: procedure.data && String(procedure.data).slice(0, 16) }).filter(([, value]) => value !== undefined && value !== null).map(([name, value]) => html`<tr key=${name}><th scope="row">${capital(name.replaceAll("_", " "))}</th><td>${Array.isArray(value) ? value.join(" / ") : String(value)}</td></tr>`)}</tbody></table></section>`;
}

// A comparison of models in the folder of the model file. Dots and whiskers share one axis, so that rows can be compared.
function Study({ study }) {
  const ends = study.rows.flatMap((row) => [row.mean, ...(row.interval ?? [])]).filter((value) => value !== null);
  const low = Math.min(...ends), span = Math.max(...ends) - low || 1, x = (value) => 4 + (92 * (value - low)) / span;
  const others = study.metrics.filter((name) => name !== study.primary);
  return html`<section class="card all"><div class="heading"><h2>Compared with other models</h2><span class="quiet">${count(study.users)} users${study.splits > 1 ? `, ${study.splits} splits` : ""} · ${study.file}</span></div>
    <p class="verdict">${study.verdict}</p>
    <div class="scroll" tabindex="0" role="region" aria-label=${`Models of ${study.file}`}><table class="study"><thead><tr><th scope="col">Model</th><th scope="col">${label(study.primary)}</th><th scope="col">Against ${study.reference ?? "the best"}</th>${others.map((name) => html`<th scope="col" key=${name}>${label(name)}</th>`)}</tr></thead>
    <tbody>${study.rows.map((row) => html`<tr key=${row.label} class=${row.label === study.best ? "best" : ""}>
      <th scope="row">${row.label}${row.label === study.best && html` <span class="badge new">best</span>`}${row.kind === current().kind && html`<span class="quiet">the kind of model on show</span>`}</th>
      ${row.mean === null ? html`<td class="quiet" colspan=${2 + others.length}>${row.failed ? "failed" : "no figures"}</td>`
        : html`<td><b>${row.mean.toFixed(4)}</b><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">${row.interval && html`<line x1=${x(row.interval[0])} x2=${x(row.interval[1])} y1="5" y2="5" />`}<rect x=${x(row.mean) - 0.8} width="1.6" y="0" height="10" /></svg>
            ${row.interval && html`<span class="quiet">${row.interval.map((value) => value.toFixed(3)).join(" – ")}</span>`}</td>
          <td>${row.difference === null ? html`<span class="quiet">–</span>` : html`${signed(row.difference)}<span class=${row.chance ? "chance" : "sure"}>${row.chance ? "could be chance" : "more than chance"}</span><span class="quiet">p ${row.p < 1e-4 ? "< 0.0001" : row.p?.toFixed(4)}</span>`}</td>
          ${others.map((name) => html`<td key=${name}>${row.means[name]?.toFixed(4) ?? "–"}</td>`)}`}</tr>`)}</tbody></table></div>
    <p class="quiet">Every model learned from the same training set and was evaluated on the same users. ${label(study.primary)} decides, named beforehand. The lines are ${percent(study.confidence)} intervals over users; p is of a paired t-test, corrected for the number of tests.</p></section>`;
}

const label = (metric) => { const [name, k] = metric.split("@"); return `${NAMES[name] ?? capital(name.replaceAll("_", " "))}${k ? ` @${k}` : ""}`; };
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;

function Cell({ value, interval, most }) {
  const x = (number) => (100 * number) / most;
  return html`<b>${value.toFixed(3)}</b><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width=${x(value)} height="8" rx="2" />
    ${interval && html`<line x1=${x(interval[0])} x2=${x(interval[1])} y1="4" y2="4" />`}</svg>
    ${interval && html`<span class="quiet">${interval.map((number) => number.toFixed(3)).join(" – ")}</span>`}`;
}
