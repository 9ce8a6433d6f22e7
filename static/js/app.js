// Small comforts on top of pages that work without any script: nothing here is needed to reach or send anything.
"use strict";

(() => {
  // A form that is on its way stops its button and says so, so that nobody presses twice.
  const begin = (button) => {
    if (!button || button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    const words = button.querySelector("[data-words]");
    if (words && button.dataset.working) {
      words.dataset.words = words.textContent;
      words.textContent = button.dataset.working;
    }
  };
  const end = (button) => {
    button.removeAttribute("aria-busy");
    const words = button.querySelector("[data-words]");
    if (words && words.dataset.words) words.textContent = words.dataset.words;
  };
  const buttonOf = (form) => form.querySelector('button[type="submit"], button:not([type])');

  document.addEventListener("submit", (event) => {
    const button = event.submitter || buttonOf(event.target);
    if (button && button.getAttribute("aria-busy") === "true") {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    // After the browser has read the form: a stopped button would not be sent along.
    setTimeout(() => { if (!event.defaultPrevented || event.target.closest("[hx-post],[hx-put],[hx-delete],[hx-get]")) begin(button); }, 0);
  }, true);
  document.addEventListener("htmx:afterRequest", (event) => {
    event.target.querySelectorAll?.('[aria-busy="true"]').forEach(end);
  });
  // The page comes back from the browser's cache with its buttons still stopped.
  window.addEventListener("pageshow", () => {
    document.querySelectorAll('button[aria-busy="true"]').forEach(end);
  });

  document.addEventListener("click", (event) => {
    // A link that leads to a question opens it as a dialog when that dialog is on the page.
    const opener = event.target.closest("[data-opens]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.opens);
      if (dialog instanceof HTMLDialogElement) {
        event.preventDefault();
        dialog.showModal();
        return;
      }
    }
    const closer = event.target.closest("[data-closes]");
    if (closer) {
      const dialog = closer.closest("dialog");
      if (dialog) {
        event.preventDefault();
        dialog.close();
        return;
      }
    }
    // 表示する / 隠す beside a password.
    const reveal = event.target.closest("[data-reveals]");
    if (reveal) {
      const input = document.getElementById(reveal.dataset.reveals);
      const shown = input.type === "text";
      input.type = shown ? "password" : "text";
      reveal.textContent = shown ? reveal.dataset.show : reveal.dataset.hide;
      input.focus();
      return;
    }
    const copier = event.target.closest("[data-copies]");
    if (copier) {
      const field = document.getElementById(copier.dataset.copies);
      field.select();
      navigator.clipboard.writeText(field.value).then(() => { copier.textContent = copier.dataset.copied; }, () => document.execCommand("copy"));
      return;
    }
    if (event.target.closest("[data-prints]")) {
      window.print();
      return;
    }
    // A menu closes when something else is touched.
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  // Controls that need this script are hidden until it runs.
  const ready = (root) => root.querySelectorAll("[data-needs-script]").forEach((e) => { e.hidden = false; });
  // A form that was refused begins where there is something to mend.
  const mend = (root) => {
    const first = root.querySelector("#error-summary") || root.querySelector('[aria-invalid="true"]');
    if (first) first.focus();
  };
  ready(document);
  mend(document);
  document.addEventListener("htmx:load", (event) => {
    ready(event.detail.elt);
    mend(event.detail.elt);
  });
})();
