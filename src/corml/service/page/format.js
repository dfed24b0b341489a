// Numbers and titles as readers expect them.

export const count = (n) => Math.round(n).toLocaleString("en");
export const people = (n) => `${count(n)} ${Math.round(n) === 1 ? "user" : "users"}`;
export const percent = (share) => `${Math.round(100 * share)} %`;
export const score = (value) => (value === 0 ? "0" : Math.abs(value) < 0.0001 ? value.toExponential(1) : value.toFixed(4));

const YEAR = /^(.*\S)\s+\((\d{4}(?:[-–]\d{0,4})?)\)$/;

export function parts(title) {
  const found = YEAR.exec(title);
  return found ? { name: found[1], year: found[2] } : { name: title, year: "" };
}

export const short = (text, most) => (text.length > most ? text.slice(0, most - 1).trimEnd() + "…" : text);

export const median = (values) => {
  if (!values.length) return 0;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
