// What the page knows, and what can be done with it. Components read `state` and call the functions below.

import { api, Fault } from "./calls.js";
import * as link from "./link.js";

export const COLOURS = 12;
const DEFAULTS = { model: null, novelty: 0.5, k: 10 };

export const state = {
  view: "explore",
  models: [],          // as /v1/models has them
  model: null,         // name of the one on show
  novelty: 0.5,
  diversity: 0,
  k: 10,
  history: [],
  never: [],
  other: null,         // the second column: { model, novelty, diversity }
  list: null,          // the last answer: { items, source, history, … }
  otherList: null,
  before: null,        // ranks of the list before, by item
  fault: null,         // why there is no new list
  busy: true,          // whether a list is on its way
  took: null,          // milliseconds from a change to its list
  open: null,          // the item whose reasons are shown
  hover: null,         // { kind: "history" | "list", id }
  panel: null,         // { kind: "why" | "similar", item, answer, fault }
  map: null,
  personas: [],
  data: {},            // by model
  jobs: [],
  canFit: false,
  notes: [],
  event: null,         // of the job at work
  diverse: false,      // whether lists can be asked to be diverse
  needsToken: false,
  toast: "",
  dialog: null,        // "help" | "fit"
};

const listeners = new Set();
const known = new Map(); // items by id: { title, people }
const colours = new Map(); // numbers of colours by id
let drawn = false;

export function subscribe(listener) { listeners.add(listener); return () => listeners.delete(listener); }

export function set(patch) {
  Object.assign(state, patch);
  if (drawn) return;
  drawn = true;
  queueMicrotask(() => { drawn = false; listeners.forEach((listener) => listener()); });
}

// --- items -----------------------------------------------------------------------------------------------------------

export const modelOf = (name) => state.models.find((one) => one.name === name) || null;
export const jobOf = (name) => state.jobs.find((one) => one.model === name) || null; // the fit that made a model
export const current = () => modelOf(state.model);
export const titleOf = (id) => known.get(id)?.title ?? id;
export const peopleOf = (id) => known.get(id)?.people ?? null;
export const colourOf = (id) => `var(--c${(colours.get(id) ?? 0) % COLOURS})`;

function remember(items, model) {
  const users = modelOf(model ?? state.model)?.users ?? 0;
  for (const one of items) known.set(one.item, { title: one.title ?? one.item, people: Math.round(one.popularity * users) });
}

function paint() {
  const used = new Set(state.history.map((id) => colours.get(id)).filter((number) => number !== undefined));
  for (const id of state.history) {
    if (colours.has(id)) continue;
    let number = 0;
    while (used.has(number)) number += 1;
    colours.set(id, number);
    used.add(number);
  }
  for (const id of [...colours.keys()]) if (!state.history.includes(id)) colours.delete(id);
}

// --- what can be done ------------------------------------------------------------------------------------------------

export function change(patch) {
  set(patch);
  paint();
  keepLink();
  refresh();
}

export function add(id) {
  if (state.history.includes(id)) return;
  const panel = state.panel;
  change({ history: [...state.history, id], never: state.never.filter((one) => one !== id), open: null });
  if (panel?.kind === "why" && panel.item !== id) askWhyNot(panel.item); else set({ panel: null });
}
export const remove = (id) => change({ history: state.history.filter((one) => one !== id), hover: null });
export const startFrom = (ids) => change({ history: [...new Set(ids)], open: null, panel: null, before: null, hover: null });
export const hide = (id) => change({ never: [...new Set([...state.never, id])], open: null, panel: null });
export const show = (id) => change({ never: state.never.filter((one) => one !== id) });
export const clear = () => change({ history: [], open: null, panel: null, before: null, hover: null });

// Another model, or another setting of the same one.
export const canCompare = () => state.models.length > 1 || Boolean(current()?.novelty) || state.diverse || Boolean(state.other);

export function compare(on) {
  const model = state.models.find((one) => one.name !== state.model)?.name ?? state.model;
  const novelty = model === state.model ? (state.novelty > 0.5 ? 0 : 1) : state.novelty;
  change({ other: on ? { model, novelty, diversity: state.diversity } : null, otherList: null, open: null });
}

export function choose(name) {
  set({ map: null, personas: [], panel: null, open: null, before: null });
  change({ model: name });
  loadMap();
  if (state.view !== "explore") loadData();
}

export function go(view) {
  set({ view });
  keepLink();
  if (view !== "explore") loadData();
}

function keepLink() {
  const fragment = link.write(state, { ...DEFAULTS, model: state.models[0]?.name });
  history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
}

let fading = null;
export function say(text) {
  set({ toast: text });
  clearTimeout(fading);
  fading = setTimeout(() => set({ toast: "" }), 2600);
}

// --- lists -----------------------------------------------------------------------------------------------------------

function ask(side) {
  const model = modelOf(side.model);
  const body = { history: state.history, k: state.k, model: side.model };
  if (state.never.length) body.exclude = state.never;
  if (model?.novelty) body.novelty = side.novelty;
  if (state.diverse && side.diversity) body.diversity = side.diversity;
  return body;
}

async function one(side) {
  const explain = Boolean(modelOf(side.model)?.explains && state.history.length);
  const answer = await api.recommend({ ...ask(side), explain });
  remember(answer.items, side.model);
  return answer;
}

let busy = false, again = false;

export async function refresh() {
  if (!state.model) return;
  if (busy) { again = true; return; } // one request at a time: the latest wish is the next one
  busy = true;
  set({ busy: true });
  const begun = performance.now();
  try {
    const [list, otherList] = await Promise.all([one(state), state.other ? one(state.other) : null]);
    const before = state.list?.source === "personal" && list.source === "personal" ? ranks(state.list) : null;
    const same = before && list.items.every((item) => before.get(item.item) === item.rank);
    set({ list, otherList, before: same ? state.before : before, fault: null, busy: again });
    requestAnimationFrame(() => set({ took: performance.now() - begun }));
  } catch (fault) {
    failed(fault);
  }
  busy = false;
  if (again) { again = false; refresh(); } else if (state.busy) set({ busy: false });
}

const ranks = (list) => new Map(list.items.map((item) => [item.item, item.rank]));

function failed(fault) {
  if (!(fault instanceof Fault)) { set({ fault: "Something in this page went wrong." }); throw fault; }
  if (fault.status === 401) set({ needsToken: true });
  else set({ fault: fault.message });
}

export async function askWhyNot(item) {
  set({ panel: { kind: "why", item } });
  try {
    const answer = await api.whyNot({ ...ask(state), item, lifts: 4 });
    remember([answer]);
    remember(answer.lifts.map((lift) => ({ ...lift, popularity: 0 })).filter((lift) => !known.has(lift.item)));
    if (state.panel?.item === item) set({ panel: { kind: "why", item, answer } });
  } catch (fault) {
    set({ panel: { kind: "why", item, fault: fault.message } });
  }
}

export async function askSimilar(item) {
  set({ panel: { kind: "similar", item } });
  try {
    const model = current();
    const answer = await api.similar({ item, k: 8, model: state.model, ...(model.novelty ? { novelty: state.novelty } : {}) });
    remember(answer.items);
    if (state.panel?.item === item) set({ panel: { kind: "similar", item, answer } });
  } catch (fault) {
    set({ panel: { kind: "similar", item, fault: fault.message } });
  }
}

export async function search(text) {
  const found = await api.search(text, state.model);
  remember(found.items);
  return found;
}

// --- what is loaded once ---------------------------------------------------------------------------------------------

async function loadMap() {
  const name = state.model;
  try {
    const map = await api.map(name);
    if (name !== state.model) return;
    const numbers = new Map(map.items.map((id, at) => [id, at]));
    map.items.forEach((id, at) => known.set(id, { title: map.titles[at], people: map.people[at] }));
    set({ map: { ...map, numbers } });
    if (map.state === "making") { setTimeout(() => name === state.model && loadMap(), 700); return; }
    const { personas } = await api.personas(name);
    if (name === state.model) set({ personas });
  } catch (fault) {
    failed(fault);
  }
}

export async function loadData() {
  const name = state.model;
  if (!name || state.data[name]) return;
  try {
    const data = await api.data(name);
    set({ data: { ...state.data, [name]: data } });
  } catch (fault) {
    failed(fault);
  }
}

async function nameHistory() {
  const missing = [...state.history, ...state.never].filter((id) => !known.has(id));
  if (!missing.length) return;
  const { items, unknown } = await api.items(missing, state.model);
  remember(items);
  if (unknown.length) {
    set({ history: state.history.filter((id) => !unknown.includes(id)), never: state.never.filter((id) => !unknown.includes(id)) });
    say(`${unknown.length} of the link's titles are not in this catalogue.`);
  }
}

export async function open() {
  try {
    const [{ models }, jobs] = await Promise.all([api.models(), api.jobs()]);
    set({ models, jobs: jobs.jobs, canFit: jobs.can_fit, notes: jobs.notes, needsToken: false });
    const working = jobs.jobs.find((job) => job.last.state === "working") ?? (models.length ? null : jobs.jobs.at(-1));
    if (working) watch(working);
    if (!models.length) return;
    const given = link.read(location.hash);
    if (!modelOf(given.model)) delete given.model;
    if (given.other && !modelOf(given.other.model)) delete given.other;
    set({ model: models[0].name, ...given });
    api.description().then((text) => {
      const fields = text.components?.schemas?.Recommend?.properties ?? {};
      if ("diversity" in fields) set({ diverse: true });
    }).catch(() => {}); // a service without its description: then without this slider
    await nameHistory();
    paint();
    keepLink();
    loadMap();
    if (state.view !== "explore") loadData();
    await refresh();
  } catch (fault) {
    failed(fault);
  }
}

// --- fits ------------------------------------------------------------------------------------------------------------

let stream = null;

export function watch(job) {
  set({ event: { ...job.last, job } });
  if (job.last.state !== "working") return;
  stream?.close();
  stream = api.events(job.id);
  stream.onmessage = async (message) => {
    const event = JSON.parse(message.data);
    const begun = state.event?.step !== event.step;
    set({ event: { ...event, job } });
    if (event.state === "working") {
      if (begun) api.jobs().then(({ notes }) => set({ notes })).catch(() => {}); // remarks of the step before
      return;
    }
    stream.close();
    const [{ models }, jobs] = await Promise.all([api.models(), api.jobs()]);
    set({ jobs: jobs.jobs, canFit: jobs.can_fit, notes: jobs.notes });
    if (event.state === "failed") return;
    if (!state.models.length) { await open(); set({ event: null }); return; }
    set({ models, event: null });
    say(`${job.model} is ready.`);
    change({ other: { model: job.model, novelty: state.novelty, diversity: state.diversity }, view: "explore" });
  };
}

export async function fit(body) {
  const job = await api.fit(body);
  set({ jobs: [...state.jobs, job] });
  watch(job);
}
