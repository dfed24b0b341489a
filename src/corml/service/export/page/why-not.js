// Why an item is not in a list: where it stands, what it lacks, and which items in the history would lift it. Everything
// is exact: each item that is suggested was put into the history, and the whole catalogue ranked again.

import { ranked } from "./lists.js";

const TRIED = 50; // items whose effect is computed

export function whyNot(catalogue, position, query) {
  const { k = 10, lifts: wanted = 5, seen = "exclude", diversity = 0 } = query, target = catalogue.numbers.get(String(query.item));
  const list = ranked(catalogue, position, query), { who, scores } = list;
  const field = { catalogue, position, target, seen, k, diversity, query, known: who.known, open: who.open };
  const place = list.numbers.indexOf(target) + 1, may = verdict(who, target, seen);
  const rules = may === "below" && !place ? keptOutBy(field) : [];
  let rank = rankOf(field, scores);
  if (may === "below") rank = place || (diversity ? rank : Math.max(rank, list.items.length + 1));
  const base = who.known.length ? scores[target] : 0;
  return {
    ...catalogue.item(target), verdict: may !== "below" ? may : place ? "listed" : rules.length ? "rules" : "below", rank,
    rules: rules.length ? rules : undefined,
    of: who.open.reduce((sum, one) => sum + one, 0) + (who.open[target] ? 0 : 1),
    score: scores[target], needed: diversity ? undefined : list.items.at(-1)?.score, support: catalogue.people[target], source: list.source,
    lifts: may === "below" ? lifts(field, wanted, base) : [], contributions: contributions(field),
  };
}

function verdict({ had, kept, excluded, allowed }, target, seen) {
  if (seen === "only" && !had[target]) return "not seen";
  if (kept[target]) return "seen";
  if (excluded[target]) return "excluded";
  return allowed[target] ? "below" : "not in only";
}

const listed = ({ catalogue, position, target }, query) => ranked(catalogue, position, query).numbers.indexOf(target) + 1;

// The rules without which the list would have the target.
const keptOutBy = (field) => (field.diversity && listed(field, { ...field.query, diversity: 0 }) ? ["diversity"] : []);

// The rank of the target; an item that has been added to the history is one that was seen.
function rankOf({ target, seen, open }, scores, added = -1) {
  const mine = scores[target];
  let above = 0;
  for (let j = 0; j < scores.length; j += 1) {
    const competes = j === added && seen !== "allow" ? seen === "only" : open[j];
    if (competes && j !== target && (scores[j] > mine || (scores[j] === mine && j < target))) above += 1;
  }
  return above + 1;
}

// The items after which the target ranks best, those first that bring it into the list; of equal ranks, the one that
// adds most to its score of now.
function lifts(field, wanted, base) {
  const { catalogue, position, target, known } = field, apart = new Set([...known, target]);
  const tried = [...Array(catalogue.count).keys()].filter((item) => !apart.has(item))
    .map((item) => ({ item, adds: position.adds(item, target) })).filter((one) => one.adds > 0)
    .sort((a, b) => b.adds - a.adds || a.item - b.item).slice(0, TRIED);
  const then = tried.map(({ item }) => {
    const scores = position.scores([...known, item]);
    const rank = rankOf(field, scores, item), history = [...known, item].map((number) => catalogue.ids[number]);
    const place = field.diversity ? listed(field, { ...field.query, history }) : rank <= field.k ? rank : 0;
    return { item, gain: scores[target] - base, rank: place || rank, out: place ? 0 : 1 };
  });
  return then.sort((a, b) => a.out - b.out || a.rank - b.rank || b.gain - a.gain || a.item - b.item).slice(0, wanted)
    .map(({ item, gain, rank, out }) => ({ ...catalogue.item(item), gain, rank_then: rank, listed_then: !out }));
}

function contributions({ catalogue, position, target, known }) {
  const all = known.map((number) => {
    const parts = Object.fromEntries(position.parts(number, target).map((value, at) => [position.names[at], value]));
    return { ...catalogue.item(number), parts, contribution: position.adds(number, target) };
  });
  return all.sort((a, b) => b.contribution - a.contribution);
}
