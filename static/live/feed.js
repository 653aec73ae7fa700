// What just happened: asked for when a board has changed, shown through the page's own sentences.
import { ago, country, flag, local, read, score } from "./locale.js";

export class Feed {
  async look() {
    const section = document.querySelector("[data-feed]");
    const { game, mode } = section.dataset;
    try {
      const answer = await fetch(`/v1/games/${game}/modes/${mode}/activity?limit=8`, { credentials: "omit" });
      if (answer.ok) this.#show(section, read(await answer.text()).activity);
    } catch {
      // the next change asks again
    }
  }

  #show(section, activity) {
    const list = section.querySelector("ol");
    if (list.contains(document.activeElement)) return;
    list.replaceChildren(...activity.map((one) => this.#item(section, one)));
    section.querySelector("ol + p").hidden = activity.length > 0;
  }

  #item(section, one) {
    const item = section.querySelector("template").content.firstElementChild.cloneNode(true);
    item.className = one.kind;
    const waved = item.querySelector(".flag");
    waved.hidden = !one.country;
    waved.textContent = flag(one.country);
    waved.title = country(one.country);
    waved.setAttribute("aria-label", waved.title);
    item.querySelector("bdi").textContent = one.display_name;
    item.querySelector("a").href = section.dataset.profile.slice(0, -1) + encodeURIComponent(one.player_id);
    for (const sentence of item.querySelectorAll("[data-kind]")) {
      if (sentence.dataset.kind !== one.kind) sentence.remove();
      else sentence.querySelector("strong").textContent = score(one.score, Number(section.dataset.decimals));
    }
    item.querySelector("[data-in]").textContent = section.dataset[one.window] ?? one.window;
    const time = item.querySelector("time");
    time.dateTime = one.at;
    time.title = local(new Date(one.at));
    time.textContent = ago(new Date(one.at));
    return item;
  }
}
