// One socket for all that is live on a page. It comes back by itself, asks again for all it was asked for, and says
// how it is: "live", "reconnecting" or "offline". What comes is a whole state each time, so nothing is ever replayed.
import { read } from "./locale.js";

const SILENCE = 35_000; // the server says something every 15 s
const SOONEST = 500;
const LATEST = 30_000;
const MOMENTARY = ["unavailable", "internal_error", "rate_limited"]; // what is refused so may be answered a little later
const SLOWLY = 30_000;

// Browsers complain of a socket closed before it is open: such a one is let go as soon as it is, or with its page.
function hangUp(socket) {
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
  socket.onmessage = null;
}

export class Socket {
  #address;
  #told;
  #topics = new Map(); // by id: what is asked for, who hears it or that one is unknown, the last seq
  #socket = null;
  #failures = 0;
  #timer = 0;
  #watchdog = 0;
  #heardAt = 0;

  constructor(address, told) {
    this.#address = address;
    this.#told = told;
    addEventListener("online", () => this.#now());
    addEventListener("offline", () => this.#say("offline"));
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", (event) => event.persisted && this.#now());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && (!this.#socket || Date.now() - this.#heardAt > SILENCE)) this.#now();
    });
  }

  ask(message, hear, unknown = () => {}) {
    this.#topics.set(message.id, { message, hear, unknown, seq: 0 });
    if (this.#socket?.readyState === WebSocket.OPEN) this.#send(message);
  }

  open() {
    clearTimeout(this.#timer);
    const socket = (this.#socket = new WebSocket(this.#address));
    socket.onopen = () => {
      this.#alive();
      for (const topic of this.#topics.values()) {
        topic.seq = 0;
        this.#send(topic.message);
      }
    };
    socket.onmessage = (event) => this.#hear(read(event.data));
    socket.onclose = () => socket === this.#socket && this.#lost();
    this.#alive();
  }

  close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    const socket = this.#socket;
    this.#socket = null;
    if (socket) hangUp(socket);
  }

  #now() {
    this.#failures = 0;
    this.close();
    this.#say("reconnecting");
    this.open();
  }

  #lost() {
    this.close();
    this.#say(navigator.onLine ? "reconnecting" : "offline");
    const longest = Math.min(LATEST, SOONEST * 2 ** this.#failures++);
    this.#timer = setTimeout(() => this.open(), longest * (0.5 + Math.random() / 2));
  }

  #alive() {
    this.#heardAt = Date.now();
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#lost(), SILENCE);
  }

  #hear(message) {
    this.#alive();
    const topic = this.#topics.get(message.id);
    if (!topic || message.type === "unsubscribed") return;
    if (message.type === "error") {
      this.#refused(topic, message.code);
      return;
    }
    const missed = topic.seq && message.seq !== topic.seq + 1 && message.type !== "snapshot";
    topic.seq = message.seq;
    if (missed) this.#again(topic);
    this.#failures = 0;
    this.#say("live");
    topic.hear(message);
  }

  #refused(topic, code) {
    // what has ended may be shown to who one is by now, on a socket that is opened as such; what is refused from the
    // start is not live until that has changed
    const [stranger, board] = [code === "unauthenticated", topic.message.op === "subscribe"];
    if (stranger) topic.unknown();
    if (stranger && topic.seq) this.#lost();
    else if (MOMENTARY.includes(code) || topic.seq) {
      this.#say("reconnecting");
      this.#later(() => this.#again(topic), 2000, 3000);
    } else {
      if (board) this.#say("offline");
      this.#later(() => (stranger && board ? this.#lost() : this.#again(topic)), SLOWLY, SLOWLY);
    }
  }

  #again(topic) {
    topic.seq = 0;
    this.#send({ op: "unsubscribe", id: topic.message.id });
    this.#send(topic.message);
  }

  #later(act, least, spread) {
    const socket = this.#socket;
    setTimeout(() => socket && socket === this.#socket && act(), least + Math.random() * spread);
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #say(state) {
    this.#told(state);
  }
}
