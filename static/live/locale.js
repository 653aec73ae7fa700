// Numbers, times and countries as the page's language writes them. Sentences come from the page, never from here.
export const lang = document.documentElement.lang || "en";
const whole = new Intl.NumberFormat(lang);
const relative = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "short" });
const near = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "short" });
const moment = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "long" });
const regions = new Intl.DisplayNames([lang], { type: "region", fallback: "code" });
const exact = new Map();

export const number = (value) => whole.format(value);

// Scores as they were written, where the browser tells: as numbers, the longest would lose their last digits.
export const read = (text) =>
  JSON.parse(text, (key, value, context) => (key === "score" && typeof value === "number" && context?.source) || value);

export function score(value, decimals) {
  if (!exact.has(decimals)) {
    exact.set(decimals, new Intl.NumberFormat(lang, { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
  }
  return exact.get(decimals).format(value);
}

// The time by the server's clock, as far as a visitor's is not right: it may be a day off.
const RIGHT = 5000; // what a page may have been under way for
let behind = 0;
export const clock = () => Date.now() + behind;

export function setClock(page, at) {
  const told = Number(page.body.dataset.now) * 1000;
  if (told) behind = Math.abs(told - at) > RIGHT ? told - at : 0;
}

function opened() {
  const [how] = performance.getEntriesByType("navigation");
  if (how?.transferSize) setClock(document, Date.now() - performance.now() + how.responseStart); // not one kept from before
}
opened();

export function ago(at, { seconds = false } = {}) {
  const age = Math.max(0, Math.floor((clock() - at) / 1000));
  if (age < 60) return seconds && age ? relative.format(-age, "second") : near.format(0, "second");
  if (age < 3600) return relative.format(-Math.floor(age / 60), "minute");
  if (age < 86_400) return relative.format(-Math.floor(age / 3600), "hour");
  return relative.format(-Math.floor(age / 86_400), "day");
}

export function left(until, units) {
  let rest = Math.max(0, Math.floor((until - clock()) / 1000));
  const parts = [];
  [86_400, 3600, 60, 1].forEach((size, index) => {
    const count = Math.floor(rest / size);
    rest %= size;
    if (count || parts.length || size === 1) parts.push(`${count} ${units[index]}`);
  });
  return parts.slice(0, 2).join(" ");
}

export const local = (at) => moment.format(at);
export const country = (code) => (code ? regions.of(code) : "");
export const flag = (code) =>
  code ? String.fromCodePoint(...[...code].map((letter) => 0x1f1e6 + letter.charCodeAt(0) - 65)) : "";
export const said = (sentence, values) => (sentence || "").replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
