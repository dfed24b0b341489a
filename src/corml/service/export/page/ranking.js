// Which items are listed: the best ones that may be, or some that are far from each other.

const POOL = 5; // candidates for each place of a list that diversity chooses among

// Numbers of the best open items by score; equal ones in the order of the catalogue.
export function best(scores, open, k) {
  const numbers = [];
  for (let j = 0; j < scores.length; j += 1) if (open[j]) numbers.push(j);
  return numbers.sort((a, b) => scores[b] - scores[a] || a - b).slice(0, k);
}

// Maximal marginal relevance: next is who has the largest (1 − δ) · relevance − δ · closeness to the nearest of the list.
// Relevance is 1 for the best of the pool and 0 for its last; closeness is in units of the list that would be without δ.
export function diverse(scores, open, k, diversity, closeness) {
  const pool = best(scores, open, POOL * k);
  if (!pool.length) return pool;
  const low = scores[pool.at(-1)], span = scores[pool[0]] - low;
  const left = pool.map((item) => ({ item, relevance: span > 0 ? (scores[item] - low) / span : 0, near: -Infinity }));
  const unit = largest(pool.slice(0, k), closeness) || 1, chosen = [];
  const value = (one) => (chosen.length ? (1 - diversity) * one.relevance - diversity * one.near : one.relevance);
  while (chosen.length < k && left.length) {
    let first = 0;
    for (let at = 1; at < left.length; at += 1) if (value(left[at]) > value(left[first])) first = at;
    const [{ item }] = left.splice(first, 1);
    chosen.push(item);
    for (const one of left) one.near = Math.max(one.near, closeness(one.item, item) / unit);
  }
  return chosen;
}

function largest(items, closeness) {
  let most = 0;
  items.forEach((one, at) => items.slice(0, at).forEach((other) => { most = Math.max(most, Math.abs(closeness(one, other))); }));
  return most;
}
