// The model, as the library has it: the score of an item j is the sum over the history of h_ij + g_ij. The learned pairs
// h are a sparse matrix for each position of the dial; the filter g is the product of two vectors, without its diagonal.

import { array } from "./arrays.js";
import { entry, mirrored, scaled, unpacked } from "./pairs.js";

const power = (degrees, exponent) => Float64Array.from(degrees, (degree) => degree ** exponent);

export class Position {
  constructor({ pairs, left, right, rank, clips, noise, names, near }) {
    Object.assign(this, { pairs, left, right, rank, clips, noise, names, near, count: pairs.starts.length - 1 });
  }

  // Scores of all items for a history, in single precision as the library rounds them.
  scores(history) {
    const sums = new Float64Array(this.count), { starts, columns, values } = this.pairs;
    for (const i of history) {
      for (let at = starts[i]; at < starts[i + 1]; at += 1) sums[columns[at]] += values[at];
    }
    if (this.clips) for (const i of history) for (let j = 0; j < this.count; j += 1) sums[j] += this.filter(i, j);
    else if (this.rank) this.addFilter(history, sums);
    return Float32Array.from(sums, (sum) => (Math.abs(sum) < this.noise ? 0 : sum));
  }

  // The filter of a whole history at once: one vector for all its items.
  addFilter(history, sums) {
    const { left, right, rank } = this, vector = new Float64Array(rank);
    for (const i of history) for (let c = 0; c < rank; c += 1) vector[c] += left[i * rank + c];
    for (let j = 0; j < this.count; j += 1) {
      let sum = 0;
      for (let c = 0, at = j * rank; c < rank; c += 1) sum += vector[c] * right[at + c];
      sums[j] += sum;
    }
    for (const i of history) sums[i] -= this.product(i, i);
  }

  filter(i, j) {
    if (i === j || !this.rank) return 0;
    return this.clips ? Math.max(0, this.product(i, j)) : this.product(i, j);
  }

  product(i, j) {
    let sum = 0;
    for (let c = 0; c < this.rank; c += 1) sum += this.left[i * this.rank + c] * this.right[j * this.rank + c];
    return sum;
  }

  // What an item of the history adds to the score of another, by part.
  parts(i, j) {
    const h = entry(this.pairs, i, j);
    return this.names.length > 1 ? [h, this.filter(i, j)] : [h];
  }

  adds(i, j) { return this.parts(i, j).reduce((sum, part) => sum + part, 0); }

  // How close two items are in the learned metric, for lists that are diverse.
  closeness(i, j) { return this.near[i] * entry(this.pairs, i, j); }
}

// All positions of the dial, as `about` describes them; a model without one has a single position.
export async function positions(about) {
  const degrees = await array("degrees"), vectors = await array("vectors");
  const { rank, filter_norm: s, score_factor: factor } = about;
  const factors = (by) => Float32Array.from(vectors, (value, at) => value * by[Math.floor(at / rank)]);
  const left = factors(power(degrees, -s)), right = factors(power(degrees, s).map((value) => factor * value));
  return Promise.all(about.positions.map(async ({ item_norm: t }, number) => {
    const [lengths, gaps, values] = await Promise.all(["lengths", "gaps", "values"].map((name) => array(`${name}-${number}`)));
    const packed = unpacked(lengths, gaps, values);
    const pairs = about.metric ? scaled(mirrored(packed), power(degrees, -t), power(degrees, t)) : packed;
    const near = about.metric ? Float32Array.from(power(degrees, 2 * t)) : null;
    return new Position({ pairs, left, right, rank, near, clips: about.clips, noise: about.noise, names: about.parts });
  }));
}

// Half-way between two positions the even one counts, as the library rounds.
export function at(all, novelty) {
  const exact = (1 - novelty) * (all.length - 1), low = Math.floor(exact);
  return all[exact - low === 0.5 ? low + (low % 2) : Math.round(exact)];
}
