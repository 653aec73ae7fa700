// A board's rows: filled from a state, moved smoothly to where they belong. Names are text, whatever they hold.
import { ago, country, flag, local, number, said, score } from "./locale.js";

const LONG = 9; // characters of a score, as _row.html has it
const still = matchMedia("(prefers-reduced-motion: reduce)");
const row = document.getElementById("row");
const spare = document.getElementById("spare");

const faces = (document.body.dataset.avatars ?? "").split(" ").filter(Boolean); // hosts that avatars are shown from

/** As config/avatars.py; what is on our own site is ours. */
function isShown(address) {
  if (!address || !URL.canParse(address, location.href)) return false;
  const { origin, hostname, protocol } = new URL(address, location.href);
  const named = faces.some((one) => one === hostname || (one[0] === "." && `.${hostname}`.endsWith(one)));
  return origin === location.origin || (protocol === "https:" && named);
}

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export class Board {
  constructor(section) {
    this.section = section;
    this.told = section.dataset;
    this.body = section.querySelector("[data-rows]");
    this.least = Number(this.body.dataset.least || 0);
    this.rows = new Map([...this.body.querySelectorAll("[data-player]")].map((one) => [one.dataset.player, one]));
    this.was = new Map(); // rank on the window before, from the server
    this.opened = new Map(); // rank when first seen here
    this.entries = []; // as last told
    this.unmoved = new Map(); // why there is none on the window before, from the server, too
    for (const [player, one] of this.rows) {
      this.#compare(player, one);
      this.opened.set(player, Number(one.dataset.rank));
    }
    this.leader = this.body.querySelector("[data-player]")?.dataset.player;
  }

  begin() {
    // another window: nobody has moved in it yet
    this.was.clear();
    this.opened.clear();
    this.unmoved.clear();
  }

  #compare(player, one) {
    if (one.dataset.was) this.was.set(player, Number(one.dataset.was));
    else this.unmoved.set(player, one.querySelector(".move .hidden").textContent);
  }

  learn(page) {
    // from the page as it is by now, if it is of the same window: where everybody stood on the one before
    const named = ["game", "mode", "window", "windowId", "scope"];
    const same = (one) => named.every((name) => one.dataset[name] === this.told[name]);
    const fresh = [...page.querySelectorAll("[data-live-board]")].find(same);
    if (!fresh) return;
    for (const one of fresh.querySelectorAll("[data-rows] [data-player]")) this.#compare(one.dataset.player, one);
    if (!fresh.querySelector(".still")) this.section.querySelector(".still")?.classList.remove("still");
    for (const entry of this.entries) this.#movement(this.rows.get(entry.player_id).querySelector(".move"), entry);
  }

  show(state) {
    const before = new Map([...this.rows.values()].map((one) => [one, one.offsetTop]));
    const held = document.activeElement;
    const place = [...this.body.children].findIndex((one) => one.contains(held));
    const rows = new Map();
    const changed = [];
    for (const entry of state.entries) {
      const known = this.rows.get(entry.player_id);
      const one = known ?? row.content.firstElementChild.cloneNode(true);
      if (this.#fill(one, entry) && known) changed.push(one);
      rows.set(entry.player_id, one);
    }
    this.rows = rows;
    this.entries = state.entries;
    this.#place([...rows.values()]);
    if (place >= 0 && held !== document.activeElement) this.#hold(held, place);
    if (!document.hidden && !still.matches) this.#move(before, changed);
    this.section.querySelector("[data-away]")?.remove();
    const total = this.section.querySelector("[data-total]") ?? document.getElementById(this.told.totalIn);
    if (total) put(total, number(state.total));
    const empty = this.section.querySelector("[data-empty]");
    if (empty) empty.hidden = state.entries.length > 0;
  }

  #hold(held, place) {
    // who was at a row that has left is at the one now there
    const rows = [...this.rows.values()];
    const next = held.isConnected ? held : rows[Math.min(place, rows.length - 1)]?.querySelector("a");
    next?.focus({ preventScroll: true });
  }

  #place(rows) {
    const spares = Math.max(0, this.least - rows.length);
    const now = [...this.body.querySelectorAll("[data-player]")];
    if (now.length === rows.length && rows.every((one, index) => one === now[index])) return;
    const free = Array.from({ length: spares }, () => spare.content.firstElementChild.cloneNode(true));
    this.body.replaceChildren(...rows, ...free);
  }

  #fill(one, entry) {
    const decimals = Number(this.told.decimals);
    one.dataset.player = entry.player_id;
    one.dataset.rank = entry.rank;
    one.classList.toggle("mine", entry.player_id === this.told.mine);
    put(one.querySelector(".rank span"), number(entry.rank));
    this.#movement(one.querySelector(".move"), entry);
    const link = one.querySelector(".who a");
    link.href = this.told.profile.slice(0, -1) + encodeURIComponent(entry.player_id);
    put(link.querySelector(".name"), entry.display_name);
    this.#face(link.querySelector(".face"), entry);
    const waved = link.querySelector(".flag");
    waved.hidden = !entry.country;
    put(waved, flag(entry.country));
    waved.title = country(entry.country);
    waved.setAttribute("aria-label", waved.title);
    this.#time(one.querySelector(".when"), entry.achieved_at);
    const shown = one.querySelector(".score");
    const text = score(entry.score, decimals);
    if (shown.textContent === text) return false;
    shown.textContent = text;
    shown.classList.toggle("long", text.length > LONG);
    return true;
  }

  #face(face, entry) {
    const shown = face.querySelector("img");
    const initial = [...entry.display_name][0]?.toUpperCase() ?? "";
    const address = isShown(entry.avatar_url) ? entry.avatar_url : null;
    if ((shown?.getAttribute("src") ?? null) === address) {
      if (face.textContent !== initial) face.replaceChildren(initial, ...face.children);
      return;
    }
    face.textContent = initial;
    if (!address) return;
    const image = new Image(32, 32);
    image.alt = "";
    image.referrerPolicy = "no-referrer";
    image.src = address;
    face.append(image);
  }

  #time(cell, at) {
    let time = cell.querySelector("time");
    if (!at) return time?.remove();
    if (!time) cell.append((time = document.createElement("time")));
    if (time.dateTime === at) return undefined;
    time.dateTime = at;
    time.dataset.ago = "";
    time.title = local(new Date(at));
    put(time, ago(new Date(at)));
    return undefined;
  }

  #movement(cell, entry) {
    const from = this.was.get(entry.player_id);
    if (!this.opened.has(entry.player_id)) this.opened.set(entry.player_id, entry.rank);
    const delta = (from ?? this.opened.get(entry.player_id)) - entry.rank;
    const way = delta > 0 ? "up" : delta < 0 ? "down" : from === undefined ? "none" : "same";
    const sentence = { up: from ? "up" : "upOpen", down: from ? "down" : "downOpen", same: "same", none: "came" }[way];
    const known = way === "none" && this.unmoved.get(entry.player_id);
    const told = known || said(this.told[sentence], { steps: number(Math.abs(delta)) });
    cell.className = `move ${way}`;
    put(cell.querySelector(".steps"), delta ? number(Math.abs(delta)) : "");
    put(cell.querySelector(".hidden"), told);
    cell.firstElementChild.title = told;
  }

  #move(before, changed) {
    const gone = { duration: 400, easing: "cubic-bezier(0.2, 0.8, 0.2, 1)" };
    for (const one of this.rows.values()) {
      const from = before.get(one);
      const way = from === undefined ? 0 : from - one.offsetTop;
      if (way) one.animate([{ transform: `translateY(${way}px)` }, { transform: "none" }], gone);
      if (from === undefined) one.animate([{ opacity: 0 }, { opacity: 1 }], gone);
    }
    for (const one of changed) {
      one.querySelector(".score").animate([{ color: "var(--up)" }, { color: "var(--up)", offset: 0.5 }, {}], 1200);
    }
  }
}
