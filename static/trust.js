/* Keys for who judges all day. Everything they do is a button on the page, and works without this file. */
(() => {
  "use strict";

  const typing = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;

  const press = (key) => {
    const button = document.querySelector(`[data-key="${key}"]`);
    if (button && !button.disabled) button.click();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event.target)) return;
    if (event.key === "b" && document.getElementById("more")) {
      event.preventDefault();
      document.getElementById("more").open = true;
      document.getElementById("id_kind").focus();
    } else if (event.key === "?" && document.getElementById("keys")) {
      document.getElementById("keys").classList.toggle("loud");
      document.getElementById("keys").scrollIntoView({ block: "center" });
    } else if ("rcwsn".includes(event.key)) {
      press(event.key);
    }
  });

  /* a second click must not rule a second time */
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  /* only what the chosen act asks for */
  const kind = document.getElementById("id_kind");
  const form = document.getElementById("bigger");
  if (kind && form && kind.tagName === "SELECT") {
    const show = () => {
      for (const part of form.querySelectorAll(".for-bans")) part.hidden = kind.value === "rollback";
      for (const part of form.querySelectorAll(".for-rollback")) part.hidden = kind.value !== "rollback";
    };
    kind.addEventListener("change", show);
    show();
    for (const name of ["until", "since"]) {
      const choice = document.getElementById(`id_${name}`);
      const exact = form.querySelector(`.for-${name}_at`);
      const showExact = () => { exact.hidden = choice.value !== "at"; };
      choice.addEventListener("change", showExact);
      showExact();
    }
  }
})();
