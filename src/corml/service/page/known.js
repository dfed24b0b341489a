// How well known: the history and the list on a log axis of people, over the whole catalogue.

import { html } from "./vendor/preact-htm.js";
import { count, median } from "./format.js";
import { colourOf, current, peopleOf, state } from "./store.js";

const WIDTH = 400, LEFT = 10, RIGHT = 390, FLOOR = 118;

export function axis(known) {
  const low = Math.log10(Math.max(1, known.edges[firstFilled(known)])), high = Math.log10(known.edges.at(-1));
  return (people) => LEFT + ((Math.log10(Math.max(1, people)) - low) / Math.max(0.3, high - low)) * (RIGHT - LEFT);
}

const firstFilled = (known) => Math.max(0, known.items.findIndex((items) => items > 0));

const ticks = (known) => {
  const from = known.edges[firstFilled(known)], to = known.edges.at(-1), marks = [];
  for (let power = 1; power <= to; power *= 10) for (const step of [1, 3]) if (step * power >= from && step * power <= to) marks.push(step * power);
  return marks;
};

// Items for each equal step of the axis, so that wide bins do not look fuller than they are.
export function hill(known, height, floor = FLOOR) {
  const x = axis(known), start = firstFilled(known);
  const bars = known.items.slice(start).map((items, at) => {
    const left = known.edges[start + at], right = known.edges[start + at + 1];
    return { left: x(left), right: x(right), value: items / Math.log(right / left) };
  });
  const most = Math.max(1, ...bars.map((bar) => bar.value));
  const middle = bars.map((bar) => [(bar.left + bar.right) / 2, floor - (height * bar.value) / most]);
  const line = [[bars[0]?.left ?? LEFT, floor - (height * (bars[0]?.value ?? 0)) / most], ...middle, [RIGHT, floor]];
  return `M${line[0][0]} ${floor} ` + line.map(([a, b]) => `L${a.toFixed(1)} ${b.toFixed(1)}`).join(" ") + "Z";
}

export function Axis({ known, floor = FLOOR }) {
  const x = axis(known);
  return html`<line class="axis" x1=${LEFT} x2=${RIGHT} y1=${floor} y2=${floor} />
    ${ticks(known).map((people) => html`<g key=${people}><line class="axis" x1=${x(people)} x2=${x(people)} y1=${floor} y2=${floor + 3} /><text class="tick" x=${x(people)} y=${floor + 14}>${count(people)}</text></g>`)}`;
}

// Points that would lie over each other are stacked.
function stacked(points, base, step, radius) {
  const placed = [];
  for (const point of [...points].sort((a, b) => a.x - b.x)) {
    let level = 0;
    while (level < 4 && placed.some((other) => other.level === level && Math.abs(other.x - point.x) < 1.9 * radius)) level += 1;
    placed.push({ ...point, level, y: base - level * step });
  }
  return placed;
}

export function Known() {
  const { list, map, history } = state, known = map?.known;
  const personal = history.length > 0 && list?.source === "personal";
  return html`<section class="card known" aria-labelledby="known-heading">
    <div class="heading"><h2 id="known-heading">Popularity</h2>${known && html`<span class="quiet">users per title, the catalogue in grey</span>`}</div>
    ${known && html`<${Chart} known=${known} personal=${personal} />`}
    ${known && !personal && html`<p class="quiet">Half of the catalogue has more than <b>${count(known.median)}</b> users. With a history, its titles and the list appear here.</p>`}
  </section>`;
}

function Chart({ known, personal }) {
  const x = axis(known), users = current()?.users ?? 0;
  const listed = personal ? state.list.items.map((item) => ({ id: item.item, rank: item.rank, people: item.popularity * users, x: x(item.popularity * users) })) : [];
  const had = personal ? state.history.filter((id) => peopleOf(id)).map((id) => ({ id, people: peopleOf(id), x: x(peopleOf(id)) })) : [];
  const middles = [median(had.map((one) => one.people)), median(listed.map((one) => one.people))];
  const leans = middles[1] > 1.25 * middles[0] ? "The list leans to the popular." : middles[1] < 0.8 * middles[0] ? "The list leans to the rare." : "List and history are about equally popular.";
  return html`<svg viewBox="0 0 ${WIDTH} 138" class="chart" role="img" aria-label=${personal ? `Half of the history has more than ${count(middles[0])} users, half of the list more than ${count(middles[1])}. ${leans}` : "How many titles have how many people"}>
      <path class="hill" d=${hill(known, 92)} />
      <${Axis} known=${known} />
      ${stacked(had, 24, 9, 5).map((one) => html`<circle key=${one.id} class="had" cx=${one.x} cy=${one.y} r="5" style=${{ fill: colourOf(one.id) }} />`)}
      ${stacked(listed.slice(0, 20), 104, 14, 7.5).map((one) => html`<g key=${one.id} class="listed" transform=${`translate(${one.x} ${one.y})`}><circle r="7.5" /><text dy="2.9">${one.rank}</text></g>`)}
      ${had.length > 0 && html`<line class="median" x1=${x(middles[0])} x2=${x(middles[0])} y1="14" y2="34" />`}
      ${listed.length > 0 && html`<line class="median listed" x1=${x(middles[1])} x2=${x(middles[1])} y1="112" y2=${FLOOR + 4} />`}
    </svg>
    ${personal && html`<p class="quiet">Half of the history has more than <b>${count(middles[0])}</b> users, half of the list more than <b>${count(middles[1])}</b>, half of the catalogue more than ${count(known.median)}. ${leans}</p>`}`;
}
