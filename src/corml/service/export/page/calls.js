// The calls of the service, answered by the model in this page: takes the place of the file of that name. The weights in
// the page are exact, and a list is its items sorted by the sum of their weights; what needs more (why not, diversity)
// is left to the service. Nothing leaves the page.

import { contents } from "./arrays.js";
import { at, models } from "./model.js";

export const alone = true;

export class Fault extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export function setToken() { /* a page needs none */ }

let opened = null;
const page = () => (opened ??= open());

async function open() {
  const given = contents(), { ids, map, model } = given;
  if (typeof DecompressionStream === "undefined") throw new Fault(0, "This browser is too old for this page: it needs one of 2023 or later.");
  const numbers = new Map(ids.map((id, number) => [id, number]));
  const known = (some) => [...new Set(some.map(String))].filter((id) => numbers.has(id)).map((id) => numbers.get(id));
  const order = known(map.items), popularity = [], titles = [], words = []; // the map has the most popular first
  order.forEach((number, at) => {
    popularity[number] = map.people[at] / Math.max(model.users, 1);
    titles[number] = map.titles[at];
    words[number] = wordsOf(`${map.titles[at]} ${map.items[at]}`);
  });
  const item = (number) => ({ item: ids[number], popularity: popularity[number], title: titles[number] });
  return { ...given, popularity, order, words, item, known, points: await models(given.scoring) };
}

const wordsOf = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

const names = ({ model }) => ({ model: model.name, model_version: model.version });

async function recommend({ history = [], exclude = [], k = 10, novelty = 0.5, explain = false }) {
  const here = await page(), known = here.known(history), point = at(here.points, novelty), personal = known.length > 0;
  const scores = personal ? point.scores(known) : Float32Array.from(here.popularity);
  const never = new Set([...known, ...here.known(exclude)]);
  const best = [...scores.keys()].filter((j) => !never.has(j)).sort((a, b) => scores[b] - scores[a] || a - b).slice(0, k);
  const items = best.map((j, place) => ({ rank: place + 1, ...here.item(j), score: scores[j] }));
  if (explain && personal) {
    items.forEach((one, place) => {
      const added = known.map((i) => point.parts(i, best[place]));
      one.parts = Object.fromEntries(point.names.map((name) => [name, added.map((parts) => parts[name])]));
    });
  }
  const source = personal ? "personal" : "fallback";
  return { ...names(here), source, items, history: explain && personal ? known.map((i) => here.ids[i]) : undefined };
}

export const api = {
  recommend,
  models: async () => ({ models: [(await page()).model] }),
  similar: async ({ item, ...more }) => {
    const here = await page(), [number] = here.known([item]);
    if (number === undefined) throw new Fault(404, "The model does not know this item.");
    return { ...here.item(number), ...(await recommend({ history: [item], ...more })) };
  },
  // Items with this id or with all words, the last one as a prefix.
  search: async (text) => {
    const here = await page(), words = wordsOf(text), last = words.pop(), exact = here.known([text.trim()]);
    const match = (own) => words.every((word) => own.includes(word)) && own.some((word) => word.startsWith(last));
    const matching = last === undefined ? [] : here.order.filter((number) => match(here.words[number]));
    return { ...names(here), items: [...new Set([...exact, ...matching])].slice(0, 8).map(here.item), fuzzy: false };
  },
  items: async (ids) => {
    const here = await page(), known = new Set(here.ids);
    return { ...names(here), items: here.known(ids).map(here.item), unknown: ids.filter((id) => !known.has(id)) };
  },
  map: async () => (await page()).map,
  personas: async () => (await page()).personas,
  data: async () => (await page()).data,
  jobs: async () => ({ jobs: [], can_fit: false, notes: [] }),
  description: async () => ({}),
};

globalThis.corml = api; // for the console, and for scripts that drive the page
