"use strict";

// Counts down to the next try. The server says how many seconds are left, so a wrong clock here does not matter.
(() => {
  const began = new WeakMap();
  const tick = () => {
    document.querySelectorAll("[data-countdown]").forEach((e) => {
      if (!began.has(e)) began.set(e, performance.now());
      const left = Math.round(Number(e.dataset.countdown) - (performance.now() - began.get(e)) / 1000);
      let words = e.dataset.over;
      if (left >= 60) words = e.dataset.minutes.replace("{m}", Math.floor(left / 60)).replace("{s}", left % 60);
      else if (left > 0) words = e.dataset.seconds.replace("{s}", left);
      if (e.textContent !== words) e.textContent = words;
    });
  };
  tick();
  setInterval(tick, 1000);
})();
