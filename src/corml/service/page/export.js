// The list as a file, and the page as a link.

import { contributions } from "./bars.js";
import { alone } from "./calls.js";
import { current, say, state, titleOf } from "./store.js";

function save(name, kind, text) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const anchor = Object.assign(document.createElement("a"), { href: address, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  say(`${name} was saved.`);
}

const cell = (value) => (/[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

export function exportCsv() {
  const { list } = state, users = current().users, added = list.history ?? [];
  const head = ["rank", "item", "title", "score", "users", ...added.map((id) => `from ${titleOf(id)}`)];
  const rows = list.items.map((item) => {
    const by = new Map(contributions(item, list).map((one) => [one.id, one.value]));
    return [item.rank, item.item, item.title ?? "", item.score, Math.round(item.popularity * users), ...added.map((id) => by.get(id) ?? 0)];
  });
  save("recommendations.csv", "text/csv", [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n");
}

export function exportJson() {
  const { list, otherList, other, history, never, novelty, diversity, model } = state;
  const content = { asked: { model, history, never, novelty: current().novelty ? novelty : undefined, diversity: diversity || undefined }, list, compared: other ? { with: other, list: otherList } : undefined };
  save("recommendations.json", "application/json", JSON.stringify(content, null, 2) + "\n");
}

export async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    say(`The link is copied. It holds the whole state, and opens wherever this ${alone ? "page is" : "service runs"}.`);
  } catch {
    say("Copy the address of this page: it holds the whole state.");
  }
}
