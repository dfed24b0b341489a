// The map: every title a point, near is alike; the history in its colours, the list numbered, lines are reasons.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/preact-htm.js";
import { contributions } from "./bars.js";
import { parts, people, short } from "./format.js";
import * as store from "./store.js";
import { colourOf, peopleOf, state, titleOf } from "./store.js";

const LANDMARKS = 27;
const SIZE = 400; // units of the drawing; the page scales it
const CANDIDATES = 600; // best known titles among which landmarks are chosen
const EDGE = 16;
const ROOM = 14.5; // between two points of the history or the list

const inside = (offset, scale) => Math.min(0, Math.max(SIZE * (1 - scale), offset)); // no empty edge

const place = (value) => SIZE / 2 + value * (SIZE / 2 - EDGE);

export function Map_() {
  const { map } = state;
  const ready = map?.state === "ready";
  return html`<section class="card map" aria-labelledby="map-heading">
    <div class="heading"><h2 id="map-heading">Map</h2>
      <span class="quiet">${ready ? "near is alike; lines are reasons; click adds" : map?.state === "none" ? "" : "is being drawn…"}</span></div>
    ${map?.state === "none" ? html`<p class="quiet">This model has no lists for histories, so there is no map.</p>`
      : html`<div class=${"plane" + (ready ? "" : " pending")}>${ready && html`<${Plane} map=${map} />`}</div>`}
  </section>`;
}

function Plane({ map }) {
  const canvas = useRef(null), box = useRef(null);
  const [near, setNear] = useState(null);
  const [zoom, setZoom] = useState({ scale: 1, x: 0, y: 0 });
  const points = useMemo(() => map.x.map((x, at) => [place(x), place(-map.y[at])]), [map]);
  const at = ([x, y]) => [x * zoom.scale + zoom.x, y * zoom.scale + zoom.y];
  const theme = useTheme();
  useEffect(() => draw(canvas.current, points, map, zoom), [map, zoom, theme]);
  const busy = [...state.history, ...(state.list?.items ?? []).map((item) => item.item)]
    .filter((id) => map.numbers.has(id)).map((id) => at(points[map.numbers.get(id)]));
  const labels = useMemo(() => landmarks(map, points.slice(0, CANDIDATES).map(at), busy), [map, zoom, state.list, state.history.length]);
  const find = (event) => {
    const frame = box.current.getBoundingClientRect();
    const x = ((event.clientX - frame.left) * SIZE) / frame.width, y = ((event.clientY - frame.top) * SIZE) / frame.height;
    let best = null, least = 100;
    points.forEach((point, number) => {
      const [px, py] = at(point), away = (px - x) ** 2 + (py - y) ** 2;
      if (away < least) [best, least] = [number, away];
    });
    setNear(best);
    return best;
  };
  const drag = useRef(null); // where the pointer went down, and whether it has moved since
  const down = (event) => { drag.current = { x: event.clientX, y: event.clientY, from: zoom, moved: false }; };
  const move = (event) => {
    const held = drag.current, unit = SIZE / box.current.clientWidth;
    if (!held || !event.buttons || zoom.scale === 1) { find(event); return; }
    const dx = (event.clientX - held.x) * unit, dy = (event.clientY - held.y) * unit;
    held.moved ||= Math.hypot(dx, dy) > 4;
    if (held.moved) { setNear(null); setZoom({ scale: zoom.scale, x: inside(held.from.x + dx, zoom.scale), y: inside(held.from.y + dy, zoom.scale) }); }
  };
  const click = (event) => {
    if (drag.current?.moved) return;
    const number = find(event);
    if (number !== null) store.add(map.items[number]);
  };
  const turn = (factor) => setZoom((old) => {
    const scale = Math.min(8, Math.max(1, old.scale * factor)), by = scale / old.scale, middle = SIZE / 2;
    return { scale, x: inside(middle - (middle - old.x) * by, scale), y: inside(middle - (middle - old.y) * by, scale) };
  });
  return html`<canvas ref=${canvas} aria-hidden="true"></canvas>
    <svg ref=${box} viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label="Map of the titles" style=${{ touchAction: zoom.scale > 1 ? "none" : "auto" }}
      onPointerDown=${down} onPointerMove=${move} onMouseLeave=${() => setNear(null)} onClick=${click}>
      <g class="labels">${labels.map(({ id, x, y, text }) => html`<text key=${id} x=${x} y=${y}>${text}</text>`)}</g>
      <${Reasons} at=${(id) => at(points[map.numbers.get(id)])} has=${(id) => map.numbers.has(id)} />
      ${near !== null && html`<${Tip} id=${map.items[near]} point=${at(points[near])} />`}
    </svg>
    <div class="zoom"><button aria-label="Nearer" onClick=${() => turn(1.6)}>+</button><button aria-label="Farther" disabled=${zoom.scale === 1} onClick=${() => turn(1 / 1.6)}>−</button></div>`;
}

function useTheme() {
  const [theme, setTheme] = useState("");
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const look = () => setTheme(`${document.documentElement.dataset.theme ?? ""}${query.matches}`);
    const watcher = new MutationObserver(look);
    watcher.observe(document.documentElement, { attributes: true });
    query.addEventListener("change", look);
    return () => { watcher.disconnect(); query.removeEventListener("change", look); };
  }, []);
  return theme;
}

function draw(canvas, points, map, zoom) {
  const width = canvas.clientWidth || SIZE, ratio = devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(width * ratio);
  const pen = canvas.getContext("2d");
  const scale = (width * ratio) / SIZE;
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--point");
  const most = Math.sqrt(map.people[0] || 1);
  for (let number = points.length - 1; number >= 0; number -= 1) {
    const x = points[number][0] * zoom.scale + zoom.x, y = points[number][1] * zoom.scale + zoom.y;
    if (x < -5 || y < -5 || x > SIZE + 5 || y > SIZE + 5) continue;
    const share = Math.sqrt(map.people[number]) / most;
    pen.globalAlpha = 0.28 + 0.5 * share;
    pen.beginPath();
    pen.arc(x * scale, y * scale, (0.7 + 2.6 * share) * Math.sqrt(zoom.scale) * scale, 0, 7);
    pen.fill();
  }
}

// Labels of the best known titles that have room: none over another, none over a point of the history or the list.
function landmarks(map, points, busy) {
  const taken = busy.map(([x, y]) => [x - 9, y - 9, x + 9, y + 9]);
  const labels = [];
  for (let number = 0; number < points.length && labels.length < LANDMARKS; number += 1) {
    const [x, y] = points[number];
    const text = short(parts(map.titles[number]).name, 20);
    const half = 2.65 * text.length + 3;
    if (y < 0 || y > SIZE || x < 0 || x > SIZE) continue;
    const tries = [[x, y - 14], [x, y + 5], [x + half + 5, y - 5], [x - half - 5, y - 5]];
    for (const [middle, top] of tries) { // above, below, beside
      const box = [middle - half, top - 2, middle + half, top + 11];
      if (box[0] < 2 || box[2] > SIZE - 2 || box[1] < 2 || box[3] > SIZE - 2) continue;
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      labels.push({ id: map.items[number], x: middle, y: top + 8, text });
      break;
    }
  }
  return labels;
}

// Points of the history and the list that would hide each other are moved a little apart.
function apart(ids, at) {
  const places = ids.map((id) => [...at(id)]);
  for (let turn = 0; turn < 24; turn += 1) {
    for (let a = 0; a < places.length; a += 1) {
      for (let b = a + 1; b < places.length; b += 1) {
        const dx = places[b][0] - places[a][0] || 0.1 * (b - a), dy = places[b][1] - places[a][1] || 0.1;
        const away = Math.hypot(dx, dy), push = (ROOM - away) / 2 / away;
        if (push <= 0) continue;
        places[a][0] -= dx * push; places[a][1] -= dy * push;
        places[b][0] += dx * push; places[b][1] += dy * push;
      }
    }
  }
  return new Map(ids.map((id, number) => [id, places[number].map((value) => Math.min(SIZE - 9, Math.max(9, value)))]));
}

function Reasons({ at: exact, has }) {
  const { list, hover } = state;
  const listed = (list?.items ?? []).filter((item) => has(item.item) && state.history.length);
  const places = apart([...state.history.filter(has), ...listed.map((item) => item.item)], exact);
  const at = (id) => places.get(id);
  const lines = [];
  for (const item of listed.slice(0, 20)) {
    const added = contributions(item, list);
    const all = added.reduce((sum, one) => sum + Math.max(0, one.value), 0) || 1;
    for (const one of added) {
      const pointed = hover && (hover.id === one.id || hover.id === item.item);
      const share = one.value / all;
      if (!places.has(one.id) || share < (pointed ? 0.04 : 0.24)) continue; // the list may be older than the history
      if (hover && !pointed) continue;
      lines.push({ id: `${one.id} ${item.item}`, from: at(one.id), to: at(item.item), share, colour: colourOf(one.id) });
    }
  }
  const faded = (id) => hover && hover.id !== id && !lines.some((line) => line.id.split(" ").includes(id));
  return html`<g class="reasons-lines">${lines.map(({ id, from, to, share, colour }) => html`<path key=${id} d=${arc(from, to)} style=${{ stroke: colour, strokeWidth: 1 + 3.2 * share }} />`)}</g>
    <g class="nodes">
      ${[...listed].reverse().map((item) => html`<g key=${item.item} class=${"listed" + (faded(item.item) ? " faded" : "")} transform=${`translate(${at(item.item)})`}>
        <circle r="7.5" /><text dy="2.9">${item.rank}</text></g>`)}
      ${state.history.filter(has).map((id) => html`<circle key=${id} class=${"had" + (faded(id) ? " faded" : "")} r="6.5" cx=${at(id)[0]} cy=${at(id)[1]} style=${{ fill: colourOf(id) }} />`)}
    </g>`;
}

const arc = ([a, b], [c, d]) => {
  const bend = 0.14;
  return `M${a} ${b} Q${(a + c) / 2 - (d - b) * bend} ${(b + d) / 2 + (c - a) * bend} ${c} ${d}`;
};

function Tip({ id, point: [x, y] }) {
  const text = short(titleOf(id), 38), width = Math.max(5.9 * text.length + 16, 70);
  const left = Math.min(SIZE - width - 3, Math.max(3, x - width / 2)), top = y > 52 ? y - 46 : y + 12;
  return html`<g class="tip"><circle cx=${x} cy=${y} r="5" /><rect x=${left} y=${top} width=${width} height="34" rx="7" />
    <text x=${left + width / 2} y=${top + 14.5}>${text}</text><text class="quiet" x=${left + width / 2} y=${top + 27}>${people(peopleOf(id))}</text></g>`;
}
