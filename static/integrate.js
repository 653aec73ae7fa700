// Waits for a mode's first score, and copies code. All words are in the page.

const FIRST_MS = 1500;
const SLOWEST_MS = 15000;

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

async function arrival() {
  const address = new URL(location.pathname, location.origin);
  address.searchParams.set("part", "arrival");
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("arrival");
}

async function wait(section) {
  section.setAttribute("aria-live", "polite");
  for (let delay = FIRST_MS; ; delay = Math.min(delay * 1.1, SLOWEST_MS)) {
    await pause(delay);
    if (document.hidden) continue;
    const told = await arrival().catch(() => null);
    if (told?.dataset.arrival === "come") {
      section.className = told.className;
      section.dataset.arrival = "come";
      section.replaceChildren(...told.childNodes);
      return;
    }
  }
}

function offerCopies(box) {
  for (const snippet of box.querySelectorAll(".snippet")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = box.dataset.copy;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(snippet.querySelector("code").textContent);
      button.textContent = box.dataset.copied;
      await pause(1500);
      button.textContent = box.dataset.copy;
    });
    snippet.prepend(button);
  }
}

const waiting = document.querySelector('[data-arrival="waiting"]');
if (waiting) wait(waiting);
if (navigator.clipboard) document.querySelectorAll("[data-copy]").forEach(offerCopies);
