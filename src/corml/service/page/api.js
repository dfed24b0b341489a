// The description of this service as a page: what each operation takes and answers, and a place to try it.
"use strict";

const EXAMPLES = {
  recommend: { history: ["318", "858"], k: 5 },
  batch: { queries: [{ history: ["318"], k: 3 }, { k: 3 }] },
  why_not: { history: ["318", "858"], item: "1", k: 10 },
  explain: { history: ["318", "858"], item: "296" },
  similar: { item: "318", k: 5 },
  distance: { history: ["318"], item: "296" },
  items: { items: ["318", "858"] },
  reload: {},
};

function make(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function nameOf(schema) {
  return schema.$ref.split("/").pop();
}

function typeOf(schema) {
  if (schema.$ref) return nameOf(schema);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items || {})}`;
  const limits = [];
  if (schema.minimum !== undefined) limits.push(`from ${schema.minimum}`);
  if (schema.maximum !== undefined) limits.push(`to ${schema.maximum}`);
  return [schema.type || "anything", ...limits].join(" ");
}

function noteOf(schema) {
  const notes = [];
  if (schema.description) notes.push(schema.description);
  if (schema.maxItems) notes.push(`at most ${schema.maxItems.toLocaleString("en")}`);
  if (schema.default !== undefined) notes.push(`default ${JSON.stringify(schema.default)}`);
  return notes.join("; ");
}

function fields(schema) {
  const required = new Set(schema.required || []);
  const rows = Object.entries(schema.properties || {}).map(([name, one]) =>
    make("tr", {},
      make("td", {}, make("code", { textContent: name + (required.has(name) ? " *" : "") })),
      make("td", { textContent: typeOf(one) }),
      make("td", { textContent: noteOf(one) })));
  const head = ["field", "type", "meaning"].map((text) => make("th", { scope: "col", textContent: text }));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

async function send(path, method, text, output) {
  output.className = "";
  output.textContent = "…";
  const headers = {};
  const token = document.getElementById("token").value;
  if (token) headers.Authorization = `Bearer ${token}`;
  if (method === "POST") headers["Content-Type"] = "application/json";
  try {
    const begun = performance.now();
    const response = await fetch(path + (method === "GET" ? text : ""), { method, headers, body: method === "POST" ? text : undefined });
    const body = await response.text();
    const took = (performance.now() - begun).toFixed(1);
    let shown = body;
    try { shown = JSON.stringify(JSON.parse(body), null, 2); } catch { /* metrics are text */ }
    output.className = response.ok ? "" : "bad";
    output.textContent = `${response.status} after ${took} ms\n${shown}`;
  } catch (fault) {
    output.className = "bad";
    output.textContent = `No answer: ${fault.message}`;
  }
}

function tryIt(path, method, operation) {
  const body = method === "POST";
  const start = body ? JSON.stringify(EXAMPLES[operation.operationId] ?? {}, null, 2) : operation.parameters ? "?q=godfather&limit=5" : "";
  const input = make("textarea", { value: start, spellcheck: false, ariaLabel: body ? "body of the request" : "query" });
  const output = make("pre", { ariaLive: "polite" });
  const button = make("button", { type: "button", textContent: "Send" });
  button.addEventListener("click", () => send(path, method, input.value.trim(), output));
  return [make("h2", { textContent: "Try it" }), ...(body || operation.parameters ? [input] : []), button, output];
}

function shown(path, method, operation, schemas) {
  const inside = make("div", { className: "inside" });
  const body = operation.requestBody?.content["application/json"].schema;
  if (body) {
    const schema = schemas[nameOf(body)];
    inside.append(make("h2", { textContent: "Request" }), make("p", { textContent: schema.description || "" }), fields(schema));
    const inner = schema.properties?.queries?.items;
    if (inner?.$ref) inside.append(make("h2", { textContent: `Each ${nameOf(inner)}` }), fields(schemas[nameOf(inner)]));
  }
  if (operation.parameters) {
    const properties = Object.fromEntries(operation.parameters.map((one) => [one.name, one.schema]));
    const required = operation.parameters.filter((one) => one.required).map((one) => one.name);
    inside.append(make("h2", { textContent: "Query" }), fields({ properties, required }));
  }
  const answer = operation.responses["200"].content["application/json"]?.schema;
  if (answer) {
    const schema = schemas[nameOf(answer)];
    inside.append(make("h2", { textContent: "Answer" }), make("p", { textContent: schema.description || "" }), fields(schema));
    for (const one of Object.values(schema.properties || {})) {
      if (one.items?.$ref) inside.append(make("h2", { textContent: `Each ${nameOf(one.items)}` }), fields(schemas[nameOf(one.items)]));
    }
  }
  inside.append(...tryIt(path, method, operation));
  const head = make("summary", {},
    make("span", { className: "method", textContent: method }), make("code", { textContent: path }),
    make("span", { className: "lock", textContent: operation.security ? "token" : "open to all" }),
    make("span", { className: "does", textContent: operation.summary }));
  return make("details", { id: operation.operationId }, head, inside);
}

async function main() {
  const room = document.getElementById("operations");
  try {
    const about = await (await fetch("/openapi.json")).json();
    document.getElementById("about").textContent = `Version ${about.info.version}. ${about.info.description}`;
    const rows = Object.entries(about.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => shown(path, method.toUpperCase(), one, about.components.schemas)));
    room.replaceChildren(...rows);
    document.getElementById(location.hash.slice(1))?.setAttribute("open", "");
  } catch (fault) {
    room.replaceChildren(make("p", { className: "bad", textContent: `The description cannot be read: ${fault.message}` }));
  }
}

main();
