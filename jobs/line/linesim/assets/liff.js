// The simulator's LIFF SDK: the part of @line/liff that a page of text and pictures uses, with the behaviour that was
// observed in version 2.31.0, its awkward sides included:
//
//   - init() on the first page (with liff.state) navigates to the second one and never resolves
//   - getIDToken() returns the stored token even when it has expired; neither init() nor a reload renews it
//   - only logout() forgets it
//   - login() does not work inside the LIFF browser, where init() logs in
//
// What the page knows lies under LIFF_STORE:{liffId}:*, in sessionStorage inside the LIFF browser and in localStorage
// outside. Must be loaded as a classic script, because its own address says where the simulator is.
(function (app) {
  "use strict";

  const origin = new URL(document.currentScript.src).origin;
  const version = "2.31.0";
  const inside = "isInClient";
  let liffId = null;
  let markReady;

  const fail = (code, message) => Object.assign(new Error(message), { code, name: "LiffError" });

  // ---- what is remembered ----

  const key = (name) => `LIFF_STORE:${liffId}:${name}`;
  const store = () => (isInClient() ? sessionStorage : localStorage);
  const read = (name) => {
    const raw = store().getItem(key(name));
    return raw === null ? null : JSON.parse(raw);
  };
  const write = (name, value) => store().setItem(key(name), JSON.stringify(value));

  function forget() {
    for (const s of [sessionStorage, localStorage]) {
      for (const k of Object.keys(s)) {
        // That this tab is inside LINE is no credential and outlives a logout.
        if (k.startsWith(`LIFF_STORE:${liffId}:`) && !k.endsWith(":" + inside)) s.removeItem(k);
      }
    }
  }

  function remember(tokens) {
    write("accessToken", tokens.access_token);
    if (tokens.id_token) {
      write("IDToken", tokens.id_token);
      write("decodedIDToken", decode(tokens.id_token));
    }
  }

  function decodeText(base64url) {
    const bytes = atob(base64url.replace(/-/g, "+").replace(/_/g, "/"));
    return new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));
  }

  const decode = (token) => JSON.parse(decodeText(token.split(".")[1]));

  // ---- init ----

  async function init(config, onSuccess, onError) {
    try {
      await start(config);
    } catch (err) {
      if (onError) onError(err);
      throw err;
    }
    if (onSuccess) onSuccess();
    markReady();
  }

  async function start(config) {
    if (!config || !config.liffId) throw fail("INVALID_CONFIG", "liffId is necessary for liff.init()");
    if (config.liffId !== app.liffId) throw fail("INVALID_ARGUMENT", "the LIFF app is not found");
    liffId = config.liffId;
    liff.id = liffId;

    const url = new URL(location.href);
    if (!below(url, app.endpoint)) {
      console.warn(`liff.init() was called with a current URL that is not related to the endpoint URL.\n${app.endpoint} is the endpoint, ${url.origin}${url.pathname} the current URL.`);
    }

    const secrets = new URLSearchParams(url.hash.slice(1));
    if (secrets.has("access_token") && secrets.has("context_token")) {
      sessionStorage.setItem(key(inside), "true");
      forget();
      remember({ access_token: secrets.get("access_token"), id_token: secrets.get("id_token") });
      write("context", JSON.parse(decodeText(secrets.get("context_token"))));
      for (const name of ["access_token", "id_token", "context_token"]) secrets.delete(name);
      url.hash = secrets.toString();
      history.replaceState(history.state, "", url);
    }

    const state = url.searchParams.get("liff.state");
    if (state !== null) {
      location.replace(second(url, state));
      await new Promise(() => {}); // the page is on its way out
    }

    if (url.searchParams.get("liffClientId") === app.channelId && url.searchParams.has("code")) await redeem(url);

    if (config.withLoginOnExternalBrowser && !isInClient() && !isLoggedIn()) {
      login();
      await new Promise(() => {});
    }
  }

  // second is the address behind liff.state: endpoint path and its own, with the queries of both.
  function second(url, state) {
    const extra = new URL(state, "http://x/");
    const base = new URL(app.endpoint);
    const next = new URL(base);
    next.pathname = base.pathname.replace(/\/$/, "") + extra.pathname;
    url.searchParams.forEach((value, name) => {
      if (name !== "liff.state") next.searchParams.set(name, value);
    });
    extra.searchParams.forEach((value, name) => next.searchParams.append(name, value));
    next.hash = extra.hash || url.hash;
    return next;
  }

  function below(url, endpoint) {
    const e = new URL(endpoint);
    const path = e.pathname.replace(/\/$/, "");
    return url.origin === e.origin && (url.pathname === path || url.pathname.startsWith(path + "/"));
  }

  // ---- login in an external browser ----

  const randomText = () => Array.from(crypto.getRandomValues(new Uint8Array(32)), (b) => b.toString(16).padStart(2, "0")).join("");

  async function challengeOf(verifier) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    return btoa(String.fromCharCode(...new Uint8Array(digest))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  function login(options) {
    if (isInClient()) throw fail("FORBIDDEN", "liff.login() is not available in the LIFF browser");
    if (!liffId) throw fail("INIT_FAILED", "liff.init() has not been called");
    const redirectUri = (options && options.redirectUri) || location.href;
    const verifier = randomText();
    const state = randomText();
    localStorage.setItem(key("loginTmp"), JSON.stringify({ codeVerifier: verifier, state, redirectUri }));
    challengeOf(verifier).then((challenge) => {
      location.assign(`${origin}/oauth2/v2.1/authorize?` + new URLSearchParams({
        response_type: "code", client_id: app.channelId, redirect_uri: redirectUri, state,
        scope: "openid profile", code_challenge: challenge, code_challenge_method: "S256",
      }));
    });
  }

  // redeem turns the code LINE sent along into tokens and takes it out of the address.
  async function redeem(url) {
    const tmp = JSON.parse(localStorage.getItem(key("loginTmp")) || "null");
    localStorage.removeItem(key("loginTmp"));
    const code = url.searchParams.get("code");
    const state = url.searchParams.get("state");
    for (const name of ["code", "state", "liffClientId", "liffRedirectUri"]) url.searchParams.delete(name);
    history.replaceState(history.state, "", url);
    if (!tmp || tmp.state !== state) return; // somebody else's link: stay logged out
    const answer = await fetch(`${origin}/oauth2/v2.1/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code", code, client_id: app.channelId,
        redirect_uri: tmp.redirectUri, code_verifier: tmp.codeVerifier,
      }),
    });
    if (!answer.ok) throw fail("UNAUTHORIZED", "the login could not be completed");
    remember(await answer.json());
  }

  // ---- what pages ask ----

  const isInClient = () => sessionStorage.getItem(key(inside)) === "true";
  const isLoggedIn = () => Boolean(liffId && read("accessToken"));
  const getIDToken = () => (liffId ? read("IDToken") : null);
  const getDecodedIDToken = () => (liffId ? read("decodedIDToken") : null);
  const getAccessToken = () => (liffId ? read("accessToken") : null);

  function getContext() {
    if (!liffId) return null;
    return read("context") || { type: "external", liffId, endpointUrl: app.endpoint, viewType: "full" };
  }

  async function ask(path, method) {
    if (!isLoggedIn()) throw fail("UNAUTHORIZED", "Need access_token for api call, Please login first");
    const answer = await fetch(origin + path, { method: method || "GET", headers: { Authorization: `Bearer ${getAccessToken()}` } });
    if (!answer.ok) throw fail(String(answer.status), (await answer.json()).message);
    return answer.json();
  }

  function closeWindow() {
    if (!isInClient()) return;
    window.close();
    const c = getContext();
    location.assign(`${origin}/sim` + (c && c.userId ? `?chat=${c.userId}` : "")); // a tab the reader opened does not close
  }

  const liff = {
    id: null,
    ready: new Promise((resolve) => { markReady = resolve; }),
    init, isLoggedIn, login, isInClient, getIDToken, getDecodedIDToken, getAccessToken, getContext, closeWindow,
    logout: forget,
    getProfile: () => ask("/v2/profile"),
    getFriendship: () => ask("/friendship/v1/status"),
    requestFriendship: () => ask("/friendship/v1/request", "POST").then(() => undefined),
    openWindow: ({ url }) => { window.open(url, "_blank", "noopener"); },
    getOS: () => "web",
    getLanguage: () => navigator.language,
    getAppLanguage: () => navigator.language,
    getVersion: () => version,
    getLineVersion: () => (isInClient() ? "26.1.0" : null),
    isApiAvailable: (name) => name in liff,
  };
  window.liff = liff;
})(__APP__);
