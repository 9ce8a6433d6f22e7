// A LIFF URL was opened in this tab. Only the tab knows whether it stands for LINE on somebody's phone: then it goes on
// as that person, else as any browser would.
(function () {
  "use strict";
  const door = document.getElementById("door");
  if (door.dataset.user) sessionStorage.setItem("linesim:user", door.dataset.user);
  const user = sessionStorage.getItem("linesim:user");
  location.replace(user ? door.dataset.inside + encodeURIComponent(user) : door.dataset.outside);
})();
