// Lists as the service answers them: exactly k items, or the reason why there are fewer.

import { best, diverse } from "./ranking.js";

// Who may be listed for a query, and why not the others: history, seen, excluded and allowed as masks of items.
export function limits(catalogue, { history = [], exclude = [], only, seen = "exclude" }) {
  const [known, unknown] = catalogue.split(history), had = catalogue.mask(known);
  const kept = seen === "exclude" ? had : new Uint8Array(catalogue.count);
  const [never, ignored] = catalogue.split(exclude), [choice, strange] = catalogue.split(only ?? []);
  const excluded = catalogue.mask(never);
  const allowed = only ? catalogue.mask(choice) : new Uint8Array(catalogue.count).fill(1);
  const back = allowed.map((may, number) => may && (seen !== "only" || had[number]));
  const open = back.map((may, number) => may && !kept[number] && !excluded[number]);
  return { known, unknown, ignored: [...ignored, ...strange], had, kept, excluded, allowed, back, open, limited: Boolean(only) || seen === "only" };
}

// The list of a query at a position of the dial, and what it was made of.
export function ranked(catalogue, position, query) {
  const { k = 10, diversity = 0 } = query, who = limits(catalogue, query);
  const personal = who.known.length > 0, width = Math.min(k, catalogue.count);
  const scores = personal ? position.scores(who.known) : Float32Array.from(catalogue.popularity);
  const numbers = diversity > 0
    ? diverse(scores, who.open, width, diversity, (i, j) => position.closeness(i, j)) : best(scores, who.open, width);
  const items = numbers.map((number, at) => ({ rank: at + 1, ...catalogue.item(number), score: scores[number] }));
  return { numbers, scores, who, items, source: personal ? "personal" : "fallback", reason: reason(who, numbers.length, k) };
}

const count = (mask) => mask.reduce((sum, one) => sum + one, 0);

function reason(who, length, k) {
  const parts = [];
  if (!who.known.length) {
    const why = who.unknown.length ? `none of the ${who.unknown.length} history items is known` : "no history";
    parts.push(`most popular items: ${why}`);
  }
  if (length < k) {
    const limited = who.limited ? ` of the ${count(who.back)} known items allowed` : "";
    const out = count(who.kept.map((one, number) => one || who.excluded[number]));
    parts.push(`exhausted: ${length} of ${k}${limited}, ${out} seen or excluded`);
  }
  return parts.join("; ") || undefined;
}

// What each item of the history adds to each item of a list, by part.
export function explain(position, numbers, known, items) {
  items.forEach((item, at) => {
    const added = known.map((i) => position.parts(i, numbers[at]));
    item.parts = Object.fromEntries(position.names.map((name, part) => [name, added.map((one) => one[part])]));
  });
}
