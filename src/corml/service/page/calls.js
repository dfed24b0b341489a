// Calls of the service. Everything the page knows comes through here, so that another source of answers can take its place.

export const alone = false; // whether the page answers itself, without a service

const TOKEN = "corml-token";
let token = null;
try { token = sessionStorage.getItem(TOKEN); } catch { /* no storage: asked for again */ }

export class Fault extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export function setToken(text) {
  token = text;
  try { sessionStorage.setItem(TOKEN, text); } catch { /* kept for this page alone */ }
}

async function call(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Fault(0, "The service does not answer.");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Fault(answer.status, content.detail || `The service answered ${answer.status}.`);
  return content;
}

const query = (given) => {
  const kept = Object.entries(given).filter(([, value]) => value !== undefined && value !== null);
  return kept.length ? "?" + new URLSearchParams(kept) : "";
};

export const api = {
  models: () => call("v1/models"),
  recommend: (body) => call("v1/recommend", body),
  whyNot: (body) => call("v1/why-not", body),
  similar: (body) => call("v1/similar", body),
  search: (q, model) => call("v1/items" + query({ q, limit: 8, model })),
  items: (items, model) => call("v1/items", { items, model }),
  map: (model) => call("v1/map" + query({ model })),
  personas: (model) => call("v1/personas" + query({ model })),
  data: (model) => call("v1/data" + query({ model })),
  jobs: () => call("v1/jobs"),
  fit: (body) => call("v1/jobs", body),
  description: () => call("openapi.json"),
  events: (id) => new EventSource(`v1/jobs/${id}/events`),
};
