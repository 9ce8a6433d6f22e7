// Keeps /sim up to date. The server draws everything; this fetches the page again when something has happened and
// replaces the parts marked data-live that differ, draws the Flex messages, and sends the forms without a page load.
// Without it every form still works.
"use strict";

(() => {
  const drawn = new Map(); // id of a live part → its HTML as the server sent it

  // ---- Flex ----

  function tapsOf(chat) {
    const { as, chat: id, liff } = chat.dataset;
    return {
      uri(target) {
        if (!/^(https?|line|tel):/i.test(target)) return null;
        return `${liff}?${new URLSearchParams({ as, uri: target })}`;
      },
      postback: (action) => send("/sim/postbacks" + location.search, { chat: id, from: as, data: action.data }),
      say: (words) => send("/sim/messages" + location.search, { chat: id, from: as, text: words }),
    };
  }

  function draw() {
    const chat = document.getElementById("chat");
    for (const frame of chat.querySelectorAll("[data-flex]")) {
      try {
        const message = window.drawFlex(JSON.parse(frame.dataset.flex), tapsOf(chat));
        message.setAttribute("aria-label", frame.dataset.alt);
        message.setAttribute("role", "group");
        frame.replaceChildren(message);
      } catch (err) {
        console.error("a Flex message could not be drawn", err); // its alternative text stays
      }
      frame.removeAttribute("data-flex");
    }
  }

  // ---- live parts ----

  function remember() {
    for (const part of document.querySelectorAll("[data-live]")) drawn.set(part.id, part.outerHTML);
  }

  function replace(html) {
    const next = new DOMParser().parseFromString(html, "text/html");
    for (const part of next.querySelectorAll("[data-live]")) {
      if (drawn.get(part.id) === part.outerHTML) continue;
      const old = document.getElementById(part.id);
      if (!old) {
        location.reload(); // a part that was not there: another kind of page
        return;
      }
      drawn.set(part.id, part.outerHTML);
      const open = [...old.querySelectorAll("details[open]")].map((d) => d.id).filter(Boolean);
      const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
      const atEnd = old.scrollHeight - old.scrollTop - old.clientHeight < 80;
      const top = old.scrollTop;
      const node = document.importNode(part, true);
      old.replaceWith(node);
      for (const id of open) {
        const d = document.getElementById(id);
        if (d) d.open = true;
      }
      if (focused && document.getElementById(focused)) document.getElementById(focused).focus({ preventScroll: true });
      if (node.id === "chat") {
        draw();
        node.scrollTop = atEnd ? node.scrollHeight : top;
      }
      if (node.id === "clock") setClock();
    }
  }

  let fetching = false;
  let again = false;
  async function refresh() {
    if (fetching) {
      again = true;
      return;
    }
    fetching = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok) replace(await answer.text());
    } catch {
      // The simulator is away; the event stream reconnects by itself and then asks again.
    } finally {
      fetching = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  }

  // ---- forms ----

  async function send(url, fields) {
    const answer = await fetch(url, { method: "POST", body: new URLSearchParams(fields) });
    replace(await answer.text());
    return answer.ok;
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || form.hasAttribute("data-plain")) return;
    event.preventDefault();
    const button = event.submitter;
    if (button) button.disabled = true;
    try {
      const fields = new FormData(form);
      if (button && button.name) fields.set(button.name, button.value);
      const done = await send(form.getAttribute("action"), fields);
      if (done && form.classList.contains("phone-write")) form.reset();
      const menu = form.closest("details.menu");
      if (menu) menu.open = false;
    } finally {
      if (button) button.disabled = false;
    }
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });

  // ---- clock ----

  let ahead = 0; // simulator's clock minus this machine's, in ms
  function setClock() {
    ahead = Number(document.getElementById("clock").dataset.now) - Date.now();
    tick();
  }
  const clockForm = (parts) => new Intl.DateTimeFormat("ja-JP", { timeZone: "Asia/Tokyo", hourCycle: "h23", hour: "2-digit", minute: "2-digit", ...parts });
  const seconds = clockForm({ second: "2-digit" });
  const minutes = clockForm({});
  function tick() {
    const now = new Date(Date.now() + ahead);
    for (const node of document.querySelectorAll("[data-clock]")) {
      const words = (node.dataset.clock === "seconds" ? seconds : minutes).format(now);
      if (node.textContent !== words) node.textContent = words;
    }
  }

  remember();
  draw();
  const toEnd = () => {
    const chat = document.getElementById("chat");
    chat.scrollTop = chat.scrollHeight;
  };
  toEnd();
  document.fonts.ready.then(toEnd); // the faces arrive late and make the chat longer
  setClock();
  setInterval(tick, 1000);
  new EventSource("/sim/events").onmessage = refresh;
})();
