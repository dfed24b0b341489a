// The items of this page by number and by id, and what is told about each.

export class Catalogue {
  constructor({ ids, titles, people }, users) {
    Object.assign(this, { ids, titles, people, users, count: ids.length });
    this.numbers = new Map(ids.map((id, number) => [id, number]));
    this.popularity = people.map((count) => count / Math.max(users, 1));
    this.order = [...ids.keys()].sort((a, b) => people[b] - people[a] || a - b); // best known first
  }

  item(number) {
    const title = this.titles[number];
    return { item: this.ids[number], popularity: this.popularity[number], ...(title === null ? {} : { title }) };
  }

  // Numbers of known ids, each once in the order given, and the others.
  split(ids) {
    const distinct = [...new Set(ids.map(String))];
    return [distinct.filter((id) => this.numbers.has(id)).map((id) => this.numbers.get(id)), distinct.filter((id) => !this.numbers.has(id))];
  }

  mask(numbers) {
    const mask = new Uint8Array(this.count);
    for (const number of numbers) mask[number] = 1;
    return mask;
  }
}
