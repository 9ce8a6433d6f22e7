"use strict";

// The month's grid: the form of a cell opens above the grid, the arrow keys walk through the cells, and after saving
// the focus is back where it was. Without this script every cell is a link to the form's own page.
(() => {
  const dialog = document.getElementById("shift-dialog");
  const panel = document.getElementById("shift-panel");
  if (!dialog || !panel) return;

  const table = () => document.querySelector(".month-table");
  const cellNamed = (name) => document.querySelector(`.month-table [data-cell="${CSS.escape(name)}"]`);
  let opener = null; // what was pressed to open the form
  let openCell = ""; // name of the cell whose form is open

  // ---- the form ----

  const unmark = () => {
    document.querySelectorAll(".cell-open, .head-open").forEach((e) => e.classList.remove("cell-open", "head-open"));
  };

  const mark = (name) => {
    unmark();
    openCell = name;
    const cell = name && cellNamed(name);
    if (!cell) return;
    const td = cell.closest("td");
    td.classList.add("cell-open");
    td.parentElement.cells[0].classList.add("head-open");
    table().tHead.rows[0].cells[td.cellIndex].classList.add("head-open");
  };

  // Beside the cell, on the side with more room, so that row and column stay in sight.
  const place = () => {
    dialog.style.margin = dialog.style.left = dialog.style.top = "";
    const cell = openCell && cellNamed(openCell);
    if (!cell || cell.offsetParent === null || window.innerWidth <= 700) return;
    const at = cell.closest("td").getBoundingClientRect();
    const size = dialog.getBoundingClientRect();
    const gap = 8;
    let left = at.right + gap;
    if (left + size.width > window.innerWidth - gap) left = at.left - size.width - gap;
    left = Math.max(gap, Math.min(left, window.innerWidth - size.width - gap));
    const top = Math.max(gap, Math.min(at.top, window.innerHeight - size.height - gap));
    dialog.style.margin = "0";
    dialog.style.left = `${left}px`;
    dialog.style.top = `${top}px`;
  };

  // What is wrong comes first, then what is filled in already, then what is to be chosen.
  const firstField = () => {
    for (const what of ['[role="alert"]', '[aria-invalid="true"]', 'input[name="pattern"]:checked', 'select[name="teacher"]', '#times:not([value=""])', 'input[name="pattern"]', "#times"]) {
      const found = [...panel.querySelectorAll(what)].find((e) => !e.closest("details:not([open])"));
      if (!found) continue;
      if (what === '[role="alert"]') found.tabIndex = -1;
      return found;
    }
    return null;
  };

  const open = (link) => {
    if (!dialog.contains(link)) opener = link;
    htmx.ajax("GET", link.href, { source: link, target: panel, swap: "innerHTML" });
  };

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a[data-form]");
    if (!link) return;
    event.preventDefault();
    open(link);
  });

  // Not before htmx has taken hold of the form: until then Enter would send it past htmx.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target !== panel || !panel.firstElementChild) return;
    const form = panel.querySelector("form[data-cell]");
    mark(form ? form.dataset.cell : openCell);
    if (!dialog.open) dialog.showModal();
    place();
    firstField()?.focus();
  });

  // An answer that is no form stands above the page, where the dialog would hide it.
  document.addEventListener("htmx:responseError", (event) => {
    if (dialog.open && event.detail.xhr.status !== 409 && event.detail.xhr.status !== 422) dialog.close();
  });

  dialog.addEventListener("close", () => {
    // It comes late, and another cell may have been opened since.
    if (dialog.open) return;
    unmark();
    const name = openCell;
    openCell = "";
    panel.replaceChildren();
    // The cell may have been drawn anew meanwhile.
    const back = (name && cellNamed(name)) || opener;
    if (back && back.isConnected) back.focus();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  // What was folded makes it taller: its buttons must stay in sight.
  dialog.addEventListener("toggle", (event) => {
    if (event.target !== dialog) place();
  }, true);

  let scrolled = 0;
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target?.id !== "month") return;
    scrolled = document.querySelector(".month-scroll")?.scrollLeft || 0;
  });
  // The server says so after it drew the grid anew.
  document.addEventListener("shift-saved", (event) => {
    const scroller = document.querySelector(".month-scroll");
    if (scroller) scroller.scrollLeft = scrolled;
    if (event.detail.cell) openCell = event.detail.cell;
    walkable();
    if (dialog.open) dialog.close();
    else cellNamed(openCell)?.focus();
  });

  // ---- pattern and typed times speak for each other ----

  panel.addEventListener("change", (event) => {
    if (event.target.name !== "pattern") return;
    const form = event.target.form;
    const times = new Map(form.dataset.patternTimes.split(" ").map((p) => p.split("=")));
    form.elements.times.value = times.get(event.target.value) || "";
  });
  panel.addEventListener("input", (event) => {
    if (event.target.name !== "times") return;
    event.target.form.querySelectorAll('input[name="pattern"]').forEach((radio) => { radio.checked = false; });
  });

  // ---- walking ----

  // One cell is reached by Tab, the others by the arrow keys.
  const walkable = (current) => {
    const cells = document.querySelectorAll(".month-table [data-cell]");
    if (cells.length === 0) return;
    const first = current || (openCell && cellNamed(openCell)) || cells[0];
    cells.forEach((c) => { c.tabIndex = c === first ? 0 : -1; });
  };

  const rows = () => [...table().querySelectorAll("tbody tr:not(.month-section)")];

  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest?.(".month-table a.cell");
    if (!cell || event.metaKey || event.altKey || event.shiftKey) return;
    const td = cell.closest("td");
    const all = rows();
    let row = all.indexOf(td.parentElement);
    let column = td.cellIndex;
    const last = td.parentElement.cells.length - 2; // after it come the totals
    switch (event.key) {
      case "ArrowLeft": column--; break;
      case "ArrowRight": column++; break;
      case "ArrowUp": row--; break;
      case "ArrowDown": row++; break;
      case "Home": column = 1; if (event.ctrlKey) row = 0; break;
      case "End": column = last; if (event.ctrlKey) row = all.length - 1; break;
      default: return;
    }
    event.preventDefault();
    const to = all[row]?.cells[column]?.querySelector("[data-cell]");
    if (!to || column < 1 || column > last) return;
    walkable(to);
    to.focus();
    to.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  document.addEventListener("focusin", (event) => {
    const cell = event.target.closest?.(".month-table [data-cell]");
    if (cell) walkable(cell);
  });
  walkable();
})();
