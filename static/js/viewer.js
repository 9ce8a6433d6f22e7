// The viewer that teachers open from LINE: sign in by LINE's ID token, then fetch the page that the address names.
//
// The LIFF SDK keeps an ID token long after it has expired (one hour), and only logout() makes it forget. So when the
// server says that a token has expired, this script logs out and in again, once: a flag stands guard, since a server or
// a clock that is wrong would send the teacher round and round. Two trips to LINE's login are the most in any case.
// Source: https://developers.line.biz/en/reference/liff/ and the SDK 2.31.0, looked at in October 2026.
"use strict";

(() => {
  const main = document.getElementById("viewer");
  const { liffId, liffUrl } = main.dataset;
  const maxTrips = 2;
  // A page that slept in LINE for longer than this may show what is no longer so.
  const staleAfter = 5 * 60 * 1000;
  // The server gives LINE ten seconds to answer.
  const patience = 20 * 1000;

  // ---- what must outlive a trip to LINE's login: only within this tab ----

  const memory = {
    key: (name) => `shiftpost:viewer:${name}`,
    get(name) {
      try { return Number(sessionStorage.getItem(this.key(name))) || 0; } catch { return 0; }
    },
    // Without a place to count, nothing could stop a round trip from repeating itself.
    add(name) {
      try {
        sessionStorage.setItem(this.key(name), String(this.get(name) + 1));
        return true;
      } catch { return false; }
    },
    clear() {
      try { for (const name of ["trips", "renewed"]) sessionStorage.removeItem(this.key(name)); } catch { /* nothing was kept */ }
    },
  };

  // ---- showing ----

  let shown = "";
  let shownAt = 0;

  // show puts a part of the page in place. A screen reader begins at its top, except when it is the same page anew.
  function show(html, quietly) {
    main.removeAttribute("aria-busy");
    shownAt = Date.now();
    if (html === shown) {
      main.querySelector("[data-again]")?.removeAttribute("aria-busy");
      return;
    }
    shown = html;
    main.innerHTML = html;
    const title = main.firstElementChild && main.firstElementChild.dataset.title;
    if (title) document.title = title;
    dress();
    if (!quietly) main.focus({ preventScroll: true });
  }

  function showProblem(reason) {
    show(document.getElementById(`problem-${reason}`).innerHTML);
  }

  // dress does what markup cannot.
  function dress() {
    for (const link of main.querySelectorAll("[data-reopen]")) {
      if (!liffUrl) continue;
      link.href = liffUrl + place();
      link.hidden = false;
    }
    for (const scroller of main.querySelectorAll(".grid-scroll")) {
      const today = scroller.querySelector("[data-today]");
      const head = scroller.querySelector("thead");
      if (today && head) scroller.scrollTop = today.offsetTop - head.offsetHeight - today.offsetHeight;
    }
    for (const button of main.querySelectorAll("[data-needs-script]")) button.hidden = false;
    countDown();
  }

  // The badge of the next shift counts on from what the server wrote, so the phone's clock may be wrong.
  let ticking = 0;
  function countDown() {
    clearInterval(ticking);
    const badge = main.querySelector("[data-minutes-left]");
    if (!badge) return;
    const end = performance.now() + Number(badge.dataset.minutesLeft) * 60000;
    ticking = setInterval(() => {
      const left = Math.ceil((end - performance.now()) / 60000);
      if (left <= 0) {
        clearInterval(ticking);
        refresh();
        return;
      }
      const words = left < 60 ? badge.dataset.minutes : badge.dataset.hours;
      badge.textContent = words.replace("{hours}", Math.floor(left / 60)).replace("{minutes}", left % 60);
    }, 15000);
  }

  // ---- asking ----

  async function ask(path, options) {
    const answer = await fetch(path, { credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(patience), ...options });
    return { ok: answer.ok, status: answer.status, reason: answer.headers.get("Viewer-Reason"), html: await answer.text() };
  }

  // place is what the address names below the viewer's own.
  const place = () => location.pathname.replace(/^\/(liff|viewer)/, "").replace(/\/+$/, "");
  // invited is the secret of the invitation that the address names: whoever opens it is no teacher yet.
  const invited = () => (/^\/invitations\/([^/]+)$/.exec(place()) || [])[1];

  // ---- LINE ----

  // leave goes to LINE and back to this address, as often as is sensible.
  function leave(how) {
    if (memory.get("trips") >= maxTrips || !memory.add("trips")) {
      showProblem("reopen");
      return;
    }
    how();
  }

  const login = () => liff.login({ redirectUri: location.href });
  // login() does not work inside LINE; opening the page anew does.
  const reopen = () => location.replace(liffUrl + place());

  function renew() {
    if (memory.get("renewed") || !memory.add("renewed")) {
      showProblem("reopen");
      return;
    }
    liff.logout();
    leave(liff.isInClient() ? reopen : login);
  }

  // signIn tells the server who is looking, and whether to go on. It always does, even where a session may still be
  // good: another teacher may have used this browser.
  async function signIn() {
    if (!liff.isLoggedIn()) {
      leave(liff.isInClient() ? reopen : login);
      return false;
    }
    const token = liff.getIDToken();
    if (!token) {
      renew();
      return false;
    }
    const answer = await (invited()
      ? ask("/viewer/invitations", { method: "POST", body: new URLSearchParams({ id_token: token, token: invited() }) })
      : ask("/viewer/session", { method: "POST", body: new URLSearchParams({ id_token: token }) }));
    if (answer.ok) {
      memory.clear();
      if (!invited()) return true;
      show(answer.html);
      return false; // that was the page
    }
    if (answer.status === 401) renew();
    else show(answer.html);
    return false;
  }

  async function load(quietly) {
    const answer = await ask(`/viewer${place()}`);
    if (answer.status === 401) return false;
    show(answer.html, quietly);
    return true;
  }

  async function open() {
    main.setAttribute("aria-busy", "true");
    try {
      if (!(await signIn())) return;
      if (!(await load())) showProblem("reopen");
    } catch {
      showProblem("offline");
    }
  }

  // refresh looks again at a page that is already shown, and leaves it alone when it cannot.
  let refreshing = false;
  async function refresh() {
    if (refreshing || !shown || invited()) return;
    refreshing = true;
    try {
      if (!(await load(true)) && (await signIn())) await load(true);
    } catch {
      // No signal just now: what is shown is better than nothing.
    } finally {
      refreshing = false;
    }
  }

  let ready = false; // LINE's SDK is
  async function start() {
    if (!liffId) { // a page opened by its own address: it is there already
      dress();
      return;
    }
    if (!window.liff) {
      showProblem("start");
      return;
    }
    try {
      await liff.init({ liffId });
    } catch (err) {
      // The SDK compares the token's times with the phone's clock.
      showProblem(err && err.code === "INVALID_ID_TOKEN" ? "clock" : "start");
      return;
    }
    ready = true;
    await open();
  }

  // ---- what the reader does ----

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-reopen]")) memory.clear();
    const again = event.target.closest("[data-again]");
    if (again && again.getAttribute("aria-busy") !== "true") {
      again.setAttribute("aria-busy", "true");
      if (ready) open();
      else location.reload();
    }
  });

  // A form is sent and answered within the page: its part of it, or all of it, is put in place anew.
  async function send(form, button) {
    const { into, focus } = form.dataset;
    const fields = new URLSearchParams(new FormData(form));
    if ("vouched" in form.dataset) fields.set("id_token", liff.getIDToken());
    try {
      const answer = await ask(form.action, { method: "POST", body: fields });
      if (answer.status === 401) {
        if (!ready) location.reload();
        else if (await signIn()) await load();
        return;
      }
      const part = answer.ok && into ? main.querySelector(into) : null;
      if (part) {
        part.outerHTML = answer.html;
        dress();
      } else {
        show(answer.html, Boolean(focus));
      }
      if (focus) main.querySelector(focus)?.focus({ preventScroll: true });
    } catch {
      say(form, "offline");
    } finally {
      rest(button);
    }
  }

  // say puts the words of a problem below a form that could not be sent.
  function say(form, reason) {
    const words = document.getElementById(`problem-${reason}`)?.content.querySelector("p").textContent;
    if (!words) return;
    const line = form.querySelector(".form-problem") || form.appendChild(Object.assign(document.createElement("p"), { className: "form-problem" }));
    line.setAttribute("role", "alert");
    line.textContent = words;
  }

  // A button that works says so, and takes no second press.
  function work(button) {
    button.setAttribute("aria-busy", "true");
    const words = button.querySelector("[data-words]");
    if (!words || !button.dataset.working) return;
    words.dataset.words = words.textContent;
    words.textContent = button.dataset.working;
  }

  function rest(button) {
    button.removeAttribute("aria-busy");
    const words = button.querySelector("[data-words]");
    if (words && words.dataset.words) words.textContent = words.dataset.words;
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-quiet]")) return;
    event.preventDefault();
    const button = event.submitter || form.querySelector("button");
    if (button.getAttribute("aria-busy") === "true") return;
    work(button);
    send(form, button);
  });

  document.addEventListener("click", (event) => {
    // LINE's own browser keeps no files; another one does.
    const outside = event.target.closest("[data-outside]");
    if (outside && ready && liff.isInClient()) {
      event.preventDefault();
      liff.openWindow({ url: outside.href, external: true });
    }
    // LINE can ask for the friendship within its own browser; elsewhere the link leads to it.
    const befriender = event.target.closest("[data-befriends]");
    if (befriender && ready && liff.isInClient() && liff.isApiAvailable("requestFriendship")) {
      event.preventDefault();
      const form = document.getElementById(befriender.dataset.befriends);
      liff.requestFriendship().then(() => form.requestSubmit(), () => location.assign(befriender.href));
    }
    const copier = event.target.closest("[data-copies]");
    if (copier) {
      const field = document.getElementById(copier.dataset.copies);
      field.select();
      navigator.clipboard.writeText(field.value).then(() => { copier.textContent = copier.dataset.copied; }, () => document.execCommand("copy"));
    }
  });

  // LINE brings a page back after hours without loading it.
  const awake = () => {
    const slept = Date.now() - shownAt;
    if (document.visibilityState === "visible" && ready && (slept > staleAfter || slept < 0)) refresh();
  };
  document.addEventListener("visibilitychange", awake);
  window.addEventListener("pageshow", (event) => { if (event.persisted) awake(); });

  start();
})();
