// Find items by what people type: words and beginnings of words, and what is written alike where nothing has them.

const LONGEST = 200; // characters of a title that are compared by how they are written
const ALIKE = 0.3; // share of common trigrams below which two texts are not alike

const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const words = (text) => plain(text).match(/[\p{L}\p{N}]+/gu) ?? [];

function trigrams(text) {
  const folded = text.slice(0, LONGEST).toLowerCase().split(/\s+/).filter(Boolean).join(" ");
  return new Set([...Array(Math.max(0, folded.length - 2)).keys()].map((at) => folded.slice(at, at + 3)));
}

export class Lookup {
  // `order` are the numbers of the items, best known first: so the first that are found are the best.
  constructor(ids, titles, order) {
    this.rows = order.map((number) => ({ number, id: ids[number], words: [...words(titles[number] ?? ""), ...words(ids[number])], title: titles[number] ?? ids[number] }));
  }

  find(text, limit) {
    const exact = this.rows.filter((row) => row.id === text.trim());
    const found = [...exact, ...this.having(words(text)).filter((row) => !exact.includes(row))].slice(0, limit);
    return { numbers: (found.length ? found : this.alike(text, limit)).map((row) => row.number), fuzzy: !found.length };
  }

  // All words, the last one as a beginning.
  having(wanted) {
    if (!wanted.length) return [];
    const whole = wanted.slice(0, -1), last = wanted.at(-1);
    return this.rows.filter((row) => whole.every((word) => row.words.includes(word)) && row.words.some((word) => word.startsWith(last)));
  }

  // By the share of the trigrams of the text, the shorter title first.
  alike(text, limit) {
    const wanted = trigrams(text);
    if (!wanted.size) return [];
    const rated = this.rows.map((row) => {
      const grams = row.grams ??= trigrams(row.title);
      return { row, size: grams.size, share: [...wanted].filter((gram) => grams.has(gram)).length / wanted.size };
    });
    const alike = rated.filter((one) => one.share >= ALIKE).sort((a, b) => b.share - a.share || a.size - b.size);
    return alike.slice(0, limit).map((one) => one.row);
  }
}
