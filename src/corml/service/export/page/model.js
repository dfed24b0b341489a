// The model, as the library has it: the score of an item j is the sum over the history of h_ij + g_ij. The pairs h are a
// sparse matrix for each operating point; g is the product of two embeddings, which all operating points share.

import { array } from "./arrays.js";

class Model {
  constructor(arrays, rank, noise, names) { Object.assign(this, arrays, { rank, noise, names }); }

  // Scores of all items for a history, in single precision as the library rounds them.
  scores(history) {
    const { starts, columns, values, left, right, rank } = this;
    const sums = new Float64Array(starts.length - 1), sum = new Float64Array(rank);
    for (const i of history) {
      for (let at = starts[i]; at < starts[i + 1]; at += 1) sums[columns[at]] += values[at];
      for (let c = 0; c < rank; c += 1) sum[c] += left[i * rank + c];
    }
    for (let j = 0; rank && j < sums.length; j += 1) {
      for (let c = 0; c < rank; c += 1) sums[j] += sum[c] * right[j * rank + c];
    }
    return Float32Array.from(sums, (score) => (Math.abs(score) < this.noise ? 0 : score));
  }

  // What an item of the history adds to the score of another, by part.
  parts(i, j) {
    const { starts, columns, values, left, right, rank, names } = this;
    const at = columns.subarray(starts[i], starts[i + 1]).indexOf(j);
    let g = 0;
    for (let c = 0; c < rank; c += 1) g += left[i * rank + c] * right[j * rank + c];
    return Object.fromEntries(names.map((name, part) => [name, part ? g : at < 0 ? 0 : values[starts[i] + at]]));
  }
}

// The model at each of its operating points, from novel to popular; most have a single one.
export async function models({ points, rank, noise, parts }) {
  const named = (names, end) => Promise.all(names.map(async (name) => [name, await array(name + end)]));
  const shared = await named(["left", "right"], "");
  return Promise.all([...Array(points).keys()].map(async (number) => {
    const own = await named(["starts", "columns", "values"], `-${number}`);
    return new Model(Object.fromEntries([...shared, ...own]), rank, noise, parts);
  }));
}

// The model for a value of novelty; half-way between two operating points the even one counts, as the library rounds.
export function at(all, novelty) {
  const exact = (1 - novelty) * (all.length - 1), low = Math.floor(exact);
  return all[exact - low === 0.5 ? low + (low % 2) : Math.round(exact)];
}
