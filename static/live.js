// What makes a page live: every [data-live-board] is subscribed to, clocks tick, and who is signed in is followed.
// Without this the page is complete as it came; with it, it stays so.
import { Board } from "./live/board.js";
import { Feed } from "./live/feed.js";
import { ago, clock, country, flag, left, local, number, said, score, setClock } from "./live/locale.js";
import { Socket } from "./live/socket.js";

const MOST = 10; // subscriptions of one socket
const SPOKEN_EVERY = 10_000;
const FRESH_EVERY = 20_000;
const OWN_EVERY = 2500;
const LOOKED_EVERY = 10_000;
const followed = document.querySelector("[data-follow]");
const boards = [...document.querySelectorAll("[data-live-board]")].slice(0, followed ? MOST - 1 : MOST);
const pulses = boards.flatMap((one) => [...one.querySelectorAll("[data-pulse]")]); // what is not asked for is not live
const rungs = []; // the Board of each
const waiting = new Map(); // what is to be done once somebody looks: of each thing the last
let heardAt = clock();
let state = "";

// --- how it is -------------------------------------------------------------------------------------------------
function pulse(now = state) {
  state = now;
  for (const one of pulses) {
    const stale = now === "live" ? "" : ` · ${said(one.dataset.stale, { ago: ago(heardAt, { seconds: true }) })}`;
    one.dataset.state = now;
    one.querySelector("[data-pulse-text]").textContent = one.dataset[now] + stale;
  }
}

const voice = document.querySelector("[data-say]");
let spokenAt = 0;
function say(sentence, values) {
  if (!voice || Date.now() - spokenAt < SPOKEN_EVERY) return;
  spokenAt = Date.now();
  voice.textContent = said(voice.dataset[sentence], values);
}

// --- boards ----------------------------------------------------------------------------------------------------
function show(board, message) {
  const first = message.entries[0];
  if (first && board.leader && first.player_id !== board.leader) {
    const told = { name: first.display_name, score: score(first.score, Number(board.told.decimals)) };
    say("leader", told);
  }
  board.leader = first?.player_id;
  board.show(message);
  const listed = board.section === followed && board.rows.get(board.told.follow);
  const pinned = listed && board.section.querySelector("[data-pinned]");
  if (!pinned?.firstElementChild) return;
  if (pinned.contains(document.activeElement)) listed.querySelector("a").focus({ preventScroll: true });
  pinned.dataset.old = "";
}

function hear(board, message) {
  heardAt = clock();
  if (message.type === "update") {
    news();
    if (followed) refresh(1500); // one's rank may stay while neighbours and the next goal change
  }
  if (message.window_id && board.told.windowId && message.window_id !== board.told.windowId) {
    board.told.windowId = message.window_id;
    board.begin();
    refresh(Math.random() * 3000, OWN_EVERY);
  }
  seen(board, () => show(board, message));
}

function seen(thing, act) {
  if (document.hidden) waiting.set(thing, act);
  else act();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  const acts = [...waiting.values()];
  waiting.clear();
  for (const act of acts) act();
  tick();
});

const feed = new Feed();
let lookedAt = Date.now();
let looking = 0;
function news() {
  const shown = document.querySelector("[data-feed]");
  if (!shown || looking) return;
  if ("byPage" in shown.dataset) {
    refresh(500); // of many modes, or of a private one: the API knows no sessions, the page does
    return;
  }
  const soon = Math.max(500, lookedAt + LOOKED_EVERY - Date.now()) + Math.random() * 1000;
  looking = setTimeout(() => seen(feed, look), soon);
}

function look() {
  [lookedAt, looking] = [Date.now(), 0];
  feed.look();
}

// --- who is signed in ------------------------------------------------------------------------------------------
let owned = null; // what was last told
let pace = OWN_EVERY;
function own(section, message) {
  heardAt = clock();
  const before = owned;
  owned = message;
  const [rank, points] = ["[data-own-rank]", "[data-own-score]"].map((part) => document.querySelector(part));
  if (!message.new_rank || !rank) {
    if (message.new_rank || rank) outdated(message.new_rank ? "" : "off");
    return;
  }
  const now = [`#${number(message.new_rank)}`, score(message.score, Number(section.dataset.decimals))];
  const [moved, scored] = [rank.textContent !== now[0], points.textContent !== now[1]];
  if (!moved && !scored) return;
  if (moved) say("own", { rank: number(message.new_rank) });
  [rank.textContent, points.textContent] = now;
  if (scored || !(message.new_rank > before?.new_rank)) outdated("");
  else refresh(300, pace); // others have passed: on a busy board all the time, and the goal is still one
}

// What no longer fits to one's own place is not seen until the server has said it anew.
function outdated(how) {
  for (const one of document.querySelectorAll("[data-you], [data-pinned]")) one.dataset.old = how;
  pace = OWN_EVERY;
  refresh(300, pace);
}

// What the server alone can say (the next goal, neighbours, the drawing, when the window ends) is asked for again: at
// most every twenty seconds as others change, sooner as one's own place does, and less and less soon if it always does.
let refreshed = 0;
let due = 0;
let dueAt = 0;
function refresh(soon, every = FRESH_EVERY * (1 + Math.random() / 4)) {
  const at = Math.max(Date.now() + soon, refreshed + every);
  if (due && at >= dueAt) return;
  clearTimeout(due);
  dueAt = at;
  due = setTimeout(() => seen(again, again), at - Date.now());
}

async function again() {
  pace = Date.now() - refreshed > FRESH_EVERY ? OWN_EVERY : Math.min(2 * pace, FRESH_EVERY);
  refreshed = Date.now();
  due = 0;
  const told = owned;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.status === 401 && who(document)) location.reload();
    if (!answer.ok) throw new Error(answer.statusText);
    const arrived = Date.now();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (who(page) !== who(document)) {
      location.reload(); // signed in or out meanwhile, in another tab: half a page of each would be neither
      return;
    }
    const ends = [...document.querySelectorAll("[data-until]")].map((one) => `[data-until="${one.dataset.until}"]`);
    for (const part of ["[data-you]", "[data-spread]", "[data-pinned]", "[data-paging]", "[data-feed]", ...ends]) {
      replace(document.querySelector(part), page.querySelector(part));
    }
    setClock(page, arrived);
    for (const board of rungs) board.learn(page);
    adorn();
    tick();
    if (owned !== told) own(followed, owned); // told while the page was on its way
  } catch {
    if (document.querySelector("[data-old]")) refresh(0); // else the next change asks again
  }
}

// Who is signed in, as a page has it.
function who(page) {
  const known = [...page.querySelectorAll("[data-who], [data-mine]")].map((one) => one.dataset.who ?? one.dataset.mine);
  return [...new Set(known)].sort().join("\n");
}

function replace(now, fresh) {
  if (!now) return;
  const held = now.contains(document.activeElement) && document.activeElement;
  const same = held && [...(fresh?.querySelectorAll("a") ?? [])].find((one) => one.href === held.href);
  if (held && !same) return; // who is at it is not disturbed
  if (fresh) now.replaceWith(document.adoptNode(fresh));
  else now.remove();
  if (same) same.focus({ preventScroll: true });
}

// --- clocks, in the visitor's own time -------------------------------------------------------------------------
function tick() {
  for (const one of document.querySelectorAll("time[data-left]")) {
    one.textContent = left(new Date(one.dateTime), one.dataset.left.split(" "));
    if (new Date(one.dateTime) < clock() - 2000) refresh(2000 + Math.random() * 6000);
  }
  if (state && state !== "live") pulse();
}

function age() {
  for (const one of document.querySelectorAll("time[data-ago]")) one.textContent = ago(new Date(one.dateTime));
}

function adorn() {
  for (const one of document.querySelectorAll("time[datetime]")) one.title = local(new Date(one.dateTime));
  for (const one of document.querySelectorAll(".flag[aria-label]")) {
    const code = one.getAttribute("aria-label");
    if (/^[A-Z]{2}$/.test(code)) one.setAttribute("aria-label", (one.title = country(code)));
  }
}

function nameCountries(select) {
  for (const one of select.querySelectorAll("[data-country]")) {
    one.textContent = `${flag(one.dataset.country)} ${country(one.dataset.country)}`;
  }
}

// --- begin -----------------------------------------------------------------------------------------------------
adorn();
document.querySelectorAll("select[data-countries]").forEach(nameCountries);
setInterval(() => document.hidden || tick(), 1000);
setInterval(() => document.hidden || age(), 30_000);

if (boards.length || followed) {
  const socket = new Socket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`, pulse);
  const named = ({ game, mode, window, scope }) => ({ game, mode, window, scope });
  boards.forEach((section, index) => {
    const board = new Board(section);
    rungs.push(board);
    const message = { op: "subscribe", id: `b${index}`, ...named(section.dataset), limit: Number(section.dataset.limit) };
    socket.ask(message, (heard) => hear(board, heard));
  });
  if (followed) socket.ask({ op: "follow", id: "me", ...named(followed.dataset) }, (heard) => own(followed, heard), () => refresh(500, OWN_EVERY));
  socket.open();
}
