// The calls of the service, answered by the model in this page: takes the place of the file of that name. The studio asks
// and is answered as everywhere else; nothing leaves the page.

import { contents } from "./arrays.js";
import { Catalogue } from "./catalogue.js";
import { explain, ranked } from "./lists.js";
import { Lookup } from "./lookup.js";
import { at, positions } from "./model.js";
import { whyNot } from "./why-not.js";

export const alone = true;

export class Fault extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export function setToken() { /* nobody asks for one */ }

let opened = null;
const page = () => (opened ??= open());

async function open() {
  const given = contents();
  if (typeof DecompressionStream === "undefined") throw new Fault(0, "This browser is too old for this page: it needs one of 2023 or later.");
  const catalogue = new Catalogue(given.items, given.model.users);
  const lookup = new Lookup(catalogue.ids, catalogue.titles, catalogue.order);
  return { ...given, catalogue, lookup, positions: await positions(given.scoring) };
}

const names = ({ model }) => ({ model: model.name, model_version: model.version });

function turned({ model, positions: all }, novelty) {
  if (novelty === undefined) return at(all, 0.5);
  if (!model.novelty) throw new Fault(422, "This model is not a dial: leave novelty out, or export corml-dial.");
  return at(all, novelty);
}

function check({ catalogue, scoring }, { item, diversity }) {
  if (item !== undefined && !catalogue.numbers.has(String(item))) throw new Fault(404, "The model does not know this item.");
  if (diversity && !scoring.metric) throw new Fault(422, "In a page only models with a metric make diverse lists: corml and corml-dial.");
}

async function recommend(body) {
  const here = await page();
  check(here, body);
  const { catalogue } = here, position = turned(here, body.novelty), list = ranked(catalogue, position, body);
  const { numbers, items, source, reason, who } = list;
  const explained = body.explain && source === "personal", unknown = [...who.unknown, ...who.ignored];
  if (explained) explain(position, numbers, who.known, items);
  return {
    ...names(here), source, items, reason, unknown: unknown.length ? unknown : undefined,
    history: explained ? who.known.map((number) => catalogue.ids[number]) : undefined,
  };
}

async function similar({ item, k, novelty }) {
  const here = await page();
  check(here, { item });
  const { items, reason } = ranked(here.catalogue, turned(here, novelty), { history: [item], k });
  return { ...names(here), ...here.catalogue.item(here.catalogue.numbers.get(String(item))), items, reason };
}

export const api = {
  models: async () => ({ models: [(await page()).model] }),
  recommend,
  similar,
  whyNot: async (body) => {
    const here = await page();
    check(here, body);
    return { ...names(here), ...whyNot(here.catalogue, turned(here, body.novelty), body) };
  },
  search: async (text) => {
    const here = await page(), { numbers, fuzzy } = here.lookup.find(text, 8);
    return { ...names(here), items: numbers.map((number) => here.catalogue.item(number)), fuzzy };
  },
  items: async (ids) => {
    const here = await page(), [known, unknown] = here.catalogue.split(ids);
    return { ...names(here), items: known.map((number) => here.catalogue.item(number)), unknown };
  },
  map: async () => {
    const here = await page(), { ids, titles, people, order } = here.catalogue;
    return { ...names(here), ...here.map, items: order.map((n) => ids[n]), titles: order.map((n) => titles[n] ?? ids[n]), people: order.map((n) => people[n]) };
  },
  personas: async () => {
    const here = await page();
    return { ...names(here), state: here.map.state, personas: here.personas.map((numbers) => ({ items: numbers.map((number) => here.catalogue.item(number)) })) };
  },
  data: async () => { const here = await page(); return { ...names(here), ...here.data }; },
  jobs: async () => ({ jobs: [], can_fit: false, notes: [] }),
  description: async () => ({ components: { schemas: { Recommend: { properties: (await page()).scoring.metric ? { diversity: {} } : {} } } } }),
};

globalThis.corml = api; // for the console, and for scripts that drive the page
